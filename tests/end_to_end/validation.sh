#!/bin/sh
# firn train --eval: the values in the log are those of firn eval to the last digit, training is not changed by them, the
# best state is kept, --patience ends a run, and a run that was killed or interrupted anywhere and goes on has the same
# evaluations, the same best state and the same end.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
needs full
root=$PWD
BUILD=$(cd "$BUILD" && pwd)
FIRNC=$BUILD/firnc
FIRN=$BUILD/firn

# lines LOG: the parts that must be the same in every log of a run
lines() {
    sed 's/,"seconds":[0-9.]*,"elapsed":[0-9.]*}/}/' "$1"
}
# values LOG: step and value of each evaluation
values() {
    sed -n 's/^{"step":\([0-9]*\),"eval_[a-z_]*":\([^,]*\),.*/\1 \2/p' "$1"
}

cat >"$folder/recipe.yaml" <<'end'
trainer:
  init:
    seed: 1
    model: {name: mlp, input_size: 4, hidden_sizes: [5], output_size: 3, nonlinearity: tanh}
    optimizer: {SGD: {momentum: 0.5}}
    schedulers: [{ConstantLR: {learning_rate: 0.3}}]
    precision: {enabled: false}
    loop: {num_steps: 60}
  fit:
    train_dataloader: {batch_size: 4, shuffle: true, feature_type: float32, label_type: int32, held_out_per_mille: 250}
  validate:
    metric: loss
    val_dataloader: {batch_size: 3}
end
python3 - "$folder" <<'end'
import os, random, sys

import numpy as np

os.chdir(sys.argv[1])
random.seed(3)
for name, count in (("", 64), ("test_", 20)):
    x = np.float32([random.gauss(0, 1) for _ in range(4 * count)]).reshape(count, 4)
    i = np.arange(count, dtype=np.int32)
    np.save(name + "x.npy", x)
    np.save(name + "y.npy", np.where(i % 5 > 0, np.int32(x[:, 0] > 0) + np.int32(x[:, 0] > 0.5), i % 3))
    np.save(name + "w.npy", np.float32([random.choice((0, 0.5, 2)) for _ in range(count)]))
for name, shape, top in (("im", (40, 15, 10, 1), 256), ("im_y", (40,), 4), ("sensor", (40, 64), 256), ("sensor_y", (40,), 10)):
    np.save(name + ".npy", np.uint8([random.randrange(top) for _ in range(np.prod(shape))]).reshape(shape))
np.save("nan.npy", np.full((8, 4), np.nan, np.float32))
np.save("nan_y.npy", np.zeros(8, np.int32))
end
cat /usr/share/common-licenses/GPL-3 /usr/share/common-licenses/GPL-2 >"$folder/text"
cp compiler/recipes/small_gpt2.yaml compiler/recipes/small_ds_cnn.yaml compiler/recipes/device_mlp.yaml "$folder"
cd "$folder"
"$FIRNC" keygen key >out
# compile PLAN RECIPE MODE [--set ...]
compile() {
    plan=$1
    recipe=$2
    mode=$3
    shift 3
    "$FIRNC" compile "$recipe" --mode "$mode" --key key.key.pem -o "$plan" "$@" >out 2>err
}
compile train.plan recipe.yaml train
compile loss.plan recipe.yaml eval
compile accuracy.plan recipe.yaml eval --set trainer.validate.metric=accuracy
compile all.plan recipe.yaml eval --set trainer.validate.val_dataloader.held_out_per_mille=0
WEIGHTED="--set trainer.init.model.sample_weights=true --set trainer.init.model.ignore_index=2"
compile weighted_train.plan recipe.yaml train $WEIGHTED
compile weighted.plan recipe.yaml eval $WEIGHTED --set trainer.validate.metric=perplexity
compile gpt_train.plan small_gpt2.yaml train
compile gpt.plan small_gpt2.yaml eval
compile images_train.plan small_ds_cnn.yaml train
compile images.plan small_ds_cnn.yaml eval --set trainer.validate.metric=loss
compile pushed_train.plan device_mlp.yaml train
compile pushed.plan device_mlp.yaml eval --set trainer.validate.metric=accuracy
RECORDS="--data x.npy --labels y.npy"

