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
    rm -rf "$folder"/one.* "$folder"/some.*
    set -- train "$folder/$name.train" --pub "$folder/key.pub.pem" --steps "$steps" --quiet "$@"
    "$FIRN" "$@" --log "$folder/one.log" --csv "$folder/one.csv" --checkpoint "$folder/one.ckpt" >"$folder/one.out" 2>"$folder/err" ||
        { fail "$name: one process"; return; }
    for number in $numbers; do
        checked=$((checked + 1))
        rm -rf "$folder"/some.*
        ranks "$number" "$@" --verify-ranks 2 --log "$folder/some.log" --csv "$folder/some.csv" --tensorboard "$folder/some.events" \
            --checkpoint "$folder/some.ckpt" \
            >"$folder/some.out" 2>"$folder/err" || { fail "$name: $number ranks: exit $?"; continue; }
        cmp -s "$folder/one.out" "$folder/some.out" || fail "$name: $number ranks have another digest"
        cmp -s "$folder/one.ckpt" "$folder/some.ckpt" || fail "$name: $number ranks have another checkpoint"
        words_of "$folder/one.log" >"$folder/one.words"
        words_of "$folder/some.log" >"$folder/some.words"
        cmp -s "$folder/one.words" "$folder/some.words" || fail "$name: $number ranks have another log"
        cut -d , -f 1-6 "$folder/one.csv" >"$folder/one.words" # without times
        cut -d , -f 1-6 "$folder/some.csv" >"$folder/some.words"
        cmp -s "$folder/one.words" "$folder/some.words" || fail "$name: $number ranks have another table"
        [ "$(ls "$folder/some.events" | wc -l)" -eq 1 ] || fail "$name: $number ranks have not one event file"
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
        --sample-weights $golden/masked_batches_weights.npy
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
if takes_next; then # messages by TCP, as between machines
    export OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self
    compile gpt2 train $gpt2 $(tree 9 1) $dynamic
    equal gpt2 4 "$(some)" --data $text
    unset OMPI_MCA_pml OMPI_MCA_btl
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
    case $metric in mean_per_class_accuracy) set -- "$@" --per-class ;; esac
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

# --- numbers of ranks that change, and the volume --------------------------------------------------------------------

if takes_next; then
    compile gpt2 train $gpt2 $(tree 8 1)
    set -- train "$folder/gpt2.train" --pub "$folder/key.pub.pem" --data $text --quiet
    rm -rf "$folder"/one.* "$folder"/some.*
    "$FIRN" "$@" --steps 9 --log "$folder/one.log" >"$folder/one.out" 2>"$folder/err" || fail "gpt2: one process"
    ranks 7 "$@" --steps 3 --log "$folder/some.log" --checkpoint "$folder/some.ckpt" >"$folder/out" 2>&1 || fail "7 ranks"
    ranks 1 "$@" --steps 3 --log "$folder/some.log" --checkpoint "$folder/some.ckpt" --resume >"$folder/out" 2>&1 || fail "7, 1 ranks"
    ranks 3 "$@" --steps 2 --log "$folder/some.log" --checkpoint "$folder/some.ckpt" --resume >"$folder/out" 2>&1 || fail "7, 1, 3 ranks"
    "$FIRN" "$@" --steps 1 --log "$folder/some.log" --checkpoint "$folder/some.ckpt" --resume >"$folder/some.out" 2>"$folder/err" ||
        fail "7, 1, 3 ranks and one process"
    words_of "$folder/one.log" >"$folder/one.words"
    words_of "$folder/some.log" >"$folder/some.words"
    cmp -s "$folder/one.out" "$folder/some.out" && cmp -s "$folder/one.words" "$folder/some.words" ||
        fail "a run that changes its number of ranks ends otherwise"
    checked=$((checked + 3))
fi
if takes_next; then # a state that no step has changed, which begins with more than zeros, and a run that is complete
    compile gpt2 train $gpt2 $(tree 8 1) --set trainer.init.loop.num_steps=4 \
        --set 'trainer.init.optimizer={Adagrad: {initial_accumulator_value: 0.5}}'
    rm -rf "$folder"/one.* "$folder"/some.*
    for steps in 0 4 4; do
        set -- train "$folder/gpt2.train" --pub "$folder/key.pub.pem" --data $text --quiet --steps $steps
        [ ! -e "$folder/one.ckpt" ] || set -- "$@" --resume
        wanted=0
        "$FIRN" "$@" --checkpoint "$folder/one.ckpt" >"$folder/one.out" 2>"$folder/err" || wanted=$?
        got=0
        ranks 3 "$@" --checkpoint "$folder/some.ckpt" >"$folder/some.out" 2>"$folder/err" || got=$?
        [ $got -eq $wanted ] || fail "--steps $steps: 3 ranks end with exit code $got, one process with $wanted"
        same "--steps $steps: 3 ranks have another digest" "$folder/one.out" "$folder/some.out"
        same "--steps $steps: 3 ranks have another checkpoint" "$folder/one.ckpt" "$folder/some.ckpt"
        checked=$((checked + 1))
    done
    [ $wanted -eq 5 ] || fail "the run is not complete: exit $wanted"
