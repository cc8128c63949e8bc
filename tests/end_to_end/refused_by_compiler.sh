#!/bin/sh
# What firnc refuses: each case ends with its exit code and one line that names the file, the line, the key and the
# remedy, and leaves no plan behind.
set -eu

RECIPE=compiler/recipes/small_gpt2.yaml
MLP=compiler/recipes/small_mlp.yaml
. tests/end_to_end/expectations
needs full
cases=0

# expect NAME STATUS PATTERN COMMAND...: prints one line on stderr that matches the pattern, has that exit code, and
# leaves no plan.
expect() {
    name=$1
    wanted=$2
    pattern=$3
    shift 3
    status=0
    cases=$((cases + 1))
    "$@" >"$folder/out" 2>"$folder/got" </dev/null || status=$?
    [ "$status" -eq "$wanted" ] || fail "$name: exit $status, not $wanted"
    [ "$(wc -l <"$folder/got")" -eq 1 ] || fail "$name: not one line"
    grep -Eq "$pattern" "$folder/got" || fail "$name: no line matches '$pattern'"
    [ ! -e "$folder/plan" ] || fail "$name: a plan was written"
    rm -f "$folder/plan"
}

compile() {
    "$FIRNC" compile "$@" --key "$folder/test.key.pem" -o "$folder/plan"
}

# edited NAME KEY SCRIPT WORDS: the recipe, changed by a sed script, is refused at the line that contains KEY, with
# those words.
edited() {
    sed "$3" "$RECIPE" >"$folder/recipe.yaml"
    line=$(grep -n "^ *-* *$2:" "$folder/recipe.yaml" | head -n 1 | cut -d : -f 1)
    expect "$1" 1 "^firnc: $folder/recipe.yaml:$line: trainer[a-zA-Z0-9_.]*\.$2: .*; " \
        compile "$folder/recipe.yaml" --mode train
    grep -Eq -e "$4" "$folder/got" || fail "$1: no line has '$4'"
}

"$FIRNC" keygen "$folder/test" >"$folder/out"

edited "train_and_eval in the recipe" mode 's/^    seed: 3$/    mode: train_and_eval/' 'programmed once.*compile two plans'
edited "both clip keys" max_gradient_value '/max_gradient_norm/a\      max_gradient_value: 1.0' 'exclude each other'
edited "POL 3" precision_opt_level 's/precision_opt_level: 1/precision_opt_level: 3/' '3 is out of range'
# The limit given in the message can be used as a value.
edited "a factor whose reciprocal is infinite" loss_scaling_factor \
    's/loss_scaling_factor: .*/loss_scaling_factor: 2.9387e-39/' 'of at least 2.93874e-39'
edited "unknown key" precison 's/^    precision:/    precison:/' 'unknown key; the nearest known one is precision'
edited "a class of transformers" name 's/name: gpt2$/name: GPT2LMHeadModel/' 'is a name of transformers; .*--hf FOLDER'
edited "a key of another place" max_grad_norm 's/^    loop:/&\n      max_grad_norm: 1.0/' \
    'if it is max_gradient_norm, write that below trainer.init.precision'
edited "when to save" save_steps 's/^    loop:/&\n      save_steps: 10/' 'if it is checkpoint, write that below trainer.init,'
edited "a rate in the data" lr 's/^    train_dataloader:/&\n      lr: 1.0/' 'write it below the class of trainer.init.optimizer'
edited "negative length" total_iters 's/total_iters: 4$/total_iters: -4/' '-4 is negative'
edited "float8" fp16_type 's/fp16_type: bfloat16/fp16_type: float8/' 'float16, bfloat16, cbfloat16'
edited "micro-batches" micro_batch_size 's/micro_batch_size: 2/micro_batch_size: 3/' 'not divisible by 3'
edited "heads" num_heads 's/num_heads: 2/num_heads: 3/' 'not divisible by 3 heads'
sed 's/^    seed: 3$/&\n    seed: 4/' "$RECIPE" >"$folder/recipe.yaml"
expect "twice" 1 "^firnc: $folder/recipe.yaml:[0-9]+: trainer.init.seed: .* in line [0-9]+; " \
    compile "$folder/recipe.yaml" --mode train
edited "wrong type" hidden_size 's/hidden_size: 16/hidden_size: wide/' 'not a whole number'

