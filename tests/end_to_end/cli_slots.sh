#!/bin/sh
# Device keys and dumps of flash with two slots from the user's view: which record firn digest and firn export take, and
# which checkpoints firn refuses without the key that wrote them.
set -eu

. tests/end_to_end/expectations

"$BUILD/firnc" keygen "$folder/test" >"$folder/out"
PUB=$folder/test.pub.pem
DATA=$folder/text
cat /usr/share/common-licenses/GPL-3 >"$DATA"
"$BUILD/firnc" compile compiler/recipes/small_gpt2.yaml --mode train --key "$folder/test.key.pem" -o "$folder/plan" >"$folder/out"
"$BUILD/firnc" compile compiler/recipes/small_gpt2.yaml --mode eval --key "$folder/test.key.pem" -o "$folder/eval" >"$folder/out"
head -c 32 /dev/urandom >"$folder/key"
head -c 32 /dev/urandom >"$folder/other"
head -c 31 /dev/urandom >"$folder/short"
head -c 33 /dev/urandom >"$folder/long"

train() {
    "$FIRN" train "$folder/plan" --pub "$PUB" --data "$DATA" --quiet --steps 2 --checkpoint "$@"
}

# says WORDS: the last command, which succeeded, wrote them on stderr
says() {
    grep -q -- "$1" "$folder/err" || fail "$name: no '$1' on stderr"
}

# --- the key -------------------------------------------------------------------------------------------------------

expect "a run with a key" 0 "" train "$folder/one" --device-key "$folder/key"
cp "$folder/out" "$folder/one.digest"
cp "$folder/one" "$folder/two"
expect "resumed with it" 0 "" train "$folder/two" --resume --device-key "$folder/key"
cp "$folder/out" "$folder/two.digest"
expect "a run without" 0 "" train "$folder/plain"
cmp -s "$folder/out" "$folder/one.digest" || fail "the key changes the digest"
for wrong in "--device-key $folder/other" ""; do
    expect "another key or none: $wrong" 3 "AUTHENTICATION); .*--device-key" train "$folder/one" --resume $wrong
done
expect "a record without a code" 3 "AUTHENTICATION" train "$folder/plain" --resume --device-key "$folder/key"
for wrong in short long none; do
    expect "no key in the file $wrong" 1 "$folder/$wrong: " train "$folder/new" --device-key "$folder/$wrong"
done
expect "an evaluation with the key" 0 "" "$FIRN" eval "$folder/eval" --pub "$PUB" --data "$DATA" --quiet --threads 2 \
    --checkpoint "$folder/two" --device-key "$folder/key"
expect "an evaluation without" 3 "AUTHENTICATION" "$FIRN" eval "$folder/eval" --pub "$PUB" --data "$DATA" --quiet \
    --checkpoint "$folder/two"

expect "digest with the key" 0 "" "$FIRN" digest "$folder/one" --device-key "$folder/key"
cmp -s "$folder/out" "$folder/one.digest" || fail "digest with the key"
[ ! -s "$folder/err" ] || fail "digest with the key says something"
expect "digest without says so" 0 "" "$FIRN" digest "$folder/one"
says "not checked; give --device-key"
cmp -s "$folder/out" "$folder/one.digest" || fail "digest without the key"
expect "digest with another key" 3 "AUTHENTICATION" "$FIRN" digest "$folder/one" --device-key "$folder/other"
expect "export with another key" 3 "AUTHENTICATION" "$FIRN" export "$folder/one" -o "$folder/out.safetensors" --device-key \
    "$folder/other"
[ ! -e "$folder/out.safetensors" ] || fail "a refused checkpoint was exported"
expect "an output over the key" 2 "over the device key" "$FIRN" export "$folder/one" -o "$folder/key" --device-key "$folder/key"

# --- two slots -----------------------------------------------------------------------------------------------------

# slot FILE: the record in a slot of 1 MiB of erased flash
slot() {
    cat "$1"
    head -c $((1048576 - $(wc -c <"$1"))) /dev/zero | tr '\000' '\377'
}

: >"$folder/nothing"
printf 'torn' >"$folder/torn"
[ "$(wc -c <"$folder/two")" -lt 1048576 ] || fail "the checkpoint is larger than the slot"
{ slot "$folder/one" && slot "$folder/two"; } >"$folder/both"
{ slot "$folder/two" && slot "$folder/one"; } >"$folder/swapped"
{ slot "$folder/nothing" && slot "$folder/one"; } >"$folder/second"
{ slot "$folder/one" && slot "$folder/nothing"; } >"$folder/first"
{ slot "$folder/torn" && slot "$folder/two"; } >"$folder/damaged"
# digests DUMP RECORD WORDS [OPTIONS]: the digest of the dump is that of RECORD
digests() {
    dump=$1 record=$2 words=$3
    shift 3
    expect "digest of $dump $*" 0 "" "$FIRN" digest "$folder/$dump" --device-key "$folder/key" "$@"
    cmp -s "$folder/out" "$folder/$record.digest" || fail "digest of $dump $*"
    [ -z "$words" ] || says "$words"
}
digests both two "slot 1 of two, sequence 2, step 4; the other one is older"
digests swapped two "slot 0 of two, sequence 2, step 4; the other one is older"
digests second one "slot 1 of two, sequence 1, step 2; the other one is erased"
digests first one "" # as a dump of one slot
digests damaged two "slot 1 of two, .*damaged or was refused"
digests both one "" --slot 0
digests both two "" --slot 1
expect "an erased slot" 3 "CHECKPOINT_MISSING" "$FIRN" digest "$folder/first" --slot 1
expect "a torn slot" 3 "CHECKPOINT_DAMAGED" "$FIRN" digest "$folder/damaged" --slot 0
for slot in 0 1; do
    expect "slot $slot of a record" 2 "one: is one record, .* leave out --slot" "$FIRN" digest "$folder/one" --slot $slot
done
expect "a third slot" 2 "write one from 0 to 1" "$FIRN" digest "$folder/both" --slot 2
expect "two slots of another device" 3 "AUTHENTICATION" "$FIRN" digest "$folder/both" --device-key "$folder/other"

# The newer record damaged, or written without the key: the older one.
printf x | dd of="$folder/both" bs=1 seek=$((1048576 + 700)) conv=notrunc 2>"$folder/err"
digests both one "slot 0 of two, .*damaged or was refused"
{ slot "$folder/plain" && slot "$folder/one"; } >"$folder/mixed"
digests mixed one "slot 1 of two, .*damaged or was refused"

expect "export of two slots" 0 "" "$FIRN" export "$folder/second" -o "$folder/dump.safetensors" --device-key "$folder/key"
says "slot 1 of two"
expect "export of the record" 0 "" "$FIRN" export "$folder/one" -o "$folder/one.safetensors" --device-key "$folder/key"
cmp -s "$folder/dump.safetensors" "$folder/one.safetensors" || fail "the export of a dump differs"

[ $failures -eq 0 ]
