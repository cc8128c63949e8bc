#!/bin/sh
# The two kinds of reductions that matrix engines compute, even_odd_blocks and pairs, have the same bits on every machine:
# 30 random recipes (engine_recipes.py; FIRN_TEST_SEED gives others) for the targets amx-bf16 and avx512-bf16 train and
# evaluate with every kernel set that this CPU has, with 1 to 4 threads, and some of them in 32 bits, by another compiler,
# on two emulated boards, on emulated AArch64 but in `make test`, and by the second runtime
# (second_runtime.sh). All digests of a recipe must be equal. The portable kernels, set `plain`, are what the others are
# compared with; tests/unit/test_kernels_engine.c compares these with a model of the instructions.
# FIRN_TEST_EXHAUSTIVE=1 runs every recipe everywhere.
#
# Needs: aarch64 variants boards signing python
set -eu

STEPS=2
RECIPES=30
seed=${FIRN_TEST_SEED:-1}
. tests/end_to_end/expectations
boards="cortex-m7 rv32"
. tests/end_to_end/variants
# One of the other compiler, one of 32 bits.
variants=$(printf '%s\n' $variants | awk '/^clang-O/ && !other { other = $0 } /^gcc-m32/ { word = $0 } END { print other, word }')
case $(uname -m) in
x86_64) possible_sets="plain fma avx2 avx512 avx512fp16 avx512bf16 amx" ;;
aarch64) possible_sets="plain neon neonfp16" ;;
*) possible_sets=plain ;;
esac
through= program=$BUILD/firn # what runs firn, and which
aarch64=
if [ "$(uname -m)" != aarch64 ] && [ "${FIRN_TEST_LOOP:-}" != test ]; then # make test does not build it
    aarch64="qemu-aarch64 -L /usr/aarch64-linux-gnu"
    libraries=$PWD/.cache/aarch64
    aarch64="$aarch64 -E LD_LIBRARY_PATH=$libraries/usr/lib/aarch64-linux-gnu:$libraries/lib/aarch64-linux-gnu"
fi
sets=
compared=0
unlike_portable=0
evaluated=0

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

# freeze MODE TARGET: a plan of the current recipe. If it is for an engine, it must have the engine's kind.
freeze() {
    plan=$folder/$1.plan
    if [ -e "$folder/$number.words" ]; then
        # shellcheck disable=SC2046 # several words
        "$folder/${family}_plan" "$folder/test.key.pem" "$plan" $(cat "$folder/$number.words") "$2" >"$folder/out" 2>&1
    else
        "$BUILD/firnc" compile "$folder/$number.yaml" --mode "$1" --target "$2" --key "$folder/test.key.pem" -o "$plan" \
            --set trainer.validate.metric=loss >"$folder/out" 2>&1
    fi || fail "recipe $number ($family) does not compile for $2"
    case $2 in
    amx-bf16) kind=even_odd_blocks ;;
    avx512-bf16) kind=pairs ;;
    *) kind=f32 ;;
    esac
    "$BUILD/firnc" inspect "$plan" --memory >"$folder/got"
    grep -q "^  reductions .* $kind" "$folder/got" || fail "recipe $number ($family) for $2 has no $kind"
    rm -f "$folder/out" "$folder/got"
}

# firn SET THREADS COMMAND [OPTION]...: runs the current plan.
firn() {
    set=$1
    threads=$2
    command=$3
    shift 3
    # shellcheck disable=SC2086 # no word, or several
    FIRN_KERNELS=$set $through "$program" "$command" "$plan" --pub "$PUB" --data "$folder/$number.data" \
        ${labels:+--labels "$labels"} --threads "$threads" --quiet "$@" 2>&1 || true
}

# Finds the sets that this CPU and build have, with the current plan; one that FIRN_TEST_SETS lists must be among them.
find_sets() {
    for name in $possible_sets; do
        if ! firn $name 1 train --steps 1 | grep -q KERNELS_UNKNOWN; then
            sets="$sets $name" fast=$name
            continue
        fi
        case " ${FIRN_TEST_SETS:-} " in
        *" $name "*) fail "no set '$name', which FIRN_TEST_SETS asks for" ;;
        *) echo "skipped for want of a CPU feature: set '$name'" ;;
        esac
    done
}