# A model in a file: what the recipe says of it is there, and what a training needs.
cp tests/fuzz/corpus/onnx/perceptron "$folder/net.onnx"
in_file() { # NAME KEYS PLACE WORDS
    printf 'trainer: {init: {model: {onnx: net.onnx%s}, optimizer: {SGD: {learning_rate: 0.1}}, loop: {num_steps: 4}},\n%s' \
        "$2" '    fit: {train_dataloader: {batch_size: 4}}}' >"$folder/recipe.yaml"
    expect "$1" 1 "^firnc: $folder/recipe.yaml:1: trainer.init.model.$3: $4; " compile "$folder/recipe.yaml" --mode train
}
in_file "a dimension of no input" ', dimensions: {length: 4}' dimensions.length 'no extent of .* has this name'
in_file "no parameter" ', constants: ["*"]' onnx '.* there is no parameter'
in_file "no data" ', inputs: {x: 0}' inputs 'no input of the file is left for the data'
sed -i 's/inputs: {x: 0}/constants: ["a.*", "z.*"]/' "$folder/recipe.yaml"
expect "a pattern of no tensor" 0 "trainer.init.model.constants.1: warning: has no effect: no tensor of the file has " \
    "$FIRNC" compile "$folder/recipe.yaml" --mode train --dump-after build

expect "--mode train_and_eval" 1 "^firnc: $RECIPE: --mode train_and_eval: .*programmed once.*; compile two plans" \
    compile "$RECIPE" --mode train_and_eval
expect "no file" 1 "^firnc: $folder/none.yaml: cannot be opened: .*; " compile "$folder/none.yaml" --mode train
expect "a folder" 1 "^firnc: $folder: is a folder; give a file" compile "$folder" --mode train
printf 'trainer: &a\n  init: *a\n' >"$folder/recipe.yaml"
expect "an alias" 1 "^firnc: $folder/recipe.yaml:2: the alias [*]a is inside .*; " compile "$folder/recipe.yaml" --mode train
printf 'trainer: [\n' >"$folder/recipe.yaml"
expect "not YAML" 1 "^firnc: $folder/recipe.yaml:[0-9]+: not YAML: .*; " compile "$folder/recipe.yaml" --mode train
expect "an unknown setting" 1 "^firnc: $RECIPE: --set trainer.init.sede: unknown key; .* seed" \
    compile "$RECIPE" --mode train --set trainer.init.sede=1
LENET=compiler/recipes/small_lenet.yaml
expect "an image too small for a LeNet" 1 \
    "^firnc: $LENET: --set trainer.init.model.image_width: 11 is out of range; .* at least 12 " compile $LENET --mode train --set trainer.init.model.image_width=11
expect "three convolutions of a LeNet" 1 \
    "^firnc: $LENET: --set trainer.init.model.filters: has 3 sizes; write two" \
    compile $LENET --mode train --set "trainer.init.model.filters=[1,2,3]"
expect "a LeNet without outputs of a layer" 1 "^firnc: $LENET: --set trainer.init.model.hidden_sizes.0: 0 is out of range; " \
    compile $LENET --mode train --set "trainer.init.model.hidden_sizes=[0, 4]"
AUTOENCODER=compiler/recipes/small_autoencoder.yaml
expect "labels of an autoencoder" 1 "^firnc: $AUTOENCODER: --set trainer.fit.train_dataloader.label_type: .*reads no labels; remove it" \
    compile $AUTOENCODER --mode train --set trainer.fit.train_dataloader.label_type=float32
expect "a batch norm of one row" 1 "^firnc: $AUTOENCODER: layer norms.0: a batch norm of one row has no variance; " \
    compile $AUTOENCODER --mode train --set trainer.fit.train_dataloader.batch_size=1
# Errors that are found only in the graph are also reported at the line of their key.
sed 's/vocab_size: 256/vocab_size: 5000/; s/    train_dataloader:/&\n      token_type: int32/; s/^  validate:$/&\n    metric: mean_iou/' "$RECIPE" >"$folder/recipe.yaml"
line=$(grep -n 'metric: mean_iou' "$folder/recipe.yaml" | cut -d : -f 1)
expect "a confusion matrix that is too large" 1 \
    "^firnc: $folder/recipe.yaml:$line: trainer.validate.metric: .* of 5000 classes is too large.*; " \
    compile "$folder/recipe.yaml" --mode eval
