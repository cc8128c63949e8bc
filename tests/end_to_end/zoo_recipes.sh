#!/bin/sh
# Recipes of the model zoo as they are shipped: both layouts, anchors, aliases and merges, and the keys of older releases
# compile unchanged in both modes, and to the same bytes as the same recipe in today's keys. What has no effect is
# warned of, each key in a line of its own. Recipes in the folder FIRN_ZOO are compiled too, if it is set.
set -eu

. tests/end_to_end/expectations
zoo=${FIRN_ZOO:-}
RECIPE=compiler/recipes/small_gpt2.yaml
cases=0

"$FIRNC" keygen "$folder/test" >"$folder/out"

# freeze NAME RECIPE MODE [OPTION]...: compiles a recipe, which only warns, to $folder/NAME.
freeze() {
    name=$1
    recipe=$2
    mode=$3
    shift 3
    cases=$((cases + 1))
    expect "$name, $mode" 0 '' "$FIRNC" compile "$recipe" --mode "$mode" --unsigned --pub "$folder/test.pub.pem" \
        -o "$folder/$name" "$@"
    ! grep -v '^firnc: .*: warning: .*; ' "$folder/err" || fail "$name, $mode: another line than a warning"
}

# same NAME A B: two recipes give the same plans in both modes.
same() {
    for mode in train eval; do
        freeze "$1.a" "$2" $mode
        freeze "$1.b" "$3" $mode
        cmp "$folder/$1.a" "$folder/$1.b" || fail "$1, $mode: other bytes"
    done
}

# warns NAME PATTERN: the last compilation has exactly one line that matches.
warns() {
    [ "$(grep -c -- "$2" "$folder/err")" -eq 1 ] || fail "$1: not one line '$2'"
}

# silent NAME PATTERN: the last compilation has no line that matches.
silent() {
    ! grep -q -- "$2" "$folder/err" || fail "$1: a line '$2'"
}

# refused NAME KEY PATTERN RECIPE [OPTION]...: refused in one line, at the line that has the key first.
refused() {
    name=$1
    line=$(grep -n -m 1 -e "$2" "$4" | cut -d : -f 1)
    pattern=$3
    shift 3
    cases=$((cases + 1))
    rm -f "$folder/none"
    expect "$name" 1 "^firnc: $1:$line: .*$pattern" \
        "$FIRNC" compile "$@" --mode train --unsigned --pub "$folder/test.pub.pem" -o "$folder/none"
    grep -q '; ' "$folder/err" || fail "$name: no remedy"
    [ ! -e "$folder/none" ] || fail "$name: left a plan"
}

