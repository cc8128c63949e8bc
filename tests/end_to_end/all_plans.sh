#!/bin/sh
# firnc compile --all writes the plan of each mode that a recipe has, with the bytes that --mode gives, all of them or
# none: what was there before a failure is there after it.
set -eu

. tests/end_to_end/expectations
RECIPE=compiler/recipes/small_mlp.yaml
KEY=$folder/test.key.pem
PUB=$folder/test.pub.pem

"$FIRNC" keygen "$folder/test" >"$folder/out"

# all NAME ARGUMENT...: compiles RECIPE into the folder NAME
all() {
    into=$1
    shift
    "$FIRNC" compile "$RECIPE" --all --key "$KEY" -o "$folder/$into" "$@" >"$folder/out" 2>"$folder/err"
}

# holds NAME FILE...: the folder NAME holds these files and no other
holds() {
    into=$1
    shift
    [ "$(ls -A "$folder/$into" | tr '\n' ' ')" = "$(printf '%s\n' "$@" | sort | tr '\n' ' ')" ] ||
        fail "$into holds $(ls -A "$folder/$into" | tr '\n' ' ')"
}

# --- the plans ---

all plans || fail "--all"
holds plans eval.plan predict.plan train.plan
[ "$(grep -c ': [0-9]* bytes$' "$folder/out")" -eq 3 ] || fail "not a line for each plan"
for mode in train eval; do
    "$FIRNC" compile "$RECIPE" --mode $mode --key "$KEY" -o "$folder/one.plan" >"$folder/out"
    cmp -s "$folder/one.plan" "$folder/plans/$mode.plan" || fail "$mode.plan is not the plan of --mode $mode"
done
"$FIRNC" compile "$RECIPE" --mode eval --set trainer.validate.metric=none --set 'trainer.validate.outputs=[logits]' \
    --image-id 2 --key "$KEY" -o "$folder/one.plan" >"$folder/out"
cmp -s "$folder/one.plan" "$folder/plans/predict.plan" || fail "predict.plan is not the plan of its settings"

# A model that generates has a plan for that, too.
RECIPE=compiler/recipes/small_gpt2.yaml
all generates --decode-chunk 4 || fail "--all of a model that generates"
[ ! -s "$folder/err" ] || fail "--all warns of --decode-chunk, which a plan uses"
holds generates decode.plan eval.plan predict.plan train.plan
"$FIRNC" compile "$RECIPE" --mode eval --decode --decode-chunk 4 --key "$KEY" -o "$folder/one.plan" >"$folder/out"
cmp -s "$folder/one.plan" "$folder/generates/decode.plan" || fail "decode.plan is not the plan of --mode eval --decode"
RECIPE=compiler/recipes/small_mlp.yaml
all classifies --decode-chunk 4 || fail "--all of a model that does not generate"
grep -q -- '--decode-chunk.*does not say one token after the other' "$folder/err" || fail "no warning of --decode-chunk"
holds classifies eval.plan predict.plan train.plan

# Into the folder of a model that had more plans, which stay.
cp "$folder/generates/decode.plan" "$folder/one.plan"
all generates || fail "--all into the folder of another model"
grep -q "generates/decode.plan: warning: is of another call, because $RECIPE has no such plan" "$folder/err" ||
    fail "no warning of a plan of another call"
[ "$(wc -l <"$folder/err")" -eq 1 ] || fail "not one line about a plan of another call"
cmp -s "$folder/one.plan" "$folder/generates/decode.plan" || fail "a plan of another call was changed"

# A second time, over the files that are there, with options for one of the plans, which no warning is about.
all plans --set trainer.init.loop.num_steps=7 --late-update || fail "--all over existing plans"
[ ! -s "$folder/err" ] || fail "--all warns of what one of the plans uses"
holds plans eval.plan predict.plan train.plan
"$FIRNC" compile "$RECIPE" --mode train --set trainer.init.loop.num_steps=7 --late-update --key "$KEY" -o "$folder/one.plan" >"$folder/out"
cmp -s "$folder/one.plan" "$folder/plans/train.plan" || fail "the plan that was there is not replaced"

