#!/bin/sh
# What firn data, data-statistics and the notes before a run say is true of the data: integers of tables that float32
# rounds are noted with the first one, labels of -100 are no class, and a column is the same in every record only if it is.
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/mine" >"$folder/out"
loader=trainer.fit.train_dataloader

# says FILE LINE: the line is in the file
says() {
    grep -q -- "$2" "$folder/$1" || fail "no '$2'"
}

# --- integers that float32 rounds -------------------------------------------------------------------------------------

printf 'id,b,y\n16777216,5,1\n16777217,-5,2\n16777219.0,5,3\n1e20,7,2\n0.1,3,4\n-340000000000000000000,2,1\n' >"$folder/t.csv"
rounded="3 integers are no number of float32, and rounded: the first is row 3 (line 3), column 1 (id): 16777217 becomes 16777216"
expect "a table" 0 "" "$FIRN" data "$folder/t.csv"
[ "$(grep -c "$rounded" "$folder/out")" -eq 1 ] || fail "firn data does not show what is rounded once"
expect "plans" 0 "" "$FIRNC" compile compiler/recipes/table.yaml --mode train --key "$folder/mine.key.pem" -o "$folder/train" \
    --set $loader.held_out_per_mille=0 --set $loader.normalise=null --set $loader.normalise_targets=null \
    --set trainer.init.model.input_size=2 --set trainer.init.model.output_size=1 --set $loader.batch_size=2 --set trainer.init.loop.num_steps=1
expect "a training" 0 "" "$FIRN" train "$folder/train" --pub "$folder/mine.pub.pem" --data "$folder/t.csv" --target-column y --steps 0
[ "$(grep -c "t.csv: $rounded" "$folder/err")" -eq 1 ] || fail "a training does not note what is rounded once"
expect "a quiet training" 0 "" "$FIRN" train "$folder/train" --pub "$folder/mine.pub.pem" --data "$folder/t.csv" --target-column y \
    --steps 0 --quiet
[ ! -s "$folder/err" ] || fail "--quiet notes"
expect "statistics" 0 "" "$FIRN" data-statistics "$folder/t.csv" --target-column y -o "$folder/t.json"
says err "t.csv: $rounded"
printf 'a,y\n16777216,1\n4294967296,2\n0016777218.00,3\n18446744073709551616,2\n16777217.5,2\n1.6777217e7,3\n' >"$folder/exact.csv"
expect "what float32 holds" 0 "" "$FIRN" data "$folder/exact.csv"
! grep -q "rounded" "$folder/out" || fail "what is exact, or has a fraction, is noted"
printf 'a,y\n1,16777217\n2,3\n' >"$folder/target.csv"
expect "a target" 0 "" "$FIRN" data "$folder/target.csv" --target-column y
says out "1 integer is no number of float32, and rounded: row 2 (line 2), column 2 (y): 16777217 becomes 16777216"

# --- labels that are ignored ------------------------------------------------------------------------------------------

printf 'a,y\n1,0\n2,1\n3,-100\n4,1\n' >"$folder/flow.csv"
expect "ignored labels" 0 "" "$FIRN" data "$folder/flow.csv" --target-column y
says out "^  classes            2, from 0 to 1$"
says out "^  counts             0: 1, 1: 2$"
says out "^  ignored            1 label is -100, which is no class"
printf 'a,y\n1,-100\n2,-100\n' >"$folder/flow.csv"
expect "nothing but ignored labels" 0 "" "$FIRN" data "$folder/flow.csv" --target-column y
says out "^  classes            0$"
says out "^  ignored            2 labels are -100"
printf 'a,y\n1,-100\n2,1\n3,2\n' >"$folder/flow.csv"
expect "classes from 1" 0 "" "$FIRN" data "$folder/flow.csv" --target-column y
says out "^  warning            the classes begin at 1"
printf 'a,y\n1,-101\n2,-99\n' >"$folder/flow.csv"
expect "other numbers" 0 "" "$FIRN" data "$folder/flow.csv" --target-column y
says out "^  counts             -101: 1, -99: 1$"
! grep -q ignored "$folder/out" || fail "labels are ignored that are not there"

# --- the same in every record -----------------------------------------------------------------------------------------

printf 'a,b,c,y\n16777216,5,3,1\n16777217,5,3,2\n16777216,5,3,3\n16777217,7,3,2\n' >"$folder/s.csv"
expect "statistics of all" 0 "" "$FIRN" data-statistics "$folder/s.csv" --target-column y -o "$folder/s.json"
says err "column 1 (a) is 16777216 in every record, as float32 rounds it: it says nothing"
says err "column 3 (c) is 3 in every record: it says nothing"
! grep -q "column 2" "$folder/err" || fail "a column that varies is the same"
expect "statistics of a part" 0 "" "$FIRN" data-statistics "$folder/s.csv" --target-column y --held-out-per-mille 250 -o "$folder/s.json"
says err "column 2 (b) is 5 in every record that is not held out: it says nothing"
printf 'a,y\n0,1\n1e-45,2\n' >"$folder/tiny.csv"
expect "a tiny deviation" 0 "" "$FIRN" data-statistics "$folder/tiny.csv" --target-column y -o "$folder/tiny.json"
expect "a plan of it" 0 "" "$FIRNC" compile compiler/recipes/table.yaml --mode train --key "$folder/mine.key.pem" -o "$folder/tiny" \
    --set $loader.held_out_per_mille=0 --set $loader.batch_size=2 --statistics "$folder/tiny.json"
says err "column 1 (a) has a deviation that float32 makes 0, and is not divided; multiply the column"
! grep -q "same in every record" "$folder/err" || fail "a column that varies is the same in a plan"

# --- the length of a run, and its schedule ----------------------------------------------------------------------------

for steps in 39 40; do
    expect "$steps steps" 0 "" "$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode train --key "$folder/mine.key.pem" \
        -o "$folder/short" --set trainer.init.loop.num_steps=$steps
    warned=$(grep -c "warning: the run ends after step 39, by --set, and its schedules reach their end at step 40: " "$folder/err" || :)
    [ "$steps$warned" = 391 ] || [ "$steps$warned" = 400 ] || fail "$steps steps: $warned warnings"
done

# --- the type of tokens -----------------------------------------------------------------------------------------------

for tokenizer in "" "--tokenizer tests/golden/tokens/llama3.json"; do
    # shellcheck disable=SC2086 # an option and its value
    expect "tokens $tokenizer" 0 "" "$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode train --key "$folder/mine.key.pem" \
        -o "$folder/tokens" --set trainer.init.model.vocab_size=400 $tokenizer
    warned=$(grep -c "token_type is taken as int32" "$folder/err" || :)
    [ "${tokenizer:+named}$warned" = 1 ] || [ "${tokenizer:+named}$warned" = named0 ] || fail "tokens $tokenizer: $warned warnings"
done

[ $failures -eq 0 ]
