#!/bin/sh
# firnc compile --hf FOLDER: the plan is that of the same model written as keys of a recipe, byte for byte; every key of
# config.json is used, has no effect, or is refused by name. firnc weights --hf and --original bring back what the model
# does not have. Real folders of transformers are read by hugging_face.py, where that package is installed.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
recipe=$folder/recipe.yaml
float32="--set trainer.init.precision.enabled=false"
sizes="vocab_size: 128, hidden_size: 32, num_hidden_layers: 2, num_heads: 4, filter_size: 64, max_position_embeddings: 16"
rates="dropout_rate: 0, attention_dropout_rate: 0"

python3 -c 'import numpy' 2>"$folder/err" || {
    fail "python3 with numpy is missing; install them with: .packages/install test"
    exit 1
}
"$FIRNC" keygen "$folder/key" >"$folder/out"
awk '/^    model:/ { skip = 1; next } /^    [a-z]/ { skip = 0 } !skip' tests/end_to_end/gpt2_training.yaml >"$recipe"
grep -q 'model:' "$recipe" && fail "the recipe still has a model"

# model NAME WEIGHTS CONFIG: a folder with this file of weights of tests/golden, and these keys in its config.json.
model() {
    mkdir -p "$folder/$1"
    cp "tests/golden/$2.safetensors" "$folder/$1/model.safetensors"
    printf '{\n%s\n}\n' "$3" >"$folder/$1/config.json"
}

# compile PLAN OPTION...
compile() {
    plan=$1
    shift
    "$FIRNC" compile "$recipe" --mode train --key "$folder/key.key.pem" $float32 "$@" -o "$folder/$plan.plan"
}

# is NAME KEYS [OPTION]...: the folder NAME is the model that KEYS are.
is() {
    from=$1
    keys=$2
    shift 2
    expect "$from from a folder" 0 "" compile hf --hf "$folder/$from" "$@"
    expect "$from from keys" 0 "" compile keys --set "trainer.init.model={$keys, $sizes}" \
        --weights "$folder/$from/model.safetensors" "$@"
    cmp -s "$folder/hf.plan" "$folder/keys.plan" || fail "$from: the plan differs from that of the keys"
}

# looks_like NAME KEYS: likewise, as far as the graph; the weights are another model's.
looks_like() {
    "$FIRNC" compile "$recipe" --mode train $float32 --hf "$folder/$1" --dump-after build >"$folder/got" 2>"$folder/err" ||
        fail "$1: no graph"
    "$FIRNC" compile "$recipe" --mode train $float32 --set "trainer.init.model={$2, $sizes}" \
        --dump-after build >"$folder/wanted" 2>"$folder/err" || fail "$1: no graph from keys"
    cmp -s "$folder/got" "$folder/wanted" || fail "$1: another graph"
    rm "$folder/got"
}

gpt2_keys='"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 256, "n_embd": 32, "n_layer": 2,
"n_head": 2, "n_inner": null, "n_positions": 16, "activation_function": "gelu"'
no_dropout='"resid_pdrop": 0.0, "embd_pdrop": 0, "attn_pdrop": 0.0'
modern='"vocab_size": 128, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
"max_position_embeddings": 16'
rope='"rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}'

# --- models ---------------------------------------------------------------------------------------------------------------

model gpt2 gpt2_training "$gpt2_keys, $no_dropout, \"layer_norm_epsilon\": 1e-05, \"scale_attn_weights\": true,
\"summary_type\": \"cls_index\", \"use_cache\": true, \"bos_token_id\": 50256, \"pad_token_id\": null"
expect "gpt2 from a folder" 0 "" compile hf --hf "$folder/gpt2"
expect "gpt2 from the recipe" 0 "" "$FIRNC" compile tests/end_to_end/gpt2_training.yaml --mode train \
    --key "$folder/key.key.pem" $float32 --weights tests/golden/gpt2_training.safetensors -o "$folder/own.plan"
"$FIRNC" inspect "$folder/hf.plan" --all | sed '/hash\|^plan /d' >"$folder/hf.text"
"$FIRNC" inspect "$folder/own.plan" --all | sed '/hash\|^plan /d' >"$folder/own.text"
cmp -s "$folder/hf.text" "$folder/own.text" || fail "gpt2: another plan: $(diff "$folder/hf.text" "$folder/own.text" | head -5)"

