#!/bin/sh
# firn report and firn plot: what a page has of a run, its plan, its times and its confusion matrix; units that follow from
# the plan; logs that are damaged, hostile or long; what is refused. A stand-in takes the place of the library, so that this
# test needs no package; report_pages.sh opens pages in a browser.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
needs full
root=$PWD
BUILD=$(cd "$BUILD" && pwd)
FIRNC=$BUILD/firnc
FIRN=$BUILD/firn
cd "$folder"
mkdir -p js/chart.js
printf '/*! Chart.js v3.9.1 </script> */\n' >js/chart.js/chart.min.js
FIRN_JAVASCRIPT=$folder/js
export FIRN_JAVASCRIPT

cat >recipe.yaml <<'end'
trainer:
  init:
    seed: 1
    model: {name: mlp, input_size: 4, hidden_sizes: [5], output_size: 3, nonlinearity: tanh}
    optimizer: {SGD: {momentum: 0.5, weight_decay: 0.01}}
    schedulers: [{LinearLR: {initial_learning_rate: 0.3, end_learning_rate: 0.1, total_iters: 40}}]
    precision: {enabled: false}
    loop: {num_steps: 40}
  fit:
    train_dataloader: {batch_size: 4, micro_batch_size: 2, shuffle: true, feature_type: float32, label_type: int32, held_out_per_mille: 250}
  validate:
    metric: mean_per_class_accuracy
    val_dataloader: {batch_size: 3}
end
awk 'BEGIN { srand(3); for (i = 0; i < 64; i++) { a = rand(); printf "%.3f,%.3f,%.3f,%.3f,%d\n", a, rand(), rand(), rand(), 3 * a } }' >table.csv
printf '<img src=x>\n"two, quoted"\ncow\n' >names
compile() { # NAME MODE [WORD...]
    plan=$1.plan
    mode=$2
    shift 2
    "$FIRNC" compile recipe.yaml --mode "$mode" --key key.key.pem -o "$plan" "$@" >out 2>err || fail "compile $plan"
}
# facts PAGE EXPRESSION: what Python says of the data of a page, which is d
facts() {
    python3 -c 'import json, sys
text = open(sys.argv[1], encoding="ascii" if sys.argv[3:] else "utf-8").read()
d = json.loads(text.split("id=\"data\">")[1].split("</script>")[0])
print(eval(sys.argv[2]))' "$@" 2>&1
}
# holds NAME PAGE EXPRESSION: it is true
holds() {
    [ "$(facts "$2" "$3")" = True ] || fail "$1: $(facts "$2" "$3")"
}

"$FIRNC" keygen key >out
compile train train
compile eval eval
run() { # WORD...
    "$FIRN" train train.plan --pub key.pub.pem --data table.csv --target-column 5 --threads 1 "$@"
}
run --quiet --log plain.jsonl >plain
run --quiet --log run.jsonl --checkpoint run --eval eval.plan --eval-every 10 --profile times.json >profiled
same "--profile changes the digest" plain profiled
"$FIRN" eval eval.plan --pub key.pub.pem --data table.csv --target-column 5 --checkpoint run --confusion matrix.csv --classes names --quiet >out

# --- a run that continues another one ---------------------------------------------------------------------------------

"$FIRN" train train.plan --pub key.pub.pem --data table.csv --target-column 5 --threads 1 --quiet --steps 20 --log half.jsonl \
    --checkpoint half >out
compile later train --continue half
"$FIRN" train later.plan --pub key.pub.pem --data table.csv --target-column 5 --threads 1 --quiet --log later.jsonl >out
expect "the added steps" 0 "" "$FIRN" report later.jsonl --plan later.plan --pub key.pub.pem -o later.html
grep -q "^later.jsonl begins with step 21, .* the page judges the steps from there on alone; give the log" err || fail "no note of the steps before"
holds "the run before" later.html 'd["runs"][0]["first"] == 21 and d["plan"]["origin"] == {"run": json.loads(open("half.jsonl").readline())["run_hash"], "step": 20}'
expect "both logs" 0 "" "$FIRN" report later.jsonl half.jsonl -o both.html
[ ! -s err ] || fail "a note although the steps before are there"
expect "a quiet page" 0 "" "$FIRN" report later.jsonl --quiet -o later.html
[ ! -s err ] || fail "--quiet notes"

