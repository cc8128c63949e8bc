#!/bin/sh
# ignore_index: -100, as in PyTorch: rows whose label is -100 do not count, and every class is a class of the model. A run
# has PyTorch's losses (tests/golden/ignored_labels.py), the digest of a run that masks the same rows by weights of 0, for
# every cut into micro-batches and with the loss by blocks of rows, and that of the second runtime. Every metric of an
# evaluation has the value that it has with these weights. Labels may be int32, int64 or bytes, in an array or a table. A
# label that is neither a class nor -100 is refused, as is uint8 beside 256 classes; a text has no such labels.
#
# Needs: python
set -eu

. tests/end_to_end/expectations

golden=tests/golden/ignored_labels
records="--data tests/golden/masked_batches.npy"
"$FIRNC" keygen "$folder/key" >"$folder/out"
PUB=$folder/key.pub.pem
MODEL=trainer.init.model
VAL=trainer.validate
LOADER=trainer.fit.train_dataloader

cat >"$folder/mlp.yaml" <<'END'
trainer:
  init:
    seed: 1
    model: {name: mlp, input_size: 6, hidden_sizes: [7], output_size: 5, nonlinearity: tanh, ignore_index: -100}
    optimizer: {SGD: {momentum: 0.0}}
    schedulers: [{ConstantLR: {learning_rate: 0.5}}]
    precision: {enabled: false}
    loop: {num_steps: 12}
  fit:
    train_dataloader: {batch_size: 6, micro_batch_size: 6, shuffle: false, feature_type: float32, label_type: int32}
  validate:
    metric: mean
    val_dataloader: {batch_size: 5}
END
sed 's/ignore_index: -100/sample_weights: true/' "$folder/mlp.yaml" >"$folder/weights.yaml"
python3 - "$folder" <<'END'
import sys
from pathlib import Path
import numpy as np

folder = Path(sys.argv[1])
x, labels = np.load("tests/golden/masked_batches.npy"), np.load("tests/golden/ignored_labels.npy")
present = labels >= 0
save = lambda name, array: np.save(folder / f"{name}.npy", array)
save("int32", labels.astype(np.int32))
save("float64", labels.astype(np.float64))
save("zeros", np.where(present, labels, 0).astype(np.int32))
save("weights", present.astype(np.float32))
save("above", np.where(present, labels, 5))
save("minus", np.where(present, labels, -1))
save("none", np.full(labels.shape, -100, np.int32))
table = ["a,b,c,d,e,f,label"] + [",".join([*(repr(float(v)) for v in row), str(y)]) for row, y in zip(x, labels)]
(folder / "table.csv").write_text("\n".join(table) + "\n")
# rows of a language model with masked tokens: 8 records of 16 tokens
generator = np.random.default_rng(3)
tokens = generator.integers(0, 64, (8, 16), dtype=np.int32)
save("tokens", tokens)
save("masked", np.where(generator.random((8, 16)) < 0.2, tokens, -100))
END

# compile NAME RECIPE MODE [SETTING]...
compile() {
    plan=$folder/$1
    recipe=$folder/$2.yaml
    mode=$3
    shift 3
    for setting in "$@"; do
        set -- "$@" --set "$setting"
        shift
    done
    "$FIRNC" compile "$recipe" --mode "$mode" --key "$folder/key.key.pem" -o "$plan" "$@" >"$folder/out" 2>"$folder/err" || {
        fail "$(basename "$plan"): does not compile"
        return 1
    }
}

# train NAME PLAN DATA...: the losses are in NAME.losses, and the last line of NAME.out is the digest
train() {
    name=$1
    plan=$2
    shift 2
    rm -f "$folder/$name.run" "$folder/log"
    "$FIRN" train "$folder/$plan" --pub "$PUB" --checkpoint "$folder/$name.run" --log "$folder/log" "$@" >"$folder/out" \
        2>"$folder/err" || fail "$name: firn train ends with an error"
    sed -n "s/^digest //p" "$folder/out" >"$folder/$name.digest"
    sed -n 's/.*"loss": *\([^,}]*\),.*/\1/p' "$folder/log" >"$folder/$name.losses"
}

