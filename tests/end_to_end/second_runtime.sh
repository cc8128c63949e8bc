#!/bin/sh
# The documents specify a run: tests/golden/second_runtime.py, which was written from plan/NUMERICS.md and plan/FORMAT.md
# without the sources, computes the losses and the state of `firn train` bit by bit. Each case freezes a plan, trains it with
# both, and compares the bits of the loss of each step, which steps were skipped, and the hash of each tensor of the state. Some
# cases also compare the metric of an evaluation with the trained parameters.
#
# Needs: signing python
set -eu

. tests/end_to_end/expectations
cases=0

# next_case: counts a case; returns whether it is taken, which $taken says afterwards.
next_case() {
    cases=$((cases + 1))
    taken=
    takes_next || return 1
    taken=1
}

python3 -c 'import numpy' 2>"$folder/err" || {
    fail "python3 with numpy is missing; install them with: .packages/install test"
    exit 1
}
"$FIRNC" keygen "$folder/test" >"$folder/out"

# Data: two texts, and 80 images of 7 x 7 and of 12 x 13 bytes with classes, targets and weights.
python3 - "$folder" <<'END'
import sys
from pathlib import Path
import numpy as np

folder = Path(sys.argv[1])
licence = Path("/usr/share/common-licenses/GPL-3").read_bytes()
(folder / "text").write_bytes(licence[:3000])
(folder / "more").write_bytes(licence[-700:])
(folder / "few").write_bytes(licence[:120])
values = np.frombuffer(licence, np.uint8)
np.save(folder / "images.npy", values[:3920].reshape(80, 49))
np.save(folder / "photos.npy", values[:12480].reshape(80, 12, 13))
np.save(folder / "halves.npy", values[:12480].reshape(80, 2, 78))
(folder / "images").write_bytes(bytes([0, 0, 8, 3, 0, 0, 0, 80, 0, 0, 0, 7, 0, 0, 0, 7]) + licence[:3920])
for name, classes in (("classes", 10), ("two", 2)):
    (folder / name).write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 80]) + bytes(values[:80] % classes))
np.save(folder / "targets.npy", (values[:800].astype(np.float32) / np.float32(128)).reshape(80, 10))
np.save(folder / "huge.npy", (values[:800].astype(np.float32) * np.float32(1e16)).reshape(80, 10))
np.save(folder / "weights.npy", (values[:80] % 5).astype(np.float32) / np.float32(3))
END
texts="--data $folder/text --data $folder/more"
images="--data $folder/images --labels $folder/classes"
photos="--data $folder/photos.npy --labels $folder/classes"
targets="--data $folder/images.npy --labels $folder/targets.npy"

# second NAME STEPS DATA [OPTION]...: what the second runtime computes, in the form of $folder/firn
second() {
    name=$1
    steps=$2
    data=$3
    shift 3
    # The data is split into words intentionally, here and below.
    python3 tests/golden/second_runtime.py "$folder/plan" $data --steps "$steps" --per-tensor "$@" >"$folder/out" 2>&1 || {
        fail "$name: the second runtime ends with an error"
        return
    }
    sed 's/^\(step [0-9]*\) loss [^ ]* bits/\1 loss/' "$folder/out" >"$folder/second"
    rm "$folder/out"
    [ "$(grep -c '^step ' "$folder/second")" -eq "$steps" ] || fail "$name: not $steps steps"
    if ! cmp -s "$folder/firn" "$folder/second"; then
        fail "$name: the first difference:" "$(paste -d '|' "$folder/firn" "$folder/second" | awk -F '|' '
            $1 != $2 { print "firn has \"" $1 "\", the second runtime \"" $2 "\""; exit }')"
    fi
}

# Trains $steps steps with the plan on $data: what firn has then, in $folder/firn.
train() {
    rm -f "$folder/eval" "$folder/run" "$folder/log"
    "$FIRN" train "$folder/plan" --pub "$folder/test.pub.pem" $data --steps "$steps" --quiet --checkpoint "$folder/run" \
        --log "$folder/log" >"$folder/out" 2>&1 || {
        fail "$name: firn does not train"
        return 1
    }
    {
        sed -n 's/.*"step":\([0-9]*\),.*"loss_bits":"\([0-9a-f]*\)".*"skipped":\([a-z]*\),.*/step \1 loss \2 skipped \3/p' \
            "$folder/log"
        "$FIRN" digest "$folder/run" --per-tensor
    } >"$folder/firn"
}

