#!/bin/sh
# firnc inspect: one screen that a person decides by, of every small recipe at most 40 lines of 100 characters; the parts
# by name, with equal layers folded; and all of it, of which each part is a part.
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/test" >"$folder/out"
plan=$folder/plan

# compile RECIPE MODE [SETTING]...
compile() {
    recipe=compiler/recipes/$1.yaml
    mode=$2
    shift 2
    for setting in "$@"; do
        set -- "$@" --set "$setting"
        shift
    done
    "$FIRNC" compile "$recipe" --mode "$mode" --key "$folder/test.key.pem" -o "$plan" "$@" >"$folder/out" 2>&1 ||
        fail "$recipe does not compile"
}

# has PATTERN: the screen has a line like that.
has() {
    grep -q -- "$1" "$folder/screen" || fail "no '$1' on the screen"
}

# --- the screen ---

for recipe in compiler/recipes/small_*.yaml; do
    name=${recipe##*/}
    for mode in train eval; do
        takes_next || continue
        compile "${name%.yaml}" $mode
        "$FIRNC" inspect "$plan" >"$folder/screen"
        awk 'length($0) > 100 || NR > 40 { exit 1 }' "$folder/screen" || fail "$name, $mode: not one screen"
        [ "$(tail -n 1 "$folder/screen" | cut -c 1-4)" = more ] || fail "$name, $mode: the screen has no last line"
    done
done

compile small_gpt2 train
"$FIRNC" inspect "$plan" >"$folder/screen"
has "^plan  *$plan, [0-9,]* bytes$"
has '^  *plan hash [0-9a-f]\{64\}$'
has '^signed  *by the key [0-9a-f]\{64\}; '
has '^trains  *gpt2 (said), 8,832 parameters in 28 tensors$'
has '^layers  *2 x transformer.h with 2,224 each; '
has '^memory  *204,512 bytes: state 106,064, arena 98,448$'
has '^  *by region: parameters 35,328, optimizer 70,720, session 16, arena 98,448$'
has '^  *peak of the arena in op 50, said: lm_head: 98,448 live at once$'
has '^flash  *plan [0-9,]* (of these its report [0-9,]*, which may be cut off), checkpoint 112,032$'
has '^data  *windows of 17 elements, stride 16, 17 bytes each; permuted; part train, 100 per mille'
has '^  *the run reads 160 samples: 2,561 bytes'
has '^steps  *40; a step has 2 micro-batches of 2 samples and 1,694,720 multiply-adds in products$'
has '^rate  *linear from 0.001 to 0.01 in 4 steps, then cosine from 0.01 to 0.001 in 36 steps$'
has '^  *0.001 in the first step, 0.00101712 in the last$'
has '^optimizer  *tensors: 28 by adamw; 10 of 28 decayed; clipping norm at 1; loss scaling none$'
has '^precision  *float32 and bfloat16; sums: 33 x f32 to bfloat16; 4 x f32 to float32$'
has '^  *said: POL asked: 28 x 1 (global), 6 x 0 (pattern), 2 x 0 (rule); lowering native$'
has '^unusual  *18 of 28 tensors are not decayed: '
# The rates are those of firnc schedule.
"$FIRNC" schedule "$plan" | tail -n 1 | grep -q '^39,0.00101712' || fail "another last rate"

# What is unusual is said, and nothing where nothing is.
compile small_gpt2 eval
"$FIRNC" inspect "$plan" >"$folder/screen"
has '^evaluates  *gpt2 '
has '^unusual  *nothing$'
compile small_gpt2 train trainer.init.precision.fp16_type=float16
"$FIRNC" inspect "$plan" >"$folder/screen"
has '^  *the loss is not scaled: '
compile small_gpt2 train trainer.init.precision.fp16_type=float16 trainer.init.precision.loss_scaling_factor=dynamic
"$FIRNC" inspect "$plan" >"$folder/screen"
has '^  *steps whose gradients are not finite are skipped'
compile small_gpt2 train trainer.init.precision.pol_lowering=emulate
"$FIRNC" inspect "$plan" >"$folder/screen"
has '^  *[0-9]* sums are added up in a half type, by chunks$'
"$FIRNC" compile compiler/recipes/small_mlp.yaml --mode train --unsigned --pub "$folder/test.pub.pem" -o "$plan" \
    --vendor acme >"$folder/out"
"$FIRNC" inspect "$plan" >"$folder/screen"
has '^signed  *not yet: unsigned, and nothing runs this plan$'
has '  it is for devices of one vendor or class'

# --- the parts ---

compile small_gpt2 train
"$FIRNC" inspect "$plan" --all >"$folder/all"
for parts in --schedule --memory '--tensors --unfolded' '--ops --unfolded' '--schedule --memory --tensors --ops --unfolded'; do
    # shellcheck disable=SC2086 # several options
    "$FIRNC" inspect "$plan" $parts >"$folder/part"
    # What else a part has: names of what is decayed, and what is live at the peak.
    sed '/^decayed /,/^$/d; /^in the arena at its peak/,/^$/d' "$folder/part" | sort -u >"$folder/lines"
    sort -u "$folder/all" | comm -13 - "$folder/lines" >"$folder/out"
    [ ! -s "$folder/out" ] || fail "$parts: lines that --all has not"
    [ "$(wc -l <"$folder/lines")" -gt 10 ] || fail "$parts: hardly any lines"
    cat "$folder/part"
done >"$folder/whole"
[ "$(head -n 1 "$folder/all" | cut -c 1-4)" = plan ] && [ "$(grep -c '^totals$' "$folder/all")" -eq 1 ] || fail "--all"
"$FIRNC" inspect "$plan" --schedule | grep -q '^decayed  *transformer.h.\[0-1\].attn.c_attn.weight$' ||
    fail "--schedule does not name what is decayed"

# Folded, no op and no tensor is lost, and a deeper model has as many lines.
"$FIRNC" inspect "$plan" --ops | awk '$2 == "x" { n += $1 } END { print n }' >"$folder/ops"
[ "$(cat "$folder/ops")" -eq 222 ] || fail "--ops: $(cat "$folder/ops") ops, and not 222"
"$FIRNC" inspect "$plan" --tensors | awk '/^  [a-z]/ && $2 ~ /^[0-9]+$/ { n += $2 } END { print n }' >"$folder/tensors"
sed -n '/^memory map/,/^$/p' "$folder/all" | sed '1,2d;$d' >"$folder/map"
[ "$(cat "$folder/tensors")" -eq "$(wc -l <"$folder/map")" ] || fail "--tensors: $(cat "$folder/tensors") tensors"
"$FIRNC" inspect "$plan" --tensors --ops >"$folder/two"
compile small_gpt2 train trainer.init.model.num_hidden_layers=12 'trainer.init.precision.pol=[]'
"$FIRNC" inspect "$plan" --tensors --ops >"$folder/twelve"
[ "$(wc -l <"$folder/twelve")" -le "$(wc -l <"$folder/two")" ] || fail "twelve layers take more lines than two"
grep -q '^     12 x linear  *transformer.h.\[0-11\].mlp.c_fc  POL ' "$folder/twelve" ||
    fail "the products of twelve layers are not folded"
"$FIRNC" inspect "$plan" >"$folder/screen"
has '12 x transformer.h with 2,224 each'

# --- JSON has what it had ---

"$FIRNC" inspect "$plan" --json >"$folder/json"
for field in file signature plan_hash run_hash model_hash key_hash schema_hash vendor class format image_id plan_version \
    security_counter said mode steps micro_batches regions sampler inputs outputs schedules schedule_nodes tensors phases totals \
    summary; do
    grep -q "^	\"$field\":" "$folder/json" || fail "--json: no $field"
done

# --- what is refused ---

expect "JSON and a part" 2 "^firnc inspect: --json: has everything; " "$FIRNC" inspect "$plan" --json --ops
expect "all and a part" 2 "^firnc inspect: --all: is everything, unfolded; " "$FIRNC" inspect "$plan" --all --memory
expect "unfolded alone" 2 "^firnc inspect: --unfolded: is for --tensors and --ops; " "$FIRNC" inspect "$plan" --unfolded

[ $failures -eq 0 ] || exit 1
echo "one screen, the parts, and nothing lost by folding"