for recipe in ${zoo:+"$zoo"/*.yaml}; do
    [ -e "$recipe" ] || { fail "there are no recipes in $zoo"; break; }
    for mode in train eval; do
        freeze zoo "$recipe" $mode
        grep -v ' warning: has no effect: ' "$folder/err" || true
    done
done

# --- the layout of today, with anchors ---

cat >"$folder/today.yaml" <<'END'
trainer:
  init:
    backend: {backend_type: CSX, cluster_config: {num_csx: 1}}
    model_dir: ./model_dir
    seed: 1
    model: &model
      name: "gpt2"
      hidden_size: 32
      vocab_size: 300
      position_embedding_type: learned
      share_embedding_weights: true
      max_position_embeddings: 16
      num_hidden_layers: 2
      dropout_rate: &dropout 0.1
      layer_norm_epsilon: 1.0e-05
      loss_scaling: num_tokens
      num_heads: 4
      attention_type: scaled_dot_product
      attention_dropout_rate: *dropout
      filter_size: 64
      nonlinearity: gelu
      use_bias_in_output: false
      mixed_precision: true
      fp16_type: &half cbfloat16
    optimizer:
      adamw:
        betas:
        - 0.9
        - 0.95
        eps: 1.0e-08
        weight_decay: 0.01
    schedulers:
    - SequentialLR:
        schedulers:
        - LinearLR:
            initial_learning_rate: 0.0
            end_learning_rate: &peak 0.0006
            total_iters: 16
        - LinearLR:
            initial_learning_rate: *peak
            end_learning_rate: 0.0
            total_iters: 24
    precision:
      enabled: true
      fp16_type: *half
      loss_scaling_factor: dynamic
      initial_loss_scale: 2147483648.0
      max_loss_scale: 2147483648.0
      max_gradient_norm: 1.0
      precision_opt_level: 2
    loop:
      max_steps: 40
      eval_frequency: 10
      eval_steps: 2
    checkpoint:
      steps: 10
    logging:
      log_steps: 100
    callbacks:
    - ComputeNorm: {}
  fit:
    train_dataloader: &loader
      data_processor: GptHDF5MapDataProcessor
      data_dir: [./train/0/, ./train/1/]
      batch_size: 4
      shuffle: false
      num_workers: 8
    val_dataloader: &val_dataloader
      <<: *loader
      data_dir: ./val
  validate:
    val_dataloader: *val_dataloader
  validate_all:
    val_dataloaders: *val_dataloader
END
freeze today "$folder/today.yaml" train
at() {
    grep -n -m 1 -e "$1" "$folder/today.yaml" | cut -d : -f 1
}
warns 'a key without effect' 'today.yaml:3: trainer.init.backend.backend_type: warning: has no effect'
warns 'a merged key' "today.yaml:$(at data_processor): trainer.validate.val_dataloader.data_processor: warning: has no effect"
warns 'a key beside a merge' "today.yaml:$(at './val'): trainer.validate.val_dataloader.data_dir: warning: has no effect"
warns 'the type of tokens' "today.yaml:$(at train_dataloader): trainer.fit.train_dataloader: warning: token_type is taken as int32"
warns 'ComputeNorm' 'trainer.init.callbacks.0.ComputeNorm: warning: has effect in part'
silent 'checkpoint.steps' 'checkpoint.steps'
silent 'eval_frequency' 'eval_frequency'
silent 'equal loaders' 'another is taken'
"$FIRNC" inspect "$folder/today" --all >"$folder/inspected"
for line in 'said: checkpoint  *every 10 steps' 'said: evaluation  *every 10 steps' 'loss scaling  *dynamic, first 2.1474836e+09' '  input  *input_ids int32.4,16. from int32'; do
    cases=$((cases + 1))
    grep -q "^$line" "$folder/inspected" || fail "inspect: no '$line'"
done

# written out by hand
sed -e 's/ &[a-z_]*//' -e 's/\*dropout/0.1/' -e 's/\*half/cbfloat16/' -e 's/\*peak/0.0006/' -e 's/<<: \*loader/batch_size: 4/' \
    -e 's/\*val_dataloader/{batch_size: 4}/' "$folder/today.yaml" >"$folder/plain.yaml"
same 'anchors' "$folder/today.yaml" "$folder/plain.yaml"

# --- the older layout ---

cat >"$folder/older.yaml" <<'END'
train_input: &input
    data_processor: "GptHDF5MapDataProcessor"
    data_dir: "./train"
    batch_size: 4
    micro_batch_size: auto
    shuffle: False
    drop_last: True

eval_input:
    <<: *input
    data_dir: "./val"
    micro_batch_size: 2

model:
    hidden_size: 32
    vocab_size: 300
    position_embedding_type: "learned"
    share_embedding_weights: True
    max_position_embeddings: 16
    num_hidden_layers: 2
    dropout_rate: 0.1
    layer_norm_epsilon: 1.0e-5
    loss_scaling: "num_tokens"
    num_heads: 4
    attention_type: "scaled_dot_product"
    attention_dropout_rate: 0.1
    filter_size: 64
    nonlinearity: "gelu"
    use_bias_in_output: False
    mixed_precision: True
    fp16_type: "cbfloat16"

optimizer:
    optimizer_type: "adamw"
    betas: [0.9, 0.95]
    eps: 1.0e-8
    weight_decay: 0.01
    max_gradient_norm: 1.0
    learning_rate:
      - scheduler: "Linear"
        initial_learning_rate: 0.0
        end_learning_rate: 0.0006
        total_iters: 16
      - scheduler: "Linear"
        initial_learning_rate: 0.0006
        end_learning_rate: 0.0
        total_iters: 24
    loss_scaling_factor: "dynamic"
    initial_loss_scale: 2147483648.0
    max_loss_scale: 2147483648.0
    log_summaries: True

runconfig:
    max_steps: 40
    log_steps: 100
    checkpoint_steps: 10
    precision_opt_level: 2
    seed: 1
    num_csx: 1
    model_dir: "./model_dir"
    eval_steps: 2
    eval_frequency: 10
END
same 'the older layout' "$folder/today.yaml" "$folder/older.yaml"
freeze older "$folder/older.yaml" train
for key in train_input.data_processor train_input.micro_batch_size eval_input.micro_batch_size runconfig.log_steps \
    runconfig.num_csx runconfig.model_dir; do
    warns 'a key of the older layout' "$key: warning: has no effect"
done
warns 'the name of the model' ':14: model: warning: name is taken as gpt2'
silent 'drop_last' 'drop_last'
freeze named "$folder/older.yaml" train --set model.name=gpt2
silent 'a name' 'name is taken'
cmp "$folder/named" "$folder/older" || fail 'another plan with a name'
freeze set "$folder/older.yaml" train --set trainer.init.loop.max_steps=41 --set runconfig.seed=2
! cmp -s "$folder/set" "$folder/older" || fail 'settings of both layouts had no effect'
for setting in trainer trainer.init trainer.init.model trainer.init.seed trainer.init.model.num_heads trainer.init.schedulers; do
    cases=$((cases + 1))
    expect "a wrong value of $setting" 1 "^firnc: $folder/older.yaml: --set $setting: x is not" \
        "$FIRNC" compile "$folder/older.yaml" --mode train --dump-after build --set $setting=x
done
expect 'a list as a mapping' 1 '--set trainer.init.schedulers: a mapping is not a list' \
    "$FIRNC" compile "$folder/older.yaml" --mode train --dump-after build --set trainer.init.schedulers.0.ConstantLR=1

# edited NAME SCRIPT: writes older.yaml, changed by sed, to NAME.yaml.
edited() {
    sed "$2" "$folder/older.yaml" >"$folder/$1.yaml"
}

edited unknown 's/max_steps: 40/max_stepz: 40/'
refused 'an unknown key of runconfig' max_stepz 'runconfig.max_stepz: unknown key; the nearest known one is max_steps' "$folder/unknown.yaml"
edited unknown 's/num_csx/num_cxs/'
refused 'an unknown key of the machines' num_cxs 'the nearest known one is num_csx' "$folder/unknown.yaml"
edited unknown 's/    eps: 1.0e-8/    epz: 1.0e-8/'
refused 'an unknown key of the optimizer' epz 'optimizer.epz: unknown key; the nearest known one is eps' "$folder/unknown.yaml"
edited unknown 's/adamw/adamx/'
refused 'an unknown optimizer' optimizer: 'optimizer: is not known' "$folder/unknown.yaml"
edited unknown 's/log_summaries: True/log_summaries: 2/'
refused 'a wrong flag' log_summaries 'optimizer.log_summaries: 2 is not true or false' "$folder/unknown.yaml"
edited unknown '/optimizer_type/d'
refused 'no optimizer_type' optimizer: 'optimizer_type is missing' "$folder/unknown.yaml"
edited unknown 's/hidden_size/hiden_size/'
refused 'a model of no known keys' model: 'model: name is missing' "$folder/unknown.yaml"
edited unknown 's/^runconfig:/runconfig: 3\nrunconfik:/'
refused 'a section that is no mapping' runconfig: 'runconfig: is not a mapping' "$folder/unknown.yaml"
edited unknown '1i trainer: {}'
refused 'both layouts' train_input 'train_input: is not supported; beside trainer' "$folder/unknown.yaml"

# --- other models of the model zoo ---

# The model gptj, with untied norms as GPT-NeoX has them where they are wanted, and anchors for what repeats.
cat >"$folder/gptj.yaml" <<'END'
trainer:
  init:
    backend:
      backend_type: CSX
    seed: 1
    model:
      name: "gptj"
      vocab_size: 300
      position_embedding_type: rotary
      rotary_dim: 4
      embedding_dropout_rate: &none 0.0
      attention_dropout_rate: *none
      residual_dropout_rate: *none
      share_embedding_weights: false
      hidden_size: 32
      num_heads: 4
      num_hidden_layers: 2
      max_position_embeddings: 16
      attention_type: scaled_dot_product
      use_projection_bias_in_attention: false
      use_ffn_bias_in_attention: false
      use_ffn_bias: true
      filter_size: 128 # 4 * hidden_size
      nonlinearity: gelu
      layer_norm_epsilon: 1.0e-05
      use_bias_in_output: true
      initializer_range: 0.02
      loss_scaling: num_tokens
      loss_weight: 1.0
      embedding_initializer: &truncated
        name: truncated_normal
        mean: 0.0
        std: 0.02
        a: -0.04
        b: 0.04
      initializer: *truncated
      output_layer_initializer:
        <<: *truncated
        std: 0.01
      fp16_type: cbfloat16
      mixed_precision: true
    optimizer:
      adamw: {eps: 1.0e-06, weight_decay: 0.1, correct_bias: true}
    schedulers:
    - SequentialLR:
        schedulers:
        - LinearLR: {total_iters: 10, initial_learning_rate: 0.0, end_learning_rate: &top 5.809e-05}
        - CosineDecayLR: {initial_learning_rate: *top, total_iters: 20, end_learning_rate: &low 5.809e-06}
        - ConstantLR: {learning_rate: *low}
    precision: {enabled: true, fp16_type: cbfloat16, loss_scaling_factor: dynamic, max_gradient_norm: 1.0}
    loop: {max_steps: 40, eval_frequency: 10}
    checkpoint: {steps: 10}
  fit:
    train_dataloader: {data_dir: [./0/, ./1/], batch_size: 4, shuffle: false, shuffle_seed: 1337, num_workers: 8}
    val_dataloader: &val_dataloader {data_dir: ./val, batch_size: 4}
  validate:
    val_dataloader: *val_dataloader
  validate_all:
    val_dataloaders: *val_dataloader
END
sed 's/name: "gptj"/name: gpt-neox\n      use_untied_layer_norm: true/' "$folder/gptj.yaml" >"$folder/gpt-neox.yaml"
known=$("$FIRNC" compile "$RECIPE" --mode train --dump-after build --set trainer.init.model.name=none 2>&1 || true)
for model in gptj gpt-neox; do
    case "$known," in
    *" $model,"*) for mode in train eval; do freeze $model "$folder/$model.yaml" $mode; done ;;
    *) echo "skipped: the model $model is not one of Firn's" ;;
    esac
