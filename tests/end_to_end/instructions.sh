#!/bin/sh
# The instructions of a step of the small network (runtime/targets/count/mlp.yaml), which an emulator counts exactly, do
# not grow: each bound is the number at the time of writing and 2 %. A half type may cost 1.6 times float32 on a core that
# converts it, 2.5 times elsewhere.
set -eu

. tests/end_to_end/expectations

HALF='trainer.init.precision.enabled=true trainer.init.precision.loss_scaling_factor=1.0'

# count TARGET [VARIABLE...]: sets $steps to the instructions of a step.
count() {
    make -s --no-print-directory BUILD="$BUILD" emulate-count TARGET="$@" >"$folder/out" 2>"$folder/err" </dev/null ||
        fail "make emulate-count TARGET=$*"
    steps=$(awk '/^firn_train_step/ { print $2 }' "$folder/out")
    steps=${steps:-999999999}
}

# at_most BOUND WHAT: compares $steps.
at_most() {
    echo "$2: $steps, at most $1"
    [ "$steps" -le "$1" ] || fail "$2: $steps instructions, more than $1"
}

count cortex-m7
m7=$steps
at_most 197000 'cortex-m7, float32'
count cortex-m7 PREPARED=1
at_most 179300 'cortex-m7, float32, prepared'
count cortex-m7 PREPARED=1 SET=trainer.fit.train_dataloader.batch_size=1
at_most 57700 'cortex-m7, float32, batch 1, prepared'
count rv32
rv32=$steps
at_most $((m7 * 110 / 100)) 'rv32, float32'
for type in float16 bfloat16; do
    count cortex-m7 SET="$HALF trainer.init.precision.fp16_type=$type"
    at_most $((m7 * 160 / 100)) "cortex-m7, $type"
    count rv32 SET="$HALF trainer.init.precision.fp16_type=$type"
    at_most $((rv32 * 250 / 100)) "rv32, $type"
done

[ $failures -eq 0 ]