# --- a page has everything -------------------------------------------------------------------------------------------

expect "a page" 0 "" "$FIRN" report run.jsonl --plan train.plan --pub key.pub.pem --profile times.json --confusion matrix.csv -o run.html
[ ! -s out ] && [ ! -s err ] || fail "a page prints something"
holds "steps" run.html 'd["runs"][0]["steps"] == 40 and d["runs"][0]["loss"][0] == list(range(1, 41))'
holds "losses are those of the log" run.html 'd["runs"][0]["loss"][1] == [float("%.7g" % json.loads(l)["loss"]) for l in open("run.jsonl") if "\"loss\"" in l]'
holds "evaluations" run.html 'd["runs"][0]["metrics"][0]["name"] == "mean_per_class_accuracy" and d["runs"][0]["metrics"][0]["higher"] and d["runs"][0]["metrics"][0]["values"][0] == [10, 20, 30, 40]'
holds "who signed" run.html 'd["plan"]["key"] == "key.pub.pem" and len(d["plan"]["keyHash"]) == 64'
holds "the plan is that of the log" run.html 'd["plan"]["runHash"] == d["runs"][0]["head"]["run_hash"]'
holds "the schedule is that of firnc" run.html 'd["plan"]["schedules"][0]["values"][1] == [float("%.7g" % float(l.split(",")[1])) for l in __import__("subprocess").run(["'"$FIRNC"'", "schedule", "train.plan"], stdout=-1, text=True).stdout.split()[1:]]'
holds "the schedule is that of the log" run.html 'd["plan"]["schedules"][0]["values"][1] == d["runs"][0]["rate"][1]'
"$FIRNC" inspect train.plan --json >inspect.json
holds "totals of inspect" run.html '(lambda i: sum(o[4] * d["plan"]["ops"]["phases"][o[0]][2] for o in d["plan"]["ops"]["list"]) == i["totals"]["multiply_adds"] and d["plan"]["memory"]["peakBytes"] == i["totals"]["live_bytes"] and len(d["plan"]["ops"]["list"]) == i["totals"]["ops"] and d["plan"]["parameters"] == i["totals"]["parameters"] == sum(p[1] for p in d["plan"]["ops"]["parameters"]))(json.load(open("inspect.json")))'
holds "each op has a time" run.html 'len(d["profile"]["ops"]) == len(d["plan"]["ops"]["list"]) and d["profile"]["steps"] == 40 and d["profile"]["unmeasured"] == 0 and all(t > 0 for t in d["profile"]["ops"]) and 0 < sum(d["profile"]["ops"]) + d["profile"]["data_seconds"] <= d["profile"]["seconds"]'
holds "the matrix" run.html 'd["confusion"]["classes"] == ["<img src=x>", "\"two, quoted\"", "cow"] and sum(d["confusion"]["counts"]) == 16'
holds "its unit" run.html '(d["plan"]["lossName"], d["plan"]["unit"]) == ("cross-entropy", "nats per sample") and abs(d["plan"]["guess"] - 1.0986123) < 1e-6'
[ "$(grep -c '</script>' run.html)" -eq 3 ] || fail "a script of the page ends early"
! grep -q '<link\|src=["h]\|@import\|url(' run.html || fail "the page asks for another file"
[ "$(wc -c <run.html)" -lt 2000000 ] || fail "the page is too large"
expect "a page of a log alone" 0 "" "$FIRN" report plain.jsonl -o alone.html
holds "without a plan" alone.html '"plan" not in d and d["runs"][0]["head"]["loss_unit"] == "nats per sample"'
expect "a page of a plan alone" 0 "" "$FIRN" report --plan train.plan --pub key.pub.pem -o plan.html
holds "without a run" plan.html 'd["runs"] == [] and len(d["plan"]["schedules"]) == 1'
expect "two runs" 0 "" "$FIRN" report run.jsonl plain.jsonl -o two.html
holds "two runs are there" two.html '[r["name"] for r in d["runs"]] == ["run.jsonl", "plain.jsonl"] and d["runs"][0]["mean"] == d["runs"][1]["mean"]'
expect "a drawing" 0 "" "$FIRN" plot run.jsonl plain.jsonl -o two.svg
[ ! -s out ] && [ "$(grep -c '<polyline' two.svg)" -eq 6 ] && [ "$(grep -c '<circle' two.svg)" -eq 5 ] || fail "the drawing lacks curves"
grep -q '>cross-entropy (nats per sample), each step and smoothed<' two.svg || fail "the drawing lacks the unit"
python3 -c 'import xml.dom.minidom as x; x.parse("two.svg")' || fail "the drawing is no XML"

