#!/bin/sh
# The Zephyr module builds what firmware-lib builds: its CMakeLists is processed by CMake, with the functions and
# variables of Zephyr that it uses, and the very sources that it lists are compiled and linked with the example for two
# cores. All objects are linked, as Zephyr does, so that a table that is there twice is found.
#
# Needs: boards tools python
set -eu

. tests/end_to_end/expectations

root=$PWD
mbedtls=$root/$(echo .cache/mbedtls-3.*/)
"$FIRNC" keygen "$folder/test" >"$folder/log"
"$FIRNC" compile runtime/targets/size.yaml --mode train --key "$folder/test.key.pem" -o "$folder/plan" >"$folder/log"
"$FIRNC" export "$folder/plan" --c -o "$folder/parts.c"

# What Zephyr has, as far as the module uses it: a library is an archive that is linked as a whole.
mkdir "$folder/application"
cat >"$folder/application/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(application C)
set(APPLICATION_SOURCE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
add_library(zephyr_interface INTERFACE)
target_compile_options(zephyr_interface INTERFACE ${MACHINE} ${LIBC} -std=c99 -Os -ffunction-sections -fdata-sections
    -fno-common -Wall -Wextra -Werror)
function(zephyr_include_directories)
    target_include_directories(zephyr_interface INTERFACE ${ARGV})
endfunction()
function(zephyr_library_named name)
    add_library(${name} STATIC)
    target_link_libraries(${name} PUBLIC zephyr_interface)
    set(ZEPHYR_CURRENT_LIBRARY ${name} PARENT_SCOPE)
endfunction()
function(zephyr_library_sources)
    target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGV})
endfunction()
function(zephyr_library_compile_options)
    target_compile_options(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGV})
endfunction()
add_subdirectory(${FIRN_MODULE} firn)
if(TARGET firn)
    get_target_property(listed firn SOURCES)
    list(JOIN listed "\n" listed)
    file(WRITE ${CMAKE_BINARY_DIR}/listed "${listed}\n")
    add_executable(example ${FIRN_ROOT}/runtime/targets/firmware_main.c ${FIRN_ROOT}/${START}/start.c ${LIBC_SOURCE})
    target_compile_options(example PRIVATE -std=c11)
    set_source_files_properties(${LIBC_SOURCE} PROPERTIES COMPILE_OPTIONS -ffreestanding)
    target_link_libraries(example PRIVATE -Wl,--whole-archive firn -Wl,--no-whole-archive)
    target_link_options(example PRIVATE ${MACHINE} ${LIBC} -nostartfiles -Wl,--gc-sections -Wl,--fatal-warnings
        -T ${FIRN_ROOT}/${SCRIPT})
    set_target_properties(example PROPERTIES LINK_DEPENDS ${FIRN_ROOT}/${SCRIPT})
endif()
END
ln -s "$root/runtime" "$folder/runtime" # the linker scripts include each other from the root

# The module says where its files are.
for path in cmake kconfig; do
    at=runtime/package/$(sed -n "s/^  $path: //p" runtime/package/zephyr/module.yml)
    [ -e "$at" ] || fail "module.yml: $path is $at, which is not there"
done
# Every option that the CMakeLists reads is one of Kconfig, and the other way round.
grep -o 'CONFIG_FIRN[A-Z_]*' runtime/package/zephyr/CMakeLists.txt | sed 's/CONFIG_//' | sort -u >"$folder/read"
sed -n 's/^\(menu\)\{0,1\}config \(FIRN[A-Z_]*\)$/\2/p' runtime/package/zephyr/Kconfig | sort >"$folder/options"
cmp -s "$folder/read" "$folder/options" || fail "Kconfig and CMakeLists.txt have other options: $(diff "$folder/read" "$folder/options")"

