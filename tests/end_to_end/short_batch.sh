#!/bin/sh
# The last short batch of an evaluation counts. The value of each metric has the same bits for batches of 1, 7, 8 and 667
# records and of all, by `firn eval`, for a classifier, a language model and a regression; the second runtime has the
# same value; `firn predict` writes a row for each record. A recipe can leave the last samples out, and a graph whose
# samples depend on one another is refused by name where it asks for them, and else leaves them out with a warning.
#
# Needs: python
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/test" >"$folder/out"
PUB=$folder/test.pub.pem
VAL=trainer.validate
MODEL=trainer.init.model

python3 - "$folder" <<'END'
import sys
from pathlib import Path
import numpy as np

folder, n = Path(sys.argv[1]), 1334
values = np.random.default_rng(5).integers(0, 256, (n, 12), dtype=np.uint8)
np.save(folder / "records.npy", values)
np.save(folder / "classes.npy", (values[:, 0] % 10).astype(np.uint8))
np.save(folder / "pair.npy", (values[:, 1] % 2).astype(np.uint8))
np.save(folder / "weights.npy", (values[:, 2] % 4).astype(np.float32) / np.float32(3))
np.save(folder / "numbers.npy", (values[:, :10].astype(np.float32) / np.float32(100)))
np.save(folder / "shares.npy", (values[:, :10].astype(np.float32) / np.float32(2550)))
END
head -c 12000 /usr/share/common-licenses/GPL-3 >"$folder/text"
sed -e 's/input_size: 784/input_size: 12/' -e 's/held_out_per_mille: 200/held_out_per_mille: 0/' \
    compiler/recipes/small_mlp.yaml >"$folder/mlp.yaml"
sed -e 's/held_out_per_mille: [0-9]*/held_out_per_mille: 0/' compiler/recipes/small_gpt2.yaml >"$folder/gpt2.yaml"

# compile NAME RECIPE MODE [SETTING]...
compile() {
    plan=$folder/$1
    recipe=$2
    mode=$3
    shift 3
    for setting in "$@"; do
        set -- "$@" --set "$setting"
        shift
    done
    "$FIRNC" compile "$recipe" --mode "$mode" --key "$folder/test.key.pem" -o "$plan" "$@" >"$folder/out" 2>"$folder/err"
}

# same NAME BATCHES RECIPE DATA [SETTING]...: one value for all sizes of a batch, which the second runtime has, too. The
# parameters are those of the last training.
same() {
    name=$1
    batches=$2
    recipe=$folder/$3.yaml
    data=$4
    shift 4
    one=
    for batch in $batches; do
        compile eval "$recipe" eval "$VAL.val_dataloader.batch_size=$batch" "$@" || {
            fail "$name, batches of $batch: does not compile"
            return
        }
        [ ! -s "$folder/err" ] || fail "$name, batches of $batch: a warning"
        # The data is split into words intentionally, here and below.
        "$FIRN" eval "$folder/eval" --pub "$PUB" --checkpoint "$folder/run" --quiet --allow-other-preprocessing $data \
            >"$folder/out" 2>"$folder/err" || fail "$name, batches of $batch: firn eval ends with an error"
        [ -n "$one" ] || one=$(cat "$folder/out")
        [ "$(cat "$folder/out")" = "$one" ] || fail "$name: $one, and $(cat "$folder/out") for batches of $batch"
    done
    [ -n "$one" ] || fail "$name: no value"
}

# second NAME RECIPE DATA [SETTING]...: the value of a short batch in the second runtime.
second() {
    name=$1
    recipe=$folder/$2.yaml
    data=$3
    shift 3
    compile eval "$recipe" eval "$@" || fail "$name: does not compile for the second runtime"
    "$FIRN" eval "$folder/eval" --pub "$PUB" --checkpoint "$folder/run" --quiet --allow-other-preprocessing $data \
        >"$folder/firn" 2>"$folder/err"
    python3 tests/golden/second_runtime.py "$folder/train" $data --steps 2 --evaluate "$folder/eval" >"$folder/got"
    [ "metric $(cat "$folder/firn")" = "$(tail -n 1 "$folder/got")" ] || fail "$name: the second runtime has another value"
    : >"$folder/got"
}

train() {
    recipe=$1
    data=$2
    shift 2
    rm -f "$folder/run"
    compile train "$folder/$recipe.yaml" train "$@" || fail "$recipe $*: the training does not compile"
    "$FIRN" train "$folder/train" --pub "$PUB" --checkpoint "$folder/run" --quiet --steps 2 $data >"$folder/out" 2>&1
}

# --- one value for every size of a batch ---

records="--data $folder/records.npy"
classes="$records --labels $folder/classes.npy"
sizes="1 7 8 667 1334 2000"
train mlp "$classes"
for metric in accuracy loss perplexity mean_per_class_accuracy fbeta; do
    same "a classifier, $metric" "$sizes" mlp "$classes" $VAL.metric=$metric
done
same "a classifier in float32, mean" "$sizes" mlp "$classes" $VAL.metric=mean trainer.init.precision.enabled=false
same "a part of the data, permuted" "7 466" mlp "$classes --allow-other-split" $VAL.metric=mean \
    $VAL.val_dataloader.shuffle=true $VAL.val_dataloader.held_out_per_mille=350
