#!/bin/sh
# The names of columns stay with what was trained by them: other columns of a table are refused, whoever chooses them.
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/mine" >"$folder/out"
PUB=$folder/mine.pub.pem
loader=trainer.fit.train_dataloader
awk 'BEGIN { print "age,area,rooms,price"
             for (i = 0; i < 100; i++) printf "%d,%d,%d,%d\n", i * 37 % 90, 40 + i * 53 % 260, 1 + i * 29 % 7, 1000 + i * 71 % 500
     }' >"$folder/h.csv"
awk -F , '{ print $4 "," $3 "," $2 "," $1 }' "$folder/h.csv" >"$folder/turned.csv"
tail -n +2 "$folder/h.csv" >"$folder/bare.csv"

compile() {
    "$FIRNC" compile compiler/recipes/table.yaml --key "$folder/mine.key.pem" --set $loader.held_out_per_mille=0 \
        --set $loader.batch_size=10 "$@"
}
plain() {
    "$FIRN" "$@" --pub "$PUB" --quiet
}
# train PLANS NAME [OPTION...]: a short training that is kept as NAME.
train() {
    plans=$1
    name=$2
    shift 2
    plain train "$folder/$plans/train.plan" --data "$folder/h.csv" --checkpoint "$folder/$name" --steps 2 "$@"
}
# predict PLANS NAME DATA [OPTION...]
predict() {
    plans=$1
    name=$2
    data=$3
    shift 3
    plain predict "$folder/$plans/predict.plan" --data "$folder/$data" --checkpoint "$folder/$name" -o "$folder/p.csv" "$@"
}
expect statistics 0 "" "$FIRN" data-statistics "$folder/h.csv" --target-column price -o "$folder/h.json"
expect plans 0 "" compile --all --statistics "$folder/h.json" -o "$folder/named"

# --- options beside a plan with names --------------------------------------------------------------------------------

expect "the same columns by name" 0 "" train named a.ckpt --columns age,area,rooms --target-column price
expect "the same columns by number" 0 "" train named b.ckpt --columns 1,2,3 --target-column 4
same "by name and by number" "$folder/a.ckpt" "$folder/b.ckpt"
swapped='--columns reads column rooms where the model was trained with age; leave it out, or choose the same columns in'
expect "swapped columns" 1 "$swapped" train named c.ckpt --columns rooms,area,age
expect "swapped columns by number" 1 "$swapped" train named c.ckpt --columns 3,2,1 --target-column price
expect "the target as a feature" 1 "--target-column reads column rooms where the model was trained to predict price" \
    train named c.ckpt --columns age,area,price --target-column rooms
expect "fewer columns" 1 "--columns chooses 2 columns, and the model was trained with 3" train named c.ckpt --columns age,area
[ ! -e "$folder/c.ckpt" ] || fail "a refused choice of columns leaves a checkpoint"
expect "a prediction of swapped columns" 1 "$swapped" predict named a.ckpt h.csv --columns rooms,area,age
expect "a prediction" 0 "" predict named a.ckpt h.csv
cp "$folder/p.csv" "$folder/wanted.csv"
expect "of the same columns" 0 "" predict named a.ckpt turned.csv --columns 4,3,2
same "the same columns by other numbers" "$folder/p.csv" "$folder/wanted.csv"
expect "an evaluation of swapped columns" 1 "$swapped" plain eval "$folder/named/eval.plan" --data "$folder/h.csv" \
    --checkpoint "$folder/a.ckpt" --columns rooms,area,age
expect "an evaluation of another target" 1 "column rooms is a feature of the model" plain eval "$folder/named/eval.plan" \
    --data "$folder/h.csv" --checkpoint "$folder/a.ckpt" --target-column rooms
expect "no names" 1 "by their numbers: --columns 1,2,3\$" predict named a.ckpt bare.csv
expect "no names, and a target" 1 "by their numbers: --columns 1,2,3 --target-column 4\$" plain train \
    "$folder/named/train.plan" --data "$folder/bare.csv" --steps 1