# same NAME STEPS RECIPE DATA [SETTING]...: compiles, trains and compares; a setting is a key of the recipe without `trainer.`.
# Where $evaluate is not empty, it also evaluates.
evaluate=
target=portable
rows= # of logits at a time, as an option
same() {
    name=$1
    steps=$2
    recipe=$3
    data=$4
    shift 4
    for setting in "$@"; do
        set -- "$@" --set "trainer.$setting"
        shift
    done
    next_case || return 0
    rm -f "$folder/plan"
    "$FIRNC" compile "$recipe" --mode train --target $target $rows --key "$folder/test.key.pem" -o "$folder/plan" "$@" >"$folder/out" 2>&1 || {
        fail "$name does not compile"
        return
    }
    train || return 0
    if [ -z "$evaluate" ]; then
        second "$name" "$steps" "$data"
        return
    fi
    "$FIRNC" compile "$recipe" --mode eval --key "$folder/test.key.pem" -o "$folder/eval" "$@" >"$folder/out" 2>&1 || {
        fail "$name does not compile for evaluation"
        return
    }
    "$FIRN" eval "$folder/eval" --pub "$folder/test.pub.pem" $data --quiet --checkpoint "$folder/run" >"$folder/out" 2>&1 || {
        fail "$name: firn does not evaluate"
        return
    }
    sed 's/^/metric /' "$folder/out" >>"$folder/firn"
    second "$name" "$steps" "$data" --evaluate "$folder/eval"
}

gpt2=compiler/recipes/small_gpt2.yaml
mlp=compiler/recipes/small_mlp.yaml
precision=init.precision
loader=fit.train_dataloader
float32=$precision.enabled=false
emulate=$precision.pol_lowering=emulate
input=init.model.input_size=49

# gpt2_of and mlp_of NAME STEPS DATA [SETTING]...: with sizes that a test can afford
gpt2_of() {
    name=$1
    steps=$2
    data=$3
    shift 3
    same "$name" "$steps" $gpt2 "$data" init.model.num_hidden_layers=1 "$precision.pol=[]" "$@"
}
mlp_of() {
    name=$1
    steps=$2
    data=$3
    shift 3
    same "$name" "$steps" $mlp "$data" $input "$@"
}

lenet_of() {
    name=$1
    steps=$2
    data=$3
    shift 3
    same "$name" "$steps" compiler/recipes/small_lenet.yaml "$data" init.model.image_height=12 init.model.image_width=13 "$@"
}

# --- types and levels of precision; dropout and two micro-batches are in both recipes -----------------------------------

mlp_of "MLP, float32" 3 "$images" $float32
gpt2_of "GPT-2, float32" 3 "$texts" $float32
for type in float16 bfloat16 cbfloat16; do
    for level in 1 2; do
        mlp_of "MLP, $type, POL $level emulated" 3 "$images" $precision.fp16_type=$type $emulate \
            $precision.precision_opt_level=$level "init.model.hidden_sizes=[70, 130]"
        gpt2_of "GPT-2, $type, POL $level emulated" 3 "$texts" $precision.fp16_type=$type $emulate \
            $precision.precision_opt_level=$level
    done
done
# --- early update: one micro-batch, gradients in pieces, views of state that are written ----------------------------------

whole=$loader.micro_batch_size=8
mlp_of "MLP, early update, SGD" 3 "$images" $float32 $whole "init.model.hidden_sizes=[37, 23]"
mlp_of "MLP, early update, AdamW" 3 "$images" $float32 $whole "init.optimizer={AdamW: {weight_decay: 0.1}}"
mlp_of "MLP, early update, static scale, clipped by value" 3 "$images" $precision.fp16_type=float16 $whole \
    $precision.loss_scaling_factor=8192 $precision.max_gradient_value=0.01 "init.model.hidden_sizes=[70, 130]"
[ -z "$taken" ] || "$FIRNC" inspect "$folder/plan" --schedule | grep -q '^said: early update *6 of 6' || fail "$name: nothing moved"
# --- loss scaling, clipping, gradients ----------------------------------------------------------------------------------

