#!/bin/sh
# From a CSV with a header to a regression: the commands of runtime/TABLES.md, the statistics that a plan standardises by,
# and columns that are found by their names. What a plan standardises has the bits of data that NumPy has standardised.
#
# Needs: python
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/mine" >"$folder/out"
PUB=$folder/mine.pub.pem
recipe=compiler/recipes/table.yaml
loader=trainer.fit.train_dataloader
# 1,000 houses: their price follows from their columns, with noise.
awk 'BEGIN { seed = 7; print "age,area,rooms,price"
             for (i = 0; i < 1000; i++) {
                 seed = (seed * 1103515245 + 12345) % 2147483648; age = int(seed / 2147483648 * 90)
                 seed = (seed * 1103515245 + 12345) % 2147483648; area = 40 + int(seed / 2147483648 * 26000) / 100
                 seed = (seed * 1103515245 + 12345) % 2147483648; rooms = 1 + int(seed / 2147483648 * 7)
                 seed = (seed * 1103515245 + 12345) % 2147483648
                 printf "%d,%.2f,%d,%.0f\n", age, area, rooms,
                        50000 + 1800 * area - 900 * age + 12000 * rooms + (seed / 2147483648 - 0.5) * 8000 } }' >"$folder/houses.csv"

same() {
    cmp -s "$2" "$3" || fail "$1: $2 and $3 differ"
}
# refuses NAME TEXT COMMAND...: exit code 1, one line with the text.
refuses() {
    name=$1
    text=$2
    shift 2
    expect "$name" 1 "$text" "$@"
    [ "$(wc -l <"$folder/err")" -le 1 ] || fail "$name: more than one line: $(cat "$folder/err")"
}
statistics() {
    "$FIRN" data-statistics "$@"
}
compile() {
    "$FIRNC" compile "$recipe" --key "$folder/mine.key.pem" "$@"
}

# --- the commands of the page ---------------------------------------------------------------------------------------

expect statistics 0 "900 records, 3 columns and 1 target" statistics "$folder/houses.csv" --target-column price \
    --held-out-per-mille 100 -o "$folder/houses.json"
expect "a plan of each mode" 0 "" compile --all --statistics "$folder/houses.json" -o "$folder/houses"
expect training 0 "best.ckpt has the state of that step" "$FIRN" train "$folder/houses/train.plan" --pub "$PUB" \
    --data "$folder/houses.csv" --eval "$folder/houses/eval.plan" --log "$folder/log" --keep-best "$folder/best.ckpt" \
    --steps 400
expect evaluation 0 "" "$FIRN" eval "$folder/houses/eval.plan" --pub "$PUB" --data "$folder/houses.csv" \
    --checkpoint "$folder/best.ckpt"
value=$(cat "$folder/out")
awk -v value="$value" 'BEGIN { exit !(value < 1e8) }' || fail "the squared error is $value, and prices are spread by 1.4e5"
cut -d , -f 1-3 "$folder/houses.csv" >"$folder/new.csv"
predict() {
    data=$1
    shift
    "$FIRN" predict "$folder/houses/predict.plan" --pub "$PUB" --data "$folder/$data" --checkpoint "$folder/best.ckpt" \
        -o "$folder/p.csv" --quiet "$@"
}
expect "a table without the target" 0 "" predict new.csv
cp "$folder/p.csv" "$folder/wanted.csv"
[ "$(wc -l <"$folder/p.csv")" = 1000 ] || fail "a prediction for each row"
paste -d , "$folder/houses.csv" - <"$folder/p.csv" >/dev/null
tail -n +2 "$folder/houses.csv" | paste -d , - "$folder/p.csv" |
    awk -F , '{ d = $4 - $5; if (d * d > 30000 * 30000) exit 1 }' || fail "a prediction is far from its price"

# Fewer rows than a batch, as of one who asks about one house, and rows behind the last whole batch.
expect "a note of all rows" 0 "" "$FIRN" predict "$folder/houses/predict.plan" --pub "$PUB" --data "$folder/new.csv" \
    --checkpoint "$folder/best.ckpt" -o "$folder/p.csv"
