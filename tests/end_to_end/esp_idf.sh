#!/bin/sh
# The component of ESP-IDF builds what firmware-lib builds: its CMakeLists is processed by CMake, with the functions and
# variables of ESP-IDF that it uses, in a script at first, as ESP-IDF does, and then in a project. Its sources compile for the
# core of an ESP32-C3. Where ESP-IDF's own reader of Kconfig is installed (esp-idf-kconfig of PyPI), it makes the variables.
#
# Needs: boards tools
set -eu

. tests/end_to_end/expectations

root=$PWD
component=$root/runtime/package/esp-idf/firn
mbedtls=$root/$(echo .cache/mbedtls-3.*/)
"$FIRNC" keygen "$folder/test" >"$folder/log"
"$FIRNC" compile runtime/targets/size.yaml --mode train --key "$folder/test.key.pem" -o "$folder/plan" >"$folder/log"
mkdir "$folder/project"
"$FIRNC" export "$folder/plan" --c -o "$folder/project/parts.c" >"$folder/log"

# --- options ---

grep -o 'CONFIG_FIRN[A-Z_]*' "$component/CMakeLists.txt" | sed 's/CONFIG_//' | sort -u >"$folder/wanted"
sed -n 's/^config \(FIRN[A-Z_]*\)$/\1/p' "$component/Kconfig" | sort >"$folder/listed"
cmp -s "$folder/wanted" "$folder/listed" || fail "Kconfig and CMakeLists.txt have other options: $(diff "$folder/wanted" "$folder/listed")"
# They are those of the Zephyr module, whose menu is an option too.
sed -n 's/^config \(FIRN[A-Z_]*\)$/\1/p' runtime/package/zephyr/Kconfig | sort | cmp -s - "$folder/listed" || fail "Zephyr has other options"
rm "$folder/wanted" "$folder/listed"

# config VALUE...: makes the variables of a project with these lines of sdkconfig
config() {
    printf '%s\n' "$@" >"$folder/sdkconfig"
    printf 'mainmenu "project"\nsource "%s"\n' "$component/Kconfig" >"$folder/Kconfig"
    if python3 -c 'import kconfgen' 2>"$folder/log"; then
        IDF_PATH=$folder python3 -m kconfgen --kconfig "$folder/Kconfig" --config "$folder/sdkconfig" --output cmake \
            "$folder/sdkconfig.cmake" >"$folder/log" 2>&1 || fail "kconfgen: $(cat "$folder/log")"
    else
        sed 's/^\(CONFIG_[A-Z_]*\)="*\([^"]*\)"*$/set(\1 "\2")/' "$folder/sdkconfig" >"$folder/sdkconfig.cmake"
    fi
}
python3 -c 'import kconfgen' 2>"$folder/log" || echo "without ESP-IDF's own reader of Kconfig (pip install esp-idf-kconfig)"

# --- what the component requires, found by a script without options ---

cat >"$folder/early.cmake" <<END
function(idf_component_register)
    message("registered \${ARGV}")
endfunction()
set(CMAKE_BUILD_EARLY_EXPANSION 1)
include($component/CMakeLists.txt)
END
cmake -P "$folder/early.cmake" >"$folder/out" 2>&1 || fail "the component is no script"
grep -qx 'registered PRIV_REQUIRES;mbedtls' "$folder/out" || fail "the component does not say what it requires"

# --- in a project ---

cat >"$folder/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(application C)
include(${CONFIG})
function(idf_build_get_property variable property)
    set(${variable} ${CMAKE_SOURCE_DIR} PARENT_SCOPE)
endfunction()
function(idf_component_get_property variable component property)
    if(NOT component STREQUAL mbedtls OR NOT property STREQUAL COMPONENT_DIR)
        message(FATAL_ERROR "${component} ${property}")
    endif()
    set(${variable} ${MBEDTLS_COMPONENT} PARENT_SCOPE)
endfunction()
function(idf_component_register)
    cmake_parse_arguments(registered "" "" "SRCS;INCLUDE_DIRS;PRIV_REQUIRES" ${ARGV})
    add_library(firn STATIC ${registered_SRCS})
    target_include_directories(firn PUBLIC ${registered_INCLUDE_DIRS})
    target_compile_options(firn PRIVATE ${MACHINE} -std=gnu17 -Os -ffunction-sections -fdata-sections -Wall -Werror)
    list(JOIN registered_SRCS "\n" listed)
    file(WRITE ${CMAKE_BINARY_DIR}/listed "${listed}\n")
    set(COMPONENT_LIB firn PARENT_SCOPE)
endfunction()
add_subdirectory(${COMPONENT} firn)
END
mkdir "$folder/mbedtls-component"
ln -s "$mbedtls" "$folder/mbedtls-component/mbedtls"

# configured NAME SEALED: processes the component with the options of config, and compares its sources with firmware-lib's
configured() {
    expect "$1" 0 "" cmake -S "$folder/project" -B "$folder/$1" -DCMAKE_SYSTEM_NAME=Generic -DCOMPONENT="$component" \
        -DCMAKE_C_COMPILER=riscv64-unknown-elf-gcc -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -DCONFIG="$folder/sdkconfig.cmake" \
        -DMBEDTLS_COMPONENT="$folder/mbedtls-component" \
        -DMACHINE="-march=rv32imc;-mabi=ilp32;-nolibc;-isystem;$root/runtime/targets/rv32/libc/include"
    { make -s --no-print-directory library-sources FIRN_SEALED="$2" && echo plan/signature.c; } </dev/null | sort >"$folder/wanted"
    sed "s|^$root/||" "$folder/$1/listed" | grep -v '^\.cache/\|/mbedtls/library/' | sort >"$folder/listed"
}

config CONFIG_FIRN_FAST=y
configured full 0
cmp -s "$folder/wanted" "$folder/listed" || fail "full: other sources: $(diff "$folder/wanted" "$folder/listed")"
grep -q 'mbedtls-component/mbedtls/library/sha256.c$' "$folder/full/listed" || fail "full: SHA-256 is not that of ESP-IDF"
config CONFIG_FIRN_SEALED=y 'CONFIG_FIRN_PARTS="parts.c"' "CONFIG_FIRN_MBEDTLS=\"$mbedtls\""
configured sealed 1
comm -3 "$folder/wanted" "$folder/listed" | tr -d '\t' >"$folder/got"
[ "$(grep -c '^[a-z/_]*/\(op_parts\|rule_parts\|parts\|tree_part\|flushed_parts\|threads_part\|half_parts\)\.c$' "$folder/got")" -eq 9 ] &&
    [ "$(wc -l <"$folder/got")" -eq 10 ] && grep -qx "$folder/project/parts.c" "$folder/got" ||
    fail "sealed: other sources than those of a sealed build with parts"
rm "$folder/wanted" "$folder/listed" "$folder/got"
if takes_all; then
    expect "build" 0 "" cmake --build "$folder/sealed" -j 2
    riscv64-unknown-elf-nm "$folder/sealed/firn/libfirn.a" 2>"$folder/err" | grep -q ' T firn_train_step$' || fail "no library"
fi

[ "$failures" -eq 0 ]