model gptj transformers_gptj '"model_type": "gptj", "vocab_size": 128, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_inner": 64,
"n_positions": 16, "activation_function": "gelu", "rotary_dim": 4, "tie_word_embeddings": false, "rotary": true'
is gptj "name: gptj, rotary_dim: 4, $rates"
model neox transformers_gpt_neox "\"model_type\": \"gpt_neox\", $modern, \"hidden_act\": \"gelu\", \"rotary_pct\": 0.5,
\"rotary_emb_base\": 10000, \"use_parallel_residual\": true, \"classifier_dropout\": 0.1"
is neox "name: gpt-neox, rotary_pct: 0.5, $rates"
model neox transformers_gpt_neox "\"model_type\": \"gpt_neox\", $modern, \"use_parallel_residual\": false,
\"rope_parameters\": {\"partial_rotary_factor\": 0.5, \"rope_theta\": 500000.0, \"rope_type\": \"default\"},
\"attention_bias\": true, \"hidden_dropout\": 0.25"
is neox "name: gpt-neox, rotary_pct: 0.5, rope_theta: 500000.0, use_parallel_residual: false, dropout_rate: 0.25,
    attention_dropout_rate: 0"
model llama transformers_llama "\"model_type\": \"llama\", $modern, $rope, \"num_key_value_heads\": 2, \"head_dim\": 8,
\"hidden_act\": \"silu\", \"rms_norm_eps\": 1e-05, \"pretraining_tp\": 1, \"torch_dtype\": \"bfloat16\""
groups="attention_module: multiquery_attention, extra_attention_params: {num_kv_groups: 2}"
is llama "name: llama, rope_theta: 500000.0, $groups"
model bert transformers_bert_segments "\"model_type\": \"bert\", $modern, \"hidden_act\": \"gelu\", \"type_vocab_size\": 2,
\"layer_norm_eps\": 1e-05, \"position_embedding_type\": \"absolute\", \"architectures\": [\"BertForMaskedLM\"],
\"pad_token_id\": null"
is bert "name: bert, disable_nsp: true, num_segments: 2" \
    --set trainer.fit.train_dataloader.max_sequence_length=null --set trainer.init.model.ignore_index=0
model bert transformers_bert_segments "\"model_type\": \"bert\", $modern"
is bert "name: bert, disable_nsp: true, num_segments: 2, pad_token_id: 0, layer_norm_epsilon: 1.0e-12" \
    --set trainer.fit.train_dataloader.max_sequence_length=null --set trainer.init.model.ignore_index=0

model mistral transformers_llama "\"model_type\": \"mistral\", $modern, \"num_key_value_heads\": 2, \"sliding_window\": 16"
looks_like mistral "name: llama, layer_norm_epsilon: 1.0e-6, $groups"
model qwen2 transformers_llama "\"model_type\": \"qwen2\", $modern, \"num_key_value_heads\": 2, \"use_sliding_window\": false,
\"sliding_window\": 4, \"layer_types\": [\"full_attention\", \"full_attention\"], \"tie_word_embeddings\": true"
looks_like qwen2 "name: llama, layer_norm_epsilon: 1.0e-6, $groups, use_projection_bias_in_attention: true,
    share_embedding_weights: true"
model stablelm transformers_llama "\"model_type\": \"stablelm\", $modern, \"use_qkv_bias\": true, \"partial_rotary_factor\": 0.5,
\"num_key_value_heads\": 4"
looks_like stablelm "name: llama, norm_type: layernorm, rotary_pct: 0.5, use_projection_bias_in_attention: true"

