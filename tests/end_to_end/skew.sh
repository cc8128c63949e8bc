#!/bin/sh
# A checkpoint remembers the preprocessing, the split and the data of its training. Each way to evaluate or resume it
# with others that a user may choose by mistake is refused by name, leaves the checkpoint as it was, and is accepted with
# its option. What is no mistake is accepted without: the same data packed, a separate test set, a device that did not
# know its data.
#
# Needs: runner
set -eu

. tests/end_to_end/expectations
refusals=0

# refused NAME ERROR OPTION COMMAND...: refused with that error and the name of the option, and accepted with it, with a
# note that names it.
refused() {
    about=$1
    error=$2
    option=$3
    shift 3
    refusals=$((refusals + 1))
    expect "$about" 3 "^firn: $folder/[a-z]*: .*($error); .*$option" "$@"
    [ ! -s "$folder/out" ] || fail "$about: something on stdout"
    cmp -s "$folder/mlp" "$folder/mlp.kept" && cmp -s "$folder/gpt" "$folder/gpt.kept" ||
        fail "$about: a checkpoint was changed"
    expect "$about, $option" 0 "" "$@" "$option"
    grep -q "allowed by $option" "$folder/err" || fail "$about, $option: no note"
    [ "$(wc -l <"$folder/out")" -eq 1 ] || fail "$about, $option: no result"
    cp "$folder/mlp.kept" "$folder/mlp"
    cp "$folder/gpt.kept" "$folder/gpt"
}

# accepted NAME COMMAND...: accepted, without a note about the checkpoint.
accepted() {
    about=$1
    shift
    expect "$about" 0 "" "$@"
    if grep -q checkpoint "$folder/err"; then fail "$about: a note"; fi
    [ "$(wc -l <"$folder/out")" -eq 1 ] || fail "$about: no result"
}

"$FIRNC" keygen "$folder/test" >"$folder/out"
PUB=$folder/test.pub.pem
# compile NAME RECIPE MODE [--set ...]
compile() {
    plan=$folder/$1.plan
    recipe=compiler/recipes/$2
    mode=$3
    shift 3
    "$FIRNC" compile "$recipe" --mode "$mode" --key "$folder/test.key.pem" -o "$plan" "$@" >"$folder/out"
}
VAL=trainer.validate.val_dataloader
compile mlp small_mlp.yaml train
compile mlp_eval small_mlp.yaml eval
compile gpt small_gpt2.yaml train
compile gpt_eval small_gpt2.yaml eval

cat /usr/share/common-licenses/GPL-3 /usr/share/common-licenses/GPL-2 /usr/share/common-licenses/LGPL-2.1 \
    /usr/share/common-licenses/GPL-3 >"$folder/text"
head -c 94080 "$folder/text" | npy "$folder/images" '|u1' '(120, 28, 28)'
tail -c 94080 "$folder/text" | npy "$folder/other_images" '|u1' '(120, 28, 28)'
head -c 70560 "$folder/text" | npy "$folder/fewer_images" '|u1' '(90, 28, 28)'
head -c 376320 /dev/zero | npy "$folder/float_images" '<f4' '(120, 784)'
head -c 120 "$folder/text" | tr -c 'a-i' 'j' | tr 'a-j' '\000-\011' >"$folder/classes"
npy "$folder/labels" '|u1' '(120,)' <"$folder/classes"
tr '\000-\011' '\001-\011\000' <"$folder/classes" | npy "$folder/other_labels" '|u1' '(120,)'
head -c 90 "$folder/classes" | npy "$folder/fewer_labels" '|u1' '(90,)'
head -c 20000 "$folder/text" >"$folder/a"
tail -c 20000 "$folder/text" >"$folder/b"
head -c 19000 "$folder/a" >"$folder/cut"

