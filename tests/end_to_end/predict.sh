#!/bin/sh
# Predict beside training. A test firmware that trains, predicts between its steps over the same parameters, and goes on,
# ends with the digest of a run that did not predict, on this machine and on two emulated boards; what it predicts is what
# `firn predict` writes for the checkpoint of that step. Samples that are pushed give the same digest in `firn train`, on
# the boards and in the second runtime. What is wrong on the command line or in a recipe is refused in one line.
#
# Needs: boards python
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/test" >"$folder/out"
PUB=$folder/test.pub.pem
FIT=trainer.fit.train_dataloader
VAL=trainer.validate

# compile NAME RECIPE MODE [--set ...]
compile() {
    plan=$folder/$1
    recipe=compiler/recipes/$2
    mode=$3
    shift 3
    "$FIRNC" compile "$recipe" --mode "$mode" --key "$folder/test.key.pem" -o "$plan" "$@" >"$folder/out"
}

head -c 23520 /usr/share/common-licenses/GPL-3 | npy "$folder/images" '|u1' '(30, 28, 28)'
head -c 30 /usr/share/common-licenses/GPL-3 | tr -c 'a-i' 'j' | tr 'a-j' '\000-\011' | npy "$folder/labels" '|u1' '(30,)'
RECORDS="--data $folder/images --labels $folder/labels"

compile train small_mlp.yaml train --set $FIT.held_out_per_mille=0
compile predict small_mlp.yaml eval --set $VAL.metric=none --set "$VAL.outputs=[logits,layers.0]"
compile pushed small_mlp.yaml train --set $FIT.held_out_per_mille=0 --set $FIT.source=push --set $FIT.ring=20 \
    --set trainer.init.loop.num_steps=unlimited
compile pushed_text small_gpt2.yaml train --set $FIT.held_out_per_mille=0 --set $FIT.source=push --set $FIT.ring=90

train() {
    plan=$1
    shift
    "$FIRN" train "$folder/$plan" --pub "$PUB" --quiet "$@"
}
predict() {
    plan=$1
    shift
    "$FIRN" predict "$folder/$plan" --pub "$PUB" --checkpoint "$folder/checkpoint" "$@"
}

# --- the same digest, with and without predictions, on every target ---

alone=$(train train $RECORDS --steps 4)
train train $RECORDS --steps 3 --checkpoint "$folder/checkpoint" >"$folder/out"
expect "firn predict" 0 "" predict predict --data "$folder/images" --name logits -o "$folder/logits.npy"
first=$(od -A n -t x4 -j 256 -N 4 "$folder/logits.npy" | tr -d ' ')

# emulate TARGET PLAN STEPS [VARIABLE=VALUE...]
emulate() {
    target=$1
    shift
    make -s --no-print-directory BUILD="$BUILD" emulate TARGET="$target" PUB="$PUB" "$@" </dev/null >"$folder/got" \
        2>"$folder/err"
}
IMAGES="DATA=$folder/images LABELS=$folder/labels"
text=/usr/share/common-licenses/LGPL-3
pushed=$(train pushed $RECORDS --steps 5)
pushed_text=$(train pushed_text --data $text --steps 3)
for target in host cortex-m7 rv32; do
    emulate $target PLAN="$folder/train" $IMAGES STEPS=4 PREDICT="$folder/predict" || fail "$target: predicting failed"
    [ "$(tail -n 1 "$folder/got")" = "$alone" ] || fail "$target: predicting between the steps changed the run"
    [ "$(grep -c '^predicted logits 0x' "$folder/got")" -eq 4 ] || fail "$target: not four predictions"
    [ "$(sed -n 's/^predicted logits 0x//p' "$folder/got" | tail -n 1)" = "$first" ] ||
        fail "$target: predicted something else than firn predict from the checkpoint of that step"
    emulate $target PLAN="$folder/pushed" $IMAGES STEPS=5 PREDICT="$folder/predict" || fail "$target: pushing failed"
    [ "$(tail -n 1 "$folder/got")" = "$pushed" ] || fail "$target: other bits of pushed records"
    emulate $target PLAN="$folder/pushed_text" DATA=$text STEPS=3 || fail "$target: pushing text failed"
    [ "$(tail -n 1 "$folder/got")" = "$pushed_text" ] || fail "$target: other bits of pushed text"