# application NAME TARGET SETTING...: configures and builds
application() {
    made=$1
    target=$2
    shift 2
    setting() {
        printf 'include runtime/targets/targets.mk\nall:\n\t@echo "$(%s_%s)"\n' "$target" "$1" | make -s -f - all
    }
    tool=$(setting CROSS)
    expect "$made: configure" 0 "" cmake -S "$folder/application" -B "$folder/$made" -DCMAKE_SYSTEM_NAME=Generic \
        -DCMAKE_C_COMPILER="${tool}gcc" -DCMAKE_C_COMPILER_LAUNCHER="$(command -v ccache || true)" \
        -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
        -DFIRN_ROOT="$root" -DFIRN_MODULE="$root/runtime/package/zephyr" -DMACHINE="$(setting MACHINE | tr ' ' ';')" \
        -DLIBC="$(setting LIBC | sed "s| runtime/| $root/runtime/|; s| |;|g")" \
        -DLIBC_SOURCE="$(setting LIBC_SOURCE | sed "s|^runtime/|$root/&|")" \
        -DSTART="$(setting START)" -DSCRIPT="$(setting SCRIPT)" "$@"
    takes_next || return 0
    # The linker looks for included scripts from the folder that make runs in.
    [ -e "$folder/$made/runtime" ] || ln -s "$root/runtime" "$folder/$made/runtime"
    expect "$made: build" 0 "" cmake --build "$folder/$made" -j 2
    ${tool}nm "$folder/$made/example" >"$folder/symbols"
}
# same_sources NAME SEALED [PARTS]: what is listed is what firmware-lib has, except for the tables of parts
same_sources() {
    { make -s --no-print-directory library-sources FIRN_SEALED="$2" && echo plan/signature.c; } | sort >"$folder/wanted"
    sed "s|^$root/||" "$folder/$1/listed" | grep -v '^\.cache/' | sort >"$folder/listed"
    cmp -s "$folder/wanted" "$folder/listed" || fail "$1: other sources: $(diff "$folder/wanted" "$folder/listed")"
}

# compiled_for NAME LEVEL: the sources of which that is the last level among the options of the compiler
compiled_for() {
    python3 - "$folder/$1/compile_commands.json" "$2" "$root/" <<'END'
import json, re, sys

path, level, root = sys.argv[1:]
for command in json.load(open(path)):
    if re.findall(r" (-O\w)", command["command"])[-1:] == [level] and "/firn.dir/" in command["command"]:
        print(command["file"].removeprefix(root))
END
}

application full cortex-m4f -DCONFIG_FIRN=y -DZEPHYR_MBEDTLS_MODULE_DIR="$mbedtls"
same_sources full 0
if [ -e "$folder/full/example" ]; then
    grep -q ' firn_kernel_tanh$' "$folder/symbols" || fail "full: not every kernel is linked"
    # Every name that is seen begins with firn_: a program may have an mbedTLS of its own.
    arm-none-eabi-nm -g --defined-only "$folder/full/firn/libfirn.a" | awk 'NF == 3 { print $3 }' | grep -v '^firn_' >"$folder/got" || true
    [ ! -s "$folder/got" ] || fail "names without firn_"
fi
[ -z "$(compiled_for full -O2)" ] || fail "full: something is compiled for speed"

application sealed rv32 -DCONFIG_FIRN=y -DCONFIG_FIRN_SEALED=y -DCONFIG_FIRN_FAST=y -DCONFIG_FIRN_MBEDTLS="$mbedtls" \
    -DCONFIG_FIRN_PARTS="$folder/parts.c"
# What is compiled for speed is what firmware-lib compiles so, except for the tables of parts, which parts.c replaces.
make -s --no-print-directory library-quick-sources </dev/null | grep -v '/\(parts\|flushed_parts\|half_parts\|threads_part\)\.c$' | sort >"$folder/wanted"
compiled_for sealed -O2 | sort >"$folder/listed"
cmp -s "$folder/wanted" "$folder/listed" || fail "other sources for speed: $(diff "$folder/wanted" "$folder/listed")"
if [ -e "$folder/sealed/example" ]; then
    ! grep -q ' firn_kernel_tanh$' "$folder/symbols" || fail "sealed: a kernel that the plan does not need is linked"
    grep -q ' firn_kernel_relu$' "$folder/symbols" || fail "sealed: a kernel that the plan needs is missing"
fi

without() {
    cmake -S "$folder/application" -B "$folder/without" -DCMAKE_SYSTEM_NAME=Generic -DCMAKE_C_COMPILER=arm-none-eabi-gcc \
        -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -DFIRN_ROOT="$root" -DFIRN_MODULE="$root/runtime/package/zephyr" "$@" \
        >"$folder/out" 2>"$folder/err"
}
without || fail "without CONFIG_FIRN"
[ ! -e "$folder/without/listed" ] || fail "without CONFIG_FIRN something is built"
! without -DCONFIG_FIRN=y -DZEPHYR_MBEDTLS_MODULE_DIR="$folder" || fail "a missing mbedTLS is not noticed"
tr -s ' \n' ' ' <"$folder/err" | grep -q 'name a folder with the source of mbedTLS 3.6' || fail "no mbedTLS: no mend"

[ "$failures" -eq 0 ]
