#!/bin/sh
# What people read: firn predict --format csv and jsonl with the predicted class, its name and the label in each row, and
# firn eval --confusion and --per-class. The numbers are those of the default forms, which stay as they are; the matrix is
# the one that follows from the rows. What is wrong is refused in one line, and a file is whole or not there.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
recipe=compiler/recipes/small_mlp.yaml
"$FIRNC" keygen "$folder/key" >"$folder/out"

# compile NAME MODE [OPTION]...
compile() {
    plan=$1
    mode=$2
    shift 2
    "$FIRNC" compile "${from:-$recipe}" --mode "$mode" --key "$folder/key.key.pem" -o "$folder/$plan.plan" \
        --set trainer.fit.train_dataloader.held_out_per_mille=0 "$@" >"$folder/out"
}
python3 - "$folder" <<'end'
import sys
import numpy
folder = sys.argv[1]
numbers = numpy.random.RandomState(3)
numpy.save(folder + "/x.npy", numbers.randint(0, 256, (50, 784)).astype(numpy.uint8))
numpy.save(folder + "/y.npy", numbers.randint(0, 10, 50).astype(numpy.uint8))
numpy.save(folder + "/y32.npy", numpy.load(folder + "/y.npy").astype(numpy.int32))
names = ["zero", "one", "a, comma", 'a "quote"', "Käse", "back\\slash", " space", "=1", "null", "nine"]
open(folder + "/names", "wb").write("\n".join(names).encode() + b"\n")
open(folder + "/windows", "wb").write(b"\xef\xbb\xbf" + "\r\n".join(names).encode())
end
compile train train
"$FIRN" train "$folder/train.plan" --pub "$folder/key.pub.pem" --quiet --data "$folder/x.npy" --labels "$folder/y.npy" \
    --checkpoint "$folder/ckpt" >"$folder/out"
validate=trainer.validate
compile logits eval --set $validate.metric=none --set "$validate.outputs=[logits,layers.0]"
compile both eval --set $validate.metric=accuracy --set "$validate.outputs=[probabilities]" --set $validate.val_dataloader.batch_size=10
compile left eval --set $validate.metric=accuracy --set "$validate.outputs=[probabilities]" \
    --set $validate.val_dataloader.batch_size=8 --set $validate.val_dataloader.drop_last=true
compile matrix eval --set $validate.metric=mean_per_class_accuracy --set $validate.val_dataloader.batch_size=10
compile accuracy eval --set $validate.metric=accuracy

predict() {
    plan=$1
    shift
    "$FIRN" predict "$folder/$plan.plan" --pub "$folder/key.pub.pem" --checkpoint "$folder/ckpt" --data "$folder/x.npy" "$@"
}
evaluate() {
    plan=$1
    shift
    "$FIRN" eval "$folder/$plan.plan" --pub "$folder/key.pub.pem" --checkpoint "$folder/ckpt" --data "$folder/x.npy" \
        --labels "$folder/y.npy" "$@"
}

# --- the matrix on standard output -----------------------------------------------------------------------------------

expect "a matrix in a file" 0 "" evaluate matrix --confusion "$folder/matrix.csv" --per-class
cp "$folder/out" "$folder/numbers"
expect "a matrix on standard output" 0 "" evaluate matrix --confusion - --per-class
{
    head -n 1 "$folder/numbers"
    cat "$folder/matrix.csv"
    tail -n +2 "$folder/numbers"
} >"$folder/wanted"
same "a matrix on standard output" "$folder/out" "$folder/wanted"
[ ! -e ./- ] || fail "there is a file named -"
for wrong in "export $folder/ckpt -o -" "predict $folder/logits.plan --pub $folder/key.pub.pem --checkpoint $folder/ckpt --data $folder/x.npy --format csv -o -"; do
    # shellcheck disable=SC2086 # options
    expect "firn $wrong" 2 "-o: takes no standard input or output; write the name of a file" "$FIRN" $wrong
done

# --- the forms -------------------------------------------------------------------------------------------------------

expect "numbers" 0 "" predict logits --name logits -o "$folder/plain.csv"
grep -q "numbers each, without a header; --format csv writes one, and the predicted class of each row by its name$" "$folder/err" ||
    fail "it is not said which option writes a header"
