#!/bin/sh
# The life of a device, on emulated boards: it trains 20 steps, predicts 100 samples, goes on from its checkpoint after
# power cuts in the middle of a save, takes a new plan over its line in spite of a power cut in the middle of the transfer,
# tries it, confirms it, goes on with the run, and refuses plans that are rolled back, signed with another key, or for
# another device. A plan that is never confirmed is given up, and the one before goes on with its own run. After each of
# these the digest of the state is that of `firn train` on this machine with the same plan, data and number of steps.
#
# Needs: boards
set -eu

. tests/end_to_end/expectations
. tests/end_to_end/device

SLOT=131072
for key in test other; do
    "$FIRNC" keygen "$folder/$key" >"$folder/log"
done
PUB=$folder/test.pub.pem
DEVICE="--image-id 3 --vendor firn-test"

# compile NAME KEY VERSION COUNTER CLASS [--set ...]
compile() {
    plan=$folder/$1.plan
    words="--key $folder/$2.key.pem --plan-version $3 --security-counter $4 --class $5"
    shift 5
    # $words and $DEVICE are split into words intentionally.
    "$FIRNC" compile compiler/recipes/small_mlp.yaml --mode train $words $DEVICE -o "$plan" "$@" >"$folder/log"
}
compile one test 1 1 emulated
compile two test 2 2 emulated                                  # the run of the first
compile three test 3 3 emulated --set trainer.init.seed=7      # another run
compile back test 9 0 emulated
compile foreign other 9 9 emulated
compile elsewhere test 9 9 other
"$FIRNC" compile compiler/recipes/small_mlp.yaml --mode eval --key "$folder/test.key.pem" -o "$folder/predict.plan" \
    --set trainer.validate.metric=none --set 'trainer.validate.outputs=[logits]' \
    --set trainer.validate.val_dataloader.batch_size=4 >"$folder/log"

text=/usr/share/common-licenses/GPL-3
cat $text $text $text | head -c 78400 | npy "$folder/images" '|u1' '(100, 28, 28)'
head -c 100 $text | tr -c 'a-i' 'j' | tr 'a-j' '\000-\011' | npy "$folder/labels" '|u1' '(100,)'

# --- what this machine computes ---

# host_digest PLAN STEPS
host_digest() {
    rm -f "$folder/host.checkpoint"
    "$FIRN" train "$folder/$1.plan" --pub "$PUB" --quiet --data "$folder/images" --labels "$folder/labels" --steps "$2" \
        --checkpoint "$folder/host.checkpoint" | sed -n 's/^digest //p'
}

# host_predictions: what the plan of the last checkpoint predicts for 100 samples
host_predictions() {
    "$FIRN" predict "$folder/predict.plan" --pub "$PUB" --checkpoint "$folder/host.checkpoint" \
        --data "$folder/images" --name logits -o "$folder/logits.npy" >"$folder/log" 2>&1
    tail -c 4000 "$folder/logits.npy" | sha256sum | cut -d ' ' -f 1
}

