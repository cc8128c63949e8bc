#!/bin/sh
# Runs the fuzz targets under the sanitizers on their corpora and on some changes of each input. `make fuzz` looks for
# new inputs.
#
# Needs: fuzz python
set -eu
. tests/end_to_end/machine
needs proc shm

SANITIZED=${SANITIZED:-build/sanitized}
changes=$((300 / ${FIRN_TEST_EVERY:-1}))

python3 tests/fuzz/serial_corpus.py check
for target in container payload checkpoint schedule recipe statistics weights onnx tokenizer older_run serial arrays archive tokens table images; do
    case $target in
    container | payload | checkpoint | older_run) inputs=$(ls tests/golden/plans/*.plan tests/golden/plans/*.checkpoint) ;;
    recipe) inputs=$(ls compiler/recipes/*.yaml) ;;
    *) inputs= ;;
    esac
    [ -d "tests/fuzz/corpus/$target" ] && inputs="$inputs $(ls "tests/fuzz/corpus/$target"/*)"
    # $inputs is split into words intentionally.
    printf '%s: ' "$target"
    "$SANITIZED/fuzz/$target" $changes $inputs
done
