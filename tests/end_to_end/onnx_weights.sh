#!/bin/sh
# Parameters of a PyTorch module there and back: each form in which torch.onnx.export writes one (tests/onnx/forms.py)
# comes back from firnc weights with the names, shapes and bits of the module's state_dict, has PyTorch's losses and
# parameters after five steps, and takes the state_dict with --weights.
set -eu
. tests/end_to_end/expectations

python3 -c 'import numpy' 2>"$folder/err" || {
    fail "python3 with numpy is missing; install them with: .packages/install test"
    exit 1
}
python3 tests/onnx/forms.py check tests/onnx/forms "$BUILD" || fail "a form does not come back"
[ $failures -eq 0 ]