expect "an array" 0 "" predict logits --name logits -o "$folder/plain.npy"
grep -q "10 numbers each$" "$folder/err" || fail "an array of NumPy is said to have no header"
expect "an array by --format" 0 "" predict logits --name logits --format npy -o "$folder/plain.data"
cmp -s "$folder/plain.npy" "$folder/plain.data" || fail "--format npy is not the array"
expect "a table" 0 "" predict logits --name logits --format csv -o "$folder/table.data"
expect "a table with names" 0 "" predict logits --name logits --classes "$folder/names" -o "$folder/named.csv"
expect "names as Windows writes them" 0 "" predict logits --name logits --classes "$folder/windows" -o "$folder/windows.csv"
cmp -s "$folder/named.csv" "$folder/windows.csv" || fail "a byte order mark or carriage returns are part of names"
expect "lines of JSON" 0 "" predict logits --name logits --classes "$folder/names" -o "$folder/named.jsonl"
expect "lines of JSON without names" 0 "" predict logits --name logits --format jsonl -o "$folder/plain.jsonl"
expect "a layer" 0 "" predict logits --name layers.0 --format csv -o "$folder/layer.csv"
expect "labels" 0 "" predict both --labels "$folder/y.npy" --classes "$folder/names" -o "$folder/labelled.csv"
expect "labels of samples that fill no batch" 0 "" predict left --labels "$folder/y.npy" --classes "$folder/names" -o "$folder/left.csv"
cmp -s "$folder/left.csv" "$folder/labelled.csv" || fail "the samples that fill no batch have other rows"
expect "labels in JSON" 0 "" predict both --labels "$folder/y.npy" --classes "$folder/names" -o "$folder/labelled.jsonl"
expect "the matrix" 0 "" evaluate matrix --confusion "$folder/matrix.csv"
expect "the matrix with names" 0 "" evaluate matrix --confusion "$folder/named_matrix.csv" --classes "$folder/names"
expect "the metric" 0 "" evaluate matrix
cp "$folder/out" "$folder/metric"
expect "each class" 0 "" evaluate matrix --per-class --classes "$folder/names"
cp "$folder/out" "$folder/classes.csv"
grep -q "^[0-9]* of 50 rows are right, an accuracy of 0\.[0-9]*$" "$folder/err" || fail "no note of the accuracy"
from=compiler/recipes/small_gpt2.yaml
compile text_train train
compile text eval --set $validate.metric=none --set "$validate.outputs=[logits]"
head -c 200 /usr/share/common-licenses/GPL-3 >"$folder/text"
"$FIRN" train "$folder/text_train.plan" --pub "$folder/key.pub.pem" --quiet --data "$folder/text" --steps 0 \
    --checkpoint "$folder/text.ckpt" >"$folder/out"
for form in jsonl npy; do
    "$FIRN" predict "$folder/text.plan" --pub "$folder/key.pub.pem" --quiet --data "$folder/text" --checkpoint "$folder/text.ckpt" \
        -o "$folder/text.$form" || fail "text as $form"
done
from=

python3 - "$folder" 2>"$folder/err" <<'end' || fail "rows, matrix or classes are not what follows from the numbers"
import csv, json, sys
import numpy
folder = sys.argv[1]
read = lambda name: list(csv.reader(open(f"{folder}/{name}", newline="", encoding="utf-8")))
numbers, labels = numpy.load(folder + "/plain.npy"), numpy.load(folder + "/y.npy")
names = open(folder + "/names", encoding="utf-8").read().split("\n")[:10]
chosen = numbers.argmax(1)
plain = [line.split(",") for line in open(folder + "/plain.csv").read().splitlines()]
table, named = read("table.data"), read("named.csv")
assert table[0] == ["row", "predicted"] + [f"logits_{i}" for i in range(10)], table[0]
assert named[0] == ["row", "predicted", "class"] + names, named[0]
assert len(table) == len(named) == 51
for i in range(50):
    assert table[1 + i] == [str(i), str(chosen[i])] + plain[i], i
    assert named[1 + i] == [str(i), str(chosen[i]), names[chosen[i]]] + plain[i], i
lines = [json.loads(line) for line in open(folder + "/named.jsonl", encoding="utf-8")]
bare = [json.loads(line) for line in open(folder + "/plain.jsonl")]
for i, line in enumerate(lines):
    assert list(line) == ["row", "predicted", "class", "logits"] and line["row"] == i
    assert line["predicted"] == chosen[i] and line["class"] == names[chosen[i]]
    assert (numpy.float32(line["logits"]) == numbers[i]).all()
    assert bare[i] == {"row": i, "predicted": int(chosen[i]), "logits": line["logits"]}
layer = read("layer.csv")
assert layer[0][:2] == ["row", "layers.0_0"] and len(layer[0]) == 17 and len(layer) == 51
labelled = read("labelled.csv")
assert labelled[0] == ["row", "predicted", "class", "label", "label_class"] + names
for i, line in enumerate(open(folder + "/labelled.jsonl", encoding="utf-8")):
    row, said = json.loads(line), labelled[1 + i]
    assert row["label"] == labels[i] == int(said[3]) and row["label_class"] == names[labels[i]] == said[4]
    assert row["predicted"] == chosen[i] == int(said[1])
