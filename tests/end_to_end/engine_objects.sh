#!/bin/sh
# What gcc 12 gets wrong in the kernels of matrix engines. A test on a CPU that lacks the instructions cannot see it, so this
# one looks at objects: those of the build, and those of the compilers at hand.
#
# - The kernels of AMX configure their tiles from constant data: palette 1, eight tiles of 16 rows of 64 bytes. gcc 12
#   believes that LDTILECFG reads eight bytes, so it may leave out instructions that write the rest, and then tiles cannot
#   be used. The objects include some with options that give constants sections of their own. An object names the
#   constant by its section or by a symbol.
# - The intrinsic for VDPBF16PS with a mask of lanes moves eight bits of the sixteen into it (KMOVB).
set -eu

. tests/end_to_end/expectations
source=runtime/kernels/vector/engine/amx.c
vectors="-mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c"

if [ ! -e "$BUILD/amx/${source%.c}.o" ]; then
    echo "skipped: the objects of matrix engines: this build has none"
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
        # shellcheck disable=SC2086 # several words
        $compiler -std=c11 $options -ffp-contract=off -I. $vectors -mamx-tile -mamx-bf16 -c $source -o "$folder/object" \
            2>"$folder/err" || {
            echo "skipped: $compiler does not compile for AMX"
            break
        }
        check "$compiler $options" "$folder/object"
    done
done

# A configuration that the code writes is refused.
sed 's/static const firn_amx_configuration/firn_amx_configuration/' runtime/kernels/vector/engine/amx_tiles.h >"$folder/amx_tiles.h"
sed "s,runtime/kernels/vector/engine/amx_tiles.h,$folder/amx_tiles.h," $source >"$folder/amx.c"
# shellcheck disable=SC2086 # several words
${CC:-cc} -std=c11 -O1 -I. $vectors -mamx-tile -mamx-bf16 -c "$folder/amx.c" -o "$folder/object"
[ -z "$(section_of "$folder/object")" ] || fail "a configuration that the code writes is not seen"

# has_short_mask OBJECT: whether it moves eight bits into a mask
has_short_mask() {
    objdump -d --no-show-raw-insn "$1" | grep -q kmovb
}

pairs=$BUILD/avx512bf16/runtime/kernels/vector/engine/pairs.o
objdump -d --no-show-raw-insn "$pairs" | grep -q vdpbf16ps || fail "the build has no VDPBF16PS"
has_short_mask "$pairs" && fail "a mask of sixteen lanes gets eight bits"
echo 'kmovb %ebx, %k3' >"$folder/short.s"
${CC:-cc} -c "$folder/short.s" -o "$folder/object"
has_short_mask "$folder/object" || fail "a mask of eight bits is not seen"

[ $failures -eq 0 ]
