#!/bin/sh
# Fine-tuning: what is frozen, what is trained, and what comes out.
#
#   frozen weights   are what a run without them begins with, bit by bit, from a file and by their rules; no checkpoint has
#                    them; an evaluation has the same ones or is refused; in a half type that is the run's they change no bit
#   forms            train exactly the parameters that they say
#   LoRA             twenty steps within 1e-6 of PyTorch's float64 run, within 5e-4 of its autocast run; merged, the model has
#                    the loss of the next step within 1e-6 in NumPy and PyTorch, and the same evaluation in Firn
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

# compile NAME MODE FORM [OPTION]...: makes $folder/NAME.plan; FORM is trainer.init.fine_tuning.
compile() {
    plan=$1
    mode=$2
    form=$3
    shift 3
    "$FIRNC" compile $recipe --mode "$mode" --key "$folder/key.key.pem" -o "$folder/$plan.plan" \
        --set "trainer.init.fine_tuning=$form" "$@"
}

# train NAME STEPS: trains from the beginning for so many steps; the losses are in $folder/NAME.losses.
train() {
    rm -f "$folder/$1.ckpt" "$folder/$1.jsonl"
    "$FIRN" train "$folder/$1.plan" --pub "$folder/key.pub.pem" --data $text --quiet --steps "$2" \
        --checkpoint "$folder/$1.ckpt" --log "$folder/$1.jsonl" >"$folder/$1.digest" &&
        sed -n 's/.*"loss": *\([^,}]*\),.*/\1/p' "$folder/$1.jsonl" >"$folder/$1.losses"
}

# same NAME OTHER SUFFIX: two files that training made are equal.
same() {
    cmp -s "$folder/$1.$3" "$folder/$2.$3" || fail "$1 and $2: other $3"
}

# near NAME VALUE WANTED BOUND: the relative difference.
near() {
    awk -v a="$2" -v b="$3" -v most="$4" 'BEGIN { d = (a - b) / b; exit !(d <= most && d >= -most) }' ||
        fail "$1: $2 and not $3"
}

# --- frozen weights --------------------------------------------------------------------------------------------------

# exported NAME: the model of a run that has taken no step, as firnc weights writes it.
exported() {
    train "$1" 0 && "$FIRN" export "$folder/$1.ckpt" -o "$folder/$1.export" &&
        "$FIRNC" weights $recipe --trained "$folder/$1.export" --plan "$folder/$1.plan" \
            --set "trainer.init.fine_tuning=$2" -o "$folder/$1.safetensors" >"$folder/out"
}
for weights in "" "--weights $golden"; do
    expect "a plain run $weights" 0 "" compile plain train null $float32 $weights
    exported plain null
    expect "a frozen one $weights" 0 "" compile frozen train "{train: '*.ln_f.*'}" $float32 $weights
    exported frozen "{train: '*.ln_f.*'}"
    same plain frozen safetensors
done
[ "$(grep -ac 'wte\|\.h\.' "$folder/frozen.export")" -eq 0 ] || fail "a checkpoint has frozen weights"
expect "an export without the plan" 1 "transformer.h.0.attn.c_attn.bias is frozen.*give --plan" "$FIRNC" weights $recipe \
    --trained "$folder/frozen.export" --set "trainer.init.fine_tuning={train: '*.ln_f.*'}" -o "$folder/none"
expect "an export with another plan" 1 "plain.plan: did not train .*frozen.export: .*; give the plan of" "$FIRNC" weights \
    $recipe --trained "$folder/frozen.export" --plan "$folder/plain.plan" \
    --set "trainer.init.fine_tuning={train: '*.ln_f.*'}" -o "$folder/none"
# The same model with other frozen weights; a file that does not say its model is taken with any plan that has its shapes.
expect "other frozen weights" 0 "" compile other train "{train: '*.ln_f.*'}" $float32 --set trainer.init.seed=4
expect "an export with other frozen weights" 1 "other.plan: did not train .*other frozen weights" "$FIRNC" weights \
    $recipe --trained "$folder/frozen.export" --plan "$folder/other.plan" \
    --set "trainer.init.fine_tuning={train: '*.ln_f.*'}" -o "$folder/none"
sed 's/"model_hash"/"other_hash"/' "$folder/frozen.export" >"$folder/silent.export"
expect "a file without a model" 0 "" "$FIRNC" weights $recipe --trained "$folder/silent.export" --plan "$folder/other.plan" \
    --set "trainer.init.fine_tuning={train: '*.ln_f.*'}" -o "$folder/other.safetensors"