done

# --- keys with more than one place ---

edited level 's/    precision_opt_level: 2//; s/^    vocab_size: 300/&\n    precision_opt_level: 2/'
freeze level "$folder/level.yaml" train
cmp "$folder/level" "$folder/older" || fail 'precision_opt_level of the model: another plan'
sed 's/      precision_opt_level: 2//; s/num_csx: 1/precision_opt_level: 2/' "$folder/today.yaml" >"$folder/cluster.yaml"
freeze cluster "$folder/cluster.yaml" train
cmp "$folder/cluster" "$folder/older" || fail 'precision_opt_level of cluster_config: another plan'
sed 's/num_csx: 1/precision_opt_level: 1/' "$folder/today.yaml" >"$folder/cluster.yaml"
refused 'two levels' cluster_config 'trainer.init.precision.precision_opt_level says otherwise' "$folder/cluster.yaml"
freeze cluster "$folder/cluster.yaml" train --set trainer.init.precision.precision_opt_level=2
cmp "$folder/cluster" "$folder/older" || fail 'precision_opt_level of --set: another plan'
sed 's/^      adamw:/      optimizer_type: adamw/; /optimizer_type/,/schedulers:/s/^        //; s/^betas/      betas/; s/^- 0/      - 0/
s/^eps/      eps/; s/^weight_decay/      weight_decay/' "$folder/today.yaml" >"$folder/typed.yaml"
freeze typed "$folder/typed.yaml" train
cmp "$folder/typed" "$folder/older" || fail 'optimizer_type in the layout of today: another plan'

