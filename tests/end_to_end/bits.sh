#!/bin/sh
# The same plan gives the same bits on every machine: the losses of each step, and the digest after five. The cases are models
# in every format and POL, with overflow, subnormals and NaN, every optimizer and schedule, losses, recurrent ops, and attention
# that is written out in smaller ops. The places are this machine with the portable kernel sets, two compilers, three levels of
# optimisation, two word sizes and, for models without attention, every emulated board; transformers run on two. Large models,
# whose ops are split among threads, run with every kernel set and 1, 2, 3 and 8 threads. A kernel set with another compiler,
# or with other threads in a build by another compiler, is in cover.sh. FIRN_TEST_EXHAUSTIVE=1 in the environment runs everything
# on every board, and evaluates in each half type.
#
#     tests/end_to_end/bits.sh                every case in every place
#     tests/end_to_end/bits.sh --list         prints a line for each case: its number, op family, type and level, and size:
#                                             the ops of a large model are split among threads, those of a small one are not
#     tests/end_to_end/bits.sh --rows FILE    each line of the file is a case and a place: number, build, kernel set,
#                                             threads (cover.sh)
#
# Needs: runner variants boards signing
set -eu

task=whole rows=
case ${1:-} in
--list) task=list ;;
--rows) task=rows rows=$2 ;;
esac
STEPS=5
options=
. tests/end_to_end/expectations
. tests/end_to_end/targets
compared=0
gpt2_boards="cortex-m7 rv32"
mlp_boards=$targets
[ "${FIRN_TEST_EXHAUSTIVE:-}" != 1 ] || gpt2_boards=$targets

. tests/end_to_end/variants
[ $task != rows ] || built=$BUILD/cover
# The kernel sets of this processor, and those of them that are portable.
case $(uname -m) in
aarch64) sets="plain neon neonfp16" portable_sets=plain ;;
*) sets="plain fma avx2 avx512 avx512fp16 avx512bf16 amx" portable_sets="plain fma" ;;
esac
[ $task = whole ] || variants= # rows name their own
[ $task != rows ] || targets="cortex-m7 rv32"
for program in "$BUILD/runner" ${variants:+$(printf "$built/%s/runner " $variants)}; do
    [ $task = list ] || [ -x "$program" ] || {
        echo "$program is missing; make test builds it" >&2
        exit 1
    }
done

# --- compiler flags that would change the bits are refused ---

for flags in -ffast-math -Ofast '-m32 -mfpmath=387'; do
    [ $task != list ] || continue
    [ "$(uname -m)" = x86_64 ] || [ "${flags#-m32}" = "$flags" ] || continue
    # shellcheck disable=SC2086 # several flags
    if gcc -std=c11 $flags -I. -fsyntax-only runtime/numerics/half.c 2>"$folder/refusal" ||
        ! grep -q 'gives other bits' "$folder/refusal"; then
        echo "gcc $flags: not refused by runtime/numerics/numerics.h" >&2
        failures=$((failures + 1))
    fi
done

[ $task = list ] || "$BUILD/firnc" keygen "$folder/test" >"$folder/log"
PUB=$folder/test.pub.pem

# --- data: text, and 64 records of 28 x 28 bytes with labels 0 to 9, as IDX ---

licences=/usr/share/common-licenses
cat $licences/GPL-3 $licences/LGPL-2.1 $licences/GPL-2 >"$folder/text"
{
    printf '\0\0\010\003\0\0\0\100\0\0\0\034\0\0\0\034'
    head -c $((64 * 784)) "$folder/text"
} >"$folder/images"
{
    printf '\0\0\010\001\0\0\0\100'
    head -c 64 "$folder/text" | tr -c 'a-i' 'j' | tr 'a-j' '\000-\011'
} >"$folder/labels"

# Ten float32 numbers from 0.5 to 2 for each record.
{
    printf '\0\0\015\002\0\0\0\100\0\0\0\012'
    head -c 640 "$folder/text" | od -A n -v -t o1 -w1 | while read -r byte; do
        printf "\\077\\$byte\\0\\0"
    done
} >"$folder/targets"

