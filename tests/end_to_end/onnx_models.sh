#!/bin/sh
# PyTorch models, exported to ONNX by both exporters, against PyTorch (tests/onnx/exported.py). Skipped by name where
# Python lacks torch, onnx or onnxscript. So are the round trips of their parameters through load_state_dict.
#
# Needs: python
set -eu
BUILD=${BUILD:-build}
if python3 -c 'import numpy, onnx, onnxscript, torch' 2>/dev/null; then
    python3 tests/onnx/exported.py "$BUILD"
    python3 tests/onnx/forms.py torch "$BUILD"
else
    echo "skipped: exported models: python3 has no torch, no onnx or no onnxscript"
fi