grep -q '1000 samples, none held out; 31 batches of 32 and one of 8$' "$folder/err" || fail "no note of the last rows"
for rows in 1 5; do
    head -n $((rows + 1)) "$folder/new.csv" >"$folder/few.csv"
    head -n $rows "$folder/wanted.csv" >"$folder/few.wanted"
    expect "$rows rows" 0 "" predict few.csv
    same "$rows rows are predicted as they are among others" "$folder/p.csv" "$folder/few.wanted"
    expect "a note of $rows rows" 0 "" "$FIRN" predict "$folder/houses/predict.plan" --pub "$PUB" \
        --data "$folder/few.csv" --checkpoint "$folder/best.ckpt" -o "$folder/p.npy"
    grep -q "; 1 batch of $rows\$" "$folder/err" || fail "no note of $rows rows"
    expect "firn data about $rows rows" 0 "" "$FIRN" data "$folder/few.csv" --plan "$folder/houses/predict.plan" --pub "$PUB"
done
head -n 1 "$folder/new.csv" >"$folder/none.csv"
refuses "no row" "none.csv: " predict none.csv
cp "$folder/wanted.csv" "$folder/p.csv"

# --- columns by name: those of the plan ------------------------------------------------------------------------------

awk -F , '{ print $4 "," $3 "," (NR == 1 ? "note" : "x y") "," $1 "," $2 }' "$folder/houses.csv" >"$folder/turned.csv"
expect "columns in another order, and others" 0 "" predict turned.csv
same "columns are found by their names" "$folder/p.csv" "$folder/wanted.csv"
expect "an evaluation of them" 0 "" "$FIRN" eval "$folder/houses/eval.plan" --pub "$PUB" --data "$folder/turned.csv" \
    --checkpoint "$folder/best.ckpt"
[ "$(cat "$folder/out")" = "$value" ] || fail "the evaluation of turned columns has another value"
cut -d , -f 1,2 "$folder/houses.csv" >"$folder/fewer.csv"
refuses "a column is missing" "has no column rooms, which the model was trained with" predict fewer.csv
tail -n +2 "$folder/new.csv" >"$folder/bare.csv"
refuses "no header" "has no names of columns" predict bare.csv
expect "their numbers" 0 "" predict bare.csv --columns 1,2,3
same "columns by their numbers" "$folder/p.csv" "$folder/wanted.csv"
refuses "no target to evaluate" "has no column price, which the model was trained to predict" "$FIRN" eval \
    "$folder/houses/eval.plan" --pub "$PUB" --data "$folder/new.csv" --checkpoint "$folder/best.ckpt"
refuses "a feature as target" "is a feature of the model" predict houses.csv --target-column age
grep -q '"age", "area", "rooms"' "$folder/best.ckpt.columns" || fail "a plan with names leaves no file of names"

# --- what is frozen: the bits of data that NumPy has standardised ----------------------------------------------------

python3 - "$folder/" <<'END'
import json, sys
import numpy as np
folder = sys.argv[1]
table = np.genfromtxt(folder + 'houses.csv', delimiter=',', skip_header=1).astype(np.float32)
said = json.load(open(folder + 'houses.json'))
trained = table[:900].astype(np.float64)
entries = said['columns'] + said['targets']
for i, entry in enumerate(entries):
    assert np.float32(entry['mean']) == np.float32(np.add.accumulate(trained[:, i])[-1] / 900), entry
    assert abs(entry['deviation'] / trained[:, i].std() - 1) < 1e-6, entry
mean = np.array([e['mean'] for e in entries], np.float32)
deviation = np.array([e['deviation'] for e in entries], np.float32)
done = (table - mean) / deviation
np.save(folder + 'x.npy', done[:, :3])
np.save(folder + 'y.npy', done[:, 3:])
np.save(folder + 'bytes.npy', (np.arange(40 * 6 * 5 * 3) * 37 % 251).astype(np.uint8).reshape(40, 6, 5, 3))
np.save(folder + 'labels.npy', (np.arange(40) % 3).astype(np.uint8))
pixels = np.load(folder + 'bytes.npy').reshape(-1, 3).astype(np.float64)
np.savetxt(folder + 'channels', np.stack([pixels.mean(0), pixels.std(0)]))
bad = table[:20, :3].copy()
bad[7, 1] = np.nan
np.save(folder + 'nan.npy', bad)
bad[7, 1] = np.inf
np.save(folder + 'infinite.npy', bad)
np.save(folder + 'one.npy', table[:1, :3])
np.save(folder + 'far.npy', np.array([[3e38], [-3e38], [0]], np.float32))
np.save(folder + 'large.npy', np.array([[3e38], [3e38], [1e38]], np.float32))
np.save(folder + 'integers.npy', np.array([[1, 16777216], [3, -5], [2, 7]], np.int64))
END
expect "the same network over standardised data" 0 "" compile --mode train -o "$folder/plain.plan" \
    --set $loader.normalise=null --set $loader.normalise_targets=null --set trainer.init.model.input_size=3 \
    --set trainer.init.model.output_size=1
