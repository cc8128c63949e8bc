#!/bin/sh
# firnc schedule: a recipe and its plan give the same rates, one line per optimizer step. A scheduled weight decay works
# like a constant one, and each group follows the schedule of its tag.
set -eu

RECIPE=compiler/recipes/small_gpt2.yaml
. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/test" >"$folder/out"
"$FIRNC" compile "$RECIPE" --mode train --key "$folder/test.key.pem" -o "$folder/plan" >"$folder/out"
"$FIRNC" schedule "$RECIPE" >"$folder/recipe.csv"
"$FIRNC" schedule "$folder/plan" >"$folder/plan.csv"
cmp "$folder/recipe.csv" "$folder/plan.csv"

[ "$(head -n 1 "$folder/plan.csv")" = optimizer_step,learning_rate ]
steps=$("$FIRNC" inspect "$folder/plan" --schedule | sed -n 's/^steps  *//p')
[ "$(wc -l <"$folder/plan.csv")" -eq $((steps + 1)) ]
"$FIRNC" schedule "$folder/plan" --range 2:4 >"$folder/part.csv"
sed -n '1p;4,5p' "$folder/plan.csv" | cmp - "$folder/part.csv"
"$FIRNC" schedule "$folder/plan" --range "$((steps - 1)):$((steps + 1))" >"$folder/part.csv" 2>"$folder/err"
grep -q "warning: --range: the run has $steps steps; " "$folder/err"
[ "$(wc -l <"$folder/part.csv")" -eq 3 ]

# --- what inspect says of each kind ---

tab=$(printf '\t')
while IFS=$tab read -r scheduler words; do
    "$FIRNC" compile compiler/recipes/small_mlp.yaml --mode train --key "$folder/test.key.pem" -o "$folder/kind.plan" \
        --set "trainer.init.schedulers=[{$scheduler}]" >"$folder/out"
    said=$("$FIRNC" inspect "$folder/kind.plan" --schedule | sed -n 's/^  *0  from step 0  *//p')
    [ "$said" = "$words" ] || fail "$scheduler: \"$said\", not \"$words\""
done <<'end'
ConstantLR: {learning_rate: 0.25}	constant 0.25
LinearLR: {initial_learning_rate: 0.5, end_learning_rate: 0.125, total_iters: 9}	linear from 0.5 to 0.125 in 9 steps
PolynomialLR: {initial_learning_rate: 0.5, end_learning_rate: 0.125, total_iters: 9, power: 2}	polynomial from 0.5 to 0.125 in 9 steps, power 2
CosineDecayLR: {initial_learning_rate: 0.5, end_learning_rate: 0.125, total_iters: 9}	cosine from 0.5 to 0.125 in 9 steps
CosineAnnealingLR: {initial_learning_rate: 0.5, T_max: 9}	cosine_periodic from 0.5 to 0 in 9 steps, then back
CosineAnnealingWarmRestarts: {initial_learning_rate: 0.5, T_0: 4}	cosine_periodic from 0.5 to 0 in 4 steps, then again
ExponentialLR: {initial_learning_rate: 0.5, decay_rate: 0.25, total_iters: 4}	exponential from 0.5, times 0.25 in 4 steps
ExponentialLR: {initial_learning_rate: 0.5, decay_rate: 0.25, total_iters: 4, staircase: true}	exponential from 0.5, times 0.25 in 4 steps, in whole periods
InverseExponentialTimeDecayLR: {initial_learning_rate: 0.5, decay_rate: 0.25, step_exponent: 2, total_iters: 4, staircase: true}	inverse_time from 0.5, rate 0.25, power 2, over 4 steps, in whole periods
InverseSquareRootDecayLR: {initial_learning_rate: 0.5, scale: 2, warmup_steps: 7}	inverse_square_root 0.5 times 2, from step 7 on
MultiStepLR: {initial_learning_rate: 0.5, gamma: 0.25, milestones: [3, 5]}	multi_step from 0.5, times 0.25 at each of 2 milestones
PiecewiseConstantLR: {milestones: [3, 5], learning_rates: [0.5, 0.25, 0.125]}	piecewise constant, 2 milestones
CyclicLR: {base_lr: 0.125, max_lr: 0.5, step_size_up: 5, step_size_down: 7}	cyclic from 0.125 to 0.5 in 5 steps, back in 7
CyclicLR: {base_lr: 0.125, max_lr: 0.5, step_size_up: 5, step_size_down: 7, mode: triangular2}	cyclic from 0.125 to 0.5 in 5 steps, back in 7, half as far each time
CyclicLR: {base_lr: 0.125, max_lr: 0.5, step_size_up: 5, step_size_down: 7, mode: exp_range, gamma: 0.75}	cyclic from 0.125 to 0.5 in 5 steps, back in 7, times 0.75 each step
OneCycleLR: {initial_learning_rate: 0.25, max_lr: 0.5, total_steps: 40}	one_cycle from 0.25 to 0.5 to 2.5e-05 in 40 steps, peak at 11
OneCycleLR: {initial_learning_rate: 0.25, max_lr: 0.5, total_steps: 40, three_phase: true, pct_start: 0.25, anneal_strategy: linear}	one_cycle from 0.25 to 0.5 to 2.5e-05 in 40 steps, peak at 9, straight, three phases
end

