#!/bin/sh
# `make firmware-lib`: a firmware is built from the folder it writes and nothing else, with the line it prints; with the parts
# of a plan it is smaller than without.
set -eu

. tests/end_to_end/expectations

library() {
    make -s --no-print-directory BUILD="$BUILD" firmware-lib "$@" </dev/null
}

"$BUILD/firnc" keygen "$folder/test" >"$folder/log"
"$BUILD/firnc" compile runtime/targets/size.yaml --mode train --key "$folder/test.key.pem" -o "$folder/plan" >"$folder/log"
cat >"$folder/main.c" <<'C'
#include "runtime/firn.h"

static firn instance;
static const firn_config config;
static firn_step_report report;

int main(void) {
    int error = firn_open(&instance, &config);
    if (error == FIRN_OK)
        error = firn_initialise(&instance);
    return error == FIRN_OK ? firn_train_step(&instance, NULL, &report) : error;
}
C
for sealed in 0 1; do
    library TARGET=cortex-m7 FIRN_SEALED=$sealed OUT="$folder/library" >"$folder/said" || fail "sealed $sealed: not made"
    line=$(grep -o 'arm-none-eabi-gcc .*' "$folder/said")
    "$BUILD/firnc" export "$folder/plan" --c -o "$folder/parts.c"
    (cd "$folder" && $line -o parts.elf) || fail "sealed $sealed: not linked"
    : >"$folder/parts.c"
    (cd "$folder" && $line -Wl,--defsym=__flash_size=0x100000 -o whole.elf) || fail "sealed $sealed: not linked with everything"
    parts=$(arm-none-eabi-size "$folder/parts.elf" | awk 'NR == 2 { print $1 + $2 }')
    whole=$(arm-none-eabi-size "$folder/whole.elf" | awk 'NR == 2 { print $1 + $2 }')
    [ "$parts" -lt $((whole * 2 / 3)) ] || fail "sealed $sealed: $parts bytes with the parts of a plan, $whole with all"
done
! library TARGET=none >"$folder/log" 2>&1 || fail "a target that there is not"
! library TARGET=cortex-m7 FIRN_SEALED=2 >"$folder/log" 2>&1 || fail "FIRN_SEALED=2"

[ $failures -eq 0 ]