expect "its training" 0 "" "$FIRN" train "$folder/plain.plan" --pub "$PUB" --data "$folder/x.npy" --labels "$folder/y.npy" \
    --steps 40 --quiet
cp "$folder/out" "$folder/plain.out"
expect "the training of the raw table" 0 "" "$FIRN" train "$folder/houses/train.plan" --pub "$PUB" \
    --data "$folder/houses.csv" --steps 40 --quiet
same "the plan standardises as NumPy does" "$folder/out" "$folder/plain.out"

# --- constants of the recipe, of columns and of all ------------------------------------------------------------------

sizes="--set trainer.init.model.input_size=3 --set trainer.init.model.output_size=1 --set $loader.normalise_targets=null"
for said in 'scale: [0.5, 2, 1], shift: [1, 0, -3]' 'scale: 0.25' 'shift: [0, 1, 2]'; do
    # shellcheck disable=SC2086
    expect "{$said}" 0 "" compile --mode train -o "$folder/affine.plan" $sizes --set "$loader.normalise={$said}"
    expect "training with {$said}" 0 "" "$FIRN" train "$folder/affine.plan" --pub "$PUB" --data "$folder/x.npy" \
        --labels "$folder/y.npy" --steps 10 --quiet
    cp "$folder/out" "$folder/affine"
    python3 - "$folder/" "$said" <<'END'
import json, re, sys
import numpy as np
said = json.loads('{' + re.sub(r'(\w+):', r'"\1":', sys.argv[2]) + '}')
x = np.load(sys.argv[1] + 'x.npy')
np.save(sys.argv[1] + 'z.npy', (x * np.float32(said.get('scale', 1)) + np.float32(said.get('shift', 0))).astype(np.float32))
END
    # shellcheck disable=SC2086
    expect "no scale" 0 "" "$FIRN" train "$folder/plain.plan" --pub "$PUB" --data "$folder/z.npy" --labels "$folder/y.npy" \
        --steps 10 --quiet
    same "{$said}" "$folder/out" "$folder/affine"
done
# shellcheck disable=SC2086
refuses "too many numbers" "has 2 columns, and a record of the model has 3 numbers" compile --mode train \
    -o "$folder/none.plan" $sizes --set "$loader.normalise={scale: [1, 2]}"

# --- images of bytes, by channel ------------------------------------------------------------------------------------

refuses "a text" "is not an array: .*; records are read from .npy, .npz, IDX and .csv files" statistics README.md -o "$folder/none.json"
expect "images" 0 "" statistics "$folder/bytes.npy" -o "$folder/images.json"
python3 - "$folder/" <<'END'
import json, sys
import numpy as np
said = json.load(open(sys.argv[1] + 'images.json'))
wanted = np.loadtxt(sys.argv[1] + 'channels')
assert said['axis'] == 'last' and len(said['columns']) == 3
for i, entry in enumerate(said['columns']):
    assert np.isclose(entry['mean'], wanted[0, i], rtol=1e-6) and np.isclose(entry['deviation'], wanted[1, i], rtol=1e-6)
END
"$FIRNC" compile compiler/recipes/small_mlp.yaml --mode train --key "$folder/mine.key.pem" -o "$folder/images.plan" \
    --set trainer.init.model.input_size=90 --set trainer.init.model.output_size=3 --set $loader.feature_scale=1 \
    --set $loader.held_out_per_mille=0 --set $loader.normalise=fit --statistics "$folder/images.json" >"$folder/out"
expect "training on images" 0 "" "$FIRN" train "$folder/images.plan" --pub "$PUB" --data "$folder/bytes.npy" \
    --labels "$folder/labels.npy" --steps 3 --quiet
expect "all pixels together" 0 "30 records, 1 column" statistics "$folder/bytes.npy" --axis all --held-out-per-mille 250 \
    -o "$folder/all.json"
