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

for page in run study gpt2 device hostile plan; do
    [ "$(wc -c <$page.html)" -lt 2000000 ] || fail "$page.html is too large"
done
python3 "$root/tests/end_to_end/report_pages.py" "$browser" "$logs" run.html study.html gpt2.html device.html hostile.html plan.html >out 2>err ||
    fail "the pages"
cd "$root"
echo "6 pages, $failures failures; pictures: $logs"
[ "$failures" -eq 0 ]
