#!/bin/sh
# firnc schedule: a recipe and its plan give the same rates, one line for each optimizer step.
set -eu

BUILD=${BUILD:-build}
FIRNC=$BUILD/firnc
RECIPE=compiler/recipes/small_gpt2.yaml
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$FIRNC" keygen "$folder/test" >"$folder/out"
"$FIRNC" compile "$RECIPE" --mode train --key "$folder/test.key.pem" -o "$folder/plan" >"$folder/out"
"$FIRNC" schedule "$RECIPE" >"$folder/recipe.csv"
"$FIRNC" schedule "$folder/plan" >"$folder/plan.csv"
cmp "$folder/recipe.csv" "$folder/plan.csv"

[ "$(head -n 1 "$folder/plan.csv")" = optimizer_step,learning_rate ]
steps=$("$FIRNC" inspect "$folder/plan" | sed -n 's/^steps  *//p')
[ "$(wc -l <"$folder/plan.csv")" -eq $((steps + 1)) ]
"$FIRNC" schedule "$folder/plan" --steps 2:4 >"$folder/part.csv"
sed -n '1p;4,5p' "$folder/plan.csv" | cmp - "$folder/part.csv"
