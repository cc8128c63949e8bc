#!/bin/sh
# The last short batch of an evaluation counts on devices, too: on a Cortex-M7 and on RV32 the value of an evaluation over
# the state of one training has the bits that `firn eval` has, for batches of 1, 7 and 8 records and of all.
#
# Needs: boards
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/test" >"$folder/out"
PUB=$folder/test.pub.pem

head -c 276 /usr/share/common-licenses/GPL-3 | npy "$folder/records" '|u1' '(23, 12)'
head -c 23 /usr/share/common-licenses/GPL-3 | tr -c 'a-i' 'j' | tr 'a-j' '\000-\011' | npy "$folder/classes" '|u1' '(23,)'
sed -e 's/input_size: 784/input_size: 12/' -e 's/held_out_per_mille: 200/held_out_per_mille: 0/' \
    compiler/recipes/small_mlp.yaml >"$folder/mlp.yaml"
records="--data $folder/records --labels $folder/classes"
"$FIRNC" compile "$folder/mlp.yaml" --mode train --key "$folder/test.key.pem" -o "$folder/train" >"$folder/out"
# The data is split into words intentionally.
"$FIRN" train "$folder/train" --pub "$PUB" --checkpoint "$folder/run" --quiet --steps 3 $records >"$folder/out"

for case in "accuracy 1 8" "perplexity 1 7 8 23"; do
    metric=${case%% *}
    one=
    for batch in ${case#* }; do
        "$FIRNC" compile "$folder/mlp.yaml" --mode eval --key "$folder/test.key.pem" -o "$folder/eval" \
            --set trainer.validate.metric=$metric --set trainer.validate.val_dataloader.batch_size=$batch >"$folder/out"
        value=$("$FIRN" eval "$folder/eval" --pub "$PUB" --checkpoint "$folder/run" --quiet $records)
        for target in host cortex-m7 rv32; do
            cp "$folder/run" "$folder/state"
            make -s --no-print-directory BUILD="$BUILD" emulate TARGET=$target PUB="$PUB" PLAN="$folder/eval" \
                DATA="$folder/records" LABELS="$folder/classes" CHECKPOINT="$folder/state" STEPS=99 </dev/null \
                >"$folder/got" 2>"$folder/err" || fail "$target, $metric, batches of $batch: does not run"
            result=$(sed -n 's/^result //p' "$folder/got")
            [ -n "$one" ] || one=$result
            [ "$result" = "$one" ] || fail "$target, $metric, batches of $batch: $result, not $one"
        done
        awk -v a="${one% *}" -v b="$value" 'BEGIN { d = a - b; exit !(d < 1e-6 && d > -1e-6) }' ||
            fail "$metric, batches of $batch: firn eval has $value, the boards $one"
    done
    [ -n "$one" ] || fail "$metric: no value"
done

[ $failures -eq 0 ] || exit 1
