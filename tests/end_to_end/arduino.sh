#!/bin/sh
# `make arduino-lib` makes a library that Arduino and PlatformIO can build: every file in it is compiled as Arduino does,
# with nothing but src/ to include from and none of our options; a sketch in C++ is linked with it; and a runner that is
# linked with it trains in the emulator to the bits of this machine.
#
# Needs: boards python
set -eu

. tests/end_to_end/expectations

root=$PWD
library=$folder/Firn
expect "arduino-lib" 0 "" make -s --no-print-directory arduino-lib OUT="$library"
expect "arduino-lib again" 0 "" make -s --no-print-directory arduino-lib OUT="$library"
! grep -rl '"O2"' "$library/src" || fail "a file is compiled for speed"
expect "arduino-lib for speed" 0 "" make -s --no-print-directory arduino-lib FIRN_FAST=1 OUT="$folder/quick"
(cd "$folder/quick/src" && grep -rl '"O2"' . | sed 's|^\./||' | sort) >"$folder/got"
make -s --no-print-directory library-quick-sources </dev/null | sort >"$folder/wanted"
cmp -s "$folder/wanted" "$folder/got" || fail "other sources for speed: $(diff "$folder/wanted" "$folder/got")"
expect "no OUT" 2 "OUT is missing" sh -c "make -s --no-print-directory arduino-lib 2>&1 | grep arduino-lib: | head -n 1 >&2; exit 2"
mkdir "$folder/other"
echo "of others" >"$folder/other/file"
expect "a folder of others" 2 "another folder" sh -c "make -s --no-print-directory arduino-lib OUT='$folder/other' 2>&1 |
    grep 'arduino-lib:' | head -n 1 >&2; exit 2"
[ "$(ls "$folder/other")" = file ] || fail "a folder of others was changed"

# --- the layout ---

for field in name version author maintainer sentence paragraph category url architectures; do
    grep -q "^$field=" "$library/library.properties" || fail "library.properties has no $field"
done
python3 -m json.tool "$library/library.json" >"$folder/log" || fail "library.json is not JSON"
version=$("$FIRN" --version)
grep -q "^version=${version#firn }\$" "$library/library.properties" || fail "library.properties has another version"
grep -q "\"version\": \"${version#firn }\"" "$library/library.json" || fail "library.json has another version"
! grep -rlF "$root" "$library" || fail "a file names the place where it was made"

# --- compiled as Arduino does ---

machine="-mcpu=cortex-m7 -mthumb -mfpu=fpv5-sp-d16 -mfloat-abi=hard --specs=picolibc.specs"
options="$machine -Os -ffunction-sections -fdata-sections"
mkdir "$folder/objects"
# Names of members hold the path, because some sources have the same name.
(cd "$library/src" && find . -name '*.c' | sed 's|^\./||' | sort) >"$folder/files"
while read -r file; do
    ! takes_next || echo "$file"
done <"$folder/files" >"$folder/taken"
xargs -P 2 -I @ sh -c "arm-none-eabi-gcc $options -std=gnu11 -w -I'$library/src' -c '$library/src/@' \
        -o '$folder/objects/'\$(echo @ | tr / _).o" <"$folder/taken" || fail "a file does not compile"
[ "$(wc -l <"$folder/files")" -gt 90 ] && [ "$(ls "$folder/objects" | wc -l)" -eq "$(wc -l <"$folder/taken")" ] ||
    fail "hardly any file: does this test look?"
# What follows needs all of them.
if ! takes_all; then
    [ "$failures" -eq 0 ]
    exit
