#!/bin/sh
# The bytes of plans, for every recipe in the repository, both modes, every half type, POL and target, every optimizer,
# metric and loss: one line "SHA-256 case" for each, compared with tests/golden/plan_bytes.golden. This shows that a
# change of the compiler that is not meant to change plans does not change them.
#
#     tests/end_to_end/plan_bytes.sh           compares
#     tests/end_to_end/plan_bytes.sh --print   prints the lines, to replace the golden file after an intended change
#
# The SHA-256 leaves out the hash of the key, because each run makes a new key, and the hash of the schema, which changes
# with every field that is added although these plans do not have it; the plans are unsigned. Every plan
# contains the version of firnc, so the golden file must be regenerated when the version changes.
set -eu

. tests/end_to_end/expectations

"$BUILD/firnc" keygen "$folder/test" >"$folder/log"

# hash NAME RECIPE MODE [OPTION]...: prints the line of one case.
hash() {
    name=$1
    recipe=$2
    mode=$3
    shift 3
    takes_next || return 0
    echo "$name" >>"$folder/taken"
    rm -f "$folder/plan"
    if "$BUILD/firnc" compile "$recipe" --mode "$mode" --unsigned --pub "$folder/test.pub.pem" -o "$folder/plan" "$@" \
        >"$folder/log" 2>&1; then
        # bytes 80 to 111 are the hash of the schema, 112 to 143 that of the key
        { head -c 80 "$folder/plan" && tail -c +145 "$folder/plan"; } >"$folder/bytes"
        printf '%s  %s\n' "$(sha256sum <"$folder/bytes" | cut -c 1-64)" "$name"
    else
        echo "$name does not compile: $(cat "$folder/log")" >&2
        exit 1
    fi
}

# formats RECIPE MODE: every half type, POL, lowering and target.
formats() {
    short=$(basename "$1" .yaml)
    hash "$short $2" "$1" "$2"
    hash "$short $2 float32" "$1" "$2" --set trainer.init.precision.enabled=false
    for half in float16 bfloat16 cbfloat16; do
        for level in 0 1 2; do
            for lowering in native emulate; do
                for target in portable avx512fp16; do
                    [ "$lowering $target" = "emulate avx512fp16" ] && continue
                    hash "$short $2 $half POL $level $lowering $target" "$1" "$2" --target $target \
                        --set trainer.init.precision.enabled=true --set "trainer.init.precision.fp16_type=$half" \
                        --set trainer.init.precision.loss_scaling_factor=dynamic \
                        --set "trainer.init.precision.precision_opt_level=$level" \
                        --set "trainer.init.precision.pol_lowering=$lowering"
                done
            done
        done
    done
}

# variant RECIPE MODE SETTING...: one case; the settings are relative to trainer.
variant() {
    recipe=$1
    mode=$2
    shift 2
    label="$(basename "$recipe" .yaml) $mode $*"
    for setting in "$@"; do
        set -- "$@" --set "trainer.$setting"
        shift
    done
    hash "$label" "$recipe" "$mode" "$@"
}

