#!/bin/sh
# firn train --eval where something is wrong: command lines, plans and data that cannot be evaluated are refused before
# the first step, a full disk or a closed folder loses no training, and a file that is there is never replaced unasked.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
needs full others
root=$PWD
BUILD=$(cd "$BUILD" && pwd)
FIRNC=$BUILD/firnc
FIRN=$BUILD/firn

cat >"$folder/recipe.yaml" <<'end'
trainer:
  init:
    seed: 1
    model: {name: mlp, input_size: 4, hidden_sizes: [5], output_size: 3, nonlinearity: tanh}
    optimizer: {SGD: {momentum: 0.5}}
    schedulers: [{ConstantLR: {learning_rate: 0.3}}]
    precision: {enabled: false}
    loop: {num_steps: 30}
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
for name, count in (("", 64), ("test_", 20), ("few_", 2)):
    x = np.float32([random.gauss(0, 1) for _ in range(4 * count)]).reshape(count, 4)
    np.save(name + "x.npy", x)
    np.save(name + "y.npy", np.int32(x[:, 0] > 0) + np.int32(x[:, 0] > 0.5))
np.save("u.npy", np.uint8([random.randrange(256) for _ in range(256)]).reshape(64, 4))
np.save("far_y.npy", np.int32([7] * 20))
np.save("late_y.npy", np.int32([0] * 16 + [7, 0, 0, 0]))
end
cd "$folder"
"$FIRNC" keygen key >out
"$FIRNC" keygen other >out
# compile PLAN MODE [--set ...]
compile() {
    plan=$1
    mode=$2
    shift 2
    "$FIRNC" compile recipe.yaml --mode "$mode" --key key.key.pem -o "$plan" "$@" >out 2>err
}
VAL=trainer.validate.val_dataloader
compile train.plan train
compile endless.plan train --set trainer.init.loop.num_steps=unlimited
compile loss.plan eval
compile all.plan eval --set $VAL.held_out_per_mille=0
compile whole.plan eval --set $VAL.held_out_per_mille=0 --set $VAL.drop_last=true
compile wide.plan eval --set trainer.init.model.hidden_sizes=[6]
compile nothing.plan eval --set trainer.validate.metric=none --set "trainer.validate.outputs=[logits]"
compile half.plan eval --set $VAL.held_out_per_mille=500
compile bytes.plan train --set trainer.fit.train_dataloader.feature_type=uint8
compile scaled.plan eval --set $VAL.feature_type=uint8 --set $VAL.feature_scale=0.5
compile newer.plan eval --security-counter 3
"$FIRNC" compile recipe.yaml --mode eval --key other.key.pem -o foreign.plan >out 2>err
RECORDS="--data x.npy --labels y.npy"
TEST="--eval-data test_x.npy --eval-labels test_y.npy"
train() {
    "$FIRN" train train.plan --pub key.pub.pem $RECORDS --threads 1 --quiet "$@"
}

scaled() {
    "$FIRN" train bytes.plan --pub key.pub.pem --data u.npy --labels y.npy --steps 1 --eval scaled.plan "$@"
}

# --- refused before the first step -----------------------------------------------------------------------------------

# refused NAME STATUS PATTERN OPTION...: nothing is made
refused() {
    name=$1 wanted=$2 pattern=$3
    shift 3
    ls >before
    expect "$name" "$wanted" "$pattern" train "$@"
    ls >after
    same "$name: something was made or is left" before after
}
: >after
: >before
for option in "--eval-every 5" "--keep-best best" "--patience 3" "--by loss" "--eval-data x.npy" "--eval-labels y.npy" \
    "--eval-sample-weights w.npy" --allow-other-preprocessing --allow-other-split; do
    refused "$option alone" 2 "needs --eval with ${option%% *}" $option
