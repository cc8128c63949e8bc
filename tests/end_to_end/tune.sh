#!/bin/sh
# firnc tune: keeps a change that gains time at little cost, rejects one that costs too much or gains nothing, and
# writes a recipe that freezes exactly the run that was measured. Times are simulated: a runner passes everything on to
# firn and writes shorter times into the log the more the plan computes in float16 and in chunks. Each run also takes
# longer than the one before, by nearly as much as a change gains, as on a machine that heats up.
set -eu

RECIPE=compiler/recipes/small_gpt2.yaml
. tests/end_to_end/expectations
FIRNC=$(cd "$BUILD" && pwd)/firnc
FIRN=$(cd "$BUILD" && pwd)/firn

cat /usr/share/common-licenses/GPL-3 /usr/share/common-licenses/LGPL-2.1 >"$folder/text"
cat >"$folder/runner" <<END
#!/bin/sh
[ "\$1" = train ] || exec "$FIRN" "\$@"
ops=\$("$FIRNC" inspect "\$2" --ops --unfolded | grep -c ' linear .*to float16')
chunked=\$("$FIRNC" inspect "\$2" --ops --unfolded | grep -c ' linear .*chunked')
attention=\$("$FIRNC" inspect "\$2" --ops --unfolded | grep -c ' attention .*to bfloat16')
engine=\$("$FIRNC" inspect "\$2" --ops --unfolded | grep -c ' attention .*even_odd_blocks')
"$FIRN" "\$@" || exit
for word; do log=\$word; [ "\$before" = --log ] && break; before=\$word; done
[ "\$before" = --log ] || exit 0
echo >>"$folder/runs"
seconds=\$(awk "BEGIN { printf \"%.9f\", (2 - \$ops * 0.1 - \$chunked * 0.05 - \$attention * 0.2 + \$engine * 0.1) * 1.03 ^ \$(wc -l <"$folder/runs") }")
sed -i "s/\"seconds\":[0-9.]*/\"seconds\":\$seconds/" "\$log"
END
chmod +x "$folder/runner"

tune() {
    : >"$folder/runs"
    "$FIRNC" tune "$RECIPE" --data "$folder/text" --trial-steps 4 --firn "$folder/runner" \
        --set trainer.init.precision.fp16_type=float16 --set trainer.init.precision.loss_scaling_factor=dynamic \
        --set trainer.init.precision.pol_lowering=emulate "$@"
}

if takes_next; then
    # Nine linear layers: each gains by its cast and by POL 1; POL 2 gains nothing more, and attention gains nothing.
    tune -o "$folder/all" >"$folder/table"
    report=$folder/all/report.md
    [ "$(grep -c '| float16 | .* | kept |' "$report")" -eq 9 ] || fail "casts that were kept"
    [ "$(grep -c '| POL 1 | .* | kept |' "$report")" -eq 9 ] || fail "levels that were kept"
    [ "$(grep -c '| POL 2 | .* | no time gained |' "$report")" -ge 9 ] || fail "POL 2 gains nothing"
    grep -q '| transformer.h.0.attn | float16 | .* | no time gained |' "$report" || fail "attention gains nothing"
    grep -q '^- float16, POL 1: lm_head loss$' "$report" || fail "the last unit"
    grep -q '^- float32, POL 0: transformer.h.1.attn$' "$report" || fail "attention stays in float32"
    [ "$(ls "$folder/all" | tr '\n' ' ')" = "recipe.yaml report.md " ] || fail "something was left behind"
    grep -q 'pattern: "lm_head"' "$folder/all/recipe.yaml" || fail "no annotation in the recipe"
    expect 'the recipe compiles' 0 '' "$FIRNC" compile "$folder/all/recipe.yaml" --mode eval --dump-after pol
fi

if takes_next; then
    # If no loss of accuracy is allowed, a cast that loses some is rejected. Blocks of rows are no key of a recipe, so its
    # first line says that they were given.
    tune --tolerance 0 --set trainer.fit.train_dataloader.micro_batch_size=4 --logit-rows 32 -o "$folder/none" >"$folder/table" \
        2>"$folder/err"
    ! grep -q 'changes nothing' "$folder/err" || fail "--logit-rows: the logits are whole"
    head -n 1 "$folder/none/recipe.yaml" | grep -q -- '--target portable --logit-rows 32;' || fail "--logit-rows in the recipe"
    grep -q 'costs more than the tolerance' "$folder/none/report.md" || fail "a cost above the tolerance"
fi

