#!/bin/sh
# firnc compile --target host: prints in one line which target it chose and why, and freezes exactly the plan of that
# target, which never says "host". Whatever this machine is; the choice for other machines is in test_host_target.c. A
# study for a target: compare and tune say what they chose, count the target's kinds and find what it changes.
set -eu

RECIPE=compiler/recipes/small_gpt2.yaml
. tests/end_to_end/expectations
cases=0

"$FIRNC" keygen "$folder/test" >"$folder/out"

# chosen NAME SETTING...: the host's plan is the plan of the target that the line names.
chosen() {
    name=$1
    shift
    cases=$((cases + 1))
    for setting in "$@"; do
        set -- "$@" --set "trainer.init.precision.$setting"
        shift
    done
    for mode in train eval; do
        expect "$name, $mode" 0 '' "$FIRNC" compile "$RECIPE" --mode $mode --target host \
            --key "$folder/test.key.pem" -o "$folder/host.plan" "$@"
        [ ! -s "$folder/err" ] || fail "$name: a warning of firnc's own choice"
        [ "$(grep -c '^target: [a-z0-9.-]*: ..*' "$folder/out")" -eq 1 ] || fail "$name: not one line with the target and why"
        target=$(sed -n 's/^target: \([a-z0-9.-]*\): .*/\1/p' "$folder/out")
        "$FIRNC" compile "$RECIPE" --mode $mode --target "$target" --key "$folder/test.key.pem" -o "$folder/named.plan" \
            "$@" >"$folder/out" 2>&1
        cmp -s "$folder/host.plan" "$folder/named.plan" || fail "$name: not the plan of target $target"
        "$FIRNC" inspect "$folder/host.plan" --all >"$folder/got"
        grep -q "^said: frozen by .* for target $target, " "$folder/got" || fail "$name: the plan does not say $target"
        rm -f "$folder/got"
    done
}

for half in float16 bfloat16; do
    for level in 0 2; do
        chosen "$half, POL $level" fp16_type=$half loss_scaling_factor=dynamic precision_opt_level=$level
    done
done
chosen "cbfloat16" fp16_type=cbfloat16 loss_scaling_factor=dynamic
[ "$target" = portable ] || fail "cbfloat16: $target, but no CPU multiplies it"
chosen "float32" enabled=false
[ "$target" = portable ] || fail "float32: $target"
chosen "emulate" pol_lowering=emulate
[ "$target" = portable ] || fail "emulate: $target"

# A target that has no part in any sum of a plan: a warning, whatever keeps it out, and the host's line says so.
idle() {
    "$FIRNC" compile "$RECIPE" --key "$folder/test.key.pem" -o "$folder/plan" "$@" >"$folder/out" 2>"$folder/got" || fail "idle: $*"
}
for setting in 'float32_layers=["*"]' 'precision_opt_level=0'; do
    idle --mode train --target avx512fp16 --set trainer.init.precision.fp16_type=float16 --set "trainer.init.precision.$setting"
    [ "$(grep -c 'warning: --target: avx512fp16 changes nothing: .*; leave it out' "$folder/got")" -eq 1 ] ||
        fail "no warning of an idle target: $setting"
done
idle --mode train --target amx-bf16 --set 'trainer.init.precision.float32_layers=["*"]'
grep -q 'amx-bf16 changes nothing: no sum of this plan differs' "$folder/got" || fail "an engine without a layer"
idle --mode train --target host --set 'trainer.init.precision.float32_layers=["*"]'
grep -q '^target: portable: \|^target: .*; but no sum of this plan differs' "$folder/out" || fail "host: an idle target"
"$FIRNC" compile "$RECIPE" --mode train --target host --dump-after lower >"$folder/out" 2>"$folder/got" || fail "dump: exit $?"
! grep -q '^target: ' "$folder/out" || fail "dump: a line on stdout that is no graph"
grep -q '^target: ' "$folder/got" || fail "dump: the target"

# Other options without a part in the plan.
for option in --late-update '--samples 100'; do
    idle --mode eval $option
    grep -q "warning: ${option%% *} changes nothing: .*; leave it out" "$folder/got" || fail "$option: no warning"
done

# --- one checkpoint, plans for several targets ---

cat /usr/share/common-licenses/GPL-3 /usr/share/common-licenses/LGPL-2.1 >"$folder/text"
freeze() {
    "$FIRNC" compile "$RECIPE" --key "$folder/test.key.pem" -o "$folder/plan" \
        --set trainer.init.precision.precision_opt_level=2 "$@" >"$folder/out"
}
freeze --mode train --target amx-bf16
"$FIRN" train "$folder/plan" --pub "$folder/test.pub.pem" --data "$folder/text" --steps 3 --checkpoint "$folder/checkpoint" \
    --quiet >"$folder/out"
for target in portable amx-bf16 avx512-bf16; do
    freeze --mode eval --target $target --set 'trainer.validate.outputs=[logits]' --set trainer.validate.metric=loss
    "$FIRN" eval "$folder/plan" --pub "$folder/test.pub.pem" --data "$folder/text" --checkpoint "$folder/checkpoint" --quiet \
        >"$folder/value" 2>"$folder/err" || fail "evaluating for $target: exit $?"
    grep -q '^[0-9][0-9.]*$' "$folder/value" || fail "evaluating for $target: no value"
    "$FIRN" predict "$folder/plan" --pub "$folder/test.pub.pem" --data "$folder/text" --checkpoint "$folder/checkpoint" \
        -o "$folder/$target.npy" --quiet >"$folder/out" 2>"$folder/err" || fail "predicting for $target: exit $?"