# Keys that transformers passes by may say what the model has anyway, as older releases of it wrote them.
model passed transformers_gpt_neox "\"model_type\": \"gpt_neox\", $modern, \"rotary_pct\": 0.5, \"partial_rotary_factor\": 0.5,
\"rotary_emb_base\": 500, \"rope_theta\": 500.0"
looks_like passed "name: gpt-neox, rotary_pct: 0.5, rope_theta: 500, $rates"
# transformers rounds 4.8 elements of a head down to 4; the recipe may say the same.
model rounded transformers_gpt_neox "\"model_type\": \"gpt_neox\", $modern, \"rotary_pct\": 0.6"
looks_like rounded "name: gpt-neox, rotary_dim: 4, $rates"
expect "a share that is rounded" 0 "" compile hf --hf "$folder/rounded" --set trainer.init.model.rotary_dim=4
grep -q warning "$folder/err" && fail "a share that is rounded as transformers does has a warning"
expect "a share said twice" 1 "trainer.init.model.rotary_dim: $folder/passed/config.json:[0-9]* says how much of a head is rotated" \
    compile none --hf "$folder/passed" --set trainer.init.model.rotary_dim=4
model null transformers_llama "\"model_type\": \"qwen2\", $modern, \"num_key_value_heads\": null"
looks_like null "name: llama, layer_norm_epsilon: 1.0e-6, use_projection_bias_in_attention: true"
# A file without sliding_window has that of transformers' class.
sed 's/, "sliding_window": 16//; s/"max_position_embeddings": 16/"max_position_embeddings": 8192/' \
    "$folder/mistral/config.json" >"$folder/mistral/config"
mkdir -p "$folder/window"
cp "$folder/mistral/model.safetensors" "$folder/window/"
mv "$folder/mistral/config" "$folder/window/config.json"
expect "longer than the window of the class" 1 "max_position_embeddings 4096" compile none --hf "$folder/window" \
    --set trainer.fit.train_dataloader.max_sequence_length=4097
sed 's/^{$/{ "sliding_window": null,/' "$folder/window/config.json" >"$folder/window/config"
mv "$folder/window/config" "$folder/window/config.json"
expect "longer than the window of the model" 1 "max_position_embeddings 8192" compile none --hf "$folder/window" \
    --set trainer.fit.train_dataloader.max_sequence_length=8193

# --- with a recipe's own keys ---------------------------------------------------------------------------------------------

# The recipe decides about dropout, and may say the same.
expect "dropout of the recipe" 0 "" compile hf --hf "$folder/neox" --set trainer.init.model.dropout_rate=0 \
    --set trainer.init.model.num_heads=4
expect "dropout of the keys" 0 "" compile keys --weights "$folder/neox/model.safetensors" --set "trainer.init.model={
    name: gpt-neox, rotary_pct: 0.5, rope_theta: 500000.0, use_parallel_residual: false, $rates, $sizes}"
cmp -s "$folder/hf.plan" "$folder/keys.plan" || fail "the recipe does not decide about dropout"
expect "a key that contradicts" 1 "trainer.init.model.num_heads: $folder/neox/config.json:2 says otherwise, and --hf" \
    compile hf --hf "$folder/neox" --set trainer.init.model.num_heads=2
expect "keys that contradict" 1 "trainer.init.model.vocab_size: $folder/neox/config.json:[0-9]* says otherwise, also of \
num_heads, and --hf .*; remove these keys, or the whole part model" \
    compile hf --hf "$folder/neox" --set trainer.init.model.num_heads=2 --set trainer.init.model.vocab_size=9
for keys in "$gpt2_keys" "$(echo "$gpt2_keys" | sed 's/"n_inner": null, //')"; do
    model inner gpt2_training "$keys, $no_dropout"
    expect "four times the width" 0 "" compile hf --hf "$folder/inner" --set trainer.init.model.filter_size=128
    expect "not four times the width" 1 "model.filter_size: $folder/inner/config.json:2 says otherwise" \
        compile hf --hf "$folder/inner" --set trainer.init.model.filter_size=64
done
expect "longer than the window" 1 "16" compile hf --hf "$folder/mistral" \
    --set trainer.fit.train_dataloader.max_sequence_length=17

# --- refusals -------------------------------------------------------------------------------------------------------------