if takes_next; then
    # Where nothing is kept, the recipe has none of the keys that need mixed precision.
    tune --least-gain 0.99 --set trainer.init.model.num_hidden_layers=1 --set trainer.init.model.attention_softmax_fp32=false \
        -o "$folder/float32" >"$folder/table"
    for mode in train eval; do
        expect "float32, $mode" 0 '' "$FIRNC" compile "$folder/float32/recipe.yaml" --mode $mode --dump-after pol
        [ ! -s "$folder/err" ] || fail "float32: a key of the recipe has no effect"
    done
fi

if takes_next; then
    # The portable target multiplies no half type, so a level changes only the type of a norm. For the five layers not
    # followed by a norm the plan is the same, and no run is made.
    tune --set trainer.init.precision.pol_lowering=native -o "$folder/native" >"$folder/table"
    [ "$(grep -c '| POL 1 | .* | computes the same |' "$folder/native/report.md")" -eq 5 ] || fail "levels that change nothing"
fi

if takes_next; then
    # What computes the same as a level that was rejected is not measured again. Attention gains by its cast and loses by the
    # sums of an engine, which it has at both levels.
    tune --target amx-bf16 --set trainer.init.precision.fp16_type=bfloat16 --set trainer.init.precision.pol_lowering=native \
        --set trainer.init.model.num_hidden_layers=1 -o "$folder/engine" >"$folder/table"
    report=$folder/engine/report.md
    grep -q '| transformer.h.0.attn | bfloat16 | .* | kept |' "$report" || fail "the cast of attention"
    grep -q '| transformer.h.0.attn | POL 1 | .* | no time gained |' "$report" || fail "the sums of an engine"
    grep -q '| transformer.h.0.attn | POL 2 | .* | computes the same as one that was rejected |' "$report" || fail "measured again"
fi

if takes_next; then
    # A model in a file beside the recipe: the recipe in the new folder finds it, also where another one is run.
    mkdir "$folder/beside"
    cp tests/fuzz/corpus/onnx/perceptron "$folder/beside/net.onnx"
    cat >"$folder/beside/net.yaml" <<END
trainer:
  init:
    model: {onnx: net.onnx}
    optimizer: {SGD: {learning_rate: 0.1}}
    loop: {num_steps: 4}
  fit: {train_dataloader: {batch_size: 4}}
END
    head -c 256 /dev/zero | npy "$folder/x.npy" '<f4' '(16, 4)'
    head -c 64 /dev/zero | npy "$folder/y.npy" '<i4' '(16,)'
    : >"$folder/runs"
    (cd "$folder/beside" && "$FIRNC" tune net.yaml --data ../x.npy --labels ../y.npy --trial-steps 4 --firn "$folder/runner" \
        -o ../net >"$folder/table") || fail "a recipe with a model in a file"
    expect 'the recipe finds the file' 0 '' "$FIRNC" compile "$folder/net/recipe.yaml" --mode train --dump-after pol
fi

if takes_next; then
    # The same of statistics that the recipe names. With --statistics the new recipe names none, as the old one does not.
    mkdir "$folder/table"
    awk 'BEGIN { print "a,b,c"; for (i = 0; i < 80; i++) print i % 7 "," i % 5 "," i % 7 + 2 * (i % 5) }' >"$folder/table/t.csv"
    sed 's/^      normalise: fit/      statistics: t.json\n&/' compiler/recipes/table.yaml >"$folder/table/table.yaml"
    "$FIRN" data-statistics "$folder/table/t.csv" --target-column c --held-out-per-mille 100 -o "$folder/table/t.json" \
        >"$folder/out"
    for named in recipe option; do
        recipe=$folder/table/table.yaml
        set --
        [ $named = recipe ] || { recipe=compiler/recipes/table.yaml && set -- --statistics "$folder/table/t.json"; }
        : >"$folder/runs"
        expect "a study with statistics, by the $named" 0 '' "$FIRNC" tune "$recipe" --data "$folder/table/t.csv" \
            --target-column c --trial-steps 4 --firn "$folder/runner" -o "$folder/by-$named" "$@"
        expect "the recipe and the statistics, by the $named" 0 '' "$FIRNC" compile "$folder/by-$named/recipe.yaml" --mode train \
            --dump-after pol "$@"
    done
    ! grep -q statistics "$folder/by-option/recipe.yaml" || fail "the recipe names statistics that it was given by an option"
fi

expect 'a tolerance that is none' 2 '--tolerance: x' tune --tolerance x -o "$folder/no"
expect 'a gain above all' 2 '--least-gain: 2' tune --least-gain 2 -o "$folder/no"
[ ! -e "$folder/no" ] || fail "a refused study made its folder"

[ "$failures" -eq 0 ]