# --- data loaders of an evaluation ---

# eval_batch NAME SIZE SCRIPT: the batch of the eval plan of today.yaml, changed by sed.
eval_batch() {
    sed "$3" "$folder/today.yaml" >"$folder/loaders.yaml"
    freeze "$1" "$folder/loaders.yaml" eval
    "$FIRNC" inspect "$folder/$1" --all | grep -q "^micro-batches  *1 of $2 samples" || fail "$1: not $2 samples"
}
eval_batch list 2 's/^    val_dataloader: \*.*/    val_dataloader: [{<<: *loader, batch_size: 2}, *loader]/'
warns 'another of a list' 'trainer.validate.val_dataloader.1: warning: has no effect'
warns 'another of validate_all' 'trainer.validate_all.val_dataloaders: warning: has no effect'
eval_batch shared 4 's/^      batch_size: 4/&\n      micro_batch_size: 2/'
warns 'a shared micro-batch' 'trainer.validate.val_dataloader.micro_batch_size: warning: has no effect'
eval_batch fit 4 '/^  validate:/,$d'
eval_batch all 3 '/^    val_dataloader: &/,/^  validate_all/{/^  validate_all/!d;}; s/dataloaders: .*/dataloaders: [{batch_size: 3}]/'

# --- schedules of older releases ---