# refuses NAME PATTERN WEIGHTS CONFIG
refuses() {
    model wrong "$3" "$4"
    expect "$1" 1 "^firnc: $folder/wrong/config.json:[0-9]*: $2" compile none --hf "$folder/wrong"
}
wrong() { # NAME PATTERN KEY: an additional key of gpt2
    refuses "$1" "$2" gpt2_training "$gpt2_keys, $no_dropout,
$3"
}
wrong "an unknown key" "logit_scale: is no key that firnc knows of model_type gpt2" '"logit_scale": 0.5'
wrong "code of its own" "auto_map: is refused: the model has code of its own" '"auto_map": {"AutoModel": "m.M"}'
wrong "quantized" "quantization_config: is refused: its weights are quantized" '"quantization_config": {"bits": 4}'
wrong "other scores" "scale_attn_by_inverse_layer_idx: true is refused, only false is read: " \
    '"scale_attn_by_inverse_layer_idx": true'
wrong "an encoder" "is_encoder_decoder: true is refused" '"is_encoder_decoder": true'
wrong "pruned" "pruned_heads: has other entries" '"pruned_heads": {"0": [1]}'
wrong "null" "layer_norm_epsilon: is null; " '"layer_norm_epsilon": null'
wrong "a list" "layer_norm_epsilon: is no single value; " '"layer_norm_epsilon": [1]'
wrong "twice" "n_embd: the key is there already" '"n_embd": 32'
refuses "another activation" "activation_function: quick_gelu is none of gelu, " gpt2_training \
    '"model_type": "gpt2", "vocab_size": 128, "activation_function": "quick_gelu"'
refuses "another model" "model_type: opt is none of the models that --hf reads, gpt2, " gpt2_training '"model_type": "opt"'
refuses "no model" "model_type is missing" gpt2_training '"vocab_size": 128'
refuses "no size" "trainer.init.model\|: vocab_size is missing\|.*vocab_size" gpt2_training '"model_type": "gpt2"'
refuses "another head" "architectures.0: GPT2ForSequenceClassification has another head" gpt2_training \
    '"model_type": "gpt2", "architectures": ["GPT2ForSequenceClassification"]'
llama="\"model_type\": \"llama\", $modern"
refuses "another size of heads" "head_dim: is 16, and hidden_size 32 among 4 heads" transformers_llama "$llama, \"head_dim\": 16"
refuses "a size of heads that is no number" "head_dim: this is no whole number" transformers_llama "$llama, \"head_dim\": {}"
refuses "scaled positions" "rope_parameters.rope_type: llama3 is refused, only default is read" transformers_llama \
    "$llama, \"rope_parameters\": {\"rope_type\": \"llama3\", \"factor\": 8.0}"
refuses "older scaled positions" "rope_scaling.type: linear is refused" transformers_llama \
    "$llama, \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2.0}"
refuses "two rates" "rope_parameters.rope_theta: says 5, and " transformers_llama \
    "$llama, \"rope_theta\": 10000.0, \"rope_parameters\": {\"rope_theta\": 5}"
refuses "a text for a number" "head_dim: \"8\" is no whole number" transformers_llama "$llama, \"head_dim\": \"8\""
refuses "a text for a truth value" "scale_attn_weights: \"true\" is refused" gpt2_training \
    '"model_type": "gpt2", "scale_attn_weights": "true"'
refuses "null for a truth value" "scale_attn_weights: is null" gpt2_training '"model_type": "gpt2", "scale_attn_weights": null'
refuses "two mappings" "rope_parameters: transformers passes it by, as rope_scaling is there" transformers_llama \
    "$llama, \"rope_scaling\": {\"rope_type\": \"default\"}, $rope"

# modern_refuses TYPE NAME PATTERN KEY
modern_refuses() {
    refuses "$1: $2" "$3" transformers_llama "\"model_type\": \"$1\", $modern, \"num_key_value_heads\": 2,
$4"
}
for type in llama mistral qwen2 stablelm; do
    modern_refuses $type "a base that transformers passes by" "rotary_emb_base: says 500, and transformers passes this key of a $type by" \
        '"rotary_emb_base": 500'
done
for key in rope_theta partial_rotary_factor; do
    refuses "gpt_neox: $key" "$key: says 1, and transformers passes this key of a gpt_neox by" transformers_gpt_neox \
        "\"model_type\": \"gpt_neox\", $modern, \"$key\": 1"
