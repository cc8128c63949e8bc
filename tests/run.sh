#!/bin/sh
# Runs every test, two at a time: the unit tests of $BUILD, those of $SANITIZED, and tests/end_to_end/*.sh. Prints one
# line for each test and a summary. A test passes if it exits with 0 within its time limit. A test that cannot be
# started fails, and so does a run that ends early. Called by `make test`.
#
#     tests/run.sh [NAME]...        only the tests whose names contain one of the words
#     tests/run.sh --exactly NAME...    only the tests with these names, as unit/test_shapes
#
# A kernel set that this CPU cannot run is skipped by the tests, and the summary counts the tests that skipped one. Sets
# that are listed in FIRN_TEST_SETS, as in FIRN_TEST_SETS='avx2 avx512', must not be skipped: if the CPU lacks one, the
# tests fail.
set -u
cd "$(dirname "$0")/.." || exit 2

BUILD=${BUILD:-build}
SANITIZED=${SANITIZED:-$BUILD/sanitized}
export BUILD SANITIZED
logs=$BUILD/test-logs
limit=${TEST_SECONDS:-900}
# The line that a test prints when it skips a part.
wanting='^skipped for want of a CPU feature: '

# run_one COMMAND NAME: prints one line on stdout, followed by the end of the log if the test failed.
if [ "${1:-}" = --one ]; then
    name=$3
    log=$logs/$name.log
    mkdir -p "$(dirname "$log")"
    begin=$(date +%s)
    timeout "$limit" "$2" >"$log" 2>&1 </dev/null
    status=$?
    seconds=$(($(date +%s) - begin))
    if [ $status -eq 0 ]; then
        skipped=
        grep -q "$wanting" "$log" && skipped="  in part skipped for want of a CPU feature"
        echo "passed  $name  ${seconds} s$skipped"
    else
        reason="exit $status"
        [ $status -eq 124 ] && reason="stopped after $limit s"
        printf 'FAILED  %s  %s s  %s; the end of %s:\n%s\n' "$name" "$seconds" "$reason" "$log" \
            "$(tail -n 25 "$log" | sed 's/^/    /')"
    fi
    exit 0
fi

# The tests that take longest, the longest first, so that none of them runs alone at the end.
longest='end_to_end/bits sanitized/test_trust_sweep sanitized/test_kernels_attention_sets end_to_end/engine_bits
    end_to_end/aarch64 end_to_end/second_runtime sanitized/test_kernels_sets sanitized/test_hostile_plans
    end_to_end/firmware_lib_forms unit/test_kernels_attention_sets end_to_end/arduino end_to_end/device_life'

# Prints a line "command name" for each test: the longest, then the end-to-end tests.
list_tests() {
    all_tests >"$logs/all"
    for name in $longest; do
        grep " $name\$" "$logs/all" || echo "false $name"
    done
    printf '%s\n' $longest | awk 'FNR == NR { is_long[$1] = 1; next } !($2 in is_long)' - "$logs/all"
}

all_tests() {
    for script in tests/end_to_end/*.sh; do
        echo "$script end_to_end/$(basename "$script" .sh)"
    done
    for source in tests/unit/test_*.c; do
        test=$(basename "$source" .c)
        echo "$SANITIZED/tests/$test sanitized/$test"
        echo "$BUILD/tests/$test unit/$test"
    done
}

selected() {
    if [ $# -eq 0 ]; then
        cat
    elif [ "$1" = --exactly ]; then
        shift
        printf '%s\n' "$@" | awk 'FNR == NR { wanted[$1] = 1; next } $2 in wanted' - "$logs/listed"
    else
        pattern=$(printf '%s\n' "$@")
        grep -F "$pattern"
    fi
}

rm -rf "$logs"
mkdir -p "$logs"
# Tests need the NumPy of .packages/list, which is installed for Debian's python3. Another python3 may come first in PATH.
if ! python3 -c 'import numpy' 2>/dev/null && /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    mkdir "$logs/programs"
    ln -s /usr/bin/python3 "$logs/programs/python3"
    PATH=$(cd "$logs/programs" && pwd):$PATH
    export PATH
fi
list_tests >"$logs/listed"
selected "$@" <"$logs/listed" >"$logs/list"
xargs -r -P 2 -n 2 "$0" --one <"$logs/list" | tee "$logs/results"
listed=$(wc -l <"$logs/list")
passed=$(grep -c '^passed ' "$logs/results")
failed=$(grep -c '^FAILED ' "$logs/results")
skipped=$(grep -c '^passed .* skipped for want' "$logs/results")
echo "$passed passed, $failed failed, of $listed; $skipped in part skipped for want of a CPU feature"
[ "$passed" -eq "$listed" ] && [ "$listed" -gt 0 ]
