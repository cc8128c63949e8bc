#!/bin/sh
# Weights files from other programs and to them. A run that begins with the weights of a file, trains, and is exported has
# the same loss outside (NumPy in float64 and, where it is installed, PyTorch) on the batch that its next step reads, within
# 1e-6. The same weights under other names, in half types, transposed, with query, key and value apart or interleaved,
# give the same plan byte for byte, and are written back that way.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
recipe=tests/end_to_end/gpt2_training.yaml
text=tests/golden/gpt2_training.txt
golden=tests/golden/gpt2_training.safetensors
float32="--set trainer.init.precision.enabled=false"

python3 -c 'import numpy' 2>"$folder/err" || {
    fail "python3 with numpy is missing; install them with: .packages/install test"
    exit 1
}
"$FIRNC" keygen "$folder/key" >"$folder/out"

# compile NAME RECIPE [OPTION]...: makes $folder/NAME.plan.
compile() {
    plan=$1
    shift
    "$FIRNC" compile "$@" --mode train --key "$folder/key.key.pem" $float32 -o "$folder/$plan.plan"
}

# trained NAME STEPS: trains $folder/NAME.plan for so many more steps and exports the parameters.
trained() {
    resume=
    [ ! -e "$folder/$1.ckpt" ] || resume=--resume
    "$FIRN" train "$folder/$1.plan" --pub "$folder/key.pub.pem" --data $text --quiet --steps "$2" $resume \
        --checkpoint "$folder/$1.ckpt" --log "$folder/$1.jsonl" >"$folder/out" &&
        "$FIRN" export "$folder/$1.ckpt" -o "$folder/$1.$2.safetensors"
}

# equal NAME OTHER: two plans are equal.
equal() {
    cmp -s "$folder/$1.plan" "$folder/$2.plan" || fail "the plans $1 and $2 differ"
}

# --- round trip ----------------------------------------------------------------------------------------------------

expect "compile" 0 "" compile run $recipe --weights $golden
trained run 0 && python3 tests/end_to_end/weights.py same $golden "$folder/run.0.safetensors" ||
    fail "an export of no step differs from what was read"
expect "train" 0 "" trained run 5
expect "the next step" 0 "" trained run 1
python3 tests/end_to_end/weights.py loss "$folder/run.5.safetensors" $text 6 >"$folder/outside"
cat "$folder/outside"
wanted=$(sed -n 's/.*"step": *6[,}].*"loss": *\([^,}]*\),.*/\1/p' "$folder/run.jsonl")
[ -n "$wanted" ] || fail "the log does not have step 6"
while read -r who loss; do
    awk -v a="$loss" -v b="$wanted" 'BEGIN { d = (a - b) / b; exit !(d <= 1e-6 && d >= -1e-6) }' ||
        fail "$who has the loss $loss and Firn $wanted"
done <"$folder/outside"
grep -q NumPy "$folder/outside" || fail "no loss to compare"

# What was exported is the initial state of another run, bit for bit, and that is exported to the same file again.
expect "compile again" 0 "" compile again $recipe --weights "$folder/run.5.safetensors"
trained again 0
python3 tests/end_to_end/weights.py same "$folder/run.5.safetensors" "$folder/again.0.safetensors" ||
    fail "weights changed on their way through a plan"
"$FIRN" digest "$folder/again.ckpt" >"$folder/once"
expect "compile that once more" 0 "" compile once $recipe --weights "$folder/again.0.safetensors"
trained once 0
"$FIRN" digest "$folder/once.ckpt" | cmp -s - "$folder/once" || fail "the digest of the initial state is another"

# --- files of others -----------------------------------------------------------------------------------------------

python3 tests/end_to_end/weights.py variants $golden "$folder"
for variant in bare tied; do
    expect "$variant" 0 "" compile $variant $recipe --weights "$folder/$variant.safetensors"
    equal run $variant