edited steps 's/total_iters: 16/steps: 16/; s/total_iters: 24/decay_steps: 24/'
freeze steps "$folder/steps.yaml" train
cmp "$folder/steps" "$folder/older" || fail 'steps and decay_steps: another plan'
edited steps 's/total_iters: 16/total_iters: 16\n        steps: 17/'
refused 'steps against total_iters' 'steps: 17' 'is total_iters by another name' "$folder/steps.yaml"

# rates NAME: the rates of a recipe at some steps.
rates() {
    "$FIRNC" schedule "$folder/$1.yaml" --range 0:41 2>"$folder/err" | sed 1d | cut -d , -f 2 | sed -n '1p;9p;16p;17p;25p;37p;40p' | tr '\n' ' '
}
edited reset 's/    optimizer_type/    disable_lr_steps_reset: True\n&/'
wanted='0 0.000300000014 0.000562499976 0.000199999995 0 0 0 '
[ "$(rates older)" = '0 0.000300000014 0.000562499976 0.000600000028 0.00039999999 9.99999975e-05 2.49999994e-05 ' ] || fail "rates: $(rates older)"
[ "$(rates reset)" = "$wanted" ] || fail "rates without reset: $(rates reset)"

# A curve behind a constant of 7 steps has the rates that it has alone, from step 7 on; the first line of a schedule's
# output names its columns.
alone() {
    edited alone '/    learning_rate:/,/    loss_scaling_factor/{/    loss_scaling_factor/!d;}'
    "$FIRNC" schedule "$folder/alone.yaml" --range "$2" --set "optimizer.learning_rate=$1" --set optimizer.disable_lr_steps_reset=true 2>"$folder/err" |
        sed 1d | cut -d , -f 2
}
while read -r curve; do
    alone "[{$curve}]" 7:41 >"$folder/whole"
    alone "[{scheduler: Constant, learning_rate: 0.5, total_iters: 7}, {$curve}]" 7:41 >"$folder/middle"
    [ "$(sort -u "$folder/whole" | wc -l)" -gt 1 ] || fail "$curve: $(cat "$folder/err")"
    cmp "$folder/whole" "$folder/middle" || fail "a curve without reset: $curve: $(cat "$folder/err")"