fi
if takes_next; then # at most 2 (R - 1) / R times the bytes of the gradients, and 1 % of that for all else
    compile wide train $gpt2 $(tree 8 1) --set trainer.init.model.hidden_size=192 --set trainer.init.model.filter_size=768
    for number in 2 4 8; do
        checked=$((checked + 1))
        ranks $number train "$folder/wide.train" --pub "$folder/key.pub.pem" --data $text --steps 2 >"$folder/out" 2>&1 ||
            fail "wide: $number ranks"
        sed -n "s/^$number ranks: .* sent \([0-9]*\) bytes of gradients in 2 steps, [0-9.]* times the \([0-9]*\) bytes .* and \([0-9]*\) bytes of losses.*/\1 \2 \3/p" \
            "$folder/out" >"$folder/sent"
        awk -v ranks=$number 'END { most = 2 * 2 * (ranks - 1) / ranks * $2
                                    exit !(NR == 1 && $1 <= 1.01 * most && $3 <= 0.01 * most) }' "$folder/sent" ||
            fail "wide: $number ranks send $(cat "$folder/sent")"
    done
fi

if takes_next; then # the README's commands, and a signal that batch systems send
    OUT=$folder/demo compiler/recipes/demo_mpi.sh 2 >"$folder/out" 2>&1 || fail "the demonstration"
    grep -q 'The two digests are equal' "$folder/out" || fail "the demonstration says nothing"
    checked=$((checked + 1))
fi

# --- refusals and faults ---------------------------------------------------------------------------------------------

# says NAME STATUS PATTERN COMMAND...: exits with that status, and one line of firn's matches the pattern
says() {
    name=$1
    wanted=$2
    pattern=$3
    shift 3
    status=0
    "$@" >"$folder/out" 2>"$folder/err" </dev/null || status=$?
    [ "$status" -eq "$wanted" ] || fail "$name: exit $status, not $wanted"
    [ "$(grep -c '^firn: ' "$folder/err")" -eq 1 ] || fail "$name: not one line of firn's"
    grep -q -- "^firn: .*$pattern" "$folder/err" || fail "$name: no '$pattern'"
    checked=$((checked + 1))
}
if takes_next; then
    compile gpt2 train $gpt2 $(tree 8 1)
    compile ordered train $gpt2 --set trainer.fit.train_dataloader.micro_batch_size=1
    set -- --pub "$folder/key.pub.pem" --data $text --quiet --steps 2 --checkpoint "$folder/none.ckpt"
    says "more ranks than micro-batches" 3 "8 micro-batches in a step, and there are 9 ranks" ranks 9 train "$folder/gpt2.train" "$@"
    says "micro-batches in sequence" 3 "micro_batch_order: tree" ranks 2 train "$folder/ordered.train" "$@"
    compile ring train compiler/recipes/small_mlp.yaml $(tree 4 2) --set trainer.fit.train_dataloader.source=push \
        --set trainer.fit.train_dataloader.ring=8 --set trainer.fit.train_dataloader.held_out_per_mille=0 \
        --set trainer.init.model.input_size=392
    says "samples that are pushed" 3 "pushed into a ring, which one process has; run it by firn" ranks 2 train "$folder/ring.train" \
        --pub "$folder/key.pub.pem" --data "$folder/images.npy" --labels "$folder/classes.npy" --quiet --steps 2
    says "another command" 2 "predict: is a command of firn" ranks 2 predict "$folder/gpt2.train" "$@"
    says "no data" 2 "needs --data" ranks 2 train "$folder/gpt2.train" --pub "$folder/key.pub.pem"
    says "no plan" 1 "none.train" ranks 3 train "$folder/none.train" "$@"
    says "--verify-ranks 0" 2 "not a number of steps" ranks 2 train "$folder/gpt2.train" "$@" --verify-ranks 0
    # rank 2 has other data
    { cat $text && echo more; } >"$folder/other.txt"
    says "other data on a rank" 3 "rank 2 on .* has other data than rank 0" timeout 120 mpirun --oversubscribe -n 2 "$MPI" \
        train "$folder/gpt2.train" "$@" : -n 1 "$MPI" train "$folder/gpt2.train" --pub "$folder/key.pub.pem" --data "$folder/other.txt"
    says "no data on a rank" 1 "rank 2 on .*: .*none.txt: " timeout 120 mpirun --oversubscribe -n 2 "$MPI" \
        train "$folder/gpt2.train" "$@" : -n 1 "$MPI" train "$folder/gpt2.train" --pub "$folder/key.pub.pem" --data "$folder/none.txt"
    [ ! -e "$folder/none.ckpt" ] || fail "a refused run has left a checkpoint"
    says "a log that cannot be written" 1 "/dev/full: the log cannot be written" ranks 3 train "$folder/gpt2.train" \
        --pub "$folder/key.pub.pem" --data $text --quiet --steps 2 --log /dev/full
