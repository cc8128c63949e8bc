#!/bin/sh
# Pages of firn report in headless Chromium: a run with its plan, times and confusion matrix; a study of three runs; rows of a
# device; a log with hostile names; a plan before its run. Each shows its charts without a message on the console, in light and dark colours and on a
# narrow screen, and answers the keyboard. Pictures stay in test-logs/report_pages of the build folder. Skipped by name where
# Chromium or Chart.js is missing (.packages/install report). What is looked at is runtime/report/page.html, page.css and page.js.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
browser=$(command -v chromium || true)
if [ -z "$browser" ] || { [ ! -r /usr/share/javascript/chart.js/chart.min.js ] && [ ! -r /usr/share/nodejs/chart.js/chart.min.js ]; }; then
    echo "skipped: report_pages: Chromium or Chart.js is missing (.packages/install report)"
    exit 0
fi
root=$PWD
BUILD=$(cd "$BUILD" && pwd)
FIRNC=$BUILD/firnc
FIRN=$BUILD/firn
logs=$BUILD/test-logs/report_pages
rm -rf "$logs"
mkdir -p "$logs"
cd "$folder"

"$FIRNC" keygen key >out
"$FIRNC" compile "$root/compiler/recipes/small_gpt2.yaml" --mode train --key key.key.pem -o gpt2.plan >out
text="$root/tests/golden/gpt2_training.txt"
"$FIRN" train gpt2.plan --pub key.pub.pem --data "$text" --steps 8 --quiet --log gpt2.jsonl --profile gpt2.json >out
cat >recipe.yaml <<'end'
trainer:
  init:
    seed: 1
    model: {name: mlp, input_size: 4, hidden_sizes: [5, 5, 5], output_size: 3, nonlinearity: tanh}
    optimizer: {SGD: {momentum: 0.5, weight_decay: 0.01}}
    schedulers: [{LinearLR: {initial_learning_rate: 0.5, end_learning_rate: 0.1, total_iters: 300}}]
    precision: {enabled: true, fp16_type: float16, precision_opt_level: 2, pol_lowering: emulate, loss_scaling_factor: dynamic}
    loop: {num_steps: 300}
  fit:
    train_dataloader: {batch_size: 8, shuffle: true, feature_type: float32, label_type: int32, held_out_per_mille: 250}
  validate:
    metric: mean_per_class_accuracy
    val_dataloader: {batch_size: 3}
end
awk 'BEGIN { srand(3); for (i = 0; i < 400; i++) { a = rand(); printf "%.3f,%.3f,%.3f,%.3f,%d\n", a, rand(), rand(), rand(), 3 * a } }' >table.csv
printf 'oak\nash\nelm\n' >names
data="--data table.csv --target-column 5 --threads 1 --quiet"
"$FIRNC" compile recipe.yaml --mode eval --key key.key.pem -o eval.plan >out
for rate in 0.5 0.3 0.8; do
    "$FIRNC" compile recipe.yaml --mode train --key key.key.pem -o "rate-$rate.plan" \
        --set "trainer.init.schedulers.0.LinearLR.initial_learning_rate=$rate" >out
    # shellcheck disable=SC2086 # options
    "$FIRN" train "rate-$rate.plan" --pub key.pub.pem $data --log "rate-$rate.jsonl" --checkpoint "rate-$rate" --eval eval.plan \
        --eval-every 30 --profile "rate-$rate.json" >out
done
# shellcheck disable=SC2086
"$FIRN" eval eval.plan --pub key.pub.pem $data --checkpoint rate-0.5 --confusion matrix.csv --classes names >out