done
refused "keeping without a log" 2 "needs --log with --keep-best" --eval loss.plan --keep-best best
refused "patience without a log" 2 "needs --log with --patience" --eval loss.plan --patience 2
refused "labels alone" 2 "needs --eval-data with --eval-labels" --eval loss.plan --eval-labels test_y.npy
refused "weights alone" 2 "needs --eval-labels with --eval-sample-weights" --eval loss.plan --eval-data test_x.npy \
    --eval-sample-weights test_y.npy
for option in --eval-every --patience; do
    for value in 0 -1 x 18446744073709551616; do
        refused "$option $value" 2 "$option: $value is not a number of .*; write one from 1" --eval loss.plan --log log $option $value
    done
done
for option in "--eval loss.plan" "--eval-every 2" "--patience 2" "--keep-best a" "--by loss"; do
    refused "$option twice" 2 "is given twice" --eval all.plan --eval-every 3 --patience 3 --keep-best b --by accuracy --log log \
        $option
done
expect "a run without an end" 2 "endless.plan: the run has no end, .*; give --eval-every" "$FIRN" train endless.plan \
    --pub key.pub.pem $RECORDS --quiet --eval loss.plan --steps 3
refused "another metric" 2 "loss.plan: the plan has no metric accuracy; write --by and one of: loss" --eval loss.plan --by accuracy
refused "a train plan" 3 "train.plan: .*(WRONG_MODE); .*train --eval run those compiled with --mode eval" --eval train.plan
refused "another model" 3 "wide.plan: has another model than the plan that is trained (OTHER_OWNER)" --eval wide.plan
refused "no metric" 3 "nothing.plan: .*(NO_METRIC)" --eval nothing.plan
refused "another key" 3 "foreign.plan: .*(WRONG_KEY)" --eval foreign.plan
refused "no plan" 3 "x.npy: begins like " --eval x.npy
refused "a plan that is missing" 1 "none.plan: " --eval none.plan
refused "another split" 3 "half.plan: it holds out another part .*(CHECKPOINT_OTHER_SPLIT); .*--allow-other-split" --eval half.plan
expect "another preprocessing" 3 "scaled.plan: it preprocesses the data otherwise .*(CHECKPOINT_OTHER_PREPROCESSING)" \
    scaled --quiet
expect "another preprocessing that is allowed" 0 "" scaled --allow-other-preprocessing
grep -q "^scaled.plan: it preprocesses .*; allowed by --allow-other-preprocessing" err || fail "what is allowed is not noted"
refused "the held-out part of other data" 3 "loss.plan: it evaluates a part .*(CHECKPOINT_OTHER_DATA); leave out --eval-data" \
    --eval loss.plan $TEST
refused "another security counter" 3 "newer.plan: has the security counter 3, and the plan that is trained has 0" \
    --eval newer.plan --counter counter
refused "data without labels" 1 "test_x.npy: the plan also reads .*; give them by --eval-labels\$" --eval all.plan \
    --eval-data test_x.npy
refused "data for labels" 1 "test_x.npy: --eval-labels has 4 .*swapped, give this one by --eval-data" --eval all.plan \
    --eval-data test_x.npy --eval-labels test_x.npy
refused "weights that are not read" 2 "all.plan: the plan reads no weights; leave out --eval-sample-weights" --eval all.plan $TEST \
    --eval-sample-weights test_x.npy
# Options of tables and archives hold for the data of the training and of the evaluation.
python3 - <<'file'
import array, zipfile

for name in "", "test_":
    with zipfile.ZipFile(name + "both.npz", "w") as archive:
        archive.write(name + "x.npy", name + "features.npy")
        archive.write(name + "y.npy", name + "labels.npy")
    with open(name + "x.npy", "rb") as x, open(name + "y.npy", "rb") as y, open(name + "table.csv", "w") as table:
        features, labels = array.array("f", x.read()[128:]), array.array("i", y.read()[128:])
        table.write("a,b,c,d," + name + "class\n")
        for i, label in enumerate(labels):
            table.write(",".join(repr(v) for v in features[4 * i : 4 * i + 4]) + ",%d\n" % label)
