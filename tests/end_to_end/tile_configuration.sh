#!/bin/sh
# The kernels of AMX configure their tiles from constant data: palette 1, eight tiles of 16 rows of 64 bytes. gcc 12
# believes that LDTILECFG reads eight bytes, so it may leave out instructions that write the rest, and then tiles cannot be
# used on a CPU that has them. No emulator here does, so this test looks at objects: that of the build, and those of the
# compilers at hand with options that give constants sections of their own. An object names the constant by its section or
# by a symbol.
set -eu

. tests/end_to_end/expectations
source=runtime/kernels/vector/engine/amx.c

if [ ! -e "$BUILD/amx/${source%.c}.o" ]; then
    echo "skipped: the configuration of AMX: this build has no such kernels"
    exit 0
fi

# section_of OBJECT: the section of what LDTILECFG reads
section_of() {
    operand=$(objdump -dr --no-show-raw-insn "$1" | grep -A 1 ldtilecfg |
        sed -n 's/^.*R_X86_64_PC32[[:space:]]*\([^[:space:]]*\)[-+]0x[0-9a-f]*$/\1/p' | sort -u)
    case $operand in
    .*) echo "$operand" ;;
    ?*) objdump -t "$1" | awk -v name="$operand" '$NF == name { print $(NF - 2) }' ;;
    esac
}

rows=1010101010101010
bytes=40004000400040004000400040004000
zeros=0000000000000000

# check NAME OBJECT
check() {
    section=$(section_of "$2")
    case $section in
    .rodata*) ;;
    *)
        fail "$1: LDTILECFG reads ${section:-what the code has to write}, and no constant"
        return
        ;;
    esac
    objcopy -O binary -j "$section" "$2" "$folder/constants"
    od -A n -v -t x1 "$folder/constants" | tr -d ' \n' >"$folder/out"
    grep -q "01${zeros}00000000000000$bytes$zeros${zeros}${rows}$zeros" "$folder/out" || fail "$1: another configuration"
}

check "the build" "$BUILD/amx/${source%.c}.o"
for compiler in gcc clang; do
    command -v $compiler >"$folder/err" || continue
    for options in -O1 -O3 "-O3 -fdata-sections" "-O3 -fPIC" "-O3 -fno-merge-constants"; do
        $compiler -std=c11 $options -ffp-contract=off -I. -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c -mamx-tile \
            -mamx-bf16 -c $source -o "$folder/object" 2>"$folder/err" || {
            echo "skipped: $compiler does not compile for AMX"
            break
        }
        check "$compiler $options" "$folder/object"
    done
done

# A configuration that the code writes is refused.
sed 's/static const firn_amx_configuration/firn_amx_configuration/' runtime/kernels/vector/engine/amx_tiles.h >"$folder/amx_tiles.h"
sed "s,runtime/kernels/vector/engine/amx_tiles.h,$folder/amx_tiles.h," $source >"$folder/amx.c"
${CC:-cc} -std=c11 -O1 -I. -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c -mamx-tile -mamx-bf16 -c "$folder/amx.c" \
    -o "$folder/object"
[ -z "$(section_of "$folder/object")" ] || fail "a configuration that the code writes is not seen"

[ $failures -eq 0 ]