expect "a plan of them" 0 "" "$FIRNC" compile compiler/recipes/small_mlp.yaml --mode train --key "$folder/mine.key.pem" \
    -o "$folder/images.plan" --set trainer.init.model.input_size=90 --set $loader.feature_scale=1 \
    --set $loader.held_out_per_mille=250 --set $loader.normalise=fit --statistics "$folder/all.json"
expect "statistics without a use" 0 "warning: --statistics changes nothing" "$FIRNC" compile compiler/recipes/small_gpt2.yaml \
    --mode train --key "$folder/mine.key.pem" -o "$folder/text.plan" --statistics "$folder/all.json"
# The other commands that read a recipe take the statistics, too.
expect "a schedule" 0 "" "$FIRNC" schedule $recipe --statistics "$folder/houses.json" --range 0:2
refuses "a schedule without statistics" "give FILE by --statistics FILE" "$FIRNC" schedule $recipe --range 0:2
expect "statistics of a plan" 2 "--statistics: a plan is frozen" "$FIRNC" schedule "$folder/houses/train.plan" \
    --statistics "$folder/houses.json"
expect "a schedule of text" 0 "warning: --statistics changes nothing" "$FIRNC" schedule compiler/recipes/small_gpt2.yaml \
    --statistics "$folder/houses.json" --range 0:1
expect "a comparison" 0 "" "$FIRNC" compare $recipe --statistics "$folder/houses.json" --data "$folder/houses.csv" \
    --types bfloat16 --pol 0 --trial-steps 3 -o "$folder/study"
expect "an export" 0 "" "$FIRN" export "$folder/best.ckpt" -o "$folder/best.safetensors"
expect "weights for others" 0 "" "$FIRNC" weights $recipe --statistics "$folder/houses.json" \
    --trained "$folder/best.safetensors" -o "$folder/others.safetensors"
expect "weights over the statistics" 2 "is read; give another name" "$FIRNC" weights $recipe \
    --statistics "$folder/houses.json" --trained "$folder/best.safetensors" -o "$folder/houses.json"
printf 'a\351,b\n1,2\n3,4\n' >"$folder/latin.csv"
refuses "a name that is not UTF-8" "has a name that is not UTF-8" statistics "$folder/latin.csv" -o "$folder/none.json"
refuses "two scales" "feature_scale and feature_shift scale the same features" "$FIRNC" compile \
    compiler/recipes/small_mlp.yaml --mode train --key "$folder/mine.key.pem" -o "$folder/none.plan" \
    --set trainer.init.model.input_size=90 --set $loader.held_out_per_mille=0 --set $loader.normalise=fit \
    --statistics "$folder/images.json"

# --- statistics that are refused ------------------------------------------------------------------------------------

refuses "NaN" "record 7, counted from 0, column 2: the value is NaN" statistics "$folder/nan.npy" -o "$folder/none.json"
refuses infinity "record 7, counted from 0, column 2: the value is infinite" statistics "$folder/infinite.npy" \
    -o "$folder/none.json"
refuses "one record" "has 1 record, of which 1 is trained with, and a deviation needs 2" statistics "$folder/one.npy" \
    -o "$folder/none.json"
refuses "numbers that are too far apart" "more apart than float32 can say" statistics "$folder/far.npy" -o "$folder/none.json"
refuses "a missing cell" "the value is missing" sh -c \
    "printf 'a,b\n1,\n2,3\n' >'$folder/hole.csv'; '$FIRN' data-statistics '$folder/hole.csv' -o '$folder/none.json'"
[ ! -e "$folder/none.json" ] || fail "a refused file leaves statistics"
expect "large numbers" 0 "" statistics "$folder/large.npy" -o "$folder/large.json"
grep -q '"mean":.*2.33333.*e+38' "$folder/large.json" || fail "the mean of large numbers: $(cat "$folder/large.json")"
expect "integers" 0 "" statistics "$folder/integers.npy" -o "$folder/integers.json"
expect "a text" 1 "is not an array" statistics /usr/share/common-licenses/GPL-3 -o "$folder/none.json"
printf 'a,b,y\n5,1,1\n5,2,2\n5,3,4\n5,4,4\n' >"$folder/constant.csv"
expect "a column that is constant" 0 "column 1 (a) is 5 in every record" statistics "$folder/constant.csv" \
    --target-column y -o "$folder/constant.json"
