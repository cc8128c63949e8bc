#!/bin/sh
# The two kinds of reductions that matrix engines compute, even_odd_blocks and pairs, have the same bits on every machine:
# 30 random recipes (engine_recipes.py; FIRN_TEST_SEED gives others) for the targets amx-bf16 and avx512-bf16 train with
# every kernel set that this CPU has and with 1 to 4 threads, in 32 bits, and some of them on emulated boards. All digests
# of a recipe must be equal.
set -eu

STEPS=2
BOARD_STEPS=2
RECIPES=30
seed=${FIRN_TEST_SEED:-1}
. tests/end_to_end/expectations
boards="cortex-m7 rv32"
variants="gcc-m32 clang-O2"
sets=
compared=0
differs_from_portable=0

"$BUILD/firnc" keygen "$folder/test" >"$folder/log"
PUB=$folder/test.pub.pem
for target in $boards; do
    make -s --no-print-directory BUILD="$BUILD" emulator TARGET=$target PUB="$PUB" >"$folder/$target.board"
done
for name in recurrent sums; do
    support=
    [ $name = sums ] || support=tests/unit/support_recurrent.c
    # shellcheck disable=SC2086 # no word, or one
    ${CC:-gcc} -std=c11 -I. tests/end_to_end/${name}_plan.c $support "$BUILD/libfirnc.a" "$BUILD/libsigning.a" \
        "$BUILD/libfirn.a" -lyaml -lcjson -lz -lm -o "$folder/${name}_plan"
done
python3 tests/end_to_end/engine_recipes.py "$seed" $RECIPES "$folder" >"$folder/list"

# freeze TARGET: the plan of the current recipe for a target; other than portable, it must have the target's kind.
freeze() {
    plan=$folder/$1.plan
    if [ -e "$folder/$number.words" ]; then
        # shellcheck disable=SC2046 # several words
        "$folder/${family}_plan" "$folder/test.key.pem" "$plan" $(cat "$folder/$number.words") "$1" >"$folder/out" 2>&1
    else
        "$BUILD/firnc" compile "$folder/$number.yaml" --mode train --target "$1" --key "$folder/test.key.pem" -o "$plan" \
            >"$folder/out" 2>&1
    fi || fail "recipe $number ($family) does not compile for $1"
    case $1 in
    amx-bf16) kind=even_odd_blocks ;;
    avx512-bf16) kind=pairs ;;
    *) kind=f32 ;;
    esac
    "$BUILD/firnc" inspect "$plan" >"$folder/got"
    grep -q "^  reductions .* $kind" "$folder/got" || fail "recipe $number ($family) for $1 has no $kind"
    rm -f "$folder/out" "$folder/got"
}

# train SET THREADS: the digest after some steps of the current plan.
train() {
    FIRN_KERNELS=$1 "$BUILD/firn" train "$plan" --pub "$PUB" --data "$folder/$number.data" \
        ${labels:+--labels "$labels"} --steps $STEPS --threads "$2" --quiet 2>&1 || true
}

# Finds the sets that this CPU and build have, with the current plan; one that FIRN_TEST_SETS lists must be among them.
find_sets() {
    for set in plain fma avx2 avx512 avx512fp16 avx512bf16 amx neon; do
        if ! train $set 1 | grep -q KERNELS_UNKNOWN; then
            sets="$sets $set"
            continue
        fi
        case " ${FIRN_TEST_SETS:-} " in
        *" $set "*) fail "no set '$set', which FIRN_TEST_SETS asks for" ;;
        *) echo "skipped for want of a CPU feature: set '$set'" ;;
        esac
    done
}

# emulate TARGET PROGRAM STEPS: the digest of a runner.
emulate() {
    PLAN=$plan PUB=$PUB DATA=$folder/$number.data LABELS=$labels STEPS=$3 runtime/targets/emulated/run "$1" "$2" 2>&1 || true
}

# same NAME: $folder/got holds the expected digest.
same() {
    compared=$((compared + 1))
    grep '^digest ' "$folder/got" >"$folder/digest" || true
    [ -s "$folder/digest" ] && cmp -s "$folder/expected" "$folder/digest" ||
        fail "recipe $number ($family, $target, seed $seed): another digest with $1"
    rm -f "$folder/got"
}

while read -r number family target board; do
    labels=
    [ ! -e "$folder/$number.labels" ] || labels=$folder/$number.labels
    freeze portable
    [ -n "$sets" ] || find_sets
    train plain 1 | grep '^digest ' >"$folder/portable" || true
    freeze "$target"
    train plain 1 | grep '^digest ' >"$folder/expected" || true
    cmp -s "$folder/portable" "$folder/expected" || differs_from_portable=$((differs_from_portable + 1))
    for set in $sets; do
        for threads in 1 2 3 4; do
            train "$set" $threads >"$folder/got"
            same "$set, $threads threads"
        done
    done
    for variant in $variants; do
        emulate host "$BUILD/variants/$variant/runner" $STEPS >"$folder/got"
        same "$variant"
    done
    [ "$board" = board ] || continue
    emulate host "$BUILD/runner" $BOARD_STEPS >"$folder/got"
    grep '^digest ' "$folder/got" >"$folder/expected" || true
    for place in $boards; do
        emulate "$place" "$(cat "$folder/$place.board")" $BOARD_STEPS >"$folder/got"
        same "$place"
    done
done <"$folder/list"

[ $differs_from_portable -ge $((RECIPES * 3 / 4)) ] ||
    fail "only $differs_from_portable of $RECIPES recipes have other digests than for portable: the kinds are not tested"
echo "seed $seed: $compared runs compared with sets$sets, boards $boards and $variants, $failures differ"
[ $failures -eq 0 ]
