#!/bin/sh
# A firmware that is linked with the parts of its plans, full or sealed, runs them with the bits of this machine, and
# refuses a plan that needs a part which it does not have, whatever part that is.
#
# Needs: boards
set -eu

. tests/end_to_end/expectations

"$BUILD/firnc" keygen "$folder/test" >"$folder/log"
PUB=$folder/test.pub.pem
# 64 records of 64 bytes and their classes, as IDX.
{ printf '\0\0\010\002\0\0\0\100\0\0\0\100' && head -c 4096 /usr/share/common-licenses/GPL-3; } >"$folder/data"
{ printf '\0\0\010\001\0\0\0\100' && yes 0123456 | tr -d '\n' | head -c 64 | tr 0-6 '\0-\006'; } >"$folder/labels"

# make_plan NAME MODE [SETTING...]: a plan of the network of the size table, for $target
target=portable
make_plan() {
    name=$1
    mode=$2
    shift 2
    for setting in "$@"; do
        set -- "$@" --set "$setting"
        shift
    done
    "$BUILD/firnc" compile runtime/targets/size.yaml --mode "$mode" --target "$target" --key "$folder/test.key.pem" -o "$folder/$name" "$@" \
        >"$folder/log" || fail "$name: not compiled: $(cat "$folder/log")"
}
make_plan train train
make_plan eval eval
make_plan op train trainer.init.model.nonlinearity=tanh
make_plan schedule train 'trainer.init.schedulers=[{LinearLR: {initial_learning_rate: 0.1, end_learning_rate: 0.0, total_iters: 10}}]'
make_plan half train trainer.init.precision.enabled=true
target=amx-bf16
make_plan engine train trainer.init.precision.enabled=true trainer.init.precision.fp16_type=bfloat16
target=portable
"$BUILD/firnc" compile compiler/recipes/small_lenet.yaml --mode train --target amx-bf16 --key "$folder/test.key.pem" -o "$folder/images" \
    --set trainer.init.precision.fp16_type=bfloat16 >"$folder/log" || fail "images: not compiled: $(cat "$folder/log")"
make_plan held_out train trainer.fit.train_dataloader.held_out_per_mille=200
make_plan outputs train 'trainer.fit.outputs=[logits]'
make_plan rings train trainer.fit.train_dataloader.source=push trainer.fit.train_dataloader.ring=64
make_plan clips train trainer.init.precision.max_gradient_norm=1.0
make_plan counts train trainer.init.model.ignore_index=3 trainer.fit.train_dataloader.micro_batch_size=4
make_plan tree train trainer.init.loop.micro_batch_order=tree trainer.fit.train_dataloader.micro_batch_size=2

# --- what export writes ---

# refused STATUS PATTERN COMMAND...
refused() {
    wanted=$1
    pattern=$2
    shift 2
    status=0
    "$@" >"$folder/got" 2>&1 || status=$?
    [ "$status" -eq "$wanted" ] && grep -q "$pattern" "$folder/got" ||
        fail "$*: exit $status, not $wanted, or no line has '$pattern': $(cat "$folder/got")"
}
"$BUILD/firnc" export "$folder/train" --c -o "$folder/parts.c"
"$BUILD/firnc" export "$folder/train" --c | cmp -s - "$folder/parts.c" || fail "a file and standard output differ"
! grep -q tanh "$folder/parts.c" || fail "a part that no op needs"
"$BUILD/firnc" export "$folder/train" --c --with "$folder/op" | grep -q 'firn_kernel_tanh}' || fail "the parts of two plans"
"$BUILD/firnc" export "$folder/train" --c --copy-plan | diff - "$folder/parts.c" >"$folder/got" || true
[ "$(grep '^<' "$folder/got")" = '< const firn_plan_copy firn_plan_copier = firn_copy_plan;' ] || fail "the copy of a plan"
"$BUILD/firnc" export "$folder/train" --c --parallel | diff - "$folder/parts.c" >"$folder/got" || true
[ "$(grep '^<' "$folder/got")" = '< const bool firn_has_threads = true;' ] || fail "the threads of a port"
for option in --copy-plan --parallel; do
    refused 2 "export: $option: only with --c" "$BUILD/firnc" export "$folder/train" --array $option
    refused 2 "export: $option: only with the parts of plans" "$BUILD/firnc" export "$PUB" --c $option
