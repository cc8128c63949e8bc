#!/bin/sh
# The second runtime of the tests (second_runtime.sh) computes the ops that move elements and the flushed sums as ops_model.py does,
# which tests/unit/test_golden_ops.c compares with the kernels: no plan of a recipe has these ops, and few have rare values.
#
# Needs: python
set -eu

python3 -c 'import numpy' 2>/dev/null || {
    echo "python3 with numpy is missing; install them with: .packages/install test"
    exit 1
}
python3 tests/golden/second_runtime_ops.py