# Every call of these ends the process, or asks it to end, if its number is FAULT_AT. The clock is read around each step and
# each evaluation.
cat >kill.c <<'end'
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void look(void) {
    static long count;
    const char *at = getenv("FAULT_AT");
    if (at != NULL && ++count == atol(at))
        raise(atoi(getenv("FAULT_SIGNAL")));
    const char *to = getenv("FAULT_COUNT");
    if (to != NULL) {
        FILE *file = fopen(to, "w");
        fprintf(file, "%ld\n", ++count);
        fclose(file);
    }
}
int clock_gettime(clockid_t clock, struct timespec *now) {
    look();
    return REAL(clock_gettime)(clock, now);
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    look();
    return REAL(pwrite64)(file, bytes, count, offset);
}
int fsync(int file) {
    look();
    return REAL(fsync)(file);
}
int rename(const char *from, const char *to) {
    look();
    return REAL(rename)(from, to);
}
end
${CC:-cc} -std=c11 -O1 -shared -fPIC kill.c -o kill.so -ldl

# --- the values ------------------------------------------------------------------------------------------------------

# evaluates NAME TRAIN-PLAN EVAL-PLAN STEPS EVERY "DATA" "EVAL-DATA" "DATA OF EVAL" [OPTION]...: each value in the log is
# the text that firn eval prints of a checkpoint of that step, and the digest is that of a run without evaluations.
evaluates() {
    about=$1 plan=$2 eval_plan=$3 steps=$4 every=$5 data=$6 eval_data=$7 of_eval=$8
    shift 8
    allowed=
    case " $* " in *" --allow-other-data "*) allowed=--allow-other-data ;; esac
    rm -f run run.jsonl best plain
    expect "$about" 0 "" "$FIRN" train "$plan" --pub key.pub.pem $data --quiet --steps "$steps" --eval "$eval_plan" \
        --eval-every "$every" $eval_data --log run.jsonl --checkpoint run --keep-best best "$@"
    cp out run.digest
    values run.jsonl >run.values
    step=0
    : >wanted.values
    while [ $step -lt "$steps" ]; do
        step=$((step + every))
        resume=--resume
        [ -e plain ] || resume=
        expect "$about, to step $step" 0 "" "$FIRN" train "$plan" --pub key.pub.pem $data --quiet --steps "$every" \
            --checkpoint plain $resume
        cp out plain.digest
        expect "$about, firn eval after $step" 0 "" "$FIRN" eval "$eval_plan" --pub key.pub.pem $of_eval --quiet \
            --checkpoint plain $allowed
        echo "$step $(cat out)" >>wanted.values
        cp plain "plain.$step"
    done
    same "$about: other values than those of firn eval" run.values wanted.values
    same "$about: another digest with evaluations" run.digest plain.digest
}
# keeps NAME ORDER: the best checkpoint is that of the first of the best values, by the order of sort.
keeps() {
    best_step=$(sort -s -k "2,2$2" wanted.values | head -n 1 | cut -d ' ' -f 1)
    "$FIRN" digest best >best.digest
    "$FIRN" digest "plain.$best_step" >wanted.digest
    same "$1: another best state than that of step $best_step" best.digest wanted.digest
}
evaluates "the loss of records held out" train.plan loss.plan 60 6 "$RECORDS" "" "$RECORDS"
keeps "the lowest loss" g
cp run.values loss.values
evaluates "the same with three threads" train.plan loss.plan 60 6 "$RECORDS" "" "$RECORDS" --threads 3
same "three threads: other values" run.values loss.values
evaluates "accuracy" train.plan accuracy.plan 60 6 "$RECORDS" "" "$RECORDS"
keeps "the highest accuracy" gr
evaluates "a test set of its own" train.plan all.plan 30 10 "$RECORDS" "--eval-data test_x.npy --eval-labels test_y.npy" \
    "--data test_x.npy --labels test_y.npy"
