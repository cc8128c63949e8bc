#!/bin/sh
# What firn refuses, plans and checkpoints: each case ends with exit code 3 and one line on stderr that names the file,
# the problem, the error code and the remedy. tests/unit/test_trust_sweep.c covers what is too slow with processes; a
# second load into one instance is tested in frozen.sh, because firn loads only once.
#
# Needs: test_trust_sweep
set -eu

. tests/end_to_end/expectations
cases=0

# refused ERROR FILE COMMAND...: exits with 3, prints nothing on stdout and only the line "firn: FILE: text (ERROR);
# mend" on stderr.
refused() {
    wanted=$1
    file=$2
    shift 2
    status=0
    cases=$((cases + 1))
    "$@" >"$folder/out" 2>"$folder/err" </dev/null || status=$?
    [ "$status" -eq 3 ] || fail "$wanted: exit $status, not 3"
    [ "$(wc -l <"$folder/err")" -eq 1 ] || fail "$wanted: not one line on stderr"
    grep -q "^firn: $file: ..* ($wanted); ..*" "$folder/err" || fail "$wanted: the line does not say file, error, mend"
    [ ! -s "$folder/out" ] || fail "$wanted: something on stdout"
}

train() {
    "$FIRN" train "$@" --pub "$PUB" --data "$DATA" --steps 1 --quiet
}

evaluate() {
    "$FIRN" eval "$@" --pub "$PUB" --data "$DATA" --quiet
}

# flipped BYTE: a copy of the plan with one bit of that byte changed.
flipped() {
    cp "$PLAN" "$folder/changed"
    byte=$(od -A n -t u1 -j "$1" -N 1 "$folder/changed" | tr -d ' ')
    printf "\\$(printf %03o $((byte ^ 1)))" | dd of="$folder/changed" bs=1 seek="$1" conv=notrunc 2>"$folder/err"
}

"$BUILD/firnc" keygen "$folder/test" >"$folder/out"
"$BUILD/firnc" keygen "$folder/other" >"$folder/out"
PUB=$folder/test.pub.pem
DATA=/usr/share/common-licenses/GPL-3
compile() {
    "$BUILD/firnc" compile compiler/recipes/small_gpt2.yaml --key "$folder/test.key.pem" --security-counter 5 \
        >"$folder/out" "$@"
}
compile --mode train -o "$folder/train.plan"
compile --mode eval -o "$folder/eval.plan"
compile --mode train -o "$folder/other.plan" --set trainer.init.seed=4
compile --mode eval -o "$folder/wider.plan" --set trainer.init.model.filter_size=48
PLAN=$folder/train.plan
size=$(wc -c <"$PLAN")
# The report begins where the constants end (plan/FORMAT.md).
field() {
    od -A n -t u8 -j "$1" -N 8 "$PLAN" | tr -d ' '
}
report=$(($(field 224) + $(field 232)))

# Damaged bytes.
"$BUILD/firnc" compile compiler/recipes/small_gpt2.yaml --mode train --unsigned --pub "$PUB" -o "$folder/unsigned.plan" \
    >"$folder/out"
refused UNSIGNED "$folder/unsigned.plan" train "$folder/unsigned.plan"
refused WRONG_KEY "$PLAN" "$FIRN" train "$PLAN" --pub "$folder/other.pub.pem" --data "$DATA" --quiet
for length in 8 511 512 575 576 1000 $((report - 1)) $((report + 1)) $((size - 1)); do
    head -c "$length" "$PLAN" >"$folder/changed"
    refused TRUNCATED "$folder/changed" train "$folder/changed"
done
head -c 7 "$PLAN" >"$folder/changed" # fewer bytes than tell a plan from another file
refused MAGIC "$folder/changed" train "$folder/changed"
cp "$PLAN" "$folder/changed"
printf x >>"$folder/changed"
refused TRAILING_BYTES "$folder/changed" train "$folder/changed"
flipped 0
refused MAGIC "$folder/changed" train "$folder/changed"
for byte in 9 13; do
    flipped "$byte"
    refused FORMAT_VERSION "$folder/changed" train "$folder/changed"
done
flipped 21
refused ALGORITHM "$folder/changed" train "$folder/changed"
for byte in 16 24 44 208 301 511; do
    flipped "$byte"
    refused HEADER "$folder/changed" train "$folder/changed"
done
flipped 112
refused WRONG_KEY "$folder/changed" train "$folder/changed"
for byte in 32 36 50 100 150 180 512 575; do
    flipped "$byte"
    refused SIGNATURE "$folder/changed" train "$folder/changed"
done
for byte in 576 5000 $((report - 1)); do
    flipped "$byte"
    refused RUN_HASH "$folder/changed" train "$folder/changed"
done
for byte in "$report" $((size - 1)); do
    flipped "$byte"
    refused REPORT "$folder/changed" train "$folder/changed"
done
# A plan without its report runs the same.
head -c "$report" "$PLAN" >"$folder/short"
train "$PLAN" >"$folder/whole.out" || fail "the plan"
train "$folder/short" >"$folder/out" 2>"$folder/err" && cmp -s "$folder/out" "$folder/whole.out" ||
    fail "a plan that was cut off where its report begins"

# Plans that are refused in spite of a valid signature. The unchanged plan, signed with the same test key, runs.
echo 6 >"$folder/counter"
refused SECURITY_COUNTER "$PLAN" train "$PLAN" --counter "$folder/counter"
[ "$(cat "$folder/counter")" = 6 ] || fail "the counter was changed"
"$BUILD/tests/test_trust_sweep" forge "$folder"
own=$PUB
PUB=$folder/forged.pub.pem
train "$folder/forged.plan" >"$folder/out" 2>"$folder/err" || fail "a plan signed by the test's key"
refused NUMERICS_VERSION "$folder/numerics.plan" train "$folder/numerics.plan"
PUB=$own

# Plans of the other mode, and checkpoints of other plans.
train "$PLAN" --checkpoint "$folder/checkpoint" >"$folder/out" 2>"$folder/err" || fail "training"
refused WRONG_MODE "$folder/eval.plan" train "$folder/eval.plan"
refused WRONG_MODE "$PLAN" evaluate "$PLAN" --checkpoint "$folder/checkpoint"
refused CHECKPOINT_OTHER_RUN "$folder/checkpoint" \
    train "$folder/other.plan" --checkpoint "$folder/checkpoint" --resume
refused CHECKPOINT_OTHER_MODEL "$folder/checkpoint" evaluate "$folder/wider.plan" --checkpoint "$folder/checkpoint"
refused CHECKPOINT_MISSING "$folder/none" train "$PLAN" --checkpoint "$folder/none" --resume
head -c 1000 "$folder/checkpoint" >"$folder/half"
refused CHECKPOINT_DAMAGED "$folder/half" train "$PLAN" --checkpoint "$folder/half" --resume
evaluate "$folder/eval.plan" --checkpoint "$folder/checkpoint" >"$folder/out" 2>"$folder/err" || fail "evaluating"

echo "$cases cases, $failures failures"
[ "$failures" -eq 0 ]