expect "a plan of it" 0 "warning: column 1 (a) is the same in every record" compile --mode train -o "$folder/constant.plan" \
    --statistics "$folder/constant.json" --set $loader.held_out_per_mille=0 --set $loader.batch_size=2
expect "its training" 0 "" "$FIRN" train "$folder/constant.plan" --pub "$PUB" --data "$folder/constant.csv" --steps 3 --quiet

refuses "fit without statistics" "make them once by firn data-statistics DATA -o FILE, and give FILE by --statistics" \
    compile --mode train -o "$folder/none.plan"
refuses "another part held out" "make them again by firn data-statistics --held-out-per-mille 200" compile --mode train \
    -o "$folder/none.plan" --statistics "$folder/houses.json" --set $loader.held_out_per_mille=200
refuses "no targets in them" "the statistics have no target" compile --mode train -o "$folder/none.plan" \
    --statistics "$folder/integers.json" --set $loader.held_out_per_mille=0 --set trainer.init.model.output_size=1
refuses "another size" "has 3 columns, and a record of the model has 4 numbers" compile --mode train -o "$folder/none.plan" \
    --statistics "$folder/houses.json" --set trainer.init.model.input_size=4
for damage in 's/"statistics":.1/"statistics": 2/|is of version 2' 's/"records":.*900/"records": 1/|records' \
    's/"axis".*//|its records, held_out_per_mille or axis' '0,/"mean":.*,/s//"mean": 1e39,/|entry 1 of columns' \
    '0,/"deviation":.*,/s//"deviation": -1,/|entry 1 of columns' 's/"name":.*"age",//|some entries of columns have names' \
    's/{/[/|is no JSON object' 's/\("data":.*\)[0-9a-f]"/\1"/|64 hexadecimal digits' 's/"columns":/"others":/|no list columns'; do
    sed "${damage%|*}" "$folder/houses.json" >"$folder/damaged.json"
    refuses "damage ${damage%|*}" "${damage#*|}" compile --mode train -o "$folder/none.plan" --statistics "$folder/damaged.json"
done
refuses "statistics that are absent" "cannot be opened" compile --mode train -o "$folder/none.plan" --statistics "$folder/absent"
[ ! -e "$folder/none.plan" ] || fail "a refused recipe leaves a plan"
expect "firnc has no such command" 2 "write firn data-statistics" "$FIRNC" data-statistics "$folder/houses.csv"

# --- other statistics are another model -----------------------------------------------------------------------------

expect "statistics of other rows" 0 "" statistics "$folder/turned.csv" --columns age,area,rooms --target-column price \
    --held-out-per-mille 100 -o "$folder/turned.json"
same "the order of columns does not count" "$folder/turned.json" "$folder/houses.json"
head -n 500 "$folder/houses.csv" >"$folder/half.csv"
expect "statistics of a half" 0 "" statistics "$folder/half.csv" --target-column price --held-out-per-mille 100 \
    -o "$folder/half.json"
expect "a plan of a half" 0 "" compile --mode eval --statistics "$folder/half.json" -o "$folder/half.plan"
expect "an evaluation by other statistics" 3 "that standardises by the same numbers" "$FIRN" eval "$folder/half.plan" \
    --pub "$PUB" --data "$folder/houses.csv" --checkpoint "$folder/best.ckpt"
expect "training on other data" 0 "standardises by statistics of other data than these" "$FIRN" train \
    "$folder/houses/train.plan" --pub "$PUB" --data "$folder/half.csv" --steps 1
expect "training on these data" 0 "" "$FIRN" train "$folder/houses/train.plan" --pub "$PUB" --data "$folder/houses.csv" \
    --steps 1
! grep -q "statistics of other data" "$folder/err" || fail "the data of the statistics are noted as others"
"$FIRNC" inspect "$folder/houses/train.plan" --all >"$folder/shown"
grep -q '^said: statistics  *of 900 records, 100 per mille held out, data [0-9a-f]\{64\}$' "$folder/shown" ||
    fail "inspect does not show the statistics"
grep -q '^said: columns  *3: age, area, rooms$' "$folder/shown" || fail "inspect does not show the columns"

# --- columns by name: those beside the checkpoint -------------------------------------------------------------------

plain() {
    "$FIRN" "$@" --pub "$PUB" --quiet
}
expect "plans without statistics" 0 "" compile --all -o "$folder/plain" --set $loader.normalise=null \
    --set $loader.normalise_targets=null --set trainer.init.model.input_size=3 --set trainer.init.model.output_size=1