expect "a file without a model, and a plan without its weights" 1 \
    "plain.plan: has no frozen weight transformer.h.0.attn.c_attn.bias" "$FIRNC" weights \
    $recipe --trained "$folder/silent.export" --plan "$folder/plain.plan" \
    --set "trainer.init.fine_tuning={train: '*.ln_f.*'}" -o "$folder/none"

head -c 2000 "$folder/frozen.plan" >"$folder/short.plan"
expect "an export with a part of a plan" 1 "short.plan: refused: " "$FIRNC" weights $recipe --trained "$folder/frozen.export" \
    --plan "$folder/short.plan" --set "trainer.init.fine_tuning={train: '*.ln_f.*'}" -o "$folder/none"
expect "an export over its plan" 2 "would replace" "$FIRNC" weights $recipe --trained "$folder/frozen.export" \
    --plan "$folder/frozen.plan" -o "$folder/frozen.plan"

train frozen 3
expect "an evaluation" 0 "" compile eval eval "{train: '*.ln_f.*'}" $float32 --weights $golden
expect "that is evaluated" 0 "" "$FIRN" eval "$folder/eval.plan" --pub "$folder/key.pub.pem" --data $text \
    --checkpoint "$folder/frozen.ckpt"
expect "an evaluation of other frozen weights" 0 "" compile eval eval "{train: '*.ln_f.*'}" $float32
expect "that is refused" 3 "CHECKPOINT_OTHER_MODEL.*same frozen weights: compile it with the --weights, seed and frozen parameters of" \
    "$FIRN" eval "$folder/eval.plan" --pub "$folder/key.pub.pem" --data $text \
    --checkpoint "$folder/frozen.ckpt"

# In mixed precision products read the half type: one that is rounded when the plan is made has the same bits. In float32
# the rounding shows.
lora='lora: {layers: "transformer.h.*", rank: 4, alpha: 6}'
bytes() {
    "$FIRNC" inspect "$folder/$1.plan" --json | python3 -c '
import json, sys
print(sum(int(r["bytes"]) for r in json.load(sys.stdin)["regions"] if r["kind"] == "constant"))'
}
for half in bfloat16 float16 cbfloat16; do
    type="--set trainer.init.precision.fp16_type=$half"
    expect "$half" 0 "" compile wide train "{$lora}" $type
    expect "stored in the half type" 0 "" compile half train "{$lora, frozen_type: half}" $type
    expect "stored in $half" 0 "" compile narrow train "{$lora, frozen_type: $half}" $type
    train wide 5
    train narrow 5
    same half narrow plan
    same wide narrow losses
    same wide narrow digest
    [ "$(bytes narrow)" -lt $(($(bytes wide) * 7 / 10)) ] || fail "$half: $(bytes narrow) bytes, and $(bytes wide) in float32"
done
expect "stored in float16, computed in float32" 0 "" compile narrow train "{$lora, frozen_type: float16}" $float32
expect "all in float32" 0 "" compile wide train "{$lora}" $float32
expect "stored as the run computes" 0 "" compile half train "{$lora, frozen_type: half}" $float32
same half wide plan
train wide 5
train narrow 5
! cmp -s "$folder/wide.losses" "$folder/narrow.losses" || fail "float16 does not round"
near "the fifth loss" "$(sed -n 5p "$folder/narrow.losses")" "$(sed -n 5p "$folder/wide.losses")" 1e-4
# Frozen weights that come from no file stay as they were drawn, which a warning says.
expect "frozen at random" 0 "" compile drawn train "{train: '*.ln_f.*'}" $float32
grep -q "warning: [0-9]* frozen parameters keep random values: give --weights" "$folder/err" || fail "no warning"
expect "frozen from a file" 0 "" compile drawn train "{train: '*.ln_f.*'}" $float32 --weights $golden
[ ! -s "$folder/err" ] || fail "a warning of weights from a file"
expect "two half types" 1 "frozen weights cannot be float16 where the run computes in bfloat16" compile none train \
    "{$lora, frozen_type: float16}"

# --- forms -----------------------------------------------------------------------------------------------------------

