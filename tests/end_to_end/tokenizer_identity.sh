#!/bin/sh
# A plan that names its tokenizer, and data that firnc tokens made: by the same tokenizer they run; by another they are
# refused by name, in training, evaluation and firn data; data of an unknown tokenizer is noted. A checkpoint of one
# tokenizer is not evaluated by a plan of another unnoticed. A plan without a tokenizer has the bytes it always had.
set -eu

. tests/end_to_end/expectations

golden=tests/golden/tokens
"$FIRNC" keygen "$folder/key" >"$folder/out"
PUB=$folder/key.pub.pem
cat >"$folder/recipe.yaml" <<'END'
trainer:
  init:
    seed: 1
    model: {name: gpt2, vocab_size: 400, hidden_size: 8, num_hidden_layers: 1, num_heads: 1, filter_size: 16,
            max_position_embeddings: 8}
    optimizer: {SGD: {momentum: 0.0}}
    schedulers: [{ConstantLR: {learning_rate: 0.1}}]
    precision: {enabled: false}
    loop: {num_steps: 2}
  fit:
    train_dataloader: {batch_size: 2, token_type: int32}
END

# compile NAME MODE OPTION...
compile() {
    plan=$1
    mode=$2
    shift 2
    "$FIRNC" compile "$folder/recipe.yaml" --mode "$mode" --key "$folder/key.key.pem" -o "$folder/$plan" "$@" >"$folder/out" \
        2>"$folder/err" || fail "$plan does not compile"
}

encode() {
    output=$1
    shift
    "$FIRNC" tokens $golden/text.txt -o "$folder/$output" "$@" >"$folder/out" 2>"$folder/err" || fail "$output is not encoded"
}


pair="--vocabulary $golden/vocab.json --merges $golden/merges.txt"
encode qwen.bin --tokenizer $golden/qwen2.json
encode qwen.npy --tokenizer $golden/qwen2.json
encode pair.bin $pair
digits=$(sha256sum <$golden/qwen2.json | cut -c 1-64)
[ "$(cat "$folder/qwen.bin.tokenizer")" = "$digits" ] || fail "the note is not the hash of the file"
cmp -s "$folder/qwen.bin.tokenizer" "$folder/qwen.npy.tokenizer" || fail "two forms of the ids have two notes"
cp "$folder/qwen.bin" "$folder/unknown.bin"

compile plain train
compile qwen train --tokenizer $golden/qwen2.json
compile qwen_note train --tokenizer "$folder/qwen.bin.tokenizer"
compile pair train --tokenizer "$folder/pair.bin.tokenizer"
cmp -s "$folder/qwen" "$folder/qwen_note" || fail "the note gives another plan than the tokenizer"
"$FIRNC" inspect "$folder/qwen" --schedule | grep -q "^tokenizer *$digits" || fail "inspect does not print the tokenizer"
"$FIRNC" inspect "$folder/qwen" --json | grep -q "\"tokenizer\":[[:space:]]*\"$digits\"" || fail "inspect --json has no tokenizer"
! "$FIRNC" inspect "$folder/plain" --schedule | grep -q "^tokenizer" || fail "a plan without a tokenizer has one"

run() {
    plan=$1
    data=$2
    shift 2
    "$FIRN" train "$folder/$plan" --pub "$PUB" --data "$folder/$data" --quiet "$@"
}
for data in qwen.bin qwen.npy unknown.bin; do
    expect "$data" 0 "" run qwen "$data"
    cp "$folder/out" "$folder/$data.digest"
    case $data in
    unknown.bin) grep -q "nothing beside it says by which tokenizer; the plan is for $(printf %.8s "$digits")" "$folder/err" || fail "no note" ;;
    *) ! grep -q tokenizer "$folder/err" || fail "$data: a word about the tokenizer" ;;
    esac