fi

if takes_next; then # more CPUs than mpirun gives the rank
    compile gpt2 train $gpt2 $(tree 8 1)
    for binding in core none; do
        [ "$(nproc)" -gt 1 ] || break
        timeout 120 mpirun --bind-to $binding -n 1 "$MPI" train "$folder/gpt2.train" --pub "$folder/key.pub.pem" --data $text \
            --steps 1 >"$folder/out" 2>"$folder/$binding.err" || fail "--bind-to $binding"
        checked=$((checked + 1))
    done
    [ "$(nproc)" -eq 1 ] || grep -q "^firn-mpi: mpirun binds rank 0 to 1 of $(nproc) CPUs" "$folder/core.err" || fail "no note of a rank that is bound"
    ! grep -q 'mpirun binds' "$folder/none.err" || fail "a note of a rank that is not bound"
fi

# rank_of PROCESS: its rank
rank_of() {
    tr '\0' '\n' <"/proc/$1/environ" 2>/dev/null | sed -n 's/^OMPI_COMM_WORLD_RANK=//p'
}
# start N OPTION...: starts a run of the plan gpt2.train in N ranks, with a save after every step, and waits for the first
start() {
    count=$1
    shift
    rm -rf "$folder"/some.*
    mpirun --oversubscribe -n "$count" "$MPI" train "$folder/gpt2.train" --pub "$folder/key.pub.pem" --quiet \
        --checkpoint "$folder/some.ckpt" --checkpoint-every 1 --log "$folder/some.log" "$@" >"$folder/out" 2>"$folder/err" &
    started=$!
    waited=0
    while [ ! -e "$folder/some.ckpt" ] && [ $waited -lt 600 ]; do
        sleep 0.05
        waited=$((waited + 1))
    done
}
# process_of RANK: of the run that was started
process_of() {
    for process in $(ps -o pid= --ppid $started); do
        [ "$(rank_of "$process")" != "$1" ] || echo "$process"
    done
}
# goes_on: the checkpoint of a run that was stopped leads to its end
goes_on() {
    "$FIRN" train "$folder/gpt2.train" --pub "$folder/key.pub.pem" --data $text --quiet --checkpoint "$folder/some.ckpt" \
        --log "$folder/some.log" --resume >"$folder/got" 2>&1 || [ $? -eq 5 ] || fail "$1: cannot be resumed"
    grep -q "$(cat "$folder/whole")" "$folder/got" || fail "$1: the resumed run has another digest"
}
# goes_on_for_two NAME: after two more steps it has the state that one process has after as many
goes_on_for_two() {
    set -- "$1" train "$folder/gpt2.train" --pub "$folder/key.pub.pem" --data $text --quiet
    name=$1
    shift
    "$FIRN" "$@" --steps 2 --checkpoint "$folder/some.ckpt" --log "$folder/some.log" --resume >"$folder/got" 2>&1 ||
        fail "$name: cannot be resumed"
    "$FIRN" "$@" --steps $(($(wc -l <"$folder/some.log") - 1)) >"$folder/wanted" 2>&1
    grep -q "$(grep '^digest' "$folder/wanted")" "$folder/got" || fail "$name: the resumed run has another digest"
}
# long_plan: makes a plan of so many steps that a fast machine takes more than a second, and the digest at its end
long_plan() {
    compile gpt2 train $gpt2 $(tree 8 1) --set trainer.init.loop.num_steps=2000
    [ -e "$folder/whole" ] || "$FIRN" train "$folder/gpt2.train" --pub "$folder/key.pub.pem" --data $text --quiet \
        >"$folder/whole" 2>"$folder/err" || fail "the long plan"
}
if takes_next; then # each rank, at many moments
    long_plan
    kills=50
    takes_all || kills=1
    killed=0
    while [ $killed -lt $kills ]; do
        killed=$((killed + 1))
        start 4 --data $text
        sleep "0.$(((killed * 37 + ${FIRN_TEST_FROM:-0} * 13) % 90 + 10))"
        victim=$(((killed + ${FIRN_TEST_FROM:-0}) % 4))
        all=$(ps -o pid= --ppid $started) || true # none: the next line says so
        kill -9 "$(process_of $victim || true)" 2>/dev/null || { fail "rank $victim had ended before it was killed"; continue; }
        began=$(date +%s)
        status=0
        wait $started || status=$?
        [ $status -ne 0 ] || fail "killed rank $victim: exit 0"
        [ $(($(date +%s) - began)) -le 10 ] || fail "killed rank $victim: the run goes on for $(($(date +%s) - began)) s"
        [ "$(grep -c "^firn: firn-mpi: rank $victim (process [0-9]* on .*) has died after step" "$folder/err")" -eq 1 ] ||
            fail "killed rank $victim: no line names it"
        for process in $all; do # mpirun may end before the last of its processes
            while kill -0 "$process" 2>/dev/null && [ $(($(date +%s) - began)) -le 10 ]; do sleep 0.1; done
        done
        goes_on "killed rank $victim"
        checked=$((checked + 1))
    done