done <<'END'
scheduler: Polynomial, initial_learning_rate: 0.01, end_learning_rate: 0.001, total_iters: 30, power: 2.5
scheduler: Exponential, initial_learning_rate: 0.01, decay_rate: 0.7, total_iters: 5
scheduler: Exponential, initial_learning_rate: 0.01, decay_rate: 0.7, total_iters: 5, staircase: true
scheduler: PiecewiseConstant, learning_rates: [0.1, 0.2, 0.3, 0.4], milestones: [5, 7, 20]
scheduler: PiecewiseConstant, learning_rates: [0.1, 0.2, 0.3, 0.4], milestones: [8, 12, 20]
scheduler: CosineDecay, initial_learning_rate: 0.01, end_learning_rate: 0.001, total_iters: 30
scheduler: CosineDecay, initial_learning_rate: 0.0, end_learning_rate: 0.006, total_iters: 60
END
edited reset 's/    optimizer_type/    disable_lr_steps_reset: True\n&/; /end_learning_rate: 0.0006/,$s/scheduler: "Linear"/scheduler: "CyclicLR"/; /end_learning_rate: 0.0006/,$s/initial_learning_rate: 0.0006/base_lr: 0.0001/; /total_iters: 24/d; s/end_learning_rate: 0.0$/max_lr: 0.001/'
refused 'a curve without reset' 'scheduler: "CyclicLR"' 'PiecewiseConstant and CosineDecay only' "$folder/reset.yaml"
sed 's/        eps: 1.0e-08/&\n        disable_lr_steps_reset: true/' "$folder/today.yaml" >"$folder/reset.yaml"
freeze reset "$folder/reset.yaml" train
warns 'nothing to keep' 'disable_lr_steps_reset: warning: has no effect'

# --- epochs and accumulation ---

steps_of() {
    "$FIRNC" inspect "$folder/$1" --all | sed -n 's/^steps  *//p'
}
edited epochs 's/max_steps: 40/num_epochs: 3/'
refused 'epochs of no length' num_epochs 'runconfig.num_epochs: the length of an epoch is not known' "$folder/epochs.yaml"
refused 'a short epoch' num_epochs 'no whole batch of 4' "$folder/epochs.yaml" --samples 3
freeze epochs "$folder/epochs.yaml" eval
freeze epochs "$folder/epochs.yaml" train --samples 43
[ "$(steps_of epochs)" = 30 ] || fail "3 epochs of 43 samples: $(steps_of epochs) steps"
freeze epochs "$folder/epochs.yaml" train --set runconfig.steps_per_epoch=7
[ "$(steps_of epochs)" = 21 ] || fail "3 epochs of 7 steps: $(steps_of epochs) steps"
freeze epochs "$folder/epochs.yaml" train --set runconfig.steps_per_epoch=7 --set runconfig.max_steps=12
[ "$(steps_of epochs)" = 12 ] || fail "at most 12 steps: $(steps_of epochs) steps"
accum=optimizer.grad_accum_steps=4
freeze epochs "$folder/epochs.yaml" train --samples 43 --set $accum
[ "$(steps_of epochs)" = 7 ] || fail "30 batches, 4 in a step: $(steps_of epochs) steps"
freeze epochs "$folder/epochs.yaml" train --samples 43 --set $accum --set runconfig.target_device=CSX
[ "$(steps_of epochs)" = 30 ] || fail "30 batches on CSX: $(steps_of epochs) steps"
freeze epochs "$folder/epochs.yaml" train --set $accum --set runconfig.steps_per_epoch=7
[ "$(steps_of epochs)" = 21 ] || fail "3 epochs of 7 steps of 4 batches: $(steps_of epochs) steps"
refused 'an epoch below a step' num_epochs '3 batches are no whole step of 4' "$folder/epochs.yaml" --samples 4 --set $accum
freeze epochs "$folder/older.yaml" train --set runconfig.steps_per_epoch=7
warns 'steps_per_epoch alone' 'runconfig.steps_per_epoch: warning: has no effect'
expect '--samples 0' 2 'not a number of samples' "$FIRNC" compile "$folder/older.yaml" --mode train --samples 0 \
    --unsigned --pub "$folder/test.pub.pem" -o "$folder/none"

freeze accumulated "$folder/older.yaml" train --set optimizer.grad_accum_steps=3
"$FIRNC" inspect "$folder/accumulated" --all | grep -q '^micro-batches  *3 of 4 samples' || fail 'grad_accum_steps: no 3 micro-batches'
freeze accumulated "$folder/older.yaml" train --set optimizer.grad_accum_steps=3 --set runconfig.target_device=CSX
warns 'accumulation on CSX' 'optimizer.grad_accum_steps: warning: has no effect'
"$FIRNC" inspect "$folder/accumulated" --all | grep -q '^micro-batches  *1 of 4 samples' || fail 'grad_accum_steps on CSX: micro-batches'

