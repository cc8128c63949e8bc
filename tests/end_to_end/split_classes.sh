#!/bin/sh
# Classes that the part of the data that is trained on, or the part that is held out, lacks are noted before a run and by
# firn data, with the mend; records in which the classes take turns give no note.
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/mine" >"$folder/out"
loader=trainer.fit.train_dataloader

# table FILE RECORDS ORDER: records of three classes, which take turns, are sorted, or come last but for one record
table() {
    awk -v n="$2" -v order="$3" 'BEGIN {
        split("setosa versicolor virginica", names, " ")
        print "a,b,species"
        for (i = 0; i < n; i++) {
            class = order == "turns" ? i % 3 : order == "sorted" ? int(3 * i / n) : i < n - 1 ? i % 2 : 2
            printf "%d,%d,%s\n", i * 37 % 50, i * 53 % 60, names[class + 1]
        } }' >"$1"
}
table "$folder/turns.csv" 60 turns
table "$folder/sorted.csv" 60 sorted
table "$folder/last.csv" 60 last

expect "plans" 0 "" "$FIRNC" compile compiler/recipes/table.yaml --all --key "$folder/mine.key.pem" -o "$folder/plans" \
    --set $loader.held_out_per_mille=200 --set $loader.batch_size=10 --set $loader.normalise=null \
    --set $loader.normalise_targets=null --set $loader.label_type=int32 --set trainer.init.model.loss=cross_entropy \
    --set trainer.init.model.input_size=2 --set trainer.init.model.output_size=3 --set trainer.validate.metric=accuracy

# notes NAME COUNT PATTERN: the file has so many lines of the pattern
notes() {
    [ "$(grep -c -- "$3" "$folder/err" || :)" -eq "$2" ] || fail "$1: not $2 lines '$3'"
}
# train DATA [OPTION]...
train() {
    data=$folder/$1
    shift
    "$FIRN" train "$folder/plans/train.plan" --pub "$folder/mine.pub.pem" --data "$data" --target-column species --steps 2 "$@"
}
lacks="the held-out part, the last 12 of 60 records, has 1 of the 3 classes, without 0 setosa, 1 versicolor: "
expect "sorted" 0 "" train sorted.csv --checkpoint "$folder/s.ckpt"
notes "sorted" 1 "sorted.csv: $lacks.*shuffle the records"
expect "sorted, with evaluations" 0 "" train sorted.csv --eval "$folder/plans/eval.plan"
notes "sorted, with evaluations" 1 "$lacks"
expect "sorted, quiet" 0 "" train sorted.csv --quiet
[ ! -s "$folder/err" ] || fail "--quiet notes"
expect "sorted, evaluated" 0 "" "$FIRN" eval "$folder/plans/eval.plan" --pub "$folder/mine.pub.pem" --data "$folder/sorted.csv" \
    --target-column species --checkpoint "$folder/s.ckpt"
notes "sorted, evaluated" 1 "$lacks"
expect "sorted, predicted" 0 "" "$FIRN" predict "$folder/plans/predict.plan" --pub "$folder/mine.pub.pem" \
    --data "$folder/sorted.csv" --target-column species --checkpoint "$folder/s.ckpt" -o "$folder/p.csv"
notes "sorted, predicted" 0 "$lacks"
expect "in turns" 0 "" train turns.csv --eval "$folder/plans/eval.plan"
notes "in turns" 0 "classes, without"
expect "the last record" 0 "" train last.csv
notes "the last record" 1 "last.csv: the part that is trained on has 2 of the 3 classes, without 2 virginica"

# --- firn data: with a plan, and of labels that are sorted ------------------------------------------------------------

expect "data with a plan" 0 "" "$FIRN" data "$folder/sorted.csv" --target-column species --plan "$folder/plans/train.plan" \
    --pub "$folder/mine.pub.pem"
notes "data with a plan" 1 "$lacks"
# warned FILE COUNT: so many warnings of firn data about labels that are sorted
warned() {
    expect "data of $1" 0 "" "$FIRN" data "$folder/$1" --target-column species
    [ "$(grep -c "^  warning  *the labels are sorted by class.*shuffle" "$folder/out" || :)" -eq "$2" ] ||
        fail "$1: not $2 warnings of sorted labels"
}
warned sorted.csv 1
warned turns.csv 0
warned last.csv 0
awk -F , 'NR == 1 || ! seen[$3]++' "$folder/turns.csv" >"$folder/one.csv"
warned one.csv 0

[ "$failures" -eq 0 ]