# trains FORM WANTED: the parameters of the plan, without "transformer.", "weight" and "bias" are w and b.
trains() {
    expect "$1" 0 "" compile form train "$1" $float32
    "$FIRNC" inspect "$folder/form.plan" --tensors --unfolded | sed -n 's/^  parameters .* parameter  *transformer\.\([^ ]*\) .*/\1/p' |
        sed 's/\.weight$/.w/; s/\.bias$/.b/' | tr '\n' ' ' >"$folder/got"
    echo "$2 " | tr -d '\n' | cmp -s - "$folder/got" || fail "$1 trains other parameters"
    rm "$folder/got"
}
trains "{train: ['*.wpe.*', '*.ln_f.*']}" "ln_f.b ln_f.w wpe.w"
trains "{bias_only: true}" "h.0.attn.c_attn.b h.0.attn.c_proj.b h.0.ln_1.b h.0.ln_2.b h.0.mlp.c_fc.b h.0.mlp.c_proj.b \
h.1.attn.c_attn.b h.1.attn.c_proj.b h.1.ln_1.b h.1.ln_2.b h.1.mlp.c_fc.b h.1.mlp.c_proj.b ln_f.b"
trains "{last_layers: 1}" "h.1.attn.c_attn.b h.1.attn.c_attn.w h.1.attn.c_proj.b h.1.attn.c_proj.w h.1.ln_1.b h.1.ln_1.w \
h.1.ln_2.b h.1.ln_2.w h.1.mlp.c_fc.b h.1.mlp.c_fc.w h.1.mlp.c_proj.b h.1.mlp.c_proj.w ln_f.b ln_f.w"
trains "{lora: {layers: '*.h.0.attn.*', rank: 2, alpha: 2}, train: '*.ln_f.weight'}" "h.0.attn.c_attn.lora_A.w \
h.0.attn.c_attn.lora_B.w h.0.attn.c_proj.lora_A.w h.0.attn.c_proj.lora_B.w ln_f.w"
expect "both ways" 0 "" compile form train "{bias_only: true}" $float32 \
    --set 'trainer.init.callbacks=[{FreezeParameters: ["*.h.*"]}]'
[ "$("$FIRNC" inspect "$folder/form.plan" --tensors --unfolded | grep -c '^  parameters .* parameter ')" -eq 1 ] || fail "what is frozen is trained"

# The tied table has the name of the output layer, too; a wildcard stands for first names only.
expect "the second name" 0 "" compile second train "{train: lm_head.weight}" $float32
expect "the first name" 0 "" compile first train "{train: '*.wte.weight'}" $float32
[ "$("$FIRNC" inspect "$folder/second.plan" --all | grep '^run hash')" = "$("$FIRNC" inspect "$folder/first.plan" --all | grep '^run hash')" ] ||
    fail "a second name means another parameter"

refused() {
    expect "$1" 1 "$2" compile none train "$1" $float32
}
refused "{train: ln_f}" 'no parameter matches "ln_f"'
refused "{train: 'lm_head.*'}" 'no parameter matches "lm_head'
refused "{last_layers: 3}" "the model has 2 layers"
refused "{lora: {layers: '*.ln_1', rank: 2, alpha: 2}}" 'no layer with a product matches "\*.ln_1"'
refused "{lora: {layers: '*', rank: 2, alpha: 2}}" "other layers read its weight too"
refused "{lora: {layers: '*.c_attn', alpha: 2}}" "rank is missing"
refused "{lora: {layers: '*.c_attn', rank: 2, alpha: 0}}" "alpha"
refused "{lora: {layers: '*.c_attn', rank: 2, alpha: 2, dropout: 1}}" "dropout"
refused "{lora: {layers: [], rank: 2, alpha: 2}}" "is empty"
refused "{frozen_type: int8}" "frozen_type"
refused "{first_layers: 2}" "first_layers"

# --- LoRA ------------------------------------------------------------------------------------------------------------

# distance NAME COLUMN FIRST LAST: the largest relative difference from a column of PyTorch's losses.
distance() {
    paste -d ' ' "$folder/$1.losses" tests/golden/gpt2_lora.losses | awk -v column="$2" -v first="$3" -v last="$4" '
        NR >= first && NR <= last { d = ($1 - $(column + 1)) / $(column + 1); if (d < 0) d = -d; if (d > most) most = d }
        END { printf "%.3e\n", most }'
}
# within NAME DISTANCE BOUND
within() {
    echo "$1: $2"
    awk -v d="$2" -v b="$3" 'BEGIN { exit !(d <= b) }' || fail "$1: $2, not $3"
}
tuned="{$lora, train: '*.ln_f.*'}"
python3 tests/end_to_end/weights.py join $golden tests/golden/gpt2_lora.safetensors "$folder/joined.safetensors"
expect "LoRA" 0 "" compile lora train "$tuned" $float32 --weights "$folder/joined.safetensors"
expect "LoRA in bfloat16" 0 "" compile half train "$tuned" --weights "$folder/joined.safetensors"
train lora 20
train half 20
within "LoRA, float32 from PyTorch's float64, 20 steps" "$(distance lora 1 1 20)" 1e-6
within "LoRA, bfloat16 from PyTorch's autocast, 20 steps" "$(distance half 2 1 20)" 5e-4
within "LoRA, bfloat16 from PyTorch's autocast, first step" "$(distance half 2 1 1)" 2e-6

