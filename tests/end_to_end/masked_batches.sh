#!/bin/sh
# A step on a batch whose rows may be absent or weighted does not depend on how the batch is cut into micro-batches: for
# every cut the loss is within 1e-6 of PyTorch's in float64 over the whole batch (tests/golden/masked_batches.py), and each
# gradient within 1e-6 of the largest magnitude of its tensor; also with dynamic loss scaling and clipping. In half types the
# loss scales and the skipped steps of a run are the same for every cut. Losses over all rows, and steps of one micro-batch,
# have no phase `count`.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
golden=tests/golden/masked_batches
python3 -c 'import numpy' 2>"$folder/err" || {
    fail "python3 with numpy is missing; install them with: .packages/install test"
    exit 1
}
"$FIRNC" keygen "$folder/key" >"$folder/out"

cat >"$folder/mlp.yaml" <<'END'
trainer:
  init:
    seed: 1
    model: {name: mlp, input_size: 6, hidden_sizes: [7], output_size: 5, nonlinearity: tanh, ignore_index: 0}
    optimizer: {SGD: {momentum: 0.0}}
    schedulers: [{ConstantLR: {learning_rate: 1024.0}}]  # so large that the change of a weight has the bits of its gradient
    precision: {enabled: false}
    loop: {num_steps: 1}
  fit:
    train_dataloader: {batch_size: 12, micro_batch_size: 12, shuffle: false, feature_type: float32, label_type: int32}
  validate:
    metric: mean
    val_dataloader: {batch_size: 12}
END
sed -e 's/model: .*/model: {name: bert, disable_nsp: true, ignore_index: 0, vocab_size: 128, hidden_size: 32, num_hidden_layers: 2, num_heads: 4, filter_size: 64, max_position_embeddings: 16, dropout_rate: 0, attention_dropout_rate: 0}/' \
    -e 's/train_dataloader: .*/train_dataloader: {batch_size: 4, micro_batch_size: 4, shuffle: false, feature_type: uint8}/' \
    -e '/^  validate:/,$d' "$folder/mlp.yaml" >"$folder/bert.yaml"

cat >"$folder/compare.py" <<'END'
"""compare.py WEIGHTS AFTER GRADIENTS LOSS FACTOR CLIP LOG: whether a step of SGD with a rate of 1024 had the loss and the gradients,
times FACTOR and clipped to a norm of CLIP if that is not 0."""
import json, re, struct, sys
from pathlib import Path
import numpy as np


def read(path):
    raw = Path(path).read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    data = raw[8 + size:]
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], "<f4").astype(np.float64).reshape(entry["shape"])
            for name, entry in json.loads(raw[8:8 + size]).items() if name != "__metadata__"}


before, after, gradients = (read(path) for path in sys.argv[1:4])
loss, factor, clip = (float(text) for text in sys.argv[4:7])
steps = [json.loads(line) for line in Path(sys.argv[7]).read_text().splitlines()]
step = [line for line in steps if "loss" in line][0]
# The file of BERT as it was may lack what was 0 and what is tied.
assert sorted(before) == sorted(gradients) and not set(before) - set(after), sorted(set(before) ^ set(after))
norm = np.sqrt(sum((factor * g) ** 2 for gradient in gradients.values() for g in gradient.ravel()))
factor *= min(1.0, clip / (norm + 1e-6)) if clip else 1.0
largest = {}  # query, key and value are one tensor of Firn's; the gradient of a key's bias is 0 but for rounding
one = lambda name: re.sub("query|key|value", "qkv", name)
for name, gradient in gradients.items():
    largest[one(name)] = max(largest.get(one(name), 0.0), np.abs(factor * gradient).max())
worst = 0.0
for name, gradient in gradients.items():
    most = largest[one(name)]
    error = np.abs((before[name] - after[name]) / 1024 - factor * gradient).max()
    worst = max(worst, error / most if most else (0.0 if error == 0 else np.inf))
error = abs(step["loss"] - loss) / abs(loss) if loss else abs(step["loss"])
print(f"loss {error:.1e}, gradients {worst:.1e}")
sys.exit(not (error <= 1e-6 and worst <= 1e-6 and not step["skipped"]))
END