done
modern_refuses stablelm "a share that transformers passes by" "rope_pct: says 0.5, and .* computes with 0.25" '"rope_pct": 0.5'
modern_refuses mistral "half a token" "sliding_window: 16.5 is no whole number" '"sliding_window": 16.5'
modern_refuses mistral "a window in quotes" "sliding_window: \"16\" is no whole number" '"sliding_window": "16"'
modern_refuses qwen2 "a size of heads that is null" "head_dim: is null" '"head_dim": null'
for type in mistral qwen2 stablelm; do
    refuses "$type: heads that are left out" "num_key_value_heads is missing, and [0-9]*, which transformers takes then, does" \
        transformers_llama "\"model_type\": \"$type\", $modern"
done
for type in mistral stablelm; do
    refuses "$type: heads that are null" "num_key_value_heads: is null" transformers_llama \
        "\"model_type\": \"$type\", $modern, \"num_key_value_heads\": null"
done
refuses "an odd share" "rotary_pct: 0.4 of a head of 8 elements, 3, is no number of pairs, which Firn's model turns; export" \
    transformers_gpt_neox "\"model_type\": \"gpt_neox\", $modern, \"rotary_pct\": 0.4"
refuses "windows" "layer_types: has other entries than full_attention" transformers_llama \
    "\"model_type\": \"qwen2\", $modern, \"layer_types\": [\"sliding_attention\", \"full_attention\"]"
refuses "no positions" "position_embedding_type: relative_key is refused" transformers_bert \
    "\"model_type\": \"bert\", $modern, \"position_embedding_type\": \"relative_key\""
printf 'no JSON {' >"$folder/wrong/config.json"
expect "no JSON" 1 "$folder/wrong/config.json" compile none --hf "$folder/wrong"
rm "$folder/wrong/config.json"
expect "no config" 1 "$folder/wrong: has no config.json; " compile none --hf "$folder/wrong"
expect "no folder" 1 "$folder/nothing" compile none --hf "$folder/nothing"
model wrong gpt2_training "$gpt2_keys"
mv "$folder/wrong/model.safetensors" "$folder/wrong/pytorch_model.bin"
expect "no weights" 1 "$folder/wrong: has neither model.safetensors nor" compile none --hf "$folder/wrong"
expect "weights from elsewhere" 0 "" compile other --hf "$folder/wrong" --weights "$folder/gpt2/model.safetensors"

# The embedding of a LLaMA has a row of padding, which lookups do not train; GPT-2's has none.
model padded transformers_llama "$llama, \"num_key_value_heads\": 2, \"pad_token_id\": 3"
looks_like padded "name: llama, layer_norm_epsilon: 1.0e-6, $groups, pad_token_id: 3"
expect "a LLaMA with a row of padding" 0 "" compile hf --hf "$folder/padded"
"$FIRNC" inspect "$folder/hf.plan" --ops | grep -q ' select ' || fail "the row of padding is trained"
# What lookups do not train stays as it was, here the row of the letter e; that of t, which the text has too, does not.
model padded_e transformers_llama "$llama, \"num_key_value_heads\": 2, \"pad_token_id\": 101"
expect "a row of padding that the text has" 0 "" compile padded_e --hf "$folder/padded_e" \
    --set "trainer.init.optimizer={SGD: {lr: 0.5}}" --set trainer.init.schedulers=null
expect "a training with padding" 0 "" "$FIRN" train "$folder/padded_e.plan" --pub "$folder/key.pub.pem" \
    --data tests/golden/gpt2_training.txt --steps 2 --quiet --checkpoint "$folder/padded_e.ckpt"
"$FIRN" export "$folder/padded_e.ckpt" -o "$folder/padded_e.safetensors" >"$folder/out"
python3 - "$folder/padded_e/model.safetensors" "$folder/padded_e.safetensors" <<'end' || fail "the row of padding after a training"
import json
import struct
import sys

import numpy as np


def table(path):
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    begin, end = json.loads(raw[8:8 + size])["model.embed_tokens.weight"]["data_offsets"]
    return np.frombuffer(raw[8 + size + begin:8 + size + end], "<f4").reshape(128, -1)


before, after = table(sys.argv[1]), table(sys.argv[2])
assert (before[ord("e")] == after[ord("e")]).all(), "the row is trained"
assert (before[ord("t")] != after[ord("t")]).any(), "no row is trained"
end
refuses "padding outside of the vocabulary" "pad_token_id: 128 is no token of a vocabulary of 128; " transformers_llama \
    "$llama, \"pad_token_id\": 128"