done
# A table of which nothing is needed is not there.
for table in schedule half metric; do
    grep -q "firn_${table}_parts = 0;" "$folder/parts.c" || fail "a table of parts that the plan does not need: $table"
done
"$BUILD/firnc" export "$folder/schedule" --c | grep -q 'firn_schedule_parts = schedules;' || fail "no table of schedules"
"$BUILD/firnc" export "$folder/half" --c | grep -q 'firn_half_parts = halves;' || fail "no table of half types"
"$BUILD/firnc" export "$folder/eval" --c | grep -q 'firn_metric_parts = metrics;' || fail "no table of metrics"
# The sums of matrix engines, of matrix products and of convolutions.
flushed_of() {
    "$BUILD/firnc" export "$folder/$1" --c | grep -o 'firn_[a-z]*_flushed = .*' | tr '\n' ' '
}
[ "$(flushed_of half)" = 'firn_product_flushed = 0; firn_sums_flushed = 0; ' ] || fail "sums of engines: $(flushed_of half)"
[ "$(flushed_of engine)" = 'firn_product_flushed = firn_product_tile_flushed; firn_sums_flushed = 0; ' ] ||
    fail "sums of products: $(flushed_of engine)"
[ "$(flushed_of images)" = 'firn_product_flushed = firn_product_tile_flushed; firn_sums_flushed = &firn_sums_part_flushed; ' ] ||
    fail "sums of convolutions: $(flushed_of images)"
# The semantic rules that the plan named needs, and no others.
rules_of() {
    "$BUILD/firnc" export "$folder/$1" --c | sed -n 's/^const firn_rule_parts firn_semantics_parts = //p'
}
[ "$(rules_of train)" = '{.metric = 0, .output = 0, .rings = 0, .gathered = 0, .batch = 0, .tree = 0};' ] || fail "the rules of train: $(rules_of train)"
[ "$(rules_of eval)" = '{.metric = firn_semantics_check_metric, .output = 0, .rings = 0, .gathered = 0, .batch = 0, .tree = 0};' ] || fail "the rules of eval: $(rules_of eval)"
[ "$(rules_of outputs)" = '{.metric = 0, .output = firn_semantics_is_output, .rings = 0, .gathered = 0, .batch = 0, .tree = 0};' ] || fail "the rules of outputs: $(rules_of outputs)"
[ "$(rules_of rings)" = '{.metric = 0, .output = 0, .rings = firn_semantics_are_rings, .gathered = 0, .batch = 0, .tree = 0};' ] || fail "the rules of rings: $(rules_of rings)"
[ "$(rules_of clips)" = '{.metric = 0, .output = 0, .rings = 0, .gathered = firn_semantics_is_gathered, .batch = 0, .tree = 0};' ] || fail "the rules of clips: $(rules_of clips)"
[ "$(rules_of counts)" = '{.metric = 0, .output = 0, .rings = 0, .gathered = 0, .batch = firn_semantics_counts_batch, .tree = 0};' ] || fail "the rules of counts: $(rules_of counts)"
[ "$(rules_of tree)" = '{.metric = 0, .output = 0, .rings = 0, .gathered = 0, .batch = 0, .tree = firn_semantics_is_tree};' ] || fail "the rules of tree: $(rules_of tree)"
for plan in train counts; do
    batch=$("$BUILD/firnc" export "$folder/$plan" --c | sed -n 's/^const firn_batch_part \*const firn_batch = //p')
    [ "$plan $batch" = "train 0;" ] || [ "$plan $batch" = "counts &firn_batch_divisors;" ] || fail "the divisors of $plan: $batch"
