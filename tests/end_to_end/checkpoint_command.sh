#!/bin/sh
# firn checkpoint says how far the run of a checkpoint is, whose it is, and what is in it and beside it: the hashes are
# those of the plan, the digest is that of the run. Files that are no checkpoint, or are damaged, are refused.
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/mine" >"$folder/out"
loader=trainer.fit.train_dataloader
awk 'BEGIN { split("lily rose", names, " "); print "a,b,species"
             for (i = 0; i < 40; i++) printf "%d,%d,%s\n", i * 37 % 50, i * 53 % 60, names[i % 2 + 1] }' >"$folder/t.csv"
expect "a plan" 0 "" "$FIRNC" compile compiler/recipes/table.yaml --mode train --key "$folder/mine.key.pem" -o "$folder/plan" \
    --set $loader.held_out_per_mille=100 --set $loader.batch_size=10 --set $loader.normalise=null \
    --set $loader.normalise_targets=null --set $loader.label_type=int32 --set trainer.init.model.loss=cross_entropy \
    --set trainer.init.model.input_size=2 --set trainer.init.model.output_size=2 --set trainer.validate.metric=accuracy
expect "its hashes" 0 "" "$FIRNC" inspect "$folder/plan" --all
cp "$folder/out" "$folder/inspected"
expect "a run" 0 "" "$FIRN" train "$folder/plan" --pub "$folder/mine.pub.pem" --data "$folder/t.csv" --target-column species \
    --steps 7 --checkpoint "$folder/run.ckpt"
cp "$folder/out" "$folder/digest"

# says NAME VALUE: the line has this value
says() {
    grep -q "^$1  *$2\$" "$folder/out" || fail "no line '$1' with '$2'"
}
# value NAME FILE: what stands behind the name
value() {
    sed -n "s/^$1  *//p" "$2"
}
expect "the checkpoint" 0 "" "$FIRN" checkpoint "$folder/run.ckpt"
cp "$folder/out" "$folder/first"
says checkpoint "$folder/run.ckpt"
says step 7
says "optimizer steps" 7
says "samples read" 70
says "run hash" "$(value "run hash" "$folder/inspected")"
says "model hash" "$(value "model hash" "$folder/inspected")"
says "continues run" none
says "device key" none
says digest "$(value digest "$folder/digest")"
says "columns file" "$folder/run.ckpt.columns: 2 columns, 1 target, 2 classes"
parameters=$(value parameters "$folder/inspected" | tr -d ,)
says parameters "$parameters numbers in .* tensors, $((4 * parameters)) bytes"
expect "its data" 0 "" "$FIRN" data "$folder/t.csv" --target-column species --plan "$folder/plan" --pub "$folder/mine.pub.pem"
hash=$(sed -n 's/^  data hash  *//p' "$folder/out")
cp "$folder/first" "$folder/out"
says "data hash" "$hash"

sed -i 's/lily/rosy/' "$folder/run.ckpt.columns"
: >"$folder/run.ckpt.tmp"
expect "what is beside it" 0 "" "$FIRN" checkpoint "$folder/run.ckpt"
says "columns file" ".*was changed after firn had written it, and is refused"
says "beside it" "$folder/run.ckpt.tmp: a save that .*"
echo '["x"' >"$folder/run.ckpt.columns"
expect "no list" 0 "" "$FIRN" checkpoint "$folder/run.ckpt"
says "columns file" ".*is no list of the columns of a table, and is refused"
rm "$folder/run.ckpt.columns"
expect "no columns" 0 "" "$FIRN" checkpoint "$folder/run.ckpt"
says "columns file" none

# --- other files ------------------------------------------------------------------------------------------------------

expect "a plan" 3 "begins like a plan, and not like a checkpoint" "$FIRN" checkpoint "$folder/plan"
head -c 2000 "$folder/run.ckpt" >"$folder/cut"
expect "half a checkpoint" 3 "CHECKPOINT_DAMAGED" "$FIRN" checkpoint "$folder/cut"
: >"$folder/empty"
expect "an empty file" 3 "empty: .*CHECKPOINT_" "$FIRN" checkpoint "$folder/empty"
expect "no file" 1 "none: cannot be read" "$FIRN" checkpoint "$folder/none"
status=0
"$FIRN" checkpoint "$folder/run.ckpt" >/dev/full 2>"$folder/err" || status=$?
[ "$status" -eq 1 ] && grep -q "^firn: stdout: " "$folder/err" || fail "a full disk: exit $status"

[ "$failures" -eq 0 ]