# --- names beside the checkpoint -------------------------------------------------------------------------------------

bare="--set $loader.normalise=null --set $loader.normalise_targets=null"
expect "statistics of turned columns" 0 "" "$FIRN" data-statistics "$folder/h.csv" --columns rooms,area,age \
    --target-column price -o "$folder/turned.json"
# shellcheck disable=SC2086
for name in h turned; do
    expect "plans of the names in $name" 0 "" compile --all $bare --statistics "$folder/$name.json" -o "$folder/of_$name"
done
# shellcheck disable=SC2086
expect "plans without names" 0 "" compile --all $bare --set trainer.init.model.input_size=3 \
    --set trainer.init.model.output_size=1 -o "$folder/none"
expect "a training" 0 "" train of_h d.ckpt
grep -q '"sha256"' "$folder/d.ckpt.columns" || fail "the names have no hash"
expect "its prediction" 0 "" predict of_h d.ckpt h.csv
cp "$folder/p.csv" "$folder/wanted.csv"
expect "a plan of other names" 3 "its column 1 is rooms, and that of the checkpoint is age" predict of_turned d.ckpt h.csv
same "a refused plan leaves the prediction" "$folder/p.csv" "$folder/wanted.csv"
expect "an evaluation by it" 3 "its column 1 is rooms" plain eval "$folder/of_turned/eval.plan" --data "$folder/h.csv" \
    --checkpoint "$folder/d.ckpt"
expect "the run goes on" 0 "" train of_h d.ckpt --resume
expect "a prediction of its state" 0 "" predict of_h d.ckpt h.csv
cp "$folder/p.csv" "$folder/wanted.csv"
expect "a plan without names" 0 "" predict none d.ckpt turned.csv
same "the names beside the checkpoint" "$folder/p.csv" "$folder/wanted.csv"
cp "$folder/d.ckpt.columns" "$folder/columns"
for edit in 's/"age", "area"/"area", "age"/' 's/"age"/"price"/' 's/"targets":.*"price"/"targets": ["rooms"/' \
    's/"sha256":.*/"sha256": 1/' 's/"run"/"more": 1, "run"/'; do
    sed "$edit" "$folder/columns" >"$folder/d.ckpt.columns"
    ! cmp -s "$folder/columns" "$folder/d.ckpt.columns" || fail "$edit changes nothing"
    for plans in of_h none; do
        expect "names edited by $edit" 1 "was changed after firn had written it" predict $plans d.ckpt h.csv
    done
done
grep -v '"sha256"' "$folder/columns" | sed 's/"targets":.*/"targets": ["price"]/' >"$folder/d.ckpt.columns"
expect "names of an older firn" 0 "" predict none d.ckpt turned.csv
same "names without a hash" "$folder/p.csv" "$folder/wanted.csv"
rm "$folder/d.ckpt.columns"
expect "the names of the plan alone" 0 "" predict of_h d.ckpt turned.csv
same "the names of the plan" "$folder/p.csv" "$folder/wanted.csv"
expect "no names" 0 "" "$FIRN" predict "$folder/none/predict.plan" --pub "$PUB" --data "$folder/turned.csv" \
    --checkpoint "$folder/d.ckpt" -o "$folder/p.csv" --columns 4,3,2
! grep -q "in their order" "$folder/err" || fail "columns that are chosen are noted"
expect "no names, and none chosen" 0 "" "$FIRN" predict "$folder/none/predict.plan" --pub "$PUB" --data "$folder/h.csv" \
    --checkpoint "$folder/d.ckpt" -o "$folder/p.csv" --target-column price
[ "$(grep -c "d.ckpt has no names of columns beside it (.columns), so the columns of the table are read in their order" \
    "$folder/err")" -eq 1 ] || fail "columns in their order are not noted once"

# A run that goes on with other data keeps its names.
head -n 61 "$folder/h.csv" >"$folder/other.csv"
expect "a training that goes on" 0 "" train of_h e.ckpt
expect "its other data" 0 "" plain train "$folder/of_h/train.plan" --data "$folder/other.csv" --checkpoint "$folder/e.ckpt" \
    --resume --allow-other-data --steps 2
