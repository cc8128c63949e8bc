#!/bin/sh
# The early update changes no bit and saves arena: a plan in which gradients are used up one by one and a plan that was
# frozen with --late-update train to the same digest, for every optimizer, several models, precisions and sizes. Where
# the conditions do not hold, inspect says why, and nothing moves. A run that stops on its loss has the state of the step
# before.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
checked=0

"$FIRNC" keygen "$folder/test" >"$folder/out"
python3 - "$folder" <<'END'
import sys
from pathlib import Path
import numpy as np

folder = Path(sys.argv[1])
values = np.frombuffer(Path("/usr/share/common-licenses/GPL-3").read_bytes(), np.uint8)
np.save(folder / "images.npy", values[:3920].reshape(80, 49))
np.save(folder / "squares.npy", values[:5120].reshape(80, 64))
np.save(folder / "classes.npy", values[:80] % 10)
END
images="--data $folder/images.npy --labels $folder/classes.npy"
squares="--data $folder/squares.npy --labels $folder/classes.npy"
text="--data /usr/share/common-licenses/GPL-3"

# compile PLAN RECIPE OPTIONS SETTING...: settings are relative to trainer; there is one micro-batch.
compile() {
    plan=$1
    recipe=$2
    options=$3
    shift 3
    rm -f "$plan"
    count=$#
    while [ "$count" -gt 0 ]; do
        set -- "$@" --set "trainer.$1"
        shift
        count=$((count - 1))
    done
    "$FIRNC" compile "$recipe" --mode train --key "$folder/test.key.pem" -o "$plan" $options \
        --set trainer.fit.train_dataloader.micro_batch_size=4 --set trainer.fit.train_dataloader.batch_size=4 \
        --set trainer.init.precision.max_gradient_norm=null "$@" >"$folder/out" 2>&1 || fail "$name does not compile"
}

# arena PLAN
arena() {
    "$FIRNC" inspect "$1" --json | sed -n 's/^.*"plan_arena_bytes":[[:space:]]*\([0-9]*\).*$/\1/p'
}

# train PLAN DATA STEPS [OPTION]...
train() {
    trained=$1
    data=$2
    steps=$3
    shift 3
    "$FIRN" train "$trained" --pub "$folder/test.pub.pem" $data --steps "$steps" --quiet "$@" 2>"$folder/err" | grep '^digest '
}

# same NAME WANTED RECIPE DATA SETTING...: WANTED is what inspect says of the early update, a pattern.
same() {
    name=$1
    wanted=$2
    recipe=$3
    data=$4
    shift 4
    compile "$folder/early" "$recipe" "" "$@"
    compile "$folder/late" "$recipe" --late-update "$@"
    "$FIRNC" inspect "$folder/early" --schedule >"$folder/inspected"
    grep -q "^said: early update *$wanted" "$folder/inspected" ||
        fail "$name: $(grep '^said: early update' "$folder/inspected"), not $wanted"
    [ "$(arena "$folder/early")" -lt "$(arena "$folder/late")" ] || [ "${wanted#none}" != "$wanted" ] ||
        fail "$name: the arena is not smaller"
    early=$(train "$folder/early" "$data" 4) || fail "$name does not train"
    late=$(train "$folder/late" "$data" 4) || fail "$name does not train late"
    [ "$early" = "$late" ] || fail "$name: $early early, $late late"
    checked=$((checked + 1))
}

gpt2=compiler/recipes/small_gpt2.yaml
mlp=compiler/recipes/small_mlp.yaml
precision=init.precision
model=init.model
float32=$precision.enabled=false
sizes="$model.input_size=49"

# --- optimizers: pieces where each element is updated by itself ---------------------------------------------------------

for optimizer in "SGD: {maximize: true, weight_decay: 0.1}" "SGD: {momentum: 0.9}" "Adam: {}" "Adam: {amsgrad: true}" \
    "AdamW: {}" "AdamW: {amsgrad: true}" "Lion: {}" "RMSprop: {}" "RMSprop: {momentum: 0.9}" "RMSprop: {centered: true}" \
    "RMSprop: {momentum: 0.9, centered: true}" "RAdam: {}" "Adamax: {}" "Rprop: {}" "Adagrad: {}" "Adadelta: {}" \
    "ASGD: {t0: 1}"; do
    same "MLP, $optimizer" "6 of 6 .* pieces" $mlp "$images" "$sizes" $float32 "init.optimizer={$optimizer}"