keeps "the lowest loss of a test set" g
evaluates "weights and ignored labels" weighted_train.plan weighted.plan 30 10 "$RECORDS --sample-weights w.npy" "" \
    "$RECORDS --sample-weights w.npy"
evaluates "weights of a test set" weighted_train.plan weighted.plan 30 15 "$RECORDS --sample-weights w.npy" \
    "--eval-data test_x.npy --eval-labels test_y.npy --eval-sample-weights test_w.npy" \
    "--data test_x.npy --labels test_y.npy --sample-weights test_w.npy" --allow-other-data
evaluates "text" gpt_train.plan gpt.plan 6 3 "--data text" "" "--data text"
keeps "the lowest value of text" g
evaluates "statistics of a batch norm" images_train.plan images.plan 4 2 "--data im.npy --labels im_y.npy" "" \
    "--data im.npy --labels im_y.npy"
evaluates "samples that are pushed" pushed_train.plan pushed.plan 12 4 "--data sensor.npy --labels sensor_y.npy" "" \
    "--data sensor.npy --labels sensor_y.npy"

# The log calls each metric by its word in a recipe.
for metric in loss mean perplexity accuracy mean_per_class_accuracy mean_iou dice fbeta \
    "{FBetaScoreMetric: {average_type: macro}}"; do
    case $metric in
    mean) word=loss ;;
    *Metric*) word=fbeta ;;
    *) word=$metric ;;
    esac
    compile metric.plan recipe.yaml eval --set "trainer.validate.metric=$metric"
    evaluates "the metric $metric" train.plan metric.plan 10 10 "$RECORDS" "" "$RECORDS" --by $word
    grep -q "^{\"step\":10,\"eval_$word\":" run.jsonl || fail "$metric has another name in the log"
done

# train PLAN ...
train() {
    plan=$1
    shift
    "$FIRN" train "$plan" --pub key.pub.pem $RECORDS --threads 1 "$@"
}
# Without an interval the end of the run is evaluated, and only that; the middle of a run is not its end.
expect "at the end" 0 "" train train.plan --quiet --eval loss.plan --log end.jsonl --checkpoint end
[ "$(values end.jsonl | cut -d ' ' -f 1)" = 60 ] || fail "without --eval-every the end is not evaluated"
expect "an interval that does not divide the run" 0 "" train train.plan --quiet --eval loss.plan --eval-every 25 \
    --log odd.jsonl --checkpoint odd --steps 40
[ "$(values odd.jsonl | cut -d ' ' -f 1 | tr '\n' ' ')" = "25 " ] || fail "an evaluation at the end of a call"
expect "its end" 0 "" train train.plan --quiet --eval loss.plan --eval-every 25 --log odd.jsonl --checkpoint odd --resume
[ "$(values odd.jsonl | cut -d ' ' -f 1 | tr '\n' ' ')" = "25 50 60 " ] || fail "the end of a run is not evaluated"
# Data that end a run are its end, too.
compile once.plan recipe.yaml train --set trainer.fit.train_dataloader.wrap=false
expect "data that end" 0 "" train once.plan --quiet --eval loss.plan --eval-every 5 --log once.jsonl --checkpoint once
[ "$(values once.jsonl | cut -d ' ' -f 1 | tr '\n' ' ')" = "5 10 12 " ] || fail "the end of the data is not evaluated"
expect "data that have ended" 5 "complete at step 12" train once.plan --quiet --eval loss.plan --eval-every 5 \
    --log once.jsonl --checkpoint once --resume
expect "shown" 0 "" train train.plan --eval loss.plan --eval-every 20
[ "$(sed -n 's/^step [0-9]*: eval loss [0-9.]*\(, the best so far\)\{0,1\}$/x/p' err | wc -l)" -eq 3 ] ||
    fail "the evaluations are not shown"
grep -q '^step 60/60 .*  eval loss [0-9.]*$' err && grep -q '^best loss: [0-9.]*, after step [0-9]*, of 3 evaluations$' err ||
    fail "the value is not in the line of progress, or the best not at the end"

# --- what the recipe says --------------------------------------------------------------------------------------------