file
# forms NAME STATUS PATTERN OPTION...: a run with these data
forms() {
    name=$1 wanted=$2 pattern=$3
    shift 3
    expect "$name" "$wanted" "$pattern" "$FIRN" train train.plan --pub key.pub.pem --quiet --steps 1 --eval all.plan "$@"
}
BOTH="holds for --data and --eval-data"
forms "a table beside arrays" 1 "test_table.csv: has 5 columns for features, .*; choose them by --columns, and the target by \
--target-column; these options hold for --data and --eval-data: give both as tables\$" $RECORDS --eval-data test_table.csv
cut -d , -f 1-4 test_table.csv >features.csv
forms "a table of features alone" 1 "features.csv: the plan also reads .*; name their column by --target-column, which $BOTH: give \
both as tables, or give them by --eval-labels\$" $RECORDS --eval-data features.csv
forms "a table of features and labels beside arrays" 0 "" $RECORDS --eval-data features.csv --eval-labels test_y.npy
forms "a table beside arrays, with its column" 2 "gets labels twice.*--target-column $BOTH: give both as tables, or neither" \
    $RECORDS --eval-data test_table.csv --target-column 5
forms "arrays beside a table" 1 "test_x.npy: is no table .*; --target-column $BOTH: give both as tables\$" --data table.csv \
    --target-column 5 --eval-data test_x.npy
forms "other columns" 1 "test_table.csv: has no column class, which --target-column names; .*; --target-column $BOTH: both need \
this column\$" --data table.csv --target-column class --eval-data test_table.csv
forms "labels beside a column of labels" 2 "gets labels twice, by --eval-labels and --target-column; leave one out" \
    --data table.csv --target-column 5 --eval-data test_table.csv --eval-labels test_y.npy
forms "weights beside a column of labels" 2 "all.plan: the plan reads no weights; leave out --eval-sample-weights" --data table.csv \
    --target-column 5 --eval-data test_table.csv --eval-sample-weights test_y.npy
forms "a table beside a table" 0 "" --data table.csv --target-column 5 --eval-data test_table.csv
forms "an archive beside arrays" 1 "test_both.npz: has 2 arrays: .* by --member, which $BOTH: both need an array of this name" \
    $RECORDS --eval-data test_both.npz --eval-labels test_y.npy
forms "an archive beside arrays, with its name" 1 "x.npy: is no .npz file, .*; --member $BOTH: give both as .npz files\$" \
    $RECORDS --member test_features --eval-data test_both.npz --eval-labels test_y.npy
forms "other names of arrays" 1 "test_both.npz: has no array of the name features; .* by --member, which $BOTH" --data both.npz \
    --labels both.npz --member features,labels --eval-data test_both.npz --eval-labels test_both.npz
forms "an archive beside an archive" 0 "" --data both.npz --labels both.npz --member features,labels --eval-data both.npz \
    --eval-labels both.npz
forms "archives with one array" 1 "x.npy: is no .npz file, .*; leave out --member\$" $RECORDS --member x
expect "data of the training without labels" 1 "x.npy: the plan also reads .*; give them by --labels\$" "$FIRN" train train.plan \
    --pub key.pub.pem --data x.npy --quiet --eval all.plan $TEST
expect "a short batch" 0 "" train --steps 1 --eval all.plan --eval-data few_x.npy --eval-labels few_y.npy
refused "too little data" 1 "few_x.npy: .*a batch takes 3" --eval whole.plan --eval-data few_x.npy --eval-labels few_y.npy
refused "a label out of range" 1 "far_y.npy: .*DATA_RANGE" --eval all.plan --eval-data test_x.npy --eval-labels far_y.npy
refused "data that are missing" 1 "none.npy: " --eval all.plan --eval-data none.npy --eval-labels test_y.npy
for way in "--eval half.plan --allow-other-split" "--eval loss.plan $TEST --allow-other-data" "--eval newer.plan"; do
    expect "$way" 0 "" train --steps 1 $way
