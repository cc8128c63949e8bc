#!/bin/sh
# The names of classes stay with what was trained by them: texts of a column are classes in natural order, and with class
# folders they are kept beside the checkpoint. Data with other classes, or the same ones in another order, are refused by
# name, and predictions and matrices have the names.
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/mine" >"$folder/out"
PUB=$folder/mine.pub.pem
loader=trainer.fit.train_dataloader
awk 'BEGIN { split("lily rose10 rose9", names, " ")
             print "a,b,species"
             for (i = 0; i < 60; i++) printf "%d,%d,%s\n", i * 37 % 50 + 100 * (i % 3), i * 53 % 60, names[i % 3 + 1]
     }' >"$folder/f.csv"
# By number: lily 0, rose9 1, rose10 2, because names are ordered as class folders are.
sed 's/lily$/0/; s/rose9$/1/; s/rose10$/2/' "$folder/f.csv" >"$folder/numbers.csv"
cut -d , -f 1,2 "$folder/f.csv" >"$folder/x.csv"
cut -d , -f 3 "$folder/f.csv" >"$folder/y.csv"
{
    head -n 1 "$folder/f.csv"
    tail -n +2 "$folder/f.csv" | sort -t , -k 3,3r -k 1,1n -s
} >"$folder/sorted.csv"

# compile NAME [OPTION]...: the plans of a network of two numbers and three classes
compile() {
    name=$1
    shift
    expect "plans $name" 0 "" "$FIRNC" compile compiler/recipes/table.yaml --all --key "$folder/mine.key.pem" -o "$folder/$name" \
        --set $loader.held_out_per_mille=0 --set $loader.batch_size=10 --set $loader.normalise=null \
        --set $loader.normalise_targets=null --set $loader.label_type=int32 --set trainer.init.model.loss=cross_entropy \
        --set trainer.init.model.input_size=2 --set trainer.init.model.output_size=3 \
        --set trainer.validate.metric=mean_per_class_accuracy "$@"
}
compile plans
compile two --set trainer.init.model.output_size=2
compile four --set trainer.init.model.output_size=4

firn() {
    "$FIRN" "$@" --pub "$PUB"
}
# train CHECKPOINT DATA [OPTION]...
train() {
    kept=$1
    data=$2
    shift 2
    firn train "$folder/plans/train.plan" --data "$folder/$data" --steps 3 --checkpoint "$folder/$kept" "$@"
}
# evaluate CHECKPOINT DATA [OPTION]...
evaluate() {
    kept=$1
    data=$2
    shift 2
    firn eval "$folder/plans/eval.plan" --data "$folder/$data" --allow-other-data --checkpoint "$folder/$kept" "$@"
}
predict() {
    kept=$1
    data=$2
    shift 2
    firn predict "$folder/plans/predict.plan" --data "$folder/$data" --checkpoint "$folder/$kept" --format csv -o "$folder/p.csv" "$@"
}

# --- texts of a column ------------------------------------------------------------------------------------------------

expect "names" 0 "" train a.ckpt f.csv --target-column species
grep -q "f.csv: 3 classes: 0 lily, 1 rose9, 2 rose10" "$folder/err" || fail "it is not said how classes are numbered"
cp "$folder/out" "$folder/digest"
grep -q '"classes":.*"lily", "rose9", "rose10"' "$folder/a.ckpt.columns" || fail "the names are not kept"
expect "numbers" 0 "" train n.ckpt numbers.csv --target-column species
same "names and numbers are two runs" "$folder/out" "$folder/digest"
expect "names of their own file" 0 "" firn train "$folder/plans/train.plan" --data "$folder/x.csv" --labels "$folder/y.csv" --steps 3
same "a file of names is another run" "$folder/out" "$folder/digest"
# Without a header the first label would be taken for one: it is a class of the rows below it, or of the training.
tail -n +2 "$folder/y.csv" >"$folder/bare.csv"
tail -n +2 "$folder/x.csv" >"$folder/x_bare.csv"
bare='bare.csv: row 1 is [a-z0-9]*, which is a class, too, and so may be .* --header yes or --header no$'
expect "labels without a header" 1 "$bare" firn train "$folder/plans/train.plan" --data "$folder/x.csv" --labels "$folder/bare.csv" --steps 3
expect "no header" 0 "" firn train "$folder/plans/train.plan" --data "$folder/x_bare.csv" --labels "$folder/bare.csv" --header no --steps 3
same "labels without a header are another run" "$folder/out" "$folder/digest"
sed '1s/.*/lily/' "$folder/y.csv" >"$folder/named.csv"
expect "a column of the name of a class" 0 "" firn train "$folder/plans/train.plan" --data "$folder/x.csv" --labels "$folder/named.csv" \
    --header yes --steps 3