# --- weight decay and groups ---

DATA=/usr/share/common-licenses/GPL-3
# train NAME [SETTING]...: prints the digest after some steps
train() {
    name=$1
    shift
    for setting in "$@"; do
        set -- "$@" --set "trainer.init.$setting"
        shift
    done
    "$FIRNC" compile "$RECIPE" --mode train --key "$folder/test.key.pem" -o "$folder/$name.plan" "$@" >"$folder/out"
    "$BUILD/firn" train "$folder/$name.plan" --pub "$folder/test.pub.pem" --data "$DATA" --steps 4 --quiet |
        sed -n 's/^digest //p'
}

rate='ConstantLR: {learning_rate: 0.01}'
constant=$(train constant optimizer.AdamW.weight_decay=0.25 "schedulers=[{$rate}]")
scheduled=$(train scheduled optimizer.AdamW.weight_decay=0.5 "schedulers=[{$rate}, {ConstantWD: {val: 0.25}}]")
falling=$(train falling "schedulers=[{$rate}, {LinearWD: {initial_val: 0.25, end_val: 0, total_iters: 3}}]")
[ -n "$constant" ] && [ "$constant" = "$scheduled" ] && [ "$constant" != "$falling" ]

params="optimizer.AdamW.params=[{params: '*bias', tags: b}, {params: '*ln_*', tags: [n, b2], adjust_learning_rate: 0.5}]"
grouped=$(train grouped "$params" optimizer.AdamW.weight_decay=0.25 \
    "schedulers=[{$rate}, {ConstantWD: {val: 0.25, param_group_tags: [null, n]}}]")
[ "$grouped" = "$constant" ]
apart=$(train apart "$params" optimizer.AdamW.weight_decay=0.25 \
    "schedulers=[{ConstantLR: {learning_rate: 0.01, param_group_tags: [null, b]}}, \
        {ScalePerParamLR: {scheduler: {ConstantLR: {learning_rate: 0.02}}, param_group_tags: n}}]")
