#!/bin/sh
# Names of columns, classes and files that are no UTF-8, as in a table that was saved as Latin-1: each JSON is JSON that
# Python reads, and names of columns and classes come back with the bytes that they have. Names in UTF-8 are as they were.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
root=$PWD
BUILD=$(cd "$BUILD" && pwd)
FIRNC=$BUILD/firnc
FIRN=$BUILD/firn
cd "$folder"
"$FIRNC" keygen key >out
loader=trainer.fit.train_dataloader
(cd "$root" && "$FIRNC" compile compiler/recipes/table.yaml --all --key "$folder/key.key.pem" -o "$folder/plans" \
    --set $loader.held_out_per_mille=0 --set $loader.batch_size=4 --set $loader.normalise=null \
    --set $loader.normalise_targets=null --set $loader.label_type=int32 --set trainer.init.model.loss=cross_entropy \
    --set trainer.init.model.input_size=2 --set trainer.init.model.output_size=2 \
    --set trainer.validate.metric=mean_per_class_accuracy) >out 2>err || fail "plans"

# table FILE COLUMN COLUMN: 16 records of two columns and a class
table() {
    python3 - "$@" <<'end'
import sys
name, first, second = sys.argv[1:]
code = "utf-8" if "utf" in name else "latin-1"
rows = {"größe": lambda i: i, "höhe": lambda i: 50 - 3 * i}
text = f"{first},{second},art\n" + "".join(f"{rows[first](i)},{rows[second](i)},{'bäume' if i % 2 else 'öl'}\n" for i in range(16))
open(name, "wb").write(text.encode(code))
end
}
for code in latin utf; do
    table $code.csv größe höhe
    table turned-$code.csv höhe größe
    run="--pub key.pub.pem --checkpoint $code.ckpt --target-column art"
    # shellcheck disable=SC2086 # options
    expect "$code: a training" 0 "" "$FIRN" train plans/train.plan $run --data $code.csv --steps 3 --log $code.jsonl
    # shellcheck disable=SC2086
    expect "$code: an evaluation" 0 "" "$FIRN" eval plans/eval.plan $run --data $code.csv --confusion $code-matrix.csv
    cp out $code.metric
    # shellcheck disable=SC2086
    expect "$code: columns in another order" 0 "" "$FIRN" eval plans/eval.plan $run --data turned-$code.csv --allow-other-data
    same "$code: columns in another order are others" out $code.metric
    expect "$code: a prediction" 0 "" "$FIRN" predict plans/predict.plan --pub key.pub.pem --checkpoint $code.ckpt --data turned-$code.csv \
        --target-column art -o $code-p.jsonl
    # shellcheck disable=SC2086
    expect "$code: going on" 0 "" "$FIRN" train plans/train.plan $run --data $code.csv --steps 1 --log $code.jsonl --resume
    python3 - $code >got 2>&1 <<'end' || fail "$code: JSON"
import json, sys
code = sys.argv[1]
columns = json.loads(open(code + ".ckpt.columns", "rb").read().decode("utf-8"))
plain = lambda names: [name["latin1"] if isinstance(name, dict) else name for name in names]
assert plain(columns["columns"]) == ["größe", "höhe"] and plain(columns["classes"]) == ["bäume", "öl"], columns
assert all(isinstance(name, dict) for name in columns["columns"]) == (code == "latin")
for line in open(code + "-p.jsonl", encoding="utf-8"):
    assert json.loads(line)["class"] in ("bäume", "öl"), line
for line in open(code + ".jsonl", encoding="ascii"):
    json.loads(line)
end
done
same "the metric of other bytes" latin.metric utf.metric

expect "the state now" 0 "" "$FIRN" eval plans/eval.plan --pub key.pub.pem --checkpoint latin.ckpt --target-column art --data latin.csv
cp out latin.metric
# A file of an older firn has the bytes as they are.
python3 - <<'end'
import hashlib, json
members = json.loads(open("latin.ckpt.columns", "rb").read().decode("utf-8"))
del members["sha256"]
old = {name: [text["latin1"] if isinstance(text, dict) else text for text in value] if isinstance(value, list) else value
       for name, value in members.items()}
text = json.dumps(old, ensure_ascii=False, separators=(",", ":")).encode("latin-1")
open("latin.ckpt.columns", "wb").write(text[:-1] + b',"sha256":"' + hashlib.sha256(text).hexdigest().encode() + b'"}')
end
expect "a file of an older firn" 0 "" "$FIRN" eval plans/eval.plan --pub key.pub.pem --checkpoint latin.ckpt --target-column art \
    --data turned-latin.csv --allow-other-data
same "a file of an older firn has other names" out latin.metric
for wrong in '{"latin1":3}' '{"latin1":"€"}' '{"latin2":"a"}' '[]' 7; do
    printf '{"run":"x","data":"y","columns":["a",%s]}\n' "$wrong" >latin.ckpt.columns
    expect "a column $wrong" 1 "is no list of the columns" "$FIRN" eval plans/eval.plan --pub key.pub.pem --checkpoint latin.ckpt \
        --target-column art --data latin.csv
done

# Names of files: each byte of one that is no UTF-8 is the character with its number.
latin=$(printf 'gr\366\337e')
cp "$root/compiler/recipes/small_mlp.yaml" "$latin.yaml"
expect "a plan of this name" 0 "" "$FIRNC" compile "$latin.yaml" --mode train --key key.key.pem -o "$latin.plan"
"$FIRNC" inspect "$latin.plan" --json >inspect.json
"$FIRNC" check "$latin.yaml" --json --set trainer.init.loop.num_steps=1 >check.json 2>err
python3 - >out 2>err <<'end' || fail "JSON of files whose names are no UTF-8"
import json

assert json.load(open("inspect.json", encoding="utf-8"))["file"] == "größe.plan"
assert json.load(open("check.json", encoding="utf-8"))["recipe"] == "größe.yaml"
end

[ "$failures" -eq 0 ]
