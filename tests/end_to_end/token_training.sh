#!/bin/sh
# A text of tokens is trained as PyTorch trains it: firnc tokens encodes two texts, as nanoGPT keeps them and as an array,
# and 50 steps of a tiny GPT-2 in float32 have PyTorch's losses within 1e-4 (tests/golden/token_training.py) and one digest
# for both files.
set -eu

. tests/end_to_end/expectations

golden=tests/golden/token_training
"$FIRNC" keygen "$folder/key" >"$folder/out"
cat >"$folder/recipe.yaml" <<'END'
trainer:
  init:
    seed: 1
    model: {name: gpt2, vocab_size: 320, hidden_size: 16, num_hidden_layers: 2, num_heads: 2, filter_size: 64,
            max_position_embeddings: 16, nonlinearity: gelu, dropout_rate: 0, attention_dropout_rate: 0}
    optimizer: {AdamW: {betas: [0.9, 0.95], eps: 1.0e-6, weight_decay: 0.01, lr: 3.0e-3}}
    precision: {enabled: false}
    loop: {num_steps: 50}
  fit:
    train_dataloader: {batch_size: 4, max_sequence_length: 16, shuffle: false, held_out_per_mille: 0}
END
"$FIRNC" compile "$folder/recipe.yaml" --mode train --key "$folder/key.key.pem" --weights $golden.safetensors -o "$folder/plan" \
    >"$folder/out" 2>&1 || fail "the recipe does not compile"
for form in bin npy; do
    "$FIRNC" tokens tests/golden/tokens/text.txt tests/golden/gpt2_training.txt --vocabulary tests/golden/tokens/vocab.json \
        --merges tests/golden/tokens/merges.txt -o "$folder/train.$form" >"$folder/out" 2>&1 || fail "$form: no tokens"
    grep -q "1421 tokens, .*, of a vocabulary of 320" "$folder/out" || fail "$form: another number of tokens"
    "$FIRN" train "$folder/plan" --pub "$folder/key.pub.pem" --data "$folder/train.$form" --log "$folder/$form.log" --quiet \
        >"$folder/$form.digest" 2>"$folder/err" || fail "$form: firn train ends with an error"
done
sed -n 's/.*"loss": *\([^,}]*\),.*/\1/p' "$folder/bin.log" >"$folder/losses"
paste "$folder/losses" $golden.losses | awk '
    { error = ($1 - $2) / $2; if (error < 0) error = -error; if (error > worst) worst = error }
    END { printf "%d steps, at most %.1e from PyTorch\n", NR, worst; exit !(NR == 50 && worst <= 1e-4) }' >"$folder/out" ||
    fail "not PyTorch's losses"
cmp -s "$folder/bin.digest" "$folder/npy.digest" || fail "the forms of the tokens end in different states"

[ $failures -eq 0 ] || exit 1
cat "$folder/out"
