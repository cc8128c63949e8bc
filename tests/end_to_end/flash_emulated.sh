#!/bin/sh
# firn flash over the serial line of emulated boards: an update, its trial boot, its confirmation, a transfer that breaks
# off when the power is cut, and a roll-back that is refused.
set -eu

. tests/end_to_end/expectations

SLOT=131072
"$FIRNC" keygen "$folder/test" >"$folder/log"
PUB=$folder/test.pub.pem

# compile NAME VERSION COUNTER
compile() {
    "$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode train --key "$folder/test.key.pem" --plan-version "$2" \
        --security-counter "$3" --set trainer.init.seed="$2" -o "$folder/$1.plan" >"$folder/log"
}
compile one 1 1
compile two 2 2
compile back 3 1

# start BOARD WORD...: starts the board with what its flash had when the power was cut
start() {
    board=$1
    shift
    arguments=
    for word in device "$@"; do
        arguments=$arguments,arg=$word
    done
    [ ! -e "$folder/$board/flash.after" ] || mv "$folder/$board/flash.after" "$folder/$board/flash"
    rm -f "$folder/$board/line" "$folder/$board/said"
    case $board in
    cortex-m7) machine="qemu-system-arm -M mps2-an500" ;;
    rv32) machine="qemu-system-riscv32 -M virt -cpu rv32,d=off -m 64M -bios none" ;;
    esac
    (cd "$folder/$board" && exec $machine -display none -monitor none -serial unix:line,server=on,wait=off \
        -semihosting-config enable=on,target=native$arguments -kernel program >said 2>&1 </dev/null) &
    device=$!
    tries=0
    until grep -q '^counter ' "$folder/$board/said" 2>/dev/null || [ $tries -eq 600 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
}

off() {
    kill -9 "$device" 2>/dev/null || true
    wait "$device" 2>/dev/null || true
}

# says LINE
says() {
    grep -qx "$1" "$folder/$board/said" || fail "$board does not say '$1': $(cat "$folder/$board/said")"
}

flash() {
    "$FIRN" flash "$folder/$1.plan" --port "$folder/$board/line" --timeout 120
}

for board in cortex-m7 rv32; do
    mkdir "$folder/$board"
    "$FIRNC" image "$folder/one.plan" --pub "$PUB" --slot-bytes $SLOT -o "$folder/$board/flash" >"$folder/log"
    printf '\1\0\0\0' >>"$folder/$board/flash"
    cat /usr/share/common-licenses/GPL-3 >"$folder/$board/data"
    cp "$(make -s --no-print-directory BUILD="$BUILD" emulator TARGET=$board PUB="$PUB" </dev/null)" "$folder/$board/program"
    start $board confirm
    says "runs version 1"
    says "counter 1"
    # The power is cut in the middle: the old plan runs, and the transfer goes on where it was.
    : >"$folder/half"
    (flash two >"$folder/half" 2>&1 || true) &
    sender=$!
    tries=0
    until grep -q 'bytes$' "$folder/half" || [ $tries -eq 600 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    off
    wait $sender || true
    start $board confirm
    says "runs version 1"
    expect "an update of $board" 0 "" flash two
    grep -q 'bytes of it already' "$folder/err" || fail "the transfer began anew"
    off
    start $board
    says "runs version 2 on trial"
    says "counter 1"
    off
    start $board confirm
    says "runs version 2 on trial"
    says "counter 2"
    expect "a roll-back of $board" 3 SECURITY_COUNTER flash back
    expect "the same plan for $board" 0 "" flash two
    off
    start $board
    says "runs version 2"
    off
done

[ $failures -eq 0 ]
