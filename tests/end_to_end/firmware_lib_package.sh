#!/bin/sh
# The folder that `make firmware-lib` writes is complete: in a place of its own the headers compile alone, the printed line
# links the example and the test of a port with a plan, and find_package of CMake finds the library for a cross build. The
# README's commands for a board are run, and settings that there are not are refused. What the forms of the library have
# in common, and what sets them apart, is the matter of firmware_lib_forms.sh.
#
# Needs: boards tools
set -eu

. tests/end_to_end/expectations

root=$PWD
"$FIRNC" keygen "$folder/my" >"$folder/log"
"$FIRNC" compile runtime/targets/size.yaml --mode train --key "$folder/my.key.pem" -o "$folder/train.plan" >"$folder/log"
cp runtime/targets/firmware_main.c runtime/targets/cortex-m/start.c "$folder"
mkdir "$folder/board"
ln -s "$root/runtime" "$folder/board/runtime" # for the linker scripts; headers come from include/ alone
cat >"$folder/port_main.c" <<'END'
#include "runtime/port_test.h"
extern const uint8_t firn_public_key[64];
volatile bool good;
int main(void) {
    static const firn_port port = {.struct_size = sizeof port};
    static uint8_t scratch[FIRN_PORT_TEST_SCRATCH];
    firn_port_finding finding;
    good = firn_port_test(&port, false, scratch, sizeof scratch, &finding) && firn_public_key[0] != 0;
    return 0;
}
END

for variant in 0 1; do
    takes_next || continue
    out=$folder/firn-$variant
    expect "firmware-lib" 0 "" make -s --no-print-directory BUILD="$BUILD" firmware-lib TARGET=cortex-m4f FIRN_SEALED=$variant OUT="$out"
    cp "$folder/out" "$folder/printed"
    cd "$folder"
    for header in firn plan_slots update port_test parts; do
        printf '#include "runtime/%s.h"\nint declared_here;\n' $header >header.c
        expect "$header.h alone" 0 "" arm-none-eabi-gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -mcpu=cortex-m4 -mthumb \
            --specs=picolibc.specs -I"$out/include" -c header.c
    done
    "$root/$FIRNC" export train.plan --c -o parts.c
    "$root/$FIRNC" export my.pub.pem --c -o key.c
    # The line as it is printed, with the files of this board in front.
    line=$(sed -n 's/^    \(arm-none-eabi-gcc .*\) main\.c parts\.c.*/\1/p' printed)
    [ -n "$line" ] || fail "no line to link with"
    case $line in *callgraph*) fail "the printed line leaves the files of the call graph" ;; esac
    for main in firmware_main port_main; do
        expect "$main, the printed line" 0 "" sh -c "cp $main.c main.c && $line -nostartfiles -Wl,--fatal-warnings -L board \
            -T board/runtime/targets/cortex-m/mps2-an385.ld start.c main.c parts.c key.c '$out/libfirn.a' -o $main.elf"
    done
    ! arm-none-eabi-nm firmware_main.elf | grep -q ' firn_kernel_tanh$' || fail "a kernel that the plan does not need"
    arm-none-eabi-nm firmware_main.elf | grep -q ' firn_port_test$' && fail "the test of a port takes flash"

    # --- CMake ---
    mkdir -p cmake
    cat >cmake/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(firmware C)
find_package(firn 0.1 REQUIRED)
add_compile_options(${firn_MACHINE} -std=c11 -Os -Wall -Wextra -Werror --specs=picolibc.specs)
add_executable(main ../firmware_main.c ../start.c ../parts.c)
target_link_libraries(main PRIVATE firn::firn)
target_link_options(main PRIVATE ${firn_MACHINE} --specs=picolibc.specs -nostartfiles -Wl,--fatal-warnings
    -L${CMAKE_CURRENT_SOURCE_DIR}/../board -T ${CMAKE_CURRENT_SOURCE_DIR}/../board/runtime/targets/cortex-m/mps2-an385.ld)
END
    mv "$out" moved-$variant
    expect "cmake" 0 "" cmake -S cmake -B by-cmake-$variant -DCMAKE_SYSTEM_NAME=Generic -DCMAKE_C_COMPILER=arm-none-eabi-gcc \
        -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -Dfirn_DIR="$folder/moved-$variant"
    expect "cmake --build" 0 "" cmake --build by-cmake-$variant
    arm-none-eabi-nm by-cmake-$variant/main | grep -q ' firn_train_step$' || fail "cmake: no library in the program"
    ! arm-none-eabi-nm by-cmake-$variant/main | grep -q ' firn_kernel_tanh$' || fail "cmake: a kernel that is not needed"
    cd "$root"
done
for goal in size ram; do
    make -s --no-print-directory BUILD="$BUILD" $goal PLAN="$folder/nowhere" >"$folder/out" 2>"$folder/err" && fail "$goal of no plan"
    grep -qx "$goal: PLAN=$folder/nowhere: there is no such file" "$folder/err" || fail "$goal does not say that there is no plan"
done

# --- the commands of the README, "On your board" ---

sed -n '/^### On your board$/,/^###* The/s/^    \([^ ].*\)$/\1/p' README.md | sed 's/ *#.*//' >"$folder/commands"
[ "$(wc -l <"$folder/commands")" -ge 9 ] || fail "the README has hardly a command: does this test look?"
while read -r command; do
    expect "README: $command" 0 "" sh -c "$(echo "$command" | sed "s|\([ =]\)board/|\1$folder/readme/|g; s|-p board\$|-p $folder/readme|
        s|^build/|$BUILD/|; s|^make |make -s --no-print-directory BUILD=$BUILD |")"
done <"$folder/commands"
[ -e "$folder/readme/firn/libfirn.a" ] && [ -e "$folder/readme/Firn/src/Firn.h" ] || fail "the README's commands make nothing"

# refused SETTINGS PATTERN
refused() {
    expect "$1" 2 "$2" sh -c "make -s --no-print-directory firmware-lib $1 2>&1 | grep firmware-lib: >&2; exit 2"
}
refused TARGET=z80 "none of"
refused "TARGET=cortex-m7 FIRN_SEALED=2" "FIRN_SEALED=2 is neither"
refused "TARGET=cortex-m7 FIRN_FAST=no" "FIRN_FAST=no is neither"
refused "TARGET=cortex-m7 FIRN_LTO=yes" "FIRN_LTO=yes is neither"

[ "$failures" -eq 0 ]