done
expect "a plan without a tokenizer" 0 "" run plain pair.bin
! grep -q tokenizer "$folder/err" || fail "a plan without a tokenizer says something of one"
cmp -s "$folder/qwen.bin.digest" "$folder/unknown.bin.digest" || fail "the note changes the run"
mend="pair.bin: its tokens are those of the tokenizer .*, and the plan is for $(printf %.8s "$digits")"
expect "another tokenizer" 1 "$mend.*compile with --tokenizer .*pair.bin.tokenizer" run qwen pair.bin
expect "the second file" 1 "$mend" run qwen qwen.bin --data "$folder/pair.bin"
expect "firn data" 1 "$mend" "$FIRN" data "$folder/pair.bin" --plan "$folder/qwen" --pub "$PUB"
mkdir "$folder/both"
cp "$folder/qwen.bin" "$folder/qwen.bin.tokenizer" "$folder/both"
expect "a folder" 0 "" run qwen both
cmp -s "$folder/out" "$folder/qwen.bin.digest" || fail "the note in a folder is read as data"

# --- packed and linked files ---

# A packed file has the note of the file that was packed, a linked file that of the file itself.
gzip -k "$folder/pair.bin"
mkdir "$folder/links"
cp "$folder/pair.bin.gz" "$folder/moved.bin.gz"
cp "$folder/pair.bin.tokenizer" "$folder/moved.bin.gz.tokenizer"
ln -s ../pair.bin "$folder/links/pair.bin"
ln -s ../pair.bin.gz "$folder/links/other.bin.gz"
cp "$folder/unknown.bin" "$folder/stored"
ln -s ../stored "$folder/links/noted.bin"
cp "$folder/pair.bin.tokenizer" "$folder/links/noted.bin.tokenizer"
for data in pair.bin.gz moved.bin.gz links/pair.bin links/other.bin.gz links/noted.bin; do
    expect "$data of another tokenizer" 1 "$data: its tokens are those of the tokenizer" run qwen "$data"
done
cp "$folder/qwen.bin.tokenizer" "$folder/links/pair.bin.tokenizer"
expect "a stale note beside a link" 1 "compile with --tokenizer .*/pair.bin.tokenizer" run qwen links/pair.bin
ln -s missing "$folder/unknown.bin.tokenizer"
expect "a note that is lost" 1 "unknown.bin.tokenizer: " run qwen unknown.bin
rm "$folder/unknown.bin.tokenizer"
# Ids that are written through a link have their note beside themselves.
cp "$folder/pair.bin" "$folder/target.bin"
cp "$folder/pair.bin.tokenizer" "$folder/target.bin.tokenizer"
ln -s ../target.bin "$folder/links/written.bin"
encode links/written.bin --tokenizer $golden/qwen2.json
cmp -s "$folder/target.bin.tokenizer" "$folder/qwen.bin.tokenizer" || fail "a note of other ids stays beside the file that a link names"
expect "ids behind a link" 0 "" run qwen links/written.bin
! grep -q tokenizer "$folder/err" || fail "ids behind a link: a word about the tokenizer"

# --- evaluations ---

expect "a checkpoint" 0 "" run qwen qwen.bin --checkpoint "$folder/state"
compile qwen_eval eval --tokenizer $golden/qwen2.json
compile pair_eval eval --tokenizer "$folder/pair.bin.tokenizer"
expect "an evaluation" 0 "" "$FIRN" eval "$folder/qwen_eval" --pub "$PUB" --checkpoint "$folder/state" --data "$folder/qwen.bin" --quiet
expect "an evaluation of another tokenizer" 3 "CHECKPOINT_OTHER_PREPROCESSING" "$FIRN" eval "$folder/pair_eval" --pub "$PUB" \
    --checkpoint "$folder/state" --data "$folder/pair.bin" --quiet

# --- runs that continue, and text ---

# continue_with NAME CHECKPOINT OPTION...
continue_with() {
    plan=$1
    from=$2
    shift 2
    "$FIRNC" compile "$folder/recipe.yaml" --mode train --key "$folder/key.key.pem" -o "$folder/$plan" --set trainer.init.loop.num_steps=4 \
        --continue "$folder/$from" "$@"
}
other="state: was not trained with tokens of the tokenizer $(head -c 8 "$folder/pair.bin.tokenizer")\.\.\., "
by_pair="--tokenizer $folder/pair.bin.tokenizer"
expect "one tokenizer goes on" 0 "" continue_with on state --tokenizer $golden/qwen2.json
[ ! -s "$folder/err" ] || fail "one tokenizer goes on: $(cat "$folder/err")"
expect "in shorter sequences" 0 "" continue_with on state --tokenizer $golden/qwen2.json --set trainer.fit.train_dataloader.max_sequence_length=4
! grep -q "tokenizer" "$folder/err" || fail "shorter sequences: a word about the tokenizer"
for option in "" --restart-data --restart-schedule; do
    expect "another one $option" 1 "$other.*--allow-unmatched" continue_with off state $by_pair $option