matrix = numpy.zeros((10, 10), int)
for label, prediction in zip(labels, chosen):
    matrix[label][prediction] += 1
said = read("matrix.csv")
assert said[0] == ["label"] + [str(i) for i in range(10)] and [row[0] for row in said[1:]] == said[0][1:]
assert (numpy.array([row[1:] for row in said[1:]], int) == matrix).all()
said = read("named_matrix.csv")
assert said[0] == ["label"] + names and [row[0] for row in said[1:]] == names
assert [row[1:] for row in said[1:]] == [row[1:] for row in read("matrix.csv")[1:]]
classes = read("classes.csv")
assert classes[0] == open(folder + "/metric").read().split()
assert classes[1] == ["class", "precision", "recall", "f1", "support"] and len(classes) == 12
for i, row in enumerate(classes[2:]):
    right, taken, support = matrix[i][i], matrix[:, i].sum(), matrix[i].sum()
    wanted = [right / max(taken, 1), right / max(support, 1), 2 * right / max(taken + support, 1)]
    assert row[0] == names[i] and int(row[4]) == support
    assert all(abs(float(a) - b) < 1e-5 for a, b in zip(row[1:4], wanted)), (row, wanted)
text = [json.loads(line)["logits"] for line in open(folder + "/text.jsonl")]
array = numpy.load(folder + "/text.npy")
assert numpy.array(text).shape == array.shape and len(array.shape) == 3
assert (numpy.float32(text) == array).all()
end
grep -q '^1,' "$folder/table.data" && ! grep -q "e+\|nan" "$folder/named.jsonl" || fail "a number is written in another way"

# A number that is not finite: no prediction, and null in JSON. One logit has two classes.
python3 - "$folder" <<'end'
import sys
import numpy
x = numpy.full((4, 3), numpy.inf, numpy.float32)
x[1:] = [[1, 2, 3], [-4, -5, -6], [3, 4, -9]]
numpy.save(sys.argv[1] + "/points.npy", x)
numpy.save(sys.argv[1] + "/shares.npy", numpy.array([1, 0, 1, 0], numpy.float32))
end
cat >"$folder/two.yaml" <<'end'
trainer:
  init:
    model: {name: mlp, input_size: 3, hidden_sizes: [], output_size: 1, loss: binary_cross_entropy_with_logits}
    optimizer: {SGD: {lr: 0.1}}
    precision: {enabled: false}
    loop: {num_steps: 3}
  fit:
    train_dataloader: {batch_size: 2, feature_type: float32}
end
from=$folder/two.yaml
compile two train
compile two_logits eval --set $validate.metric=none --set "$validate.outputs=[logits,probabilities]"
"$FIRN" train "$folder/two.plan" --pub "$folder/key.pub.pem" --quiet --data "$folder/points.npy" --labels "$folder/shares.npy" \
    --steps 0 --checkpoint "$folder/two.ckpt" >"$folder/out"
two() {
    "$FIRN" predict "$folder/two_logits.plan" --pub "$folder/key.pub.pem" --quiet --data "$folder/points.npy" \
        --checkpoint "$folder/two.ckpt" "$@"
}
printf 'no\nyes\n' >"$folder/yes"
for scores in logits probabilities; do
    expect "$scores of two classes" 0 "" two --name $scores --classes "$folder/yes" -o "$folder/$scores.csv"
    expect "$scores of two classes in JSON" 0 "" two --name $scores --classes "$folder/yes" -o "$folder/$scores.jsonl"
done
cut -d , -f 1-3 "$folder/logits.csv" >"$folder/one"
cut -d , -f 1-3 "$folder/probabilities.csv" >"$folder/other"
cmp -s "$folder/one" "$folder/other" || fail "logits and probabilities predict other classes"
awk -F , 'NR > 1 { class = $4 > 0; if ($4 == "nan" || $4 == "-nan") exit $2 != ""; if ($2 != class || $3 != (class ? "yes" : "no")) exit 1 }' \
    "$folder/logits.csv" || fail "one logit is another class"
python3 -c 'import json, sys; [json.loads(line) for line in open(sys.argv[1])]' "$folder/logits.jsonl" || fail "no JSON"
from=

# --- what is refused -------------------------------------------------------------------------------------------------

