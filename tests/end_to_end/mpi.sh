#!/bin/sh
# firn-mpi: what several ranks compute together has the bits of one process of firn, for any number of them: state, losses,
# values of metrics. Checkpoints pass between numbers of ranks. What cannot be shared is refused, and a rank that dies ends
# the run in one line that names it, with a checkpoint that is whole. Skipped by name where Open MPI is missing.
#
# Needs: python mpi
set -eu

. tests/end_to_end/expectations
if ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null; then
    echo "skipped: firn-mpi: Open MPI is missing (.packages/install mpi)"
    exit 0
fi
[ -x "$BUILD/firn-mpi" ] || {
    echo "FAILED: $BUILD/firn-mpi is missing; make it by: make mpi"
    exit 1
}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export TMPDIR="$folder" # of mpirun's session
MPI=$(cd "$BUILD" && pwd)/firn-mpi
golden=tests/golden
text=$golden/gpt2_training.txt
gpt2=compiler/recipes/small_gpt2.yaml
checked=0
"$FIRNC" keygen "$folder/key" >"$folder/out"

# ranks N WORD...: runs firn-mpi in N processes
ranks() {
    count=$1
    shift
    timeout 120 mpirun --oversubscribe -n "$count" "$MPI" "$@"
}

# words_of LOG: the parts that must be the same in every log of a run
words_of() {
    sed 's/,"seconds":[0-9.]*,"elapsed":[0-9.]*}/}/' "$1"
}

# compile NAME MODE RECIPE [OPTION]...
compile() {
    plan=$1
    mode=$2
    recipe=$3
    shift 3
    "$FIRNC" compile "$recipe" --mode "$mode" --key "$folder/key.key.pem" -o "$folder/$plan.$mode" "$@" \
        >"$folder/out" 2>&1 || fail "$plan: does not compile"
}

# tree BATCH MICRO: the options of a plan whose micro-batches are added as a tree
tree() {
    echo "--set trainer.init.loop.micro_batch_order=tree --set trainer.fit.train_dataloader.batch_size=$1 --set trainer.fit.train_dataloader.micro_batch_size=$2"
}

# equal NAME STEPS "RANKS..." OPTION...: trains the plan NAME.train in one process and in so many ranks
equal() {
    name=$1
    steps=$2
    numbers=$3
    shift 3
    rm -f "$folder"/one.* "$folder"/some.*
    set -- train "$folder/$name.train" --pub "$folder/key.pub.pem" --steps "$steps" --quiet "$@"
    "$FIRN" "$@" --log "$folder/one.log" --checkpoint "$folder/one.ckpt" >"$folder/one.out" 2>"$folder/err" ||
        { fail "$name: one process"; return; }
    for number in $numbers; do
        checked=$((checked + 1))
        rm -f "$folder"/some.*
        ranks "$number" "$@" --verify-ranks 2 --log "$folder/some.log" --checkpoint "$folder/some.ckpt" \
            >"$folder/some.out" 2>"$folder/err" || { fail "$name: $number ranks: exit $?"; continue; }
        cmp -s "$folder/one.out" "$folder/some.out" || fail "$name: $number ranks have another digest"
        cmp -s "$folder/one.ckpt" "$folder/some.ckpt" || fail "$name: $number ranks have another checkpoint"
        words_of "$folder/one.log" >"$folder/one.words"
        words_of "$folder/some.log" >"$folder/some.words"
        cmp -s "$folder/one.words" "$folder/some.words" || fail "$name: $number ranks have another log"
    done
}

# --- the same bits ---------------------------------------------------------------------------------------------------

# some: two numbers of ranks, others each time, or all of them
some() {
    if takes_all; then
        echo "1 2 3 4 5 7 8"
    else
        set -- "2 7" "3 8" "4 5" "2 5" "3 7" "4 8"
        shift $((${FIRN_TEST_FROM:-0} % 6))
        echo "$1"
    fi
}

dynamic="--set trainer.init.precision.fp16_type=float16 --set trainer.init.precision.loss_scaling_factor=dynamic"
overflows="$dynamic --set trainer.init.precision.initial_loss_scale=1e12 --set trainer.init.precision.max_loss_scale=1e12"
python3 - "$folder" <<'end'
import struct, sys

def save(name, descr, shape, raw):
    header = ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)).ljust(117) + "\n"
    with open(sys.argv[1] + "/" + name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + raw)

def noise(count, most):
    values, x = [], 1
    for _ in range(count):
        x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
        values.append((x >> 33) % most)
    return values

save("images.npy", "|u1", (64, 14, 14, 2), bytes(noise(64 * 14 * 14 * 2, 256)))
save("classes.npy", "<i4", (64,), struct.pack("<64i", *noise(64, 10)))
save("norms.npy", "<f4", (64, 1, 3, 3), struct.pack("<576f", *(n / 50 - 1 for n in noise(576, 100))))
save("norms_targets.npy", "<f4", (64, 2, 2, 2), struct.pack("<512f", *(n / 50 - 1 for n in noise(512, 100))))
end

if takes_next; then # clipping, dropout, and a loss scale that overflows
    compile gpt2 train $gpt2 $(tree 9 1) $overflows
    equal gpt2 6 "$(some) 9" --data $text
    grep -q '"skipped":true' "$folder/one.log" || fail "gpt2: no step is skipped"
fi
if takes_next; then # rows that do not count: a divisor of the whole batch
    cat >"$folder/masked.yaml" <<'end'