model unpadded gpt2_training "$gpt2_keys, $no_dropout, \"pad_token_id\": 3"
expect "a GPT-2 with a token of padding" 0 "" compile hf --hf "$folder/unpadded"
"$FIRNC" inspect "$folder/hf.plan" --ops | grep -q ' select ' && fail "a row of GPT-2 is not trained"

# --- there and back -------------------------------------------------------------------------------------------------------

# A BERT without a table of segments keeps only the first row, says so, and gets the rest back from the original, with what else
# the model does not have.
records="tests/golden/transformers_bert.tokens --labels tests/golden/transformers_bert.labels"
python3 - tests/golden/transformers_bert_segments.safetensors "$folder/whole.safetensors" <<'END'
import json, struct, sys
import numpy as np
raw = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", raw[:8])[0]
header, data = json.loads(raw[8:8 + size]), raw[8 + size:]
more = np.arange(32 * 32, dtype="<f4").reshape(32, 32)
header["bert.pooler.dense.weight"] = {"dtype": "F32", "shape": [32, 32], "data_offsets": [len(data), len(data) + more.nbytes]}
text = json.dumps(header).encode()
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + data + more.tobytes())
END
keys="{name: bert, disable_nsp: true, ignore_index: 0, $sizes}"
no_window="--set trainer.fit.train_dataloader.max_sequence_length=null"
compile bert --set "trainer.init.model=$keys" $no_window --weights "$folder/whole.safetensors" >"$folder/out" 2>"$folder/err"
grep -q "warning: tensor bert.embeddings.token_type_embeddings.weight has 2 rows that differ" "$folder/err" ||
    fail "the second segment is lost without a word"
"$FIRN" train "$folder/bert.plan" --pub "$folder/key.pub.pem" --data $records --quiet --steps 0 \
    --checkpoint "$folder/bert.ckpt" >"$folder/out" 2>"$folder/err"
"$FIRN" export "$folder/bert.ckpt" -o "$folder/bert.safetensors" >"$folder/out"
back() {
    "$FIRNC" weights "$recipe" --set "trainer.init.model=$keys" $no_window --trained "$folder/bert.safetensors" "$@" \
        -o "$folder/back.safetensors"
}
expect "with the original" 0 "" back --original "$folder/whole.safetensors"
python3 - "$folder/whole.safetensors" "$folder/back.safetensors" <<'END' || fail "the original does not come back"
import json, struct, sys
import numpy as np
def read(path):
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    return {name: np.frombuffer(raw[8 + size:][slice(*at["data_offsets"])], "<f4").reshape(at["shape"])
            for name, at in json.loads(raw[8:8 + size]).items() if name != "__metadata__"}
one, two = read(sys.argv[1]), read(sys.argv[2])
assert sorted(one) == sorted(two), sorted(set(one) ^ set(two))
positions, segments = "bert.embeddings.position_embeddings.weight", "bert.embeddings.token_type_embeddings.weight"
for row in range(2):
    assert np.abs(one[positions] + one[segments][row] - two[positions] - two[segments][row]).max() < 1e-7
for name in one:
    assert name in (positions, segments) or np.array_equal(one[name], two[name]), name
END
expect "by the folder" 0 "" "$FIRNC" weights "$recipe" --hf "$folder/gpt2" --trained "$folder/gpt2/model.safetensors" \
    -o "$folder/back.safetensors"

# A folder takes the place of the file: the same weights, the configuration with their type, the tokenizer as it is.
bring() {
    "$FIRNC" weights "$recipe" --hf "$folder/gpt2" --trained "$folder/gpt2/model.safetensors" "$@"
}
printf '{"model": {"vocab": {"a": 0}}, "big": 1000000000000000019884624838656}' >"$folder/gpt2/tokenizer.json"
printf 'a b\n' >"$folder/gpt2/merges.txt"
printf 'not copied' >"$folder/gpt2/training_args.bin"
expect "a folder" 0 "" bring -o "$folder/handed/"
[ "$(ls "$folder/handed" | tr '\n' ' ')" = "config.json merges.txt model.safetensors tokenizer.json " ] ||
    fail "the folder holds $(ls "$folder/handed")"
