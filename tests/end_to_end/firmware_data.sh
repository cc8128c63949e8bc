#!/bin/sh
# From a table or a folder to a firmware: where firnc export --firmware is given what no device reads, its message has the
# commands that make such files, and these work as they are. An export that is interrupted ends with exit code 130, and its
# folder is whole or absent.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
root=$PWD
BUILD=$(cd "$BUILD" && pwd)
FIRNC=$BUILD/firnc
FIRN=$BUILD/firn
cd "$folder"
mkdir bin
ln -s "$FIRN" bin/firn
PATH=$folder/bin:$PATH

"$FIRNC" keygen my >out
# compile PLAN FEATURES TYPE [OPTION]...
compile() {
    plan=$1
    features=$2
    type=$3
    shift 3
    cat >recipe.yaml <<end
trainer:
  init:
    model: {name: mlp, input_size: $features, hidden_sizes: [5], output_size: 2}
    optimizer: {SGD: {}}
    schedulers: [{ConstantLR: {learning_rate: 0.1}}]
    precision: {enabled: false}
    loop: {num_steps: 4}
  fit:
    train_dataloader: {batch_size: 4, feature_type: $type, label_type: int32}
end
    expect "$plan" 0 "" "$FIRNC" compile recipe.yaml --mode train --key my.key.pem -o "$plan" "$@"
}
compile table.plan 3 float32
compile image.plan 12 uint8
awk 'BEGIN { print "a,b,c,kind"; for (i = 0; i < 16; i++) printf "%d,%d,%d,%s\n", i, i * 7 % 16, 2, i % 2 ? "oak" : "ash" }' >table.csv

# refuse NAME STATUS PATTERN PLAN OPTION...: in one line, and makes nothing
refuse() {
    title=$1 wanted=$2 pattern=$3 with=$4
    shift 4
    expect "$title" "$wanted" "$pattern" "$FIRNC" export "$with" --firmware new --target cortex-m4f --pub my.pub.pem "$@"
    [ ! -e new ] || fail "$title: something was made"
}
# follow NAME PLAN: what the last message says works: the command between backquotes, with the column in its place, and
# then the options behind "then"
follow() {
    rm -f device*.npy
    command=$(sed -n 's/.*`\(firn data [^`]*\)`.*/\1/p' err | sed 's/COLUMN/kind/')
    given=$(sed -n 's/.*`, then //p' err)
    expect "$1: $command" 0 "" sh -c "$command"
    # shellcheck disable=SC2086 # options
    expect "$1: $given" 0 "" "$FIRNC" export "$2" --firmware new --target cortex-m4f --pub my.pub.pem $given
    [ -e new/Makefile ] || fail "$1: no project"
    rm -rf new
}
refuse "a table" 2 "--labels: missing, and table.plan reads labels; add --labels FILE; of a table or of class folders make data and labels by" \
    table.plan --data table.csv
follow "a table" table.plan
cut -d , -f 1-3 table.csv >x.csv
cut -d , -f 4 table.csv | sed 1d >y.csv
refuse "two tables" 1 "x.csv: holds bytes, and no array .* convert it by firn data --convert: .firn data x.csv --labels y.csv --plan" \
    table.plan --data x.csv --labels y.csv
refuse "no labels" 2 "add --labels FILE" table.plan --data device.npy
! grep -q "class folders" err || fail "an array is taken for a table"
if python3 - 2>got <<'end'
import struct, zlib
def png(path, grey):
    rows = b"".join(b"\0" + bytes([grey + x for x in range(4)]) for _ in range(3))
    part = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    open(path, "wb").write(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", 4, 3, 8, 0, 0, 0, 0))
                           + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b""))
import os
for kind in "ash", "oak":
    os.makedirs("photos/" + kind)
    for i in range(6):
        png(f"photos/{kind}/{i}.png", 10 * i)
end
then
    refuse "class folders" 2 "add --labels FILE; of a table or of class folders" image.plan --data photos
    if "$FIRN" data photos >out 2>err; then
        refuse "class folders" 2 "class folders" image.plan --data photos
        follow "class folders" image.plan
    fi
    refuse "a folder" 1 "photos/ash: is a folder, and flash has one file of records; make it by .firn data photos/ash --labels" \
        image.plan --data photos/ash --labels device-labels.npy
else
    fail "no images"
fi

# --- interrupted ------------------------------------------------------------------------------------------------------

# caught PID: the program catches SIGTERM by now, or has ended
caught() {
    while kill -0 "$1" 2>got && ! grep -q '^SigCgt:.*[4567cdef]...$' "/proc/$1/status" 2>got; do sleep 0.01; done
}
expect "a project" 0 "" "$FIRNC" export table.plan --firmware whole --target rv32 --pub my.pub.pem
files=$(find whole -type f | wc -l)
for wait in 0 0.01 0.03 0.06; do
    rm -rf killed*
    status=0
    "$FIRNC" export table.plan --firmware killed --target rv32 --pub my.pub.pem >out 2>err &
    caught $!
    sleep $wait
    kill -TERM $! 2>got || :
    wait $! || status=$?
    [ "$status" -eq 130 ] || [ "$status" -eq 0 ] || fail "an interrupted export: exit $status"
    [ "$status" -eq 130 ] || [ -e killed ] || fail "an export has no folder"
    [ ! -e killed ] || [ "$(find killed -type f | wc -l)" -eq "$files" ] || fail "half a project"
    [ -z "$(find . -maxdepth 1 -name 'killed.*')" ] || fail "a temporary folder is left"
done
mkfifo never
sleep 20 >never &
holder=$!
for signal in TERM INT HUP; do
    status=0
    env --default-signal=INT "$FIRNC" tokens --count --tokenizer "$root/tests/golden/tokens/bytes.json" - <never >out 2>err &
    while ! grep -q firnc "/proc/$!/comm"; do sleep 0.01; done
    caught $!
    kill -$signal $!
    wait $! || status=$?
    [ "$status" -eq 130 ] || fail "SIG$signal: exit $status, not 130"
    [ "$(cat err)" = "firnc: interrupted; no file is half written" ] || fail "SIG$signal: another message"
done
kill $holder

[ "$failures" -eq 0 ]
