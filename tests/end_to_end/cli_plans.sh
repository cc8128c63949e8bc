#!/bin/sh
# What firn says of a plan: model and target from its report, the version of the format that it needs, runs without an
# end, plans that measure nothing. firnc writes no plan of another version, none without an end and none without a
# metric, so this test changes the bytes of unsigned plans (plan/FORMAT.md) and signs them.
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/test" >"$folder/out"
PUB=$folder/test.pub.pem
DATA=/usr/share/common-licenses/GPL-3
for mode in train eval; do
    "$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode $mode --key "$folder/test.key.pem" \
        -o "$folder/$mode.plan" >"$folder/out"
    "$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode $mode --unsigned --pub "$PUB" \
        -o "$folder/$mode.unsigned" >"$folder/out"
done

# number FILE OFFSET BYTES: a number of a file. put FILE OFFSET OCTAL: overwrites the bytes there.
number() {
    od -A n -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '
}
put() {
    printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>"$folder/dd"
}

PAYLOAD=576
# Where the report of a file begins, and where its table Plan is.
report_of() {
    echo $(($(number "$1" 224 8) + $(number "$1" 232 8)))
}
table_of() {
    echo $((PAYLOAD + $(number "$1" $PAYLOAD 4)))
}
# slot_of FILE FIELD: the place in the vtable that says where field number FIELD of the table Plan is.
slot_of() {
    table=$(table_of "$1")
    echo $((table - $(od -A n -t d4 -j "$table" -N 4 "$1" | tr -d ' ') + 4 + 2 * $2))
}
# sign NAME: puts the new run hash into NAME.unsigned and signs it as NAME.plan.
sign() {
    file=$folder/$1.unsigned
    hash=$(head -c "$(report_of "$file")" "$file" | tail -c +$((PAYLOAD + 1)) | sha256sum | cut -c 1-64)
    at=144
    for byte in $(echo "$hash" | sed 's/../& /g'); do
        put "$file" $at "\\$(printf %03o "0x$byte")"
        at=$((at + 1))
    done
    "$FIRNC" sign "$file" --key "$folder/test.key.pem" -o "$folder/signature" >"$folder/out"
    "$FIRNC" attach "$file" --signature "$folder/signature" --pub "$PUB" -o "$folder/$1.plan" >"$folder/out"
}

# train NAME ...: three steps of a plan. evaluate NAME ...: an evaluation of what train.plan learned.
train() {
    plan=$folder/$1.plan
    shift
    "$FIRN" train "$plan" --pub "$PUB" --data "$DATA" --steps 3 "$@"
}
evaluate() {
    plan=$folder/$1.plan
    shift
    "$FIRN" eval "$plan" --pub "$PUB" --data "$DATA" --checkpoint "$folder/checkpoint" "$@"
}

# --- the report -------------------------------------------------------------------------------------------------------

expect "a run" 0 "" train train --checkpoint "$folder/checkpoint" --log "$folder/whole.jsonl" --verbose
cp "$folder/out" "$folder/digest"
grep -q '^model gpt2, 8832 parameters, 40 steps, target portable, kernels: ' "$folder/err" || fail "the note on the plan"
grep -q '"model":"gpt2",.*"target":"portable"' "$folder/whole.jsonl" || fail "the log does not name model and target"

head -c "$(report_of "$folder/train.plan")" "$folder/train.plan" >"$folder/cut.plan"
expect "a plan without its report" 0 "" train cut --log "$folder/cut.jsonl" --verbose
cmp -s "$folder/out" "$folder/digest" || fail "a plan without its report runs otherwise"
grep -q '^8832 parameters, 40 steps, kernels: ' "$folder/err" || fail "the note on a plan without its report"
if grep -Eq '"(model|target)"' "$folder/cut.jsonl"; then fail "the log has a model from nowhere"; fi
# The log is that of the same run, so either file may go on with it.
expect "a log that goes on" 0 "" train cut --checkpoint "$folder/checkpoint" --resume --log "$folder/whole.jsonl" --quiet

for where in 0 100 -1; do
    cp "$folder/train.plan" "$folder/changed.plan"
    at=$(($(report_of "$folder/changed.plan") + where))
    [ $where -ge 0 ] || at=$(($(number "$folder/changed.plan" 208 8) - 1))
    put "$folder/changed.plan" $at '~'
    expect "a report changed at $where" 3 \
        "^firn: $folder/changed.plan: the report .* (REPORT); get the plan again from where it came$" train changed
done

# A report that is signed but says nothing that this firn knows: the plan runs.
cp "$folder/train.unsigned" "$folder/odd.unsigned"
begin=$(report_of "$folder/odd.unsigned")
sed 's/"model":"gpt2"/"madel":"gpt2"/; s/"target":"portable"/"target":[12345678]/' "$folder/train.unsigned" |
    tail -c +$((begin + 1)) >"$folder/odd.report"
head -c "$begin" "$folder/train.unsigned" | cat - "$folder/odd.report" >"$folder/odd.unsigned"
at=176
for byte in $(sha256sum "$folder/odd.report" | cut -c 1-64 | sed 's/../& /g'); do
    put "$folder/odd.unsigned" $at "\\$(printf %03o "0x$byte")"
    at=$((at + 1))