# A file of the model alone will do: the adapters begin by their rules.
expect "the model's own file" 0 "" compile own train "$tuned" $float32 --weights $golden
train own 20
within "the first loss, by the model's own file" "$(distance own 1 1 1)" 1e-6
! cmp -s "$folder/own.losses" "$folder/lora.losses" || fail "the adapters begin alike"

# merged NAME STEPS: merges $folder/lora.plan after so many steps to $folder/NAME.safetensors.
merged() {
    train lora "$2" && "$FIRN" export "$folder/lora.ckpt" -o "$folder/$1.export" &&
        "$FIRNC" weights $recipe --trained "$folder/$1.export" --plan "$folder/lora.plan" \
            --set "trainer.init.fine_tuning=$tuned" -o "$folder/$1.safetensors"
}
expect "merge" 0 "" merged merged 8
! grep -aq lora "$folder/merged.safetensors" || fail "a merged file has adapters"
python3 tests/end_to_end/weights.py loss "$folder/merged.safetensors" $text 9 >"$folder/outside"
expect "an evaluation with adapters" 0 "" compile eval eval "$tuned" $float32 --weights "$folder/joined.safetensors"
expect "evaluated" 0 "" "$FIRN" eval "$folder/eval.plan" --pub "$folder/key.pub.pem" --data $text --checkpoint "$folder/lora.ckpt"
adapted=$(cat "$folder/out")
expect "of the merged model" 0 "" compile merged train null $float32 --weights "$folder/merged.safetensors"
train merged 0
expect "an evaluation without" 0 "" compile eval eval null $float32
expect "evaluated" 0 "" "$FIRN" eval "$folder/eval.plan" --pub "$folder/key.pub.pem" --data $text \
    --checkpoint "$folder/merged.ckpt"
near "the evaluation" "$(cat "$folder/out")" "$adapted" 1e-6
train lora 9
cat "$folder/outside"
while read -r who loss; do
    near "$who" "$loss" "$(sed -n 9p "$folder/lora.losses")" 1e-6
done <"$folder/outside"
grep -q NumPy "$folder/outside" || fail "no loss to compare"

# Of convolutions, and with dropout, which evaluations leave out.
recipe=compiler/recipes/small_lenet.yaml
conv="{lora: {layers: [conv2, 'fc*'], rank: 2, alpha: 5, dropout: 0.25}}"
python3 - "$folder" <<'END'
import sys
import numpy as np
values = np.frombuffer(open("/usr/share/common-licenses/GPL-3", "rb").read(), np.uint8)
np.save(sys.argv[1] + "/images.npy", values[: 44 * 784].reshape(44, 28, 28))
np.save(sys.argv[1] + "/classes.npy", values[:44] % 10)
END
text="$folder/images.npy --labels $folder/classes.npy"
lora=$conv tuned=$conv
judged="--set trainer.validate.metric=loss --set trainer.validate.val_dataloader.batch_size=4"
expect "LoRA of convolutions" 0 "" compile lora train "$conv" $float32
expect "merge them" 0 "" merged merged 6
expect "an evaluation with adapters" 0 "" compile eval eval "$conv" $float32 $judged
expect "evaluated" 0 "" "$FIRN" eval "$folder/eval.plan" --pub "$folder/key.pub.pem" --data $text --checkpoint "$folder/lora.ckpt"
adapted=$(cat "$folder/out")
expect "of the merged model" 0 "" compile merged train null $float32 --weights "$folder/merged.safetensors"
train merged 0
expect "an evaluation without" 0 "" compile eval eval null $float32 $judged
expect "evaluated" 0 "" "$FIRN" eval "$folder/eval.plan" --pub "$folder/key.pub.pem" --data $text \
    --checkpoint "$folder/merged.ckpt"
near "the evaluation" "$(cat "$folder/out")" "$adapted" 1e-6

[ $failures -eq 0 ]