trainer:
  init:
    seed: 1
    model: {name: mlp, input_size: 6, hidden_sizes: [7], output_size: 5, nonlinearity: tanh, ignore_index: 0}
    optimizer: {SGD: {momentum: 0.5}}
    schedulers: [{ConstantLR: {learning_rate: 0.1}}]
    precision: {enabled: false}
    loop: {num_steps: 10}
  fit:
    train_dataloader: {batch_size: 12, micro_batch_size: 1, shuffle: true, feature_type: float32, label_type: int32}
end
    compile masked train "$folder/masked.yaml" $(tree 12 1)
    equal masked 5 "$(some)" --data $golden/masked_batches.npy --labels $golden/masked_batches_labels.npy
    compile weighted train "$folder/masked.yaml" $(tree 12 1) --set trainer.init.model.sample_weights=true
    equal weighted 5 "$(some)" --data $golden/masked_batches.npy --labels $golden/masked_batches_labels.npy \
        --weights $golden/masked_batches_weights.npy
fi
if takes_next; then # running statistics of batch norms
    compile resnet8 train compiler/recipes/small_resnet8.yaml $(tree 24 3)
    equal resnet8 4 "$(some)" --data "$folder/images.npy" --labels "$folder/classes.npy"
fi
if takes_next; then # a model of PyTorch's, with batch norms
    python3 - "$folder" <<'end'
import json, os, sys
recipe = {"trainer": {
    "init": {"seed": 1, "model": {"onnx": os.path.abspath("tests/onnx/forms/batch_norms.dynamo.onnx"),
                                  "loss": "mean_squared_error", "batch_statistics": True},
             "optimizer": {"SGD": {"momentum": 0.9}}, "schedulers": [{"ConstantLR": {"learning_rate": 0.01}}],
             "precision": {"enabled": False}, "loop": {"num_steps": 10}},
    "fit": {"train_dataloader": {"batch_size": 16, "shuffle": True, "feature_type": "float32", "label_type": "float32"}}}}
open(sys.argv[1] + "/onnx.yaml", "w").write(json.dumps(recipe))
end
    compile onnx train "$folder/onnx.yaml" $(tree 16 2)
    equal onnx 3 "$(some)" --data "$folder/norms.npy" --labels "$folder/norms_targets.npy"
fi
if takes_next; then
    compile lora train $gpt2 $(tree 8 1) --set trainer.init.fine_tuning='{lora: {rank: 2, alpha: 4, layers: ["*.attn.*"]}}'
    equal lora 4 "$(some)" --data $text
fi
for optimizer in "Lamb: {}" "Adafactor: {}" "Muon: {}" "NAdam: {}"; do
    takes_next || continue
    compile optimizer train $gpt2 $(tree 8 1) --set "trainer.init.optimizer={$optimizer}" $dynamic
    equal optimizer 4 "$(some)" --data $text
done
for target in amx-bf16 avx512-bf16; do # orders of matrix engines, in bfloat16
    takes_next || continue
    compile engine train $gpt2 $(tree 8 1) --target $target
    equal engine 4 "$(some)" --data $text
done

# --- evaluations -----------------------------------------------------------------------------------------------------

# evaluate NAME METRIC RECIPE DATA...: the value of one process, in so many ranks
evaluate() {
    name=$1
    metric=$2
    recipe=$3
    shift 3
    compile "$name" eval "$recipe" --set trainer.validate.metric="$metric" --set trainer.validate.val_dataloader.held_out=false
    "$FIRN" eval "$folder/$name.eval" --pub "$folder/key.pub.pem" --checkpoint "$folder/one.ckpt" "$@" --quiet \
        --allow-other-data >"$folder/one.value" 2>"$folder/err" || { fail "$name $metric: one process"; return; }
    for number in $(some); do
        checked=$((checked + 1))
        ranks "$number" eval "$folder/$name.eval" --pub "$folder/key.pub.pem" --checkpoint "$folder/one.ckpt" "$@" --quiet \
            --allow-other-data >"$folder/some.value" 2>"$folder/err" || { fail "$name $metric: $number ranks: exit $?"; continue; }
        cmp -s "$folder/one.value" "$folder/some.value" || fail "$name $metric: $number ranks have another value"
    done
}
if takes_next; then
    rm -f "$folder"/one.*
    compile resnet8 train compiler/recipes/small_resnet8.yaml $(tree 24 3)
    "$FIRN" train "$folder/resnet8.train" --pub "$folder/key.pub.pem" --data "$folder/images.npy" --labels "$folder/classes.npy" \
        --quiet --steps 3 --checkpoint "$folder/one.ckpt" >"$folder/out" 2>&1 || fail "resnet8: does not train"
    for metric in loss accuracy mean_per_class_accuracy mean_iou; do
        evaluate resnet8 $metric compiler/recipes/small_resnet8.yaml --data "$folder/images.npy" --labels "$folder/classes.npy"
    done
fi
if takes_next; then # in the course of a training: the values, the best state, and the end by --patience
    compile gpt2 train $gpt2 $(tree 8 1)
    compile gpt2 eval $gpt2 --set trainer.validate.val_dataloader.batch_size=1
    equal gpt2 8 "$(some)" --data $text --eval "$folder/gpt2.eval" --eval-every 3
fi

echo "$checked runs, $failures failures"
[ $failures -eq 0 ]