# emulate PLACE PROGRAM: runs the current plan by a runner.
emulate() {
    PLAN=$plan PUB=$PUB DATA=$folder/$number.data LABELS=$labels STEPS=$STEPS runtime/targets/emulated/run "$1" "$2" 2>&1 ||
        true
}

# same NAME: what a run printed, $folder/got, has the expected digest or value.
same() {
    compared=$((compared + 1))
    if ! grep '^digest [0-9a-f]\{64\}$\|^[-0-9.e+][-0-9.e+]*$\|^nan$\|^-*inf$' "$folder/got" >"$folder/digest" ||
        ! cmp -s "$folder/expected" "$folder/digest"; then
        fail "recipe $number ($family, $target, seed $seed) differs with $1"
    fi
    rm -f "$folder/got"
}

taken=0
while read -r number family target board; do
    takes_next || continue
    taken=$((taken + 1))
    labels=
    [ ! -e "$folder/$number.labels" ] || labels=$folder/$number.labels
    freeze train portable
    [ -n "$sets" ] || find_sets
    firn plain 1 train --steps $STEPS >"$folder/portable"
    freeze train "$target"
    firn plain 1 train --steps $STEPS >"$folder/expected"
    cmp -s "$folder/portable" "$folder/expected" || unlike_portable=$((unlike_portable + 1))
    for name in $sets; do
        for threads in 1 2 3 4; do
            [ "$name" != plain ] || [ "$threads $board" = "3 board" ] || continue
            firn "$name" $threads train --steps $STEPS >"$folder/got"
            same "$name, $threads threads"
        done
    done
    if [ "$board" = board ] || [ "${FIRN_TEST_EXHAUSTIVE:-}" = 1 ]; then
        for place in $variants; do
            emulate host "$built/$place/runner" >"$folder/got"
            same "$place"
        done
        for place in $boards; do
            emulate "$place" "$(cat "$folder/$place.board")" >"$folder/got"
            same "$place"
        done
        python3 tests/golden/second_runtime.py "$plan" --data "$folder/$number.data" ${labels:+--labels "$labels"} \
            --steps $STEPS >"$folder/got" 2>&1 || true
        same "the second runtime"
        for name in ${aarch64:+plain neon}; do
            through=$aarch64 program=$BUILD/aarch64/firn
            firn $name 3 train --steps $STEPS >"$folder/got"
            through= program=$BUILD/firn
            same "$name on AArch64"
        done
    fi
    [ -e "$folder/$number.yaml" ] || continue
    rm -f "$folder/checkpoint" # none is made where a parameter has become infinite
    firn "$fast" 4 train --steps $STEPS --checkpoint "$folder/checkpoint" >"$folder/out"
    [ -e "$folder/checkpoint" ] || continue
    evaluated=$((evaluated + 1))
    freeze eval "$target"
    firn plain 1 eval --checkpoint "$folder/checkpoint" >"$folder/expected"
    for name in $sets; do
        [ "$name" = plain ] || firn "$name" 2 eval --checkpoint "$folder/checkpoint" >"$folder/got"
        [ "$name" = plain ] || same "$name, evaluation"
    done
done <"$folder/list"

[ $taken -ge $((RECIPES / ${FIRN_TEST_EVERY:-1})) ] || fail "only $taken recipes were taken"
[ $unlike_portable -ge $((taken / 2)) ] ||
    fail "only $unlike_portable of $taken recipes differ from portable sums: the others test too little"
[ $evaluated -ge $((taken / 2)) ] || fail "only $evaluated of $taken recipes were evaluated"
echo "seed $seed: $compared runs compared, with sets$sets, on $boards${aarch64:+ aarch64}, by $variants second_runtime; $failures differ;" \
    "$unlike_portable of $taken recipes have other bits than with portable sums"
[ $failures -eq 0 ]