# --- running ---

cat >"$folder/aarch64" <<end
#!/bin/sh
exec qemu-aarch64 -L /usr/aarch64-linux-gnu "$(realpath "$BUILD")/aarch64/runner" "\$@"
end
chmod +x "$folder/aarch64"

for target in $targets; do
    [ $task != list ] || continue
    make -s --no-print-directory BUILD="$BUILD" emulator TARGET=$target PUB="$PUB" >"$folder/$target.board"
done

# Each case is of a family of ops, $family. type_of TEXT...: the type and level that the text names
number=0
type_of() {
    case "$*" in
    *enabled=false*) type=float32 ;;
    *cbfloat16*) type=cbfloat16 ;;
    *bfloat16*) type=bfloat16 ;;
    *float16*) type=float16 ;;
    *float32*) type=float32 ;;
    *) type=bfloat16 ;; # what the small recipes have
    esac
    level=$(echo "$*" | sed -n 's/.*precision_opt_level=\([0-9]\).*/\1/p; s/.*POL \([0-9]\).*/\1/p' | head -n 1)
    [ -z "$level" ] || [ $type = float32 ] || type=$type/$level
}

# next_case SIZE TEXT...: counts the case, and returns whether it is to be run.
next_case() {
    number=$((number + 1))
    case $task in
    whole) takes_next ;;
    rows) grep -q "^$number " "$rows" ;;
    list)
        size=$1
        shift
        type_of "$@"
        echo "$number $family $type $size"
        return 1
        ;;
    esac
}

# Prints the rows of this case: build, kernel set, threads.
rows_of_case() {
    sed -n "s/^$number //p" "$rows"
}

# run WHERE CHECKPOINT STEPS [SET]: prints the lines of a run of the current plan. An error caused by values is part of the
# result.
run() {
    target=host
    kernels=${4:-}
    case $1 in
    host) program=$BUILD/runner ;;
    plain | fma) program=$BUILD/runner kernels=$1 ;;
    gcc-* | clang-*) program=$built/$1/runner ;;
    aarch64) program=$folder/aarch64 ;;
    *) target=$1 program=$(cat "$folder/$1.board") ;;
    esac
    FIRN_KERNELS=$kernels PLAN=$plan PUB=$PUB DATA=$data LABELS=$labels STEPS=$3 CHECKPOINT=$2 \
        runtime/targets/emulated/run "$target" "$program" 2>"$folder/errors" || true
    cat "$folder/errors"
}

# Prints the first tensor in which two places differ after the first step that differs.
explain() {
    step=$(diff "$folder/expected" "$folder/got" | sed -n 's/^[<>] step \([0-9]*\).*/\1/p' | head -n 1)
    step=${step:-$STEPS}
    echo "  first line that differs:"
    diff "$folder/expected" "$folder/got" | sed -n '2p;/^>/{p;q;}'
    rm -f "$folder/a" "$folder/b"
    run host "$folder/a" "$step" >/dev/null
    run "$1" "$folder/b" "$step" >/dev/null
    for side in a b; do
        [ -f "$folder/$side" ] || return 0
        "$BUILD/firn" digest "$folder/$side" --per-tensor >"$folder/$side.txt"
    done
    echo "  first tensor that differs after step $step:"
    diff "$folder/a.txt" "$folder/b.txt" | sed -n '2p;/^>/{p;q;}'
}

# compare WHERE [SET]
compare() {
    run "$1" "" $STEPS "${2:-}" >"$folder/got"
    compared=$((compared + 1))
    if ! cmp -s "$folder/expected" "$folder/got"; then
        failures=$((failures + 1))
        echo "$name differs on $1${2:+, set $2}"
        explain "$1"
    fi
}

