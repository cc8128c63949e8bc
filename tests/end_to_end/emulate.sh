#!/bin/sh
# A run that moves between machines by its checkpoint has the same bits as a run on one machine: two steps on Cortex-M7,
# two on RISC-V, one in `firn train`. `make emulate` reports errors in its variables.
#
# Needs: boards
set -eu

. tests/end_to_end/expectations

emulate() {
    make -s --no-print-directory BUILD="$BUILD" emulate "$@" </dev/null
}

"$BUILD/firnc" keygen "$folder/test" >"$folder/log"
PUB=$folder/test.pub.pem
DATA=/usr/share/common-licenses/GPL-3
"$BUILD/firnc" compile compiler/recipes/small_gpt2.yaml --mode train --key "$folder/test.key.pem" -o "$folder/plan" \
    --set trainer.init.precision.fp16_type=float16 --set trainer.init.precision.loss_scaling_factor=dynamic \
    >"$folder/log"
"$BUILD/firn" train "$folder/plan" --pub "$PUB" --data $DATA --steps 5 --quiet --checkpoint "$folder/whole" \
    >"$folder/log"

emulate TARGET=cortex-m7 PLAN="$folder/plan" PUB="$PUB" DATA=$DATA STEPS=2 CHECKPOINT="$folder/moving" \
    >"$folder/first"
emulate TARGET=rv32 PLAN="$folder/plan" PUB="$PUB" DATA=$DATA STEPS=2 CHECKPOINT="$folder/moving" RESUME=1 \
    >"$folder/second"
grep -q '^step 4 loss' "$folder/second" || fail "rv32 did not go on where cortex-m7 had stopped"
"$BUILD/firn" train "$folder/plan" --pub "$PUB" --data $DATA --steps 1 --quiet --checkpoint "$folder/moving" --resume \
    >"$folder/log"
for run in whole moving; do
    "$BUILD/firn" digest "$folder/$run" --per-tensor >"$folder/$run.txt"
done
if ! cmp -s "$folder/whole.txt" "$folder/moving.txt"; then
    fail "the run that moved differs; the first tensor:"
    diff "$folder/whole.txt" "$folder/moving.txt" | sed -n '2p;/^>/{p;q;}'
fi

# The same in two slots, each of which a board has written; the newer one is found, also if the other is cut.
mkdir "$folder/slots"
emulate TARGET=cortex-m7 PLAN="$folder/plan" PUB="$PUB" DATA=$DATA STEPS=2 SLOTS="$folder/slots" >"$folder/first"
emulate TARGET=rv32 PLAN="$folder/plan" PUB="$PUB" DATA=$DATA STEPS=2 SLOTS="$folder/slots" RESUME=1 >"$folder/second"
grep -q '^step 4 loss' "$folder/second" || fail "rv32 did not go on from the slots of cortex-m7"
head -c 700 "$folder/slots/slot.0" >"$folder/cut" && cp "$folder/cut" "$folder/slots/slot.0"
emulate TARGET=host PLAN="$folder/plan" PUB="$PUB" DATA=$DATA STEPS=1 SLOTS="$folder/slots" RESUME=1 >"$folder/third"
"$BUILD/firn" digest "$folder/slots/slot.0" --per-tensor >"$folder/slots.txt"
cmp -s "$folder/whole.txt" "$folder/slots.txt" || fail "the run in two slots differs"

# refused PATTERN VARIABLE...: make emulate fails and prints a line that matches the pattern.
refused() {
    pattern=$1
    shift
    if emulate "$@" >"$folder/log" 2>&1; then
        fail "make emulate $* went through"
    elif ! grep -q "$pattern" "$folder/log"; then
        fail "make emulate $*: no line has '$pattern'"
        cat "$folder/log"
    fi
}

refused 'TARGET is' TARGET=pdp11 PLAN="$folder/plan" PUB="$PUB" DATA=$DATA
refused 'PUB=.*cannot be read' TARGET=rv32 PLAN="$folder/plan" PUB="$folder/none" DATA=$DATA
refused 'PLAN=.*cannot be read' TARGET=rv32 PLAN="$folder/none" PUB="$PUB" DATA=$DATA
refused 'DATA=.*cannot be read' TARGET=cortex-m7 PLAN="$folder/plan" PUB="$PUB" DATA="$folder/none"
refused 'not a public key' TARGET=cortex-m7 PLAN="$folder/plan" PUB=$DATA DATA=$DATA
"$BUILD/firnc" keygen "$folder/other" >"$folder/log"
refused '^WRONG_KEY' TARGET=cortex-m7 PLAN="$folder/plan" PUB="$folder/other.pub.pem" DATA=$DATA
printf 'too short' >"$folder/short"
refused '^DATA_TOO_SHORT' TARGET=rv32 PLAN="$folder/plan" PUB="$PUB" DATA="$folder/short"

[ $failures -eq 0 ]
