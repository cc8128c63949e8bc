#!/bin/sh
# The main use from end to end: freezes, signs and verifies a plan, trains, evaluates, draws the curves, lets the model say
# what it has learned, and shows that two microcontrollers compute the same bits. `make demo` and `make demo-host` run it in the repository root after building.
#
#   DATA=F   the file or folder to train on; default: the licence texts that Debian installs
#   OUT=D    the folder for plans, log, checkpoint and chart; default: build/demo
#   BOARDS=  the emulated boards; default: "cortex-m7 rv32"; empty: this machine only, as in `make demo-host`
set -eu

DATA=${DATA:-/usr/share/common-licenses}
OUT=${OUT:-build/demo}
FIRNC=${FIRNC:-build/firnc}
FIRN=${FIRN:-build/firn}
RECIPES=compiler/recipes
BOARDS=${BOARDS-cortex-m7 rv32}
EMULATED_STEPS=5

say() {
    printf '\n== %s\n' "$1"
}

# Prints the file that the emulated targets read. Of a folder it is the first file above 8 KiB, or else the largest.
one_file() {
    if [ -d "$1" ]; then
        find "$1" -maxdepth 1 -type f -printf '%s %p\n' | LC_ALL=C sort -k 2 |
            awk '$1 > 8192 { print; exit 0 } $1 > most { most = $1; line = $0 } END { if ($1 <= 8192) print line }' |
            cut -d ' ' -f 2-
    else
        printf '%s\n' "$1"
    fi
}

[ -e "$DATA" ] || {
    echo "demo: $DATA: there is no such file or folder; give one with DATA=" >&2
    exit 1
}
# A run before this one is kept until the data has been trained on for a step, in a folder beside it.
trial=$OUT.trial
rm -rf "$trial"
mkdir -p "$trial"
{
    "$FIRNC" keygen "$trial/demo" &&
        "$FIRNC" compile "$RECIPES/demo_gpt2.yaml" --mode train --key "$trial/demo.key.pem" -o "$trial/train.plan" &&
        "$FIRN" train "$trial/train.plan" --pub "$trial/demo.pub.pem" --data "$DATA" --steps 1 --quiet
} >"$trial/out" 2>"$trial/err" || {
    cat "$trial/err" >&2
    rm -rf "$trial"
    exit 1
}
rm -rf "$OUT" "$trial"
mkdir -p "$OUT"

say "A key to sign with"
"$FIRNC" keygen "$OUT/demo"

say "Freeze and sign the training run ($RECIPES/demo_gpt2.yaml)"
"$FIRNC" compile "$RECIPES/demo_gpt2.yaml" --mode train --key "$OUT/demo.key.pem" -o "$OUT/train.plan"
"$FIRNC" verify "$OUT/train.plan" --pub "$OUT/demo.pub.pem"
"$FIRNC" inspect "$OUT/train.plan"

say "Train on $DATA (the tail of each file is held out)"
"$FIRN" train "$OUT/train.plan" --pub "$OUT/demo.pub.pem" --data "$DATA" --checkpoint "$OUT/model.ckpt" \
    --log "$OUT/train.jsonl"
last=$(grep '"step":' "$OUT/train.jsonl" | tail -n 20 | sed 's/.*"loss": *\([^,}]*\).*/\1/' |
    awk '{ sum += $1 } END { printf "%.4f", sum / NR }')

say "Evaluate on the held-out text, with a second plan of the same model"
"$FIRNC" compile "$RECIPES/demo_gpt2.yaml" --mode eval --key "$OUT/demo.key.pem" -o "$OUT/eval.plan"
perplexity=$("$FIRN" eval "$OUT/eval.plan" --pub "$OUT/demo.pub.pem" --data "$DATA" --checkpoint "$OUT/model.ckpt")
held_out=$(awk -v p="$perplexity" 'BEGIN { printf "%.4f", log(p) }')
unit=$(sed -n '1s/.*"loss_unit":"\([^"]*\)".*/\1/p' "$OUT/train.jsonl")
echo "mean training loss of the last 20 steps: $last $unit"
echo "held-out perplexity: $perplexity (that is $held_out $unit)"
"$FIRN" plot "$OUT/train.jsonl" -o "$OUT/curves.svg"
echo "curves: $OUT/curves.svg"
# Chart.js is no part of what the demo installs.
! "$FIRN" report "$OUT/train.jsonl" --plan "$OUT/train.plan" --pub "$OUT/demo.pub.pem" -o "$OUT/report.html" 2>"$OUT/report.err" ||
    echo "report: $OUT/report.html"
rm -f "$OUT/report.err"

say "What it has learned to say: 64 bytes, by a third plan"
"$FIRNC" compile "$RECIPES/demo_gpt2.yaml" --mode eval --decode --key "$OUT/demo.key.pem" -o "$OUT/decode.plan"
for seed in 1 2 3 4; do
    "$FIRN" generate "$OUT/decode.plan" --pub "$OUT/demo.pub.pem" --checkpoint "$OUT/model.ckpt" --prompt "You " \
        --temperature 0.5 --seed $seed | tr '\n' ' '
    echo
done

# What can be done with the files of this run.
next_steps() {
    say "What to do next"
    cat <<end
another text    $FIRN generate $OUT/decode.plan --pub $OUT/demo.pub.pem --checkpoint $OUT/model.ckpt --prompt "The "
your text       make demo-host DATA=FILE
a report        .packages/install report-library; $FIRN report $OUT/train.jsonl --plan $OUT/train.plan --pub $OUT/demo.pub.pem -o report.html
your model      cp $RECIPES/demo_gpt2.yaml my.yaml; README.md, "Freeze a run of your own"
your device     README.md, "Run a plan from C"; make demo runs a plan on two emulated boards
end
}

[ -n "$BOARDS" ] || {
    next_steps
    exit 0
}
say "The first $EMULATED_STEPS steps of a small plan on three machines"
file=$(one_file "$DATA")
"$FIRNC" compile "$RECIPES/small_gpt2.yaml" --mode train --key "$OUT/demo.key.pem" -o "$OUT/small.plan"
"$FIRN" train "$OUT/small.plan" --pub "$OUT/demo.pub.pem" --data "$file" --steps "$EMULATED_STEPS" --quiet \
    --checkpoint "$OUT/small.ckpt" >"$OUT/host.txt"
"$FIRN" digest "$OUT/small.ckpt" | sed 's/^/host       /'
status=0
expected=$("$FIRN" digest "$OUT/small.ckpt")
for target in $BOARDS; do
    ${MAKE:-make} -s emulate TARGET="$target" PLAN="$OUT/small.plan" PUB="$OUT/demo.pub.pem" DATA="$file" \
        STEPS="$EMULATED_STEPS" >"$OUT/$target.txt"
    digest=$(tail -n 1 "$OUT/$target.txt")
    printf '%-10s %s\n' "$target" "$digest"
    [ "$digest" = "$expected" ] || status=1
done
if [ "$status" -ne 0 ]; then
    echo "demo: the digests differ" >&2
    exit 1
fi
echo "The three digests are equal."
next_steps
