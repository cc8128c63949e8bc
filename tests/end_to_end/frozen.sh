#!/bin/sh
# A loaded plan cannot change: a write to it faults, a second load is refused, and a plan of one mode does not run in
# the other, on the host and on every emulated board, by the MPU (v6-M code on a v7-M board, v7-M, v8-M) or the PMP.
#
# Needs: runner boards
set -eu

. tests/end_to_end/expectations

# expect NAME STATUS PATTERN COMMAND...: the command exits with that status and prints a line that matches the pattern.
expect() {
    name=$1
    wanted=$2
    pattern=$3
    shift 3
    status=0
    "$@" >"$folder/got" 2>&1 </dev/null || status=$?
    [ "$status" -eq "$wanted" ] || fail "$name: exit $status, not $wanted"
    grep -q "$pattern" "$folder/got" || fail "$name: no line has '$pattern'"
}

"$BUILD/firnc" keygen "$folder/test" >"$folder/log"
PUB=$folder/test.pub.pem
DATA=/usr/share/common-licenses/GPL-3
for mode in train eval; do
    "$BUILD/firnc" compile compiler/recipes/small_gpt2.yaml --mode $mode --key "$folder/test.key.pem" \
        -o "$folder/$mode.plan" >>"$folder/log"
done
"$BUILD/firn" train "$folder/train.plan" --pub "$PUB" --data $DATA --steps 2 --quiet --checkpoint "$folder/checkpoint" \
    >"$folder/log"

# Calls the runner of a target directly, because `make emulate` returns make's exit status.
. tests/end_to_end/targets
for target in host $targets; do
    [ $target = host ] || takes_next || continue
    program=$BUILD/runner
    if [ $target != host ]; then
        program=$(make -s --no-print-directory BUILD="$BUILD" emulator TARGET=$target PUB="$PUB")
    fi
    run() {
        env PLAN="$1" PUB="$PUB" DATA=$DATA STEPS=1 TRY="$2" CHECKPOINT="$3" RESUME="$4" \
            runtime/targets/emulated/run $target "$program"
    }
    expect "$target: a write to the plan" 0 "^fault: write to the plan refused" run "$folder/train.plan" write-plan "" ""
    expect "$target: a second load" 3 "^ALREADY_PROGRAMMED" run "$folder/train.plan" second-open "" ""
    expect "$target: an eval plan" 0 "^result " run "$folder/eval.plan" "" "$folder/checkpoint" ""

    # Every kind of damage that the target can detect: a byte of the header, the signature or the payload. It does not
    # read the report.
    for at in 0 150 540 1000; do
        cp "$folder/train.plan" "$folder/damaged"
        byte=$(od -A n -t u1 -j $at -N 1 "$folder/damaged" | tr -d ' ')
        printf "\\$(printf %03o $((byte ^ 1)))" | dd of="$folder/damaged" bs=1 seek=$at conv=notrunc 2>"$folder/log"
        expect "$target: byte $at flipped" 3 "^[A-Z_]*: " run "$folder/damaged" "" "" ""
    done
    report=$(od -A n -t u8 -j 224 -N 8 "$folder/train.plan" | tr -d ' ') # there are no constants
    head -c "$report" "$folder/train.plan" >"$folder/short"
    expect "$target: without its report" 0 "^digest" run "$folder/short" "" "" ""
    head -c 200 "$folder/train.plan" >"$folder/damaged"
    expect "$target: cut off" 3 "^[A-Z_]*: " run "$folder/damaged" "" "" ""
    cp "$folder/checkpoint" "$folder/other"
    printf x | dd of="$folder/other" bs=1 seek=300 conv=notrunc 2>"$folder/log"
    expect "$target: a damaged checkpoint" 3 "^CHECKPOINT_DAMAGED" run "$folder/train.plan" "" "$folder/other" 1
done

expect "firn eval of a train plan" 3 "mode" "$BUILD/firn" eval "$folder/train.plan" --pub "$PUB" --data $DATA \
    --checkpoint "$folder/checkpoint"
expect "firn train of an eval plan" 3 "mode" "$BUILD/firn" train "$folder/eval.plan" --pub "$PUB" --data $DATA

[ $failures -eq 0 ]
