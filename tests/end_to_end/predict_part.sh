#!/bin/sh
# Plans that do not read the labels or the weights of the training know its data all the same: they predict for the part
# that is held out, of arrays, of tables and of class folders, and refuse data that are others.
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/mine" >"$folder/out"
PUB=$folder/mine.pub.pem
loader=trainer.fit.train_dataloader
none="--set trainer.validate.metric=none --set trainer.validate.val_dataloader.held_out=true --set trainer.validate.val_dataloader.batch_size=1"
logits='trainer.validate.outputs=[logits]'
awk 'BEGIN { print "a,b,y,w"; for (i = 0; i < 50; i++) printf "%d,%d,%d,%d\n", i * 37 % 50, i * 53 % 60, i % 3, 1 + i % 2 }' >"$folder/f.csv"
for part in "x 1,2" "y 3" "w 4"; do
    cut -d , -f "${part#* }" "$folder/f.csv" >"$folder/${part% *}.csv"
    "$FIRN" data "$folder/${part% *}.csv" --convert "$folder/${part% *}.npy" >"$folder/out"
done

# compile NAME MODE [OPTION]...: of a recipe that holds out a tenth
compile() {
    name=$1
    mode=$2
    shift 2
    expect "plan $name" 0 "" "$FIRNC" compile compiler/recipes/table.yaml --mode "$mode" --key "$folder/mine.key.pem" \
        -o "$folder/$name" --set $loader.held_out_per_mille=100 --set $loader.batch_size=5 --set $loader.normalise=null \
        --set $loader.normalise_targets=null --set $loader.label_type=int32 --set trainer.init.model.loss=cross_entropy \
        --set trainer.init.model.input_size=2 --set trainer.init.model.output_size=3 --set trainer.validate.metric=accuracy "$@"
}
compile train train
# shellcheck disable=SC2086 # options
compile predict eval $none --set "$logits"
compile eval eval
compile weighted train --set trainer.init.model.sample_weights=true --set $loader.weight_type=float32

firn() {
    "$FIRN" "$@" --pub "$PUB" --quiet
}
predict() {
    kept=$1
    shift
    firn predict "$folder/predict" --checkpoint "$folder/$kept" -o "$folder/p.csv" "$@"
}
wanted="held_out\|CHECKPOINT_OTHER_DATA"

# --- arrays and tables ------------------------------------------------------------------------------------------------

arrays="--data $folder/x.npy --labels $folder/y.npy"
# shellcheck disable=SC2086 # options
{
    expect "a training of arrays" 0 "" firn train "$folder/train" $arrays --checkpoint "$folder/a" --steps 2
    expect "its prediction" 0 "" predict a --data "$folder/x.npy"
    [ "$(wc -l <"$folder/p.csv")" -eq 5 ] || fail "not the part that is held out"
    expect "with weights" 0 "" firn train "$folder/weighted" $arrays --sample-weights "$folder/w.npy" --checkpoint "$folder/w" --steps 2 \
        --eval "$folder/eval"
    expect "a prediction without weights" 0 "" predict w --data "$folder/x.npy"
    expect "an evaluation without weights" 0 "" firn eval "$folder/eval" $arrays --checkpoint "$folder/w"
    expect "a table" 0 "" firn train "$folder/train" --data "$folder/f.csv" --columns a,b --target-column y --checkpoint "$folder/t" --steps 2
    expect "its prediction" 0 "" predict t --data "$folder/f.csv"
}
sed 's/^37,/38,/' "$folder/x.csv" >"$folder/other.csv"
"$FIRN" data "$folder/other.csv" --convert "$folder/other.npy" >"$folder/out"
sed '2,$s/[0-9]*$/1/' "$folder/y.csv" >"$folder/ones.csv"
"$FIRN" data "$folder/ones.csv" --convert "$folder/ones.npy" >"$folder/out"
for kept in a w; do
    expect "other data, $kept" 3 "CHECKPOINT_OTHER_DATA" predict $kept --data "$folder/other.npy"
    expect "labels as data, $kept" 1 "y.npy" predict $kept --data "$folder/y.npy"