# cut NAME CASE SIZE FACTOR CLIP [OPTION]...: one step with micro-batches of SIZE; the data is in $data, the recipe in $recipe, and
# its weights in $weights.
cut() {
    name="$1, micro-batches of $3" case=$2 size=$3 factor=$4 clip=$5
    shift 5
    rm -f "$folder/run" "$folder/log"
    "$FIRNC" compile "$recipe" --mode train --key "$folder/key.key.pem" --weights "$weights" -o "$folder/plan" \
        --set trainer.fit.train_dataloader.micro_batch_size="$size" "$@" >"$folder/out" 2>&1 &&
        "$FIRN" train "$folder/plan" --pub "$folder/key.pub.pem" $data --threads 2 --quiet --checkpoint "$folder/run" \
            --log "$folder/log" >"$folder/out" 2>&1 &&
        "$FIRN" export "$folder/run" -o "$folder/exported" >"$folder/out" 2>&1 &&
        "$FIRNC" weights "$recipe" "$@" --trained "$folder/exported" -o "$folder/after" >"$folder/out" 2>&1 || {
        fail "$name: does not run"
        return 0
    }
    loss=$(awk -v c="$case" -v f="$factor" '$1 == c { printf "%.17g", $2 * f }' $golden.golden)
    python3 "$folder/compare.py" "$weights" "$folder/after" "${golden}_$case.safetensors" "$loss" "$factor" "$clip" \
        "$folder/log" >"$folder/out" 2>&1 || fail "$name: not PyTorch's step"
}