expect "a training by a header" 0 "" plain train "$folder/plain/train.plan" --data "$folder/houses.csv" \
    --target-column price --checkpoint "$folder/run.ckpt" --steps 5 --eval "$folder/plain/eval.plan" \
    --keep-best "$folder/kept.ckpt" --log "$folder/plain.log"
for name in run kept; do
    grep -q '"age", "area", "rooms"' "$folder/$name.ckpt.columns" || fail "$name.ckpt has no names beside it"
done
guess() {
    plain predict "$folder/plain/predict.plan" --data "$folder/$1" --checkpoint "$folder/run.ckpt" -o "$folder/$2"
}
expect "a prediction" 0 "" guess houses.csv one.csv
expect "of turned columns" 0 "" guess turned.csv two.csv
same "columns are found by the names beside the checkpoint" "$folder/one.csv" "$folder/two.csv"
refuses "a column is missing beside" "has no column rooms" guess fewer.csv two.csv
expect "going on with turned columns" 0 "" plain train "$folder/plain/train.plan" --data "$folder/turned.csv" \
    --target-column price --checkpoint "$folder/run.ckpt" --resume --steps 5
cp "$folder/out" "$folder/turned"
expect "a training of ten steps" 0 "" plain train "$folder/plain/train.plan" --data "$folder/houses.csv" \
    --target-column price --steps 10
same "the run went on" "$folder/out" "$folder/turned"
expect "a prediction of its state" 0 "" guess turned.csv one.csv
cp "$folder/run.ckpt.columns" "$folder/kept.columns"
echo '{"run": "x", "data": "y", "columns": ["age"]}' >"$folder/run.ckpt.columns"
refuses "names of another checkpoint" "has the columns of another checkpoint" guess houses.csv two.csv
for text in '' '[' '{"columns": [1]}' '{"columns": "age"}' '{}'; do
    printf '%s' "$text" >"$folder/run.ckpt.columns"
    refuses "names that are none: $text" "is no list of the columns of a table" guess new.csv two.csv
done
rm "$folder/run.ckpt.columns"
expect "an older checkpoint" 0 "" guess new.csv two.csv
same "columns in their order" "$folder/one.csv" "$folder/two.csv"
rm "$folder/run.ckpt"
mv "$folder/kept.columns" "$folder/run.ckpt.columns"
expect "another training of this name" 0 "" plain train "$folder/plain/train.plan" --data "$folder/x.npy" \
    --labels "$folder/y.npy" --checkpoint "$folder/run.ckpt" --steps 2
! grep -q "age\|\"columns\"" "$folder/run.ckpt.columns" || fail "names of an older checkpoint are kept"
# What is of somebody else stays, whether the run has names or not.
mkdir "$folder/own.ckpt.columns"
for data in "$folder/houses.csv --target-column price" "$folder/x.npy --labels $folder/y.npy"; do
    # shellcheck disable=SC2086
    refuses "a folder with the name of the columns" "own.ckpt.columns: is no list of columns that firn wrote" plain train \
        "$folder/plain/train.plan" --data $data --checkpoint "$folder/own.ckpt" --steps 1
done
rmdir "$folder/own.ckpt.columns"
for own in precious '' '{"columns": ["a"]}'; do
    printf '%s' "$own" >"$folder/own.ckpt.columns"
    for data in "$folder/houses.csv --target-column price" "$folder/x.npy --labels $folder/y.npy"; do
        # shellcheck disable=SC2086
        refuses "a file with the name of the columns" "own.ckpt.columns: is no list of columns that firn wrote" plain train \
            "$folder/plain/train.plan" --data $data --checkpoint "$folder/own.ckpt" --steps 1
        [ "$(cat "$folder/own.ckpt.columns")" = "$own" ] || fail "a file of somebody else was changed"
        [ ! -e "$folder/own.ckpt" ] || fail "a checkpoint of a run that was refused"
    done
done
cp "$folder/houses.csv" "$folder/over.ckpt.columns"
expect "names over the data" 2 "with its columns over the data" plain train "$folder/plain/train.plan" \
    --data "$folder/over.ckpt.columns" --target-column price --checkpoint "$folder/over.ckpt" --steps 1
expect "a prediction over the names" 2 "over the names of columns beside the checkpoint" "$FIRN" predict \
    "$folder/houses/predict.plan" --pub "$PUB" --data "$folder/houses.csv" --checkpoint "$folder/best.ckpt" \
    -o "$folder/best.ckpt.columns" --format csv