# --- callbacks, and what the run does with them ---

DATA=/usr/share/common-licenses/GPL-3
expect 'a plain run' 0 '' "$FIRNC" compile $RECIPE --mode train --key "$folder/test.key.pem" -o "$folder/plain" \
    --set trainer.init.precision.max_gradient_norm=null
expect 'a run with the norm' 0 '' "$FIRNC" compile $RECIPE --mode train --key "$folder/test.key.pem" -o "$folder/normed" \
    --set trainer.init.precision.max_gradient_norm=null --set 'trainer.init.callbacks=[{ComputeNorm: }]'
for plan in plain normed; do
    "$FIRN" train "$folder/$plan" --pub "$folder/test.pub.pem" --data "$DATA" --steps 3 --quiet --log "$folder/$plan.log" \
        >"$folder/$plan.digest"
done
cmp "$folder/plain.digest" "$folder/normed.digest" || fail 'the norm changes the run'
[ "$(grep -c '"gradient_norm":[0-9]' "$folder/normed.log")" -eq 3 ] || fail 'no norm in the log'
[ "$(grep -c '"gradient_norm":null' "$folder/plain.log")" -eq 3 ] || fail 'a norm in the log that nobody asked for'

expect 'frozen' 0 '' "$FIRNC" compile $RECIPE --mode train --key "$folder/test.key.pem" -o "$folder/frozen" \
    --set 'trainer.init.callbacks=[{FreezeParameters: {params: ["transformer.h.0.*", "*.wte.weight"]}}]' \
    --set trainer.init.checkpoint.steps=2
"$FIRNC" inspect "$folder/frozen" --all >"$folder/inspected"
[ "$(grep -c '^said: frozen  ' "$folder/inspected")" -eq 2 ] || fail 'frozen parameters are not said'
! grep -q 'optimizer.*transformer\.h\.0' "$folder/inspected" || fail 'frozen parameters have state of the optimizer'
! grep -q 'gradient.transformer\.h\.0' "$folder/inspected" || fail 'frozen parameters have gradients'
grep -q '^  constant .* frozen  *transformer\.wte\.weight ' "$folder/inspected" || fail 'frozen parameters are not in the plan'
"$FIRN" train "$folder/frozen" --pub "$folder/test.pub.pem" --data "$DATA" --steps 2 --quiet --checkpoint "$folder/frozen.2" \
    >"$folder/out"
"$FIRN" export "$folder/frozen.2" -o "$folder/frozen.safetensors" >"$folder/out"
! grep -aq 'transformer\.h\.0\|wte' "$folder/frozen.safetensors" || fail 'frozen parameters are in the checkpoint'
grep -aq 'transformer\.h\.1\.attn' "$folder/frozen.safetensors" || fail 'trained parameters are not in the checkpoint'
refused_set() {
    cases=$((cases + 1))
    expect "$1" 1 "$2" "$FIRNC" compile $RECIPE --mode train --key "$folder/test.key.pem" -o "$folder/none" --set "$3"
}
expect 'a group of frozen parameters' 0 '' "$FIRNC" compile $RECIPE --mode train --key "$folder/test.key.pem" \
    -o "$folder/grouped" --set 'trainer.init.callbacks=[{FreezeParameters: ["transformer.h.*"]}]' \
    --set 'trainer.init.optimizer.AdamW.params=[{params: "transformer.h.*", tags: blocks}]'
! "$FIRNC" inspect "$folder/grouped" --all | grep -q 'group.*blocks' || fail 'a group of frozen parameters is in the plan'
refused_set 'nothing to train' 'every parameter is frozen' 'trainer.init.callbacks=[{FreezeParameters: "*"}]'
refused_set 'nothing to freeze' 'no parameter matches "wte"' 'trainer.init.callbacks=[{FreezeParameters: [wte]}]'