set_of() {
    echo "--set trainer.init.$1"
}
weighing="$(set_of model.sample_weights=true) $(set_of model.label_smoothing=0.1)"
clipped=$(set_of precision.max_gradient_norm=0.25)
# Every layer in float32, and the loss scale of mixed precision.
scaled="$(set_of precision.enabled=true) $(set_of precision.fp16_type=float16) $(set_of precision.loss_scaling_factor=dynamic)
    $(set_of precision.float32_layers=[\"*\"])"
recipe=$folder/mlp.yaml weights=$golden.safetensors
records="--data $golden.npy --labels ${golden}_labels.npy"
for size in 12 6 4 3 2 1; do
    data=$records
    cut "ignore_index" ignored $size 1 0
    data="$records --sample-weights ${golden}_weights.npy"
    cut "weights" weighted $size 1 0 $weighing
    cut "weights, scaled and clipped" weighted $size 1 0.25 $weighing $scaled $clipped
done
data=$records
for size in 12 4 1; do
    cut "ignore_index, scaled and clipped" ignored $size 1 0.25 $scaled $clipped
done
recipe=$folder/bert.yaml weights=tests/golden/transformers_bert.safetensors
data="--data tests/golden/transformers_bert.tokens --labels tests/golden/transformers_bert.labels"
for size in 4 2 1; do
    cut "BERT, num_masked" bert $size 1 0
    cut "BERT, scaled and clipped" bert $size 1 0.25 $scaled $clipped
    # Six tokens of the four records are masked: 6 / 4 of the mean over them, times the weight.
    cut "BERT, batch_size" bert $size 0.75 0 $(set_of model.mlm_loss_scaling=batch_size) $(set_of model.mlm_loss_weight=0.5)
done

# --- half types -----------------------------------------------------------------------------------------------------------

# scales NAME [OPTION]...: the loss scale of each of 60 steps, and which were skipped, in $folder/NAME.
scales() {
    name=$1
    shift
    rm -f "$folder/log"
    "$FIRNC" compile "$recipe" --mode train --key "$folder/key.key.pem" -o "$folder/plan" $(set_of loop.num_steps=60) "$@" \
        >"$folder/out" 2>&1 &&
        "$FIRN" train "$folder/plan" --pub "$folder/key.pub.pem" $data --quiet --log "$folder/log" >"$folder/out" 2>&1 || {
        fail "$name: does not run"
        return 0
    }
    sed -n 's/.*"step":\([0-9]*\),.*"loss_scale":\([^,]*\),.*"skipped":\([a-z]*\),.*/\1 \2 \3/p' "$folder/log" >"$folder/$name"
    [ "$(wc -l <"$folder/$name")" -eq 60 ] || fail "$name: the log does not have 60 steps"
}

for pair in float16:1e5 cbfloat16:6e9; do
    type=${pair%:*}
    half="$(set_of precision.enabled=true) $(set_of precision.fp16_type=$type) $(set_of precision.loss_scaling_factor=dynamic)
        $(set_of precision.steps_per_increase=4) $(set_of precision.max_loss_scale=1e12) $(set_of precision.initial_loss_scale=${pair#*:})"
    slow='--set trainer.init.schedulers=[{"ConstantLR":{"learning_rate":0.01}}]'
    for size in 12 4 2; do
        recipe=$folder/mlp.yaml data="$records --sample-weights ${golden}_weights.npy"
        scales $type.$size $half $slow $weighing --set trainer.fit.train_dataloader.micro_batch_size=$size
        cmp -s "$folder/$type.12" "$folder/$type.$size" || fail "$type: other loss scales with micro-batches of $size"
    done
    grep -q true "$folder/$type.12" && grep -q false "$folder/$type.12" || fail "$type: no step was skipped, or each"
done

# --- which plans count ----------------------------------------------------------------------------------------------------

# phases [OPTION]...: the phases of the plan of $recipe
phases() {
    "$FIRNC" compile "$recipe" --mode train --key "$folder/key.key.pem" -o "$folder/plan" "$@" >"$folder/out" 2>&1 ||
        fail "does not compile: $*"
    "$FIRNC" inspect "$folder/plan" --ops | sed -n 's/^  phase //p' | tr '\n' ' '
}
micro="--set trainer.fit.train_dataloader.micro_batch_size=4"
plain="micro_batch update bookkeep "
recipe=$folder/mlp.yaml
[ "$(phases $micro)" = "count $plain" ] || fail "ignore_index is not counted"
"$FIRNC" inspect "$folder/plan" --schedule | grep -q '^loss of a step  *of the whole batch' || fail "inspect does not say that losses are added"
[ "$(phases)" = "$plain" ] || fail "one micro-batch is counted"
[ "$(phases $micro $(set_of model.loss_scaling=batch_size))" = "$plain" ] || fail "batch_size is counted"
sed 's/, ignore_index: 0//' "$folder/mlp.yaml" >"$folder/all.yaml"
recipe=$folder/all.yaml
for loss in cross_entropy nll; do
    [ "$(phases $micro $(set_of model.loss=$loss))" = "$plain" ] || fail "a loss over all rows is counted: $loss"
done
[ "$(phases $micro $(set_of model.label_smoothing=0.1))" = "$plain" ] || fail "a loss over all rows is counted: smoothed"

# --- runs -----------------------------------------------------------------------------------------------------------------

# run NAME STEPS [OPTION]...: trains the plan $folder/plan for so many steps more; its losses and digest are in $folder/NAME.
run() {
    name=$1
    steps=$2
    shift 2
    "$FIRN" train "$folder/plan" --pub "$folder/key.pub.pem" $data --quiet --steps "$steps" --log "$folder/$name.log" "$@" \
        >"$folder/$name.digest" 2>"$folder/err" || return 1
    sed -n 's/.*"step":.*"loss":\([^,]*\),.*/\1/p' "$folder/$name.log" >"$folder/$name"
}

# small SIZE [OPTION]...: the plan of a run of batches of 8, which the 12 records end in the middle of
small() {
    size=$1
    shift
    rm -f "$folder/run" "$folder"/*.log
    recipe=$folder/mlp.yaml
    phases $slow $(set_of loop.num_steps=6) --set trainer.fit.train_dataloader.batch_size=8 \
        --set trainer.fit.train_dataloader.micro_batch_size="$size" --set trainer.fit.train_dataloader.shuffle=true "$@" >"$folder/out"
}
slow='--set trainer.init.schedulers=[{"ConstantLR":{"learning_rate":0.25}}]'
data=$records
for kind in file push; do
    ring=
    [ $kind = file ] || ring="--set trainer.fit.train_dataloader.source=push --set trainer.fit.train_dataloader.ring=11"
    small 8 $ring
    run whole 6 || fail "$kind: does not run"
    for size in 4 2 1; do
        small $size $ring
        run parts 6 || fail "$kind: does not run"
        paste -d ' ' "$folder/whole" "$folder/parts" | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 2e-6 * $1) bad = 1 }
            END { exit bad || NR != 6 }' || fail "$kind: other losses with micro-batches of $size"
    done
done
small 2
run straight 6 || fail "does not run"
run before 2 --checkpoint "$folder/run" || fail "does not run"
run after 4 --checkpoint "$folder/run" --resume --threads 1 || fail "does not resume"
cmp -s "$folder/straight.digest" "$folder/after.digest" || fail "a run that was resumed has another digest"

# The second batch of 8 has only four records, which the phase finds, and nothing of the step is kept.
small 4 --set trainer.fit.train_dataloader.wrap=false
run first 1 || fail "does not run"
run both 6 --checkpoint "$folder/run" && [ "$(wc -l <"$folder/both")" -eq 1 ] || fail "a batch that is not there was trained on"
"$FIRN" digest "$folder/run" >"$folder/out"
cmp -s "$folder/first.digest" "$folder/out" || fail "a step that found no data left another state"

# The first four records have no row that counts: the loss is 0, and no weight changes.
small 1 --set trainer.fit.train_dataloader.batch_size=4 --set trainer.fit.train_dataloader.shuffle=false --weights $golden.safetensors
run nothing 1 --checkpoint "$folder/run" && [ "$(cat "$folder/nothing")" = 0 ] || fail "a batch without rows has a loss"
"$FIRN" export "$folder/run" -o "$folder/exported" && python3 tests/end_to_end/weights.py same $golden.safetensors "$folder/exported" ||
    fail "a batch without rows has a gradient"

# A run says that no row counts, at the first such step and at its end. It fails if no step had one that counts, and what it
# read was all of the data.
note="no row of step 1 counts, so that its loss and its gradients are 0: each row has the label 0, which is ignored (ignore_index)"
rm -f "$folder/run"
expect "a step without rows" 0 "" "$FIRN" train "$folder/plan" --pub "$folder/key.pub.pem" $data --steps 2
grep -qx "$note" "$folder/err" && grep -qx "1 of 2 steps had no row that counts" "$folder/err" ||
    fail "a step without rows is not said"
python3 - "$folder" <<'END'
import sys
import numpy as np
generator = np.random.default_rng(1)
ones = np.ones(8, np.float32)
for name, array in (("x", generator.standard_normal((8, 6), np.float32)), ("y", np.arange(8, dtype=np.int32) % 5),
                    ("ignored", np.zeros(8, np.int32)), ("same", np.ones(8, np.int32)), ("ones", ones), ("none", 0 * ones),
                    ("large", 1.5e38 * ones), ("high", 9e37 * ones), ("tiny", np.float32(1e-44) * ones),
                    ("opposed", np.array([1, -1, 1, -1] * 2, np.float32))):
    np.save(f"{sys.argv[1]}/{name}.npy", array.astype(np.int32 if array.dtype == np.int32 else np.float32))
END
# rows NAME LABELS WEIGHTS STATUS PATTERN [OPTION]...: a run over the eight records, two steps of which read all
rows() {
    name=$1 pair="--labels $folder/$2.npy --sample-weights $folder/$3.npy" wanted=$4 pattern=$5
    shift 5
    rm -f "$folder/run"
    expect "$name, micro-batches of $size" "$wanted" "$pattern" "$FIRN" train "$folder/rows.plan" --quiet \
        --pub "$folder/key.pub.pem" --data "$folder/x.npy" $pair --checkpoint "$folder/run" "$@"
}
label="each row has the label 0, which is ignored (ignore_index), or the weight 0"
for size in 4 2 1; do
    "$FIRNC" compile "$folder/mlp.yaml" --mode train --key "$folder/key.key.pem" -o "$folder/rows.plan" $(set_of loop.num_steps=4) \
        $(set_of model.sample_weights=true) --set trainer.fit.train_dataloader.batch_size=4 \
        --set trainer.fit.train_dataloader.micro_batch_size=$size >"$folder/out"
    rows "rows that count" y ones 0 "" && [ ! -s "$folder/err" ] || fail "rows that count: a message"
    rows "a step of a longer run" ignored ones 0 "" --steps 1
    for steps in 2 4; do
        none="npy: $steps of $steps steps had no row that counts, so that nothing was learned (NO_ROWS): in step 1"
        rows "labels that are ignored" ignored ones 1 "/ignored.$none $label; its state is in $folder/run" --steps $steps
        [ -s "$folder/run" ] || fail "a run without rows has no state"
        rows "weights of 0" y none 1 "/none.$none $label; " --steps $steps
        rows "weights that sum to 0" same opposed 1 "/opposed.$none the weights sum to 0; " --steps $steps
    done
    # The reciprocal of so small a sum is infinite.
    rows "weights that are tiny" same tiny 4 "/tiny.npy: .*(LOSS_NOT_FINITE); in step 1, .*; the weights sum to 3.*e-44, too little"
    # So is a sum beyond float32, by which each loss becomes NaN, or 0 where one micro-batch adds up to a finite loss.
    rows "weights that are large" same large 4 "/large.npy: .*(LOSS_NOT_FINITE); in step 1, .*; the weights sum to more than float32 holds"
done

size=4
"$FIRNC" compile "$folder/mlp.yaml" --mode train --key "$folder/key.key.pem" -o "$folder/rows.plan" $(set_of loop.num_steps=4) \
    $(set_of model.sample_weights=true) $(set_of model.output_size=2) --set trainer.fit.train_dataloader.batch_size=4 \
    --set trainer.fit.train_dataloader.micro_batch_size=4 >"$folder/out"
rows "weights that are high" same high 1 "/high.npy: 4 of 4 steps .*(NO_ROWS): in step 1 the weights sum to more than float32 holds"

# Weights whose sum is beyond float32 stop the run: an infinite divisor would make each step one that changes nothing.
for size in 4 2 1; do
    "$FIRNC" compile "$folder/mlp.yaml" --mode train --key "$folder/key.key.pem" -o "$folder/large.plan" \
        --set trainer.init.model.sample_weights=true --set trainer.fit.train_dataloader.batch_size=4 \
        --set trainer.fit.train_dataloader.micro_batch_size=$size >"$folder/out"
    expect "weights whose sum overflows, micro-batches of $size" 4 "LOSS_NOT_FINITE" "$FIRN" train "$folder/large.plan" --quiet \
        --pub "$folder/key.pub.pem" --data "$folder/x.npy" --labels "$folder/y.npy" --sample-weights "$folder/large.npy"
done

[ $failures -eq 0 ]