same "a column of the name of a class is another run" "$folder/out" "$folder/digest"
head -n 20 "$folder/f.csv" >"$folder/first.csv"
{
    head -n 1 "$folder/f.csv"
    tail -n +21 "$folder/f.csv" | grep -v lily
} >"$folder/second.csv"
for way in "first.csv second.csv" "second.csv first.csv"; do
    expect "two tables, $way" 0 "" firn train "$folder/plans/train.plan" --data "$folder/${way% *}" --data "$folder/${way#* }" \
        --target-column species --steps 1
    grep -q "3 classes: 0 lily, 1 rose9, 2 rose10" "$folder/err" || fail "the order of tables numbers the classes"
done
expect "what a file holds" 0 "" "$FIRN" data "$folder/f.csv" --target-column species --classes-output "$folder/names" \
    --convert-labels "$folder/y.npy"
grep -q "^  counts             0 lily: 20, 1 rose9: 20, 2 rose10: 20" "$folder/out" || fail "firn data does not show the names"
[ "$(cat "$folder/names")" = "$(printf 'lily\nrose9\nrose10')" ] || fail "the names are not written"
expect "converted labels" 0 "" firn train "$folder/plans/train.plan" --data "$folder/x.csv" --labels "$folder/y.npy" --steps 3
same "converted labels are another run" "$folder/out" "$folder/digest"
expect "statistics" 0 "1 target" "$FIRN" data-statistics "$folder/f.csv" --target-column species -o "$folder/f.json"
expect "a class without a record" 0 "" firn train "$folder/four/train.plan" --data "$folder/f.csv" --target-column species --steps 1
grep -q "1 of the 4 classes of the plan" "$folder/err" || fail "a class without a name is not noted"

# Later data have these classes by their names, in whatever order and number.
expect "a prediction" 0 "" predict a.ckpt f.csv
[ "$(head -n 1 "$folder/p.csv")" = row,predicted,class,lily,rose9,rose10 ] || fail "no names: $(head -n 1 "$folder/p.csv")"
expect "a matrix" 0 "" evaluate a.ckpt f.csv --confusion "$folder/m.csv" --per-class
cp "$folder/out" "$folder/each"
[ "$(head -n 1 "$folder/m.csv")" = label,lily,rose9,rose10 ] || fail "no names: $(head -n 1 "$folder/m.csv")"
grep -q '^rose9,' "$folder/each" || fail "no names of each class"
expect "sorted rows" 0 "" evaluate a.ckpt sorted.csv --confusion "$folder/m2.csv"
same "the order of the rows numbers the classes" "$folder/m.csv" "$folder/m2.csv"
grep -v rose9 "$folder/f.csv" >"$folder/without.csv"
expect "a class that is not there" 0 "" evaluate a.ckpt without.csv --confusion "$folder/m3.csv"
[ "$(sed -n 2p "$folder/m.csv")$(sed -n 4p "$folder/m.csv")" = "$(sed -n 2p "$folder/m3.csv")$(sed -n 4p "$folder/m3.csv")" ] ||
    fail "classes are numbered anew where one is not there"
expect "the names of the training" 0 "" predict a.ckpt f.csv --classes "$folder/names"
printf 'lily\nrose10\nrose9\n' >"$folder/turned"
expect "names in another order" 1 "turned: line 2 is rose10, and class 1 of the checkpoint is rose9 (.*a.ckpt.columns)" \
    predict a.ckpt f.csv --classes "$folder/turned"