"$FIRN" report rate-0.5.jsonl --plan rate-0.5.plan --pub key.pub.pem --profile rate-0.5.json --confusion matrix.csv -o run.html
"$FIRN" report rate-0.5.jsonl rate-0.3.jsonl rate-0.8.jsonl -o study.html
"$FIRN" report gpt2.jsonl --plan gpt2.plan --pub key.pub.pem --profile gpt2.json -o gpt2.html
{
    sed -n 's/.*"step":\([0-9]*\),"loss":\([^,]*\),"loss_bits":"\([^"]*\)".*/step \1 loss \2 0x\3/p' gpt2.jsonl
    echo "digest 28220c502e4621874e3d50130100f8e78e7e7a021769368c8898e8687b37aeb7"
} >board.txt
"$FIRN" report board.txt gpt2.jsonl -o device.html
sed '1s/"model":"gpt2"/"model":"<\/script><script>document.title = 1; throw 1<\/script>"/; s/"target":"/&<img src=x onerror=throw(2)>\\u2028/
    s/"skipped":false/"skipped":true/; $s/.\{20\}$//' gpt2.jsonl >"<b onclick=x>.jsonl"
"$FIRN" report "<b onclick=x>.jsonl" -o hostile.html

"$FIRN" report --plan gpt2.plan --pub key.pub.pem -o plan.html

# What pages say of logs whose answers are known. says PAGE SCRIPT JSON
says() {
    printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>words
}
# steps COUNT LOSS: a log, whose loss of step i is an expression of awk
steps() {
    awk "BEGIN { for (i = 1; i <= $1; i++) printf \"{\\\"step\\\":%d,\\\"loss\\\":%.9g}\\n\", i, $2 }"
}
answers=window.firnReport
run="JSON.parse(document.getElementById('data').textContent).runs[0]"
: >words
{
    steps 100 "100 / i"
    printf '{"step":10,"eval_mean_loss":2,"eval_accuracy":1,"elapsed":50}\n{"step":50,"eval_mean_loss":1.5,"eval_accuracy":0.5,"elapsed":7}\n{"step":100,"eval_mean_loss":1.75,"eval_accuracy":1,"elapsed":9}\n'
} >fell.jsonl
"$FIRN" report fell.jsonl -o fell.html
says fell.html "$answers.learned($run).verdict" '"Yes: the loss fell by 99 %. Validation was better before."'
says fell.html "$answers.learned($run).lines" '["loss: 100 at the beginning, 1 at the end (smoothed)","held out: mean loss 1.7500; the best was 1.5000 after step 50","held out: accuracy 1, the best of 3 evaluations"]'
says fell.html "$answers.what($run).lines" '["took 59 s in all calls"]'
says fell.html "[0.5, 99.97, 100, 1234.5, 0.0001].map(one => $answers.real(one, 2))" '["0.50","100","100","1,235","1.0e-4"]'
says fell.html "[1000, 1037567, 1073000000].map($answers.bytes)" '["1,000 B","1,013 KiB","1,023 MiB"]'
steps 100 "1 + i % 2" >flat.jsonl
"$FIRN" report flat.jsonl -o flat.html
says flat.html "$answers.learned($run).verdict" '"Not so far: its change is within the noise of the steps."'
steps 100 "i" >rose.jsonl
"$FIRN" report rose.jsonl -o rose.html
says rose.html "$answers.learned($run).verdict" '"No: the loss rose."'
{
    printf '{"step":1,"loss":null}\n'
    steps 100 "100 / i" | tail -n 99
} >late.jsonl
"$FIRN" report late.jsonl -o late.html
says late.html "$answers.learned($run).lines[0]" '"loss: 50 at the beginning, 1 at the end (smoothed)"'
says late.html "$answers.healthy($run).verdict" '"No."'