dynamic="$precision.fp16_type=float16 $precision.loss_scaling_factor=dynamic $precision.max_loss_scale=1e30"
gpt2_of "GPT-2, every step skipped" 3 "$texts" $dynamic $precision.initial_loss_scale=1e30
mlp_of "MLP, steps skipped until the scale has fallen" 5 "$images" $dynamic $precision.initial_loss_scale=262144 \
    $precision.max_gradient_norm=0.5 "init.model.hidden_sizes=[64, 100]"
if [ -n "$taken" ] && ! { grep -q 'skipped true' "$folder/second" && grep -q 'skipped false' "$folder/second"; }; then
    fail "$name: all steps are skipped, or none"
fi
mlp_of "MLP, a growing scale, clipped by value" 4 "$images" $dynamic $precision.initial_loss_scale=1024 \
    $precision.steps_per_increase=1 $precision.max_gradient_value=0.01
huge="--data $folder/images.npy --labels $folder/huge.npy"
for scale in none 0.0001; do
    [ $scale = none ] && of_loss=$float32 || of_loss="$precision.fp16_type=bfloat16 $precision.loss_scaling_factor=$scale"
    mlp_of "MLP, gradients whose squares overflow, scale $scale" 2 "$huge" $of_loss $precision.max_gradient_norm=0.5 \
        init.model.loss=mean_squared_error $loader.label_type=float32 $loader.feature_scale=1 \
        validate.metric=loss
    [ -z "$taken" ] || grep -q '"gradient_norm":[0-9.]*e+\(19\|[23]\)' "$folder/log" || fail "$name: no square overflows"
done
mlp_of "MLP, static scale, float32 gradients" 3 "$images" $precision.fp16_type=cbfloat16 \
    $precision.loss_scaling_factor=8192 $precision.gradient_type=float32

# --- convolutions and pools ----------------------------------------------------------------------------------------------

lenet_of "LeNet, float32" 2 "$photos" $float32
lenet_of "LeNet, float16, mean pools" 2 "$photos" $precision.fp16_type=float16 init.model.pooling=average \
    init.model.nonlinearity=tanh
lenet_of "LeNet, bfloat16, POL 1 emulated" 2 "$photos" $precision.fp16_type=bfloat16 $emulate $precision.precision_opt_level=1
lenet_of "LeNet, cbfloat16, POL 2 emulated" 2 "$photos" $precision.fp16_type=cbfloat16 $emulate \
    $precision.precision_opt_level=2 "init.model.filters=[3, 17]"

# --- the sums of matrix engines: blocks that are not full, masked blocks, borders ------------------------------------------

for target in amx-bf16 avx512-bf16; do
    bfloat16=$precision.fp16_type=bfloat16
    mlp_of "MLP, $target" 3 "$images" $bfloat16 "init.model.hidden_sizes=[70, 130]"
    gpt2_of "GPT-2, $target" 3 "$texts" $bfloat16 $precision.precision_opt_level=1
    lenet_of "LeNet, $target" 2 "$photos" $bfloat16 "init.model.filters=[3, 17]"
    [ -z "$taken" ] || "$FIRNC" inspect "$folder/plan" --memory | grep -q '^  reductions .* \(even_odd_blocks\|pairs\)' || fail "$name: another sum"
done
target=portable

# --- recurrent ops, which no recipe has ----------------------------------------------------------------------------------

${CC:-gcc} -std=c11 -I. tests/end_to_end/recurrent_plan.c tests/unit/support_recurrent.c "$BUILD/libfirnc.a" \
    "$BUILD/libsigning.a" "$BUILD/libfirn.a" -lyaml -lcjson -lz -lm -o "$folder/recurrent_plan"

# recurrent TYPE LEVEL: four steps of two samples with 78 features
recurrent() {
    name="recurrent, $*"
    steps=2
    data="--data $folder/halves.npy --labels $folder/targets.npy"
    next_case || return 0
    "$folder/recurrent_plan" "$folder/test.key.pem" "$folder/plan" 2 78 6 "$@" >"$folder/out" 2>&1 || {
        fail "$name: no plan"
        return 0
    }
    ! train || second "$name" "$steps" "$data"
}
recurrent float32 0
recurrent float16 0
recurrent bfloat16 1
recurrent cbfloat16 2