expect "a prediction of it" 0 "" predict of_h e.ckpt h.csv

# --- what says nothing -----------------------------------------------------------------------------------------------

awk -F , 'NR == 1 { print; next } { print $1 "," $2 "," $3 ",5" }' "$folder/h.csv" >"$folder/constant.csv"
expect "statistics of a constant target" 0 "" "$FIRN" data-statistics "$folder/constant.csv" --target-column price \
    -o "$folder/constant.json"
expect "a plan of it" 0 "" compile --mode train --statistics "$folder/constant.json" -o "$folder/constant.plan"
grep -q "warning: target 1 (price) is the same in every record of the statistics, and becomes 0; there is nothing" \
    "$folder/err" || fail "a constant target is not warned of"
for zero in 'scale: 0|1' 'scale: [1, 2, -0.0]|3'; do
    # shellcheck disable=SC2086
    expect "${zero%|*}" 0 "" compile --mode train --statistics "$folder/h.json" -o "$folder/zero.plan" $bare \
        --set "$loader.normalise={${zero%|*}}"
    grep -q "warning: number ${zero#*|} is 0: what it scales is the same" "$folder/err" || fail "${zero%|*} is not warned of"
done

# --- statistics of other targets -------------------------------------------------------------------------------------

tail -n +2 "$folder/h.csv" | cut -d , -f 1-3 | { echo age,area,rooms; cat; } >"$folder/x.csv"
cut -d , -f 4 "$folder/h.csv" >"$folder/y.csv"
awk 'NR == 1 { print; next } { print 1000 * $1 - 7 }' "$folder/y.csv" >"$folder/z.csv"
for labels in y z; do
    expect "a training with targets $labels" 0 "" "$FIRN" train "$folder/named/train.plan" --pub "$PUB" \
        --data "$folder/x.csv" --labels "$folder/$labels.csv" --steps 1
    noted=$(grep -c "standardises by statistics of other targets than these" "$folder/err" || :)
    [ "$labels$noted" = y0 ] || [ "$labels$noted" = z1 ] || fail "targets $labels: $noted notes"
done
expect "a training with the table" 0 "" "$FIRN" train "$folder/named/train.plan" --pub "$PUB" --data "$folder/h.csv" --steps 1
! grep -q "standardises by statistics of other" "$folder/err" || fail "the targets of the statistics are noted as others"
grep -v targets_data "$folder/h.json" >"$folder/old.json"
expect "statistics of an older firn" 0 "" compile --mode train --statistics "$folder/old.json" -o "$folder/old.plan"
expect "their training" 0 "" "$FIRN" train "$folder/old.plan" --pub "$PUB" --data "$folder/x.csv" --labels "$folder/z.csv" --steps 1
sed 's/"targets_data":.*"\(.*\)"/"targets_data": "x"/' "$folder/h.json" >"$folder/damaged.json"
expect "a damaged hash" 1 "its targets_data is not the hash of 64" compile --mode train --statistics "$folder/damaged.json" \
    -o "$folder/old.plan"

# --- deviations that float32 rounds to 0 -----------------------------------------------------------------------------

printf 'a,y\n0,1\n1e-45,2\n' >"$folder/tiny.csv"
expect "a tiny deviation" 0 "" "$FIRN" data-statistics "$folder/tiny.csv" --target-column y -o "$folder/tiny.json"
grep -q "column 1 (a) is from 0 to 1.4.*e-45, and float32 has no deviation as small" "$folder/err" || fail "a tiny deviation is not noted"
sed '0,/"deviation":.*,/s//"deviation": 1e-60,/' "$folder/h.json" >"$folder/damaged.json"
expect "a deviation below float32" 1 "entry 1 of columns has no mean and deviation that are numbers of float32" compile \
    --mode train --statistics "$folder/damaged.json" -o "$folder/old.plan"

[ $failures -eq 0 ]