done
sign odd
expect "a report with other names" 0 "" train odd --log "$folder/odd.jsonl"
cmp -s "$folder/out" "$folder/digest" || fail "a plan with another report runs otherwise"
if grep -Eq '"(model|target)"' "$folder/odd.jsonl"; then fail "the log has a model from nowhere"; fi

# --- versions of the format -------------------------------------------------------------------------------------------

major=$(number "$folder/train.plan" 8 4)
minor=$(sed -n 's/^#define FIRN_FORMAT_MINOR \([0-9]*\)u$/\1/p' plan/generated/version.h)
versioned() {
    cp "$folder/train.plan" "$folder/version.plan"
    put "$folder/version.plan" 8 "$1"
    put "$folder/version.plan" 12 "$2"
    expect "format $3" 3 "^firn: $folder/version.plan: needs format $3, and this runtime has $major\.$minor \
(FORMAT_VERSION); $4$" train version
}
versioned '\002' '\006' '2\.6' 'use a newer firn, or compile it with the firnc of this version'
versioned '\003' '\000' '3' 'use a newer firn, or compile it with the firnc of this version'
# Where the minor version is now, plans of format 1 had another number.
versioned '\001' '\001' '1' 'compile it again with the firnc of this version'
expect "firnc and format 1" 3 "needs format 1, and .* (FORMAT_VERSION); compile it again with this version of firnc$" \
    "$FIRNC" verify "$folder/version.plan" --pub "$PUB"
put "$folder/version.plan" 8 '\003'
expect "firnc and format 3" 3 "needs format 3, and .* (FORMAT_VERSION); use a newer firnc, or compile .* this one$" \
    "$FIRNC" verify "$folder/version.plan" --pub "$PUB"

# --- a run without an end ---------------------------------------------------------------------------------------------

cp "$folder/train.unsigned" "$folder/endless.unsigned"
slot=$(slot_of "$folder/endless.unsigned" 5)
steps=$(($(table_of "$folder/endless.unsigned") + $(number "$folder/endless.unsigned" "$slot" 2)))
[ "$(number "$folder/endless.unsigned" $steps 8)" -eq 40 ] || fail "steps are not where they were expected"
put "$folder/endless.unsigned" $steps '\0'
sign endless
expect "three steps of a run without an end" 0 "" train endless --verbose
cmp -s "$folder/out" "$folder/digest" || fail "the first steps depend on the end"
grep -q '8832 parameters, no end, ' "$folder/err" || fail "the note on a run without an end"
grep -q '^step 3/3  .*left 0:00$' "$folder/err" || fail "three steps have an end"
[ "$(grep -c 'has no end' "$folder/err")" -eq 0 ] || fail "three steps have no end"

# Until a signal: the run is longer than the 40 steps of the plan that it was made from, then saves and goes on.
set -- train "$folder/endless.plan" --pub "$PUB" --data "$DATA" --checkpoint "$folder/endless" \
    --log "$folder/endless.jsonl"
interrupted() {
    "$FIRN" "$@" &
    run=$!
    for _ in $(seq 1200); do # a run that never gets there is stopped, too
        [ ! -e "$folder/endless.jsonl" ] || [ "$(wc -l <"$folder/endless.jsonl")" -lt 250 ] || break
        sleep 0.05
    done
    kill -TERM $run
    wait $run
}
status=0
interrupted "$@" >"$folder/out" 2>"$folder/err" || status=$?
[ $status -eq 130 ] || fail "a run without an end: exit $status, not 130"
grep -q '^this run has no end: .*--steps N' "$folder/err" || fail "a run without an end does not say so"
grep -Eq '^step 201  loss [^/]*/s$' "$folder/err" || fail "the progress of a run without an end"
grep -q '^digest ' "$folder/out" || fail "a run without an end has no digest"
done=$(($(wc -l <"$folder/endless.jsonl") - 1))
expect "two more steps" 0 "" "$FIRN" "$@" --resume --steps 2 --quiet
tail -n 1 "$folder/endless.jsonl" | grep -q "^{\"step\":$((done + 2))," || fail "a run without an end did not go on"
[ ! -s "$folder/err" ] || fail "quiet is quiet"

# --- an eval plan that measures nothing -------------------------------------------------------------------------------

expect "an evaluation" 0 "" evaluate eval
cp "$folder/eval.unsigned" "$folder/silent.unsigned"
slot=$(slot_of "$folder/silent.unsigned" 15)
[ "$(number "$folder/silent.unsigned" "$slot" 2)" -ne 0 ] || fail "the metric is not where it was expected"
put "$folder/silent.unsigned" "$slot" '\0\0'
sign silent
expect "an evaluation without a metric" 3 \
    "^firn: $folder/silent.plan: the plan measures nothing.* (NO_METRIC); compile it with a metric, or write" evaluate silent
[ ! -s "$folder/out" ] || fail "an evaluation without a metric prints something"

[ $failures -eq 0 ]
