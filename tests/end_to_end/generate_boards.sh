#!/bin/sh
# A decode plan says the same text on this machine, in firn and in the program of the emulated targets, and on two emulated
# boards: GPT-2 in float32, with bfloat16 in the order of an engine, and Llama with rotary positions and grouped queries.
#
# Needs: runner boards
set -eu

. tests/end_to_end/expectations
boards="cortex-m7 rv32"

"$FIRNC" keygen "$folder/test" >"$folder/out"
PUB=$folder/test.pub.pem
printf 'a device' >"$folder/prompt"
tr -cd '\000-\177' <README.md >"$folder/data"
for target in $boards; do
    make -s --no-print-directory BUILD="$BUILD" emulator TARGET="$target" PUB="$PUB" >"$folder/$target.board"
done

# says NAME TARGET PROGRAM: the program says the text that firn says, and its state has the same digest everywhere.
says() {
    env PLAN="$folder/decode" PUB="$PUB" DATA="$folder/prompt" CHECKPOINT="$folder/state" GENERATE=20 \
        runtime/targets/emulated/run "$2" "$3" >"$folder/got" 2>"$folder/err" || fail "$recipe: $1 ended with an error"
    cmp -s "$folder/expected" "$folder/got" || {
        # The first program that says the text gives the digest.
        head -n "$(wc -l <"$folder/text")" "$folder/got" | cmp -s - "$folder/text" && [ ! -e "$folder/expected" ] &&
            mv "$folder/got" "$folder/expected" || fail "$recipe: $1 says something else"
    }
}

# text RECIPE [--set ...]
text() {
    recipe=$1
    shift
    rm -f "$folder/expected" "$folder/state"
    for mode in train eval; do
        decode=
        [ $mode = train ] || decode=--decode
        "$FIRNC" compile "compiler/recipes/$recipe.yaml" --mode $mode $decode --key "$folder/test.key.pem" -o "$folder/$mode" "$@" \
            --set trainer.init.model.max_position_embeddings=24 --set trainer.init.model.vocab_size=128 >"$folder/out" 2>&1 ||
            fail "$recipe was not compiled"
    done
    mv "$folder/eval" "$folder/decode"
    "$FIRN" train "$folder/train" --pub "$PUB" --data "$folder/data" --steps 2 --checkpoint "$folder/state" --quiet \
        >"$folder/out" 2>"$folder/err" || fail "$recipe was not trained"
    "$FIRN" generate "$folder/decode" --pub "$PUB" --checkpoint "$folder/state" --prompt "$(cat "$folder/prompt")" --tokens 20 \
        --seed 1 --quiet >"$folder/text" 2>"$folder/err" || fail "$recipe: firn said nothing"
    [ "$(wc -c <"$folder/text")" -ge 26 ] || fail "$recipe: the text is short"
    says "the runner" host "$BUILD/runner"
    for target in $boards; do
        says "$target" "$target" "$(cat "$folder/$target.board")"
    done
}

text small_gpt2 --set trainer.init.precision.enabled=false
text small_gpt2 --target amx-bf16
text small_llama --set trainer.init.precision.fp16_type=cbfloat16 --set trainer.init.precision.precision_opt_level=2 \
    --set trainer.init.precision.pol_lowering=emulate

[ "$failures" -eq 0 ]
