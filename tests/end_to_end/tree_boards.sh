#!/bin/sh
# Micro-batches that are added as a tree give the same bits everywhere: `firn train` with each kernel set, this machine's
# and two emulated boards' programs have the losses and the state of one another, for 2, 3, 5, 7 and 8 micro-batches; and
# from four on another state than a sum in sequence.
#
# Needs: runner boards
set -eu

. tests/end_to_end/expectations
boards="cortex-m7 rv32"

"$FIRNC" keygen "$folder/test" >"$folder/out"
PUB=$folder/test.pub.pem
head -c 480 /usr/share/common-licenses/GPL-3 >"$folder/bytes"
head -c 40 /usr/share/common-licenses/GPL-3 | tr -c 'a-i' 'j' | tr 'a-j' '\000-\011' >"$folder/label_bytes"
# npy NAME SHAPE BYTES: an array of bytes.
npy() {
    {
        printf '\223NUMPY\001\000\166\000'
        printf "%-117s\n" "{'descr': '|u1', 'fortran_order': False, 'shape': $2, }"
        cat "$3"
    } >"$folder/$1"
}
npy records '(40, 12)' "$folder/bytes"
npy labels '(40,)' "$folder/label_bytes"
for target in $boards; do
    make -s --no-print-directory BUILD="$BUILD" emulator TARGET="$target" PUB="$PUB" >"$folder/$target.board"
done

# compile ORDER MICRO_BATCHES
compile() {
    "$FIRNC" compile compiler/recipes/small_mlp.yaml --mode train --key "$folder/test.key.pem" -o "$folder/plan" \
        --set trainer.init.model.input_size=12 --set trainer.fit.train_dataloader.held_out_per_mille=0 \
        --set trainer.fit.train_dataloader.batch_size=$((2 * $2)) --set trainer.fit.train_dataloader.micro_batch_size=2 \
        --set trainer.init.precision.enabled=false --set trainer.init.loop.micro_batch_order="$1" >"$folder/out" 2>"$folder/err" || fail "$1 of $2: not compiled"
}

# train NAME: what `firn train` has after three steps, in $folder/NAME
train() {
    rm -f "$folder/state" "$folder/log"
    "$FIRN" train "$folder/plan" --pub "$PUB" --data "$folder/records" --labels "$folder/labels" --steps 3 --quiet \
        --checkpoint "$folder/state" --log "$folder/log" >"$folder/out" 2>"$folder/err" || fail "$1: not trained"
    sed -n 's/.*"loss_bits":"\([0-9a-f]*\)".*/\1/p' "$folder/log" >"$folder/$1"
    "$FIRN" digest "$folder/state" --per-tensor >>"$folder/$1"
}

# says TARGET PROGRAM MICRO_BATCHES: the program has the same losses and state.
says() {
    rm -f "$folder/state"
    env PLAN="$folder/plan" PUB="$PUB" DATA="$folder/records" LABELS="$folder/labels" CHECKPOINT="$folder/state" STEPS=3 \
        runtime/targets/emulated/run "$1" "$2" </dev/null >"$folder/got" 2>"$folder/err" || fail "$1, $3 micro-batches: does not run"
    sed -n 's/^step .* loss .* 0x\([0-9a-f]*\).*/\1/p' "$folder/got" >"$folder/other"
    "$FIRN" digest "$folder/state" --per-tensor >>"$folder/other"
    cmp -s "$folder/tree" "$folder/other" || fail "$1, $3 micro-batches: other losses, or another state:" "$(cat "$folder/other")"
}

for count in 2 3 5 7 8; do
    compile sequential $count
    train sequence
    compile tree $count
    for set in plain ''; do
        FIRN_KERNELS=$set train "set"
        [ -z "$set" ] || mv "$folder/set" "$folder/tree"
        [ -n "$set" ] || cmp -s "$folder/set" "$folder/tree" || fail "$count micro-batches: another set has other bits"
    done
    if [ $count -lt 4 ]; then
        cmp -s "$folder/tree" "$folder/sequence" || fail "$count micro-batches: other bits than a sequence"
    elif cmp -s "$folder/tree" "$folder/sequence"; then
        fail "$count micro-batches: the bits of a sequence"
    fi
    says host "$BUILD/runner" $count
    for target in $boards; do
        says "$target" "$(cat "$folder/$target.board")" $count
    done
done

[ $failures -eq 0 ]