done
for half in f16 bf16; do
    expect "$half" 0 "" compile $half $recipe --weights "$folder/$half.safetensors"
    expect "$half, widened" 0 "" compile ${half}_wide $recipe --weights "$folder/${half}_wide.safetensors"
    equal $half ${half}_wide
done
expect "a tied model from an untied file" 1 \
    "untied.safetensors: tensor lm_head.weight is not equal to parameter transformer.wte.weight, .*; give it" \
    compile none $recipe --weights "$folder/untied.safetensors"
expect "an untied one" 0 "" compile untied $recipe --weights "$folder/untied.safetensors" \
    --set trainer.init.model.share_embedding_weights=false

if python3 -c 'import torch, transformers' 2>"$folder/err"; then
    python3 tests/end_to_end/hugging_face.py "$FIRNC" "$FIRN" "$folder" || fail "Hugging Face's models"
else
    echo "skipped: transformers is not installed"
fi

# --- weight_map ----------------------------------------------------------------------------------------------------

# mapped RULES: makes $folder/recipe.yaml, which has them.
mapped() {
    awk -v rules="$1" '{ print } /^  init:/ { print "    weight_map: [" rules "]" }' $recipe >"$folder/recipe.yaml"
}
transposed='{parameter: "transformer.h.*.attn.c_proj.weight", tensors: "net.h.*.attn.c_proj.weight", transpose: true},
    {parameter: "transformer.h.*.mlp.*.weight", tensors: "net.h.*.mlp.*.weight", transpose: true},
    {parameter: "transformer.*", tensors: "net.*"}'
transposed=$(echo "$transposed" | tr '\n' ' ')
apart='{parameter: "*.c_attn.weight", tensors: ["*.q.weight", "*.k.weight", "*.v.weight"], transpose: true}'
apart=$(echo "$apart" | sed 's/"\*\./"transformer.*./; s/"\*\.\([qkv]\)/"net.*.\1/g')
bias='{parameter: "transformer.*.c_attn.bias", tensors: [net.*.q.bias, net.*.k.bias, net.*.v.bias], sizes: [32, 32, 32]}'
heads='{parameter: "transformer.*.c_attn.weight", tensors: net.*.c_attn.weight, transpose: true, shape: [-1, 2, 3, 16],
    order: [0, 2, 1, 3]}, {parameter: "transformer.*.c_attn.bias", tensors: net.*.c_attn.bias, shape: [2, 3, -1],
    order: [1, 0, 2]}'
heads=$(echo "$heads" | tr '\n' ' ')

for variant in apart heads; do
    [ $variant = apart ] && mapped "$apart, $bias, $transposed" || mapped "$heads, $transposed"
    expect "$variant" 0 "" compile $variant "$folder/recipe.yaml" --weights "$folder/$variant.safetensors"
    trained $variant 0 && python3 tests/end_to_end/weights.py same $golden "$folder/$variant.0.safetensors" ||
        fail "$variant: other weights"
    expect "$variant, back" 0 "" "$FIRNC" weights "$folder/recipe.yaml" --trained $golden -o "$folder/back.safetensors"
    python3 tests/end_to_end/weights.py same "$folder/$variant.safetensors" "$folder/back.safetensors" ||
        fail "$variant: other weights were written back"
done
expect "the names of the model" 0 "" "$FIRNC" weights $recipe --trained $golden -o "$folder/back.safetensors"
python3 tests/end_to_end/weights.py same $golden "$folder/back.safetensors" || fail "other weights were written"