# Pairs of runs: thinned to buckets of other widths, begun at other steps, without a step in common, of another loss.
second="JSON.parse(document.getElementById('data').textContent).runs[1]"
verdicts="[...document.querySelectorAll('#runs table:last-of-type')].slice(1).map(one => [...one.querySelectorAll('tbody td')].map(cell => cell.textContent))"
pair() { # NAME LOG LOG
    "$FIRN" report "$2" "$3" -o "$1.html"
}
steps 1000 "2" >short.jsonl
steps 3000 "i % 2 ? 1.5 : 1.25" >long.jsonl
pair widths short.jsonl long.jsonl
says widths.html "[$run, $second].map(run => run.every)" '[1,2]'
says widths.html "$answers.differences($second, $run).length" '500'
says widths.html "$verdicts" '[["long.jsonl","-0.625","\u00b1 0","lower loss than short.jsonl"]]'
sed 1,10d long.jsonl >begun.jsonl
pair begun begun.jsonl long.jsonl
says begun.html "$verdicts" '[["long.jsonl","0","\u00b1 0","none that this shows"]]'
steps 100 "100 / i" | sed 1,60d >added.jsonl
steps 70 "100 / i" >before.jsonl
"$FIRN" report added.jsonl -o added.html -q
says added.html "$answers.learned($run).lines[1]" '"all of this is of steps 61 to 100, and the log has none before them"'
says added.html "$answers.learned($run).lines[2].split(',')[0]" '"give the log of the run before it"'
pair joined added.jsonl before.jsonl
says joined.html "$answers.learned($run).lines[2]" '"with before.jsonl: loss 100 at the beginning, 1 at the end (smoothed)"'
sed 1,1000d long.jsonl >later.jsonl
pair apart short.jsonl later.jsonl
says apart.html "$verdicts" '[["later.jsonl","-","-","not compared: no steps in common with short.jsonl"]]'
{
    printf '{"firn":"1","loss_name":"mean squared error","loss_unit":"squared units of the target"}\n'
    cat short.jsonl
} >squared.jsonl
{
    printf '{"firn":"1","loss_name":"cross-entropy","loss_unit":"nats per byte"}\n'
    cat long.jsonl
} >nats.jsonl
pair losses squared.jsonl nats.jsonl
says losses.html "$verdicts" '[["nats.jsonl","-","-","not compared: its loss is cross-entropy in nats per byte"]]'
says losses.html "[...document.querySelectorAll('#loss h3')].map(one => one.textContent)" '["Mean squared error, squared units of the target","Cross-entropy, nats per byte"]'
# A study with seeds: differences are those of pairs of one seed, whatever the seeds do; the fifth of float16 has no last loss.
for seed in 1 2 3 4 5; do
    steps 60 "$seed + 1 / i" >float32-seed$seed.jsonl
    steps 60 "$seed + 1 / i + $seed / 100" >bfloat16-pol0-seed$seed.jsonl
    steps 60 "$seed + 1 / i - ($seed % 2 ? 0.25 : -0.5)" >float16-pol0-seed$seed.jsonl
done
sed '$d' float16-pol0-seed5.jsonl >cut
mv cut float16-pol0-seed5.jsonl
printf '{"step":60,"loss":null}\n' >>float16-pol0-seed5.jsonl
"$FIRN" report ./*-seed[1-5].jsonl -o seeds.html
says seeds.html "$verdicts" '[["bfloat16-pol0","5","0.0300","\u00b1 0.020","higher loss than float32","float16-pol0","4","0.125","\u00b1 0.69","not told apart"]]'
says seeds.html "[...document.querySelectorAll('#runs h3')].map(one => one.textContent)" '["Difference of the loss to float32, mean over pairs of one seed"]'
"$FIRN" report rate-0.5.jsonl --plan gpt2.plan --pub key.pub.pem -o other.html -q
says other.html "document.querySelector('p.bad').textContent.split(',')[0]" '"The plan gpt2.plan is not that of rate-0.5.jsonl"'
says other.html "$answers.healthy($run).lines.includes('ran all 300 steps')" 'true'
says other.html "$answers.learned($run).lines.some(line => line.includes('guessing'))" 'false'
says other.html "document.body.innerText.includes('bit for bit')" 'false'

for page in run study gpt2 device hostile plan; do
    [ "$(wc -c <$page.html)" -lt 2000000 ] || fail "$page.html is too large"
done
python3 "$root/tests/end_to_end/report_pages.py" "$browser" "$logs" words run.html study.html gpt2.html device.html hostile.html plan.html >out 2>err ||
    fail "the pages"
cd "$root"
echo "6 pages, $failures failures; pictures: $logs"
[ "$failures" -eq 0 ]