# --- units -----------------------------------------------------------------------------------------------------------

# unit NAME LOSS UNIT WORD...: of the log of a plan
unit() {
    name=$1
    words="$2|$3"
    shift 3
    compile unit train "$@"
    rm -f unit.jsonl
    expect "$name" 0 "" "$FIRN" train unit.plan --pub key.pub.pem --data units --steps 0 --quiet --log unit.jsonl $labels
    got=$(sed -n 's/.*"loss_name":"\([^"]*\)","loss_unit":"\([^"]*\)".*/\1|\2/p' unit.jsonl)
    [ "$got" = "$words" ] || fail "$name: '$got', not '$words'"
}
cp recipe.yaml kept.yaml
head -c 3000 "$root/tests/golden/gpt2_training.txt" >units
labels=
cp "$root/tests/end_to_end/gpt2_training.yaml" recipe.yaml
unit "text" cross-entropy "nats per byte"
python3 -c 'import numpy; numpy.save("units.npy", numpy.arange(600, dtype=numpy.int32) % 256)'
mv units.npy units
unit "tokens" cross-entropy "nats per token" --set trainer.fit.train_dataloader.token_type=int32
cp kept.yaml recipe.yaml
awk -F , '{ print $1 "," $2 "," $3 "," $4 }' table.csv >units.csv
mv units.csv units
python3 -c 'import numpy; numpy.save("units", numpy.zeros((64, 4), numpy.float32)); numpy.save("targets", numpy.zeros((64, 3), numpy.float32))'
mv units.npy units
labels="--labels targets.npy"
for loss in mean_squared_error:"mean squared error":"squared units of the target" l1:"mean absolute error":"units of the target"; do
    word=${loss%%:*}
    rest=${loss#*:}
    unit "$word" "${rest%%:*}" "${rest#*:}" --set "trainer.init.model.loss=$word" --set trainer.fit.train_dataloader.label_type=float32 --set trainer.validate.metric=loss
done

# --- damaged, hostile and long logs ----------------------------------------------------------------------------------

head -c -30 run.jsonl >half.jsonl
expect "half a line" 0 "" "$FIRN" report half.jsonl -o half.html
holds "the whole lines are there" half.html 'd["runs"][0]["steps"] == 40 and d["runs"][0]["damaged"] == 1'
{
    sed -n 1p run.jsonl | sed 's/"model":"mlp"/"model":"<\/script><script>bad()<\/script>\\u2028\\u0000<!--"/; s/"target":"/&\xe2\x80\xa8\xff\xc0\xaf\x27/'
    printf '%s\n' '{"step":1,"loss":NaN,"learning_rate":Infinity}' '{"step":1,"loss":1e999,"skipped":true}' '{"step":2,"loss":null,"error":"LOSS_NOT_FINITE"}' \
        '{"step":1,"loss":1}' '{"step":-3,"loss":1}' '{"step":3.5,"loss":1}' '{"step":1e300,"loss":1}' '[1]' '{"step":4,"loss":2,"step":5}' '{"step":5,"loss":{"a":1}}' \
        '{"step":6,"loss":2,"learning_rate":"</script>","gradient_norm":1e400}' '{"step":7,"eval_</script><b>":3}' '{"step":7,"eval_x\u003c":3}' '{"loss":1}' '' 'step 9 loss 1' '{"step":8,"loss":01}'
    printf '{"step":9,"loss":1,"x":"%070000d"}\n' 0
    printf '{"step":10,"loss":3}\0\n{"step":11,"loss":4}\r\n{"step":12,"loss":5'
} >"<script>bad.jsonl"
expect "a hostile log" 0 "" "$FIRN" report "<script>bad.jsonl" -o bad.html
holds "it is ASCII and has no tag of the log" bad.html 'text.count("<script") == 3 and "bad()<" not in text and "<!--" not in text' ascii
holds "what can be read is there" bad.html 'd["runs"][0]["loss"] == [[4, 6, 11], [2, 2, 4]] and d["runs"][0]["notFinite"] == 2 and "error" not in d["runs"][0] and d["runs"][0]["skipped"] == [[1], [1]]'
holds "what cannot is counted" bad.html 'd["runs"][0]["damaged"] == 13'
expect "a hostile drawing" 0 "" "$FIRN" plot "<script>bad.jsonl" -o bad.svg
python3 -c 'import xml.dom.minidom as x; x.parse("bad.svg")' || fail "the drawing of a hostile log is no XML"
sed '1s/"model":"mlp"/"model":"my \\"best\\" caf\\u00e9"/; 1s/"loss_unit":"[^"]*"/"loss_unit":"\\u00b5 \\"s\\""/' run.jsonl >escaped.jsonl
expect "escapes" 0 "" "$FIRN" report escaped.jsonl -o escaped.html
holds "escapes are decoded" escaped.html '(d["runs"][0]["head"]["model"], d["runs"][0]["head"]["loss_unit"]) == ("my \"best\" caf\u00e9", "\u00b5 \"s\"")'
expect "a drawing with escapes" 0 "" "$FIRN" plot escaped.jsonl -o escaped.svg
python3 -c 'import xml.dom.minidom as x; t = x.parse("escaped.svg").toxml(); assert "my \"best\" caf\u00e9" in t.replace("&quot;", "\"") and "(\u00b5 \"s\")" in t.replace("&quot;", "\"")' 2>err || fail "the drawing shows escapes as they are"
awk 'BEGIN { for (i = 1; i <= 200000; i++) print "{\"step\":" i ",\"loss\":" (i == 123457 ? 99.5 : i == 54321 ? -7 : 1) ",\"skipped\":" (i % 1000 ? "false" : "true") "}" }' >long.jsonl
expect "a long log" 0 "" "$FIRN" report long.jsonl -o long.html
holds "extremes stay" long.html '(lambda r: (r["loss"][0][r["loss"][1].index(99.5)], r["loss"][0][r["loss"][1].index(-7)], r["loss"][0][-1], sum(r["skipped"][1]), r["every"]) == (123457, 54321, 200000, 200, 128))(d["runs"][0])'
[ "$(wc -c <long.html)" -lt 400000 ] || fail "a long log makes a large page"
printf '{"step":1,"loss":1}\n{"step":2,"loss":1,"error":"LOSS_SCALE_FLOOR"}\n{"step":3,"loss":1}\n' >mended.jsonl
sed '$d' mended.jsonl >stopped.jsonl
expect "a log that goes on behind an error" 0 "" "$FIRN" report mended.jsonl -o mended.html
expect "a log that ends with an error" 0 "" "$FIRN" report stopped.jsonl -o stopped.html
holds "the error of the last step stays" stopped.html 'd["runs"][0]["error"] == "LOSS_SCALE_FLOOR"'
holds "the error of a step before is forgotten" mended.html '"error" not in d["runs"][0]'
printf '{"step":1,"loss":1}\n{"step":9007199254740992,"loss":2}\n' >far.jsonl
expect "steps that are far apart" 0 "" "$FIRN" report far.jsonl -o far.html
holds "both are there" far.html 'd["runs"][0]["loss"] == [[1, 9007199254740992], [1, 2]]'

# --- rows of a device ------------------------------------------------------------------------------------------------

printf 'boot\nstep 1 loss 1.5 0x3fc00000\nstep 2 loss 1.25 0x3fa00000 skipped\nstep 2 loss x\nstep 3 loss 1.0 0x3f800000\ndigest %064d\n' 7 >device.txt
expect "rows of a device" 0 "" "$FIRN" report run.jsonl device.txt -o device.html
holds "its rows" device.html '(lambda r: r["device"] and r["loss"] == [[1, 2, 3], [1.5, 1.25, 1]] and r["skipped"] == [[2], [1]] and r["digest"].endswith("7"))(d["runs"][1])'
{
    echo "warning: a line of who ran it"
    cat run.jsonl
} >stray.jsonl
expect "a stray line before a log" 0 "" "$FIRN" report stray.jsonl -o stray.html
holds "the log is that of JSON" stray.html '(lambda r: (r["device"], r["steps"], r["damaged"], r["head"]["model"]))(d["runs"][0]) == (False, 40, 0, "mlp")'
expect "what train prints" 0 "" "$FIRN" report plain -o printed.html
holds "its digest" printed.html 'd["runs"][0]["digest"] in open("plain").read()'

# --- what is refused -------------------------------------------------------------------------------------------------

report() {
    "$FIRN" report "$@"
}
: >empty
mkfifo pipe
printf 'old' >kept.html
expect "no log" 2 "needs a LOG" report -o kept.html
expect "no output" 2 "needs --output" report run.jsonl
expect "a plan without a key" 2 "needs --pub with --plan" report run.jsonl --plan train.plan -o kept.html
expect "a key without a plan" 2 "needs --plan with --pub" report run.jsonl --pub key.pub.pem -o kept.html
expect "over the log" 2 "would be written over the log" report run.jsonl -o run.jsonl
expect "times without a plan" 2 "needs --plan with --profile" report run.jsonl --profile times.json -o kept.html
expect "over the times" 2 "would be written over the profile" report run.jsonl --plan train.plan --pub key.pub.pem --profile times.json -o times.json
expect "an empty log" 1 "empty: is empty; give the file that firn train --log wrote" report empty -o kept.html
expect "another file" 1 "table.csv: has no step of a run in it" report table.csv -o kept.html
expect "a pipe" 1 "pipe: " report pipe -o kept.html
expect "no file" 1 "none: " report none -o kept.html
expect "a folder" 1 "js: " report js -o kept.html
expect "no folder for the page" 1 "none/run.html" report run.jsonl -o none/run.html
expect "another plan" 3 "MAGIC" report run.jsonl --plan table.csv --pub key.pub.pem -o kept.html
"$FIRNC" keygen other >out
expect "another key" 3 "WRONG_KEY" report run.jsonl --plan train.plan --pub other.pub.pem -o kept.html
expect "no profile" 1 "is no profile" report run.jsonl --plan train.plan --pub key.pub.pem --profile table.csv -o kept.html
sed 's/"steps":[^,]*/"steps": -1/' times.json >times.bad
expect "a damaged profile" 1 "is no profile, or a damaged one" report run.jsonl --plan train.plan --pub key.pub.pem --profile times.bad -o kept.html
expect "another profile" 1 "is the profile of another plan" report run.jsonl --plan eval.plan --pub key.pub.pem --profile times.json -o kept.html
for damage in '2s/,.*//' '2s/$/,1/' '2s/[0-9]*$/-1/' '2s/[0-9]*$/99999999999999999999/' '1s/label/x/' '1s/"/""/' '$d' '2s/^./x/' '$p'; do
    sed "$damage" matrix.csv >matrix.bad
    expect "a matrix damaged by $damage" 1 "matrix.bad: row [1-5] .*; give the file that firn eval --confusion wrote" report run.jsonl --confusion matrix.bad -o kept.html
done
expect "no matrix" 1 "row 1 does not begin with the cell" report run.jsonl --confusion empty -o kept.html
FIRN_JAVASCRIPT=$folder/none expect "no library" 1 "none/chart.js/chart.min.js: there is no such file; .*install the package libjs-chart.js" report run.jsonl -o kept.html
mkdir -p bad/chart.js
cp table.csv bad/chart.js/chart.min.js
FIRN_JAVASCRIPT=$folder/bad expect "another library" 1 "is no Chart.js" report run.jsonl -o kept.html
for version in "v2.9.4" "v4.4.0" "v30.0"; do
    printf '/*!\n * Chart.js %s\n */\n' "$version" >bad/chart.js/chart.min.js
    FIRN_JAVASCRIPT=$folder/bad expect "Chart.js $version" 1 "is another version of Chart.js; .*version 3: install" report run.jsonl -o kept.html
done
head -c 1048577 /dev/zero >bad/chart.js/chart.min.js
FIRN_JAVASCRIPT=$folder/bad expect "a large library" 1 "has more than 1048576 bytes; the charts" report run.jsonl -o kept.html
head -c 16777217 /dev/zero >large
expect "a large profile" 1 "large: has more than 16777216 bytes; give the file that firn train --profile wrote" report run.jsonl --plan train.plan --pub key.pub.pem --profile large -o kept.html
expect "a large matrix" 1 "large: has more than 1048576 bytes; give the file that firn eval --confusion wrote" report run.jsonl --confusion large -o kept.html
expect "a drawing by the name of another form" 2 "run.PNG: is no name of SVG, which a drawing is written in; end it in .svg" \
    "$FIRN" plot run.jsonl -o run.PNG
expect "a page by the name of another form" 2 "run.pdf: is no name of HTML, .*; end it in .html" "$FIRN" report run.jsonl -o run.pdf
[ ! -e run.PNG ] && [ ! -e run.pdf ] || fail "a file by the name of another form"
expect "a drawing by a name of its own" 0 "" "$FIRN" plot run.jsonl -o run.drawing
FIRN_JAVASCRIPT=$folder/none expect "a drawing needs no library" 0 "" "$FIRN" plot run.jsonl -o none.svg
[ "$(cat kept.html)" = old ] || fail "a page that was refused has replaced another"
# shellcheck disable=SC2046 # 33 words
expect "too many logs" 2 "gets 33 logs, and a page shows at most 32" report $(for _ in $(seq 33); do echo run.jsonl; done) -o kept.html
# shellcheck disable=SC2046 # 33 words
expect "too many logs, and no folder" 2 "gets 33 logs, and a drawing shows at most 32" "$FIRN" plot $(for _ in $(seq 33); do echo run.jsonl; done) -o none/kept.svg
expect "many logs" 0 "" "$FIRN" report $(for _ in $(seq 32); do echo long.jsonl; done | head -n 4) $(for _ in $(seq 28); do echo run.jsonl; done) -o many.html
[ "$(wc -c <many.html)" -lt 2000000 ] || fail "a page of 32 runs is too large"
expect "times over the log" 2 "the log would be written over the profile" run --quiet --log one.jsonl --profile one.jsonl
expect "no folder for the times" 1 "none/times.json" run --quiet --steps 1 --profile none/times.json
printf 'old' >kept.json
{ (ulimit -f 0 && run --quiet --steps 1 --profile kept.json) 2>&1 >out || true; } | cat >err || true
[ "$(cat kept.json)" = old ] && grep -q "kept.json: .*raise the limit of file sizes" err || fail "times that cannot be written"
"$FIRN" train train.plan --pub key.pub.pem --data table.csv --target-column 5 --steps 1 --quiet --profile closed.json >/dev/full 2>err && fail "a digest on a full output"
[ -s closed.json ] || fail "no times where the digest cannot be printed"
expect "another plan is noted" 0 "" "$FIRN" report long.jsonl run.jsonl --plan eval.plan --pub key.pub.pem -o kept.html
grep -q "run.jsonl is the log of another plan than eval.plan" err || fail "the log of another plan is not noted"
expect "it is marked with -q, too" 0 "" "$FIRN" report long.jsonl run.jsonl --plan eval.plan --pub key.pub.pem -o kept.html -q
[ ! -s err ] || fail "-q notes"
holds "the log of another plan is marked" kept.html '[r["otherPlan"] for r in d["runs"]] == [False, True]'

# --- names -----------------------------------------------------------------------------------------------------------

mkdir -p a/one b/one
for log in a/run.jsonl b/run.jsonl a/one/run.jsonl b/one/run.jsonl; do
    cp plain.jsonl $log
done
expect "logs of one name" 0 "" "$FIRN" report a/run.jsonl ./b/run.jsonl a/one/run.jsonl b/one/run.jsonl "$folder/plain.jsonl" plain.jsonl run.jsonl run.jsonl -o names.html
holds "folders tell them apart" names.html '[r["name"] for r in d["runs"]] == ["a/run.jsonl", "b/run.jsonl", "a/one/run.jsonl", "b/one/run.jsonl", "'"${folder##*/}"'/plain.jsonl", "plain.jsonl", "run.jsonl", "run.jsonl"]'
expect "a drawing of logs of one name" 0 "" "$FIRN" plot a/run.jsonl b/run.jsonl -o names.svg
grep -q '>a/run.jsonl<' names.svg && grep -q '>b/run.jsonl<' names.svg || fail "a drawing calls two logs the same"

cd "$root"
echo "$failures failures"
[ "$failures" -eq 0 ]