# A warning about the recipe stands there once.
sed 's|^  init:|&\n    logging: {log_steps: 10}|' "$RECIPE" >"$folder/warned.yaml"
RECIPE=$folder/warned.yaml
all warned || fail "--all of a recipe with a warning"
[ "$(grep -c logging "$folder/err")" -eq 1 ] || fail "not one warning"
RECIPE=compiler/recipes/small_mlp.yaml

# --- the modes of a recipe ---

all only --set trainer.init.mode=train || fail "--all of mode train"
holds only train.plan
all only_eval --set trainer.init.mode=eval || fail "--all of mode eval"
holds only_eval eval.plan predict.plan
all no_data --set trainer.fit=null --set trainer.validate.val_dataloader.batch_size=4 \
    --set trainer.validate.val_dataloader.feature_scale=0.5 || fail "--all without data to train on"
holds no_data eval.plan predict.plan
RECIPE=compiler/recipes/device_mlp.yaml
all outputs || fail "--all of outputs without a metric"
holds outputs predict.plan train.plan
RECIPE=compiler/recipes/small_autoencoder.yaml
all numbers || fail "--all of a model of numbers"
holds numbers eval.plan predict.plan train.plan
RECIPE=compiler/recipes/small_mlp.yaml
"$FIRNC" compile "$RECIPE" --all --unsigned --pub "$PUB" -o "$folder/open" >"$folder/out" || fail "--all --unsigned"
holds open eval.plan predict.plan train.plan

# --- a fault: nothing is written, and nothing that was there is lost ---

cp -r "$folder/plans" "$folder/kept"
same() {
    diff -r "$folder/plans" "$folder/kept" >"$folder/got" || fail "$1: the plans that were there have changed"
}
compile() {
    "$FIRNC" compile "$RECIPE" --key "$KEY" "$@"
}
expect "a fault in one mode" 1 "validate.metric" compile --all -o "$folder/plans" --set trainer.validate.metric=what
same "a fault in one mode"
expect "a fault, and no folder" 1 "validate.metric" compile --all -o "$folder/none" --set trainer.validate.metric=what
[ ! -e "$folder/none" ] || fail "a folder is left behind"
small() {
    (ulimit -f 8 && compile --all -o "$1")
}
expect "no room for the largest" 1 "train.plan: cannot be written.*ulimit" small "$folder/plans"
same "no room"
expect "no room in a new folder" 1 "train.plan: cannot be written.*ulimit" small "$folder/none"
[ ! -e "$folder/none" ] || fail "a folder is left behind without room"
rm "$folder/plans/predict.plan"
mkdir "$folder/plans/predict.plan"
expect "a folder in the place of a plan" 1 "predict.plan: is not a regular file" compile --all -o "$folder/plans"
rmdir "$folder/plans/predict.plan"
ln -s train.plan "$folder/plans/predict.plan"
expect "two names of one file" 1 "predict.plan: is the same file as .*train.plan" compile --all -o "$folder/plans"
rm "$folder/plans/predict.plan"
cp "$folder/kept/predict.plan" "$folder/plans"
same "names that cannot be written"
expect "a file as the folder" 1 "is no folder" compile --all -o "$KEY"
expect "a folder in a folder that is not there" 1 "none/plans: cannot be made" compile --all -o "$folder/none/plans"

# --- the command line ---

expect "--all and --mode" 2 "leave one of the two out" compile --all --mode train -o "$folder/none"
expect "--all without -o" 2 "the name of a folder" compile --all
expect "--all and --dump-after" 2 "not --all" compile --all --dump-after build
expect "--all and --image-id" 2 "leave it out" compile --all --image-id 3 -o "$folder/none"
expect "neither" 2 "--all for both" compile -o "$folder/none"
mkdir "$folder/recipe"
cp "$RECIPE" "$folder/recipe/eval.plan"
RECIPE=$folder/recipe/eval.plan
expect "the recipe in the place of a plan" 2 "would replace" compile --all -o "$folder/recipe"
holds recipe eval.plan

[ "$failures" -eq 0 ] || exit 1
echo "--all: a plan for each mode with the bytes of --mode; a fault in one leaves no file of a set and loses none"