done
cp x.npy data.npy
for name in data.npy y.npy train.plan loss.plan key.pub.pem test_x.npy test_y.npy log check; do
    refused "the best in place of $name" 2 "would be written over" --data data.npy --eval loss.plan $TEST --keep-best $name \
        --log log --checkpoint check
done
refused "the checkpoint by way of the best" 2 "check: the checkpoint would be written by way of .tmp over the best checkpoint" \
    --eval loss.plan --keep-best check.tmp --checkpoint check --log log
refused "the log in place of the eval plan" 2 "would be written over the eval plan" --eval loss.plan --log loss.plan
mkdir data kept
cp x.npy data
expect "the best among the data of the evaluation" 2 "into the folder of the data of the evaluation" train --eval all.plan \
    --eval-data data --eval-labels y.npy --keep-best data/best --log log
refused "a folder for the best" 1 "kept: is a folder" --eval loss.plan --keep-best kept --log log
echo notes >notes
refused "another file for the best" 1 "notes: is there already and is no checkpoint" --eval loss.plan --keep-best notes --log log
refused "a log that keeps nothing" 1 "/dev/null: is no regular file, from which --resume could read" --eval loss.plan \
    --keep-best best --log /dev/null

# --- memory and room are there before the first step -----------------------------------------------------------------

compile large.plan eval --set $VAL.batch_size=4000000 --set $VAL.held_out_per_mille=0
little() {
    sh -c 'ulimit -v 60000; exec "$@"' - "$FIRN" train train.plan --pub key.pub.pem $RECORDS --threads 1 --quiet "$@"
}
if little --steps 1 >out 2>err; then
    expect "no memory for the evaluation" 1 "large.plan: needs [0-9]* bytes of state, [0-9]* of arena .*, and there are not as \
many" little --eval large.plan $TEST --log log
    [ ! -e log ] || fail "no memory for the evaluation: a step was run"
else
    echo "skipped: firn takes more memory here than this test allows it"
fi
no_room() {
    (
        ulimit -f 0
        "$@"
    )
}
no_room train --eval loss.plan --keep-best full --log /dev/null 2>&1 >out | cat >err || true
grep -q "full: [0-9]* bytes for a checkpoint cannot be reserved: .* (STORAGE_FULL); .*no step was run" err ||
    fail "no room for the best is not known before the first step"
[ ! -e full ] && [ ! -e full.tmp ] && [ ! -e full.lock ] || fail "a run without room has begun"
# Root writes anywhere, so root becomes another user.
unprivileged() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid=65534 --clear-groups "$@"
    else
        "$@"
    fi
}
mkdir closed
chmod 555 closed
chmod 755 .
cp "$FIRN" firn # a build folder may be closed to other users
expect "a folder that is read-only" 1 "closed/best: its folder cannot be written to" unprivileged ./firn train train.plan \
    --pub key.pub.pem $RECORDS --quiet --eval loss.plan --keep-best closed/best --log /dev/null

# --- files of an earlier run -----------------------------------------------------------------------------------------

# evaluated [OPTION]...
evaluated() {
    train --eval loss.plan --eval-every 5 --keep-best best --log log --checkpoint check --checkpoint-every 5 "$@"
}
expect "a run" 0 "" evaluated --steps 12
cp best best.kept
cp log log.kept
cp check check.kept
# restore: the files as they were after this run
restore() {
    for file in best log check; do cp $file.kept $file; done
}
expect "a best that is there" 1 "best: is there already; give --resume" train --eval loss.plan --keep-best best --log new
expect "another eval plan" 1 "log: its first line names another eval plan" train --eval all.plan --eval-every 5 --log log \
    --checkpoint check --resume
expect "other data of the evaluation" 1 "log: its first line names another eval plan, or other data" evaluated --resume $TEST \
    --allow-other-data
expect "a log without evaluations" 0 "" train --steps 3 --log without --checkpoint plain
expect "evaluations for a log without" 1 "without: its first line names another eval plan, .*, or none" train --eval loss.plan \
    --log without --checkpoint plain --resume