done
expect "another one, evaluated" 1 "$other.*--allow-unmatched" "$FIRNC" compile "$folder/recipe.yaml" --mode eval --decode \
    --key "$folder/key.key.pem" -o "$folder/off" --continue "$folder/state" $by_pair
[ ! -e "$folder/off" ] || fail "a refused run was written"
expect "another one, allowed" 0 "" continue_with on state $by_pair --allow-unmatched
grep -q "warning: was not trained with tokens of the tokenizer" "$folder/err" || fail "another one, allowed: no warning"
expect "a run without one" 0 "" run plain pair.bin --checkpoint "$folder/unnamed"
expect "a run without one goes on" 0 "" continue_with on unnamed $by_pair
grep -q "unnamed: note: that run names no tokenizer" "$folder/err" || fail "a run without one goes on: no note"

compile qwen_text eval --decode --tokenizer $golden/qwen2.json
compile pair_text eval --decode $by_pair
compile plain_text eval --decode
# says PLAN CHECKPOINT NOTE: generates, with this note; "": with none.
says() {
    expect "$1 of $2" 0 "" "$FIRN" generate "$folder/$1" --pub "$PUB" --checkpoint "$folder/$2" --prompt 1,2 --tokens 2
    if [ -z "$3" ]; then
        ! grep -q tokenizer "$folder/err" || fail "$1 of $2: a word about the tokenizer"
    else
        grep -q "$3" "$folder/err" || fail "$1 of $2: no note"
    fi
}
says qwen_text state ""
says pair_text state "$other"
says pair_text unnamed "unnamed: its training names no tokenizer"
says plain_text state ""

# --- what is refused ---

expect "a larger tokenizer" 1 "has [0-9]* tokens, and the model of .* 100; enlarge vocab_size" "$FIRNC" compile "$folder/recipe.yaml" \
    --mode train --key "$folder/key.key.pem" -o "$folder/none" --tokenizer $golden/qwen2.json --set trainer.init.model.vocab_size=100
expect "a model without tokens" 1 "the model mlp reads no tokens; leave it out" "$FIRNC" compile compiler/recipes/small_mlp.yaml \
    --mode train --key "$folder/key.key.pem" -o "$folder/none" --tokenizer $golden/qwen2.json
capitals=$(printf %s "$digits" | tr a-f A-F)
for text in '' '12' "$(printf %.63s "$digits")g" "$(printf %.63s "$digits")Z" "$digits$digits" "$capitals" "$digits " \
    "$(yes "$digits" | head -2000)"; do
    printf '%s\n' "$text" >"$folder/bad.tokenizer"
    expect "a damaged note, compiled" 1 "bad.tokenizer: is no note of firnc tokens" "$FIRNC" compile "$folder/recipe.yaml" --mode train \
        --key "$folder/key.key.pem" -o "$folder/none" --tokenizer "$folder/bad.tokenizer"
    printf '%s\n' "$text" >"$folder/unknown.bin.tokenizer"
    expect "a damaged note, trained" 1 "unknown.bin.tokenizer: is no note of firnc tokens" run qwen unknown.bin
done
expect "no note, compiled" 1 "none.tokenizer: cannot be opened: No such file or directory" "$FIRNC" compile "$folder/recipe.yaml" --mode train \
    --key "$folder/key.key.pem" -o "$folder/none" --tokenizer "$folder/none.tokenizer"
rm "$folder/unknown.bin.tokenizer"
[ ! -e "$folder/none" ] || fail "a refused plan was written"
expect "a note over the text" 2 "which is read" "$FIRNC" tokens "$folder/bad.tokenizer" $pair -o "$folder/bad"

# New ids never stand beside an older note.
cp "$folder/pair.bin.tokenizer" "$folder/again.bin.tokenizer"
encode again.bin --tokenizer $golden/qwen2.json
cmp -s "$folder/again.bin.tokenizer" "$folder/qwen.bin.tokenizer" || fail "an older note stays"

[ $failures -eq 0 ] && echo "text and model have one tokenizer" || exit 1
