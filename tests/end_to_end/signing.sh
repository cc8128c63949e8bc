#!/bin/sh
# A plan that is signed apart from its compilation is the one that firnc compile would have signed; a plan whose report
# was cut off verifies and runs; what the command line puts into the header is in the header.
set -eu

. tests/end_to_end/expectations

RECIPE=compiler/recipes/small_gpt2.yaml
DATA=/usr/share/common-licenses/GPL-3
"$FIRNC" keygen "$folder/test" >"$folder/out"
"$FIRNC" keygen "$folder/other" >"$folder/out"
KEY=$folder/test.key.pem
PUB=$folder/test.pub.pem

# --- the header ---

fields="--image-id 7 --plan-version 3 --security-counter 5 --vendor acme --class 00112233-4455-6677-8899-aabbccddeeff"
# shellcheck disable=SC2086 # several options
expect "compile" 0 "" "$FIRNC" compile $RECIPE --mode train --key "$KEY" -o "$folder/plan" $fields
expect "inspect" 0 "" "$FIRNC" inspect "$folder/plan"
grep -q '^plan version  *3, image id 7, security counter 5$' "$folder/out" || fail "numbers of the header"
grep -q '^vendor, class  *61636d65000000000000000000000000, 00112233445566778899aabbccddeeff$' "$folder/out" ||
    fail "vendor and class"
image=0
for mode in train eval; do
    expect "compile for $mode" 0 "" "$FIRNC" compile $RECIPE --mode $mode --key "$KEY" -o "$folder/usual"
    expect "inspect" 0 "" "$FIRNC" inspect "$folder/usual"
    grep -q ", image id $image, " "$folder/out" || fail "the usual image id for $mode"
    image=$((image + 1))
done
expect "the largest image id" 0 "" "$FIRNC" compile $RECIPE --mode eval --key "$KEY" -o "$folder/usual" \
    --image-id 4294967295
for wrong in 4294967296 -1 1.5 x ''; do
    expect "image id $wrong" 2 "image-id" "$FIRNC" compile $RECIPE --mode train --key "$KEY" -o "$folder/none" \
        --image-id "$wrong"
done
[ ! -e "$folder/none" ] || fail "a plan was written in spite of a wrong image id"

# --- signing apart ---

# shellcheck disable=SC2086
expect "compile --unsigned" 0 "" "$FIRNC" compile $RECIPE --mode train --unsigned --pub "$PUB" -o "$folder/unsigned" $fields
expect "sign" 0 "" "$FIRNC" sign "$folder/unsigned" --key "$KEY" -o "$folder/signature"
attach() {
    "$FIRNC" attach "$1" --signature "$2" --pub "$PUB" -o "$folder/attached"
}
expect "attach" 0 "" attach "$folder/unsigned" "$folder/signature"
cmp "$folder/attached" "$folder/plan" || fail "signed apart, the plan is another"
# Only the algorithm and the signature differ.
cmp -l "$folder/unsigned" "$folder/plan" | awk '$1 != 21 && ($1 <= 512 || $1 > 576) { exit 1 }' ||
    fail "signing changed more than the algorithm and the signature"
expect "sign with another key" 3 "^firnc: $folder/other.key.pem: is not the key .* (WRONG_KEY); give the secret half" \
    "$FIRNC" sign "$folder/unsigned" --key "$folder/other.key.pem" -o "$folder/wrong"
expect "sign a signed plan" 3 "is signed already" "$FIRNC" sign "$folder/plan" --key "$KEY" -o "$folder/wrong"
expect "compile another" 0 "" "$FIRNC" compile $RECIPE --mode train --unsigned --pub "$PUB" -o "$folder/another"
expect "sign another" 0 "" "$FIRNC" sign "$folder/another" --key "$KEY" -o "$folder/wrong"
rm "$folder/attached"
expect "attach the signature of another plan" 3 \
    "^firnc: $folder/wrong: is not a signature of $folder/unsigned (SIGNATURE)" attach "$folder/unsigned" "$folder/wrong"
[ ! -e "$folder/attached" ] || fail "a plan with the signature of another was written"
# Something is in the place of the signature already.
cp "$folder/unsigned" "$folder/filled"
printf x | dd of="$folder/filled" bs=1 seek=540 conv=notrunc 2>"$folder/log"
expect "sign a plan with something there" 3 "(HEADER)" "$FIRNC" sign "$folder/filled" --key "$KEY" -o "$folder/wrong"

# --- without the report ---

field() {
    od -A n -t u8 -j "$1" -N 8 "$folder/plan" | tr -d ' '
}
report=$(($(field 224) + $(field 232)))
for kind in plan unsigned; do
    head -c $report "$folder/$kind" >"$folder/short_$kind"
done
for plan in plan short_plan; do
    expect "verify $plan" 0 "" "$FIRNC" verify "$folder/$plan" --pub "$PUB"
    expect "train $plan" 0 "" "$FIRN" train "$folder/$plan" --pub "$PUB" --data $DATA --steps 2 --quiet
    cp "$folder/out" "$folder/$plan.out"
done
cmp "$folder/plan.out" "$folder/short_plan.out" || fail "without its report, the plan gives other bits"
expect "inspect without the report" 0 "" "$FIRNC" inspect "$folder/short_plan"
head -n 1 "$folder/out" | grep -q ' bytes as signed; its report was cut off$' || fail "inspect does not miss the report"
expect "attach without the report" 0 "" attach "$folder/short_unsigned" "$folder/signature"
cmp "$folder/attached" "$folder/short_plan" || fail "signed without its report, the plan is another"
end=$(field 208)
for at in $report $((report + 5)) $(((report + end) / 2)) $((end - 1)); do
    cp "$folder/plan" "$folder/changed"
    printf '~' | dd of="$folder/changed" bs=1 seek=$at conv=notrunc 2>"$folder/log"
    expect "verify another report" 3 "(REPORT)" "$FIRNC" verify "$folder/changed" --pub "$PUB"
    expect "inspect another report" 3 "(REPORT)" "$FIRNC" inspect "$folder/changed"
    expect "train with another report" 3 "(REPORT)" "$FIRN" train "$folder/changed" --pub "$PUB" --data $DATA --steps 1
done

[ "$failures" -eq 0 ]