done
expect "other labels" 3 "CHECKPOINT_OTHER_DATA" firn eval "$folder/eval" --data "$folder/x.npy" --labels "$folder/ones.npy" \
    --checkpoint "$folder/w"
expect "a part of the data" 3 "CHECKPOINT_OTHER_DATA" sh -c "head -n 40 '$folder/f.csv' >'$folder/short.csv' && exec '$FIRN' predict \
    '$folder/predict' --checkpoint '$folder/t' -o '$folder/p.csv' --data '$folder/short.csv' --pub '$PUB'"
cp "$folder/a" "$folder/alone"
expect "no file beside the checkpoint" 3 "CHECKPOINT_OTHER_DATA" predict alone --data "$folder/x.npy"
cp "$folder/w.columns" "$folder/alone.columns"
expect "the file of another checkpoint" 1 "alone.columns: has the columns of another checkpoint" predict alone --data "$folder/x.npy"
sed 's/"data":\t"./"data":\t"x/' "$folder/a.columns" >"$folder/alone.columns"
expect "an edited file" 1 "alone.columns: " predict alone --data "$folder/x.npy"

# A run that goes on with other data has both.
# shellcheck disable=SC2086
expect "the run goes on" 0 "" firn train "$folder/train" --data "$folder/other.npy" --labels "$folder/y.npy" --checkpoint "$folder/a" \
    --resume --steps 1 --allow-other-data
expect "its prediction" 0 "" predict a --data "$folder/other.npy"
expect "with the data before" 3 "CHECKPOINT_OTHER_DATA" predict a --data "$folder/x.npy"
expect "allowed" 0 "" predict a --data "$folder/x.npy" --allow-other-data

# A training that holds nothing out, or reads nothing else, has no such file.
compile whole train --set $loader.held_out_per_mille=0
# shellcheck disable=SC2086
expect "a training of all" 0 "" firn train "$folder/whole" $arrays --checkpoint "$folder/all" --steps 2
[ ! -e "$folder/all.columns" ] || fail "a file that nobody reads"

# --- class folders ----------------------------------------------------------------------------------------------------

images=tests/fuzz/corpus/images
if "$FIRN" data $images/grey.png >"$folder/out" 2>&1; then
    for class in cat dog; do
        mkdir -p "$folder/pets/$class"
        cp $images/grey.png "$folder/pets/$class/1.png"
        cp $images/bits.png "$folder/pets/$class/2.png"
    done
    # images NAME MODE METRIC [OPTION]...
    images() {
        name=$1
        mode=$2
        shift 2
        expect "plan $name" 0 "" "$FIRNC" compile compiler/recipes/small_mlp.yaml --mode "$mode" --key "$folder/mine.key.pem" \
            -o "$folder/$name" --set trainer.init.precision.enabled=false \
            --set 'trainer.init.model={name: mlp, input_size: 360, hidden_sizes: [], output_size: 2}' \
            --set "$loader={batch_size: 1, held_out_per_mille: 500, feature_type: uint8, feature_scale: 0.01}" "$@"
    }
    images images train
    # shellcheck disable=SC2086
    images images_predict eval $none --set "$logits"
    expect "class folders" 0 "" firn train "$folder/images" --data "$folder/pets" --checkpoint "$folder/pets.ckpt" --steps 2
    expect "their prediction" 0 "" firn predict "$folder/images_predict" --data "$folder/pets" --checkpoint "$folder/pets.ckpt" \
        -o "$folder/p.jsonl"
    [ "$(wc -l <"$folder/p.jsonl")" -eq 2 ] || fail "not the images that are held out"
    cp $images/bits.png "$folder/pets/dog/1.png"
    expect "another image" 3 "CHECKPOINT_OTHER_DATA" firn predict "$folder/images_predict" --data "$folder/pets" \
        --checkpoint "$folder/pets.ckpt" -o "$folder/p.jsonl"
fi

[ $failures -eq 0 ]
