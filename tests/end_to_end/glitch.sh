#!/bin/sh
# Skips instructions of a firmware on its way from firn_open to the first step (tests/glitch/glitch.c): no plan that must be
# refused may run. Makes 500 faults, or part of them; with FIRN_TEST_EXHAUSTIVE=1 every one, which takes an hour on two busy cores.
#
# Needs: boards tools
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/test" >"$folder/out"
"$FIRNC" compile compiler/recipes/small_mlp.yaml --mode train --key "$folder/test.key.pem" --security-counter 7 \
    -o "$folder/plan" >"$folder/out"
# One part of those that FIRN_TEST_EXHAUSTIVE=1 makes is as many as take two minutes.
faults=$((500 / ${FIRN_TEST_EVERY:-1}))
[ -z "${FIRN_TEST_EXHAUSTIVE:-}" ] || faults=1200
programs=$(${MAKE:-make} -s --no-print-directory glitch-programs BUILD="$BUILD" PUB="$folder/test.pub.pem") ||
    fail "the programs cannot be built"
# $programs is split into words intentionally.
if [ -n "${FIRN_TEST_EXHAUSTIVE:-}" ] && takes_all; then
    $programs "$folder/plan" || fail "a refused plan runs"
else
    $programs "$folder/plan" $faults "${GLITCH_SEED:-$((${FIRN_TEST_FROM:-0} + 1))}" || fail "a refused plan runs"
fi

echo "$failures failures"
[ $failures -eq 0 ]
