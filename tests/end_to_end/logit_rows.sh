#!/bin/sh
# Logits by blocks of rows change no bit: a plan compiled with --logit-rows N and one with whole logits train to the same
# digest, in each type, kind of sum and kernel set, with one thread and three. Where the op cannot stand for a step, the
# plan is the same file. Large logits are divided without being asked for, and the arena becomes smaller.
set -eu

. tests/end_to_end/expectations
checked=0

"$FIRNC" keygen "$folder/test" >"$folder/out"
text=/usr/share/common-licenses/GPL-3
recipe=tests/end_to_end/gpt2_training.yaml
case $(uname -m) in
aarch64) sets="plain neon" ;;
*) sets="plain fma avx2 avx512 avx512fp16 avx512bf16 amx" ;;
esac

# compile PLAN OPTIONS SETTING...: settings are relative to trainer
compile() {
    plan=$1
    given=$2
    shift 2
    for setting in "$@"; do
        set -- "$@" --set "trainer.$setting"
        shift
    done
    "$FIRNC" compile $recipe --mode train --key "$folder/test.key.pem" -o "$plan" $given "$@" >"$folder/out" 2>&1 ||
        fail "$name does not compile"
}

# has_op PLAN
has_op() {
    "$FIRNC" inspect "$1" --ops | grep -q ' linear_cross_entropy '
}

# arena PLAN
arena() {
    "$FIRNC" inspect "$1" --json | sed -n 's/^.*"plan_arena_bytes":[[:space:]]*\([0-9]*\).*$/\1/p'
}

# digests PLAN: those of each kernel set and number of threads, each once
digests() {
    for set in $sets; do
        for threads in 1 3; do
            FIRN_KERNELS=$set "$FIRN" train "$1" --pub "$folder/test.pub.pem" --data "$text" --steps 4 --threads $threads \
                --quiet 2>"$folder/err" | grep '^digest ' || grep -q 'FIRN_KERNELS' "$folder/err" ||
                echo "$set with $threads threads fails"
        done
    done | sort -u
}

# same NAME ROWS OPTIONS SETTING...
same() {
    name=$1
    rows=$2
    options=$3
    shift 3
    checked=$((checked + 1))
    takes_next || return 0
    compile "$folder/whole" "--logit-rows 0 $options" "$@"
    compile "$folder/blocks" "--logit-rows $rows $options" "$@"
    has_op "$folder/blocks" || fail "$name: the logits are whole"
    whole=$(digests "$folder/whole")
    blocks=$(digests "$folder/blocks")
    [ "$(echo "$whole" | wc -l)" -eq 1 ] && [ "$whole" = "$blocks" ] || fail "$name: $whole whole, $blocks by blocks"
}

# unchanged NAME SETTING...: the op cannot stand for this
unchanged() {
    name=$1
    shift
    checked=$((checked + 1))
    takes_next || return 0
    compile "$folder/whole" "--logit-rows 0" "$@"
    compile "$folder/blocks" "--logit-rows 32" "$@"
    cmp -s "$folder/whole" "$folder/blocks" || fail "$name: another plan"
    grep -q 'warning: --logit-rows: 32 changes nothing: the logits have' "$folder/out" || fail "$name: no warning"
}

precision=init.precision
loader=fit.train_dataloader
float32=$precision.enabled=false
large="$loader.batch_size=20 $loader.micro_batch_size=20"

# --- types, kinds of sums, losses, scales ---------------------------------------------------------------------------------

same "float32" 32 "" $float32
same "float32, not clipped" 32 "" $float32 $precision.max_gradient_norm=null
same "float32, an output layer of its own" 32 "" $float32 init.model.share_embedding_weights=false $large
same "float32, two micro-batches" 32 "" $float32 $loader.batch_size=8 $loader.micro_batch_size=4
same "float32, two micro-batches, ignored tokens" 32 "" $float32 $loader.batch_size=8 $loader.micro_batch_size=4 \
    init.model.ignore_index=32
