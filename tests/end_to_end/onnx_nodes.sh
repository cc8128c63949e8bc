#!/bin/sh
# ONNX's own tests of single operators (tests/onnx/nodes.py), and the gradients of operators against PyTorch
# (tests/onnx/gradients.py), of which at least one for each operator is kept (tests/onnx/kept_rows.py). What Python lacks
# is skipped by name.
#
# Needs: onnx_run python
set -eu
BUILD=${BUILD:-build}
python3 tests/onnx/kept_rows.py "$BUILD/tests/onnx_run"
if python3 -c 'import numpy, onnx' 2>/dev/null; then
    python3 tests/onnx/nodes.py "$BUILD/tests/onnx_run"
else
    echo "skipped: ONNX's node tests: python3 has no onnx"
fi
if python3 -c 'import numpy, onnx, torch' 2>/dev/null; then
    python3 tests/onnx/gradients.py "$BUILD/tests/onnx_run"
else
    echo "skipped: gradients of ONNX's operators: python3 has no onnx or no torch"
fi
