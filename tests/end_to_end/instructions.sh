#!/bin/sh
# The instructions of a step of the small network (runtime/targets/count/mlp.yaml), which an emulator counts exactly, do
# not grow: each bound of a Cortex-M7 is the number at the time of writing and 2 %, and rv32 may take 10 % more. A half type
# may cost 1.6 times float32 on a core that converts it, 2.5 times elsewhere. The library with FIRN_FAST=1 is as quick.
#
# Needs: boards
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

# bound BOUND WHAT [VARIABLE...]: a step of a Cortex-M7 takes at most so many.
bound() {
    most=$1
    what=$2
    shift 2
    takes_next || return 0
    count cortex-m7 "$@"
    at_most "$most" "cortex-m7, $what"
}

bound 160400 'float32, prepared' PREPARED=1
bound 42500 'float32, batch 1, prepared' PREPARED=1 SET=trainer.fit.train_dataloader.batch_size=1
bound 54700 'float32, batch 1' SET=trainer.fit.train_dataloader.batch_size=1
bound 171100 'float32, full-fast' LIBRARY=full-fast
bound 175000 'float32, sealed-fast-lto' LIBRARY=sealed-fast-lto
count cortex-m7
m7=$steps
at_most 171100 'cortex-m7, float32'
for target in cortex-m7 cortex-m4f cortex-m33 rv32; do
    takes_next || continue
    most=160
    count $target
    single=$steps
    if [ $target = rv32 ]; then
        most=250
        at_most $((m7 * 110 / 100)) 'rv32, float32'
    fi
    for type in float16 bfloat16; do
        count $target SET="$HALF trainer.init.precision.fp16_type=$type"
        at_most $((single * most / 100)) "$target, $type"
    done
done

[ $failures -eq 0 ]
