#!/bin/sh
# firn flash over the serial line of emulated boards: an update, its trial boot, its confirmation, a transfer that breaks
# off when the power is cut, and a roll-back that is refused.
#
# Needs: boards
set -eu

. tests/end_to_end/expectations
. tests/end_to_end/device

SLOT=131072
"$FIRNC" keygen "$folder/test" >"$folder/log"
PUB=$folder/test.pub.pem

# compile NAME VERSION COUNTER
compile() {
    "$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode train --key "$folder/test.key.pem" --plan-version "$2" \
        --security-counter "$3" --image-id 3 --vendor firn-test --class emulated --set trainer.init.seed="$2" \
        -o "$folder/$1.plan" >"$folder/log"
}
compile one 1 1
compile two 2 2
compile back 3 1

boards="cortex-m7 cortex-m33 rv32"
[ "${FIRN_TEST_LOOP:-}" != test ] || boards="cortex-m7 rv32"
for board in $boards; do
    takes_next || continue
    mkdir "$folder/$board"
    "$FIRNC" image "$folder/one.plan" --pub "$PUB" --slot-bytes $SLOT -o "$folder/$board/flash" >"$folder/log"
    # The counters: of plans, of checkpoints.
    printf '\1\0\0\0\0\0\0\0' >>"$folder/$board/flash"
    cat /usr/share/common-licenses/GPL-3 >"$folder/$board/data"
    cp "$(make -s --no-print-directory BUILD="$BUILD" emulator TARGET=$board PUB="$PUB" </dev/null)" "$folder/$board/program"
    start confirm
    says "runs version 1" "counter 1"
    # The power is cut in the middle: the old plan runs, and the transfer goes on where it was.
    : >"$folder/half" # what the board before left there
    (flash two >"$folder/half" 2>&1 || true) &
    sender=$!
    wait_for 'bytes$' half
    off
    wait $sender || true
    start confirm
    says "runs version 1"
    expect "an update of $board" 0 "" flash two
    grep -q 'bytes of it already' "$folder/err" || fail "the transfer began anew"
    off
    start
    says "runs version 2 on trial" "counter 1"
    off
    start confirm
    says "runs version 2 on trial" "counter 2"
    expect "a roll-back of $board" 3 SECURITY_COUNTER flash back
    expect "the same plan for $board" 0 "" flash two
    off
    start
    says "runs version 2"
    off
done

[ $failures -eq 0 ]