expect "another log for them" 0 "" train --eval loss.plan --log with --checkpoint plain --resume
expect "a best without its log" 1 "best: has the state of step [0-9]*, whose loss is not in the log; give the --log" train \
    --eval loss.plan --eval-every 5 --keep-best best --log another --checkpoint check --resume
[ ! -e another ] || fail "a log of nothing is left"
compile other_run.plan train --set trainer.init.seed=2
expect "another run" 0 "" "$FIRN" train other_run.plan --pub key.pub.pem $RECORDS --quiet --steps 3 --checkpoint other
cp other best
expect "the best of another run" 3 "best: .*(CHECKPOINT_OTHER_RUN); give another --keep-best" evaluated --resume
# The whole file is checked: a byte less, a byte more, and another byte in its header, its directory and its state.
# damaged NAME: this file is refused and stays, and so do the others
damaged() {
    cp best damaged
    expect "$1" 3 "best: .*(CHECKPOINT_DAMAGED); give another --keep-best, restore this file from a copy, or remove it: then the \
best state so far is lost" evaluated --resume
    same "$1: it was changed" best damaged
    for file in log check; do same "$1: $file was changed" $file $file.kept; done
}
bytes=$(wc -c <best.kept)
for count in 100 511 512 700 $((bytes - 1)); do
    head -c $count best.kept >best
    damaged "a best of $count bytes"
done
(cat best.kept && printf x) >best
damaged "a best with a byte behind it"
for at in 13 60 400 530 700 $((bytes - 40)) $((bytes - 3)); do
    cp best.kept best
    byte=$(od -An -tu1 -j $at -N 1 best | tr -d ' ')
    printf "\\$(printf %o $(((byte + 1) % 256)))" | dd of=best bs=1 seek=$at conv=notrunc 2>dd
    damaged "a best with another byte $at"
done
# The best state of a run of the same plan over other data is that of another run, before and after the checkpoint.
python3 - <<'file'
with open("x.npy", "rb") as file:
    bytes = bytearray(file.read())
bytes[-1] ^= 128
with open("other_x.npy", "wb") as file:
    file.write(bytes)
file
for steps in 5 10 15; do
    rm -f strange strange.log
    expect "a run with other data" 0 "" "$FIRN" train train.plan --pub key.pub.pem --data other_x.npy --labels y.npy --quiet \
        --steps $steps --eval loss.plan --eval-every $steps --keep-best strange --log strange.log
    cp strange best
    expect "the best of other data, step $steps" 3 "best: .*(CHECKPOINT_OTHER_DATA); give another --keep-best: this is the best \
state of another run" evaluated --resume
    for file in log check; do same "the best of other data: $file was changed" $file $file.kept; done
    same "the best of other data was changed" best strange
done
# A run that was killed may leave a best state that is ahead of its checkpoint. It is of this run if the log has its line,
# and goes with that line; without it, it is refused.
restore
expect "a checkpoint before the best" 0 "" train --checkpoint early --steps 4
best_step=$(sed -n 's/^{"step":\([0-9]*\),"eval_loss":\([^,]*\),.*/\1 \2/p' log.kept | sort -s -k 2,2g | head -n 1 | cut -d ' ' -f 1)
[ "$best_step" -gt 4 ] || fail "the best state is not ahead of the checkpoint: is this test looking?"
cp early check
grep -v "^{\"step\":$best_step,\"eval_loss\"" log.kept >log
cp log log.without
expect "a best ahead of the checkpoint that is not in the log" 1 "best: has the state of step $best_step, whose loss is not in \
the log; give the --log that goes with it" evaluated --resume
same "a best that is not in the log: the log was cut" log log.without
same "a best that is not in the log was changed" best best.kept
same "a best that is not in the log: the checkpoint was changed" check early
cp log.kept log
expect "a log of other evaluations beside a best" 1 "log: its first line names another eval plan" train --eval all.plan \
    --eval-every 5 --keep-best best --log log --checkpoint check --resume