# --- attention written out, which no recipe has ---------------------------------------------------------------------------

${CC:-gcc} -std=c11 -I. tests/end_to_end/sums_plan.c "$BUILD/libfirnc.a" "$BUILD/libsigning.a" "$BUILD/libfirn.a" \
    -lyaml -lcjson -lz -lm -o "$folder/sums_plan"

# written_out TYPE LEVEL: twelve steps of thirteen features
written_out() {
    name="attention written out, $*"
    steps=2
    data="--data $folder/photos.npy --labels $folder/targets.npy"
    next_case || return 0
    "$folder/sums_plan" "$folder/test.key.pem" "$folder/plan" 12 13 7 "$@" >"$folder/out" 2>&1 || {
        fail "$name: no plan"
        return 0
    }
    ! train || second "$name" "$steps" "$data"
}
written_out float32 0
written_out float16 0
written_out bfloat16 1
written_out cbfloat16 2

# --- batch norms: running statistics of two micro-batches, of steps that are skipped, and in an evaluation ------------------

# normed_of NETWORK NAME STEPS [SETTING]...
normed_of() {
    network=$1
    name=$2
    steps=$3
    shift 3
    same "$name" "$steps" "compiler/recipes/small_$network.yaml" "$photos" init.model.image_height=12 init.model.image_width=13 \
        init.model.image_channels=1 init.model.output_size=10 "$@"
}
evaluate=yes
normed_of resnet8 "ResNet-8, float32" 3 $float32
normed_of resnet8 "ResNet-8, bfloat16, POL 1 emulated" 2 $emulate
normed_of mobilenet "MobileNetV1, bfloat16" 2
normed_of ds_cnn "DS-CNN, some steps skipped" 4 $precision.initial_loss_scale=524288 $precision.max_loss_scale=1e30 init.model.batch_norm_momentum=0.75
if [ -n "$taken" ] && ! { grep -q 'skipped true' "$folder/second" && grep -q 'skipped false' "$folder/second"; }; then
    fail "$name: all steps are skipped, or none"
fi
normed_of resnet8 "ResNet-8, a tree of micro-batches" 2 init.loop.micro_batch_order=tree $loader.batch_size=10 \
    $loader.micro_batch_size=2
normed_of cct "CCT, bfloat16, POL 1" 2
same "autoencoder" 3 compiler/recipes/small_autoencoder.yaml "--data $folder/images.npy" init.model.input_size=49
evaluate=

# --- micro-batches that are added as a tree ---------------------------------------------------------------------------------

