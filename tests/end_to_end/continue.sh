#!/bin/sh
# firnc compile --continue: a new run begins with the state of an older one, bit for bit.
#
#   the same run     20 steps and 20 more have the digest of 40, with every scaling of the loss, shuffled and with dropout
#   another run      another rate, batch, split or length of sequences: parameters and moments are those of the checkpoint;
#                    counters go on, or begin at 0 by --restart-schedule
#   fine-tuning      LoRA that goes on, that begins, that is merged; parameters that are frozen from here on
#   what misfits     is named: another optimizer, a parameter, a shape, frozen weights, a run that is over
#   bad checkpoints  damaged, cut, hostile with a digest that fits: one line, and no plan
#
# Needs: python
set -eu

. tests/end_to_end/expectations
recipe=compiler/recipes/small_gpt2.yaml
mlp=compiler/recipes/small_mlp.yaml
tiny=tests/end_to_end/gpt2_training.yaml
text=tests/golden/gpt2_training.txt
"$FIRNC" keygen "$folder/key" >"$folder/out"
cat README.md >"$folder/text"

# compile RECIPE NAME STEPS [OPTION]...: makes $folder/NAME.plan, a run of so many steps.
compile() {
    from=$1
    plan=$2
    steps=$3
    shift 3
    "$FIRNC" compile "$from" --mode train --key "$folder/key.key.pem" -o "$folder/$plan.plan" \
        --set trainer.init.loop.num_steps="$steps" "$@"
}

# train NAME CHECKPOINT DATA [OPTION]...: runs $folder/NAME.plan; the digest is in $folder/CHECKPOINT.digest.
train() {
    plan=$1
    saved=$2
    shift 2
    rm -f "$folder/$saved.ckpt"
    "$FIRN" train "$folder/$plan.plan" --pub "$folder/key.pub.pem" --quiet --checkpoint "$folder/$saved.ckpt" --data "$@" \
        >"$folder/$saved.digest"
}

# tensors CHECKPOINT PATTERN: the digests of these tensors.
tensors() {
    "$FIRN" digest "$folder/$1.ckpt" --per-tensor | grep -v '^digest' | grep -- "$2"
}

# same_tensors ONE OTHER PATTERN
same_tensors() {
    tensors "$1" "$3" >"$folder/one"
    tensors "$2" "$3" >"$folder/other"
    cmp -s "$folder/one" "$folder/other" || fail "$1 and $2: other $3"
}

# --- the same run ----------------------------------------------------------------------------------------------------

# goes_on NAME RECIPE DATA [OPTION]...: 20 steps and 20 more, against 40.
goes_on() {
    name=$1
    from=$2
    data=$3
    shift 3
    expect "$name: whole" 0 "" compile "$from" whole 40 "$@"
    expect "$name: first" 0 "" compile "$from" first 20 "$@"
    train whole whole $data && train first first $data
    expect "$name: next" 0 "" compile "$from" next 40 "$@" --continue "$folder/first.ckpt"
    [ ! -s "$folder/err" ] || fail "$name: says something of a run that fits"
    train next begun $data --steps 0 && train next next $data
    cmp -s "$folder/begun.digest" "$folder/first.digest" || fail "$name: begins with another state than it shall go on with"
    cmp -s "$folder/next.digest" "$folder/whole.digest" || fail "$name: ends with another digest than a whole run"
}
awk 'BEGIN { for (i = 0; i < 300 * 784; i++) printf "%c", 32 + (i * 7 + int(i / 784) * 13) % 90 }' >"$folder/images.raw"
python3 - "$folder" <<'end'
import sys
import numpy
folder = sys.argv[1]
pixels = numpy.frombuffer(open(folder + "/images.raw", "rb").read(), numpy.uint8).reshape(300, 784)
numpy.save(folder + "/images.npy", pixels)
numpy.save(folder + "/labels.npy", (numpy.arange(300) * 7 % 10).astype(numpy.uint8))
end
goes_on "AdamW" $recipe "$folder/text"
goes_on "dynamic scaling" $recipe "$folder/text" --set trainer.init.precision.fp16_type=float16 \
    --set trainer.init.precision.loss_scaling_factor=dynamic --set trainer.init.precision.steps_per_increase=3