# check NAME WANTED [SETTING]...: freezes the recipe with the settings and $options and compares every place with the
# host. The output must match the pattern WANTED, which shows that the case tests what it is meant to test.
check() {
    name="$model $1"
    wanted=$2
    shift 2
    taken=
    next_case small "$name" "$@" || return 0
    taken=1
    plan=$folder/plan
    for setting in "$@"; do
        set -- "$@" --set "trainer.init.$setting"
        shift
    done
    if ! "$BUILD/firnc" compile "$recipe" --mode train --key "$folder/test.key.pem" -o "$plan" "$@" \
        ${metric:+--set "trainer.validate.metric=$metric"} $options >"$folder/log" 2>&1; then
        echo "$name does not compile:"
        cat "$folder/log"
        failures=$((failures + 1))
        return
    fi
    compare_places
}

# Compares every place with the host for the current plan; $name and $wanted are those of check.
compare_places() {
    run host "" $STEPS >"$folder/expected"
    if ! grep -q '^digest ' "$folder/expected" || ! grep -Eq "$wanted" "$folder/expected"; then
        echo "$name: no line has '$wanted'"
        cat "$folder/expected"
        failures=$((failures + 1))
        return
    fi
    if [ $task = rows ]; then
        rows_of_case >"$folder/places"
        while read -r place set threads; do
            compare "$place" "$set" </dev/null
        done <"$folder/places"
        return
    fi
    for place in $portable_sets $variants $boards; do
        compare "$place"
    done
    compare_command_line
}

# The digest of `firn train` with one thread and with two. It prints none for a run that ends with an error caused by
# values.
compare_command_line() {
    if grep -q '^LOSS_NOT_FINITE' "$folder/expected"; then
        return
    fi
    for threads in 1 2; do
        "$BUILD/firn" train "$plan" --pub "$PUB" --data "$data" ${labels:+--labels "$labels"} --steps $STEPS \
            --threads $threads --quiet >"$folder/got" 2>&1 || true
        compared=$((compared + 1))
        if [ "$(grep '^digest ' "$folder/got")" != "$(grep '^digest ' "$folder/expected")" ]; then
            failures=$((failures + 1))
            echo "$name differs with firn train --threads $threads"
            cat "$folder/got"
        fi
    done
}

# evaluate METRIC [SETTING]...: the value of an eval plan with that metric, after a training run with the same settings.
evaluate() {
    name="$model, metric $1"
    measured=$1
    shift
    family=metrics next_case small "$@" || return 0
    for setting in "$@"; do
        set -- "$@" --set "trainer.init.$setting"
        shift
    done
    rm -f "$folder/trained"
    for mode in train eval; do
        plan=$folder/$mode
        if ! "$BUILD/firnc" compile "$recipe" --mode $mode --key "$folder/test.key.pem" -o "$plan" "$@" \
            --set "trainer.validate.metric=$measured" >"$folder/log" 2>&1; then
            echo "$name does not compile:"
            cat "$folder/log"
            failures=$((failures + 1))
            return
        fi
        run host "$folder/trained" $STEPS >"$folder/expected"
    done
    if ! grep -q '^result ' "$folder/expected"; then
        echo "$name: no result"
        cat "$folder/expected"
        failures=$((failures + 1))
        return
    fi
    if [ $task = rows ]; then
        rows_of_case
    else
        printf '%s\n' $portable_sets $variants $boards
    fi >"$folder/places"
    while read -r place set threads; do
        run "$place" "$folder/trained" $STEPS "$set" >"$folder/got" </dev/null
        compared=$((compared + 1))
        if ! cmp -s "$folder/expected" "$folder/got"; then
            failures=$((failures + 1))
            echo "$name differs on $place${set:+, set $set}"
            diff "$folder/expected" "$folder/got" || true
        fi
    done <"$folder/places"
}

# --- the cases ---

float16="precision.fp16_type=float16 precision.loss_scaling_factor=dynamic"
bfloat16="precision.fp16_type=bfloat16"
cbfloat16="precision.fp16_type=cbfloat16 precision.loss_scaling_factor=dynamic"
pol() {
    echo "precision.precision_opt_level=$1 precision.pol_lowering=emulate"
}

