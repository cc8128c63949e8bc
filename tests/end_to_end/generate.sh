#!/bin/sh
# firn generate: a decode plan says what the evaluation of its recipe says, whatever the size of its steps and the number of
# threads; limits of the draw, the end of the context, and what is refused. That logits have the bits of the evaluation
# for every form of model tests test_decode.c.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
needs full

cat >"$folder/recipe.yaml" <<'end'
trainer:
  init:
    seed: 1
    model: {name: gpt2, vocab_size: 128, hidden_size: 32, num_hidden_layers: 2, num_heads: 2, filter_size: 64,
            max_position_embeddings: 48}
    optimizer: {AdamW: {}}
    schedulers: [{ConstantLR: {learning_rate: 0.02}}]
    precision: {enabled: false}
    loop: {num_steps: 60}
  fit:
    train_dataloader: {batch_size: 2, max_sequence_length: 48, stride: 5}
end
yes abcdefg | head -n 400 >"$folder/text"
"$FIRNC" keygen "$folder/test" >"$folder/out"

# compile NAME OPTION...
compile() {
    name=$1
    shift
    "$FIRNC" compile "$folder/recipe.yaml" "$@" --key "$folder/test.key.pem" -o "$folder/$name" >"$folder/out" 2>"$folder/err" ||
        fail "$name was not compiled"
}
compile train --mode train
compile decode --mode eval --decode
compile chunks --mode eval --decode --decode-chunk 7
compile ids --mode eval --decode --set trainer.fit.train_dataloader.token_type=int32
cat >>"$folder/recipe.yaml" <<'end'
  validate:
    metric: none
    outputs: [logits]
    val_dataloader: {batch_size: 1, max_sequence_length: 48}
end
compile predict --mode eval
"$FIRN" train "$folder/train" --pub "$folder/test.pub.pem" --data "$folder/text" --checkpoint "$folder/state" --quiet \
    >"$folder/out" 2>"$folder/err" || fail "the training failed"

# generate PLAN OPTION...: prints what firn generate prints
generate() {
    plan=$1
    shift
    "$FIRN" generate "$folder/$plan" --pub "$folder/test.pub.pem" --checkpoint "$folder/state" "$@"
}

# The likeliest tokens are those of an evaluation of the whole text, and a small model has learned this one.
generate decode --prompt 'cdefg' --temperature 0 >"$folder/text.0" 2>"$folder/err" || fail "generate ended with an error"
[ "$(cat "$folder/text.0")" = "$(printf 'cdefg\nabcdefg\nabcdefg\nabcdefg\nabcdefg\nabcdefg\nabc')" ] || fail "what was learned is not said: $(cat "$folder/text.0")"
head -c 48 "$folder/text.0" >"$folder/said"
"$FIRN" predict "$folder/predict" --pub "$folder/test.pub.pem" --checkpoint "$folder/state" --data "$folder/said" \
    --allow-other-preprocessing --quiet -o "$folder/logits.npy" >"$folder/out" 2>"$folder/err" || fail "predict failed"
python3 - "$folder/logits.npy" "$folder/text.0" <<'end' || fail "the text is not that of the evaluation"
import struct, sys
logits = struct.unpack("<6144f", open(sys.argv[1], "rb").read()[256:])
text = open(sys.argv[2], "rb").read()
for t in range(4, 47):
    row = logits[128 * t:128 * t + 128]
    assert text[t + 1] == row.index(max(row)), t
# One more token than the context holds: the scores behind the last one are there.
row = logits[128 * 47:]
assert text[48] == row.index(max(row)) and len(text) == 50, len(text)
end

# Steps, threads and the way from a part of the text to the whole change nothing.
generate decode --prompt 'cdefg' --temperature 4 --seed 3 >"$folder/text.1" 2>"$folder/err"
generate chunks --prompt 'cdefg' --temperature 4 --seed 3 >"$folder/text.2" 2>"$folder/err"
generate decode --prompt "$(head -c 20 "$folder/text.1")" --temperature 4 --seed 3 --threads 3 >"$folder/text.3" 2>"$folder/err"
generate decode --prompt 'cdefg' --temperature 4 --seed 4 >"$folder/text.4" 2>"$folder/err"
generate decode --prompt 'cdefg' --temperature 4 --seed 4 --top-k 1 >"$folder/text.5" 2>"$folder/err"
generate decode --prompt 'cdefg' --temperature 4 --seed 4 --top-p 1e-9 >"$folder/text.6" 2>"$folder/err"
cmp -s "$folder/text.1" "$folder/text.2" || fail "steps of seven tokens give another text"
cmp -s "$folder/text.1" "$folder/text.3" || fail "a text does not go on as it did"
! cmp -s "$folder/text.1" "$folder/text.4" || fail "another seed gives the same text"
cmp -s "$folder/text.0" "$folder/text.5" || fail "the likeliest of one is not the likeliest"
cmp -s "$folder/text.0" "$folder/text.6" || fail "a tiny share is not the likeliest"

# The number of tokens, and the end of the context. Ids are numbers.
generate decode --prompt 'abc' --tokens 3 --temperature 0 >"$folder/out" 2>"$folder/err" || fail "three tokens failed"
[ "$(cat "$folder/out")" = "abcdef" ] && [ ! -s "$folder/err" ] || fail "three tokens"
generate decode --prompt 'abcdefg abcdefg abcdefg abcde' --tokens 30 --temperature 0 >"$folder/out" 2>"$folder/err" ||
    fail "the end of the context is an error"