done
! cmp -s "$folder/portable.npy" "$folder/amx-bf16.npy" || fail "amx-bf16 predicts exactly what portable does"
! cmp -s "$folder/portable.npy" "$folder/avx512-bf16.npy" || fail "avx512-bf16 predicts exactly what portable does"

# --- studies ---

# Which row of the CSV has which kinds: level 0 leaves attention in float32, other half types know no engine.
kinds_of() {
    sed -n "s/^$1,.*,\(no\|yes\),//p" "$folder/$2/compare.csv"
}
"$FIRNC" compare "$RECIPE" --data "$folder/text" --trial-steps 2 --lowering native --target amx-bf16 --types float16,bfloat16 \
    --pol 0,1 -o "$folder/amx" >"$folder/table" 2>"$folder/got"
[ "$(kinds_of bfloat16-pol0 amx)" = 10,0,27,0 ] || fail "kinds of bfloat16 at level 0: $(kinds_of bfloat16-pol0 amx)"
[ "$(kinds_of bfloat16-pol1 amx)" = 0,0,37,0 ] || fail "kinds of bfloat16 at level 1: $(kinds_of bfloat16-pol1 amx)"
[ "$(kinds_of float16-pol1 amx)" = 37,0,0,0 ] || fail "kinds of float16: $(kinds_of float16-pol1 amx)"
grep -q '^bfloat16-pol0 .*  10 f32, 27 even_odd_blocks$' "$folder/table" || fail "kinds in the table"
[ "$(grep -c 'warning: --target: amx-bf16 changes nothing for float16' "$folder/got")" -eq 1 ] || fail "no warning"
! grep -q 'changes nothing for bfloat16' "$folder/got" || fail "a warning of bfloat16"

"$FIRNC" compare "$RECIPE" --data "$folder/text" --trial-steps 1 --lowering native --target host --types float16,bfloat16 --pol 0 \
    -o "$folder/host" >"$folder/out" 2>"$folder/got"
for half in float16 bfloat16; do
    [ "$(grep -c "^target for $half: [a-z0-9.-]*: " "$folder/out")" -eq 1 ] || fail "compare: no line for $half"
done
! grep -q 'changes nothing' "$folder/got" || fail "compare: a warning of firnc's own choice"

"$FIRNC" compare "$RECIPE" --data "$folder/text" --trial-steps 1 --target amx-bf16 --types float16,bfloat16 --pol 0 \
    -o "$folder/emulated" >"$folder/out" 2>"$folder/got"
[ "$(grep -c 'warning: --target: amx-bf16 changes nothing: .*; add --lowering native' "$folder/got")" -eq 1 ] ||
    fail "compare: a target of what is emulated"
[ "$(grep -c 'changes nothing' "$folder/got")" -eq 1 ] || fail "compare: a second warning of the target"

# tune finds that in linear layers a level changes nothing once they have the engine's order, but in attention it does.
"$FIRNC" tune "$RECIPE" --data "$folder/text" --trial-steps 2 --target avx512-bf16 --tolerance 0.99 --least-gain 0 \
    --set trainer.init.model.num_hidden_layers=1 -o "$folder/tuned" >"$folder/out" 2>"$folder/got" || fail "tune: exit $?"
report=$folder/tuned/report.md
grep -q 'for target avx512-bf16\.' "$report" || fail "tune: the report has no target"
grep -q '^# Written by firnc tune for --target avx512-bf16;' "$folder/tuned/recipe.yaml" || fail "tune: the recipe has none"
! grep '| transformer.h.0.mlp.c_fc | POL' "$report" | grep -qv 'computes the same' || fail "tune: a level of a linear layer"
if grep -q '| transformer.h.0.attn | bfloat16 | .* kept |' "$report"; then
    grep '| transformer.h.0.attn | POL 1' "$report" | grep -qv 'computes the same' || fail "tune: POL 1 of attention"
fi
"$FIRNC" compile "$folder/tuned/recipe.yaml" --mode train --target avx512-bf16 --key "$folder/test.key.pem" \
    -o "$folder/plan" >"$folder/out" 2>&1 || fail "tune: its recipe does not compile"

# --- equal digests of targets ---

# Gradients of weights that are rounded to the half type hide here what the orders of sums differ by; float32 ones show it
# (PRECISION.md, "POL").
{
    printf '\0\0\010\003\0\0\0\100\0\0\0\034\0\0\0\034'
    seq 100000 | head -c $((64 * 784))
} >"$folder/images"
{
    printf '\0\0\010\001\0\0\0\100'
    for record in $(seq 64); do
        printf "\\00$((record * 5 % 7))"
    done
} >"$folder/labels"

# digests TYPE: how many digests the targets have after 40 steps
digests() {
    for target in portable amx-bf16 avx512-bf16; do
        "$FIRNC" compile compiler/recipes/small_mlp.yaml --mode train --target $target --key "$folder/test.key.pem" \
            -o "$folder/plan" --set trainer.init.precision.gradient_type="$1" >"$folder/out"
        "$FIRN" train "$folder/plan" --pub "$folder/test.pub.pem" --data "$folder/images" --labels "$folder/labels" --quiet |
            grep '^digest '
    done | sort -u | wc -l
}

[ "$(digests half)" -eq 1 ] || fail "rounded gradients: $(digests half) digests of three targets"
[ "$(digests float32)" -eq 3 ] || fail "float32 gradients: $(digests float32) digests of three targets"

echo "$cases precisions, $failures failures"
[ $failures -eq 0 ]