# The settings are split into words on purpose.
check_formats() {
    check "float32" "step 5 loss" precision.enabled=false
    check "float16, dynamic, POL 0" "step 5 loss" $float16 precision.precision_opt_level=0
    check "bfloat16, POL 0" "step 5 loss" $bfloat16 precision.precision_opt_level=0
    check "cbfloat16, dynamic, POL 0" "step 5 loss" $cbfloat16 precision.precision_opt_level=0
    for level in 1 2; do
        check "float16, dynamic, POL $level" "step 5 loss" $float16 $(pol $level)
        check "bfloat16, POL $level" "step 5 loss" $bfloat16 $(pol $level)
        check "cbfloat16, dynamic, POL $level" "step 5 loss" $cbfloat16 $(pol $level)
    done
    check "overflow" "skipped" $float16 $(pol 1) precision.initial_loss_scale=1e30 precision.max_loss_scale=1e30
    check "subnormal gradients" "step 5 loss" precision.fp16_type=float16 precision.loss_scaling_factor=1e-6 $(pol 2)
}

# evaluate_formats METRIC: the metric in each format. Only in test-long: the kernels are those of training.
evaluate_formats() {
    [ "${FIRN_TEST_EXHAUSTIVE:-}" = 1 ] || return 0
    evaluate "$1" precision.enabled=false
    evaluate "$1" $float16 precision.precision_opt_level=0
    evaluate "$1" $bfloat16 precision.precision_opt_level=0
    evaluate "$1" $cbfloat16 precision.precision_opt_level=0
}

model=gpt2 recipe=compiler/recipes/small_gpt2.yaml data=$folder/text labels= metric= boards=$gpt2_boards family=gpt2
check_formats
evaluate_formats perplexity
check "subnormal parameters" "step 5 loss" precision.enabled=false model.initializer_range=1e-39
check "NaN that goes on" "step 5 loss nan 0x7fc00000" precision.enabled=false loop.check_loss=false \
    optimizer.AdamW.weight_decay=9e29
check "NaN that stops" "LOSS_NOT_FINITE" precision.enabled=false optimizer.AdamW.weight_decay=9e29

# Rotary positions, at every level and in every format.
family=rotary
rotary="model.position_embedding_type=rotary model.rotary_dim=6"
check "rotary, float32" "step 5 loss" $rotary precision.enabled=false
check "rotary, bfloat16, POL 0" "step 5 loss" $rotary $bfloat16 precision.precision_opt_level=0
check "rotary, float16, dynamic, POL 1" "step 5 loss" $rotary $float16 $(pol 1)
check "rotary, cbfloat16, dynamic, POL 2" "step 5 loss" $rotary model.rope_theta=100 $cbfloat16 $(pol 2)

# LoRA beside frozen weights, which are read from the plan.
family=lora
lora='lora: {layers: "transformer.h.*", rank: 3, alpha: 4, dropout: 0.1}'
check "LoRA, float32" "step 5 loss" precision.enabled=false "fine_tuning={$lora, train: '*.ln_f.*'}"
check "LoRA, bfloat16, POL 2, frozen in bfloat16" "step 5 loss" $bfloat16 $(pol 2) "fine_tuning={$lora, frozen_type: bfloat16}"
check "biases, frozen in float16, float32" "step 5 loss" precision.enabled=false \
    "fine_tuning={bias_only: true, frozen_type: float16}"
# ALiBi, whose slopes are constants of the plan.
family=alibi
alibi="model.position_embedding_type=alibi"
check "ALiBi, float32" "step 5 loss" $alibi precision.enabled=false
check "ALiBi, float16, dynamic, POL 2" "step 5 loss" $alibi $float16 $(pol 2)