goes_on "momentum, dropout" $mlp "$folder/images.npy --labels $folder/labels.npy"
for optimizer in "{NAdam: {lr: 0.01}}" "{Adafactor: {lr: 0.01, scale_parameter: false}}"; do
    goes_on "$optimizer" $mlp "$folder/images.npy --labels $folder/labels.npy" --set trainer.init.schedulers=null \
        --set "trainer.init.optimizer=$optimizer"
done

# --- another run -----------------------------------------------------------------------------------------------------

compile $recipe first 20 >"$folder/out" && train first first "$folder/text"
expect "another rate and batch" 0 "" compile $recipe other 45 --set 'trainer.init.schedulers=[{ConstantLR: {learning_rate: 0.0005}}]' \
    --set trainer.fit.train_dataloader.batch_size=6 --set trainer.fit.train_dataloader.micro_batch_size=6 \
    --continue "$folder/first.ckpt"
train other begun "$folder/text" --steps 0
same_tensors begun first '.'
expect "to resume from the older run" 3 "OTHER_RUN.*leave out --resume, and give --checkpoint, and --log, a new name" "$FIRN" train \
    "$folder/other.plan" --pub "$folder/key.pub.pem" --data "$folder/text" --checkpoint "$folder/first.ckpt" --resume
rm -f "$folder/log"
train other other "$folder/text" --log "$folder/log"
sed -n 2p "$folder/log" | grep -q '"step": *21,.*"learning_rate": *0.0005' || fail "the first step is not 21: $(sed -n 2p "$folder/log")"
"$FIRNC" inspect "$folder/other.plan" --all >"$folder/page"
grep -q "initial values  *35,328 bytes of the model, 70,656 of the optimizer" "$folder/page" || fail "no bytes of initial values"
run=$("$FIRNC" inspect "$folder/first.plan" --all | sed -n 's/^run hash  *//p')
grep -q "continues run  *$run" "$folder/page" || fail "the plan does not name the run that it continues"
grep -q "said: from  *step 20 of that run, sample 80 of its data" "$folder/page" || fail "the report does not say where it begins"
[ "$(dd if="$folder/other.ckpt" bs=1 skip=232 count=32 2>/dev/null | od -An -tx1 -v | tr -d ' \n')" = "$run" ] ||
    fail "the checkpoint does not name the run that it continues"

expect "--restart-schedule" 0 "" compile $recipe other 10 --continue "$folder/first.ckpt" --restart-schedule
train other begun "$folder/text" --steps 0
same_tensors begun first '[0-9a-f] \(transformer\|optimizer\)'
compile $recipe new 10 >"$folder/out" && train new new "$folder/text" --steps 0
same_tensors begun new ' counters'
rm -f "$folder/log" "$folder/new.log"
train other other "$folder/text" --log "$folder/log" && train new whole "$folder/text" --log "$folder/new.log"
rates() {
    sed -n 's/.*"learning_rate": *\([^,}]*\).*/\1/p' "$1"
}
[ "$(rates "$folder/log")" = "$(rates "$folder/new.log")" ] && [ "$(rates "$folder/log" | wc -l)" -eq 10 ] ||
    fail "--restart-schedule does not begin the schedule"