# Runs until the log has five steps, and ends the program without a chance to save. saves WANTED PLAN [OPTION]...
saves() {
    wanted=$1
    plan=$2
    shift 2
    cases=$((cases + 1))
    rm -f "$folder/killed"
    : >"$folder/killed.log"
    "$FIRN" train "$folder/$plan" --pub "$folder/test.pub.pem" --data "$DATA" --quiet --checkpoint "$folder/killed" \
        --log "$folder/killed.log" "$@" >"$folder/out" 2>&1 &
    runner=$!
    while [ "$(wc -l <"$folder/killed.log")" -lt 6 ] && kill -0 $runner 2>/dev/null; do
        sleep 0.05
    done
    kill -9 $runner 2>/dev/null || true
    wait $runner 2>/dev/null || true
    saved=no
    [ ! -s "$folder/killed" ] || saved=yes
    [ $saved = "$wanted" ] || fail "$plan, $*: saved: $saved"
}
expect 'endless' 0 '' "$FIRNC" compile $RECIPE --mode train --key "$folder/test.key.pem" -o "$folder/endless" \
    --set trainer.init.loop.num_steps=unlimited
expect 'endless, with checkpoints' 0 '' "$FIRNC" compile $RECIPE --mode train --key "$folder/test.key.pem" \
    -o "$folder/saving" --set trainer.init.loop.num_steps=unlimited --set trainer.init.checkpoint.steps=2

# The runner saves as often as the recipe says, unless it is told otherwise.
saves no endless
saves yes saving
saves no saving --checkpoint-every 1000000
"$FIRN" train --help | grep -A 2 -e '--checkpoint-every' | grep -q 'what the recipe said' || fail 'no help for checkpoint.steps'

# --- what inspect shows ---

# shows PATTERN MODE RECIPE [SETTING]...: a line of inspect.
shows() {
    pattern=$1
    mode=$2
    recipe=compiler/recipes/$3.yaml
    shift 3
    for setting in "$@"; do
        set -- "$@" --set "trainer.$setting"
        shift
    done
    cases=$((cases + 1))
    expect "$pattern" 0 '' "$FIRNC" compile "$recipe" --mode "$mode" --key "$folder/test.key.pem" -o "$folder/shown" "$@"
    "$FIRNC" inspect "$folder/shown" --all | grep -q -e "$pattern" || fail "inspect shows no '$pattern'"
}
shows '^loss scaling  *static, 128$' train small_gpt2 init.precision.loss_scaling_factor=128
shows '^loss scaling  *dynamic, first 4096, from 0.5 to 8192, doubled after more than 9 steps, overflow tolerance 0.25$' \
    train small_gpt2 init.precision.loss_scaling_factor=dynamic init.precision.initial_loss_scale=4096 \
    init.precision.min_loss_scale=0.5 init.precision.max_loss_scale=8192 init.precision.steps_per_increase=9 \
    init.precision.overflow_tolerance=0.25
shows 'rotation in bfloat16: 4 elements of each of 4 heads (of 6), interleaved, base 500' train small_gpt2 \
    init.model.position_embedding_type=rotary init.model.rotary_dim=4 init.model.rope_theta=500
shows '^  input  *features .* as x \* 0.25 + -1.5$' eval small_mlp fit.train_dataloader.feature_scale=0.25 \
    fit.train_dataloader.feature_shift=-1.5

# --- bombs ---

{
    echo 'a: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]'
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
        echo "b$i: &a$i [$(for _ in 1 2 3 4 5 6 7 8 9 10; do printf '*a%s, ' $((i - 1)); done)]"
    done
} >"$folder/bomb.yaml"
bomb() {
    (ulimit -v 400000 && exec "$@")
}
[ -n "${ASAN_OPTIONS:-}" ] || expect 'a bomb' 1 "^firnc: $folder/bomb.yaml:6: the file stands for more than 131072 values" \
    bomb "$FIRNC" compile "$folder/bomb.yaml" --mode train --unsigned --pub "$folder/test.pub.pem" -o "$folder/none"

echo "$cases cases, $failures failures"
[ "$failures" -eq 0 ]