# same NAME OTHER: two runs end in one state
same() {
    [ -s "$folder/$1.digest" ] && cmp -s "$folder/$1.digest" "$folder/$2.digest" || fail "$1 and $2 end in different states"
}

# --- PyTorch's losses ---

weights="--weights tests/golden/masked_batches.safetensors"
"$FIRNC" compile "$folder/mlp.yaml" --mode train --key "$folder/key.key.pem" $weights -o "$folder/golden" >"$folder/out" 2>&1 ||
    fail "the golden recipe does not compile"
train golden golden $records --labels $golden.npy
paste "$folder/golden.losses" $golden.losses | awk '
    { error = ($1 - $2) / $2; if (error < 0) error = -error; if (error > worst) worst = error }
    END { exit !(NR == 12 && worst <= 1e-6) }' || fail "not PyTorch's losses"

# --- the digest of weights of 0 ---

compile ignored mlp train
compile weighted weights train
train ignored ignored $records --labels $golden.npy
train weighted weighted $records --labels "$folder/zeros.npy" --sample-weights "$folder/weights.npy"
same ignored weighted
for size in 3 2 1; do
    compile "ignored_$size" mlp train $LOADER.micro_batch_size=$size
    compile "weighted_$size" weights train $LOADER.micro_batch_size=$size
    train "ignored_$size" "ignored_$size" $records --labels $golden.npy
    train "weighted_$size" "weighted_$size" $records --labels "$folder/zeros.npy" --sample-weights "$folder/weights.npy"
    same "ignored_$size" "weighted_$size"
done
for setting in $MODEL.label_smoothing=0.1 $MODEL.loss_scaling=batch_size; do
    compile ignored_set mlp train "$setting"
    compile weighted_set weights train "$setting"
    train ignored_set ignored_set $records --labels $golden.npy
    train weighted_set weighted_set $records --labels "$folder/zeros.npy" --sample-weights "$folder/weights.npy"
    same ignored_set weighted_set
done
python3 tests/golden/second_runtime.py "$folder/ignored" $records --labels "$folder/above.npy" --steps 12 >"$folder/second"
tail -n 1 "$folder/second" | grep -q "$(cat "$folder/ignored.digest")" || fail "the second runtime ends in another state"

# --- labels in every form ---

for form in int32 float64; do
    train "$form" ignored $records --labels "$folder/$form.npy"
    same "$form" ignored
done
compile bytes mlp train $LOADER.label_type=uint8
train bytes bytes $records --labels $golden.npy
same bytes ignored
train table ignored --data "$folder/table.csv" --target-column label
same table ignored
"$FIRN" data --plan "$folder/ignored" --pub "$PUB" tests/golden/masked_batches.npy --labels $golden.npy >"$folder/got" 2>&1 || fail "firn data --plan"
grep -q "from 0 to 4, or -100, which is ignored" "$folder/got" || fail "firn data does not say what labels may be"

# A device reads another number for -100, and firn data says so; in a table of predictions such a row has no label.
"$FIRN" data tests/golden/masked_batches.npy --labels $golden.npy --plan "$folder/ignored" --pub "$PUB" \
    --convert-labels "$folder/device.npy" >"$folder/got" 2>"$folder/err" || fail "firn data --convert-labels ends with an error"
grep -q "device.npy: a label of -100 is written as 5, which a device reads for it" "$folder/err" ||
    fail "firn data does not say what -100 becomes"
compile said mlp eval $VAL.outputs=[logits]
for form in csv jsonl; do
    "$FIRN" predict "$folder/said" --pub "$PUB" --quiet $records --labels $golden.npy --checkpoint "$folder/ignored.run" \
        --format $form -o "$folder/said.$form" 2>"$folder/err" || fail "predict to $form ends with an error"