# The place in the data means nothing where samples are made in another way, or where the data are others.
expect "another split" 0 "" compile $recipe other 40 --set trainer.fit.train_dataloader.held_out_per_mille=50 --continue "$folder/first.ckpt"
grep -q "note: the recipe makes other samples .* begins with the first" "$folder/err" || fail "another split: no note"
train other begun "$folder/text" --steps 0
same_tensors begun new ' counters.cursor'
same_tensors begun first ' \(counters.[go]\|optimizer\|transformer\)'
# The weights file is read once, and warned of once, although the place in the data is found out behind it.
python3 -c 'import json, sys
head = json.dumps({"spare": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
open(sys.argv[1], "wb").write(len(head).to_bytes(8, "little") + head + bytes(4))' "$folder/spare.safetensors"
expect "another split and weights" 0 "" compile $recipe spare 40 --set trainer.fit.train_dataloader.held_out_per_mille=50 \
    --continue "$folder/first.ckpt" --weights "$folder/spare.safetensors" --allow-unmatched
[ "$(grep -c "warning: 1 of the tensors is no parameter: spare" "$folder/err")" -eq 1 ] || fail "weights are warned of twice"
cmp -s "$folder/spare.plan" "$folder/other.plan" || fail "spare weights change the plan"
expect "--restart-data" 0 "" compile $recipe other 40 --continue "$folder/first.ckpt" --restart-data
train other begun "$folder/text" --steps 0
same_tensors begun new ' counters.cursor'
compile $recipe other 40 --continue "$folder/first.ckpt" >"$folder/out"
cat README.md README.md >"$folder/more"
for data in more text; do
    rm -f "$folder/begun.ckpt"
    "$FIRN" train "$folder/other.plan" --pub "$folder/key.pub.pem" --data "$folder/$data" --checkpoint "$folder/begun.ckpt" \
        >"$folder/out" 2>"$folder/$data.err"
done
grep -q "not the data of the run that this one continues.*sample 80; .*--restart-data" "$folder/more.err" || fail "no note of other data"
! grep -q "not the data of the run" "$folder/text.err" || fail "a note of the same data"

# Scaling of the loss begins and ends with the recipe, and a static scale is the recipe's.
for scaling in "float16 --set trainer.init.precision.loss_scaling_factor=dynamic" "float16 --set trainer.init.precision.loss_scaling_factor=64"; do
    expect "bfloat16, then $scaling" 0 "" compile $recipe scaled 30 --set trainer.init.precision.fp16_type=$scaling --continue "$folder/first.ckpt"
    train scaled scaled "$folder/text"
    expect "$scaling, then bfloat16" 0 "" compile $recipe other 40 --continue "$folder/scaled.ckpt"
    train other begun "$folder/text" --steps 0
    same_tensors begun scaled ' \(transformer\|optimizer\|counters\)'
done
# A scale that no step changed is not taken over by a run that changes it.
half="--set trainer.init.precision.fp16_type=float16 --set trainer.init.precision.loss_scaling_factor"
compile $recipe fixed 20 $half=64 >"$folder/out" && train fixed fixed "$folder/text" --steps 5
compile $recipe other 30 $half=dynamic --continue "$folder/fixed.ckpt" >"$folder/out" && train other begun "$folder/text" --steps 0
compile $recipe new 30 $half=dynamic >"$folder/out" && train new new "$folder/text" --steps 0
same_tensors begun new ' scaler'
[ -s "$folder/one" ] || fail "a run that scales dynamically has no scaler"

# The eval plans of the recipe fit, and a chain goes on.
expect "--all" 0 "" "$FIRNC" compile $recipe --all --key "$folder/key.key.pem" -o "$folder/plans" --set trainer.init.loop.num_steps=30 \
    --continue "$folder/first.ckpt"
"$FIRN" train "$folder/plans/train.plan" --pub "$folder/key.pub.pem" --quiet --data "$folder/text" --checkpoint "$folder/chain.ckpt" >"$folder/out"
expect "an evaluation" 0 "" "$FIRN" eval "$folder/plans/eval.plan" --pub "$folder/key.pub.pem" --data "$folder/text" --checkpoint "$folder/chain.ckpt"
expect "the next of a chain" 0 "" compile $recipe next 40 --continue "$folder/chain.ckpt"
train next next "$folder/text"
compile $recipe whole 40 >"$folder/out" && train whole whole "$folder/text"
cmp -s "$folder/next.digest" "$folder/whole.digest" || fail "20, 10 and 10 steps are not 40"

# --- fine-tuning -----------------------------------------------------------------------------------------------------

golden=tests/golden/gpt2_training.safetensors
lora='trainer.init.fine_tuning={lora: {layers: "transformer.h.*", rank: 4, alpha: 6}}'
compile $tiny lora 20 --weights $golden --set "$lora" >"$folder/out" && train lora lora $text
compile $tiny whole 40 --weights $golden --set "$lora" >"$folder/out" && train whole whole $text
expect "LoRA goes on" 0 "" compile $tiny next 40 --weights $golden --set "$lora" --continue "$folder/lora.ckpt"
train next next $text
cmp -s "$folder/next.digest" "$folder/whole.digest" || fail "LoRA ends with another digest than a whole run"
expect "LoRA without its frozen weights" 1 "lora.ckpt: was trained beside other frozen weights; give those" \
    compile $tiny none 40 --set "$lora" --continue "$folder/lora.ckpt"

compile $tiny full 20 --weights $golden >"$folder/out" && train full full $text
expect "LoRA of fewer layers, without its frozen weights" 1 "lora.ckpt: .*frozen parameters are not in it: .*by firnc compile --weights what it had frozen" \
    compile $tiny none 40 --set 'trainer.init.fine_tuning={lora: {layers: "transformer.h.0.*", rank: 4, alpha: 6}}' --continue "$folder/lora.ckpt"
expect "LoRA begins" 0 "" compile $tiny next 40 --set "$lora" --continue "$folder/full.ckpt"
grep -q "note: state of the optimizer begins anew, .*lora_A" "$folder/err" || fail "LoRA begins: no note"
grep -q "has not trained: [0-9]* ([^,]*, [^,]*, [^,]* and [0-9]* more); firnc inspect --tensors of the new plan lists all state" "$folder/err" ||
    fail "LoRA begins: the names are not few, or it is not said where all are"
"$FIRN" export "$folder/full.ckpt" -o "$folder/full.safetensors" >"$folder/out"
compile $tiny same 40 --set "$lora" --weights "$folder/full.safetensors" >"$folder/out"
model_hash() {
    "$FIRNC" inspect "$folder/$1.plan" --all | grep '^model hash'
}
[ "$(model_hash next)" = "$(model_hash same)" ] || fail "what is frozen from here on is not what was trained"

"$FIRN" export "$folder/lora.ckpt" -o "$folder/lora.safetensors" >"$folder/out"
"$FIRNC" weights $tiny --set "$lora" --plan "$folder/lora.plan" --trained "$folder/lora.safetensors" -o "$folder/merged.safetensors" >"$folder/out"
expect "LoRA without a place" 1 "16 of its parameters are none of the recipe's model: .*lora_A.*--allow-unmatched" \
    compile $tiny none 40 --continue "$folder/lora.ckpt" --weights "$folder/merged.safetensors"
expect "LoRA is merged" 0 "" compile $tiny next 40 --continue "$folder/lora.ckpt" --weights "$folder/merged.safetensors" --allow-unmatched
compile $tiny same 40 --weights "$folder/merged.safetensors" >"$folder/out"
train next begun $text --steps 0 && train same same $text --steps 0
same_tensors begun same ' transformer'
same_tensors begun lora ' counters'

# --- what misfits ----------------------------------------------------------------------------------------------------

set -- $recipe none 40 --continue "$folder/first.ckpt"
expect "another optimizer" 1 "first.ckpt: it is of another optimizer: 28 tensors are not in it: optimizer.momentum_buffer.*; 58 of its tensors are none of the recipe's optimizer: optimizer.beta1_power, .*and 38 more; give the recipe the model and the optimizer" \
    compile "$@" --set 'trainer.init.optimizer={SGD: {momentum: 0.9, weight_decay: 0}}'
expect "another optimizer, allowed" 0 "" compile $recipe other 40 --continue "$folder/first.ckpt" \
    --set 'trainer.init.optimizer={SGD: {momentum: 0.9, weight_decay: 0}}' --allow-unmatched
grep -q "warning: it is of another optimizer" "$folder/err" || fail "another optimizer, allowed: no warning"
# CONTINUE.md names the optimizers whose checkpoints are not told apart; NAdam keeps one tensor more for each parameter.
compile $recipe adam 20 --set 'trainer.init.optimizer={Adam: {eps: 1.0e-8}}' >"$folder/out"
train adam adam "$folder/text" --steps 0
for optimizer in Lamb RAdam; do
    expect "$optimizer from Adam" 0 "" compile $recipe other 40 --continue "$folder/adam.ckpt" \
        --set "trainer.init.optimizer={$optimizer: {eps: 1.0e-8}}"
done
expect "NAdam from Adam" 1 "adam.ckpt: it is of another optimizer: 28 tensors are not in it: optimizer.mu_product" \
    compile $recipe other 40 --continue "$folder/adam.ckpt" --set 'trainer.init.optimizer={NAdam: {eps: 1.0e-8}}'
expect "more layers" 1 "12 parameters are not in it: transformer.h.2.ln_1.weight" compile "$@" --set trainer.init.model.num_hidden_layers=3
expect "fewer layers" 1 "12 of its parameters are none of the recipe's model: transformer.h.1.attn" compile "$@" --set trainer.init.model.num_hidden_layers=1
expect "another width" 1 "first.ckpt: tensor [^ ]* is float32\[.*\], and the recipe wants float32\[.*give the recipe the sizes" \
    compile "$@" --set trainer.init.model.filter_size=80
expect "another model" 1 "first.ckpt: .*; 6 parameters are not in it: layers.0.weight, .*; 28 of its parameters are none of the recipe's model: transformer.h.0.* and 8 more; " \
    compile $mlp none 40 --continue "$folder/first.ckpt"
expect "a run that is over" 1 "num_steps: the run has 20 steps, and .*first.ckpt has done 20, .*--restart-schedule" \
    compile $recipe none 20 --continue "$folder/first.ckpt"
[ ! -e "$folder/none.plan" ] || fail "a plan of a run that does not fit"

# --- checkpoints that are none ---------------------------------------------------------------------------------------

# hostile NAME CODE: $folder/NAME.ckpt, changed by Python, which has the tensors as places in the bytes; the digest fits.
hostile() {
    python3 - "$folder/first.ckpt" "$folder/$1.ckpt" "$2" <<'end'
import hashlib, struct, sys
b = bytearray(open(sys.argv[1], "rb").read())
directory, state = struct.unpack_from("<QQ", b, 16)
entries, values, at = {}, {}, 516
for _ in range(struct.unpack_from("<I", b, 512)[0]):
    length = struct.unpack_from("<I", b, at)[0]
    name = b[at + 4:at + 4 + length].decode()
    rank = b[at + 4 + length + 2]
    end = at + 4 + length + 3 + 4 * rank
    entries[name], values[name] = at, 512 + directory + struct.unpack_from("<Q", b, end)[0]
    at = end + 8
def offset_of(name):
    at = entries[name]
    length = struct.unpack_from("<I", b, at)[0]
    return at + 4 + length + 3 + 4 * b[at + 4 + length + 2]
exec(sys.argv[3])
b[104:136] = bytes(32)
b[104:136] = hashlib.sha256(bytes(b[:512 + directory + state])).digest()
open(sys.argv[2], "wb").write(b)
end
}
refused() {
    expect "$1" 1 "$2" compile $recipe none 40 --continue "$3"
    [ ! -e "$folder/none.plan" ] || fail "$1: a plan is there"
}
hostile same "pass"
cmp -s "$folder/same.ckpt" "$folder/first.ckpt" || fail "the digest is not that of the format"
hostile nan 'b[values["transformer.ln_f.weight"] + 4:][:0]; struct.pack_into("<f", b, values["transformer.ln_f.weight"] + 4, float("nan"))'
refused "a parameter that is not finite" "nan.ckpt: tensor transformer.ln_f.weight holds NaN or infinity" "$folder/nan.ckpt"
hostile negative 'struct.pack_into("<q", b, values["counters.cursor"], -1)'
refused "a negative counter" "tensor counters.cursor has no number" "$folder/negative.ckpt"
hostile huge 'struct.pack_into("<q", b, values["counters.optimizer_step"], 2**62 + 1)'
refused "a huge counter" "tensor counters.optimizer_step has no number" "$folder/huge.ckpt"
hostile outside 'struct.pack_into("<Q", b, offset_of("transformer.wte.weight"), 2**64 - 4)'
refused "a tensor outside the state" "CHECKPOINT_DAMAGED" "$folder/outside.ckpt"
hostile count 'struct.pack_into("<I", b, 512, 2**32 - 1)'
refused "a count of tensors that is none" "CHECKPOINT_DAMAGED" "$folder/count.ckpt"
hostile twice 'a = entries["transformer.ln_f.bias"]; b[a + 4:a + 6] = b"zz"'
refused "names out of order" "CHECKPOINT_DAMAGED" "$folder/twice.ckpt"
hostile role 'a = entries["transformer.ln_f.bias"] + 4 + len("transformer.ln_f.bias") + 1; b[a] = 2'
refused "a parameter of another role" "transformer.ln_f.bias is float32.* of another role" "$folder/role.ckpt"
hostile subnormal 'a = values["optimizer.exp_avg.transformer.ln_f.bias"]; b[a:a + 8] = bytes([0, 0, 0, 128, 1, 0, 0, 0]); struct.pack_into("<f", b, values["optimizer.beta1_power"], -0.0)'
expect "zeros with a sign" 0 "" compile $recipe next 40 --continue "$folder/subnormal.ckpt"
train next begun "$folder/text" --steps 0
same_tensors begun subnormal '.'

# Storage that programs 64 or 256 bytes at once has the commit unit at a multiple of these, filled up with its erased value,
# here 0. firn reads such a file, and so does firnc.
for unit in 64 256; do
    python3 -c 'import sys
b, unit = open(sys.argv[1], "rb").read(), int(sys.argv[3])
body, commit = b[:-16], b[-16:]
body += bytes(-len(body) % unit)
open(sys.argv[2], "wb").write(body + commit + bytes(unit - 16))' "$folder/first.ckpt" "$folder/unit.ckpt" $unit
    expect "firn reads a program unit of $unit" 0 "" "$FIRN" digest "$folder/unit.ckpt"
    expect "a program unit of $unit" 0 "" compile $recipe next 40 --continue "$folder/unit.ckpt"
    train next begun "$folder/text" --steps 0
    same_tensors begun first ' \(counters.[go]\|optimizer\|transformer\)'
    head -c 1000 /dev/zero | tr '\000' '\377' >>"$folder/unit.ckpt"
    [ $unit -eq 64 ] || continue
    refused "zeros before erased bytes" "CHECKPOINT_DAMAGED" "$folder/unit.ckpt"
done

for bytes in 0 1 100 511 600 5000; do
    head -c $bytes "$folder/first.ckpt" >"$folder/cut.ckpt"
    refused "cut to $bytes" "cut.ckpt: .*(CHECKPOINT_DAMAGED)" "$folder/cut.ckpt"
done
{ cat "$folder/first.ckpt" && printf x; } >"$folder/longer.ckpt"
refused "a byte behind the end" "CHECKPOINT_DAMAGED" "$folder/longer.ckpt"
sed 's/wte/wtf/' "$folder/first.ckpt" >"$folder/bits.ckpt"
refused "another byte" "CHECKPOINT_DAMAGED" "$folder/bits.ckpt"
refused "a plan" "begins like no checkpoint.*give the file that firn train --checkpoint wrote" "$folder/first.plan"
refused "no file" "cannot be opened" "$folder/absent.ckpt"
refused "a folder" "is a folder" "$folder"
expect "the checkpoint as the output" 2 "would replace" "$FIRNC" compile $recipe --mode train --key "$folder/key.key.pem" \
    -o "$folder/first.ckpt" --continue "$folder/first.ckpt"
expect "--restart-schedule alone" 2 "only with --continue" compile $recipe none 40 --restart-schedule
expect "--restart-data alone" 2 "only with --continue" compile $recipe none 40 --restart-data

[ "$failures" -eq 0 ] || exit 1
echo "--continue: parameters, moments, scaler and counters go on bit for bit; what does not fit is named"