fi
arm-none-eabi-ar rcs "$folder/libFirn.a" "$folder"/objects/*.o
arm-none-eabi-nm -g --defined-only "$folder/libFirn.a" | awk 'NF == 3 { print $3 }' | grep -v '^firn_' >"$folder/got" || true
[ ! -s "$folder/got" ] || fail "names without firn_"

"$FIRNC" keygen "$folder/test" >"$folder/log"
"$FIRNC" compile runtime/targets/size.yaml --mode train --key "$folder/test.key.pem" -o "$folder/plan" >"$folder/log"
"$FIRNC" export "$folder/plan" --c -o "$folder/parts.c"
"$FIRNC" export "$folder/plan" --array -o "$folder/plan.c"
"$FIRNC" export "$folder/test.pub.pem" --c -o "$folder/key.c"

# --- the sketch ---

cat >"$folder/Arduino.h" <<'END'
#include <stdint.h>
struct {
    void begin(long) {}
    void println(int) {}
    void println(float, int) {}
} static Serial;
static void delay(long) {}
END
{ echo '#include <Arduino.h>' && cat "$library/examples/Train/Train.ino" && echo 'int main() { setup(); for (;;) loop(); }'; } \
    >"$folder/sketch.cpp"
for source in parts.c plan.c key.c; do
    arm-none-eabi-gcc $options -std=gnu11 -w -I"$library/src" -c "$folder/$source" -o "$folder/$source.o" || fail "$source"
done
arm-none-eabi-g++ $options -std=gnu++17 -fno-exceptions -fno-rtti -Wall -Wextra -I"$library/src" -I"$folder" -c \
    "$folder/sketch.cpp" -o "$folder/sketch.o" || fail "the sketch does not compile"
start=$folder/start.o
arm-none-eabi-gcc $options -std=c11 -I. -c runtime/targets/cortex-m/start.c -o "$start"
link="arm-none-eabi-gcc $machine -nostartfiles -Wl,--gc-sections -Wl,--fatal-warnings -T runtime/targets/cortex-m/mps2-an500.ld"
expect "the sketch is linked" 0 "" $link "$start" "$folder/sketch.o" "$folder/parts.c.o" "$folder/plan.c.o" \
    "$folder/key.c.o" "$folder/libFirn.a" -o "$folder/sketch.elf"
! arm-none-eabi-nm "$folder/sketch.elf" | grep -q ' firn_kernel_tanh$' || fail "a kernel that the plan does not need"

# --- the bits ---

# Everything that computes has exactly the fused multiply-adds that our own options give, and none in two steps.
fused() {
    arm-none-eabi-objdump -d "$1" | grep -c 'vfm\|vfn' || true
}
all=0
for source in runtime/numerics/*.c runtime/kernels/*.c runtime/kernels/elements/*.c runtime/kernels/images/*.c runtime/kernels/layout/*.c runtime/kernels/losses/*.c runtime/kernels/norms/*.c runtime/kernels/optimizers/*.c runtime/kernels/recurrent/*.c runtime/kernels/reduce/*.c schedules/*.c runtime/*.c runtime/parts/*.c; do
    arm-none-eabi-gcc $options -std=c11 -ffp-contract=off -fno-fast-math -fno-math-errno -I. -c "$source" -o "$folder/ours.o"
    wanted=$(fused "$folder/ours.o")
    all=$((all + wanted))
    got=$(fused "$folder/objects/$(echo "$source" | tr / _).o")
    [ "$got" -eq "$wanted" ] || fail "$source: $got fused multiply-adds, not $wanted"
done
[ $all -gt 50 ] || fail "hardly any fused multiply-add: does this test look?"
! arm-none-eabi-nm "$folder/libFirn.a" | grep 'U \(sqrtf*\|fmaf*\)$' || fail "a square root or a product of the C library"

for source in runtime/targets/dataset.c runtime/targets/emulated/*.c; do
    case $source in */posix.c) continue ;; esac
    arm-none-eabi-gcc $options -std=c11 -ffp-contract=off -I. -c "$source" -o "$folder/runner-$(basename "$source").o"
done
expect "the runner is linked" 0 "" $link "$start" "$folder"/runner-*.o "$folder/parts.c.o" "$folder/key.c.o" \
    "$folder/libFirn.a" -o "$folder/runner.elf"
# 64 records of 64 bytes and their classes, as IDX.
{ printf '\0\0\010\002\0\0\0\100\0\0\0\100' && head -c 4096 /usr/share/common-licenses/GPL-3; } >"$folder/data"
{ printf '\0\0\010\001\0\0\0\100' && yes 0123456 | tr -d '\n' | head -c 64 | tr 0-6 '\0-\006'; } >"$folder/labels"
"$FIRN" train "$folder/plan" --pub "$folder/test.pub.pem" --data "$folder/data" --labels "$folder/labels" --steps 4 --quiet \
    --checkpoint "$folder/host" >"$folder/log"
wanted=$("$FIRN" digest "$folder/host" | grep -o '[0-9a-f]\{64\}' | head -n 1)
env PLAN="$folder/plan" PUB="$folder/test.pub.pem" DATA="$folder/data" LABELS="$folder/labels" STEPS=4 \
    runtime/targets/emulated/run cortex-m7 "$folder/runner.elf" >"$folder/got" 2>&1 || fail "the runner"
grep -q "$wanted" "$folder/got" || fail "not the digest $wanted"

[ "$failures" -eq 0 ]