none=$folder/none.csv
printf 'a\nb\n' >"$folder/few"
expect "too few names" 1 "few: has 2 names, and the output logits has 10 classes" predict logits --name logits --classes "$folder/few" -o "$none"
expect "too few names of a matrix" 1 "few: has 2 names, and the metric has 10 classes" evaluate matrix --per-class --classes "$folder/few"
bad() {
    printf "$2" >"$folder/bad"
    expect "$1" 1 "^firn: [^ ]*bad: .*$3" predict logits --name logits --classes "$folder/bad" -o "$none"
}
bad "an empty line" 'a\n\nb\n' "line 2 is empty"
bad "a name twice" 'a\nb\na\n' "line 3 has the name of a class before it"
bad "a tab" 'a\nb\tc\n' "line 2 has a control character"
bad "no UTF-8" 'a\n\344\n' "line 2 is no UTF-8"
bad "a surrogate" 'a\n\355\240\200\n' "line 2 is no UTF-8"
bad "a long form" '\300\257\n' "line 1 is no UTF-8"
bad "a cut character" 'a\n\342\202' "line 2 is no UTF-8"
bad "no text" 'a\000b\n' "is no text"
bad "nothing" '' "is empty"
line=0
for column in row predicted class label label_class; do
    line=$((line + 1))
    seq 0 9 | sed "${line}s/.*/$column/" >"$folder/bad"
    expect "a class $column" 1 "bad: line $line is $column, which is the name of another column of the table; name the class otherwise, as in ${column}_$((line - 1))\$" \
        predict logits --name logits --classes "$folder/bad" -o "$none"
    [ ! -e "$none" ] || fail "a table with two columns $column"
    expect "a class $column in JSON" 0 "" predict logits --name logits --classes "$folder/bad" -o "$folder/taken.jsonl"
done
seq 0 9 | sed '4s/.*/label/' >"$folder/bad"
expect "a class label of a matrix" 1 "bad: line 4 is label, which is the name of another column" evaluate matrix --confusion "$none" --classes "$folder/bad"
expect "a class label of each class" 0 "" evaluate matrix --per-class --classes "$folder/bad"
seq 5000 >"$folder/bad"
expect "too many names" 1 "line 4097 is one of more than 4096" predict logits --name logits --classes "$folder/bad" -o "$none"
mkdir "$folder/inside"
expect "names that are a folder" 1 "folder" predict logits --name logits --classes "$folder/inside" -o "$none"
expect "no names" 1 "cannot be read" predict logits --name logits --classes "$folder/absent" -o "$none"
expect "names of a layer" 2 "layers.0 has no classes" predict logits --name layers.0 --classes "$folder/names" -o "$none"
expect "names in an array" 2 "has no names; leave out --classes" predict logits --name logits --classes "$folder/names" -o "$folder/none.npy"
expect "no format" 2 "is not known; write csv, npy or jsonl" predict logits --name logits --format xml -o "$none"
expect "two formats" 2 "given twice" predict logits --name logits --format csv --format npy -o "$none"
expect "a metric without a matrix" 3 "accuracy.plan: its metric counts no classes; compile it with .*mean_per_class_accuracy" \
    evaluate accuracy --confusion "$none"
expect "names for nothing" 2 "needs --confusion or --per-class" evaluate matrix --classes "$folder/names"
expect "the matrix over the labels" 2 "confusion matrix would be written over the labels" evaluate matrix --confusion "$folder/y.npy"
expect "the matrix over the names" 2 "over the names of classes" evaluate matrix --confusion "$folder/names" --classes "$folder/names"
expect "a prediction over the names" 2 "over the names of classes" predict logits --name logits -o "$folder/names" --format csv \
    --classes "$folder/names"
expect "no folder for the matrix" 1 "absent" evaluate matrix --confusion "$folder/absent/matrix.csv"
[ ! -s "$folder/out" ] || fail "a metric although the matrix cannot be written"
[ ! -e "$none" ] && [ ! -e "$none.tmp" ] || fail "a file of what was refused"

# --- a checkpoint that is replaced meanwhile --------------------------------------------------------------------------

# The last rows are of a short batch, and of the state of all others: a checkpoint that a training puts in the place of
# the first one is not opened. `put` opens another checkpoint as soon as the output was begun.
expect "another state" 0 "" "$FIRN" train "$folder/train.plan" --pub "$folder/key.pub.pem" --quiet --steps 3 \
    --data "$folder/x.npy" --labels "$folder/y.npy" --checkpoint "$folder/ckpt.later"
cat >"$folder/put.c" <<'end'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const char *path_of(const char *path) {
    static int begun;
    const size_t length = strlen(path);
    begun |= length > 4 && strcmp(path + length - 4, ".tmp") == 0;
    return begun && strcmp(path, getenv("FAULT_CHECKPOINT")) == 0 ? getenv("FAULT_LATER") : path;
}