done
refused 2 'add one of the five' "$BUILD/firnc" export "$folder/train"
refused 1 'none' "$BUILD/firnc" export "$folder/none" --c
refused 3 'refused' "$BUILD/firnc" export "$folder/data" --c
refused 2 'would replace' "$BUILD/firnc" export "$folder/train" --c -o "$folder/train"

# --- what is linked with it ---

"$BUILD/firn" train "$folder/train" --pub "$PUB" --data "$folder/data" --labels "$folder/labels" --steps 4 --quiet \
    --checkpoint "$folder/host" >"$folder/log"
wanted=$("$BUILD/firn" digest "$folder/host" | grep -o '[0-9a-f]\{64\}' | head -n 1)
digest_of() {
    "$BUILD/firn" train "$folder/$1" --pub "$PUB" --data "$folder/data" --labels "$folder/labels" --steps 4 --quiet |
        grep -o '[0-9a-f]\{64\}'
}
for sealed in 0 1; do
    link() {
        make -s --no-print-directory BUILD="$BUILD" parts-runner TARGET=cortex-m7 FIRN_SEALED=$sealed PLANS="$2" PARTS="$1" \
            PUB="$PUB" </dev/null
    }
    run() {
        env PLAN="$1" PUB="$PUB" DATA="$folder/data" LABELS="$folder/labels" STEPS=4 \
            runtime/targets/emulated/run cortex-m7 "$program"
    }
    # The plan that trains, and the one that evaluates beside it.
    program=$(link both "$folder/train $folder/eval")
    env PLAN="$folder/eval" PUB="$PUB" DATA="$folder/data" LABELS="$folder/labels" STEPS=1 CHECKPOINT="$folder/host" \
        runtime/targets/emulated/run cortex-m7 "$program" >"$folder/got" 2>&1 ||
        fail "sealed $sealed, eval: $(cat "$folder/got")"
    grep -q '^result ' "$folder/got" || fail "sealed $sealed, eval: no result: $(cat "$folder/got")"
    for plan in counts tree; do
        digest=$(digest_of $plan)
        program=$(link $plan "$folder/$plan")
        run "$folder/$plan" >"$folder/got" 2>&1 || fail "sealed $sealed, $plan: $(cat "$folder/got")"
        grep -q "$digest" "$folder/got" || fail "sealed $sealed, $plan: not the digest $digest: $(cat "$folder/got")"
    done
    program=$(link train "$folder/train")
    run "$folder/train" >"$folder/got" 2>&1 || fail "sealed $sealed: $(cat "$folder/got")"
    grep -q "$wanted" "$folder/got" || fail "sealed $sealed: not the digest $wanted: $(cat "$folder/got")"
    refused 3 'OP_UNKNOWN\|^KERNEL_MISSING' run "$folder/counts"
    refused 3 'OP_UNKNOWN\|^KERNEL_MISSING' run "$folder/tree"
    unknown=OP_UNKNOWN
    [ $sealed -eq 0 ] || unknown=KERNEL_MISSING
    refused 3 "^$unknown" run "$folder/op"
    refused 3 '^KERNEL_MISSING' run "$folder/schedule"
    refused 3 '^KERNEL_MISSING' run "$folder/held_out"
    refused 3 "^$unknown" run "$folder/eval"
    # Rules that a sealed build does not have.
    [ $sealed -eq 1 ] || refused 3 '^KERNEL_MISSING' run "$folder/outputs"
    [ $sealed -eq 1 ] || refused 3 '^KERNEL_MISSING' run "$folder/rings"
    refused 3 'OP_UNKNOWN\|^KERNEL_MISSING' run "$folder/half"
    # a byte of the header, of the signature, of the payload
    for at in 150 540 1000; do
        cp "$folder/train" "$folder/damaged"
        byte=$(od -A n -t u1 -j $at -N 1 "$folder/damaged" | tr -d ' ')
        printf "\\$(printf %03o $((byte ^ 1)))" | dd of="$folder/damaged" bs=1 seek=$at conv=notrunc 2>"$folder/log"
        refused 3 '^[A-Z_]*: ' run "$folder/damaged"
    done
done

[ $failures -eq 0 ]
