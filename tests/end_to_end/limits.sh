#!/bin/sh
# Costs of files that are refused, and costs that must not grow with the square of a plan. A limit of memory or of CPU time
# stands far above what a command needs and far below what it would take otherwise; no time is compared.
#
# Needs: python
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
grep -q '^layers  *550 x transformer.h with ' "$folder/out" || fail "the layers of 550 layers"
expect "the parts of 550 layers" 0 "" limited -t 4 "$FIRNC" inspect "$folder/deep.plan" --schedule --memory --tensors --ops
[ "$(wc -l <"$folder/out")" -lt 500 ] || fail "550 layers are not folded"
expect "all of 550 layers" 0 "" limited -t 4 "$FIRNC" inspect "$folder/deep.plan" --all
grep -q '^update *6604 of op adamw$' "$folder/out" || fail "the updates of 550 layers"
expect "verify of 550 layers" 0 "" limited -t 4 "$FIRNC" verify "$folder/deep.plan" --pub "$folder/test.pub.pem"

# --- files that are no plan, or have more than their header says --------------------------------------------------------

truncate -s 8G "$folder/hole"
cp "$folder/deep.plan" "$folder/tail"
truncate -s 8G "$folder/tail"
for command in inspect "verify --pub $folder/test.pub.pem" "export --c"; do
    # shellcheck disable=SC2086 # a command and its option
    expect "8 GiB of zeros: $command" 3 "(MAGIC)" limited -v 400000 "$FIRNC" $command "$folder/hole"
    # shellcheck disable=SC2086
    expect "a plan and 8 GiB: $command" 3 "(TRAILING_BYTES)" limited -v 800000 "$FIRNC" $command "$folder/tail"
done
expect "8 GiB of zeros: train" 3 "(MAGIC)" limited -v 400000 "$FIRN" train "$folder/hole" --pub "$folder/test.pub.pem" \
    --data "$folder/deep.yaml"
expect "a plan and 8 GiB: train" 3 "(TRAILING_BYTES)" limited -v 800000 "$FIRN" train "$folder/tail" \
    --pub "$folder/test.pub.pem" --data "$folder/deep.yaml"

compile() {
    limited -v 400000 "$FIRNC" compile "$@" --mode train --key "$folder/test.key.pem" -o "$folder/plan"
}
tr '\000' '\377' <"$folder/hole" | head -c 4096 >"$folder/other"
truncate -s 8G "$folder/other"
for file in hole other; do
    expect "8 GiB as weights: $file" 1 "not a safetensors file" compile compiler/recipes/small_mlp.yaml --weights "$folder/$file"
done
expect "8 GiB as a recipe" 1 "1048576 bytes at most" compile "$folder/hole"
rm "$folder/hole" "$folder/tail" "$folder/other"

# --- devices and pipes ----------------------------------------------------------------------------

mkfifo "$folder/pipe"
for file in /dev/zero "$folder/pipe"; do
    kind='is not a file, but a device'
    [ "$file" = /dev/zero ] || kind='is not a file, but a pipe'
    for command in inspect schedule "verify --pub $folder/test.pub.pem" "export --c"; do
        # shellcheck disable=SC2086
        expect "$file: $command" 1 "$kind" limited -v 400000 "$FIRNC" $command "$file"
    done
    expect "$file as a recipe" 1 "$kind" compile "$file"
    expect "$file as weights" 1 "$kind" compile compiler/recipes/small_mlp.yaml --weights "$file"
    expect "$file as a key" 1 "$kind" limited -v 400000 "$FIRNC" compile compiler/recipes/small_mlp.yaml --mode train \
        --key "$file" -o "$folder/plan"
done
# --- models in ONNX files ------------------------------------------------------------------------------------------------

# chain NODES: a model of so many Relu nodes, one behind the other.
chain() {
    python3 - "$1" "$folder/chain.onnx" <<'END'
import sys

def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])

def whole(field, n):
    return varint(field << 3) + varint(n)

def part(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content

def value(name):
    shape = part(1, whole(1, 1) + part(2, part(1, whole(1, 1)) + part(1, whole(1, 4))))
    return part(1, name) + part(2, shape)

count = int(sys.argv[1])
nodes = b''.join(part(1, part(1, f'v{i}') + part(2, f'v{i + 1}') + part(4, 'Relu')) for i in range(count))
graph = nodes + part(2, 'chain') + part(11, value('v0')) + part(12, value(f'v{count}'))
open(sys.argv[2], 'wb').write(whole(1, 8) + part(8, whole(2, 20)) + part(7, graph))
END
}
cat >"$folder/chain.yaml" <<END
trainer:
  init:
    model: {onnx: $folder/chain.onnx, loss: mean_squared_error}
    optimizer: {SGD: {}}
    loop: {num_steps: 1}
  fit:
    train_dataloader: {batch_size: 1, label_type: float32}
END
chain 1000000
expect "1,000,000 nodes" 1 "has more than 262144 nodes" compile "$folder/chain.yaml"
chain 100000
expect "100,000 nodes" 1 "(Relu): is op number 65537 of the model" compile "$folder/chain.yaml"

[ $failures -eq 0 ] || exit 1
echo "no cost of what is refused"
