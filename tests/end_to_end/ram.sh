#!/bin/sh
# The RAM that a small network takes of each core, as `make ram` prints it: state, arena, stack and globals, together at
# most a bound. The stack in it is a bound of its own, from the call graph of the firmware that has only this plan's kernels;
# the deepest stack that the emulated cores measure keeps to it. Both runs have the host's digest.
#
# Needs: boards python
set -eu

. tests/end_to_end/expectations

# Bytes.
MOST=19456

"$FIRNC" keygen "$folder/test" >"$folder/out"
python3 - "$folder" <<'END'
import sys
from pathlib import Path
import numpy as np

values = np.frombuffer(Path("/usr/share/common-licenses/GPL-3").read_bytes(), np.uint8)
np.save(Path(sys.argv[1]) / "squares.npy", values[:5120].reshape(80, 64))
np.save(Path(sys.argv[1]) / "classes.npy", values[:80] % 10)
END
model=trainer.init.model
loader=trainer.fit.train_dataloader
"$FIRNC" compile compiler/recipes/small_mlp.yaml --mode train --key "$folder/test.key.pem" -o "$folder/plan" \
    --set $model.input_size=64 --set "$model.hidden_sizes=[32]" --set $model.nonlinearity=relu --set $model.dropout_rate=0.0 \
    --set trainer.init.precision.enabled=false --set $loader.batch_size=8 --set $loader.micro_batch_size=8 \
    --set "trainer.init.optimizer={SGD: {}}" >"$folder/out"
host=$("$FIRN" train "$folder/plan" --pub "$folder/test.pub.pem" --data "$folder/squares.npy" --labels "$folder/classes.npy" \
    --steps 3 --quiet | grep '^digest ')

boards="cortex-m7 rv32"
# The library of each board takes ten seconds to compile.
takes_all || boards=cortex-m7
${MAKE:-make} -s --no-print-directory ram BUILD="$BUILD" PLAN="$folder/plan" $(takes_all || echo TARGETS=$boards) >"$folder/table" 2>"$folder/err" ||
    fail "make ram"
cat "$folder/table"
for target in $boards; do
    all=$(sed -n "/^$target:/,/ all /s/^ *all *\([0-9]*\)\$/\1/p" "$folder/table")
    [ -n "$all" ] && [ "$all" -le $MOST ] || fail "$target takes ${all:-no} bytes, more than $MOST"
    prepared=$(sed -n "/^$target:/,/ prepared /s/^ *prepared *\([0-9]*\) .*/\1/p" "$folder/table")
    [ -n "$prepared" ] && [ "$prepared" -lt 2304 ] || fail "$target: prepared ops take ${prepared:-no} bytes"
    ${MAKE:-make} -s --no-print-directory emulate BUILD="$BUILD" TARGET=$target LIBRARY=full PLAN="$folder/plan" \
        PUB="$folder/test.pub.pem" DATA="$folder/squares.npy" LABELS="$folder/classes.npy" STEPS=3 STACK=1 \
        >"$folder/run" 2>"$folder/err" || fail "$target does not run"
    [ "$(grep '^digest ' "$folder/run")" = "$host" ] || fail "$target has another digest than $host"
    # The runner asks for the model hash, which the firmware of the table lacks and firn_open then computes: its bound is
    # that of everything the runner is linked with.
    program=$(${MAKE:-make} -s --no-print-directory emulator BUILD="$BUILD" TARGET=$target LIBRARY=full PUB="$folder/test.pub.pem")
    nm "$program" | sed -n 's|^[0-9a-f]* [tTW] ||p' >"$folder/functions"
    find "$BUILD/$target/library" -name '*.ci' ! -path '*/runtime/targets/*' ! -path '*/sealed/*' -exec cat {} + |
        awk -v linked="$folder/functions" -v brief=1 -f runtime/targets/stack.awk >"$folder/stacks" || fail "no bound"
    for function in firn_open firn_train_step; do
        measured=$(sed -n "s/^stack $function //p" "$folder/run")
        bound=$(sed -n "s/^$function //p" "$BUILD/$target/stacks")
        [ $function = firn_train_step ] || bound=$(sed -n "s/^$function //p" "$folder/stacks")
        echo "$target: $function: $measured bytes of stack measured, at most ${bound:-?}"
        [ "${measured:-0}" -gt 100 ] && [ "$measured" -le "${bound:-0}" ] ||
            fail "$target, $function: ${measured:-nothing} measured, and ${bound:-nothing} is the bound"
    done
done

echo "$failures failures"
[ $failures -eq 0 ]