expect "an export over the names" 2 "over the names of columns beside the checkpoint" "$FIRN" export "$folder/best.ckpt" \
    -o "$folder/best.ckpt.columns"

# --- classes, and what weights and older runs know of statistics -----------------------------------------------------

awk -F , 'NR == 1 { print "age,area,rooms,class"; next } { print $1 "," $2 "," $3 "," ($4 < 300000 ? 0 : $4 < 450000 ? 1 : 2) }' \
    "$folder/houses.csv" >"$folder/classes.csv"
expect "statistics of classes" 0 "" statistics "$folder/classes.csv" --target-column class --held-out-per-mille 100 \
    -o "$folder/classes.json"
expect "plans of classes" 0 "" compile --all --statistics "$folder/classes.json" -o "$folder/classes" \
    --set trainer.init.model.loss=cross_entropy --set trainer.init.model.output_size=3 --set trainer.validate.metric=accuracy \
    --set $loader.normalise_targets=null --set $loader.label_type=int32
expect "training classes" 0 "best accuracy: 0.9" "$FIRN" train "$folder/classes/train.plan" --pub "$PUB" \
    --data "$folder/classes.csv" --eval "$folder/classes/eval.plan" --log "$folder/classes.log" \
    --keep-best "$folder/classes.ckpt" --steps 300
printf 'low\nmiddle\nhigh\n' >"$folder/names"
expect "names of classes" 0 "" "$FIRN" predict "$folder/classes/predict.plan" --pub "$PUB" --data "$folder/new.csv" \
    --checkpoint "$folder/classes.ckpt" --classes "$folder/names" -o "$folder/p.csv" --quiet
head -n 1 "$folder/p.csv" | grep -q middle || fail "the prediction has no names: $(head -n 1 "$folder/p.csv")"
refuses "standardised classes" "the loss does not compare numbers" compile --mode train -o "$folder/none.plan" \
    --statistics "$folder/houses.json" --set trainer.init.model.loss=cross_entropy --set trainer.init.model.output_size=3 \
    --set $loader.label_type=int32 --set trainer.validate.metric=accuracy
expect "an ONNX file behind statistics" 0 "" compile --all --statistics "$folder/classes.json" -o "$folder/onnx" \
    --set "trainer.init.model={onnx: $PWD/tests/onnx/forms/linear1.script.onnx, loss: cross_entropy}" \
    --set trainer.validate.metric=accuracy --set $loader.normalise_targets=null --set $loader.label_type=int32
expect "its training" 0 "best accuracy: 0." "$FIRN" train "$folder/onnx/train.plan" --pub "$PUB" --data "$folder/classes.csv" \
    --eval "$folder/onnx/eval.plan" --steps 100

expect "the parameters" 0 "" "$FIRN" export "$folder/best.ckpt" -o "$folder/best.safetensors"
expect "their weights" 0 "6 tensors" "$FIRNC" weights $recipe --trained "$folder/best.safetensors" -o "$folder/w.safetensors" \
    --set "$loader.statistics=$folder/houses.json"
expect "a plan of them" 0 "" compile --mode train --statistics "$folder/houses.json" --weights "$folder/w.safetensors" \
    -o "$folder/w.plan"
expect "a plan that goes on" 0 "" compile --mode train --statistics "$folder/houses.json" --continue "$folder/best.ckpt" \
    -o "$folder/on.plan"
expect "its steps" 0 "" "$FIRN" train "$folder/on.plan" --pub "$PUB" --data "$folder/houses.csv" --steps 2 --quiet
for half in float16 bfloat16; do
    expect "a plan in $half" 0 "" compile --mode eval --statistics "$folder/houses.json" -o "$folder/half.plan" \
        --set "trainer.init.precision={enabled: true, fp16_type: $half}"
    expect "its evaluation" 0 "" "$FIRN" eval "$folder/half.plan" --pub "$PUB" --data "$folder/houses.csv" \
        --checkpoint "$folder/best.ckpt" --quiet
    awk -v value="$value" -v half="$(cat "$folder/out")" 'BEGIN { exit !(half < 2 * value && value < 2 * half) }' ||
        fail "$half: $(cat "$folder/out") and not about $value"
done

[ $failures -eq 0 ]
