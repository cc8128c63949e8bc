#!/bin/sh
# The limits of a recipe's value ranges: values that the recipe's reader accepts must pass the rules of every op and the
# checks of the plan. Each case compiles or is refused in one line; if the compiler aborts or rejects its own plan, a
# range disagrees with a rule.
set -eu

. tests/end_to_end/expectations
cases=0

"$FIRNC" keygen "$folder/test" >"$folder/out"

# ends RECIPE MODE KEY VALUE...: compiles the recipe with that key set to each of the values.
ends() {
    recipe=compiler/recipes/$1.yaml
    mode=$2
    key=$3
    shift 3
    for value; do
        cases=$((cases + 1))
        status=0
        "$FIRNC" compile "$recipe" --mode "$mode" --set "trainer.$key=$value" --unsigned --pub "$folder/test.pub.pem" \
            -o "$folder/plan" >"$folder/out" 2>"$folder/got" || status=$?
        if [ "$status" -gt 1 ] || grep -q 'bug of' "$folder/got" ||
            { [ "$status" -eq 1 ] && ! grep -q "$key" "$folder/got"; }; then
            echo "$recipe, --mode $mode, $key: $value: exit $status"
            sed 's/^/    /' "$folder/got"
            failures=$((failures + 1))
        fi
    done
}

adamw=init.optimizer.AdamW
sgd=init.optimizer.SGD
ends small_gpt2 train $adamw.eps 0 -0.0 1e-45 1e-46 1
ends small_gpt2 train $adamw.betas '[0, 0]' '[-0.0, 0.99999997]' '[0.99999999, 0]'
ends small_gpt2 train $adamw.weight_decay 0 -0.0 1e-45 1e30
ends small_gpt2 train $adamw.correct_bias false
ends small_mlp train $sgd.momentum 0.99999997 1e-45
ends small_mlp train $sgd.dampening 0
ends small_mlp train $sgd '{lr: 0}' '{lr: 1, momentum: 1e-45, dampening: 1}' \
    '{lr: 1e30, momentum: 1e-46}' '{lr: -0.0, momentum: -0.0, weight_decay: 1e30}'

ends small_gpt2 train init.model.dropout_rate 0 -0.0 1e-45 0.99999997 0.99999999
ends small_gpt2 train init.model.attention_dropout_rate 0 -0.0 1e-45 0.99999997
ends small_gpt2 train init.model.embedding_dropout_rate 0 -0.0 1e-45 0.99999997
ends small_gpt2 train init.model.layer_norm_epsilon 0 1e-45 1
ends small_gpt2 train init.model.initializer_range 0 1e-45 1000
ends small_gpt2 train init.model.vocab_size 2
ends small_gpt2 train init.model.filter_size 1
ends small_gpt2 eval init.model.dropout_rate 0.99999997
ends small_mlp train init.model.dropout_rate 0 -0.0 1e-45 0.99999997
ends small_mlp train init.model.hidden_sizes '[]' '[1]'
ends small_mlp train init.model.input_size 1 16777216

ends small_gpt2 train init.precision.loss_scaling_factor 1e-45 1e-300 2.9387e-39 2.93874e-39 3.4e38 1.00000001
ends small_gpt2 train init.precision '{loss_scaling_factor: dynamic, steps_per_increase: 1, overflow_tolerance: 1}' \
    '{loss_scaling_factor: dynamic, steps_per_increase: 1000000000000000, overflow_tolerance: -0.0}' \
    '{loss_scaling_factor: dynamic, initial_loss_scale: 6.103515625e-05, max_loss_scale: 6.103515625e-05}' \
    '{loss_scaling_factor: dynamic, initial_loss_scale: 1e-45}' \
    '{loss_scaling_factor: dynamic, initial_loss_scale: 3.4e38, min_loss_scale: 3.4e38, max_loss_scale: 3.4e38}' \
    '{max_gradient_norm: 1e-45}' '{max_gradient_norm: 3.4e38}' '{max_gradient_value: 1e-45}' \
    '{max_gradient_value: 3.4e38}' '{precision_opt_level: 2, pol_lowering: emulate}' '{enabled: false}'

ends small_gpt2 train init.seed 0 18446744073709551615
ends small_gpt2 train init.loop.num_steps 1 1000000000000000
ends small_gpt2 eval init.loop.eval_steps 0 1000000000000000
ends small_gpt2 train init.schedulers '[{ConstantLR: {learning_rate: -0.0}}]' '[{ConstantLR: {learning_rate: 1e30}}]' \
    '[{LinearLR: {initial_learning_rate: 1e-320, end_learning_rate: 1e30, total_iters: 1000000000000000}}]' \
    '[{CosineDecayLR: {initial_learning_rate: 0, end_learning_rate: 0, total_iters: 1}}]'

loader=fit.train_dataloader
ends small_gpt2 train $loader.max_sequence_length 1
ends small_gpt2 train $loader.stride 1 4294967295
ends small_gpt2 train $loader.shuffle_seed 0 18446744073709551615
ends small_gpt2 train $loader.held_out_per_mille 0 1 999
ends small_mlp train $loader.batch_size 16777216
ends small_mlp train $loader.feature_scale -1e30 0 -0.0 1e-45 1e30
ends small_mlp train $loader.feature_shift -1e30 -0.0 1e30
ends small_mlp train $loader.label_type uint8 int32
ends small_mlp eval validate.val_dataloader.feature_type uint8 float32

echo "$cases cases, $failures failures"
[ "$failures" -eq 0 ]
