#!/bin/sh
# The forms of `make firmware-lib` (full or sealed, small or fast, with link-time optimisation or without): the line that is
# printed for each links without a warning; with the parts of a plan the firmware is smaller than without, with link-time
# optimisation smaller still, and larger if it is to be fast (instructions.sh counts what that is worth); the library trains
# with the host's digest on two emulated cores, where firn_open takes less than 1 KB of stack. What is in the folder that it
# writes is the matter of firmware_lib_package.sh.
#
# Needs: boards python
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
# form SEALED FAST LTO: makes the library and links with it; sets $parts to the flash of the firmware
form() {
    name="sealed $1, fast $2, LTO $3"
    library TARGET=cortex-m7 FIRN_SEALED=$1 FIRN_FAST=$2 FIRN_LTO=$3 OUT="$folder/library" >"$folder/said" ||
        fail "$name: not made"
    arm-none-eabi-objdump -h "$folder/library/libfirn.a" >"$folder/sections"
    [ "$(grep -c '\.gnu\.lto_' "$folder/sections")" -gt 0 ] && has=1 || has=0
    [ $has = "$3" ] || fail "$name: the library says $has"
    line=$(grep -o 'arm-none-eabi-gcc .*' "$folder/said")
    "$BUILD/firnc" export "$folder/plan" --c -o "$folder/parts.c"
    (cd "$folder" && $line -o parts.elf 2>warnings) || fail "$name: not linked"
    ! grep . "$folder/warnings" || fail "$name: the printed line warns"
    : >"$folder/parts.c"
    (cd "$folder" && $line -Wl,--defsym=__flash_size=0x100000 -o whole.elf) || fail "$name: not linked with everything"
    parts=$(arm-none-eabi-size "$folder/parts.elf" | awk 'NR == 2 { print $1 + $2 }')
    whole=$(arm-none-eabi-size "$folder/whole.elf" | awk 'NR == 2 { print $1 + $2 }')
    [ "$parts" -lt $((whole * 2 / 3)) ] || fail "$name: $parts bytes with the parts of a plan, $whole with all"
}
for sealed in 0 1; do
    takes_next || continue
    form $sealed 0 0
    apart=$parts
    form $sealed 0 1
    [ "$parts" -lt "$apart" ] || fail "$name: no smaller with link-time optimisation"
    small=$parts
    form $sealed 1 1
    [ "$parts" -gt "$small" ] || fail "$name: no larger, so not fast"
done

python3 - "$folder" <<'END'
import sys
from pathlib import Path
import numpy as np

values = np.arange(5120) * 7919 % 251
np.save(Path(sys.argv[1]) / "squares.npy", values.astype(np.uint8).reshape(80, 64))
np.save(Path(sys.argv[1]) / "classes.npy", (values[:80] % 10).astype(np.uint8))
END
set -- PLAN="$folder/plan" PUB="$folder/test.pub.pem" DATA="$folder/squares.npy" LABELS="$folder/classes.npy" STEPS=3
host=$("$FIRN" train "$folder/plan" --pub "$folder/test.pub.pem" --data "$folder/squares.npy" --labels "$folder/classes.npy" \
    --steps 3 --quiet | grep '^digest ')
for form in full sealed full-lto sealed-lto full-fast sealed-fast full-fast-lto sealed-fast-lto; do
    for target in cortex-m7 rv32imac; do
        takes_next || continue
        make -s --no-print-directory BUILD="$BUILD" emulate LIBRARY=$form TARGET=$target STACK=1 "$@" >"$folder/run" </dev/null ||
            fail "$form on $target does not run"
        [ "$(grep '^digest ' "$folder/run")" = "$host" ] || fail "$form on $target has another digest"
        sed -n "s/^stack /$form on $target: stack of /p" "$folder/run"
        stack=$(sed -n 's/^stack firn_open //p' "$folder/run")
        [ "${stack:-9999}" -lt 1024 ] || fail "$form on $target: firn_open takes $stack bytes of stack"
    done
done

[ $failures -eq 0 ]
