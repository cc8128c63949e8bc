#!/bin/sh
# Forms of ONNX files that the exporters of PyTorch's networks do not write in tests/onnx, trained for one step; the loss
# is computed by NumPy. one_number: an output [samples], weights in Constant nodes. known_parts: If with a known
# condition, a part without elements, Cos and GatherND of constants, an extent without a name, an input that is no data
# and whose extent "batch" is not its first.
#
# Needs: python
set -eu
. tests/end_to_end/expectations
"$FIRNC" keygen "$folder/test" >"$folder/out"

# form FILE KEYS LABEL_SHAPE...: the file of tests/fuzz/corpus/onnx is trained with these keys of the model, with labels
# of each shape.
form() {
    file=$1
    keys=$2
    shift 2
    cp "tests/fuzz/corpus/onnx/$file" "$folder/net.onnx"
    printf 'trainer: {init: {model: {onnx: net.onnx%s}, precision: {enabled: false}, optimizer: {SGD: {learning_rate: 0.1}},\n%s\n%s' \
        "$keys" '    loop: {num_steps: 1}}, fit: {train_dataloader: {batch_size: 4, shuffle: false, held_out_per_mille: 0,' \
        '    feature_type: float32, label_type: float32}}}' >"$folder/recipe.yaml"
    expect "$file: compile" 0 '' "$FIRNC" compile "$folder/recipe.yaml" --mode train --key "$folder/test.key.pem" -o "$folder/plan"
    for shape in "$@"; do
        loss=$(python3 - "$folder" "$file" "$shape" <<'END'
import sys
import numpy as np
folder, file, shape = sys.argv[1:]
shape = [int(n) for n in shape.split(",")]
y = np.arange(np.prod(shape)).reshape(shape) % 3
if file == "one_number":
    x = np.arange(16).reshape(4, 4) / 8
    scores = (x @ np.full((4, 1), 0.25) + 0.5).reshape(shape)
else:
    x = np.arange(32).reshape(4, 2, 4) / 16
    scores = x @ np.full((4, 1), 0.5) + 3  # and times the cosine of 0
np.save(folder + "/x.npy", x.astype("<f4"))
np.save(folder + "/y.npy", y.astype("<f4"))
print(f"{np.mean((scores - y) ** 2):.4f}")
END
        )
        rm -f "$folder/log"
        expect "$file: train" 0 '' "$FIRN" train "$folder/plan" --pub "$folder/test.pub.pem" --data "$folder/x.npy" \
            --labels "$folder/y.npy" --quiet --log "$folder/log"
        found=$(sed -n 's/.*"loss":\([0-9.]*\).*/\1/p' "$folder/log" | head -n 1)
        awk "BEGIN { exit !($found - $loss < 1e-4 && $loss - $found < 1e-4) }" ||
            fail "$file with labels $shape: the loss is $found, not $loss"
    done
}

form one_number ', loss: mean_squared_error' 4 4,1
form known_parts ', loss: mean_squared_error, dimensions: {"x.1": 2}, inputs: {s: 3}' 4,2,1
[ "$failures" -eq 0 ]