fi
# Signals to mpirun. USR1 it passes on at once. To the others it sends SIGTERM a second later, and SIGKILL after another one,
# which a busy machine may need for a step: then the checkpoint before leads to the end as well.
for signal in USR1 TERM INT; do
    takes_next || continue
    compile gpt2 train $gpt2 $(tree 8 1) --set trainer.init.loop.num_steps=100000
    start 3 --data $text
    kill -$signal $started || fail "SIG$signal: the run had ended before"
    status=0
    wait $started || status=$?
    case $signal in
    USR1)
        [ $status -eq 130 ] || fail "SIG$signal: exit $status"
        [ "$(grep -c "^interrupted after step [0-9]*; .*some.ckpt has it, --resume goes on" "$folder/err")" -eq 1 ] ||
            fail "SIG$signal: no line says where the run ended"
        ;;
    *) [ $status -ne 0 ] || fail "SIG$signal: exit 0" ;;
    esac
    ! grep -q ' has died' "$folder/err" || fail "SIG$signal: a rank is said to have died"
    goes_on_for_two "SIG$signal"
    checked=$((checked + 1))
done
if takes_next; then # the file of rank 2 is truncated in the course of the run
    long_plan
    awk -v text="$(cat $text)" 'BEGIN { for (i = 0; i < 22000; i++) print text }' >"$folder/large.txt" # not read into memory
    cp "$folder/large.txt" "$folder/two.txt"
    start 2 --data "$folder/large.txt" : -n 1 "$MPI" train "$folder/gpt2.train" --pub "$folder/key.pub.pem" --data "$folder/two.txt"
    : >"$folder/two.txt"
    status=0
    wait $started || status=$?
    [ $status -eq 1 ] || fail "a truncated file on rank 2: exit $status"
    [ "$(grep -c '^firn: .*two.txt of rank 2 on .*SOURCE' "$folder/err")" -eq 1 ] || fail "a truncated file on rank 2: no line says so"
    rm -f "$folder/whole"
    "$FIRN" train "$folder/gpt2.train" --pub "$folder/key.pub.pem" --data "$folder/large.txt" --quiet >"$folder/whole"
    text=$folder/large.txt goes_on "a truncated file on rank 2"
    rm "$folder/whole"
    checked=$((checked + 1))
fi
if takes_next; then # the disk of rank 0 takes no more
    long_plan
    start 3 --data $text
    prlimit --fsize=4096 --pid "$(process_of 0)"
    status=0
    wait $started || status=$?
    [ $status -eq 1 ] || fail "a full disk on rank 0: exit $status"
    grep -q '^firn: .*cannot be' "$folder/err" || fail "a full disk on rank 0: no line says so"
    goes_on "a full disk on rank 0"
    checked=$((checked + 1))
fi

echo "$checked runs, $failures failures"
[ $failures -eq 0 ]
