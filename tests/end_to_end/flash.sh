#!/bin/sh
# firnc image and firn flash against a device behind a pseudo terminal, which runs the device's code on flash in a file:
# killing it is a power cut. Updating, breaking off, resuming, trial boots, confirmation, and what is refused.
#
# Needs: test_update
set -eu

. tests/end_to_end/expectations
needs terminal

SLOT=131072

# compile NAME VERSION COUNTER [--option ...]
compile() {
    plan=$1
    version=$2
    stored=$3
    shift 3
    "$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode train --key "$folder/test.key.pem" --plan-version "$version" \
        --security-counter "$stored" --set trainer.init.seed="$version" -o "$folder/$plan.plan" "$@" >"$folder/log"
}

# image NAME [--option ...]: the flash of a device, with a counter of 0 behind it
image() {
    name=$1
    shift
    "$FIRNC" image "$@" --pub "$folder/test.pub.pem" --slot-bytes $SLOT -o "$folder/$name.flash" >"$folder/log"
    printf '\0\0\0\0' >>"$folder/$name.flash"
}

# boot NAME UNITS confirm|try: starts the device; $port is its line
boot() {
    : >"$folder/device" # what the previous device said must not be taken for this one's
    "$BUILD/tests/test_update" serve "$folder/$1.flash" $SLOT "$folder/test.pub.pem" "$2" "$3" >"$folder/device" 2>&1 &
    device=$!
    tries=0
    until grep -q '^port ' "$folder/device" || [ $tries -eq 200 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
    port=$(sed -n 's/^port //p' "$folder/device")
    [ -n "$port" ] || fail "the device does not start: $(cat "$folder/device")"
}

off() {
    kill "$device" 2>/dev/null || true
    wait "$device" 2>/dev/null || true
}

# runs LINE: what the device says that it runs
runs() {
    grep -qx "runs $1" "$folder/device" || fail "the device does not run $1: $(cat "$folder/device")"
}

flash() {
    "$FIRN" flash "$folder/$1.plan" --port "$port" --timeout 20
}

"$FIRNC" keygen "$folder/test" >"$folder/out"
"$FIRNC" keygen "$folder/other" >"$folder/out"
compile one 1 0
compile two 2 3
compile three 3 3
compile back 4 2
"$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode train --key "$folder/other.key.pem" --plan-version 9 \
    -o "$folder/foreign.plan" >"$folder/log"
"$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode train --unsigned --pub "$folder/test.pub.pem" \
    -o "$folder/unsigned.plan" >"$folder/log"

# --- images --------------------------------------------------------------------------------------------------------

image a "$folder/one.plan"
[ "$(wc -c <"$folder/a.flash")" -eq $((2 * SLOT + 4)) ] || fail "the size of an image"
cmp -s -n "$(wc -c <"$folder/one.plan")" "$folder/a.flash" "$folder/one.plan" || fail "an image begins with its plan"
expect "an unsigned plan" 3 UNSIGNED "$FIRNC" image "$folder/unsigned.plan" --pub "$folder/test.pub.pem" \
    --slot-bytes $SLOT -o "$folder/none"
expect "a plan of another key" 3 WRONG_KEY "$FIRNC" image "$folder/foreign.plan" --pub "$folder/test.pub.pem" \
    --slot-bytes $SLOT -o "$folder/none"
expect "a slot that is too small" 1 "has room for 4096" "$FIRNC" image "$folder/one.plan" --pub "$folder/test.pub.pem" \
    --slot-bytes 8192 -o "$folder/none"
expect "a slot that is none" 2 "make no slot" "$FIRNC" image "$folder/one.plan" --pub "$folder/test.pub.pem" \
    --slot-bytes 10000 -o "$folder/none"
expect "one version twice" 1 "plan version 1, like" "$FIRNC" image "$folder/one.plan" --second "$folder/one.plan" \
    --pub "$folder/test.pub.pem" --slot-bytes $SLOT -o "$folder/none"
for number in 0 0x 0x101 257; do
    expect "the program unit $number" 2 "$number is not a number of bytes; write one from 1 to 256" "$FIRNC" image "$folder/one.plan" \
        --pub "$folder/test.pub.pem" --slot-bytes $SLOT --program-unit $number -o "$folder/none"
done
expect "another erased value" 0 "" image other "$folder/one.plan" --erased-value 0x5A
[ "$(tail -c 5 "$folder/other.flash" | od -A n -t x1)" = " 5a 00 00 00 00" ] || fail "the erased value in hexadecimal"
# Two plans that one device would not both accept.
compile acme 5 0 --vendor acme --class sensor
compile acne 6 0 --vendor acne --class sensor
compile motor 7 0 --vendor acme --class motor
compile image 8 0 --image-id 9
for second in acne motor; do
    expect "plans for acme and for $second" 1 "$second.plan: is for another vendor or class than" "$FIRNC" image \
        "$folder/acme.plan" --second "$folder/$second.plan" --pub "$folder/test.pub.pem" --slot-bytes $SLOT -o "$folder/none"
done
expect "two image ids" 1 "image id 9, and" "$FIRNC" image "$folder/one.plan" --second "$folder/image.plan" \
    --pub "$folder/test.pub.pem" --slot-bytes $SLOT -o "$folder/none"
[ ! -e "$folder/none" ] || fail "a refused image was written"
image both "$folder/one.plan" --second "$folder/two.plan" --without-report
boot both all try
runs "slot 1 version 2 trial 0"
off

# --- an update -----------------------------------------------------------------------------------------------------

boot a all confirm
runs "slot 0 version 1 trial 0"
expect "an update" 0 "" flash two
[ "$(tail -n 1 "$folder/err")" = "$folder/two.plan: the device has it, and tries it at its next start" ] || fail "the end"
[ "$(grep -c ' bytes$' "$folder/err")" -ge 5 ] || fail "no progress"
expect "the same again" 0 "" flash two
grep -q 'has this plan already' "$folder/err" || fail "a plan that is there is sent again"
off
boot a all try
runs "slot 1 version 2 trial 1"
expect "an update on trial" 3 UNCONFIRMED flash three
off
boot a all confirm
runs "slot 1 version 2 trial 2"
grep -qx "confirmed: OK" "$folder/device" || fail "no confirmation"
expect "a roll-back" 3 SECURITY_COUNTER flash back
expect "an older plan" 3 "SECURITY_COUNTER" flash one
expect "a plan of another key" 3 WRONG_KEY flash foreign
expect "an unsigned plan" 3 UNSIGNED flash unsigned
expect "another plan" 0 "" flash three
off

# A plan that is not confirmed is given up after two boots.
for trial in 1 2; do
    boot a all try
    runs "slot 0 version 3 trial $trial"
    off
done
boot a all try
runs "slot 1 version 2 trial 0"
off

# --- power cuts ----------------------------------------------------------------------------------------------------

image cut "$folder/one.plan"
resumed=0
for units in 0 5 100 700 1500 1500 1000; do
    boot cut "$units" confirm
    runs "slot 0 version 1 trial 0"
    status=0
    "$FIRN" flash "$folder/two.plan" --port "$port" --timeout 2 >"$folder/out" 2>"$folder/err" || status=$?
    [ $status -eq 1 ] || fail "a cut after $units units: exit $status"
    grep -q 'bytes of it already' "$folder/err" && resumed=$((resumed + 1))
    off
done
[ $resumed -ge 3 ] || fail "only $resumed transfers were resumed"
boot cut all confirm
runs "slot 0 version 1 trial 0"
expect "the rest of an update" 0 "" flash two
off
boot cut all confirm
runs "slot 1 version 2 trial 1"
off

# --- the line ------------------------------------------------------------------------------------------------------

expect "no port" 1 "cannot be opened" "$FIRN" flash "$folder/two.plan" --port "$folder/nothing"
expect "a file" 1 "is neither a serial port nor a socket" "$FIRN" flash "$folder/two.plan" --port "$folder/log"
expect "no terminal" 1 "is no serial port" "$FIRN" flash "$folder/two.plan" --port /dev/null
expect "a speed that is none" 2 "is no speed" "$FIRN" flash "$folder/two.plan" --port /dev/null --baud 9601
expect "no port given" 2 "needs --port" "$FIRN" flash "$folder/two.plan"
expect "a folder" 1 "" "$FIRN" flash "$folder" --port /dev/null

[ $failures -eq 0 ]
