#!/bin/sh
# Twenty training steps of a tiny LeNet, compared with PyTorch (tests/golden/lenet_training.py).
#
#   float32    every loss within 1e-6 of PyTorch's float64 run, relative; with the largest element or the mean as pool
#   bfloat16   every loss within 1e-2 of PyTorch's autocast run, relative; the first loss, before any gradient is used,
#              within 2e-6, a bound that the float32 run exceeds
set -eu
BUILD=${BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
golden=tests/golden/lenet_training

# losses NAME [SETTING]...: compiles and trains, and writes the losses to $work/NAME, one per line.
losses() {
    name=$1
    shift
    for setting in "$@"; do
        set -- "$@" --set "trainer.init.$setting"
        shift
    done
    "$BUILD/firnc" compile tests/end_to_end/lenet_training.yaml --mode train --key "$work/key.key.pem" \
        --weights $golden.safetensors "$@" -o "$work/$name.plan" >/dev/null
    "$BUILD/firn" train "$work/$name.plan" --pub "$work/key.pub.pem" --data ${golden}_images.npy \
        --labels ${golden}_labels.npy --quiet --log "$work/$name.jsonl" >/dev/null
    sed -n 's/.*"step":.*"loss": *\([^,}]*\),.*/\1/p' "$work/$name.jsonl" >"$work/$name"
    [ "$(wc -l <"$work/$name")" -eq 20 ] || {
        echo "lenet_training: $name: the log does not have 20 steps"
        exit 1
    }
}

# apart NAME COLUMN FIRST LAST: the largest relative difference from a column of the golden file, over steps FIRST to
# LAST.
apart() {
    paste -d ' ' "$work/$1" $golden.losses | awk -v column="$2" -v first="$3" -v last="$4" '
        NR >= first && NR <= last { d = ($1 - $(column + 1)) / $(column + 1); if (d < 0) d = -d; if (d > most) most = d }
        END { printf "%.3e\n", most }'
}

# expect NAME DISTANCE RELATION BOUND
status=0
expect() {
    if awk -v d="$2" -v b="$4" "BEGIN { exit !(d $3 b) }"; then
        echo "ok: $1: $2 $3 $4"
    else
        echo "failed: $1: $2 is not $3 $4"
        status=1
    fi
}

"$BUILD/firnc" keygen "$work/key" >/dev/null
losses float32 precision.enabled=false
losses mean32 precision.enabled=false model.pooling=average model.nonlinearity=tanh
losses bfloat16
# Attributes of windows are shown with both parts.
if ! "$BUILD/firnc" inspect "$work/float32.plan" --json | grep -q '"kernel":[[:space:]]*\[5, 5\]'; then
    echo "failed: inspect shows no kernel of [5, 5]"
    status=1
fi
expect "float32 from PyTorch's float64, 20 steps" "$(apart float32 1 1 20)" "<=" 1e-6
expect "means, float32 from PyTorch's float64, 20 steps" "$(apart mean32 4 1 20)" "<=" 1e-6
expect "bfloat16 from PyTorch's autocast, first step" "$(apart bfloat16 3 1 1)" "<=" 2e-6
expect "float32 from PyTorch's autocast, first step" "$(apart float32 3 1 1)" ">=" 1e-5
expect "bfloat16 from PyTorch's autocast, 20 steps" "$(apart bfloat16 3 1 20)" "<=" 1e-2
exit $status