train_mlp() {
    "$FIRN" train "$folder/mlp.plan" --pub "$PUB" --checkpoint "$folder/mlp" --steps 2 "$@"
}
train_gpt() {
    "$FIRN" train "$folder/gpt.plan" --pub "$PUB" --checkpoint "$folder/gpt" --steps 2 "$@"
}
# eval_mlp PLAN ..., eval_gpt PLAN ...: an evaluation of the checkpoint.
eval_mlp() {
    plan=$folder/$1.plan
    shift
    "$FIRN" eval "$plan" --pub "$PUB" --checkpoint "$folder/mlp" "$@"
}
eval_gpt() {
    plan=$folder/$1.plan
    shift
    "$FIRN" eval "$plan" --pub "$PUB" --checkpoint "$folder/gpt" "$@"
}
records() {
    echo "--data $folder/$1 --labels $folder/$2"
}
RECORDS=$(records images labels)
# Lists of options are split into words intentionally.
expect "training on images" 0 "" train_mlp $RECORDS
expect "training on text" 0 "" train_gpt --data "$folder/a" --data "$folder/b" --log "$folder/gpt.jsonl"
cp "$folder/mlp" "$folder/mlp.kept"
cp "$folder/gpt" "$folder/gpt.kept"
TEXT="--data $folder/a --data $folder/b"

# --- preprocessing ----------------------------------------------------------------------------------------------------

compile scale small_mlp.yaml eval --set $VAL.feature_scale=0.0078125
compile shift small_mlp.yaml eval --set $VAL.feature_shift=-0.5
# The whole file is evaluated, as it is necessarily another one.
compile floats small_mlp.yaml eval --set $VAL.feature_type=float32 --set $VAL.held_out_per_mille=0 \
    --set trainer.fit.train_dataloader.feature_scale=1
compile shorter small_gpt2.yaml eval --set $VAL.max_sequence_length=8
refused "another scale" CHECKPOINT_OTHER_PREPROCESSING --allow-other-preprocessing eval_mlp scale $RECORDS
refused "another shift" CHECKPOINT_OTHER_PREPROCESSING --allow-other-preprocessing eval_mlp shift $RECORDS
refused "another element type" CHECKPOINT_OTHER_PREPROCESSING --allow-other-preprocessing eval_mlp floats \
    $(records float_images labels)
refused "a shorter sequence" CHECKPOINT_OTHER_PREPROCESSING --allow-other-preprocessing eval_gpt shorter $TEXT

# --- split ------------------------------------------------------------------------------------------------------------

compile half small_mlp.yaml eval --set $VAL.held_out_per_mille=500
compile less small_gpt2.yaml eval --set $VAL.held_out_per_mille=50
compile seen small_mlp.yaml eval --set $VAL.held_out_per_mille=500 --set $VAL.held_out=false
refused "more records held out" CHECKPOINT_OTHER_SPLIT --allow-other-split eval_mlp half $RECORDS
refused "less text held out" CHECKPOINT_OTHER_SPLIT --allow-other-split eval_gpt less $TEXT
refused "the train part of another split" CHECKPOINT_OTHER_SPLIT --allow-other-split eval_mlp seen $RECORDS

# --- data -------------------------------------------------------------------------------------------------------------

compile train_part small_mlp.yaml eval --set $VAL.held_out=false
other_data() {
    about=$1
    shift
    refused "$about" CHECKPOINT_OTHER_DATA --allow-other-data "$@"
}
other_data "the held-out part of other images" eval_mlp mlp_eval $(records other_images labels)
other_data "the train part of other images" eval_mlp train_part $(records other_images labels)
other_data "labels of another file" eval_mlp mlp_eval $(records images other_labels)
other_data "a file with fewer records" eval_mlp mlp_eval $(records fewer_images fewer_labels)
other_data "one text of two" eval_gpt gpt_eval --data "$folder/a"
other_data "resuming on other images" train_mlp $(records other_images labels) --resume
other_data "resuming with other labels" train_mlp $(records images other_labels) --resume
other_data "resuming with one more file" train_gpt $TEXT --data "$folder/text" --resume
other_data "resuming with a file that was cut" train_gpt --data "$folder/a" --data "$folder/cut" --resume
other_data "resuming with the files in another order" train_gpt --data "$folder/b" --data "$folder/a" --resume

expect "what is said of labels" 3 "OTHER_DATA); data or labels differ: give the same files by --data and --labels, in the same order, evaluate other" \
    eval_mlp mlp_eval $(records images other_labels)
expect "what is said of text" 3 "OTHER_DATA); give the same files by --data, in the same order, or --allow-other-data\$" \
    train_gpt --data "$folder/b" --data "$folder/a" --resume

# --- several at once, and what no option allows -----------------------------------------------------------------------

