#!/bin/sh
# firnc weights --onnx: each form in which PyTorch's exporters write a parameter gets its trained values back into the file
# that came in (tests/onnx/write_back.py); with LoRA merged, and with frozen weights from the plan. Values that a
# narrower type of the file rounds are counted. What is no file of the recipe's model is refused in one line, and the file is
# whole or not there.
#
# Needs: python
set -eu
. tests/end_to_end/expectations

python3 -c 'import numpy' 2>"$folder/err" || {
    fail "python3 with numpy is missing; install them with: .packages/install test"
    exit 1
}
python3 tests/onnx/write_back.py tests/onnx/forms "$BUILD" || fail "a form does not get its values back"

forms=$PWD/tests/onnx/forms
"$FIRNC" keygen "$folder/key" >"$folder/out"
python3 - "$folder" <<'end'
import sys
import numpy
folder = sys.argv[1]
numbers = numpy.random.RandomState(1)
numpy.save(folder + "/x.npy", numbers.randn(12, 3).astype(numpy.float32))
numpy.save(folder + "/y.npy", numbers.randn(12, 2).astype(numpy.float32))
end
cp "$forms/linear2.dynamo.onnx" "$folder/net.onnx"
cat >"$folder/net.yaml" <<'end'
trainer:
  init:
    model: {onnx: net.onnx, loss: mean_squared_error}
    optimizer: {SGD: {lr: 0.125}}
    precision: {enabled: false}
    loop: {num_steps: 10}
  fit: {train_dataloader: {batch_size: 4, feature_type: float32, label_type: float32}}
end

# learns NAME OPTION...: trains the recipe; $folder/NAME.plan, .ckpt and .safetensors.
learns() {
    run=$1
    shift
    "$FIRNC" compile "$folder/net.yaml" --mode train --key "$folder/key.key.pem" -o "$folder/$run.plan" "$@" >"$folder/out" 2>&1
    rm -f "$folder/$run.ckpt"
    "$FIRN" train "$folder/$run.plan" --pub "$folder/key.pub.pem" --quiet --data "$folder/x.npy" --labels "$folder/y.npy" \
        --checkpoint "$folder/$run.ckpt" >"$folder/out"
    "$FIRN" export "$folder/$run.ckpt" -o "$folder/$run.safetensors" >"$folder/out"
}
back() {
    run=$1
    shift
    "$FIRNC" weights "$folder/net.yaml" --trained "$folder/$run.safetensors" --onnx "$folder/net.onnx" "$@"
}
# predicts CHECKPOINT MODEL NAME OPTION...: what the recipe with this file predicts.
predicts() {
    ckpt=$1
    model=$2
    to=$3
    shift 3
    "$FIRNC" compile "$folder/net.yaml" --mode eval --key "$folder/key.key.pem" -o "$folder/predict.plan" \
        --set "trainer.init.model.onnx=$model" --set trainer.validate.metric=none --set 'trainer.validate.outputs=[prediction]' \
        "$@" >"$folder/out" 2>&1
    "$FIRN" predict "$folder/predict.plan" --pub "$folder/key.pub.pem" --quiet --data "$folder/x.npy" --checkpoint "$folder/$ckpt.ckpt" \
        -o "$folder/$to.npy"
}

learns plain || fail "a plain run does not train"
expect "a plain run" 0 "" back plain -o "$folder/plain.onnx"
lora='trainer.init.fine_tuning={lora: {layers: "*", rank: 2, alpha: 4}}'
learns lora --set "$lora" || fail "LoRA does not train"
expect "LoRA" 0 "" back lora --set "$lora" --plan "$folder/lora.plan" -o "$folder/lora.onnx"
expect "LoRA without its plan" 1 "is frozen, and a checkpoint does not have it; give --plan" back lora --set "$lora" -o "$folder/none.onnx"
"$FIRNC" compile "$folder/net.yaml" --mode train --set trainer.init.model.onnx="$folder/lora.onnx" --key "$folder/key.key.pem" \
    -o "$folder/merged.plan" >"$folder/out" 2>&1