# Logits by blocks of rows: 64 rows in two blocks.
family=logit_rows
options="--logit-rows 32 --set trainer.fit.train_dataloader.micro_batch_size=4"
check "logits by blocks, float32" "step 5 loss" precision.enabled=false
[ -z "$taken" ] || "$BUILD/firnc" inspect "$plan" --ops | grep -q ' linear_cross_entropy ' || {
    failures=$((failures + 1))
    echo "$name: the logits are whole"
}
check "logits by blocks, bfloat16, weighted" "step 5 loss" $bfloat16 model.label_smoothing=0.1 model.ignore_index=32
check "logits by blocks, float16, dynamic, POL 2" "step 5 loss" $float16 $(pol 2)
options=

# The other transformers; LLaMA, whose RMS norm and gate the others do not have, in every format.
gpt2=$recipe
for model in gpt3 gptj gpt_neox llama; do
    recipe=compiler/recipes/small_$model.yaml family=$model
    check "bfloat16, POL 1" "step 5 loss" $bfloat16 $(pol 1)
done
check "cbfloat16, dynamic, POL 2" "step 5 loss" $cbfloat16 $(pol 2)
check "float32" "step 5 loss" precision.enabled=false
if [ "${FIRN_TEST_EXHAUSTIVE:-}" = 1 ]; then
    check_formats
    evaluate_formats perplexity
fi
family=bert
model=bert recipe=compiler/recipes/small_bert.yaml
data=tests/golden/transformers_bert.tokens labels=tests/golden/transformers_bert.labels
check "bfloat16, POL 1" "step 5 loss" $bfloat16 $(pol 1)
model=gpt2 recipe=$gpt2 data=$folder/text labels=

family=optimizers
# Every optimizer with its options, parameter groups, and gradients that are scaled and clipped.
groups='params: [{params: "*.bias", weight_decay: 0.5, tags: bias}, {params: "transformer.h.0.*"'
for optimizer in "SGD: {momentum: 0.9" "Adam: {eps: 1.0e-8" "Adam: {amsgrad: true" "AdamW: {amsgrad: true" \
    "Adafactor: {clip_threshold: 0.5" "Lamb: {eps: 1.0e-8" "Lion: {betas: [0.8, 0.9]" "RMSprop: {alpha: 0.9" \
    "RMSprop: {momentum: 0.9" "RMSprop: {centered: true" "RMSprop: {centered: true, momentum: 0.9" \
    "RAdam: {betas: [0.9, 0.5]" "NAdam: {momentum_decay: 0.1" "Adamax: {eps: 1.0e-8" "Adagrad: {lr_decay: 0.1" \
    "Adadelta: {rho: 0.5" "ASGD: {t0: 2" "Muon: {ns_steps: 3"; do
    check "$optimizer}" "step 5 loss" $float16 "optimizer={$optimizer, weight_decay: 0.1, $groups, tags: h}]}}"
done
check "Rprop" "step 5 loss" $bfloat16 "optimizer={Rprop: {step_sizes: [1.0e-5, 0.5], params: [{params: '*.bias', etas: [0.4, 1.5]}]}}"

model=mlp recipe=compiler/recipes/small_mlp.yaml data=$folder/images labels=$folder/labels boards=$mlp_boards family=mlp
check_formats
evaluate_formats accuracy
family=losses
check "silu, weighted cross-entropy" "step 5 loss" $bfloat16 model.nonlinearity=silu model.label_smoothing=0.1 \
    model.ignore_index=3 model.loss_scaling=batch_size model.loss_weight=0.5
check "softplus, nll" "step 5 loss" $float16 model.nonlinearity=softplus model.loss=nll
for value in mean_iou dice mean_per_class_accuracy "{fbeta: {beta: 2.0, average_type: macro, ignore_classes: [2]}}"; do
    evaluate "$value"
done
for value in accuracy perplexity; do
    evaluate "$value" model.nonlinearity=sigmoid model.ignore_index=3
done