done
python3 - "$folder" <<'END' || fail "the labels of a table are not those of the file, with none for -100"
import csv, json, sys
import numpy as np
wanted = [None if y < 0 else int(y) for y in np.load("tests/golden/ignored_labels.npy")]
rows = list(csv.DictReader(open(sys.argv[1] + "/said.csv")))
assert None in wanted and [int(row["label"]) if row["label"] else None for row in rows] == wanted
assert [json.loads(line)["label"] for line in open(sys.argv[1] + "/said.jsonl")] == wanted
END

# --- evaluations ---

for metric in mean perplexity accuracy mean_per_class_accuracy mean_iou dice fbeta; do
    for batch in 5 12; do
        compile ignored_eval mlp eval $VAL.metric=$metric $VAL.val_dataloader.batch_size=$batch
        compile weighted_eval weights eval $VAL.metric=$metric $VAL.val_dataloader.batch_size=$batch
        "$FIRN" eval "$folder/ignored_eval" --pub "$PUB" --quiet $records --labels $golden.npy \
            --checkpoint "$folder/ignored.run" >"$folder/ignored.value" 2>"$folder/err" || fail "eval of $metric ends with an error"
        "$FIRN" eval "$folder/weighted_eval" --pub "$PUB" --quiet $records --labels "$folder/zeros.npy" \
            --sample-weights "$folder/weights.npy" --checkpoint "$folder/weighted.run" >"$folder/weighted.value" 2>"$folder/err" ||
            fail "weighted eval of $metric ends with an error"
        [ -s "$folder/ignored.value" ] && cmp -s "$folder/ignored.value" "$folder/weighted.value" ||
            fail "$metric, batches of $batch: $(cat "$folder/ignored.value"), and with weights $(cat "$folder/weighted.value")"
    done
done
for metric in loss accuracy; do
    compile loss_eval mlp eval $VAL.metric=$metric
    "$FIRN" eval "$folder/loss_eval" --pub "$PUB" --quiet $records --labels $golden.npy --checkpoint "$folder/ignored.run" \
        >"$folder/value" 2>"$folder/err" || fail "eval of $metric ends with an error"
    python3 tests/golden/second_runtime.py "$folder/ignored" $records --labels "$folder/above.npy" --steps 12 \
        --evaluate "$folder/loss_eval" >"$folder/second"
    [ "metric $(cat "$folder/value")" = "$(tail -n 1 "$folder/second")" ] || fail "the second runtime has another $metric"
done
"$FIRN" eval "$folder/ignored_eval" --pub "$PUB" --quiet $records --labels $golden.npy --checkpoint "$folder/ignored.run" \
    --confusion "$folder/confusion.csv" >"$folder/out" 2>"$folder/err" || fail "a confusion matrix"
python3 -c '
import csv, sys
rows = [row for row in csv.reader(open(sys.argv[1]))]
numbers = [int(cell) for row in rows for cell in row[1:] if cell.isdigit()]
sys.exit(not sum(int(c) for r in rows[1:] for c in r[1:] if c.isdigit()) == 5)' "$folder/confusion.csv" >"$folder/out" 2>&1 ||
    fail "the confusion matrix does not have the five rows that count"

# --- masked tokens, and a loss by blocks of rows ---

cat >"$folder/bert.yaml" <<'END'
trainer:
  init:
    seed: 1
    model: {name: bert, disable_nsp: true, ignore_index: -100, vocab_size: 64, hidden_size: 16, num_hidden_layers: 1,
            num_heads: 2, filter_size: 32, max_position_embeddings: 16, dropout_rate: 0, attention_dropout_rate: 0}
    optimizer: {AdamW: {}}
    schedulers: [{ConstantLR: {learning_rate: 0.01}}]
    precision: {enabled: false}
    loop: {num_steps: 4}
  fit:
    train_dataloader: {batch_size: 4, micro_batch_size: 4, shuffle: false, feature_type: int32, label_type: int32}