same "a log of other evaluations was cut" log log.kept
same "a best beside a log of other evaluations was changed" best best.kept
expect "a best ahead of the checkpoint" 0 "" "$FIRN" train train.plan --pub key.pub.pem $RECORDS --threads 1 --eval loss.plan \
    --eval-every 5 --keep-best best --log log --checkpoint check --resume --steps 0
grep -q "^best had the state of step $best_step and was removed: the run goes on after step 4, and comes to that state again" err ||
    fail "a best ahead of the checkpoint: no note"
[ ! -e best ] && [ "$(wc -l <log)" -eq 5 ] || fail "a best ahead of the checkpoint does not go with its line of the log"
expect "a best that went, and one evaluation" 0 "" evaluated --resume --steps $((best_step - 4))
"$FIRN" digest best >digest
"$FIRN" digest best.kept >digest.kept
same "a best that went comes again as another one" digest digest.kept
restore
expect "to the end" 0 "" evaluated --resume
"$FIRN" digest best >whole.best
sed 's/,"seconds":.*/}/' log >whole.lines
# The best file may be gone, or have come too late: the next state that is better than none is kept.
restore
rm best
expect "a best that was removed" 0 "" evaluated --resume
[ -e best ] || fail "a best that was removed does not come again"

# --- storage that fails ----------------------------------------------------------------------------------------------

# The rename of the best file fails once, or always from then on.
cat >faults.c <<'end'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rename(const char *from, const char *to) {
    static int count;
    const char *name = strrchr(to, '/');
    if (strcmp(name == NULL ? to : name + 1, getenv("FAULT_NAME")) == 0 && ++count >= atoi(getenv("FAULT_FROM")) &&
        count <= atoi(getenv("FAULT_TO"))) {
        errno = ENOSPC;
        return -1;
    }
    return ((__typeof__(&rename))dlsym(RTLD_NEXT, "rename"))(from, to);
}
end
${CC:-cc} -std=c11 -O1 -shared -fPIC faults.c -o faults.so -ldl
# failing FROM TO [OPTION]...
failing() {
    from=$1 to=$2
    shift 2
    LD_PRELOAD="./faults.so ${LD_PRELOAD:-}" FAULT_NAME=best FAULT_FROM=$from FAULT_TO=$to "$FIRN" train train.plan --pub key.pub.pem $RECORDS \
        --threads 1 --quiet --eval loss.plan --eval-every 5 --keep-best best --log log --checkpoint check --checkpoint-every 5 "$@"
}
rm -f best log check
train --steps 30 >plain.digest
status=0
failing 1 100 >out 2>err || status=$?
[ $status -eq 1 ] || fail "a best that cannot be saved: exit $status"
grep -q "^firn: best: the best state so far, that of step 5, cannot be saved: No space left on device (STORAGE_FULL); the disk is \
full: make room; there is no file yet, and the run goes on" err && tail -n 1 err |
    grep -q "^firn: best: the best state, that of step [0-9]*, could not be saved and is lost; there is no file" ||
    fail "a best that cannot be saved: no message"
[ ! -e best ] && [ ! -e best.tmp ] && [ ! -e best.lock ] || fail "half a best is left"
"$FIRN" digest check >digest
same "a best that cannot be saved cost training" digest plain.digest
sed 's/,"seconds":.*/}/' log >lines
same "a best that cannot be saved cost evaluations" lines whole.lines
# One that fails only once is made good by the next one that is better.
rm -f best log check
later() {
    failing 1 1 2>later.err
}
expect "a best that is saved later" 0 "" later
grep -q "^firn: best: the best state so far, that of step 5, cannot be saved" later.err || fail "one failure is not reported"
"$FIRN" digest best >digest
same "a best that is saved later is another one" digest whole.best
# The state of the checkpoint is saved when the run goes on, if it is the best one and the file does not have it.
for steps in 5 10 15 20 25 30; do
    rm -f best log check
    status=0
    failing 1 100 --steps $steps >out 2>err || status=$?
    [ $status -eq 1 ] || fail "no best after $steps steps: exit $status"
    grep -q "^firn: best: the best state, that of step $steps," err || continue
    expect "the best that is the state of the checkpoint" 0 "" evaluated --resume --steps 0
    "$FIRN" digest best >digest
    same "the best that is the state of the checkpoint is another one" digest out
    made_good=1
