#!/bin/sh
# Inputs that raise messages which no other test raises, each with words of its message: recipes, data, and command lines.
# A new message needs a test, and may have its input here.
#
# Needs: python
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/test" >"$folder/out"
many() { # COUNT TEXT: the text so many times, with commas
    awk -v count="$1" -v text="$2" 'BEGIN { for (i = 0; i < count; i++) printf "%s%s", i == 0 ? "" : ",", text }'
}
says() { # WORDS COMMAND...: the command prints a line with these words on stderr
    words=$1
    shift
    "$@" >"$folder/out" 2>"$folder/err" </dev/null || true
    grep -Fq -- "$words" "$folder/err" || fail "no '$words'"
}

# --- recipes ----------------------------------------------------------------------------------------------------------
# A row: recipe, mode and settings, with " ; " between them, and behind a bar the words.
cat >"$folder/rows" <<ROWS
small_gpt2 eval trainer.validate.val_dataloader.batch_size=4 ; trainer.validate.val_dataloader.micro_batch_size=2 | an eval plan has no micro-batches
small_mlp train trainer.fit.train_dataloader.feature_type=int32 | int32 is for tokens; write uint8 or float32
small_mlp train trainer.fit.train_dataloader.label_type=int32 ; trainer.init.model.loss=binary_cross_entropy_with_logits ; trainer.init.model.output_size=1 ; trainer.validate=null | the loss has targets from 0 to 1
small_mlp train trainer.fit.train_dataloader.feature_type=float32 ; trainer.fit.train_dataloader.feature_scale=2 | float32 features are taken as they are
small_gpt2 eval trainer.validate.val_dataloader=[{batch_size: 4}, {batch_size: 2}] | an eval plan reads one data loader, and another is taken
small_gpt2 eval trainer.fit.train_dataloader=null ; trainer.validate.val_dataloader=null | validate.val_dataloader is missing
small_gpt2 train trainer.init.loop={num_epochs: 1000000000000, steps_per_epoch: 1000000000000} | are too long; write fewer
small_gpt2 train trainer.init.loop.grad_accum_steps=2 ; trainer.init.backend={backend_type: CSX} | the backend CSX does not accumulate
small_gpt2 eval trainer.validate.outputs=[] | lists no output; write one
small_gpt2 eval trainer.validate.outputs=[[]] | is no name of an output
small_gpt2 eval trainer.validate.outputs=[$(many 65 logits)] | is one more than the 64 outputs
small_gpt2 train trainer.init.model.use_bfloat16=true ; trainer.init.model.fp16_type=bfloat16 | fp16_type says which half type
small_gpt2 train trainer.init.optimizer={SGD: {lr: 1, learning_rate: 1}} ; trainer.init.schedulers=null | is learning_rate by another name
small_gpt2 train trainer.init.optimizer={SGD: {params: [{params: "*", tags: "a b"}]}} | is not a tag; write at most 60 letters
small_gpt2 train trainer.init.optimizer={SGD: {params: [$(many 32 '{params: "*"}')]}} | more than 31 groups; leave some out
small_gpt2 train trainer.init.schedulers=[{MultiStepLR: {initial_learning_rate: 1, gamma: 0.5, milestones: []}}] | is empty; add a step
small_gpt2 train trainer.init.schedulers=[{SequentialLR: {schedulers: [$(many 1100 '{ConstantLR: {learning_rate: 1, total_iters: 3}}')]}}] | more than 1024 schedules; leave some out
small_gpt2 train trainer.init.schedulers=[{LambdaLR: {initial_learning_rate: 1, lr_lambda: "$(many 2000 1 | tr , +)"}}] | operations; write a table instead
small_gpt2 train trainer.init.schedulers=[{LambdaLR: {initial_learning_rate: 1, lr_lambda: "$(many 300 '(' | tr -d ,)"}}] | is nested deeper than
small_gpt2 train trainer.init.schedulers=[{LambdaLR: {initial_learning_rate: 1, lr_lambda: "$(many 30 'where(t,t,' | sed 's/(t,t,,/(t,t,/g')t$(many 30 ')' | tr -d ,)"}}] | numbers at once; write it with fewer parentheses
small_gpt2 train trainer.init.weight_map=[{parameter: "a", tensors: [$(many 99 b)]}] | names; write fewer
small_gpt2 train trainer.init.weight_map=[{parameter: "a", tensors: [b], shape: [1,1,1,1,1,1,1,1,1]}] | extents; write fewer
small_gpt2 train trainer.init.weight_map=[$(many 5000 '{}')] | has more than 4096 entries
small_gpt2 train trainer.init.model={name: gpt-neox, hidden_size: 16, num_heads: 2, num_hidden_layers: 1, vocab_size: 256, max_position_embeddings: 16, use_parallel_residual: false, use_untied_layer_norm: false} | false is for parallel blocks
small_gpt2 train trainer.init.model={name: gpt-neox, hidden_size: 20, num_heads: 2, num_hidden_layers: 1, vocab_size: 256, max_position_embeddings: 16, rotary_pct: 0.25} | of the 10 elements of a head; write rotary_dim
small_mlp train trainer.init.model.hidden_sizes=[$(many 300 1)] | hidden layers; leave some out
small_mlp train trainer.init.model.hidden_sizes.5=1 | has no entry 5; it has 2, counted from 0
small_mlp train trainer.init.model={name: cct, hidden_size: 10, num_heads: 4} | is not divisible by 4 heads; change one of the two
small_mlp eval trainer.validate.metric={dice: {ignore_classes: [0,1,2,3,4,5,6,7,8,9]}} | leaves
small_llama train trainer.init.fine_tuning={bias_only: true} | bias_only: the model has no parameter whose name ends in .bias
small_mlp eval trainer.validate.outputs=[nothing] | layers, layers.0, activations, activations.0, layers.1, activations.1,
small_mlp eval trainer.validate.metric=auc | auc needs two classes
ROWS
while IFS= read -r row; do
    settings=${row%" | "*} words=${row##*" | "}
    recipe=${settings%% *} settings=${settings#* }
    mode=${settings%% *} rest=${settings#* }" ; "
    set --
    while [ -n "$rest" ]; do
        set -- "$@" --set "${rest%%" ; "*}"
        rest=${rest#*" ; "}
    done
    says "$words" "$FIRNC" compile "compiler/recipes/$recipe.yaml" --mode "$mode" --key "$folder/test.key.pem" \
        -o "$folder/plan" "$@"
done <"$folder/rows"

# schedule WORDS LAMBDA COUNT: a recipe with so many schedules of this expression
schedule() {
    awk -v lambda="$2" -v count="$3" '
        /^    schedulers:/ {
            printf "    schedulers: [{SequentialLR: {schedulers: [&one {LambdaLR: {initial_learning_rate: 1, total_iters: 1, lr_lambda: %s}}", lambda
            for (i = 1; i < count; i++)
                printf ", *one"
            print "]}}]"
            skipping = 1
            next
        }
        /^    precision:/ { skipping = 0 }
        !skipping' compiler/recipes/small_mlp.yaml >"$folder/recipe.yaml"
    says "$1" "$FIRNC" compile "$folder/recipe.yaml" --mode train --key "$folder/test.key.pem" -o "$folder/plan"
}
schedule "operations; write tables instead" "$(many 120 t | tr , +)" 300
schedule "numbers; make the lists shorter" "[$(many 900 1)]" 80

# Recipes that --set cannot make.
recipe() { # WORDS TEXT ARGUMENT...
    words=$1
    printf "$2" >"$folder/recipe.yaml"
    shift 2
    says "$words" "$FIRNC" compile "$folder/recipe.yaml" --mode train --key "$folder/test.key.pem" -o "$folder/plan" "$@"
}
recipe "a text has a zero byte in it; remove it" 'trainer: {init: {seed: "a\\0b"}}\n'
recipe "is not the name of an optimizer" 'model: {name: mlp}\noptimizer: {optimizer_type: []}\n'
mkdir "$folder/hf" "$folder/llama"
printf '{"model_type": "gpt2"}' >"$folder/hf/config.json"
recipe "trainer is missing; add it, with init.loop" 'seed: 1\n' --hf "$folder/hf"
printf '{"model_type": "llama", "rope_parameters": 5}' >"$folder/llama/config.json"
recipe "is not a mapping; give the file that save_pretrained wrote" 'trainer: {init: {seed: 1}}\n' --hf "$folder/llama"
cp tests/fuzz/corpus/onnx/perceptron "$folder/net.onnx"
in_file() { # WORDS KEYS
    recipe "$1" "trainer: {init: {model: {onnx: net.onnx, $2}, optimizer: {SGD: {learning_rate: 0.1}}, loop: {num_steps: 4}},
    fit: {train_dataloader: {batch_size: 4}}}\n"
}
in_file "is a whole number beyond 2^53" 'inputs: {x: 99999999999999999}'
in_file "is no input of the file; " 'inputs: {nothing: 0}'
in_file "is for losses of classes; remove it" 'classes_first: true, loss: mean_squared_error'

# --- tokenizers -------------------------------------------------------------------------------------------------------
# A row: words, a tokenizer of tests/golden/tokens, and a statement of Python that edits its document d.
cat >"$folder/edits" <<'end'
is no object; write the file again	bytes	d["added_tokens"][0] = 5
must be a mapping of tokens to ids	bytes	d["model"]["vocab"] = []
a token is longer than 4096 bytes	bytes	d["model"]["vocab"]["a" * 5000] = 331
must be a list; give the whole file	bytes	d["model"]["merges"] = {}
must be a list; write the file again	bytes	d["added_tokens"] = {}
must be a list; write the file again	bytes	d["normalizer"] = {"type": "Sequence", "normalizers": 5}
is one step too many; firnc reads at most 8	bytes	d["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}] * 9}
must be a text; write the file again	bytes	d["normalizer"] = {"type": "Prepend", "prepend": 5}
is empty; remove the step	bytes	d["normalizer"] = {"type": "Replace", "pattern": {"String": ""}, "content": "b"}
contradicts add_prefix_space; remove one of them	metaspace	d["pre_tokenizer"].update(add_prefix_space=False, prepend_scheme="always")
is not read behind another step	metaspace	d["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [d["pre_tokenizer"]] * 2}
is beyond the	bytes	d["added_tokens"][0].update(id=70000, content="new")
must have 1 to 4096 bytes; remove the token	bytes	d["added_tokens"][0]["content"] = ""
is no id, which is a whole number below 2^31	bytes	d["added_tokens"][0]["id"] = -1
the normalizer leaves nothing of	bytes	d["normalizer"] = {"type": "Replace", "pattern": {"String": "x"}, "content": ""}; d["added_tokens"].append(dict(d["added_tokens"][0], id=1 + max(token["id"] for token in d["added_tokens"]), content="xx", normalized=True))
is no token of special_tokens	llama3	template(d)["single"][0] = {"SpecialToken": {"id": "none", "type_id": 0}}
is no id of the vocabulary	llama3	next(iter(template(d)["special_tokens"].values()))["ids"] = [99999999]
has more than 64 parts; firnc reads at most 64	llama3	template(d)["single"] *= 40
is not read; firnc reads tokens around one text	llama3	template(d)["single"] = [{"Sequence": {"id": "A", "type_id": 0}}] * 2
has no text; write the file again	llama3	template(d)["single"] = []
must be a list; write the file again	llama3	d["post_processor"] = {"type": "Sequence", "processors": 5}
end
python3 - tests/golden/tokens "$folder/edits" "$folder" <<'end'
import json, sys
def template(d):
    found = d["post_processor"]
    if found["type"] == "Sequence":
        found = next(part for part in found["processors"] if part["type"] == "TemplateProcessing")
    return found
for number, line in enumerate(open(sys.argv[2], encoding="utf-8"), 1):
    _, name, statement = line.rstrip("\n").split("\t")
    d = json.load(open(f"{sys.argv[1]}/{name}.json", encoding="utf-8"))
    exec(statement)
    json.dump(d, open(f"{sys.argv[3]}/edited{number}.json", "w", encoding="utf-8"), ensure_ascii=False)
end
number=0
tab=$(printf '\t')
while IFS=$tab read -r words name statement; do
    number=$((number + 1))
    says "$words" "$FIRNC" tokens tests/golden/tokens/text.txt --tokenizer "$folder/edited$number.json" --special -o "$folder/none.bin"
done <"$folder/edits"
twice() { # WORDS TEXT TWICE: the tokenizer bytes with a text that stands there twice
    sed "s/$2/$3/" tests/golden/tokens/bytes.json >"$folder/twice.json"
    says "$1" "$FIRNC" tokens tests/golden/tokens/text.txt --tokenizer "$folder/twice.json" --count
}
twice "stands here twice; write the file again" '"truncation"' '"truncation": null, "truncation"'

# Ids in a file of .npy that NumPy does not write so.
printf '1 2 3' >"$folder/ids"
ids() { # WORDS HEADER
    printf '\223NUMPY\001\000\166\000%-117s\n\001\000\000\000' "$2" >"$folder/ids.npy"
    says "$1" "$FIRNC" tokens --to-text "$folder/ids.npy" --tokenizer tests/golden/tokens/bytes.json
}
ids "has no shape in its header; save it again by numpy.save" "{'descr': '<i4', 'fortran_order': False, }"
ids "is no array of one extent; save ids by numpy.ravel" "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 1), }"
printf '\223NUMPY\011\000\166\000' >"$folder/ids.npy"
says "has no header of versions 1 to 3 of .npy" "$FIRNC" tokens --to-text "$folder/ids.npy" --tokenizer tests/golden/tokens/bytes.json
printf '{"a": 0, "a": 1}' >"$folder/vocabulary.json"
printf '#version: 0.2\n' >"$folder/merges.txt"
says "is there twice; remove one" "$FIRNC" tokens README.md --vocabulary "$folder/vocabulary.json" --merges "$folder/merges.txt" --count

# --- data and command lines -------------------------------------------------------------------------------------------

compile() { # RECIPE MODE PLAN ARGUMENT...
    made=$3 made_of=$1 made_for=$2
    shift 3
    "$FIRNC" compile "compiler/recipes/$made_of.yaml" --mode "$made_for" --key "$folder/test.key.pem" -o "$folder/$made" "$@" \
        >"$folder/out" 2>"$folder/err" || fail "$made is not compiled"
}
train() {
    says "$1" "$FIRN" train "$folder/$2" --pub "$folder/test.pub.pem" --steps 1 $3
}
compile small_gpt2 train text.plan
compile small_gpt2 eval text_eval.plan
compile small_mlp train mlp.plan
compile small_mlp eval mlp_eval.plan
compile small_mlp eval outputs.plan --set "trainer.validate.outputs=[logits,probabilities]"
compile small_autoencoder train auto.plan
(
    cd "$folder"
    python3 - <<'end'
import numpy as np
np.save("two.npy", np.zeros((40, 50), "u1"))
np.save("x.npy", np.zeros((64, 784), "u1"))
np.save("y.npy", np.zeros(64, "u1"))
np.save("images.npy", np.zeros((4, 20, 20, 20), "f4"))
np.save("constant.npy", np.ones((64, 40), "f4"))
with open("x.npy", "rb") as file:
    content = bytearray(file.read())
content[6] = 9
open("version.npy", "wb").write(content)
with open("one.csv", "w") as file:
    file.write("y\n0\n1\n")
with open("long.classes", "w") as file:
    file.write("name\n" * 400000)
end
)
train "has 2 dimensions, and is read as one text" text.plan "--data $folder/two.npy"
train "is an array in version 9 of .npy" mlp.plan "--data $folder/version.npy --labels $folder/x.npy"
train "has no column for features beside the target" mlp.plan "--data $folder/one.csv --target-column y"
says "has records of several extents" "$FIRN" data-statistics "$folder/images.npy" -o "$folder/statistics.json"
says "more columns have the deviation 0" "$FIRN" data-statistics "$folder/constant.npy" -o "$folder/statistics.json"
"$FIRN" train "$folder/mlp.plan" --pub "$folder/test.pub.pem" --data "$folder/x.npy" --labels "$folder/y.npy" --steps 1 \
    --checkpoint "$folder/ckpt" --quiet >"$folder/out" 2>"$folder/err" || true
predicts() {
    says "$1" "$FIRN" predict "$folder/$2" --pub "$folder/test.pub.pem" --data "$folder/x.npy" --labels "$folder/y.npy" \
        --checkpoint "$folder/ckpt" $3
}
predicts "the plan has no outputs; compile it with trainer.validate.outputs" mlp_eval.plan "-o $folder/p.npy"
predicts "write --name and one of: logits" outputs.plan "-o $folder/p.npy"
predicts "says no format; end the name in .csv" outputs.plan "--name logits -o $folder/p.txt"
predicts "and names of classes have at most" outputs.plan "--name logits -o $folder/p.csv --classes $folder/long.classes"
says "only with the parts of plans; leave it out" "$FIRNC" export "$folder/test.pub.pem" --c --copy-plan
says "prints a graph, which --continue does not change" "$FIRNC" compile compiler/recipes/small_mlp.yaml --mode train \
    --key "$folder/test.key.pem" -o "$folder/plan" --dump-after build --continue "$folder/ckpt"
says "the command is missing" "$FIRNC"
says "has no schedule, as it is for" "$FIRNC" schedule "$folder/mlp_eval.plan"
says "a plan is frozen; give its recipe" "$FIRNC" schedule "$folder/mlp.plan" --set a=1
: >"$folder/a file"
says "is no folder; give the name of a folder" "$FIRNC" compile compiler/recipes/small_mlp.yaml --all --key "$folder/test.key.pem" \
    -o "$folder/a file"
mkdir -p "$folder/images/cat"
cp tests/fuzz/corpus/images/grey.png "$folder/images/cat/large.png"
truncate -s 3000000000 "$folder/images/cat/large.png"
train "and images of at most" mlp.plan "--data $folder/images"
for number in 1 2 3 4 5 6 7 8 9 10 11 12; do
    mkdir -p "$folder/texts"
    echo text >"$folder/texts/$number.txt"
    : >"$folder/texts/.$number"
done
train "left out: " text.plan "--data $folder/texts"
compile small_mlp train large.plan --set "trainer.init.model.hidden_sizes=[4000,4000]"
(
    failures=0
    ulimit -v 120000
    says "and there are not as many; compile it with a smaller batch" "$FIRN" train "$folder/large.plan" --pub "$folder/test.pub.pem" \
        --data "$folder/x.npy" --labels "$folder/y.npy" --steps 1 --threads 1
    [ "$failures" -eq 0 ]
) || fail "a limit of memory"
head -c 32 /dev/zero >"$folder/device.key"
"$FIRN" train "$folder/mlp.plan" --pub "$folder/test.pub.pem" --data "$folder/x.npy" --labels "$folder/y.npy" --steps 1 \
    --checkpoint "$folder/device.ckpt" --device-key "$folder/device.key" --quiet >"$folder/out" 2>"$folder/err" || fail "a device key"
says "was authenticated by a device key, which is not checked here" "$FIRNC" compile compiler/recipes/small_mlp.yaml --mode train \
    --key "$folder/test.key.pem" -o "$folder/plan" --continue "$folder/device.ckpt"

echo "$failures failures"
[ "$failures" -eq 0 ]