expect "auc of rows that do not count" 1 \
    "^firnc: compiler/recipes/small_mlp.yaml: --set trainer.validate.metric: .*ignore_index" \
    compile compiler/recipes/small_mlp.yaml --mode eval --set trainer.init.model.output_size=2 \
    --set trainer.init.model.ignore_index=0 --set trainer.validate.metric=auc
pattern=trainer.init.precision.pol.0.pattern
expect "a pattern that matches nothing" 1 "^firnc: $RECIPE: --set $pattern: no layer matches .*; " \
    compile "$RECIPE" --mode train --set "$pattern=transformer.x"
expect "a pattern of a part of a name" 1 'params.0: no parameter matches "bias"; a pattern stands for a whole name; write "\*bias" for' \
    compile "$RECIPE" --mode train --set 'trainer.init.optimizer.AdamW.params=[{params: bias, tags: b}]'
expect "a pattern with a name of PyTorch's" 1 'no parameter matches "model.transformer.wte.weight"; the nearest one is transformer.wte.weight' \
    compile "$RECIPE" --mode train --set 'trainer.init.callbacks=[{FreezeParameters: model.transformer.wte.weight}]'
expect "a layer for LoRA by its last word" 1 'no layer with a product matches "c_attn"; .*; write "\*c_attn" for names' \
    compile "$RECIPE" --mode train --set 'trainer.init.fine_tuning={lora: {layers: c_attn, rank: 2, alpha: 1}}'
edited "a pattern of the file that matches nothing" pattern 's/pattern: .*/pattern: transformer.x/' \
    'trainer.init.precision.pol.0.pattern: no layer matches "transformer.x"'

layers=trainer.init.model.num_hidden_layers
expect "more than a plan can hold" 1 "^firnc: $RECIPE: --set $layers: [0-9]+ ops and [0-9]+ tensors, .* at most 65536 of each; " \
    compile "$RECIPE" --mode train --set $layers=1000
edited "more layers than a plan can hold" num_hidden_layers 's/num_hidden_layers: 2/num_hidden_layers: 1000/' 'fewer layers'

# warned NAME PATTERN COMMAND...: prints one warning line on stderr and makes a plan.
warned() {
    name=$1
    pattern=$2
    shift 2
    cases=$((cases + 1))
    "$@" >"$folder/out" 2>"$folder/got" </dev/null || fail "$name: exit $?"
    [ "$(wc -l <"$folder/got")" -eq 1 ] || fail "$name: not one line"
    grep -Eq "$pattern" "$folder/got" || fail "$name: no line matches '$pattern'"
    [ -e "$folder/plan" ] || fail "$name: no plan was written"
    rm -f "$folder/plan"
}

sed 's/hidden_size: 16/hidden_size: 1000000/' "$RECIPE" >"$folder/recipe.yaml"
line=$(grep -n 'hidden_size:' "$folder/recipe.yaml" | cut -d : -f 1)
warned "an enormous model" "^firnc: $folder/recipe.yaml:$line: trainer.init.model.hidden_size: warning: .* 1 TiB; " \
    compile "$folder/recipe.yaml" --mode train
precision=trainer.init.precision
warned "a scale that makes gradients 0" "^firnc: $MLP: --set $precision.loss_scaling_factor: warning: makes gradients 0: .*; write 1 or" \
    compile "$MLP" --mode train --set $precision.fp16_type=float16 --set $precision.loss_scaling_factor=1e-4
warned "a rate of 0" "^firnc: $MLP: --set trainer.init.schedulers.0.ConstantLR: warning: learning_rate is 0 at every step: " \
    compile "$MLP" --mode train --set 'trainer.init.schedulers=[{ConstantLR: {learning_rate: 0}}]'
loader=trainer.fit.train_dataloader
warned "an enormous batch" "^firnc: $RECIPE: --set $loader.micro_batch_size: warning: .* 1 TiB; " \
    compile "$RECIPE" --mode train --set $loader.batch_size=16777216 --set $loader.micro_batch_size=16777216 \
    --set $loader.max_sequence_length=1024 --set trainer.init.model.max_position_embeddings=1024
