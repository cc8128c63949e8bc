#!/bin/sh
# The precision blocks shown in the reference's own guides compile unchanged when a model is added around them.
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/test" >"$folder/out"

# recipe [MODEL_KEYS]: writes a recipe with the block on stdin, or without one, as trainer.init.precision.
recipe() {
    sed '/^    precision:/,/^    loop:/{/^    loop:/!d;}' compiler/recipes/small_gpt2.yaml >"$folder/rest"
    sed "/^      name: gpt2/a\\
$(printf '%s' "${1:-}")" "$folder/rest" | sed '/^ *$/d' >"$folder/with_model"
    sed -n '1,/^    schedulers:/p' "$folder/with_model" | sed '$d' >"$folder/recipe.yaml"
    sed 's/^/    /' >>"$folder/recipe.yaml"
    sed -n '/^    schedulers:/,$p' "$folder/with_model" >>"$folder/recipe.yaml"
}

# compiles NAME PATTERN: compiles in both modes; the output of inspect matches the pattern.
compiles() {
    for mode in train eval; do
        expect "$1, $mode" 0 '' "$FIRNC" compile "$folder/recipe.yaml" --mode $mode --key "$folder/test.key.pem" -o "$folder/plan"
        [ $mode = eval ] || "$FIRNC" inspect "$folder/plan" --all >"$folder/inspected"
    done
    grep -q -- "$2" "$folder/inspected" || fail "$1: no '$2' in the plan"
}

recipe <<END
precision:
  fp16_type: cbfloat16
END
compiles 'a half type' 'activation .* cbfloat16'
grep -q 'dynamic is safer' "$folder/err" || fail 'no warning of cbfloat16 without dynamic scaling'

recipe <<END
precision:
  fp16_type: cbfloat16
  loss_scaling_factor: dynamic
END
compiles 'gradient scaling' 'loss scaling  *dynamic'

for limit in 'norm: 1.0' 'value: 2.0'; do
    recipe <<END
precision:
  fp16_type: cbfloat16
  loss_scaling_factor: dynamic
  max_gradient_$limit
END
    compiles "clipping by $limit" "clipping  *${limit%%:*}"
done

recipe <<END
precision:
  fp16_type: cbfloat16
  loss_scaling_factor: dynamic
  max_gradient_norm: 1.0
  # OR
  max_gradient_value: 2.0
END
expect 'both limits' 1 'exclude each other' "$FIRNC" compile "$folder/recipe.yaml" --mode train --key "$folder/test.key.pem" -o "$folder/both"
[ ! -e "$folder/both" ] || fail 'a refused recipe left a plan'

for level in 0 1 2; do
    recipe <<END
precision:
  fp16_type: cbfloat16
  loss_scaling_factor: dynamic
  max_gradient_norm: 1.0
  precision_opt_level: $level
END
    compiles "level $level" "POL $level (global)"
done

recipe '      use_bfloat16: True\
      mixed_precision: True' </dev/null
compiles 'the keys of the model' 'activation .* bfloat16'
recipe '      use_bfloat16: False' <<END
precision:
  fp16_type: bfloat16
END
expect 'a contradiction' 1 'says otherwise' "$FIRNC" compile "$folder/recipe.yaml" --mode train --key "$folder/test.key.pem" -o "$folder/both"

[ "$failures" -eq 0 ]