done

# --- the second runtime draws from the ring as the documents say ---

second() {
    python3 tests/golden/second_runtime.py "$@" | tail -n 1
}
[ "$(second "$folder/pushed" $RECORDS --steps 5)" = "$pushed" ] || fail "the second runtime draws other records"
[ "$(second "$folder/pushed_text" --data $text --steps 3)" = "$pushed_text" ] ||
    fail "the second runtime draws other windows"

# --- a run without an end, whose samples are pushed, is resumed ---

train pushed $RECORDS --steps 2 --checkpoint "$folder/moving" >"$folder/out"
[ "$(train pushed $RECORDS --steps 3 --checkpoint "$folder/moving" --resume)" = "$pushed" ] ||
    fail "a resumed run whose samples are pushed is another one"
"$FIRNC" inspect "$folder/pushed" --all >"$folder/inspected"
grep -q '^steps  *no end$' "$folder/inspected" || fail "inspect: no word of a run without an end"
grep -q 'pushed  *the newest in uint8\[20,28,28\]\|pushed  *the newest in uint8\[20,784\]' "$folder/inspected" ||
    fail "inspect: no word of the ring"

# --- what firn predict writes ---

expect "CSV" 0 "" predict predict --data "$folder/images" --name logits -o "$folder/logits.csv"
[ "$(wc -l <"$folder/logits.csv")" -eq 30 ] || fail "CSV: not a line for each sample"
[ "$(head -n 1 "$folder/logits.csv" | tr -cd , | wc -c)" -eq 9 ] || fail "CSV: not ten numbers in a line"
python3 - "$folder/logits.npy" "$folder/logits.csv" <<'END' || fail "CSV and .npy have other numbers"
import numpy, sys
rows = numpy.load(sys.argv[1])
assert rows.shape == (30, 10) and rows.dtype == "<f4"
assert (numpy.loadtxt(sys.argv[2], delimiter=",").astype("f4") == rows).all()
END
# The last six samples are no whole batch. One by one, and of text in several files, the rows are the same.
one_by_one() {
    from=$1
    outputs=$2
    shift 2
    for size in 1 4; do
        compile "by_$size" "$from" eval --set $VAL.metric=none --set "$VAL.outputs=[$outputs]" \
            --set $VAL.val_dataloader.batch_size=$size
        expect "batches of $size" 0 "" "$FIRN" predict "$folder/by_$size" --pub "$PUB" --checkpoint "$folder/checkpoint" \
            "$@" -o "$folder/by_$size.csv"
    done
    cmp -s "$folder/by_1.csv" "$folder/by_4.csv" || fail "$from: a row depends on the batch"
}
one_by_one small_mlp.yaml logits --data "$folder/images"
[ "$(cat "$folder/by_1.csv")" = "$(cat "$folder/logits.csv")" ] || fail "a row depends on the batch"
head -c 100 $text >"$folder/text_1"
head -c 500 $text | tail -c 77 >"$folder/text_2"
mv "$folder/checkpoint" "$folder/checkpoint.mlp"
train pushed_text --data $text --steps 1 --checkpoint "$folder/checkpoint" >"$folder/out"
one_by_one small_gpt2.yaml logits --data "$folder/text_1" --data "$folder/text_2" --data "$folder/text_1"
[ "$(wc -l <"$folder/by_1.csv")" -eq 16 ] || fail "not a row for each window of three files"
mv "$folder/checkpoint.mlp" "$folder/checkpoint"
expect "no name" 2 'several outputs; write --name and one of: logits, layers.0' predict predict \
    --data "$folder/images" -o "$folder/none.csv"
expect "wrong name" 2 'no output of this name; .*: logits, layers.0' predict predict --data "$folder/images" \
    --name logit -o "$folder/none.csv"
expect "no format" 2 'says no format; end the name in .csv' predict predict --data "$folder/images" --name logits \
    -o "$folder/none.txt"
expect "over the data" 2 'would be written over the data' predict predict --data "$folder/images" --name logits \
    -o "$folder/images"