warned "an enormous undivided batch" "^firnc: $RECIPE: --set $loader.batch_size: warning: .* 1 TiB; " \
    compile "$RECIPE" --mode train --set $loader.batch_size=16777216 --set $loader.micro_batch_size=null \
    --set $loader.max_sequence_length=1024 --set trainer.init.model.max_position_embeddings=1024
warned "an enormous ring" "^firnc: $MLP: --set $loader.ring: warning: .* of rings, more than 1 TiB; " \
    compile "$MLP" --mode train --set $loader.held_out_per_mille=0 --set $loader.source=push --set $loader.ring=16777216 \
    --set trainer.init.model.input_size=100000

# Makes a model of one linear layer, and a safetensors file with the given tensor names and shapes.
sed -e 's/hidden_sizes: .*/hidden_sizes: []/' -e 's/input_size: .*/input_size: 3/' -e 's/output_size: .*/output_size: 2/' \
    compiler/recipes/mlp.yaml >"$folder/mlp.yaml"
with_weights() {
    header=
    offset=0
    while [ $# -gt 0 ]; do
        end=$((offset + $3))
        header="$header${header:+,}\"$1\":{\"dtype\":\"F32\",\"shape\":$2,\"data_offsets\":[$offset,$end]}"
        offset=$end
        shift 3
    done
    header="{$header}"
    {
        printf "\\$(printf '%03o' $((${#header} % 256)))\\$(printf '%03o' $((${#header} / 256)))"
        head -c 6 /dev/zero
        printf '%s' "$header"
        head -c $offset /dev/zero
    } >"$folder/model.safetensors"
    compile "$folder/mlp.yaml" --mode train --weights "$folder/model.safetensors" $unmatched
}
unmatched=
expect "weights that lack a tensor" 1 \
    "^firnc: $folder/model.safetensors: 1 of the parameters has no tensor: layers.0.weight; .*weight_map, or add" \
    with_weights layers.0.bias '[2]' 8
expect "weights of another shape" 1 \
    "^firnc: $folder/model.safetensors: tensor layers.0.weight has shape \\[3, 2\\], and .* \\[2, 3\\] .*transpose" \
    with_weights layers.0.bias '[2]' 8 layers.0.weight '[3,2]' 24
expect "weights with a shape of words" 1 "^firnc: .*: tensor layers.0.bias: its shape is no list .*; " \
    with_weights layers.0.bias '["a"]' 8
expect "weights with more tensors" 1 \
    "^firnc: $folder/model.safetensors: 2 of the tensors are no parameter: layers.1.bias, layers.1.weight; " \
    with_weights layers.0.bias '[2]' 8 layers.1.bias '[2]' 8 layers.0.weight '[2,3]' 24 layers.1.weight '[2]' 8
expect "weights of one name" 1 "^firnc: $folder/model.safetensors: tensor layers.0.bias is there twice; " \
    with_weights layers.0.bias '[2]' 8 layers.0.bias '[2]' 8 layers.0.weight '[2,3]' 24
unmatched=--allow-unmatched
warned "weights with more tensors, allowed" \
    "^firnc: $folder/model.safetensors: warning: 1 of the parameters .*: layers.0.weight; 1 of the tensors .*: layers.1.bias; " \
    with_weights layers.0.bias '[2]' 8 layers.1.bias '[2]' 8

expect "no mode" 2 "^firnc compile: --mode: " compile "$RECIPE"
expect "no such pass" 2 "build, shapes, adapt, freeze, pol, autocast, decode, autodiff, outputs, training, fuse, logits, copies, early, views, order, memory, rings, lower" \
    compile "$RECIPE" --mode train --dump-after all
expect "no such target" 2 "pdp11 is not known; write one of portable, avx512fp16, armv8.1m, amx-bf16, avx512-bf16, host" \
    compile "$RECIPE" --mode train --target pdp11
expect "no such target of a study" 2 "amx is not known; write one of portable, .*, host" \
    "$FIRNC" compare "$RECIPE" --data "$RECIPE" -o "$folder/study" --target amx
idle="^firnc: $RECIPE: warning: --target: "
warned "a target for another half type" "${idle}amx-bf16 changes nothing: it computes float16 as portable does; leave" \
    compile "$RECIPE" --mode train --target amx-bf16 --set trainer.init.precision.fp16_type=float16
warned "a target for float32" "${idle}avx512-bf16 changes nothing: the recipe computes in float32; leave" \
    compile "$RECIPE" --mode train --target avx512-bf16 --set trainer.init.precision.enabled=false
warned "a target that is emulated" "${idle}amx-bf16 changes nothing: pol_lowering is emulate, .*; leave" \
    compile "$RECIPE" --mode train --target amx-bf16 --set trainer.init.precision.pol_lowering=emulate
idle="^firnc: $RECIPE: warning: --logit-rows: 32 changes nothing: "
warned "logits of an evaluation by blocks" "${idle}an evaluation has whole logits; leave" \
    compile "$RECIPE" --mode eval --logit-rows 32
warned "fewer rows of logits than a block has" "${idle}the logits have no more rows than a block, .*, or .*; leave" \
    compile "$RECIPE" --mode train --logit-rows 32 \
    --set trainer.fit.train_dataloader.batch_size=1 --set trainer.fit.train_dataloader.micro_batch_size=1
warned "fewer rows of logits than a chunk has" "${idle}.* whole chunks of POL, or .*; leave" \
    compile "$RECIPE" --mode train --logit-rows 32 --set trainer.init.precision.fp16_type=float16 \
    --set trainer.init.precision.precision_opt_level=2 --set trainer.init.precision.pol_lowering=emulate \
    --set trainer.fit.train_dataloader.micro_batch_size=4 --set trainer.init.model.share_embedding_weights=false
for rows in -1 few 32x 4294967296; do
    expect "$rows rows of logits" 2 "^firnc compile: --logit-rows: $rows is not a number of rows; " \
        compile "$RECIPE" --mode train --logit-rows $rows
done
expect "no such option" 2 "did you mean --mode?" compile "$RECIPE" --mod train
schedule="$FIRNC schedule $RECIPE"
expect "steps beyond any run" 2 "^firnc schedule: --range: .* up to 1000000000000000; " $schedule --range 0:18446744073709551615
expect "steps of another run" 2 "^firnc schedule: --range: step 1000000 comes after the end, [0-9]*; " $schedule --range 1000000:
expect "steps turned round" 2 "^firnc schedule: --range: step 5 comes after the end, 4; " $schedule --range 5:4
expect "no such command" 2 "did you mean compile?" "$FIRNC" compil
expect "a counter that is not one" 2 "^firnc compile: --security-counter: " \
    compile "$RECIPE" --mode train --security-counter -1
expect "a key that is not one" 1 "^firnc: $folder/test.pub.pem: holds a public key of the curve P-256, and the secret key .*; " \
    "$FIRNC" compile "$RECIPE" --mode train --key "$folder/test.pub.pem" -o "$folder/plan"
expect "a folder that is not there" 1 "^firnc: $folder/none/plan: cannot be written: .*; " \
    "$FIRNC" compile "$RECIPE" --mode train --key "$folder/test.key.pem" -o "$folder/none/plan"
expect "a key that is there" 1 "^firnc: $folder/test.key.pem: .*never overwritten" "$FIRNC" keygen "$folder/test"

# An output path that is also an input is refused under any name, because writing would destroy the input.
cp "$RECIPE" "$folder/recipe.yaml"
cp "$folder/test.key.pem" "$folder/key.copy"
ln -s recipe.yaml "$folder/link"
ln "$folder/key.copy" "$folder/key.link"
printf 'weights' >"$folder/weights"
for output in recipe.yaml link ./link key.copy key.link weights; do
    expect "compile onto $output" 2 "^firnc compile: -o: $folder/$output would replace .*; give another name" \
        "$FIRNC" compile "$folder/recipe.yaml" --mode train --key "$folder/key.copy" --weights "$folder/weights" \
        -o "$folder/$output"
done
expect "compile onto the public key" 2 "^firnc compile: -o: " "$FIRNC" compile "$RECIPE" --mode train --unsigned \
    --pub "$folder/test.pub.pem" -o "$folder/test.pub.pem"
printf 'plan' >"$folder/a.plan"
for output in a.plan key.copy; do
    expect "sign onto $output" 2 "^firnc sign: -o: $folder/$output would replace .*; give another name" \
        "$FIRNC" sign "$folder/a.plan" --key "$folder/key.copy" -o "$folder/$output"
done
for output in a.plan weights test.pub.pem; do
    expect "attach onto $output" 2 "^firnc attach: -o: $folder/$output would replace .*; give another name" \
        "$FIRNC" attach "$folder/a.plan" --signature "$folder/weights" --pub "$folder/test.pub.pem" \
        -o "$folder/$output"
done
cmp "$RECIPE" "$folder/recipe.yaml" && cmp "$folder/test.key.pem" "$folder/key.copy" &&
    [ "$(cat "$folder/weights" "$folder/a.plan")" = weightsplan ] || failures=$((failures + 1))

mkdir "$folder/limited"
expect "a limit of file sizes" 1 "^firnc: $folder/limited/plan: cannot be written: .*; raise the limit" \
    sh -c "ulimit -f 20; exec '$FIRNC' compile '$RECIPE' --mode train --key '$folder/test.key.pem' \
    -o '$folder/limited/plan'"
[ -z "$(ls "$folder/limited")" ] || fail "a limit of file sizes: a file was left"

# Text from input files can neither end the line nor control the terminal.
expect "escapes in a recipe" 1 '^firnc: [^[:cntrl:]]*gp\\x1b\[31m\\x0at2[^[:cntrl:]]*$' \
    compile "$RECIPE" --mode train --set 'trainer.init.model.name="gp\e[31m\nt2"'
expect "escapes in a pattern" 1 '^firnc: .*a\\x0ab' \
    compile "$RECIPE" --mode train --set 'trainer.init.precision.pol.0.pattern="a\nb"'
expect "escapes in a name" 2 '\\x1b\[31m' compile "$RECIPE" --mode train "$(printf 'x\033[31m')"

# The same holds for messages of successful commands.
odd=$folder/$(printf 'x\033[31m\ny')
cp "$RECIPE" "$odd.yaml"
{
    "$FIRNC" keygen "$odd"
    "$FIRNC" compile "$odd.yaml" --mode train --key "$odd.key.pem" -o "$odd.plan"
    "$FIRNC" verify "$odd.plan" --pub "$odd.pub.pem"
    "$FIRNC" inspect "$odd.plan" | head -n 1
    "$FIRNC" inspect "$odd.plan" --json | grep '"file"'
} >"$folder/got"
cases=$((cases + 1))
[ "$(grep -c 'x\\\(x1b\|u001b\)\[31m\\\(x0a\|n\)y' "$folder/got")" -eq 5 ] || fail "names on standard output"
if tr -d '\n\t' <"$folder/got" | grep -q '[[:cntrl:]]'; then fail "a control character on standard output"; fi
rm "$odd".*

{ cat "$RECIPE" && head -c 1048576 /dev/zero | tr '\0' '#'; } >"$folder/recipe.yaml"
expect "a recipe that is too long" 1 "^firnc: $folder/recipe.yaml: cannot be read: .*; .* 1048576 bytes" \
    compile "$folder/recipe.yaml" --mode train

for words in "schedule '$RECIPE'" help --version "compile --help"; do
    expect "a full disk: $words" 1 "standard output cannot be written; " sh -c "'$FIRNC' $words >/dev/full"
done
"$FIRNC" compile "$RECIPE" --mode train --key "$folder/test.key.pem" -o "$folder/exported" >"$folder/out"
for words in "'$folder/exported' --c" "'$folder/exported' --array" "'$folder/exported' --hex --address 0" "'$folder/test.pub.pem' --c"; do
    expect "a full disk: export $words" 1 "standard output cannot be written; " sh -c "'$FIRNC' export $words >/dev/full"
    expect "no standard output: export $words" 1 "standard output cannot be written; " sh -c "'$FIRNC' export $words >&-"
done

# firnc verify exits with code 3 if a check fails.
"$FIRNC" compile "$RECIPE" --mode train --unsigned --pub "$folder/test.pub.pem" -o "$folder/unsigned" >"$folder/out"
"$FIRNC" sign "$folder/unsigned" --key "$folder/test.key.pem" --output "$folder/signature" >"$folder/out"
"$FIRNC" attach "$folder/unsigned" --signature "$folder/signature" --pub "$folder/test.pub.pem" \
    --output="$folder/attached" >"$folder/out"
"$FIRNC" compile "$RECIPE" --mode train --key "$folder/test.key.pem" -o "$folder/signed" >"$folder/out"
cmp "$folder/attached" "$folder/signed" || failures=$((failures + 1))
"$FIRNC" verify "$folder/signed" --pub "$folder/test.pub.pem" >"$folder/out" || failures=$((failures + 1))
"$FIRNC" keygen "$folder/other" >"$folder/out"
echo 1 >"$folder/counter"
expect "unsigned" 3 "UNSIGNED" "$FIRNC" verify "$folder/unsigned" --pub "$folder/test.pub.pem"
expect "wrong key" 3 "WRONG_KEY" "$FIRNC" verify "$folder/signed" --pub "$folder/other.pub.pem"
expect "too old" 3 "SECURITY_COUNTER" "$FIRNC" verify "$folder/signed" --pub "$folder/test.pub.pem" \
    --counter "$folder/counter"
# A counter that cannot be read must not be treated as 0.
expect "a counter behind a file" 1 "^firnc: $folder/counter/1: cannot be opened: .*; " \
    "$FIRNC" verify "$folder/signed" --pub "$folder/test.pub.pem" --counter "$folder/counter/1"
expect "a folder as a counter" 1 "^firnc: $folder: is a folder; give a file" \
    "$FIRNC" verify "$folder/signed" --pub "$folder/test.pub.pem" --counter "$folder"
for text in '' '0' '\n' '0\n\n' '0\n1\n' ' 0\n' '-0\n' '0\r\n' '4294967296\n' '0\000\n'; do
    printf -- "$text" >"$folder/counter"
    expect "the counter '$text'" 1 "^firnc: $folder/counter: not a counter; " \
        "$FIRNC" verify "$folder/signed" --pub "$folder/test.pub.pem" --counter "$folder/counter"
done
printf '0x00\n' >"$folder/counter"
expect "a hexadecimal counter" 1 "^firnc: $folder/counter: not a counter; " \
    "$FIRNC" verify "$folder/signed" --pub "$folder/test.pub.pem" --counter "$folder/counter"
printf '00\n' >"$folder/counter"
"$FIRNC" verify "$folder/signed" --pub "$folder/test.pub.pem" --counter "$folder/counter" >"$folder/out" ||
    fail "a counter of 0"
# A mistyped name would refuse nothing.
for name in no_such_file no_such_folder/counter; do
    expect "no counter at $name" 1 "^firnc: $folder/$name: cannot be opened: .*; check the name" \
        "$FIRNC" verify "$folder/signed" --pub "$folder/test.pub.pem" --counter "$folder/$name"
done
# Nothing is taken for a name or an identity that is empty.
for option in --vendor --class --image-id --pub --key --weights --set; do
    expect "an empty $option" 2 "^firnc compile: $option: its value is empty; " compile "$RECIPE" --mode train "$option" ""
    expect "an empty $option=" 2 "^firnc compile: $option: its value is empty; " compile "$RECIPE" --mode train "$option="
done
expect "an empty -o" 2 "^firnc export: -o: its value is empty; " "$FIRNC" export "$folder/signed" --c -o ""
expect "a pair of keys without a name" 2 "^firnc keygen: an empty name" "$FIRNC" keygen ""
[ ! -e .key.pem ] || fail "a key without a name"
head -c 64 /dev/zero >"$folder/raw.key"
expect "a public key that is not PEM" 1 "^firnc: $folder/raw.key: holds no key, and the public key of a P-256 pair in PEM is wanted; " \
    "$FIRNC" verify "$folder/signed" --pub "$folder/raw.key"
head -c 64 "$folder/signed" >"$folder/forged"
already="^firnc: $folder/signed: is signed already; use it as it is, or compile it with --unsigned "
expect "signed twice, the digest" 3 "$already" "$FIRNC" sign "$folder/signed" --digest
expect "signed twice" 3 "$already" "$FIRNC" sign "$folder/signed" --key "$folder/test.key.pem" -o "$folder/plan"
expect "attached twice" 3 "$already" "$FIRNC" attach "$folder/signed" \
    --signature "$folder/forged" --pub "$folder/test.pub.pem" -o "$folder/plan"
expect "signed and cut" 3 "TRUNCATED" "$FIRNC" sign "$folder/forged" --digest
expect "a signature of another plan" 3 "SIGNATURE" "$FIRNC" attach "$folder/unsigned" \
    --signature "$folder/forged" --pub "$folder/test.pub.pem" -o "$folder/plan"

echo "$cases cases, $failures failures"
[ "$failures" -eq 0 ]