expect "a matrix of such names" 1 "turned: line 2 is rose10" evaluate a.ckpt f.csv --confusion "$folder/m2.csv" --classes "$folder/turned"
expect "the run goes on" 0 "" train a.ckpt f.csv --target-column species --resume
expect "with other data" 0 "" train a.ckpt without.csv --target-column species --resume --allow-other-data
expect "a prediction of both" 0 "" predict a.ckpt f.csv
grep -q later_data "$folder/a.ckpt.columns" || fail "the other data are not kept"
expect "with the first data" 0 "" train a.ckpt f.csv --target-column species --resume --allow-other-data
expect "a prediction of all" 0 "" predict a.ckpt f.csv
# Without its names a run goes on, says so, and keeps none: those of other data may be others.
cp "$folder/a.ckpt" "$folder/without.ckpt"
expect "without its names" 0 "" train without.ckpt without.csv --target-column species --resume --allow-other-data
grep -q "without.ckpt has no names of classes beside it" "$folder/err" || fail "a run goes on without names, and nothing is said"
[ ! -e "$folder/without.ckpt.columns" ] || fail "names of other data are kept for a run"
sed 's/"lily", "rose9"/"rose9", "lily"/' "$folder/a.ckpt.columns" >"$folder/edited"
cp "$folder/a.ckpt" "$folder/e.ckpt"
cp "$folder/edited" "$folder/e.ckpt.columns"
expect "edited names" 1 "was changed after firn had written it" predict e.ckpt f.csv
rm "$folder/e.ckpt.columns"
expect "no names" 0 "" evaluate e.ckpt f.csv --target-column species
grep -q "e.ckpt has no names of classes beside it (.columns), so the classes are numbered in their order here: lily, rose9, rose10" \
    "$folder/err" || fail "unknown names are not noted"
expect "numbers, and no names" 0 "" evaluate n.ckpt numbers.csv
! grep -q "names of classes" "$folder/err" || fail "names are missed where there are none"
expect "a validation" 0 "" train v.ckpt f.csv --target-column species --eval "$folder/plans/eval.plan" --eval-data "$folder/without.csv"
expect "no name that the plan has" 1 "is none of the 3 classes" train v.ckpt2 f.csv --target-column species \
    --eval "$folder/plans/eval.plan" --eval-data "$folder/numbers.csv"

# refuses NAME PATTERN SCRIPT [OPTION]...: a table that the script of sed makes is refused
refuses() {
    name=$1
    pattern=$2
    sed "$3" "$folder/${from:-f.csv}" >"$folder/bad.csv"
    expect "$name" 1 "bad.csv: $pattern" firn train "$folder/${plans:-plans}/train.plan" --data "$folder/bad.csv" \
        --target-column species --checkpoint "$folder/bad.ckpt" --steps 1
}
refuses "a number among names" "row 5 (line 5), column 3 (species): '7' is a number, and the label of the first record is a name" '5s/[a-z0-9]*$/7/'
from=numbers.csv
refuses "a name among numbers" "row 5 (line 5), column 3 (species): 'lily' is a name, and the label of the first record is a number" '5s/[0-9]*$/lily/'
refuses "a decimal comma" "row 5 (line 5), column 3 (species): '1,5' is no number .*decimal comma" '5s/[0-9]*$/"1,5"/'
from=
refuses "no name" "row 5 (line 5), column 3 (species): the value is missing" '5s/[a-z0-9]*$//'
refuses "NA" "row 5 (line 5), column 3 (species): the value is missing" '5s/[a-z0-9]*$/NA/'
refuses "no name at first" "row 2 (line 2), column 3 (species): the value is missing" '2s/[a-z0-9]*$//'
plans=two
refuses "one class more" "row 4 (line 4), column 3 (species): 'rose9' is one more than the 2 classes that the plan has: lily, rose10" ''
sed 's/rose9$/lily/' "$folder/f.csv" >"$folder/bad2.csv"
sed 's/rose10$/rose9/' "$folder/f.csv" >"$folder/bad3.csv"
expect "one class more in another table" 1 "and the other tables have 3 classes (lily, rose9, rose10), and the plan has 2" firn train \
    "$folder/two/train.plan" --data "$folder/bad2.csv" --data "$folder/bad3.csv" --target-column species --steps 1
plans=
expect "names and numbers" 1 "numbers.csv: has classes as numbers, and .*f.csv has them as names, such as lily" firn train \
    "$folder/plans/train.plan" --data "$folder/f.csv" --data "$folder/numbers.csv" --target-column species --steps 1