[ "$(wc -c <"$folder/out")" -eq 50 ] && grep -q 'ends after 20 of 30 tokens: the model.s context of 48 tokens is full' "$folder/err" ||
    fail "the end of the context"
generate ids --prompt '97 98,, 99' --tokens 3 --temperature 0 >"$folder/out" 2>"$folder/err" || fail "ids failed"
[ "$(cat "$folder/out")" = "97 98 99 100 101 102" ] || fail "ids: $(cat "$folder/out")"

# What is refused.
expect "a prompt without a token" 2 "has no token" generate decode --prompt ''
expect "a prompt beyond the context" 2 "has 49 tokens, and the model's context is 48; shorten it" \
    generate decode --prompt "$(head -c 49 "$folder/text" | tr '\n' ' ')"
expect "a byte that the model does not have" 2 "byte 1 is 195, and the model has the bytes 0 to 127" generate decode --prompt 'aä'
expect "text for ids" 2 '"say" is none; write numbers from 0 to 127' generate ids --prompt '1 say'
expect "an id that the model does not have" 2 '"128" is none' generate ids --prompt '128'
expect "a negative id" 2 '"-1" is none' generate ids --prompt '1,-1'
expect "an id too long for a number" 2 '"99999999999999999999999" is none' generate ids --prompt '99999999999999999999999'
expect "no prompt" 2 "needs --prompt" generate decode
expect "two prompts" 2 "is given twice" generate decode --prompt a --prompt b
for option in '--temperature -1' '--temperature nan' '--temperature inf' '--temperature 0x1' '--temperature 1e99' '--top-p 0' \
    '--top-p 1.01' '--top-p x' '--top-k -1' '--tokens 0' '--seed x' '--temperature 1:'; do
    # shellcheck disable=SC2086 # an option and its value
    expect "$option" 2 "is no" generate decode --prompt a $option
done
expect "a train plan" 3 "WRONG_MODE" generate train --prompt a
expect "an eval plan" 3 "is no decode plan (WRONG_MODE); compile it with firnc compile --mode eval --decode" generate predict --prompt a
expect "predict of a decode plan" 3 "is a decode plan (WRONG_MODE); run it by firn generate" "$FIRN" predict "$folder/decode" \
    --pub "$folder/test.pub.pem" --checkpoint "$folder/state" --data "$folder/text" -o "$folder/x.npy"
expect "no checkpoint" 3 "CHECKPOINT_MISSING" "$FIRN" generate "$folder/decode" --pub "$folder/test.pub.pem" --checkpoint \
    "$folder/none" --prompt a
expect "a full disk" 1 "stdout: cannot be written: No space left" sh -c \
    "'$FIRN' generate '$folder/decode' --pub '$folder/test.pub.pem' --checkpoint '$folder/state' --prompt a >/dev/full"
expect "a closed stdout" 1 "stdout: is closed" sh -c \
    "'$FIRN' generate '$folder/decode' --pub '$folder/test.pub.pem' --checkpoint '$folder/state' --prompt a >&-"
(generate decode --prompt abcd 2>"$folder/err" || true) | head -c 2 >"$folder/out"
[ "$(cat "$folder/out")" = ab ] && [ ! -s "$folder/err" ] || fail "a reader that has seen enough"
expect "another model" 3 "CHECKPOINT_OTHER_MODEL" sh -c "'$FIRNC' compile '$folder/recipe.yaml' --mode eval --decode --key \
    '$folder/test.key.pem' --set trainer.init.model.filter_size=48 -o '$folder/other' >'$folder/got' 2>&1 && '$FIRN' generate \
    '$folder/other' --pub '$folder/test.pub.pem' --checkpoint '$folder/state' --prompt a"

# What the compiler refuses.
expect "a train plan that decodes" 2 "write --mode eval" "$FIRNC" compile "$folder/recipe.yaml" --mode train --decode --key \
    "$folder/test.key.pem" -o "$folder/x"
expect "a chunk without --decode" 2 "only with --decode" "$FIRNC" compile "$folder/recipe.yaml" --mode eval --decode-chunk 2 --key \
    "$folder/test.key.pem" -o "$folder/x"
for chunk in 0 x -1 99999999999; do
    expect "chunks of $chunk" 2 "is not a number of tokens" "$FIRNC" compile "$folder/recipe.yaml" --mode eval --decode \
        --decode-chunk "$chunk" --key "$folder/test.key.pem" -o "$folder/x"
done
expect "a chunk beyond the context" 1 "49 tokens are more than the model's context, max_position_embeddings: 48" "$FIRNC" \
    compile "$folder/recipe.yaml" --mode eval --decode --decode-chunk 49 --key "$folder/test.key.pem" -o "$folder/x"
expect "bert" 1 "the model bert does not say one token after the other; those that do are gpt2, gpt3, gptj, gpt-neox, llama" \
    "$FIRNC" compile compiler/recipes/small_bert.yaml --mode eval --decode --key "$folder/test.key.pem" -o "$folder/x"
[ ! -e "$folder/x" ] || fail "a plan that was refused was written"
! ls "$folder"/x.npy* >/dev/null 2>&1 || fail "predict left a file"

[ "$failures" -eq 0 ]