[ "$apart" = "$constant" ]
"$FIRNC" schedule "$folder/apart.plan" --range 0:1 >"$folder/part.csv"
[ "$(cat "$folder/part.csv")" = "optimizer_step,learning_rate,learning_rate.n
0,0.00999999978,0.00999999978" ]
"$FIRNC" inspect "$folder/grouped.plan" --schedule >"$folder/out"
grep -q '^said: group .*decay: AdamW, .*weight decay by schedule weight_decay$' "$folder/out"

# A schedule that does not fit the run is refused or warned of at its key.
sed 's/^    schedulers:.*/&/; /^    schedulers:/,/^    [a-z]/{ /^      /d }' "$RECIPE" >"$folder/none.yaml"
of_run() { # NAME STATUS PATTERN STEPS SCHEDULE
    cp "$folder/none.yaml" "$folder/run.yaml"
    sed -i "s/^    schedulers:.*/    schedulers: [{$5}]/; s/num_steps: .*/num_steps: $4/" "$folder/run.yaml"
    status=0
    "$FIRNC" compile "$folder/run.yaml" --mode train --key "$folder/test.key.pem" -o "$folder/run" >"$folder/out" \
        2>"$folder/err" || status=$?
    [ "$status" -eq "$2" ] || fail "$1: exit $status, not $2"
    [ "$(wc -l <"$folder/err")" -eq 1 ] || fail "$1: not one line"
    grep -Eq -- "^firnc: $folder/run.yaml:[0-9]+: trainer.init.schedulers.0.$3" "$folder/err" || fail "$1: no '$3'"
}
of_run "a cycle that is shorter than the run" 1 'OneCycleLR: OneCycleLR has an end, total_steps 20, and the run has num_steps 40; ' 40 \
    'OneCycleLR: {initial_learning_rate: 0.01, max_lr: 0.1, total_steps: 20}'
of_run "a straight cycle" 1 'OneCycleLR: OneCycleLR has an end, total_steps 20, and the run has num_steps 40; ' 40 \
    'OneCycleLR: {initial_learning_rate: 0.01, max_lr: 0.1, total_steps: 20, anneal_strategy: linear}'
of_run "a cosine that turns" 0 'CosineAnnealingLR: warning: CosineAnnealingLR rises again: .*T_max 20 .*num_steps 40; ' 40 \
    'CosineAnnealingLR: {initial_learning_rate: 0.1, T_max: 20, eta_min: 0.01}'
of_run "a rate that ends" 0 'CosineDecayLR: warning: learning_rate is 0 from step 10 on: .*num_steps 40, ' 40 \
    'CosineDecayLR: {initial_learning_rate: 0.1, end_learning_rate: 0, total_iters: 10}'
of_run "periods that grow" 1 'CosineAnnealingWarmRestarts.T_mult: .* total_iters 3, 6, 12 and so on' 40 \
    'CosineAnnealingWarmRestarts: {initial_learning_rate: 0.1, T_0: 3, T_mult: 2}'

# A drawing has a curve for each schedule, rates and decays apart, and prints nothing. It is refused over what is read.
expect "a drawing" 0 "" "$FIRNC" schedule "$folder/apart.plan" --plot "$folder/apart.svg"
[ ! -s "$folder/out" ] || fail "a drawing prints"
[ "$(grep -c '<polyline' "$folder/apart.svg")" -eq 2 ] && grep -q '>learning_rate.n</text>' "$folder/apart.svg" ||
    fail "the drawing does not have the two rates"
expect "a drawing of decays" 0 "" "$FIRNC" schedule "$folder/grouped.plan" --plot "$folder/grouped.svg"
grep -q '>weight decay</text>' "$folder/grouped.svg" || fail "the drawing has no panel of decays"
expect "a long drawing" 0 "" "$FIRNC" schedule "$folder/apart.plan" --range 0:1000000000000000 --plot "$folder/long.svg"
[ "$(wc -c <"$folder/long.svg")" -lt 200000 ] || fail "a long drawing is large"
expect "no step" 2 "there is no step to draw" "$FIRNC" schedule "$folder/apart.plan" --range 3:3 --plot "$folder/none.svg"
[ ! -e "$folder/none.svg" ] || fail "a drawing without a step was written"
cp "$folder/apart.plan" "$folder/kept.plan"
expect "a drawing by the name of another form" 2 "none.png is no name of SVG" "$FIRNC" schedule "$folder/apart.plan" \
    --plot "$folder/none.png"
expect "a drawing over the plan" 1 "would be replaced, and is read" "$FIRNC" schedule "$folder/apart.plan" --plot "$folder/apart.plan"
same "a drawing replaced the plan" "$folder/apart.plan" "$folder/kept.plan"
"$FIRNC" schedule "$folder/apart.plan" --plot "$folder/closed.svg" >&- || fail "a drawing needs standard output"

[ "$failures" -eq 0 ]
