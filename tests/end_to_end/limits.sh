#!/bin/sh
# Costs of files that are refused, and costs that must not grow with the square of a plan. A limit of memory or of CPU time
# stands far above what a command needs and far below what it would take otherwise; no time is compared.
set -eu

. tests/end_to_end/expectations
"$FIRNC" keygen "$folder/test" >"$folder/out"

# limited LIMIT VALUE COMMAND...: with a limit of ulimit, and stopped after a minute.
limited() {
    (
        ulimit "$1" "$2"
        shift 2
        exec timeout 60 "$@"
    )
}

# --- a plan of 550 layers ----------------------------------------------------------------------------------------------

cat >"$folder/deep.yaml" <<'END'
trainer:
  init:
    model: {name: gpt2, vocab_size: 256, hidden_size: 16, num_hidden_layers: 550, num_heads: 2, max_position_embeddings: 16}
    optimizer: {AdamW: {}}
    precision: {max_gradient_norm: 1.0}
    loop: {num_steps: 4}
  fit:
    train_dataloader: {batch_size: 2}
END
expect "550 layers" 0 "" limited -t 30 "$FIRNC" compile "$folder/deep.yaml" --mode train --key "$folder/test.key.pem" \
    -o "$folder/deep.plan"
expect "inspect of 550 layers" 0 "" limited -t 4 "$FIRNC" inspect "$folder/deep.plan"
grep -q '^update *6604 of op adamw$' "$folder/out" || fail "the updates of 550 layers"
expect "verify of 550 layers" 0 "" limited -t 4 "$FIRNC" verify "$folder/deep.plan" --pub "$folder/test.pub.pem"

[ $failures -eq 0 ] || exit 1
echo "no cost of what is refused"