second "a classifier, perplexity" mlp "$classes" $VAL.metric=perplexity $VAL.val_dataloader.batch_size=87
second "a classifier, accuracy" mlp "$classes" $VAL.metric=accuracy $VAL.val_dataloader.batch_size=87
same "the loss nll" "$sizes" mlp "$classes" $VAL.metric=loss $MODEL.loss=nll
weights="$classes --sample-weights $folder/weights.npy"
train mlp "$weights" $MODEL.sample_weights=true $MODEL.ignore_index=3
for metric in accuracy mean dice; do
    same "weights, $metric" "$sizes" mlp "$weights" $VAL.metric=$metric $MODEL.sample_weights=true $MODEL.ignore_index=3 \
        $MODEL.label_smoothing=0.1
    second "weights, $metric" mlp "$weights" $VAL.metric=$metric $MODEL.sample_weights=true $MODEL.ignore_index=3 \
        $VAL.val_dataloader.batch_size=87
done
train mlp "$records --labels $folder/pair.npy" $MODEL.output_size=2
same "auc of two classes" "$sizes" mlp "$records --labels $folder/pair.npy" $VAL.metric=auc $MODEL.output_size=2
numbers="$records --labels $folder/numbers.npy"
train mlp "$numbers" $MODEL.loss=mean_squared_error $VAL.metric=loss
for metric in loss mean_squared_error; do
    same "a regression, $metric" "$sizes" mlp "$numbers" $MODEL.loss=mean_squared_error $VAL.metric=$metric
done
second "a regression" mlp "$numbers" $MODEL.loss=mean_squared_error $VAL.val_dataloader.batch_size=87 $VAL.metric=loss
for loss in l1 huber smooth_l1 kl_divergence binary_cross_entropy_with_logits; do
    shares="$records --labels $folder/shares.npy"
    same "the loss $loss" "7 1334" mlp "$shares" $MODEL.loss=$loss $VAL.metric=loss
done
same "squares of the loss l1" "7 1334" mlp "$numbers" $MODEL.loss=l1 $VAL.metric=mean_squared_error
same "auc of shares" "7 1334" mlp "$records --labels $folder/shares.npy" $MODEL.loss=binary_cross_entropy_with_logits \
    $VAL.metric=auc
train gpt2 "--data $folder/text"
same "a language model, perplexity" "1 7 8 667" gpt2 "--data $folder/text" $VAL.metric=perplexity
same "a language model, accuracy" "7 667" gpt2 "--data $folder/text" $VAL.metric=accuracy
head -c 500 "$folder/text" >"$folder/few"
train gpt2 "--data $folder/few"
second "a language model" gpt2 "--data $folder/few" $VAL.metric=perplexity $VAL.val_dataloader.batch_size=5

# --- a plan with a metric and outputs predicts for each record ---

train mlp "$classes"
for batch in 1 8; do
    compile "outputs_$batch" "$folder/mlp.yaml" eval $VAL.metric=accuracy "$VAL.outputs=[logits]" \
        $VAL.val_dataloader.batch_size=$batch
    expect "firn predict, batches of $batch" 0 "" "$FIRN" predict "$folder/outputs_$batch" --pub "$PUB" \
        --checkpoint "$folder/run" $classes -o "$folder/rows_$batch.csv"
done
[ "$(wc -l <"$folder/rows_8.csv")" -eq 1334 ] || fail "firn predict: not a row for each record"
cmp -s "$folder/rows_1.csv" "$folder/rows_8.csv" || fail "firn predict: a row depends on the batch"

# --- what a recipe says, and what is refused ---

compile short "$folder/mlp.yaml" eval
compile left "$folder/mlp.yaml" eval $VAL.val_dataloader.drop_last=true
compile asked "$folder/mlp.yaml" eval $VAL.val_dataloader.drop_last=false
cmp -s "$folder/short" "$folder/asked" || fail "drop_last: false asks for what is so anyway"
"$FIRNC" inspect "$folder/short" --all >"$folder/inspected"
grep -q 'short' "$folder/inspected" || fail "inspect: no word of the short batch"
"$FIRNC" inspect "$folder/left" --all >"$folder/inspected"
! grep -q 'short' "$folder/inspected" || fail "inspect: a short batch where none may be"
expect "samples that are left out" 0 "" "$FIRN" eval "$folder/left" --pub "$PUB" --checkpoint "$folder/run" $classes
grep -q '^6 samples at the end of the data are fewer than a batch of 8 and were left out' "$folder/err" ||
    fail "no word of the samples that are left out"
minor() {
    od -A n -t u4 -j 12 -N 4 "$folder/$1" | tr -d ' '
}
[ "$(minor left)" -lt "$(minor short)" ] || fail "a plan that leaves samples out runs on older devices"
weighted_loss() {
    compile weighted "$folder/mlp.yaml" eval $VAL.metric=loss $MODEL.sample_weights=true "$@"
}
weighted_loss || fail "a loss that is no mean over rows does not compile"
grep -q "warning: samples at the end of the data that are fewer than a batch are left out: the loss is no mean" \
    "$folder/err" || fail "no warning that samples are left out"
weighted_loss $VAL.val_dataloader.drop_last=true || fail "drop_last: true does not compile"
[ ! -s "$folder/err" ] || fail "a warning where the recipe says so"
! weighted_loss $VAL.val_dataloader.drop_last=false || fail "a loss that is no mean over rows is not refused"
grep -q "drop_last: the last samples cannot be counted: the loss is no mean .*; write drop_last: true" "$folder/err" ||
    fail "the refusal names no key and no mend"

[ $failures -eq 0 ] || exit 1
