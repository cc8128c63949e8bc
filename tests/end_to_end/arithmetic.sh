#!/bin/sh
# The arithmetic itself is the same everywhere: the self-test passes and the checksum of each operation, doubles included,
# is that of the host, on every emulated board and with every compiler. On soft floating point this tests the support
# library of the compiler; no firmware uses fma or sqrt of the C library. The self-test takes fewer than 2,000
# instructions where floating point is hardware.
#
# Needs: runner variants boards
set -eu

MOST_INSTRUCTIONS=2000
. tests/end_to_end/expectations
. tests/end_to_end/targets

"$BUILD/firnc" keygen "$folder/test" >"$folder/log"
PUB=$folder/test.pub.pem
any=/usr/share/common-licenses/GPL-3 # no plan is opened

# try TARGET PROGRAM WHAT
try() {
    env PLAN=$any DATA=$any PUB="$PUB" TRY="$3" runtime/targets/emulated/run "$1" "$2" 2>&1
}

try host "$BUILD/runner" arithmetic >"$folder/expected" || fail "host: $(cat "$folder/expected")"
[ "$(wc -l <"$folder/expected")" -eq 15 ] || fail "host: not fourteen operations and the self-test"

# compare NAME TARGET PROGRAM
compare() {
    try "$2" "$3" arithmetic >"$folder/got" || true
    cmp -s "$folder/expected" "$folder/got" || fail "$1 differs: $(diff "$folder/expected" "$folder/got")"
}

for target in $targets; do
    takes_next || continue
    program=$(make -s --no-print-directory BUILD="$BUILD" emulator TARGET=$target PUB="$PUB")
    compare $target $target "$program"
    # Nothing calls the C library's, whose results no document promises.
    if nm "$program" | grep -E ' [Tt] (fma|sqrt)f?$'; then
        fail "$target: linked with the C library's fma or sqrt"
    fi
done
. tests/end_to_end/variants
for variant in $variants; do
    takes_next || continue
    compare $variant host "$built/$variant/runner"
done

# --- the length of the self-test: every instruction of its functions that the emulator runs ---

for target in cortex-m4f cortex-m7 cortex-m33 cortex-m55 rv32; do
    takes_next || continue
    program=$(make -s --no-print-directory BUILD="$BUILD" emulator TARGET=$target PUB="$PUB")
    nm "$BUILD/$target/objects/runtime/self_test.o" | sed -n 's/.* [tT] \([a-z].*\)/\1/p' >"$folder/functions"
    ranges=$(nm -S "$program" | awk '
        NR == FNR { wanted[$1] = 1; next }
        NF == 4 && ($4 in wanted) { printf "%s0x%s+0x%s", (n++ ? "," : ""), $1, $2 }' "$folder/functions" -)
    rm -f "$folder/executed"
    export EMULATOR_OPTIONS="-singlestep -d exec,nochain -D $folder/executed -dfilter $ranges"
    try $target "$program" self-test >"$folder/got" || fail "$target: $(cat "$folder/got")"
    unset EMULATOR_OPTIONS
    count=$(grep -c '^Trace' "$folder/executed" || true)
    echo "$target: the self-test takes $count instructions"
    [ "$count" -gt 100 ] && [ "$count" -lt $MOST_INSTRUCTIONS ] || fail "$target: $count is not below $MOST_INSTRUCTIONS"
done

[ $failures -eq 0 ]
