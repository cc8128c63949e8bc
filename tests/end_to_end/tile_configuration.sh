#!/bin/sh
# The kernels of AMX configure their tiles from constant data: palette 1, eight tiles of 16 rows of 64 bytes. gcc 12
# believes that LDTILECFG reads eight bytes, so it may leave out instructions that write the rest, and then tiles cannot be
# used on a CPU that has them. No emulator here does, so this test looks at the object.
set -eu

. tests/end_to_end/expectations
object=$BUILD/amx/runtime/kernels/vector/engine/amx.o

if [ ! -e "$object" ]; then
    echo "skipped: the configuration of AMX: this build has no such kernels"
    exit 0
fi

objdump -dr --no-show-raw-insn "$object" | grep -A 1 ldtilecfg >"$folder/out" || fail "no LDTILECFG in $object"
grep -q 'R_X86_64_PC32.*rodata' "$folder/out" || fail "LDTILECFG reads what the code has to write"
objcopy -O binary -j .rodata "$object" "$folder/constants"
od -A n -v -t x1 "$folder/constants" | tr -d ' \n' >"$folder/digits"
rows=1010101010101010
bytes=40004000400040004000400040004000
zeros=0000000000000000
grep -q "01${zeros}00000000000000$bytes$zeros${zeros}${rows}$zeros" "$folder/digits" || {
    cat "$folder/digits"
    fail "the configuration is another one"
}
[ $failures -eq 0 ]