expect "labels" 2 'reads no labels; leave out --labels' predict predict $RECORDS --name logits -o "$folder/none.csv"
expect "a train plan" 3 'WRONG_MODE.*predict.* run those compiled with --mode eval' predict train $RECORDS -o "$folder/none.csv"
expect "no -o" 2 'needs --output' predict predict --data "$folder/images"
expect "no checkpoint" 3 'CHECKPOINT_MISSING' "$FIRN" predict "$folder/predict" --pub "$PUB" --data "$folder/images" \
    --checkpoint "$folder/nothing" --name logits -o "$folder/none.csv"
expect "eval of outputs" 3 'NO_METRIC.*firn predict' "$FIRN" eval "$folder/predict" --pub "$PUB" \
    --data "$folder/images" --checkpoint "$folder/checkpoint"
compile measure small_mlp.yaml eval --set $FIT.held_out_per_mille=0
expect "no outputs" 3 'has no outputs; compile it with trainer.validate.outputs' predict measure $RECORDS \
    -o "$folder/none.csv"
[ ! -e "$folder/none.csv" ] && [ ! -e "$folder/none.csv.tmp" ] || fail "a refused prediction left a file"

# Without a metric all of the data is read, or with held_out: true the part that the training holds out, a tenth of the
# 7,652 bytes of this text.
compile trained small_gpt2.yaml train
train trained --data $text --steps 1 --checkpoint "$folder/trained.ckpt" >"$folder/out"
for part in true:44 false:478; do
    compile part small_gpt2.yaml eval --set $VAL.metric=none --set "$VAL.outputs=[logits]" \
        --set $VAL.val_dataloader.held_out=${part%:*} --set $VAL.val_dataloader.batch_size=4
    expect "held_out: ${part%:*}" 0 "" "$FIRN" predict "$folder/part" --pub "$PUB" --data $text \
        --checkpoint "$folder/trained.ckpt" -o "$folder/part.csv"
    [ "$(wc -l <"$folder/part.csv")" -eq "${part#*:}" ] || fail "held_out: ${part%:*} predicts other samples"
done
expect "nothing held out" 1 'held_out: nothing is held out; remove it' "$FIRNC" compile \
    compiler/recipes/small_mlp.yaml --mode eval --set $VAL.val_dataloader.held_out=true \
    --set $VAL.val_dataloader.held_out_per_mille=0 --dump-after build

# --- what recipes may say ---

# refused PATTERN MODE SETTING...: firnc compile refuses the recipe.
refused() {
    pattern=$1
    mode=$2
    shift 2
    words=
    for setting in "$@"; do
        words="$words --set $setting"
    done
    # Settings have no spaces.
    expect "$*" 1 "$pattern" "$FIRNC" compile compiler/recipes/small_mlp.yaml --mode "$mode" --dump-after build $words
}
refused 'outputs.1: logit is no output of the model mlp; the nearest known one is logits' eval "$VAL.outputs=[logits,logit]"
refused 'outputs.0: layers.3 is no output of the model mlp; the nearest known one is layers' train \
    'trainer.fit.outputs=[layers.3]'
refused 'lists no output' eval "$VAL.outputs=[]"
refused 'num_steps: endless is neither a number of steps nor unlimited' train trainer.init.loop.num_steps=endless
refused 'pull is not one of the choices; write one of files, push' train $FIT.source=pull
refused 'needs ring' train $FIT.source=push
refused 'belongs to source: push' train $FIT.ring=9
refused 'ring of 3 holds less than a micro-batch, which takes 4; make it as large' train $FIT.source=push $FIT.ring=3 \
    $FIT.held_out_per_mille=0
refused 'held out of samples that are pushed' train $FIT.source=push $FIT.ring=9
refused 'have no end to stop at' train $FIT.source=push $FIT.ring=9 $FIT.held_out_per_mille=0 $FIT.wrap=false
# freeze SETTING...: the same for what is found when the plan is made.
expect "no metric, no output" 1 'neither a metric nor an output' "$FIRNC" compile compiler/recipes/small_mlp.yaml \
    --mode eval --set $VAL.metric=none --key "$folder/test.key.pem" -o "$folder/none"