tree=init.loop.micro_batch_order=tree
for count in 2 3 5 7 8; do
    cut="$loader.batch_size=$((2 * count)) $loader.micro_batch_size=2"
    mlp_of "MLP, a tree of $count micro-batches" 3 "$images" $float32 $cut $tree
    [ -n "$taken" ] || continue
    cp "$folder/second" "$folder/tree"
    "$FIRNC" compile $mlp --mode train --key "$folder/test.key.pem" -o "$folder/plan" --set trainer.$input --set trainer.$float32 \
        --set trainer.${cut% *} --set trainer.${cut#* } >"$folder/out"
    ! train || [ $count -lt 4 ] || ! cmp -s "$folder/firn" "$folder/tree" || fail "$name: the bits of a sequence"
    ! train || [ $count -gt 3 ] || cmp -s "$folder/firn" "$folder/tree" || fail "$name: other bits than a sequence"
done
gpt2_of "GPT-2, bfloat16, POL 1 emulated, a tree" 2 "$texts" $precision.fp16_type=bfloat16 $emulate \
    $precision.precision_opt_level=1 $tree $loader.batch_size=5 $loader.micro_batch_size=1
gpt2_of "GPT-2, a tree, ignored tokens, a dynamic loss scale" 3 "$texts" $dynamic $precision.initial_loss_scale=1024 $tree \
    init.model.ignore_index=32 $precision.max_gradient_norm=0.5 $loader.batch_size=5 $loader.micro_batch_size=1
mlp_of "MLP, a tree, weights of records, every step skipped" 2 "$images --sample-weights $folder/weights.npy" $dynamic $tree \
    $precision.initial_loss_scale=1e30 init.model.sample_weights=true $loader.batch_size=12 $loader.micro_batch_size=2
gpt2_of "GPT-2, a tree, LoRA" 2 "$texts" $float32 $tree $loader.batch_size=6 $loader.micro_batch_size=1 \
    "init.fine_tuning={lora: {layers: 'transformer.h.*', rank: 3, alpha: 4, dropout: 0.1}}"

# --- models -------------------------------------------------------------------------------------------------------------

gpt2_of "GPT-2, chunks within attention" 1 "$texts" init.model.max_position_embeddings=136 $emulate \
    $loader.max_sequence_length=136 $loader.batch_size=2 $loader.micro_batch_size=1 init.model.hidden_size=8 \
    $precision.precision_opt_level=2 init.model.vocab_size=128
gpt2_of "GPT-2, truncated initial values" 2 "$texts" $float32 \
    "init.model.initializer={name: truncated_normal, std: 0.5, a: -0.25, b: 0.125}" \
    "init.model.embedding_initializer={name: truncated_normal, mean: 1, std: 1}"
gpt2_of "GPT-2, rotary" 3 "$texts" init.model.position_embedding_type=rotary init.model.rotary_dim=4
gpt2_of "GPT-2, rotary, float32, one micro-batch" 3 "$texts" init.model.position_embedding_type=rotary \
    init.model.rotary_dim=8 init.model.rope_theta=100 $float32 $loader.micro_batch_size=4
gpt2_of "GPT-2, ALiBi" 3 "$texts" init.model.position_embedding_type=alibi
gpt2_of "GPT-2, ALiBi, half softmax, POL 2" 2 "$texts" init.model.position_embedding_type=alibi $emulate \
    init.model.attention_softmax_fp32=false $precision.precision_opt_level=2
gpt2_of "GPT-2, half softmax, an output layer of its own, weighted loss" 3 "$texts" \
    init.model.attention_softmax_fp32=false init.model.share_embedding_weights=false \
    init.model.loss_scaling=batch_size init.model.loss_weight=0.125 init.model.ignore_index=32

# --- logits by blocks of rows: the last block has fewer, and whole chunks are in each ---------------------------------------

for type in float16 bfloat16 cbfloat16; do
    rows="--weight-copies never --logit-rows 32"
    gpt2_of "GPT-2, $type, weights that products round" 2 "$texts" $precision.fp16_type=$type
done
rows="--logit-rows 32"
sequences="$loader.max_sequence_length=16 $loader.batch_size=5 $loader.micro_batch_size=5 init.model.hidden_size=8"
gpt2_of "GPT-2, blocks of logits, float32" 2 "$texts" $float32 $sequences
gpt2_of "GPT-2, blocks of logits, bfloat16, an output layer of its own, weighted loss" 2 "$texts" $sequences \
    $precision.fp16_type=bfloat16 init.model.share_embedding_weights=false init.model.label_smoothing=0.1 \
    init.model.loss_scaling=batch_size init.model.loss_weight=0.125 init.model.ignore_index=32
gpt2_of "GPT-2, blocks of logits, chunks" 2 "$texts" $sequences $precision.fp16_type=float16 $emulate \
    $precision.precision_opt_level=1 init.model.ignore_index=32 $loader.batch_size=10
for target in amx-bf16 avx512-bf16; do
    gpt2_of "GPT-2, blocks of logits, $target" 2 "$texts" $sequences $precision.fp16_type=bfloat16
done
target=portable
rows=

for name in gpt3 gptj gpt_neox llama; do
    same "$name, POL 1" 3 compiler/recipes/small_$name.yaml "$texts" init.model.num_hidden_layers=1
done
same "LLaMA, float32" 3 compiler/recipes/small_llama.yaml "$texts" $float32
for type in float16 cbfloat16; do
    same "LLaMA, $type, POL 2 emulated" 3 compiler/recipes/small_llama.yaml "$texts" init.model.num_hidden_layers=1 \
        $precision.fp16_type=$type $precision.precision_opt_level=2 $emulate $precision.loss_scaling_factor=1024
done
same "LLaMA, bfloat16, POL 0, one head of keys" 3 compiler/recipes/small_llama.yaml "$texts" \
    init.model.extra_attention_params.num_kv_groups=1 init.model.nonlinearity=geglu $precision.precision_opt_level=0
same "GPT-NeoX, tied norms" 3 compiler/recipes/small_gpt_neox.yaml "$texts" init.model.use_untied_layer_norm=false \
    init.model.norm_type=rmsnorm
masked="--data tests/golden/transformers_bert.tokens --labels tests/golden/transformers_bert.labels"
same "BERT, POL 1" 3 compiler/recipes/small_bert.yaml "$masked" init.model.num_hidden_layers=1
same "BERT, float32, batch_size" 3 compiler/recipes/small_bert.yaml "$masked" $float32 init.model.loss_scaling=batch_size
same "GPT-2, initial weights" 3 tests/end_to_end/gpt2_training.yaml "--data tests/golden/gpt2_training.txt"
for form in relu gelu tanh sigmoid silu softplus; do
    mlp_of "MLP, $form" 2 "$images" init.model.nonlinearity=$form
done
for loss in mean_squared_error l1 "huber init.model.delta=0.25" "smooth_l1 init.model.beta=0.25" \
    binary_cross_entropy_with_logits kl_divergence "kl_divergence init.model.log_target=true init.model.reduction=batchmean"; do
    mlp_of "MLP, $loss" 2 "$targets" init.model.loss=$loss $loader.label_type=float32 $loader.feature_scale=1 \
        validate.metric=loss
done
mlp_of "MLP, nll" 2 "$images" init.model.loss=nll
mlp_of "MLP, weights of records, smoothed labels" 3 "$images --sample-weights $folder/weights.npy" init.model.sample_weights=true \
    init.model.label_smoothing=0.1 init.model.ignore_index=3
mlp_of "MLP, weights of records, gradients of a batch that are rounded at its end" 3 "$images --sample-weights $folder/weights.npy" \
    init.model.sample_weights=true $precision.fp16_type=float16 $precision.loss_scaling_factor=dynamic
gpt2_of "GPT-2, ignored tokens, a dynamic loss scale" 3 "$texts" $precision.fp16_type=float16 init.model.ignore_index=32 \
    $precision.loss_scaling_factor=dynamic $precision.max_gradient_norm=0.5

# --- frozen weights and LoRA ----------------------------------------------------------------------------------------------

lora="lora: {layers: 'transformer.h.*', rank: 3, alpha: 4, dropout: 0.1}"
gpt2_of "GPT-2, LoRA, float32" 3 "$texts" $float32 "init.fine_tuning={$lora, train: '*.ln_f.*'}"
gpt2_of "GPT-2, LoRA, POL 2 emulated, frozen in bfloat16" 3 "$texts" $precision.fp16_type=bfloat16 $emulate \
    $precision.precision_opt_level=2 "init.fine_tuning={$lora, frozen_type: bfloat16}"
for type in float16 cbfloat16; do
    gpt2_of "GPT-2, biases, frozen in $type, float32" 3 "$texts" $float32 "init.fine_tuning={bias_only: true, frozen_type: $type}"
done
lenet_of "LeNet, LoRA of convolutions" 2 "$photos" $precision.fp16_type=float16 \
    "init.fine_tuning={lora: {layers: [conv2, 'fc*'], rank: 2, alpha: 4}, frozen_type: float16}"
evaluate=yes
mlp_of "MLP, the last layer" 3 "$images" "init.fine_tuning={last_layers: 1}"
evaluate=

# --- data ---------------------------------------------------------------------------------------------------------------

gpt2_of "GPT-2, three micro-batches, epochs that end inside them" 3 "--data $folder/few --data $folder/text" \
    $loader.batch_size=6 $loader.stride=40 $loader.held_out_per_mille=333 $loader.shuffle_seed=77
gpt2_of "GPT-2, one epoch in order" 2 "--data $folder/few --data $folder/few" $loader.shuffle=false $loader.wrap=false \
    $loader.stride=7
mlp_of "MLP, records in order, bytes from -0.5" 3 "$images" $loader.shuffle=false $loader.feature_shift=-0.5 \
    "init.model.hidden_sizes=[]"

# --- optimizers ---------------------------------------------------------------------------------------------------------

ramp="init.schedulers=[{LinearLR: {initial_learning_rate: 0.01, end_learning_rate: 0.02, total_iters: 8}}]"
for optimizer in "SGD: {maximize: true, weight_decay: 0.1}" "SGD: {momentum: 0.9, dampening: 0.1}" \
    "Adam: {weight_decay: 0.1}" "Adam: {amsgrad: true}" "AdamW: {correct_bias: false}" \
    "AdamW: {amsgrad: true, weight_decay: 0.1}" "Adafactor: {weight_decay: 0.1}" "Adafactor: {scale_parameter: false}" \
    "Lamb: {weight_decay: 0.1}" "Lamb: {adam: true}" "Lion: {weight_decay: 0.1}" "RMSprop: {weight_decay: 0.1}" \
    "RMSprop: {momentum: 0.9}" "RMSprop: {centered: true}" "RMSprop: {momentum: 0.9, centered: true}" \
    "RAdam: {betas: [0.9, 0.95], weight_decay: 0.1}" "NAdam: {weight_decay: 0.1}" "Adamax: {maximize: true}" "Rprop: {}" \
    "Adagrad: {initial_accumulator_value: 0.5, lr_decay: 0.1}" "Adadelta: {weight_decay: 0.1}" \
    "ASGD: {t0: 1, weight_decay: 0.1}" "Muon: {}" "Muon: {nesterov: false}"; do
    steps=3
    [ "${optimizer%%:*}" != RAdam ] || steps=8
    mlp_of "MLP, $optimizer" $steps "$images" "init.optimizer={$optimizer}" "$ramp" "init.model.hidden_sizes=[5, 7]" \
        $float32
done

# --- schedules: one for each parameter ----------------------------------------------------------------------------------

# schedules NAME SCHEDULE...: six schedules, each "CLASS: {SETTINGS"; those of the weight decay have other names
groups=
for parameter in 0.weight 0.bias 1.weight 1.bias 2.weight 2.bias; do
    groups="$groups {params: layers.$parameter, tags: t$parameter, weight_decay: 0.1},"
done
schedules() {
    name=$1
    shift
    list=
    for parameter in 0.weight 0.bias 1.weight 1.bias 2.weight 2.bias; do
        list="$list {$1, param_group_tags: t$parameter}},"
        shift
    done
    mlp_of "schedules, $name" 9 "$images" "init.optimizer={SGD: {lr: 0.01, params: [${groups%,}]}}" \
        "init.schedulers=[${list%,}]" "init.model.hidden_sizes=[4, 4]" init.loop.num_steps=9 $float32
}
schedules "first" "LinearLR: {initial_learning_rate: 0.1, end_learning_rate: 0.02, total_iters: 6" \
    "PolynomialLR: {initial_learning_rate: 0.1, end_learning_rate: 0.02, total_iters: 6, power: 2.5" \
    "CosineDecayLR: {initial_learning_rate: 0.1, end_learning_rate: 0.02, total_iters: 6" \
    "ExponentialLR: {initial_learning_rate: 0.1, total_iters: 3, decay_rate: 0.7" \
    "ExponentialLR: {initial_learning_rate: 0.1, total_iters: 3, decay_rate: 0.7, staircase: true" \
    "InverseSquareRootDecayLR: {initial_learning_rate: 0.1, warmup_steps: 3"
schedules "second" \
    "InverseExponentialTimeDecayLR: {initial_learning_rate: 0.1, step_exponent: 1.5, total_iters: 3, decay_rate: 0.7" \
    "InverseExponentialTimeDecayLR: {initial_learning_rate: 0.1, step_exponent: 1.5, total_iters: 3, decay_rate: 0.7,
        staircase: true" \
    "CosineAnnealingLR: {initial_learning_rate: 0.1, T_max: 3, eta_min: 0.01" \
    "CosineAnnealingWarmRestarts: {initial_learning_rate: 0.1, T_0: 3, eta_min: 0.01" \
    "MultiStepLR: {initial_learning_rate: 0.1, gamma: 0.7, milestones: [2, 5]" \
    "PiecewiseConstantLR: {learning_rates: [0.1, 0.07, 0.03], milestones: [2, 5]"
schedules "third" "StepLR: {initial_learning_rate: 0.1, step_size: 3, gamma: 0.7" \
    "MultiplicativeLR: {initial_learning_rate: 0.1, coefficient: 0.9" \
    "LambdaLR: {initial_learning_rate: 0.1, lr_lambda: [1, 0.8, 0.5, 0.2]" \
    "LambdaLR: {initial_learning_rate: 0.1, lr_lambda: 'where(t < 4, (t + 1) / 4, exp(-0.1 * t) + (4 / (t + 1)) ** 0.5)'" \
    "LambdaLR: {initial_learning_rate: 0.1,
        lr_lambda: 'max(min(sin(t) * cos(t), 0.5), log(t + 1) - floor(t / 2)) ** 2 + pow(t >= 3, 2) * sqrt(t)'" \
    "CyclicLR: {base_lr: 0.01, max_lr: 0.1, step_size_up: 2, step_size_down: 3"
schedules "fourth" "CyclicLR: {base_lr: 0.01, max_lr: 0.1, step_size_up: 2, mode: triangular2" \
    "CyclicLR: {base_lr: 0.01, max_lr: 0.1, step_size_up: 2, mode: exp_range, gamma: 0.9" \
    "OneCycleLR: {initial_learning_rate: 0.01, max_lr: 0.1, total_steps: 10, pct_start: 0.35" \
    "OneCycleLR: {initial_learning_rate: 0.01, max_lr: 0.1, total_steps: 10, three_phase: true" \
    "OneCycleLR: {initial_learning_rate: 0.01, max_lr: 0.1, total_steps: 10, three_phase: true, anneal_strategy: linear" \
    "ChainedScheduler: {schedulers: [{ConstantLR: {learning_rate: 0.1}}, {SequentialLR: {schedulers: [
        {LinearLR: {initial_learning_rate: 0.5, end_learning_rate: 1.0, total_iters: 3}},
        {CosineDecayLR: {initial_learning_rate: 1.0, end_learning_rate: 0.1, total_iters: 5}}]}}]"
schedules "of the weight decay" "LinearWD: {initial_val: 0.5, end_val: 0.1, total_iters: 6" \
    "ConstantWD: {val: 0.3" "CosineDecayWD: {initial_val: 0.5, end_val: 0.1, total_iters: 6" \
    "StepWD: {initial_val: 0.5, step_size: 3, gamma: 0.7" "ScalePerParamWD: {scheduler: {ConstantWD: {val: 0.3}}" \
    "LinearLR: {initial_learning_rate: 0.1, end_learning_rate: 0.02, total_iters: 6"

# --- metrics ------------------------------------------------------------------------------------------------------------

evaluate=yes
all=validate.val_dataloader.held_out=false
gpt2_of "GPT-2, perplexity" 1 "$texts"
gpt2_of "GPT-2, mean loss of the tokens that count" 1 "$texts" validate.metric=mean init.model.ignore_index=32
mlp_of "MLP, accuracy" 1 "$images"
for metric in loss mean_per_class_accuracy mean_iou dice "{FBetaScoreMetric: {beta: 2, ignore_classes: [1, 5]}}" \
    "{FBetaScoreMetric: {beta: 0.5, average_type: macro, ignore_classes: [0]}}"; do
    mlp_of "MLP, $metric" 1 "$images" $all "validate.metric=$metric"
done
for metric in mean accuracy mean_iou; do
    mlp_of "MLP, $metric of weighted records" 1 "$images --sample-weights $folder/weights.npy" $all validate.metric=$metric \
        init.model.sample_weights=true init.model.ignore_index=3
done
mlp_of "MLP, AUC of two classes" 1 "--data $folder/images --labels $folder/two" init.model.output_size=2 $all \
    validate.metric=auc
mlp_of "MLP, AUC of targets" 1 "$targets" init.model.loss=binary_cross_entropy_with_logits $loader.label_type=float32 $all \
    validate.metric=auc
mlp_of "MLP, mean squared error" 1 "$targets" init.model.loss=l1 $loader.label_type=float32 $all \
    validate.metric=mean_squared_error

echo "$cases cases, $failures failures"
[ $failures -eq 0 ] && [ $cases -eq 154 ]
