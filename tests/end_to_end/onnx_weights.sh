#!/bin/sh
# Parameters of a PyTorch module there and back: each form in which torch.onnx.export writes one (tests/onnx/forms.py)
# comes back from firnc weights with the names, shapes and bits of the module's state_dict, has PyTorch's losses and
# parameters after five steps, and takes the state_dict with --weights.
#
# Needs: python
set -eu
. tests/end_to_end/expectations

python3 -c 'import numpy' 2>"$folder/err" || {
    fail "python3 with numpy is missing; install them with: .packages/install test"
    exit 1
}
python3 tests/onnx/forms.py check tests/onnx/forms "$BUILD" || fail "a form does not come back"

# padding LINE: compiles a model of tokens in a file of TorchScript with these padding_rows.
padding() {
    cat >"$folder/padding.yaml" <<end
trainer:
  init:
    model: {onnx: $PWD/tests/onnx/forms/padding.script.onnx, loss: mean_squared_error, padding_rows: $1}
    optimizer: {SGD: {lr: 0.1}}
    loop: {num_steps: 1}
  fit: {train_dataloader: {batch_size: 4, feature_type: int32, label_type: float32}}
end
    "$FIRNC" compile "$folder/padding.yaml" --mode train --key "$folder/key.key.pem" -o "$folder/padding.plan"
}
"$FIRNC" keygen "$folder/key" >"$folder/out"
expect "a padding row" 0 "" padding '{0.weight: 4}'
expect "a table that no node looks up" 1 "padding_rows.2.weight: is no parameter of which the file looks up rows" \
    padding '{2.weight: 0}'
expect "a row behind the last" 1 "looks up 5 rows of 0.weight, and padding_rows has row 5" padding '{0.weight: 5}'
[ $failures -eq 0 ]
