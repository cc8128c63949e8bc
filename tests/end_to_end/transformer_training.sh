#!/bin/sh
# Twenty training steps of tiny transformers, compared with PyTorch. GPT-2 (tests/golden/gpt2_training.py):
#
#   float32    every loss within 1e-6 of PyTorch's float64 run, relative
#   bfloat16   every loss within 5e-4 of PyTorch's autocast run, relative; the first loss, before any gradient is used,
#              within 2e-6, a bound that the float32 run exceeds
# The same for a model with rotary positions, where a run in bfloat16 at POL 0, whose rotation is float32, exceeds the
# bound too, and for one with ALiBi. GPT-3 is the same model. GPT-J, GPT-NeoX, LLaMA and BERT (tests/golden/transformers.py), float32: every loss
# within 1e-6 of PyTorch's float64 run.
set -eu
BUILD=${BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
recipe=tests/end_to_end/gpt2_training.yaml data=tests/golden/gpt2_training.txt

# losses NAME [SETTING]...: compiles with the weights of $golden and trains, and writes the losses to $work/NAME, one per
# line.
losses() {
    name=$1
    shift
    for setting in "$@"; do
        set -- "$@" --set "trainer.init.$setting"
        shift
    done
    "$BUILD/firnc" compile "$recipe" --mode train --key "$work/key.key.pem" \
        --weights $golden.safetensors "$@" -o "$work/$name.plan" >/dev/null
    "$BUILD/firn" train "$work/$name.plan" --pub "$work/key.pub.pem" --data $data --quiet \
        --log "$work/$name.jsonl" >/dev/null
    sed -n 's/.*"step":.*"loss": *\([^,}]*\),.*/\1/p' "$work/$name.jsonl" >"$work/$name"
    [ "$(wc -l <"$work/$name")" -eq 20 ] || {
        echo "transformer_training: $name: the log does not have 20 steps"
        exit 1
    }
}

# apart NAME COLUMN FIRST LAST: the largest relative difference from a column of $expected, over steps FIRST to LAST.
apart() {
    paste -d ' ' "$work/$1" $expected | awk -v column="$2" -v first="$3" -v last="$4" '
        NR >= first && NR <= last { d = ($1 - $(column + 1)) / $(column + 1); if (d < 0) d = -d; if (d > most) most = d }
        END { printf "%.3e\n", most }'
}

# expect NAME DISTANCE RELATION BOUND
status=0
expect() {
    if awk -v d="$2" -v b="$4" "BEGIN { exit !(d $3 b) }"; then
        echo "ok: $1: $2 $3 $4"
    else
        echo "failed: $1: $2 is not $3 $4"
        status=1
    fi
}

"$BUILD/firnc" keygen "$work/key" >/dev/null
golden=tests/golden/gpt2_training expected=tests/golden/gpt2_training.losses
losses float32 precision.enabled=false
losses bfloat16
expect "float32 from PyTorch's float64, 20 steps" "$(apart float32 1 1 20)" "<=" 1e-6
expect "bfloat16 from PyTorch's autocast, 20 steps" "$(apart bfloat16 3 1 20)" "<=" 5e-4
expect "bfloat16 from PyTorch's autocast, first step" "$(apart bfloat16 3 1 1)" "<=" 2e-6
expect "float32 from PyTorch's autocast, first step" "$(apart float32 3 1 1)" ">=" 1e-5

rotary="model.position_embedding_type=rotary model.rotary_dim=8"
positions='weight_map=[{ignore: transformer.wpe.weight}]' # the file has a table, and this model none
losses rotary32 $rotary "$positions" precision.enabled=false
losses rotary16 $rotary "$positions"
losses rotary16_pol0 $rotary "$positions" 'precision.pol=[{pattern: "*.rotary", level: 0}]'
expect "rotary, float32 from PyTorch's float64, 20 steps" "$(apart rotary32 4 1 20)" "<=" 1e-6
expect "rotary, bfloat16 from PyTorch's autocast, 20 steps" "$(apart rotary16 5 1 20)" "<=" 5e-4
expect "rotary, bfloat16 from PyTorch's autocast, first step" "$(apart rotary16 5 1 1)" "<=" 2e-6
expect "rotary in float32 from PyTorch's autocast, first step" "$(apart rotary16_pol0 5 1 1)" ">=" 1e-5
alibi="model.position_embedding_type=alibi"
losses alibi32 $alibi "$positions" precision.enabled=false
losses alibi16 $alibi "$positions"
losses other_heads $alibi "$positions" precision.enabled=false model.num_heads=4
expect "ALiBi, float32 from PyTorch's float64, 20 steps" "$(apart alibi32 6 1 20)" "<=" 1e-6
expect "ALiBi, bfloat16 from PyTorch's autocast, 20 steps" "$(apart alibi16 7 1 20)" "<=" 5e-4
expect "ALiBi, bfloat16 from PyTorch's autocast, first step" "$(apart alibi16 7 1 1)" "<=" 2e-6
expect "ALiBi with other heads" "$(apart other_heads 6 1 1)" ">=" 1e-5
losses gpt3 precision.enabled=false model.name=gpt3
expect "GPT-3, float32 from PyTorch's float64, 20 steps" "$(apart gpt3 1 1 20)" "<=" 1e-6

# architecture NAME COLUMN FILE KEYS OTHER: a model of tests/golden/transformers.py, and that model with another key,
# which must not give these losses
architecture() {
    golden=tests/golden/transformers_$3 expected=tests/golden/transformers.losses
    keys="name: $1, vocab_size: 128, hidden_size: 32, num_hidden_layers: 2, num_heads: 4, filter_size: 64, \
max_position_embeddings: 16, dropout_rate: 0, attention_dropout_rate: 0$4"
    losses "$1.$2" precision.enabled=false "model={$keys}"
    expect "$1, float32 from PyTorch's float64, 20 steps" "$(apart "$1.$2" "$2" 1 20)" "<=" 1e-6
    losses "$1.$2.changed" precision.enabled=false "model={$keys, $5}"
    expect "$1 with $5" "$(apart "$1.$2.changed" "$2" 1 20)" ">=" 1e-5
}
architecture gptj 1 gptj ", rotary_dim: 4" "rope_theta: 100"
architecture gpt-neox 3 gpt_neox ", rotary_pct: 0.5" "rope_theta: 100"
architecture gpt-neox 9 gpt_neox ", rotary_pct: 0.5, use_parallel_residual: false" "rope_theta: 100"
architecture llama 5 llama ", attention_module: multiquery_attention, extra_attention_params: {num_kv_groups: 2}" \
    "nonlinearity: geglu"
sed '/max_sequence_length/d' tests/end_to_end/gpt2_training.yaml >"$work/records.yaml"
recipe=$work/records.yaml
data="tests/golden/transformers_bert.tokens --labels tests/golden/transformers_bert.labels"
architecture bert 7 bert ", disable_nsp: true, ignore_index: 0" "mlm_nonlinearity: relu"
architecture bert 11 bert_segments ", disable_nsp: true, ignore_index: 0, num_segments: 2" "mlm_nonlinearity: relu"
exit $status
