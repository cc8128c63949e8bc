#!/bin/sh
# Products that round float32 weights as they read them change no bit: plans compiled with --weight-copies always and never
# train and evaluate to the same digests and values, in each half type, kind of sum and kernel set, with one thread and
# three, and on emulated cores. Large copies are left out without being asked for, and the arena becomes smaller.
#
# Needs: boards
set -eu

. tests/end_to_end/expectations
checked=0

"$FIRNC" keygen "$folder/test" >"$folder/out"
text=/usr/share/common-licenses/GPL-3
recipe=tests/end_to_end/gpt2_training.yaml
case $(uname -m) in
aarch64) sets="plain neon" ;;
*) sets="plain avx2 avx512 avx512fp16 avx512bf16 amx" ;;
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
    case $given in *--mode*) ;; *) given="--mode train $given" ;; esac
    # The options are split into words intentionally.
    "$FIRNC" compile $recipe --key "$folder/test.key.pem" -o "$plan" $given "$@" >"$folder/out" 2>&1 ||
        fail "$name does not compile"
}

# total PLAN NAME: a number of firnc inspect
total() {
    "$FIRNC" inspect "$1" --json | sed -n "s/^.*\"$2\":[[:space:]]*\([0-9]*\).*\$/\1/p"
}

# digests PLAN: those of each kernel set and number of threads, each once
digests() {
    for set in $sets; do
        for threads in 1 3; do
            FIRN_KERNELS=$set "$FIRN" train "$1" --pub "$folder/test.pub.pem" --data "$text" --steps 3 --threads $threads \
                --quiet 2>"$folder/err" | grep '^digest ' || grep -q 'FIRN_KERNELS' "$folder/err" ||
                echo "$set with $threads threads fails"
        done
    done | sort -u
}

# same NAME OPTIONS SETTING...
same() {
    name=$1
    options=$2
    shift 2
    checked=$((checked + 1))
    takes_next || return 0
    compile "$folder/always" "--weight-copies always $options" "$@"
    compile "$folder/never" "--weight-copies never $options" "$@"
    ! grep -q 'weight-copies: never changes nothing' "$folder/out" || fail "$name: a warning"
    [ "$(total "$folder/always" rounded_weights)" -eq 0 ] || fail "$name: always, and a weight has no copy"
    [ "$(total "$folder/never" rounded_weights)" -gt 0 ] || fail "$name: never, and every weight has a copy"
    [ "$(total "$folder/never" plan_arena_bytes)" -lt "$(total "$folder/always" plan_arena_bytes)" ] ||
        fail "$name: the arena is not smaller"
    always=$(digests "$folder/always")
    never=$(digests "$folder/never")
    [ "$(echo "$always" | wc -l)" -eq 1 ] && [ "$always" = "$never" ] || fail "$name: $always with copies, $never without"
}

precision=init.precision
loader=fit.train_dataloader
own=init.model.share_embedding_weights=false
unclipped=$precision.max_gradient_norm=null

for type in float16 bfloat16 cbfloat16; do
    same "$type" "" $precision.fp16_type=$type
    same "$type, early updates, logits by blocks" "--logit-rows 32" $precision.fp16_type=$type $unclipped $own
    for level in 1 2; do
        same "$type, chunks of POL $level" "--logit-rows 32" $precision.fp16_type=$type $precision.pol_lowering=emulate \
            $precision.precision_opt_level=$level
    done
done
for target in amx-bf16 avx512-bf16; do
    same "bfloat16, $target" "--target $target" $precision.fp16_type=bfloat16 $unclipped
    same "bfloat16, $target, logits by blocks" "--target $target --logit-rows 32" $precision.fp16_type=bfloat16
done
same "two micro-batches" "" $precision.fp16_type=bfloat16 $loader.batch_size=8 $loader.micro_batch_size=4
same "LoRA" "" $precision.fp16_type=bfloat16 "init.fine_tuning={lora: {layers: 'transformer.h.*', rank: 4, alpha: 6}}"
same "frozen weights in float32" "" $precision.fp16_type=bfloat16 "init.fine_tuning={bias_only: true}"
same "layers in float32" "" $precision.fp16_type=bfloat16 "$precision.float32_layers=['transformer.h.0.*']"