model=lenet recipe=compiler/recipes/small_lenet.yaml family=conv
check "float32" "step 5 loss" precision.enabled=false
check "bfloat16, POL 1" "step 5 loss" $bfloat16 $(pol 1) model.pooling=average
check "cbfloat16, dynamic, POL 2" "step 5 loss" $cbfloat16 $(pol 2)
check "LoRA of convolutions, float16" "step 5 loss" precision.fp16_type=float16 \
    "fine_tuning={lora: {layers: [conv2, 'fc*'], rank: 2, alpha: 4}, frozen_type: float16}"
family=depthwise_conv
model=ds_cnn recipe=compiler/recipes/small_ds_cnn.yaml
photo="model.image_height=28 model.image_width=28 model.output_size=10"
check "float32" "step 5 loss" precision.enabled=false $photo model.filters=2
check "float16, dynamic" "step 5 loss" $photo model.filters=3
family=batch_norm
model=autoencoder recipe=compiler/recipes/small_autoencoder.yaml labels= metric=
check "bfloat16" "step 5 loss" model.input_size=784
labels=$folder/labels
model=mlp recipe=compiler/recipes/small_mlp.yaml

family=losses
labels=$folder/targets metric=loss # the recipe's own labels are classes
check "sigmoid, binary cross-entropy" "step 5 loss" precision.enabled=false model.nonlinearity=sigmoid \
    model.loss=binary_cross_entropy_with_logits
check "kl_divergence" "step 5 loss" $cbfloat16 model.loss=kl_divergence model.reduction=batchmean
check "l1" "step 5 loss" $bfloat16 model.loss=l1
check "huber" "step 5 loss" $bfloat16 model.loss=huber model.delta=0.25
check "smooth_l1" "step 5 loss" $bfloat16 model.loss=smooth_l1 model.beta=0.25
evaluate auc model.loss=binary_cross_entropy_with_logits
evaluate mean_squared_error model.loss=l1

# build_plans NAME SOURCE...: a program that writes plans
build_plans() {
    program=$1
    shift
    [ $task = list ] || ${CC:-gcc} -std=c11 -I. "$@" "$BUILD/libfirnc.a" "$BUILD/libsigning.a" "$BUILD/libfirn.a" -lyaml \
        -lcjson -lz -lm -o "$folder/$program"
}

# recurrent_plan UNITS TYPE LEVEL: a plan of all recurrent ops, over four steps of ten samples with 40 features each.
build_plans recurrent_plan tests/end_to_end/recurrent_plan.c tests/unit/support_recurrent.c
recurrent_plan() {
    name="recurrent, $1 units, $2, POL $3"
    plan=$folder/plan
    "$folder/recurrent_plan" "$folder/test.key.pem" "$plan" 10 40 "$@"
}

# sums_plan STEPS UNITS TYPE LEVEL: a plan with attention written out, 40 features in each step.
build_plans sums_plan tests/end_to_end/sums_plan.c
sums_plan() {
    name="attention written out, $1 steps, $2 units, $3, POL $4"
    plan=$folder/plan
    steps=$1
    shift
    "$folder/sums_plan" "$folder/test.key.pem" "$plan" "$steps" 40 "$@"
}

{
    printf '\0\0\010\003\0\0\0\100\0\0\0\012\0\0\0\050'
    head -c $((64 * 400)) "$folder/text"
} >"$folder/rows"
model=recurrent data=$folder/rows labels=$folder/targets metric= family=recurrent
wanted="step 5 loss"
for case in "float32 0" "bfloat16 1" "cbfloat16 2"; do
    next_case small "${case% *}, POL ${case#* }" || continue
    recurrent_plan 6 $case
    compare_places
done
model=sums family=written_out_attention
for case in "float32 0" "bfloat16 1" "cbfloat16 2"; do
    next_case small "${case% *}, POL ${case#* }" || continue
    sums_plan 10 6 $case
    compare_places
done
model=mlp data=$folder/images