same "float32, weighted" 32 "" $float32 init.model.label_smoothing=0.1 init.model.ignore_index=32
same "float32, weighted by the batch" 64 "" $float32 init.model.loss_scaling=batch_size init.model.loss_weight=0.5 $large
for gradients in half float32; do
    same "bfloat16, $gradients gradients" 32 "" $precision.gradient_type=$gradients
    for target in amx-bf16 avx512-bf16; do
        same "bfloat16, $gradients gradients, $target" 32 "--target $target" $precision.gradient_type=$gradients $large
    done
done
for type in float16 bfloat16 cbfloat16; do
    for level in 1 2; do
        same "$type, chunks of POL $level" 32 "" $precision.fp16_type=$type $precision.pol_lowering=emulate \
            $precision.precision_opt_level=$level $large
    done
done
same "float16, a dynamic scale" 32 "" $precision.fp16_type=float16 $precision.loss_scaling_factor=dynamic $large

# --- what inspect says --------------------------------------------------------------------------------------------------------

name="the levels of both directions"
compile "$folder/plan" "--logit-rows 32" $precision.fp16_type=bfloat16 $precision.pol_lowering=emulate \
    "$precision.pol=[{pattern: lm_head, level: 1, enable_bwd: false}]" $precision.precision_opt_level=0 $large
"$FIRNC" inspect "$folder/plan" --ops --unfolded | grep ' linear_cross_entropy ' >"$folder/out"
grep 'lm_head  POL forward 1 (pattern), backward 0 (global) -> forward chunked' "$folder/out" |
    grep -q 'to bfloat16; backward f32 to bfloat16; backward f32 to float32' || fail "$name: another line"

# --- what stays whole -------------------------------------------------------------------------------------------------------

unchanged "a frozen output layer" $float32 "init.fine_tuning={bias_only: true}"
unchanged "no more rows than a block has" $float32 $loader.batch_size=2 $loader.micro_batch_size=2
compile "$folder/default" "" $float32
compile "$folder/whole" "--logit-rows 0" $float32
! grep -q warning "$folder/out" || fail "a warning of whole logits that were asked for"
cmp -s "$folder/default" "$folder/whole" || fail "small logits are divided without being asked for"

compile "$folder/one" "--logit-rows 1" $float32
! grep -q warning "$folder/out" || fail "a warning of blocks"
compile "$folder/unit" "--logit-rows 32" $float32
cmp -s "$folder/one" "$folder/unit" || fail "1 row is not rounded up to 32"
"$FIRNC" help compile | tr -s ' \n' ' ' | grep -q 'rounded up to a multiple of 32' || fail "the help does not say so"

# --- large logits -------------------------------------------------------------------------------------------------------------

name="large logits"
many="init.model.vocab_size=8192 $loader.batch_size=64 $loader.micro_batch_size=64"
compile "$folder/default" "" $float32 $many
compile "$folder/whole" "--logit-rows 0" $float32 $many
compile "$folder/blocks" "--logit-rows 512" $float32 $many
cmp -s "$folder/default" "$folder/blocks" || fail "$name: not blocks of 512 rows"
[ "$(arena "$folder/default")" -lt $(($(arena "$folder/whole") - 8000000)) ] || fail "$name: the arena is not smaller"

"$FIRNC" compile $recipe --mode eval --key "$folder/test.key.pem" -o "$folder/plan" --logit-rows 32 >"$folder/out" 2>&1
grep -q 'logit-rows: 32 changes nothing: an evaluation' "$folder/out" || fail "no warning of an evaluation"
expect "--logit-rows few" 2 "few is not a number of rows" "$FIRNC" compile $recipe --mode train --key "$folder/test.key.pem" \
    -o "$folder/plan" --logit-rows few

echo "$checked plans, $failures failures"
[ $failures -eq 0 ] && [ $checked -ge 20 ]