cmp -s "$folder/handed/model.safetensors" "$folder/back.safetensors" || fail "a folder has other weights than a file"
for copied in config.json merges.txt tokenizer.json; do
    cmp -s "$folder/handed/$copied" "$folder/gpt2/$copied" || fail "$copied is not copied"
done
sed -i 's/"model_type"/"torch_dtype": "bfloat16", "dtype": "float16", &/' "$folder/gpt2/config.json"
expect "a folder that is there" 0 "" bring -o "$folder/handed"
python3 - "$folder/gpt2/config.json" "$folder/handed/config.json" <<'end' || fail "another configuration than that in float32"
import json, sys
before, after = (json.load(open(name)) for name in sys.argv[1:])
assert after == {**before, "torch_dtype": "float32", "dtype": "float32"}
end
# Only the type changes: numbers keep their digits, and keys of the same name further inside their values.
cp "$folder/gpt2/config.json" "$folder/config.kept"
sed -i 's/"use_cache": true/& , "task_specific_params": {"a\\"{": {"dtype": "float16", "n": 1.10}}, "initializer_range": 0.0200000000000000004163/' "$folder/gpt2/config.json"
cp "$folder/gpt2/config.json" "$folder/wanted"
sed -i 's/"torch_dtype": "bfloat16", "dtype": "float16"/"torch_dtype": "float32", "dtype": "float32"/' "$folder/wanted"
cmp -s "$folder/wanted" "$folder/gpt2/config.json" && fail "config.json has no type: is this test looking?"
expect "a folder with numbers" 0 "" bring -o "$folder/handed"
cmp -s "$folder/wanted" "$folder/handed/config.json" || fail "config.json: another byte than the type has changed"
cp "$folder/config.kept" "$folder/gpt2/config.json"
# A cache that lacks blobs has links that lead nowhere: these are named, and not taken for files that are not there.
for file in config.json model.safetensors; do
    mv "$folder/gpt2/$file" "$folder/moved"
    ln -s blobs/none "$folder/gpt2/$file"
    expect "$file leads nowhere" 1 "gpt2/$file: is a link to a file that is not there" compile again --hf "$folder/gpt2"
    mv "$folder/moved" "$folder/gpt2/$file"
done
ln -s blobs/none "$folder/gpt2/special_tokens_map.json"
expect "a file of the folder that leads nowhere" 1 "special_tokens_map.json: is a link to a file that is not there" bring -o "$folder/new/"
[ ! -e "$folder/new" ] || fail "a folder of a link that leads nowhere"
rm "$folder/gpt2/special_tokens_map.json"
expect "a folder" 0 "" bring -o "$folder/handed"
expect "the folder that was handed over" 0 "" compile again --hf "$folder/handed"
expect "a folder without --hf" 2 "is a folder, which takes --hf too" "$FIRNC" weights tests/end_to_end/gpt2_training.yaml \
    --trained "$folder/gpt2/model.safetensors" -o "$folder/handed"
expect "the folder itself" 1 "gpt2/config.json: would be replaced, and is read" bring -o "$folder/gpt2"
cp -r "$folder/handed" "$folder/kept"
limited() {
    (ulimit -f 20 && bring "$@")
}
expect "no room" 1 "model.safetensors: cannot be written" limited -o "$folder/handed"
diff -r "$folder/handed" "$folder/kept" >"$folder/got" || fail "no room, and the folder has changed"
expect "no room for a new folder" 1 "model.safetensors: cannot be written" limited -o "$folder/new/"
[ ! -e "$folder/new" ] || fail "no room, and a folder is left"
mkfifo "$folder/gpt2/vocab.json"
expect "a tokenizer that is no file" 1 "vocab.json: is not a file, but a pipe" bring -o "$folder/new/"
[ ! -e "$folder/new" ] || fail "a folder of what cannot be read"
rm "$folder/gpt2/vocab.json"


# --- studies --------------------------------------------------------------------------------------------------------------

expect "compare" 0 "" "$FIRNC" compare "$recipe" --hf "$folder/gpt2" --data tests/golden/gpt2_training.txt --trial-steps 1 \
    -o "$folder/study"

[ "$failures" -eq 0 ] || exit 1