# The other transformers: their files have Hugging Face's names, and get them back.
there_and_back() {
    file=tests/golden/transformers_$1.safetensors
    keys="{name: $2, vocab_size: 128, hidden_size: 32, num_hidden_layers: 2, num_heads: 4, filter_size: 64, \
max_position_embeddings: 16}"
    if [ "$2" = "${2#bert}" ]; then windows=16; else windows=null; fi
    windows="--set trainer.fit.train_dataloader.max_sequence_length=$windows"
    expect "$2" 0 "" "$FIRNC" compile $recipe --mode train --key "$folder/key.key.pem" --weights $file \
        --set "trainer.init.model=$keys" $windows $float32 -o "$folder/$1.plan"
    if [ "$2" != "${2#bert}" ]; then
        "$FIRN" train "$folder/$1.plan" --pub "$folder/key.pub.pem" --data tests/golden/transformers_bert.tokens \
            --labels tests/golden/transformers_bert.labels --quiet --steps 0 --checkpoint "$folder/$1.ckpt" >"$folder/out"
        "$FIRN" export "$folder/$1.ckpt" -o "$folder/$1.0.safetensors"
    else
        trained "$1" 0
    fi
    expect "$2, back" 0 "" "$FIRNC" weights $recipe --trained "$folder/$1.0.safetensors" \
        --set "trainer.init.model=$keys" $windows -o "$folder/back.safetensors"
    expect "$2, own names" 0 "" "$FIRNC" compile $recipe --mode train --key "$folder/key.key.pem" \
        --weights "$folder/$1.0.safetensors" --set "trainer.init.model=$keys" $windows $float32 -o "$folder/own.plan"
    cmp -s "$folder/own.plan" "$folder/$1.plan" || fail "$2: other weights under the names of the parameters"
    python3 tests/end_to_end/weights.py same $file "$folder/back.safetensors" || fail "$2: other weights were written"
}
there_and_back gptj gptj
there_and_back gpt_neox gpt-neox
there_and_back llama "llama, attention_module: multiquery_attention, extra_attention_params: {num_kv_groups: 2}"
there_and_back bert "bert, disable_nsp: true, ignore_index: 0"

# wrong NAME PATTERN RULES [WEIGHTS]
wrong() {
    mapped "$3"
    expect "$1" 1 "^firnc: $2" compile none "$folder/recipe.yaml" --weights "${4:-$golden}"
}
line="$folder/recipe.yaml:[0-9]*: trainer.init.weight_map"
wrong "a rule for no parameter" "$line.0: no parameter matches \"transformer.x\"; " '{parameter: transformer.x, tensors: a}'
wrong "a rule without tensors" "$line.0: tensors is missing; " '{parameter: transformer.x}'
wrong "tensors without a parameter" "$line.0: parameter is missing; " '{tensors: a}'
wrong "more than ignoring" "$line.0: ignore stands alone" '{ignore: a, transpose: true}'
wrong "other stars" "$line.0.tensors: has 2 \*, and the parameter has 1; " '{parameter: transformer.*, tensors: "*.*"}'
wrong "sizes for others" "$line.0.sizes: has 1 sizes for 2 tensors; " \
    '{parameter: transformer.*, tensors: [a.*, b.*], sizes: [3]}'
wrong "sizes of another sum" "$line.0: parameter transformer.ln_f.bias has shape \[32\]; .* whose sum is 32" \
    '{parameter: transformer.ln_f.bias, tensors: [transformer.h.0.ln_1.bias, transformer.h.0.ln_2.bias], sizes: [16, 17]}'
rule='parameter: transformer.ln_f.bias, tensors: transformer.ln_f.bias'
wrong "a shape of other elements" "$line.0: parameter transformer.ln_f.bias has shape \[32\]; .*other elements" \
    "{$rule, shape: [5, -1], order: [1, 0]}"
wrong "a shape without an order" "$line.0.shape: has 2 extents, and order has 0 axes; " "{$rule, shape: [2, 16]}"
wrong "an order of other axes" "$line.0: .* does not have each axis once; " "{$rule, shape: [2, 16], order: [0, 0]}"
wrong "an order of more axes" "$line.0: .* another number of axes; " "{$rule, order: [0, 1]}"
wrong "a shape of nothing" "$line.0.shape.0: " "{$rule, shape: [0, 32], order: [0, 1]}"
wrong "an axis that is not there" "$line.0: parameter transformer.ln_f.bias has shape \[32\]; write an axis below" \
    "{$rule, axis: 1}"
