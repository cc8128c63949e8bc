#!/bin/sh
# ONNX models with a node that is wrong, or that Firn does not read: each is refused with one line that names the node, what is
# wrong with it and what mends it. tests/golden/onnx_refused has the nodes, one model a line, and the answers.
#
#     tests/end_to_end/onnx_refused.sh           compares
#     tests/end_to_end/onnx_refused.sh --write   writes the answers of this firnc into the file; a new line ends after its nodes
#
# Needs: python
set -eu

. tests/end_to_end/expectations

golden=tests/golden/onnx_refused
python3 tests/onnx/refused.py "$FIRNC" "$folder" $golden >"$folder/answers"
answers_are $golden "firnc answers" "$@"
without=$(grep -v '^#' $golden | grep ' | ' | grep -v ' | .*; ' || true)
[ -z "$without" ] || fail "answers without a mend: $without"
echo "$(grep -c ' | ' $golden) models, $failures failures"
[ "$failures" -eq 0 ]