"$FIRN" train "$folder/merged.plan" --pub "$folder/key.pub.pem" --quiet --data "$folder/x.npy" --labels "$folder/y.npy" --steps 0 \
    --checkpoint "$folder/merged.ckpt" >"$folder/out"
predicts lora "$folder/net.onnx" by_lora --set "$lora"
predicts merged "$folder/lora.onnx" by_merged
python3 - "$folder" 2>"$folder/err" <<'end' || fail "LoRA merged into the file predicts something else"
import sys
import numpy
a, b = (numpy.load(f"{sys.argv[1]}/{name}.npy") for name in ("by_lora", "by_merged"))
assert numpy.abs(a - b).max() <= 1e-5 * numpy.abs(a).max(), numpy.abs(a - b).max()
end
# A file twice: what it gets a second time are the same bytes.
cp "$folder/net.onnx" "$folder/copy.onnx"
expect "a copy of the file" 0 "" "$FIRNC" weights "$folder/net.yaml" --trained "$folder/plain.safetensors" --onnx "$folder/copy.onnx" \
    -o "$folder/again.onnx"
cmp -s "$folder/plain.onnx" "$folder/again.onnx" || fail "the same values make another file"

# --- parameters in narrower types ------------------------------------------------------------------------------------

# half.onnx is x MatMul w + b, with w in float16 and b in bfloat16, written by the field numbers of onnx.proto.
python3 - "$folder" <<'end'
import struct
import sys
import numpy


def number(value):
    bytes_ = bytearray()
    while value > 127:
        bytes_.append(value & 127 | 128)
        value >>= 7
    return bytes(bytes_ + bytes([value]))


def field(place, value):
    if isinstance(value, int):
        return number(place << 3) + number(value)
    value = value.encode() if isinstance(value, str) else value
    return number(place << 3 | 2) + number(len(value)) + value


def tensor(name, kind, dims, raw):
    return field(5, b"".join(field(1, extent) for extent in dims) + field(2, kind) + field(8, name) + field(9, raw))


def port(place, name, columns):
    shape = field(2, field(1, field(2, "batch")) + field(1, field(1, columns)))
    return field(place, field(1, name) + field(2, field(1, field(1, FLOAT) + shape)))


def node(inputs, output, op, attributes=b""):
    return field(1, b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, op) + attributes)


FLOAT, FLOAT16, BFLOAT16 = 1, 10, 16
to_float = field(5, field(1, "to") + field(3, FLOAT) + field(20, 2))
w = numpy.array([[0.5, 1], [0.25, -1], [2, 0.125]], "<f2").tobytes()
b = struct.pack("<2H", 0x3f80, 0xbf80)
graph = (node(["w"], "w32", "Cast", to_float) + node(["b"], "b32", "Cast", to_float) + node(["x", "w32"], "xw", "MatMul") +
         node(["xw", "b32"], "y", "Add") + field(2, "half") + tensor("w", FLOAT16, [3, 2], w) + tensor("b", BFLOAT16, [2], b) +
         port(11, "x", 3) + port(12, "y", 2))