END
compile masked bert train
train masked masked --data "$folder/tokens.npy" --labels "$folder/masked.npy"
"$FIRNC" compile "$folder/bert.yaml" --mode train --key "$folder/key.key.pem" --logit-rows 32 -o "$folder/blocks" \
    >"$folder/out" 2>&1 || fail "a loss by blocks of rows does not compile"
train blocks blocks --data "$folder/tokens.npy" --labels "$folder/masked.npy"
same blocks masked
train unmasked masked --data "$folder/tokens.npy" --labels "$folder/tokens.npy"
! cmp -s "$folder/unmasked.digest" "$folder/masked.digest" || fail "the labels of -100 count"

# --- no label at all ---

expect "labels of -100 alone" 1 "(NO_ROWS): in step 1 each row has the label -100, which is ignored (ignore_index); " \
    "$FIRN" train "$folder/ignored" --pub "$PUB" --quiet $records --labels "$folder/none.npy" --steps 2

# --- what is refused ---

expect "a label above the classes" 1 "record 0, counted from 0, is 5; the plan reads int32, and 5 is no class (DATA_RANGE): number the classes from 0 to 4, and give rows .* -100" \
    "$FIRN" train "$folder/ignored" --pub "$PUB" $records --labels "$folder/above.npy"
expect "a label of -1" 1 "is -1; the plan reads int32, and -1 is no class (DATA_RANGE): .* -100" \
    "$FIRN" train "$folder/ignored" --pub "$PUB" $records --labels "$folder/minus.npy"
sed 's/,-100$/,5/' "$folder/table.csv" >"$folder/above.csv"
expect "a cell above the classes" 1 "the plan reads int32, and 5 is no class (DATA_TYPE); number the classes from 0 to 4, and give rows .* -100" \
    "$FIRN" train "$folder/ignored" --pub "$PUB" --data "$folder/above.csv" --target-column label
expect "256 classes of bytes" 1 "label_type: ignore_index: -100 needs a number above those of the 256 classes, and uint8 has none; write label_type: int32" \
    "$FIRNC" compile "$folder/mlp.yaml" --mode train --unsigned --pub "$PUB" -o "$folder/none" --set $MODEL.output_size=256 \
    --set $LOADER.label_type=uint8
compile many mlp train $MODEL.output_size=255 $LOADER.label_type=uint8
expect "auc" 1 "the metric auc counts every row once" "$FIRNC" compile "$folder/mlp.yaml" --mode eval --unsigned --pub "$PUB" \
    -o "$folder/none" --set $MODEL.output_size=2 --set $VAL.metric=auc
expect "another negative number" 1 "ignore_index: -1 is negative" "$FIRNC" compile "$folder/mlp.yaml" --mode train --unsigned \
    --pub "$PUB" -o "$folder/none" --set $MODEL.ignore_index=-1

# --- a text has no labels of -100 ---

"$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode train --unsigned --pub "$PUB" -o "$folder/plain" >"$folder/out" 2>&1
"$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode train --unsigned --pub "$PUB" -o "$folder/text" \
    --set $MODEL.ignore_index=-100 >"$folder/out" 2>&1 || fail "a text with ignore_index: -100 does not compile"
grep -q "ignore_index.*the labels of a text are its tokens" "$folder/out" || fail "no word that a text has no such labels"
"$FIRNC" inspect "$folder/text" --json | grep -v '"plan_hash"\|report' >"$folder/text.json" 2>/dev/null || true
"$FIRNC" inspect "$folder/plain" --json | grep -v '"plan_hash"\|report' >"$folder/plain.json" 2>/dev/null || true
[ "$(sed -n 's/.*"run_hash": //p' "$folder/text.json")" = "$(sed -n 's/.*"run_hash": //p' "$folder/plain.json")" ] ||
    fail "ignore_index: -100 changes the plan of a text"

# --- an older runtime refuses the plan by its minor version ---

"$FIRNC" inspect "$folder/ignored" --all | grep -qi "needs.*minor.*3\|2\.3" || fail "the plan does not need minor version 3"
[ $failures -eq 0 ] && echo "labels of -100: PyTorch's losses, and the bits of weights of 0" || exit 1