wrong "an unknown key" "$line.0.tensor: unknown key" '{parameter: transformer.ln_f.bias, tensor: transformer.ln_f.bias}'
wrong "no transposition" "$folder/apart.safetensors: tensor net.h.0.mlp.c_fc.weight has shape \[128, 32\], and the model \
wants \[32, 128\] for its parameter transformer.h.0.mlp.c_fc.weight; .*transpose" \
    "$apart, $bias, {parameter: transformer.*, tensors: net.*}" "$folder/apart.safetensors"
wrong "a rule whose tensor is not there" "$golden: 1 of the parameters has no tensor: transformer.ln_f.bias (ln.bias); 1 of \
the tensors is no parameter: transformer.ln_f.bias; give" '{parameter: transformer.ln_f.bias, tensors: ln.bias}'
expect "two parameters of one name" 1 "two parameters would be tensor x; " "$FIRNC" weights $recipe --trained $golden \
    --set 'trainer.init.weight_map=[{parameter: transformer.ln_f.weight, tensors: x}, {parameter: transformer.ln_f.bias, tensors: x}]' -o "$folder/back.safetensors"

# --- what does not match -------------------------------------------------------------------------------------------

expect "names of another model" 1 "$folder/heads.safetensors: 28 of the parameters have no tensor: .* and 8 more; \
28 of the tensors are no parameter: .* and 8 more; .* --allow-unmatched" \
    compile none $recipe --weights "$folder/heads.safetensors"
layers="--set trainer.init.model.num_hidden_layers=1"
expect "an export of fewer layers" 1 "have no tensor: .*; give the file that firn export wrote, and the --set of the comp" \
    "$FIRNC" weights $recipe --trained "$folder/heads.safetensors" -o "$folder/none.safetensors"
expect "fewer layers" 1 "12 of the tensors are no parameter: transformer.h.1.attn.c_attn.bias, " \
    compile none $recipe --weights $golden $layers
expect "fewer layers, allowed" 0 "" compile fewer $recipe --weights $golden $layers --allow-unmatched
[ "$(grep -c 'warning: 12 of the tensors' "$folder/err")" -eq 1 ] || fail "no warning of tensors that are left out"
expect "more layers" 0 "" compile more $recipe --weights $golden --set trainer.init.model.num_hidden_layers=3 \
    --allow-unmatched
[ "$(grep -c 'warning: 12 of the parameters' "$folder/err")" -eq 1 ] || fail "no warning of parameters that are made"
compile fresh $recipe --set trainer.init.model.num_hidden_layers=3 >"$folder/out"
trained more 0
trained fresh 0
for run in more fresh; do
    "$FIRN" digest "$folder/$run.ckpt" --per-tensor | grep ' transformer\.' >"$folder/$run"
done
[ "$(grep -cFxf "$folder/fresh" "$folder/more")" -ge 12 ] || fail "parameters without a tensor are not the initial ones"
grep 'h\.2\.' "$folder/more" | grep -vFxf "$folder/fresh" && fail "the third layer is not the initial one"
expect "allowed for nothing" 2 "^firnc compile: --allow-unmatched: only with --weights" compile none $recipe \
    --allow-unmatched

# --- the command line ----------------------------------------------------------------------------------------------

expect "no weights" 2 "^firnc weights: needs --trained" "$FIRNC" weights $recipe -o "$folder/x"
expect "onto its input" 2 "would replace" "$FIRNC" weights "$folder/recipe.yaml" --trained $golden -o "$folder/recipe.yaml"
cp "$folder/back.safetensors" "$folder/kept.safetensors"
expect "no room" 1 "cannot be written" sh -c \
    "ulimit -f 8; exec '$FIRNC' weights $recipe --trained $golden -o '$folder/kept.safetensors'"
cmp -s "$folder/back.safetensors" "$folder/kept.safetensors" || fail "a failed command took the file before"
[ $failures -eq 0 ]
