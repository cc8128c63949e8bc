#!/bin/sh
# A network of elementwise ops with repeated operands (elements_plan.c), in float32 and every half type: `firn train`
# with the kernel sets and with one and two threads, the runner of each compiler, two emulated boards and the second
# runtime compute the same losses and the same state, bit by bit.
#
# Needs: runner variants boards python
set -eu

STEPS=5
. tests/end_to_end/expectations
compared=0
boards="cortex-m7 rv32"
. tests/end_to_end/variants
CC=${CC:-cc}

"$CC" -std=c11 -Wall -Wextra -Werror -I. tests/end_to_end/elements_plan.c "$BUILD/libfirnc.a" "$BUILD/libfirn.a" \
    -lyaml -lcjson -lz -lm -o "$folder/elements_plan"
"$FIRNC" keygen "$folder/test" >"$folder/out"
PUB=$folder/test.pub.pem
{
    printf '\000\000\010\003\000\000\000\120\000\000\000\007\000\000\000\007' # 80 images of 7 x 7 bytes, as IDX
    head -c 3920 /usr/share/common-licenses/GPL-3
} >"$folder/images"
for target in $boards; do
    make -s --no-print-directory BUILD="$BUILD" emulator TARGET="$target" PUB="$PUB" >"$folder/$target.board"
done

# digest_of NAME COMMAND...: the command's last digest must be the expected one.
digest_of() {
    name=$1
    shift
    compared=$((compared + 1))
    "$@" >"$folder/out" 2>&1 || true
    got=$(sed -n 's/^digest \([0-9a-f]*\).*/\1/p' "$folder/out" | tail -n 1)
    [ -n "$got" ] && [ "$got" = "$expected" ] || fail "$type differs: $name"
}

# runner NAME TARGET PROGRAM KERNELS
runner() {
    digest_of "$1" env FIRN_KERNELS="$4" PLAN="$folder/plan" PUB="$PUB" DATA="$folder/images" LABELS= STEPS=$STEPS CHECKPOINT= \
        runtime/targets/emulated/run "$2" "$3"
}

for type in float32 float16 bfloat16 cbfloat16; do
    "$folder/elements_plan" "$folder/test.key.pem" "$folder/plan" $type
    expected=$(python3 tests/golden/second_runtime.py "$folder/plan" --data "$folder/images" --steps $STEPS |
        sed -n 's/^digest //p')
    [ -n "$expected" ] || fail "$type: the second runtime has no digest"
    for kernels in '' plain fma; do
        for threads in 1 2; do
            digest_of "firn, ${kernels:-its own kernels}, $threads threads" env FIRN_KERNELS="$kernels" "$FIRN" train "$folder/plan" \
                --pub "$PUB" --data "$folder/images" --steps $STEPS --threads $threads --quiet
        done
    done
    for variant in $variants; do
        runner "$variant" host "$built/$variant/runner" ''
    done
    for target in $boards; do
        runner "$target" "$target" "$(cat "$folder/$target.board")" ''
    done
done

echo "$compared comparisons, $failures failures"
[ $failures -eq 0 ] && [ $compared -eq $((4 * (6 + $(echo $variants $boards | wc -w)))) ]