open(sys.argv[1] + "/half.onnx", "wb").write(field(1, 8) + field(7, graph) + field(8, field(2, 17)))
end
sed 's/net.onnx/half.onnx/' "$folder/net.yaml" >"$folder/half.yaml"
half() {
    "$FIRNC" weights "$folder/half.yaml" --trained "$folder/$1.safetensors" --onnx "$folder/half.onnx" -o "$folder/$1.onnx"
}
# trains_half NAME STEPS: the parameters after so many steps.
trains_half() {
    "$FIRN" train "$folder/half.plan" --pub "$folder/key.pub.pem" --quiet --data "$folder/x.npy" --labels "$folder/y.npy" --steps "$2" \
        --checkpoint "$folder/$1.ckpt" >"$folder/out"
    "$FIRN" export "$folder/$1.ckpt" -o "$folder/$1.safetensors" >"$folder/out"
}
"$FIRNC" compile "$folder/half.yaml" --mode train --key "$folder/key.key.pem" -o "$folder/half.plan" >"$folder/out" 2>&1
trains_half rounded 10
expect "values that are rounded" 0 "" half rounded
grep -qx 'firnc: [^ ]*half.onnx: note: trained float32 values are rounded to the types of the file: 6 values of 1 tensor to float16, 2 values of 1 tensor to bfloat16' \
    "$folder/err" || fail "that values are rounded is noted"
trains_half same 0
expect "values that are exact" 0 "" half same
[ ! -s "$folder/err" ] || fail "exact values are noted as rounded"
cmp -s "$folder/half.onnx" "$folder/same.onnx" || fail "exact values make another file"
python3 - "$folder" <<'end'
import sys
file = open(sys.argv[1] + "/same.safetensors", "rb").read()
one, million = bytes.fromhex("0000803f"), bytes.fromhex("00247449")
assert one in file
open(sys.argv[1] + "/large.safetensors", "wb").write(file[:-24] + file[-24:].replace(one, million))
end
expect "a value beyond float16" 1 "half.onnx: parameter w has the value 1000000, which would be infinity in the float16 of tensor w; " half large
[ ! -e "$folder/large.onnx" ] || fail "a file with an infinite value"

# --- what is refused -------------------------------------------------------------------------------------------------

other() {
    "$FIRNC" weights "$folder/net.yaml" --trained "$folder/plain.safetensors" --onnx "$1" -o "$folder/none.onnx"
}
expect "another file" 1 "linear3.script.onnx: is not the file of the recipe's model; give the one" other "$forms/linear3.script.onnx"
expect "no file" 1 "absent.onnx: cannot be opened" other "$folder/absent.onnx"
expect "no model" 1 "net.yaml: is not the file of the recipe's model" other "$folder/net.yaml"
expect "a recipe without a file" 1 "net.onnx: is not the file of the recipe's model" "$FIRNC" weights tests/end_to_end/gpt2_training.yaml \
    --trained tests/golden/gpt2_training.safetensors --onnx "$folder/net.onnx" -o "$folder/none.onnx"
expect "over the file" 2 "would replace" back plain -o "$folder/net.onnx"
expect "over the checkpoint's values" 2 "would replace" back plain -o "$folder/plain.safetensors"
expect "named as safetensors" 2 "none.safetensors is named as safetensors, and --onnx writes an ONNX file; name it .onnx" \
    back plain -o "$folder/none.safetensors"
expect "named as ONNX" 2 "none.onnx is named as an ONNX file, and firnc weights writes safetensors; .* give the model's file by --onnx" \
    "$FIRNC" weights "$folder/net.yaml" --trained "$folder/plain.safetensors" -o "$folder/none.onnx"
[ ! -e "$folder/none.safetensors" ] || fail "a file of the other form"
expect "--hf beside it" 2 "leave out --hf and --original" back plain --hf "$folder" -o "$folder/none.onnx"
expect "--original beside it" 2 "leave out --hf and --original" back plain --original "$folder/plain.safetensors" -o "$folder/none.onnx"
echo kept >"$folder/kept.onnx"
limited() {
    (ulimit -f 1 && back plain -o "$folder/kept.onnx")
}
expect "no room" 1 "kept.onnx: cannot be written" limited
[ "$(cat "$folder/kept.onnx")" = kept ] || fail "no room, and the file that was there is lost"
[ ! -e "$folder/none.onnx" ] || fail "a file of what was refused"
[ -z "$(find "$folder" -name 'kept.onnx.*')" ] || fail "half a file is left"

[ "$failures" -eq 0 ] || exit 1
echo "trained values are in the file that came in"