# says STEPS PLAN [OPTION]...: the run evaluates after these steps
says() {
    at_steps=$1
    plan=$2
    shift 2
    rm -f said.jsonl
    expect "$plan $*" 0 "" train "$plan" --quiet --eval loss.plan --log said.jsonl "$@"
    [ "$(values said.jsonl | cut -d ' ' -f 1 | tr '\n' ' ')" = "$at_steps " ] || fail "$plan $*: $(values said.jsonl)"
}
compile steps.plan recipe.yaml train --set trainer.init.loop.eval_frequency=25
[ ! -s err ] || fail "eval_frequency is warned of"
compile share.plan recipe.yaml train --set trainer.init.loop.eval_frequency=0.25
compile initial.plan recipe.yaml train --set trainer.init.checkpoint.save_initial_checkpoint=true
says "25 50 60" steps.plan
says "15 30 45 60" share.plan
says "40 60" share.plan --eval-every 40
"$FIRNC" inspect share.plan --schedule | grep -q '^said: evaluation  *every 15 steps$' || fail "inspect does not show the interval"
"$FIRNC" inspect initial.plan --schedule | grep -q '^said: checkpoint  *before the first step$' || fail "inspect does not show the first save"
# Nothing that runs depends on it.
"$FIRNC" inspect train.plan --all | grep '^run hash' >wanted.hash
for plan in steps share initial; do
    "$FIRNC" inspect $plan.plan --all | grep '^run hash' >hash
    same "$plan.plan is another run" hash wanted.hash
done
saves() {
    LD_PRELOAD="./kill.so ${LD_PRELOAD:-}" FAULT_AT=$1 FAULT_SIGNAL=9 "$FIRN" train "$2" --pub key.pub.pem $RECORDS --threads 1 --quiet \
        --checkpoint first --log first.jsonl >out 2>err || true
}
saves 60 train.plan
[ ! -e first ] || fail "a run saves its first state unasked"
rm -f first.jsonl
saves 60 initial.plan
expect "the state before the first step" 0 "" train initial.plan --quiet --checkpoint first --resume --steps 0
cp out first.digest
expect "a state without a step" 0 "" train train.plan --quiet --checkpoint zero --steps 0
same "the state before the first step is another" first.digest out

# --- values that are not finite --------------------------------------------------------------------------------------

expect "no finite value" 0 "" train train.plan --eval all.plan --eval-data nan.npy --eval-labels nan_y.npy --eval-every 10 \
    --keep-best none --patience 4 --log nan.jsonl --checkpoint nan
grep -q "^the run ends after step 40 by --patience 4: none of 4 evaluations had a finite loss" err || fail "nan: no end"
grep -q "^the evaluation after step 10 has a loss that is not finite (LOSS_NOT_FINITE)" err || fail "nan: no note"
[ "$(values nan.jsonl | sort -u -k 2,2)" = "10 null" ] && [ ! -e none ] || fail "a value that is not finite is the best"

# --- patience --------------------------------------------------------------------------------------------------------

compile long.plan recipe.yaml train --set trainer.init.loop.num_steps=2000
# stops [OPTION]...
stops() {
    train long.plan --quiet --eval loss.plan --eval-every 5 --keep-best stop.best --log stop.jsonl --checkpoint stop \
        --checkpoint-every 7 "$@"
}
expect "patience" 0 "" stops --patience 3
[ "$(wc -l <err)" -eq 1 ] && grep -q "^the run ends after step [0-9]* by --patience 3: loss was not better than [0-9.]*, that of \
step [0-9]*, in 3 evaluations" err || fail "patience does not say why it ends the run"
cp out stop.digest
cp stop.jsonl stop.kept
last=$(values stop.jsonl | tail -n 1 | cut -d ' ' -f 1)
[ $((last - $(values stop.jsonl | sort -s -k 2,2g | head -n 1 | cut -d ' ' -f 1))) -eq 15 ] || fail "patience ended at $last"
"$FIRN" digest stop >digest
same "patience: the last state was not saved" digest stop.digest
for patience in 3 1; do
    expect "a run that patience has ended" 5 "ended after step $last by --patience: .*; nothing is left to do; a --patience \
above 3 goes on" stops --patience $patience --resume
    same "a run that patience has ended has another digest" out stop.digest
    same "a run that patience has ended has another log" stop.jsonl stop.kept