# Every kind of schedule in one plan, each with a change within the first twelve steps: a chain of learning rates, and a
# sequence of weight decays.
labels=$folder/labels metric= family=schedules
steps=$STEPS
STEPS=12
chain="{PolynomialLR: {initial_learning_rate: 0.01, end_learning_rate: 0.002, total_iters: 9, power: 1.7}}
    {ExponentialLR: {initial_learning_rate: 1, total_iters: 7, decay_rate: 0.9}}
    {InverseExponentialTimeDecayLR: {initial_learning_rate: 1, step_exponent: 1.3, total_iters: 5, decay_rate: 0.1}}
    {InverseSquareRootDecayLR: {warmup_steps: 3}}
    {CosineDecayLR: {initial_learning_rate: 1, end_learning_rate: 0.5, total_iters: 11}}
    {CosineAnnealingLR: {initial_learning_rate: 1, T_max: 5, eta_min: 0.3}}
    {CosineAnnealingWarmRestarts: {initial_learning_rate: 1, T_0: 4, eta_min: 0.3}}
    {MultiStepLR: {initial_learning_rate: 1, gamma: 1.3, milestones: [3, 8]}}
    {StepLR: {initial_learning_rate: 1, step_size: 3, gamma: 0.9}}
    {MultiplicativeLR: {initial_learning_rate: 1, coefficient: 1.07}}
    {CyclicLR: {base_lr: 0.5, max_lr: 1, step_size_up: 3, step_size_down: 2, mode: exp_range, gamma: 0.9}}
    {OneCycleLR: {initial_learning_rate: 0.5, max_lr: 1, total_steps: 13, final_div_factor: 3}}
    {LambdaLR: {initial_learning_rate: 1, lr_lambda: '1.5 + cos(t / 3) * exp(-t / 5) - 0.25 * sin(t) / sqrt(t + 2) +
    log(t + 1) ** 0.7 / 9'}}
    {LambdaLR: {initial_learning_rate: 1, lr_lambda: [1, 0.9, 1.1, 0.7, 1.2]}}"
decays="{LinearWD: {initial_val: 0, end_val: 0.1, total_iters: 3}}, {PiecewiseConstantWD: {vals: [0.3, 0.1],
    milestones: [2], total_iters: 4}}, {OneCycleWD: {initial_val: 0.05, max_val: 0.2, total_steps: 5, pct_start: 0.45,
    three_phase: true, anneal_strategy: linear}}, {ConstantWD: {val: 0.02}}"
chain=$(echo "$chain" | sed 's/}}$/}},/' | tr -d '\n')
check "every schedule" "step 12 loss" precision.enabled=false loop.num_steps=13 \
    "schedulers=[{ChainedScheduler: {schedulers: [${chain%,}]}}, {SequentialWD: {schedulers: [$(echo $decays)]}}]"
STEPS=$steps

# --- threads ---

# leave_out SET: skips a kernel set that this CPU or build cannot run; an error if FIRN_TEST_SETS lists it.
leave_out() {
    case " ${FIRN_TEST_SETS:-} " in
    *" $1 "*)
        failures=$((failures + 1))
        echo "$name: no set '$1', which FIRN_TEST_SETS asks for"
        ;;
    esac
    echo "skipped for want of a CPU feature: set '$1'"
}

# check_threads NAME [SETTING]...: compares the digests of `firn train` for each kernel set and number of threads.
check_threads() {
    name="$model $1, threads"
    shift
    next_case large "$name" "$@" || return 0
    plan=$folder/plan
    for setting in "$@"; do
        set -- "$@" --set "trainer.$setting"
        shift
    done
    "$BUILD/firnc" compile "$recipe" --mode train --key "$folder/test.key.pem" -o "$plan" "$@" >"$folder/log"
    compare_threads
}

# digest_of PROGRAM SET THREADS: of one step of the current plan, because a build without optimisation is slow
digest_of() {
    FIRN_KERNELS=$2 "$1" train "$plan" --pub "$PUB" --data "$data" ${labels:+--labels "$labels"} --steps 1 --threads "$3" \
        --quiet 2>&1 | grep '^digest ' || true
}

