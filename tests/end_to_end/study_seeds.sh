#!/bin/sh
# firnc compare --seeds and firnc tune: differences of trials of one seed have the mean and the 95 % interval that made-up
# losses must have; a change whose time or cost is less certain than the measurement is not kept, and tune says so.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
FIRNC=$(cd "$BUILD" && pwd)/firnc
FIRN=$(cd "$BUILD" && pwd)/firn
cd "$folder"

cat >recipe.yaml <<'end'
trainer:
  init:
    seed: 7
    model: {name: mlp, input_size: 4, hidden_sizes: [5], output_size: 3, nonlinearity: tanh}
    optimizer: {SGD: {learning_rate: 0.1}}
    precision: {enabled: false}
    loop: {num_steps: 30}
  fit:
    train_dataloader: {batch_size: 4, shuffle: true, feature_type: float32, label_type: int32, held_out_per_mille: 250}
  validate:
    val_dataloader: {batch_size: 3}
end
three_classes
none="--set trainer.fit.train_dataloader.held_out_per_mille=0"
# runner NAME: an awk program sets `loss` and `seconds` of each line, of the run `name` with the seed `seed`; `calls` are those
# so far. Without a log nothing is changed.
runner() {
    cat >"$1.awk"
    cat >"$1" <<end
#!/bin/sh
"$FIRN" "\$@" || exit
[ "\$1" = train ] || exit 0
for word; do log=\$word; [ "\$before" = --log ] && break; before=\$word; done
[ "\$before" = --log ] || exit 0
echo >>calls
name=\${log##*/}
name=\${name%.jsonl}
seed=\${name##*-seed}
awk -v name="\${name%-seed*}" -v seed="\$seed" -v calls="\$(wc -l <calls)" -f $1.awk "\$log" >"\$log.new"
mv "\$log.new" "\$log"
end
    chmod +x "$1"
    : >calls
}
# put LOSS SECONDS: the end of such a program
put='/^{"step"/ { if (loss != "") sub(/"loss":[^,]*/, "\"loss\":" loss); if (seconds != "") sub(/"seconds":[0-9.]*/, "\"seconds\":" seconds) } 1'

# --- compare ------------------------------------------------------------------------------------------------------------

# Losses by hand: of five seeds, bfloat16 costs 0.01, 0.02, ... more than float32 with the same seed, and float16 costs
# 0.5, 0.25, 0.125 and 0.375 less in four of them and has no loss in the fifth.
runner compared <<end
BEGIN {
    split("0.01 0.02 0.03 0.04 0.05", more); split("-0.5 -0.25 -0.125 -0.375", less)
    loss = 2 + seed / 8 + (name ~ /^bfloat16/ ? more[seed - 6] : name ~ /^float16/ ? less[seed - 6] : 0)
    if (name ~ /^float16/ && seed == 11) loss = "null"
    loss = loss "" # a text
}
$put
end
expect "five seeds" 0 "" "$FIRNC" compare recipe.yaml --data x.npy --labels y.npy --types bfloat16,float16 --pol 0 --seeds 5 --threads 1 \
    --firn ./compared $none -o five
cp out table
[ "$(cut -d , -f 1,2 five/compare.csv | tr '\n' ' ')" = "what,seed float32,7 float32,8 float32,9 float32,10 float32,11 float16-pol0,7 \
float16-pol0,8 float16-pol0,9 float16-pol0,10 float16-pol0,11 bfloat16-pol0,7 bfloat16-pol0,8 bfloat16-pol0,9 bfloat16-pol0,10 bfloat16-pol0,11 " ] ||
    fail "rows of the CSV"
[ "$(ls five | grep -v 'seed' | tr '\n' ' ')" = "compare.csv compare.svg differences.csv differences.svg " ] &&
    [ "$(ls five | grep -c '^[a-z0-9]*\(-pol0\)\{0,1\}-seed[0-9]*.jsonl$')" -eq 15 ] || fail "files of the study: $(ls five)"
python3 - <<'end' >checked 2>&1 || { cp checked err && fail "the differences"; }
import csv

rows = {(row["what"], row["measure"]): row for row in csv.DictReader(open("five/differences.csv"))}
assert len(rows) == 2, list(rows)
# scipy.stats.t.interval of these differences
for what, pairs, mean, low, high, verdict in (
    ("bfloat16-pol0", "5", 0.03, 0.010367568385224428, 0.04963243161477557, "higher"),
    ("float16-pol0", "4", -0.3125, -0.5692825320950651, -0.055717467904934925, "lower"),
):
    row = rows[what, "loss"]
    assert row["pairs"] == pairs and row["verdict"] == verdict, row
    for name, wanted in (("mean_difference", mean), ("low", low), ("high", high)):
        assert abs(float(row[name]) - wanted) < 2e-6, (what, name, row)  # losses are float32
end
grep -q '^bfloat16-pol0 *loss *5 *0.03 *0.0104 *0.0496  higher$' table || fail "the differences in the table"
for file in compare differences; do
    python3 -c 'import sys, xml.dom.minidom as d; d.parse(sys.argv[1])' five/$file.svg 2>err || fail "$file.svg"
done
grep -q 'difference to float32 at the same step' five/compare.svg && grep -q '2: bfloat16-pol0</text>' five/differences.svg ||
    fail "what is drawn"

# A loss that is very large stays in its column.
runner large <<end
BEGIN { loss = (name ~ /^bfloat16/ ? 1.5e30 : 2) "" }
$put
end
expect "a large loss" 0 "" "$FIRNC" compare recipe.yaml --data x.npy --labels y.npy --types bfloat16 --pol 0 --threads 1 \
    --firn ./large $none -o large.study
grep -q '^bfloat16-pol0                 1.500e+30 ' out && grep -q '^float32                         2.00000 ' out ||
    fail "the columns of a large loss"

# A real one. Run by hand, a trial of another seed has the same losses; no seed changes the first.
expect "two seeds" 0 "" "$FIRNC" compare recipe.yaml --data x.npy --labels y.npy --types bfloat16 --pol 0 --seeds 2 --threads 1 -o two
expect "one seed" 0 "" "$FIRNC" compare recipe.yaml --data x.npy --labels y.npy --types bfloat16 --pol 0 --threads 1 -o one
[ "$(ls one | tr '\n' ' ')" = "bfloat16-pol0.jsonl compare.csv compare.svg float32.jsonl " ] || fail "files of a study of one seed: $(ls one)"
grep -q 'difference to float32' one/compare.svg || fail "one seed: no differences are drawn"
[ "$(grep -c 'held_out_loss,2,-\{0,1\}[0-9.e-]*,-\{0,1\}[0-9.e-]*,-\{0,1\}[0-9.e-]*,[a-z ]*$' two/differences.csv)" -eq 1 ] ||
    fail "the differences of held-out losses"
expect "keys" 0 "" "$FIRNC" keygen key
expect "a plan by hand" 0 "" "$FIRNC" compile recipe.yaml --mode train --key key.key.pem -o plan --set trainer.init.seed=8
expect "a run by hand" 0 "" "$FIRN" train plan --pub key.pub.pem --data x.npy --labels y.npy --threads 1 --quiet --log log
bits() {
    sed -n 's/.*"loss_bits":"\([0-9a-f]*\)".*/\1/p' "$1"
}
bits log >hand
bits two/float32-seed8.jsonl >study
same "the second seed by hand" hand study
bits two/float32-seed7.jsonl >study
bits one/float32.jsonl >hand
same "the first seed" hand study

# Where no seed has an effect, there is nothing to vary.
expect "weights" 0 "" "$FIRN" train plan --pub key.pub.pem --data x.npy --labels y.npy --threads 1 --quiet --steps 1 --checkpoint ckpt
expect "weights" 0 "" "$FIRN" export ckpt -o weights.safetensors
expect "idle seeds" 0 "" "$FIRNC" compare recipe.yaml --data x.npy --labels y.npy --types bfloat16 --pol 0 --seeds 2 --threads 1 \
    --weights weights.safetensors --set trainer.fit.train_dataloader.shuffle=false $none -o idle
grep -q 'recipe.yaml: warning: --seeds: 2 changes nothing: float32 has one loss with every seed' err || fail "idle seeds: no warning"
for wrong in 0 x 65 -1; do
    expect "--seeds $wrong" 2 "--seeds: $wrong is not a number of seeds; write one from 1 to 64" "$FIRNC" compare recipe.yaml --data x.npy \
        --labels y.npy --seeds "$wrong" -o no
done
expect "seeds beyond the last one" 1 "trainer.init.seed: there are no 3 seeds from 18446744073709551614 on; write a smaller one" "$FIRNC" \
    compare recipe.yaml --data x.npy --labels y.npy --seeds 3 --set trainer.init.seed=18446744073709551614 -o no
[ ! -e no ] || fail "a refused study made its folder"

# --- tune ---------------------------------------------------------------------------------------------------------------

# tune RUNNER [OPTION]...
tune() {
    with=$1
    shift
    : >calls
    "$FIRNC" tune recipe.yaml --data x.npy --labels y.npy --threads 1 --trial-steps 4 --firn "./$with" $none \
        --set trainer.init.precision.fp16_type=bfloat16 "$@"
}
# Times that vary by 30 % and have nothing to do with the plan: nothing is kept, and the reason is said.
runner noisy <<end
BEGIN { srand(calls * 7919); rand(); seconds = sprintf("%.9f", 1 + 0.6 * (rand() - 0.5)) }
$put
end
expect "a noisy machine" 0 "" tune noisy -o noisy.study
grep -q 'recipe.yaml: warning: this machine is too noisy to decide on the time of [0-9]* changes\{0,1\}: the 95 % interval of a gain is mostly +- [0-9.]* %, ' err ||
    fail "a noisy machine: no warning"
! grep -q '| kept |' noisy.study/report.md || fail "a noisy machine: a change was kept"
grep -q '| bfloat16 | .* | -\{0,1\}[0-9.]* +- [0-9.]* % | .* | too noisy to decide: its time |' noisy.study/report.md &&
    grep -q '^Not all could be decided: this machine' noisy.study/report.md || fail "a noisy machine: the report"
grep -q '^Nothing was kept: float32 takes [0-9.]* s for a step, at a loss of [0-9.]*\.$' noisy.study/report.md || fail "a noisy machine: what was kept"
grep -q 'enabled: false' noisy.study/recipe.yaml || fail "a noisy machine: the recipe"
# Every trial saves 10 %, with a noise of 1 %: all changes are kept. The trial that is timed first is the change.
runner gains <<end
BEGIN { srand(calls * 7919); rand(); seconds = sprintf("%.9f", (name == "first" ? 0.9 : 1) * (1 + 0.02 * (rand() - 0.5))) }
$put
end
expect "gains beyond the noise" 0 "" tune gains -o gains.study
grep -q '| bfloat16 | .* | \(9\|10\|11\)\.[0-9]* +- [0-9.]* % | .* | kept |' gains.study/report.md || fail "a gain beyond the noise was not kept"
grep -q '^Kept: a step in .* (.* +- .* % less' gains.study/report.md || fail "the total gain"
! grep -q 'too noisy' gains.study/report.md || fail "gains beyond the noise are noisy"
# Costs of three seeds: 0, 0.4 and 0.8 % more than float32. Their mean is within the tolerance, their interval is not.
runner costs <<end
BEGIN {
    loss = (1 + (name == "trial-0" ? 0 : 0.004 * (seed ~ /^[0-9]+\$/ ? seed : 0))) ""
    seconds = name == "first" ? "0.9" : "1.0"
}
$put
end
expect "costs of seeds" 0 "" tune costs --seeds 3 -o costs.study
grep -q '| bfloat16 | .* | 0.400 +- 0.99[34] % | too noisy to decide: its cost |' costs.study/report.md || fail "the cost of three seeds"
grep -q 'recipe.yaml: warning: the cost of [0-9]* changes\{0,1\} may lie above the tolerance, and 3 seeds are too few' err || fail "few seeds: no warning"
! grep -q '| kept |' costs.study/report.md || fail "few seeds: a change was kept"
[ "$(ls costs.study | tr '\n' ' ')" = "recipe.yaml report.md " ] || fail "seeds left files behind: $(ls costs.study)"
expect "a higher tolerance" 0 "" tune costs --seeds 3 --tolerance 0.02 -o higher.study
grep -q '| bfloat16 | .* | 0.400 +- 0.99[34] % | kept |' higher.study/report.md || fail "a cost below a higher tolerance"
grep -q 'for target portable, with 3 seeds from 7 on' higher.study/report.md || fail "the report does not name the seeds"

[ $failures -eq 0 ]