done
expect "more patience" 0 "" stops --patience 20 --steps 10 --resume
[ "$(tail -n 1 stop.jsonl | sed 's/,.*//')" = "{\"step\":$((last + 10))" ] || fail "more patience does not go on"

# --- killed anywhere -------------------------------------------------------------------------------------------------

# killable [OPTION]...
killable() {
    train long.plan --quiet --eval loss.plan --eval-every 4 --keep-best cut.best --log cut.jsonl --checkpoint cut \
        --checkpoint-every 7 --patience 5 "$@"
}
# clear: no file of that run is left
clear() {
    rm -f cut cut.jsonl cut.best cut.tmp cut.best.tmp cut.lock cut.best.lock
}
expect "a run that is not killed" 0 "" env LD_PRELOAD=./kill.so FAULT_COUNT=count "$FIRN" train long.plan --pub key.pub.pem \
    $RECORDS --threads 1 --quiet --eval loss.plan --eval-every 4 --keep-best cut.best --log cut.jsonl --checkpoint cut \
    --checkpoint-every 7 --patience 5
cp err whole.err
cp out whole.digest
lines cut.jsonl >whole.lines
"$FIRN" digest cut.best >whole.best
calls=$(cat count)
[ "$calls" -gt 100 ] || fail "only $calls calls: is this test looking?"

# cut SIGNAL AT [OPTION]...: a run that gets the signal at a call; its exit status
cut_at() {
    signal=$1 at=$2
    shift 2
    status=0
    (
        export LD_PRELOAD=./kill.so FAULT_AT="$at" FAULT_SIGNAL="$signal"
        killable "$@"
    ) >out 2>err || status=$?
}
# goes_on NAME SIGNAL: from what was cut to the end, which is that of the run that was not
goes_on() {
    case $2 in
    9) interrupted=137 ;;
    *) interrupted=130 ;;
    esac
    [ $status -eq $interrupted ] || [ $status -eq 0 ] || [ $status -eq 5 ] || fail "$1: exit $status"
    if [ $status -eq $interrupted ] || [ ! -e cut ]; then
        resume=--resume
        if [ ! -e cut ]; then
            clear
            resume=
        fi
        expect "$1: going on" 0 "" killable $resume
        cp err last.err
    else
        cp err last.err
    fi
    same "$1: another digest" out whole.digest
    tail -n 1 last.err >last.line
    same "$1: another end" last.line whole.err
    lines cut.jsonl >cut.lines
    same "$1: another log" cut.lines whole.lines
    "$FIRN" digest cut.best >cut.digest
    same "$1: another best state" cut.digest whole.best
}
clear
case=0
while [ $case -lt 100 ]; do
    case=$((case + 1))
    takes_next || continue
    # Twice: at first anywhere, then in what is left.
    at=$((case * 37 * calls / 100 % calls + case % 3 + 1))
    cut_at 9 $at
    if [ -e cut ] && [ $status -eq 137 ]; then
        cut_at 9 $((case * 13 % 40 + 1)) --resume
    fi
    goes_on "killed at call $at" 9
    clear
done
# Interrupts end a run between steps, or between the batches of an evaluation, which is then the first thing to be done.
undone=0
at=$((calls / 4))
while [ $undone -eq 0 ] && [ $at -lt "$calls" ]; do
    at=$((at + 1))
    cut_at 2 $at
    [ $status -eq 130 ] && grep -q "^interrupted after step [0-9]*; cut has it, --resume goes on" err ||
        fail "interrupted at call $at: exit $status"
    step=$(grep -c loss_bits cut.jsonl)
    [ $((step % 4)) -ne 0 ] || tail -n 1 cut.jsonl | grep -q '"eval_loss"' || undone=1
    goes_on "interrupted at call $at" 2
    clear
done
[ $undone -eq 1 ] || fail "no interrupt left an evaluation undone: is this test looking?"

cd "$root"
[ $failures -eq 0 ]