everything() {
    for recipe in compiler/recipes/*.yaml tests/end_to_end/*.yaml tests/golden/*.yaml tests/bench/recipes/*.yaml; do
        for mode in train eval; do
            case $recipe in
            */*_[0-9]*b.yaml | */bert_base.yaml) # whose copies of weights are large
                hash "$(basename "$recipe" .yaml) $mode" "$recipe" $mode --weight-copies always
                hash "$(basename "$recipe" .yaml) $mode without copies of weights" "$recipe" $mode
                ;;
            */gpt2_124m.yaml | */cct.yaml | */mobilenet.yaml | */resnet8.yaml | \
                */ds_cnn.yaml) # the small recipes cover the other formats
                hash "$(basename "$recipe" .yaml) $mode" "$recipe" $mode
                ;;
            */table.yaml) # its sizes are those of the statistics
                hash "table $mode" "$recipe" $mode --statistics tests/golden/table_statistics.json
                ;;
            *) formats "$recipe" $mode ;;
            esac
        done
    done

    gpt2=compiler/recipes/small_gpt2.yaml
    mlp=compiler/recipes/small_mlp.yaml
    groups='params: [{params: "*.bias", weight_decay: 0.5, tags: bias}, {params: "transformer.h.0.*", tags: h}]'
    for optimizer in "SGD: {" "SGD: {momentum: 0.9, " "SGD: {momentum: 0.9, nesterov: true, " "Adam: {" \
        "Adam: {amsgrad: true, " "AdamW: {" "AdamW: {amsgrad: true, correct_bias: false, " "Adafactor: {" "Lamb: {" "Lion: {" \
        "RMSprop: {" "RMSprop: {momentum: 0.9, " "RMSprop: {centered: true, " "RMSprop: {centered: true, momentum: 0.9, " \
        "RAdam: {" "NAdam: {" "Adamax: {" "Adagrad: {initial_accumulator_value: 0.5, " "Adadelta: {" \
        "ASGD: {" "Muon: {"; do
        variant $gpt2 train "init.optimizer={$optimizer}}"
        variant $gpt2 train "init.optimizer={$optimizer$groups}}" init.precision.fp16_type=float16 \
            init.precision.loss_scaling_factor=dynamic
        variant $mlp train "init.optimizer={$optimizer weight_decay: 0.1}}" init.precision.max_gradient_value=2
    done
    variant $mlp train "init.optimizer={Rprop: {}}"
    variant $gpt2 train 'init.schedulers=[{ConstantLR: {learning_rate: 0.1}}, {LinearWD: {initial_val: 0, end_val: 0.1, total_iters: 3}}]'
    variant $gpt2 train init.precision.gradient_type=float32
    tree="init.loop.micro_batch_order=tree"
    for micro_batches in 2 7 8; do # one level of the tree, and three, whole or not
        variant $gpt2 train $tree fit.train_dataloader.batch_size=$micro_batches fit.train_dataloader.micro_batch_size=1
    done
    variant $gpt2 train $tree fit.train_dataloader.batch_size=6 fit.train_dataloader.micro_batch_size=2 \
        init.precision.fp16_type=float16 init.precision.loss_scaling_factor=dynamic
    variant $mlp train $tree fit.train_dataloader.batch_size=6 fit.train_dataloader.micro_batch_size=2 init.model.ignore_index=3
    variant compiler/recipes/small_resnet8.yaml train $tree fit.train_dataloader.batch_size=6 \
        fit.train_dataloader.micro_batch_size=2
    variant $gpt2 train init.precision.loss_scaling_factor=8 init.precision.max_gradient_norm=null
    variant $gpt2 train init.precision.max_gradient_norm=null init.precision.max_gradient_value=3
    variant $gpt2 train 'init.precision.float32_layers=["transformer.h.1.*"]'
    variant $gpt2 train 'init.precision.pol=[{pattern: "*.attn*", level: 2, bwd_level: 0}]' init.precision.pol_lowering=emulate
    for mode in train eval; do
        variant $gpt2 $mode init.model.position_embedding_type=rotary init.model.rotary_dim=6
        variant $gpt2 $mode init.model.share_embedding_weights=false init.model.use_bias_in_output=true
        variant $gpt2 $mode init.model.attention_softmax_fp32=false
        variant $gpt2 $mode init.model.label_smoothing=0.1
        variant $gpt2 $mode init.model.loss_scaling=batch_size init.model.loss_weight=0.5
        for activation in gelu_new relu silu softplus sigmoid tanh; do
            variant $gpt2 $mode "init.model.nonlinearity=$activation"
            variant $mlp $mode "init.model.nonlinearity=$activation"
        done
        for loss in mean_squared_error l1 huber smooth_l1 binary_cross_entropy_with_logits kl_divergence; do
            variant $mlp $mode "init.model.loss=$loss" validate.metric=loss
        done
        variant $mlp $mode init.model.loss=nll
        variant $mlp $mode init.model.label_smoothing=0.1 init.model.ignore_index=3
        variant $mlp $mode init.model.sample_weights=true
        variant $mlp $mode init.model.dropout_rate=0.25
    done
    for metric in accuracy loss perplexity mean mean_per_class_accuracy mean_iou dice '{fbeta: {beta: 2.0}}'; do
        variant $mlp eval "validate.metric=$metric"
        variant $mlp eval "validate.metric=$metric" init.model.ignore_index=3
    done
    variant $mlp eval validate.metric=auc init.model.loss=binary_cross_entropy_with_logits
    variant $mlp eval validate.metric=mean_squared_error init.model.loss=l1
    variant $gpt2 eval validate.metric=accuracy

    for mode in train eval; do
        hash "small_gpt2 $mode without copies of weights" $gpt2 $mode --weight-copies never
    done

    # The targets whose engine adds in an order of its own.
    for target in amx-bf16 avx512-bf16; do
        for recipe in $gpt2 $mlp compiler/recipes/small_lenet.yaml; do
            for level in 0 1 2; do
                hash "$(basename "$recipe" .yaml) train bfloat16 POL $level native $target" "$recipe" train \
                    --target $target --set "trainer.init.precision.precision_opt_level=$level"
            done
        done
    done
}

everything >"$folder/lines"
if [ "${1:-}" = --print ]; then
    cat "$folder/lines"
    exit 0
fi
cp tests/golden/plan_bytes.golden "$folder/golden"
if ! takes_all; then
    [ $(($(wc -l <"$folder/taken") * FIRN_TEST_EVERY)) -gt $(($(wc -l <"$folder/golden") - FIRN_TEST_EVERY)) ] || exit 1
    awk 'FNR == NR { taken[$0] = 1; next } substr($0, 67) in taken' "$folder/taken" tests/golden/plan_bytes.golden >"$folder/golden"
fi
if ! diff "$folder/golden" "$folder/lines" >"$folder/differences"; then
    echo "plans changed, or cases did; $(grep -c '^>' "$folder/differences") lines:"
    head -n 20 "$folder/differences"
    exit 1
fi
echo "$(wc -l <"$folder/lines") plans as before"