sed 's/lily/Lily/' "$folder/f.csv" >"$folder/capital.csv"
expect "another name" 1 "'Lily' is none of the 3 classes that the model was trained with: lily, rose9, rose10" evaluate a.ckpt capital.csv
expect "numbers for names" 1 "'0' is none of the 3 classes" evaluate a.ckpt numbers.csv
awk 'BEGIN { print "a,y"; for (i = 0; i < 4097; i++) print i ",n" i }' >"$folder/many.csv"
expect "too many classes" 1 "'n4096' is one more than the 4096 classes that may have names" "$FIRN" data "$folder/many.csv" --target-column y
expect "names for a regression" 1 "'lily' is no number" "$FIRN" train "$folder/plans/train.plan" --pub "$PUB" \
    --data "$folder/f.csv" --target-column a --steps 1
[ ! -e "$folder/bad.ckpt" ] && [ ! -e "$folder/bad.ckpt.columns" ] || fail "what was refused leaves a checkpoint"

# A name that the table needs for a column of its own.
sed 's/lily/label/' "$folder/f.csv" >"$folder/label.csv"
expect "a class label" 0 "" train l.ckpt label.csv --target-column species
expect "its matrix" 0 "" evaluate l.ckpt label.csv --confusion "$folder/m2.csv"
grep -q "names of the classes are left out, because label is the name of another column" "$folder/err" || fail "no note of the class label"
[ "$(head -n 1 "$folder/m2.csv")" = label,0,1,2 ] || fail "a matrix with two columns label"
printf 'a label\nrose9\nrose10\n' >"$folder/other"
expect "its other name" 0 "" evaluate l.ckpt label.csv --confusion "$folder/m2.csv" --classes "$folder/other"

# --- class folders ----------------------------------------------------------------------------------------------------

images=tests/fuzz/corpus/images
if "$FIRN" data $images/grey.png >"$folder/out" 2>&1; then
    for class in cat dog; do
        mkdir -p "$folder/new/$class" "$folder/pets/$class"
        cp $images/grey.png $images/bits.png "$folder/pets/$class"
        cp $images/grey.png "$folder/new/$class"
    done
    for mode in train eval; do
        expect "a plan of images" 0 "" "$FIRNC" compile compiler/recipes/small_mlp.yaml --mode $mode --key "$folder/mine.key.pem" \
            -o "$folder/$mode.plan" --set trainer.init.precision.enabled=false \
            --set 'trainer.init.model={name: mlp, input_size: 360, hidden_sizes: [], output_size: 2}' \
            --set "$loader={batch_size: 2, feature_type: uint8, feature_scale: 0.01}" \
            --set 'trainer.validate={metric: mean_per_class_accuracy, val_dataloader: {batch_size: 1}}'
    done
    expect "class folders" 0 "" firn train "$folder/train.plan" --data "$folder/pets" --checkpoint "$folder/pets.ckpt" --steps 2
    grep -q '"classes":.*"cat", "dog"' "$folder/pets.ckpt.columns" || fail "the names of class folders are not kept"
    # pets FOLDER [OPTION]...
    pets() {
        data=$1
        shift
        firn eval "$folder/eval.plan" --data "$folder/$data" --checkpoint "$folder/pets.ckpt" --allow-other-data "$@"
    }
    expect "an evaluation" 0 "" pets new --confusion "$folder/m.csv"
    [ "$(head -n 1 "$folder/m.csv")" = label,cat,dog ] || fail "a matrix without the names of class folders"
    mv "$folder/new/cat" "$folder/new/eel"
    expect "another order" 1 "new: its class 0 is dog, and that of the checkpoint is cat (.*pets.ckpt.columns)" pets new
    mv "$folder/new/eel" "$folder/new/ant"
    expect "another name" 1 "new: its class 0 is ant, and that of the checkpoint is cat" pets new --confusion "$folder/m.csv"
    [ ! -s "$folder/out" ] || fail "a metric of other classes"
    mv "$folder/pets/cat" "$folder/pets/ant"
    expect "the run goes on with other names" 1 "pets: its class 0 is ant, and that of the checkpoint is cat" firn train \
        "$folder/train.plan" --data "$folder/pets" --checkpoint "$folder/pets.ckpt" --resume
    rm "$folder/pets.ckpt.columns"
    expect "no names" 0 "" pets new
    grep -q "pets.ckpt has no names of classes beside it" "$folder/err" || fail "unknown names of class folders are not noted"
fi

[ $failures -eq 0 ]