# --- what stays as it was -----------------------------------------------------------------------------------------------------

name="frozen weights stored as halves"
compile "$folder/always" "--weight-copies always" $precision.fp16_type=bfloat16 \
    "init.fine_tuning={bias_only: true, frozen_type: half}" "init.model.share_embedding_weights=false"
compile "$folder/never" "--weight-copies never" $precision.fp16_type=bfloat16 \
    "init.fine_tuning={bias_only: true, frozen_type: half}" "init.model.share_embedding_weights=false"
[ "$(digests "$folder/always")" = "$(digests "$folder/never")" ] || fail "$name: other digests"
name="float32"
compile "$folder/always" "--weight-copies always" $precision.enabled=false
grep -q 'warning: --weight-copies: always changes nothing: ' "$folder/out" || fail "$name: always, and no warning"
compile "$folder/never" "--weight-copies never" $precision.enabled=false
grep -q 'warning: --weight-copies: never changes nothing: ' "$folder/out" || fail "$name: no warning"
cmp -s "$folder/always" "$folder/never" || fail "$name: another plan"
name="small copies"
compile "$folder/always" "--weight-copies always" $precision.fp16_type=bfloat16
compile "$folder/auto" "" $precision.fp16_type=bfloat16
cmp -s "$folder/always" "$folder/auto" || fail "$name: left out without being asked for"

# --- large copies ---------------------------------------------------------------------------------------------------------------

name="large copies"
many="init.model.vocab_size=131072 $precision.fp16_type=bfloat16 $loader.batch_size=2 $loader.micro_batch_size=2"
compile "$folder/always" "--weight-copies always" $many init.model.hidden_size=72 init.model.num_heads=4
compile "$folder/auto" "" $many init.model.hidden_size=72 init.model.num_heads=4
[ "$(total "$folder/auto" rounded_weights)" -gt 9000000 ] || fail "$name: not left out"
[ "$(total "$folder/auto" plan_arena_bytes)" -lt "$(total "$folder/always" plan_arena_bytes)" ] ||
    fail "$name: the arena is not smaller"
"$FIRNC" inspect "$folder/auto" --memory | grep -q 'rounded weights .* no half copy' || fail "$name: inspect does not say so"

# --- an evaluation ----------------------------------------------------------------------------------------------------------------

name="an evaluation"
compile "$folder/train" "" $precision.fp16_type=bfloat16
"$FIRN" train "$folder/train" --pub "$folder/test.pub.pem" --data "$text" --steps 2 --quiet --checkpoint "$folder/trained" \
    >"$folder/out"
for copies in always never; do
    compile "$folder/eval" "--mode eval --weight-copies $copies" $precision.fp16_type=bfloat16
    "$FIRN" eval "$folder/eval" --pub "$folder/test.pub.pem" --data "$text" --checkpoint "$folder/trained" \
        >"$folder/$copies.value" || fail "$name fails"
done
grep -v 'plan hash' "$folder/always.value" >"$folder/value"
grep -v 'plan hash' "$folder/never.value" | cmp -s - "$folder/value" || fail "$name: other values"

# --- cores without vectors ----------------------------------------------------------------------------------------------------------

name="emulated cores"
for copies in always never; do
    compile "$folder/$copies" "--weight-copies $copies" $precision.fp16_type=bfloat16 $unclipped
done
wanted=$("$FIRN" train "$folder/always" --pub "$folder/test.pub.pem" --data "$text" --steps 2 --quiet | grep '^digest ')
for target in cortex-m7 rv32; do
    checked=$((checked + 1))
    takes_next || continue
    make -s --no-print-directory BUILD="$BUILD" emulate TARGET=$target PLAN="$folder/never" PUB="$folder/test.pub.pem" \
        DATA="$text" STEPS=2 </dev/null >"$folder/out" || fail "$target fails"
    grep -qF "${wanted#digest }" "$folder/out" || fail "$target: not $wanted"
done

expect "--weight-copies some" 2 "some is not known; write auto, always or never" "$FIRNC" compile $recipe --mode train \
    --key "$folder/test.key.pem" -o "$folder/plan" --weight-copies some

echo "$checked plans, $failures failures"
[ $failures -eq 0 ] && [ $checked -ge 22 ]