done
[ "${made_good:-0}" -eq 1 ] || fail "no checkpoint has the best state: is this test looking?"

# --- data of the evaluation that change ------------------------------------------------------------------------------

# changed COMMAND...: the run while the command changes the data that it evaluates
changed() {
    rm -f seen seen.jsonl seen.best
    cp -p test_x.npy seen.npy
    "$FIRN" train endless.plan --pub key.pub.pem $RECORDS --threads 1 --quiet --eval all.plan --eval-every 50 --eval-data seen.npy \
        --eval-labels test_y.npy --log seen.jsonl --checkpoint seen --keep-best seen.best >out 2>err &
    child=$!
    until [ -e seen.jsonl ] && [ "$(wc -l <seen.jsonl)" -gt 120 ] || ! kill -0 $child 2>dd; do sleep 0.02; done
    "$@"
}
changed cp few_x.npy seen.npy
status=0
wait $child || status=$?
[ $status -eq 1 ] && grep -q "^firn: seen.npy: was changed while it was in use.* (SOURCE); the run stopped after step [0-9]*, and \
its state is in seen; give it as it was and go on by --resume" err || fail "data of the evaluation that change: exit $status"
cp -p test_x.npy seen.npy
expect "going on with the data as they were" 0 "" "$FIRN" train endless.plan --pub key.pub.pem $RECORDS --threads 1 --quiet \
    --eval all.plan --eval-every 50 --eval-data seen.npy --eval-labels test_y.npy --log seen.jsonl --checkpoint seen --resume \
    --steps 60
changed touch seen.npy
# Two runs do not keep one best state.
expect "the best of another run that goes on" 1 "seen.best: .*another" train --eval loss.plan --keep-best seen.best --log elsewhere
[ ! -e elsewhere ] || fail "a run without its best has begun"
kill -TERM $child 2>dd || true
status=0
wait $child || status=$?
[ $status -eq 130 ] || fail "data of the evaluation that are touched: exit $status"
# A label that is out of range late in the data is found by the first evaluation, and nothing is lost.
rm -f late late.jsonl
expect "a label that is out of range late" 1 "late_y.npy: .*DATA_RANGE" train --eval all.plan --eval-every 7 \
    --eval-data test_x.npy --eval-labels late_y.npy --log late.jsonl --checkpoint late
"$FIRN" digest late >digest
train --steps 7 >out
same "a label that is out of range cost training" out digest

# --- a log that cannot grow ------------------------------------------------------------------------------------------

compile long.plan train --set trainer.init.loop.num_steps=3000
# The bytes are counted by the shell in units of 512 or 1024.
small_log() {
    sh -c 'ulimit -f 32; exec "$@"' - "$FIRN" train long.plan --pub key.pub.pem $RECORDS --threads 1 --quiet --eval loss.plan \
        --eval-every 3 --log small.jsonl --checkpoint small
}
status=0
small_log >out 2>err || status=$?
[ $status -eq 1 ] && grep -q "small.jsonl: the log cannot be written: File too large" err || fail "a log that cannot grow: exit $status"
expect "going on with it" 0 "" "$FIRN" train long.plan --pub key.pub.pem $RECORDS --threads 1 --quiet --eval loss.plan \
    --eval-every 3 --log small.jsonl --checkpoint small --resume
[ "$(grep -c eval_loss small.jsonl)" -eq 1000 ] && [ "$(wc -l <small.jsonl)" -eq 4001 ] ||
    fail "a log that could not grow lacks evaluations"

cd "$root"
[ $failures -eq 0 ]