done
for optimizer in "NAdam: {}" "Lamb: {}" "Adafactor: {}" "Muon: {}"; do
    same "MLP, $optimizer" "[0-9]* of 6 [^;]*$" $mlp "$images" "$sizes" $float32 "init.optimizer={$optimizer}"
done

# --- precision: the gradient rounds before it is used; a static scale is taken off, a limit of each value holds -------------

for type in float16 bfloat16 cbfloat16; do
    for level in 1 2; do
        same "MLP, $type, POL $level" "6 of 6" $mlp "$images" "$sizes" $precision.fp16_type=$type \
            $precision.precision_opt_level=$level $precision.pol_lowering=emulate "$model.hidden_sizes=[70, 130]"
    done
    same "MLP, $type, static scale, float32 gradients" "6 of 6" $mlp "$images" "$sizes" $precision.fp16_type=$type \
        $precision.loss_scaling_factor=8192 $precision.gradient_type=float32
    same "MLP, $type, static scale, clipped by value" "6 of 6" $mlp "$images" "$sizes" $precision.fp16_type=$type \
        $precision.loss_scaling_factor=8192 $precision.max_gradient_value=0.01
done

# --- models: dropout, layers of odd sizes, tied embeddings, attention -----------------------------------------------------

same "MLP of odd sizes" "6 of 6" $mlp "$images" "$sizes" $float32 "$model.hidden_sizes=[37, 23]"
same "MLP, its RAM row" "4 of 4 .* pieces" $mlp "$squares" $model.input_size=64 "$model.hidden_sizes=[32]" \
    $model.nonlinearity=relu $model.dropout_rate=0.0 $float32 fit.train_dataloader.batch_size=8 \
    fit.train_dataloader.micro_batch_size=8 "init.optimizer={SGD: {}}"
[ "$(arena "$folder/early") $(arena "$folder/late")" = "5152 12624" ] ||
    fail "$name: the arenas are $(arena "$folder/early") and $(arena "$folder/late")"
one="fit.train_dataloader.batch_size=1 fit.train_dataloader.micro_batch_size=1 $model.hidden_size=32 $model.filter_size=128"
same "GPT-2, tied embeddings" "[0-9]* of 28" $gpt2 "$text" $float32 $one
same "GPT-2, an output layer of its own" "[0-9]* of 29" $gpt2 "$text" $float32 $model.share_embedding_weights=false $one
same "GPT-2, rotary" "[0-9]* of 27" $gpt2 "$text" $float32 \
    $model.position_embedding_type=rotary $model.rotary_dim=4 $one
same "GPT-2, whose arena other tensors determine" "none: the arena would not be smaller" $gpt2 "$text" $float32

# --- where nothing may move -----------------------------------------------------------------------------------------------

same "micro-batches" "none: several micro-batches" $mlp "$images" "$sizes" $float32 fit.train_dataloader.micro_batch_size=2
same "clipped by norm" "none: the norm is of every gradient" $mlp "$images" "$sizes" $float32 $precision.max_gradient_norm=1.0
same "dynamic scaling" "none: dynamic loss scaling" $mlp "$images" "$sizes" $precision.fp16_type=float16 \
    $precision.loss_scaling_factor=dynamic
grep -q '^said: early update *none: as asked for' <<END || fail "--late-update is not said"
$("$FIRNC" inspect "$folder/late" --schedule | grep '^said: early update')
END

# --- a run that stops on its loss -------------------------------------------------------------------------------------------

name="a loss that is not finite"
compile "$folder/early" $mlp "" "$sizes" $float32 "init.schedulers=[{ConstantLR: {learning_rate: 1e30}}]"
status=0
"$FIRN" train "$folder/early" --pub "$folder/test.pub.pem" $images --quiet --checkpoint "$folder/stopped" \
    --checkpoint-every 1 >"$folder/out" 2>"$folder/err" || status=$?
grep -q LOSS_NOT_FINITE "$folder/err" && [ "$status" -ne 0 ] || fail "$name: exit $status"
done=$("$FIRN" digest "$folder/stopped" --per-tensor | grep -c .)
[ "$done" -gt 1 ] || fail "$name: no checkpoint"
for steps in 1 2 3; do
    rm -f "$folder/whole"
    train "$folder/early" "$images" $steps --checkpoint "$folder/whole" >"$folder/out" || break
    last=$(cat "$folder/out")
done
[ "$("$FIRN" digest "$folder/stopped" | grep '^digest')" = "$last" ] ||
    fail "$name: the state is not that of the last whole step"

echo "$checked plans, $failures failures"
[ $failures -eq 0 ] && [ $checked -ge 40 ]