static int call(const char *name, const char *path, int flags, int mode) {
    union {
        void *symbol;
        int (*call)(const char *, int, ...);
    } next = {dlsym(RTLD_NEXT, name)};
    return next.call(path_of(path), flags, mode);
}

int open(const char *path, int flags, int mode) {
    return call("open", path, flags, mode);
}

int open64(const char *path, int flags, int mode) {
    return call("open64", path, flags, mode);
}
end
${CC:-cc} -O1 -shared -fPIC "$folder/put.c" -o "$folder/put.so" -ldl
put() {
    LD_PRELOAD="$folder/put.so ${LD_PRELOAD:-}" FAULT_CHECKPOINT=$folder/ckpt FAULT_LATER=$folder/ckpt.later predict "$@"
}
expect "a checkpoint that is replaced" 0 "" put logits --name logits -o "$folder/put.npy"
cmp -s "$folder/plain.npy" "$folder/put.npy" || fail "the last rows are of another checkpoint"

# --- no memory for a text --------------------------------------------------------------------------------------------

# What is written in memory first ends with a message where there is none for it. At its end, so that part of it is there,
# if FAULT_CLOSE is set.
cat >"$folder/memory.c" <<'end'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *made;

FILE *open_memstream(char **text, size_t *length) {
    union {
        void *symbol;
        FILE *(*call)(char **, size_t *);
    } next = {dlsym(RTLD_NEXT, "open_memstream")};
    errno = ENOMEM;
    return getenv("FAULT_CLOSE") != NULL ? made = next.call(text, length) : NULL;
}

int fclose(FILE *file) {
    union {
        void *symbol;
        int (*call)(FILE *);
    } next = {dlsym(RTLD_NEXT, "fclose")};
    const int closed = next.call(file);
    if (file != made)
        return closed;
    errno = ENOMEM;
    return EOF;
}
end
${CC:-cc} -O1 -shared -fPIC "$folder/memory.c" -o "$folder/memory.so" -ldl
# starved COMMAND...: with little memory
starved() {
    LD_PRELOAD="$folder/memory.so ${LD_PRELOAD:-}" "$@"
}
for fault in FAULT_NONE FAULT_CLOSE; do
    export $fault=1
    expect "no memory for the log" 1 "^firn: memory: " starved "$FIRN" train "$folder/train.plan" --pub "$folder/key.pub.pem" --quiet \
        --data "$folder/x.npy" --labels "$folder/y.npy" --steps 1 --log "$folder/memory.log"
    expect "no memory for an export" 1 "^firn: memory: " starved "$FIRN" export "$folder/ckpt" --quiet -o "$folder/memory.safetensors"
    expect "no memory for a matrix" 1 "^firn: memory: " starved evaluate matrix --quiet --confusion "$folder/memory.csv"
    expect "no memory for rows" 1 "memory.csv: cannot be written: Cannot allocate" starved predict logits --quiet --name logits --format csv \
        -o "$folder/memory.csv"
    expect "no memory for a list of parts" 1 "^firnc: memory: " starved "$FIRNC" export "$folder/train.plan" --c -o "$folder/memory.c.out"
    unset $fault
done
for made in "$folder"/memory.*; do
    case $made in *.c | *.so) ;; *) fail "no memory, and $made is there" ;; esac
done

# --- no room, and nobody who reads -----------------------------------------------------------------------------------

echo kept >"$none"
limited() {
    (ulimit -f 1 && "$@")
}
expect "no room for a table" 1 "none.csv: cannot be written: File too large" limited predict logits --quiet --name logits --format csv -o "$none"
expect "no room for JSON" 1 "none.csv: cannot be written: File too large" limited predict logits --quiet --name logits --format jsonl -o "$none"
[ "$(cat "$none")" = kept ] && [ ! -e "$none.tmp" ] || fail "no room, and the file that was there is lost"
if [ -e /dev/full ]; then
    status=0
    evaluate matrix --per-class --confusion "$none" >/dev/full 2>"$folder/err" || status=$?
    [ $status -eq 1 ] || fail "a full standard output: exit $status"
    cmp -s "$none" "$folder/matrix.csv" || fail "a full standard output: the matrix is not whole"
fi
status=$({ evaluate matrix --per-class 2>"$folder/err" || echo $? >&3; } 3>&1 >&-)
[ "$status" -ne 0 ] || fail "a closed standard output is no error"

[ "$failures" -eq 0 ] || exit 1
echo "predictions, matrix and classes are those of the numbers, in CSV and JSON; the default forms are as before"