compile all_three small_mlp.yaml eval --set $VAL.feature_scale=1 --set $VAL.held_out_per_mille=500
set -- eval_mlp all_three $(records other_images labels)
expect "everything else, first" 3 CHECKPOINT_OTHER_PREPROCESSING "$@"
expect "everything else, second" 3 CHECKPOINT_OTHER_SPLIT "$@" --allow-other-preprocessing
expect "everything else, third" 3 CHECKPOINT_OTHER_DATA "$@" --allow-other-preprocessing --allow-other-split
expect "everything else" 0 "" "$@" --allow-other-preprocessing --allow-other-split --allow-other-data
[ "$(grep -c 'allowed by' "$folder/err")" -eq 3 ] || fail "everything else: not three notes"
expect "everything else, quietly" 0 "" "$@" --allow-other-preprocessing --allow-other-split --allow-other-data --quiet
[ ! -s "$folder/err" ] || fail "quiet is quiet"

compile smaller small_mlp.yaml eval --set trainer.init.model.input_size=196
expect "images of another size" 1 "--data has 784 uint8 .* reads 196 uint8 (DATA_TYPE);" eval_mlp smaller $RECORDS
{
    printf '\0\0\010\003\0\0\0\170\0\0\0\016\0\0\0\016'
    head -c 23520 /dev/zero
} >"$folder/small_images"
expect "a checkpoint for images of another size" 3 "CHECKPOINT_OTHER_MODEL); evaluate with a plan of the same architecture\$" eval_mlp smaller $(records small_images labels) \
    --allow-other-preprocessing
compile rescaled small_mlp.yaml train --set trainer.fit.train_dataloader.feature_scale=1
expect "resuming with another scale" 3 CHECKPOINT_OTHER_RUN "$FIRN" train "$folder/rescaled.plan" --pub "$PUB" \
    --checkpoint "$folder/mlp" --resume $RECORDS --allow-other-data
expect "resuming with an option of eval" 2 "--allow-other-split" train_mlp $RECORDS --resume --allow-other-split
expect "going on with the log of other data" 1 "log of another run" train_gpt --data "$folder/b" --resume \
    --allow-other-data --log "$folder/gpt.jsonl" --quiet
cmp -s "$folder/gpt" "$folder/gpt.kept" || fail "a run that was refused for its log saved its state"

# --- what is no mistake -----------------------------------------------------------------------------------------------

compile test_set small_mlp.yaml eval --set $VAL.held_out_per_mille=0
accepted "a separate test set" eval_mlp test_set $(records other_images other_labels)
accepted "a smaller test set" eval_mlp test_set $(records fewer_images fewer_labels)
accepted "the train part of the same data" eval_mlp train_part $RECORDS
compile batches small_mlp.yaml eval --set $VAL.batch_size=6
accepted "another batch size" eval_mlp batches $RECORDS
gzip -k "$folder/images" "$folder/a"
accepted "the same images, packed" eval_mlp mlp_eval $(records images.gz labels)
accepted "the same text, packed" eval_gpt gpt_eval --data "$folder/a.gz" --data "$folder/b"
accepted "resuming on the same text, packed" train_gpt --data "$folder/a.gz" --data "$folder/b" --resume \
    --log "$folder/gpt.jsonl"

# A device without a file system does not know the hash of its data; a comparison is not possible, and a note says so.
PLAN=$folder/gpt.plan PUB=$PUB DATA=$folder/a STEPS=2 CHECKPOINT=$folder/device \
    runtime/targets/emulated/run host "$BUILD/runner" >"$folder/out" 2>"$folder/err" || fail "training on a device"
unknown='^the checkpoint does not say which data it was trained with; not compared$'
expect "evaluating what a device learned" 0 "" "$FIRN" eval "$folder/gpt_eval.plan" --pub "$PUB" --data "$folder/b" \
    --checkpoint "$folder/device"
grep -q "$unknown" "$folder/err" || fail "evaluating what a device learned: no note"
for option in "" --quiet; do
    expect "going on from a device" 0 "" "$FIRN" train "$folder/gpt.plan" --pub "$PUB" --data "$folder/a" --steps 1 \
        --checkpoint "$folder/device" --resume $option
    cp "$folder/err" "$folder/going$option"
done
grep -q "$unknown" "$folder/going" || fail "going on from a device: no note"
expect "other data after that" 3 CHECKPOINT_OTHER_DATA "$FIRN" train "$folder/gpt.plan" --pub "$PUB" --data "$folder/b" \
    --checkpoint "$folder/device" --resume

[ "$refusals" -ge 12 ] || fail "only $refusals refusals"
echo "$refusals refusals, $failures failures"
[ $failures -eq 0 ]