one_20=$(host_digest one 20)
predicted_20=$(host_predictions)
one_30=$(host_digest one 30)
two_31=$(host_digest two 31)
two_35=$(host_digest two 35)
predicted_35=$(host_predictions)
two_36=$(host_digest two 36)
three_4=$(host_digest three 4)
three_9=$(host_digest three 9)
predicted_9=$(host_predictions)
for digest in "$one_20" "$two_36" "$three_9" "$predicted_9"; do
    [ ${#digest} -eq 64 ] || fail "no digest of this machine"
done
[ "$(host_digest one 35)" = "$two_35" ] || fail "the second plan is not the run of the first"
[ "$three_4" != "$(host_digest two 4)" ] || fail "the third plan is the run of the first"

# --- the device ---

boards=${BOARDS:-cortex-m7 cortex-m33 rv32}
[ "${FIRN_TEST_LOOP:-}" != test ] || boards="cortex-m7 rv32"
for board in $boards; do
    takes_next || continue
    mkdir "$folder/$board"
    cp "$(make -s --no-print-directory BUILD="$BUILD" emulator TARGET="$board" PUB="$PUB" </dev/null)" \
        "$folder/$board/program"
    cp "$folder/predict.plan" "$folder/$board"
    cp "$folder/images" "$folder/$board/data"
    cp "$folder/labels" "$folder/$board/labels"
    # Somebody has programmed a plan that was withdrawn into the second slot. The counters: of plans, of checkpoints.
    "$FIRNC" image "$folder/one.plan" --second "$folder/back.plan" --pub "$PUB" --slot-bytes $SLOT \
        -o "$folder/$board/flash" >"$folder/log"
    printf '\1\0\0\0\0\0\0\0' >>"$folder/$board/flash"

    # Trains and predicts.
    start until=20 save=5 predict=100 confirm
    says "refused slot 1: SECURITY_COUNTER" "begins a run: CHECKPOINT_MISSING" "step 20 digest $one_20" \
        "predicted 100 samples, digest $predicted_20" "runs version 1" "counter 1"
    off

    # The power is cut in each operation of flash and counter that the next saves make, one after the other.
    cuts=0
    start until=30 save=5 fail-save=1
    while grep -q '^the power fails' "$folder/$board/said"; do
        says "resumes at step 2[05]"
        off
        cuts=$((cuts + 1))
        start until=30 save=5 fail-save=$((cuts + 1))
    done
    says "resumes at step 30" "step 30 digest $one_30"
    [ $cuts -ge 5 ] || fail "$board: a save has only $cuts operations"

    # A new plan, with power cuts in the transfer: while the slot is erased, in the commit record, and in the fourth part.
    off
    for operation in 2 12 9; do
        start until=30 save=5 fail-transfer=$operation
        says "resumes at step 30" "step 30 digest $one_30" "runs version 1"
        (flash two >"$folder/half" 2>&1 || true) &
        sender=$!
        wait_for '^the power fails' "$board/said"
        off
        wait $sender || true
        says "the power fails"
        cuts=$((cuts + 1))
    done
    start until=30 save=5
    says "resumes at step 30" "step 30 digest $one_30" "runs version 1"
    expect "an update of $board" 0 "" flash two
    grep -q 'bytes of it already' "$folder/err" || fail "the transfer began anew"
    off

    # Its trial boot goes on with the run, and saves nothing before it is confirmed.
    start until=31 save=5
    says "resumes at step 30" "step 31 digest $two_31" "runs version 2 on trial" "counter 1"
    off
    start until=35 save=5 predict=100 confirm
    says "resumes at step 30" "step 35 digest $two_35" "predicted 100 samples, digest $predicted_35" \
        "runs version 2 on trial" "counter 2"

    # What is refused, over the line.
    expect "a roll-back of $board" 3 SECURITY_COUNTER flash back
    expect "the plan before, on $board" 3 SECURITY_COUNTER flash one
    expect "another key's plan for $board" 3 WRONG_KEY flash foreign
    expect "another device's plan for $board" 3 OTHER_DEVICE flash elsewhere

    # A plan with another run, which is given up after its trial boots. The plan before goes on with its own run.
    expect "the next update of $board" 0 "" flash three
    off
    for trial in 1 2 3; do
        start until=4 save=2
        says "begins a run: CHECKPOINT_OTHER_RUN" "step 4 digest $three_4" "runs version 3 on trial" "counter 2"
        off
    done
    start until=36 save=1
    says "resumes at step 35" "step 36 digest $two_36" "runs version 2" "counter 2"

    # Sent again and confirmed, it has its own record, and the plan before is refused.
    expect "the next update of $board, again" 0 "" flash three
    off
    start until=4 save=2 confirm
    says "begins a run: CHECKPOINT_OTHER_RUN" "step 4 digest $three_4" "runs version 3 on trial" "counter 3"
    off
    start until=9 save=2 predict=100 confirm
    says "resumes at step 4" "step 9 digest $three_9" "predicted 100 samples, digest $predicted_9" "runs version 3"
    expect "a roll-back of $board" 3 SECURITY_COUNTER flash two
    off
    echo "$board: trained, predicted, updated, confirmed, resumed after $cuts power cuts"
done

[ $failures -eq 0 ]
