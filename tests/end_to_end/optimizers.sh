#!/bin/sh
# Every optimizer in a plan: a run that is stopped and resumed ends with the digest of an uninterrupted run, and steps
# that the loss scaler skips do not change the parameters or any tensor of the optimizer.
set -eu

. tests/end_to_end/expectations
checked=0

"$BUILD/firnc" keygen "$folder/test" >"$folder/log"
cat /usr/share/common-licenses/GPL-3 >"$folder/text"

# compile OPTIMIZER [SETTING]...
compile() {
    optimizer=$1
    shift
    rm -f "$folder/plan"
    "$BUILD/firnc" compile compiler/recipes/small_gpt2.yaml --mode train --key "$folder/test.key.pem" -o "$folder/plan" \
        --set "trainer.init.optimizer={$optimizer}" --set trainer.init.precision.fp16_type=float16 \
        --set trainer.init.precision.loss_scaling_factor=dynamic "$@" >"$folder/log" 2>&1 ||
        fail "$optimizer does not compile: $(cat "$folder/log")"
}

# train CHECKPOINT STEPS [OPTION]...: prints the digest
train() {
    checkpoint=$1
    steps=$2
    shift 2
    "$BUILD/firn" train "$folder/plan" --pub "$folder/test.pub.pem" --data "$folder/text" --steps "$steps" \
        --checkpoint "$folder/$checkpoint" --quiet "$@" 2>&1 | grep '^digest '
}

# The tensors of a checkpoint that a skipped step must not change.
kept() {
    "$BUILD/firn" digest "$folder/$1" --per-tensor | grep -v 'counters\.\|scaler\.\|^digest'
}

for optimizer in "SGD: {momentum: 0.9}" "Adam: {amsgrad: true}" "Adam: {}" "AdamW: {}" "AdamW: {amsgrad: true}" "Adafactor: {}" \
    "Lamb: {}" "Lion: {}" "RMSprop: {momentum: 0.9, centered: true}" "RAdam: {}" "NAdam: {}" "Adamax: {}" "Rprop: {}" \
    "Adagrad: {initial_accumulator_value: 0.5}" "Adadelta: {}" "ASGD: {}" "Muon: {}"; do
    rm -f "$folder"/whole "$folder"/parts "$folder"/one "$folder"/two
    compile "$optimizer"
    whole=$(train whole 6) || fail "$optimizer does not train"
    train parts 3 >"$folder/log" || true
    parts=$(train parts 3 --resume) || true
    [ "$whole" = "$parts" ] || fail "$optimizer: a resumed run has $parts, a whole one $whole"
    compile "$optimizer" --set trainer.init.precision.initial_loss_scale=1e30 \
        --set trainer.init.precision.max_loss_scale=1e30
    train one 1 >"$folder/log" || true
    train two 3 >"$folder/log" || true
    kept one >"$folder/kept.one"
    kept two >"$folder/kept.two"
    cmp -s "$folder/kept.one" "$folder/kept.two" || fail "$optimizer: a skipped step changed something"
    grep -q 'optimizer\.' "$folder/kept.one" || fail "$optimizer: no state of the optimizer is in the checkpoint"
    checked=$((checked + 1))
done

echo "$checked optimizers, $failures failures"
[ $failures -eq 0 ] && [ $checked -eq 17 ]