compare_rows_of_threads() {
    digest_of "$BUILD/firn" plain 1 >"$folder/expected"
    rows_of_case >"$folder/places"
    while read -r place set threads; do
        program=$built/$place/firn
        [ "$place" != host ] || program=$BUILD/firn
        digest_of "$program" "$set" "$threads" >"$folder/got" </dev/null
        compared=$((compared + 1))
        if [ ! -s "$folder/got" ] || ! cmp -s "$folder/expected" "$folder/got"; then
            failures=$((failures + 1))
            echo "$name differs on $place with $set and $threads threads"
        fi
    done <"$folder/places"
}

# The same for the current plan, which is called $name.
compare_threads() {
    : >"$folder/expected"
    if [ $task = rows ]; then
        compare_rows_of_threads
        return
    fi
    for kernels in $sets; do
        for threads in 1 2 3 8; do
            FIRN_KERNELS=$kernels "$BUILD/firn" train "$plan" --pub "$PUB" --data "$data" \
                ${labels:+--labels "$labels"} --steps 3 --threads $threads --quiet >"$folder/out" 2>&1 || true
            if grep -q KERNELS_UNKNOWN "$folder/out"; then
                leave_out $kernels
                break
            fi
            grep '^digest ' "$folder/out" >"$folder/got" || true
            [ -s "$folder/expected" ] || cp "$folder/got" "$folder/expected"
            compared=$((compared + 1))
            if [ ! -s "$folder/got" ] || ! cmp -s "$folder/expected" "$folder/got"; then
                failures=$((failures + 1))
                echo "$name differs with $kernels and $threads threads"
            fi
        done
    done
}

large="fit.train_dataloader.batch_size=24 fit.train_dataloader.micro_batch_size=12 init.model.hidden_size=48 init.model.filter_size=192"
model=gpt2 recipe=compiler/recipes/small_gpt2.yaml data=$folder/text labels= metric= family=gpt2
check_threads "float32" $large init.precision.enabled=false
check_threads "bfloat16" $large init.precision.fp16_type=bfloat16
check_threads "float16, POL 2" $large init.precision.fp16_type=float16 init.precision.loss_scaling_factor=dynamic \
    init.precision.precision_opt_level=2 init.precision.pol_lowering=emulate
family=rotary
check_threads "rotary, bfloat16" $large init.precision.fp16_type=bfloat16 init.model.position_embedding_type=rotary \
    init.model.rotary_dim=20
family=alibi
check_threads "ALiBi, float16" $large init.precision.fp16_type=float16 init.model.position_embedding_type=alibi
model=mlp recipe=compiler/recipes/small_mlp.yaml data=$folder/images labels=$folder/labels family=mlp
check_threads "float32" fit.train_dataloader.batch_size=48 'init.model.hidden_sizes=[300,300]' init.precision.enabled=false
model=lenet recipe=compiler/recipes/lenet.yaml family=conv
check_threads "float32" fit.train_dataloader.batch_size=24 init.precision.enabled=false
check_threads "bfloat16, POL 2" fit.train_dataloader.batch_size=24 init.precision.precision_opt_level=2 \
    init.precision.pol_lowering=emulate
model=resnet8 recipe=compiler/recipes/resnet8.yaml family=batch_norm
check_threads "float32" fit.train_dataloader.batch_size=16 init.precision.enabled=false init.model.image_height=28 \
    init.model.image_width=28 init.model.image_channels=1

model=recurrent data=$folder/rows labels=$folder/targets family=recurrent
for case in "float32 0" "float16 0" "bfloat16 2"; do
    next_case large "${case% *}, POL ${case#* }" || continue
    recurrent_plan 40 $case
    compare_threads
done

model=sums data=$folder/rows labels=$folder/targets family=written_out_attention
for case in "float32 0" "float16 0" "bfloat16 2"; do
    next_case large "${case% *}, POL ${case#* }" || continue
    sums_plan 10 70 $case
    compare_threads
done

[ $task != list ] || exit 0
echo "$compared runs compared, $failures differ"
[ $failures -eq 0 ] && [ $compared -gt 0 ]