# Where the plan has as many positions as samples, only the data tells their table from rows of samples.
for size in 4 16; do
    expect "the table of $size positions" 1 'outputs.0: transformer.wpe is [a-z0-9]*\[16,16\].*a row for each of the' "$FIRNC" \
        compile compiler/recipes/small_gpt2.yaml --mode eval --set $VAL.metric=none --set "$VAL.outputs=[transformer.wpe]" \
        --set $VAL.val_dataloader.batch_size=$size --key "$folder/test.key.pem" -o "$folder/none"
done
expect "the loss as an output" 1 'outputs.1: loss is float32\[1\].*a row for each of the' "$FIRNC" \
    compile compiler/recipes/small_mlp.yaml --mode train --set "trainer.fit.outputs=[logits,loss]" \
    --key "$folder/test.key.pem" -o "$folder/none"
expect "an output twice" 1 'the output logits is there twice' "$FIRNC" compile compiler/recipes/small_mlp.yaml \
    --mode eval --set "$VAL.outputs=[logits,logits]" --key "$folder/test.key.pem" -o "$folder/none"

# --- the example of a device ---

for mode in train eval; do
    compile "device_$mode" device_mlp.yaml $mode
done
gcc -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror -I. runtime/examples/predict.c "$BUILD/libfirnhost.a" \
    "$BUILD/libfirn.a" -pthread -lcjson -lz -lm -o "$folder/example" || fail "the example does not compile"
expect "the example" 0 "" "$folder/example" "$folder/device_train" "$folder/device_eval" "$PUB" 4000
last=$(sed -n 's/^samples 4000: \([0-9]*\) of the last 400 were right$/\1/p' "$folder/out")
[ "${last:-0}" -gt 300 ] || fail "the example has not learned"

# A schedule must be a number in every step of a run without an end.
sed 's/num_steps: 40/num_steps: unlimited/' compiler/recipes/small_mlp.yaml >"$folder/endless.yaml"
# schedule LINE...: the recipe with another schedule.
schedule() {
    awk -v lines="$1" '/ConstantLR:/ { print lines; getline; next } { print }' "$folder/endless.yaml" >"$folder/one.yaml"
}
for kind in 'LinearLR: {initial_learning_rate: 0.1, end_learning_rate: 0.01, total_iters: 10}' \
    'CosineAnnealingLR: {initial_learning_rate: 0.1, T_max: 10, eta_min: 0.0}' \
    'ExponentialLR: {initial_learning_rate: 0.1, total_iters: 10, decay_rate: 0.5}' \
    'LambdaLR: {initial_learning_rate: 0.1, lr_lambda: "1 / (1 + t)"}'; do
    schedule "      - $kind"
    expect "$kind" 0 "" "$FIRNC" schedule "$folder/one.yaml" --range 0:3
    expect "$kind" 0 "" "$FIRNC" compile "$folder/one.yaml" --mode train --key "$folder/test.key.pem" -o "$folder/endless"
done
one_cycle='OneCycleLR: {initial_learning_rate: 0.01, max_lr: 0.1, total_steps: 10, pct_start: 0.3, final_div_factor: 10, three_phase: false, anneal_strategy: cos}'
schedule "      - $one_cycle"
expect "one cycle" 1 'OneCycleLR has an end, total_steps 10, and the run has no end' "$FIRNC" compile "$folder/one.yaml" \
    --mode train --key "$folder/test.key.pem" -o "$folder/none"
schedule '      - ExponentialLR: {initial_learning_rate: 0.1, total_iters: 10, decay_rate: 1.5}'
expect "a rate that grows" 1 'learning_rate is inf at step .*give the run an end' "$FIRNC" compile "$folder/one.yaml" \
    --mode train --key "$folder/test.key.pem" -o "$folder/none"
schedule '      - LambdaLR: {initial_learning_rate: 0.1, lr_lambda: "1 - t / 1000000000"}'
expect "a rate below 0" 1 'learning_rate is -.* at step .*give the run an end' "$FIRNC" compile "$folder/one.yaml" \
    --mode train --key "$folder/test.key.pem" -o "$folder/none"

[ $failures -eq 0 ]
