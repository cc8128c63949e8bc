#!/bin/sh
# firn train --csv and --tensorboard: the numbers are those of --log, tables are RFC 4180, event files have right CRCs and are
# read by TensorBoard's own reader where it is installed. A run that was killed or interrupted anywhere and goes on has no step
# twice and none too few. What others have in these files is refused, and a file that fails ends the run behind a saved step.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
needs full
READER=$PWD/tests/end_to_end/event_files.py
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
cd "$folder"
three_classes
"$FIRNC" keygen key >out
# compile PLAN MODE [--set ...]
compile() {
    plan=$1 mode=$2
    shift 2
    "$FIRNC" compile recipe.yaml --mode "$mode" --key key.key.pem -o "$plan" "$@" >out
}
compile run.plan train
compile loss.plan eval
compile endless.plan train --set trainer.init.loop.num_steps=100000000
# train PLAN [OPTION]...
train() {
    plan=$1
    shift
    "$FIRN" train "$plan" --pub key.pub.pem --data x.npy --labels y.npy --threads 1 --quiet "$@"
}
# table.py CSV LOG: prints the table without times, after comparing each of its cells with the log
cat >table.py <<'end'
import csv, json, sys

text = open(sys.argv[1], newline="").read()
assert text.endswith("\r\n") and text.count("\n") == text.count("\r\n"), "lines do not end with CR and LF"
rows = list(csv.reader(text.splitlines(), strict=True))
assert len({len(row) for row in rows}) == 1, "rows of several lengths"
head = rows[0]
table = {int(row[0]): dict(zip(head, row)) for row in rows[1:]}
assert len(table) == len(rows) - 1, "a step is there twice"
log = {}
for line in open(sys.argv[2]):
    line = json.loads(line)
    if "step" in line:
        log[line["step"]] = line | log.get(line["step"], {})  # an evaluation has seconds of its own
assert list(table) == sorted(log), "other steps than in the log: %s" % list(table)[:5]
for step, row in table.items():
    for name, cell in row.items():
        wanted = log[step].get(name, "")
        if name in ("seconds", "elapsed"):
            assert abs(float(cell) - wanted) < 1e-3, (step, name)
        elif name == "skipped":
            assert cell == str(int(wanted)), (step, name)
        elif wanted is None:
            assert cell in ("nan", "inf", "-inf"), (step, name)
        else:
            assert cell == "" if wanted == "" else cell == wanted or float(cell) == wanted, (step, name)
names = [name for name in head if name not in ("seconds", "elapsed")]
print(*names, sep=",")
for row in table.values():
    print(*(row[name] for name in names), sep=",")
end

# --- a whole run --------------------------------------------------------------------------------------------------------

expect "a run without outputs" 0 "" train run.plan --eval loss.plan --eval-every 4
cp out whole.digest
expect "a run" 0 "" train run.plan --eval loss.plan --eval-every 4 --log whole.jsonl --csv whole.csv --tensorboard whole
same "the outputs change the digest" out whole.digest
python3 table.py whole.csv whole.jsonl >whole.table 2>err || fail "the table"
head -n 1 whole.table | grep -qx 'step,loss,learning_rate,loss_scale,gradient_norm,skipped,error,eval_loss' || fail "the columns"
[ "$(wc -l <whole.table)" -eq 31 ] && [ "$(grep -c ',[0-9.]*[0-9]$' whole.table)" -eq 8 ] || fail "30 rows and 8 evaluations"
python3 "$READER" whole >whole.events 2>err || fail "the event files"
[ "$(tail -n 3 whole.events | tr '\n' ' ')" = "files 1 starts rates 30 " ] || fail "one event file"
case $(ls whole) in
events.out.tfevents.1[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9].*.*) ;;
*) fail "the name of an event file: $(ls whole)" ;;
esac
python3 - <<'end' >differences 2>&1 || { cp differences err && fail "the events are not those of the table"; }
import csv

events = {}
for line in open("whole.events"):
    words = line.split()
    if words[0].isdigit():
        events[int(words[0]), words[1]] = float(words[2])
expected = {}
for row in csv.DictReader(open("whole.table")):
    for name, value in row.items():
        tag = "validation/" + name[5:] if name.startswith("eval_") else "train/" + name
        if value not in ("", "nan") and name not in ("step", "error"):
            expected[int(row["step"]), tag] = float(value)
assert events == expected, sorted(set(events.items()) ^ set(expected.items()))[:5]
end
theirs=
if python3 -c 'import tensorboard' 2>found; then
    theirs=python3
elif [ -x "${FIRN_TENSORBOARD:-}" ]; then
    theirs=$FIRN_TENSORBOARD
else
    echo "skipped for want of the Python package tensorboard (FIRN_TENSORBOARD names a Python with it): its reader of event files"
fi
# theirs_agree FOLDER: TensorBoard reads the scalars of the whole run
theirs_agree() {
    [ -n "$theirs" ] || return 0
    "$theirs" "$READER" --tensorboard "$1" >their.events 2>err || fail "$1: TensorBoard's reader"
    grep '^[0-9]' whole.events >our.events
    same "$1: TensorBoard reads other scalars" their.events our.events
}
theirs_agree whole

# --- further schedules, and a norm --------------------------------------------------------------------------------------

expect "a plan with groups" 0 "" "$FIRNC" compile recipe.yaml --mode train --key key.key.pem -o groups.plan \
    --set 'trainer.init.optimizer={SGD: {weight_decay: 0.01, params: [{params: "*bias*", tags: b}]}}' \
    --set 'trainer.init.schedulers=[{ConstantLR: {learning_rate: 0.25, param_group_tags: [null]}},
{LinearLR: {initial_learning_rate: 0.5, end_learning_rate: 0.125, total_iters: 3, param_group_tags: b}}]' \
    --set 'trainer.init.callbacks=[{ComputeNorm: {}}]'
expect "a run with two schedules" 0 "" train groups.plan --steps 5 --csv groups.csv --tensorboard groups
cut -d , -f 1,3,7 groups.csv | tr -d '\r' >groups.rates
{
    echo step,learning_rate,learning_rate.b
    for row in 1,0.25,0.5 2,0.25,0.375 3,0.25,0.25 4,0.25,0.125 5,0.25,0.125; do echo $row; done
} >groups.expected
same "the rates of two schedules" groups.rates groups.expected
python3 "$READER" groups >groups.events 2>err || fail "events of two schedules"
[ "$(grep -c '^[0-9]* train/learning_rate.b 0\.[0-9]*$' groups.events)" -eq 5 ] &&
    [ "$(grep -c '^[0-9]* train/gradient_norm [0-9.]*$' groups.events)" -eq 5 ] || fail "a rate or a norm is no event"

# --- killed anywhere ----------------------------------------------------------------------------------------------------

# Each read of the clock, of which an event has one in its middle, and each call that saves the state ends the process, or
# asks it to end.
cat >kill.c <<'end'
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void look(void) {
    static long count;
    const char *to = getenv("FAULT_COUNT");
    if (++count == atol(getenv("FAULT_AT")))
        raise(atoi(getenv("FAULT_SIGNAL")));
    if (to != NULL) {
        FILE *file = fopen(to, "w");
        fprintf(file, "%ld\n", count);
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
int ftruncate64(int file, off64_t length) {
    look();
    return REAL(ftruncate64)(file, length);
}
end
${CC:-cc} -std=c11 -O1 -shared -fPIC kill.c -o kill.so -ldl
# killable [OPTION]...: without --log, which would tell a run that goes on what was evaluated
killable() {
    train run.plan --eval loss.plan --eval-every 4 --csv cut.csv --tensorboard cut.events --checkpoint cut --checkpoint-every 7 "$@"
}
clear() {
    rm -rf cut cut.csv cut.events cut.tmp cut.lock
}
# cut_at SIGNAL CALL [OPTION]...
cut_at() {
    signal=$1 at=$2
    shift 2
    status=0
    (
        export LD_PRELOAD=./kill.so FAULT_AT="$at" FAULT_SIGNAL="$signal"
        killable "$@"
    ) >out 2>err || status=$?
}
# is_whole NAME: table and events are those of the run that was not killed, for every reader
is_whole() {
    python3 table.py cut.csv whole.jsonl.times >cut.table 2>err || fail "$1: the table"
    same "$1: another table" cut.table whole.table
    python3 "$READER" cut.events >cut.scalars 2>err || fail "$1: the event files"
    grep '^[0-9]' cut.scalars >cut.lines
    grep '^[0-9]' whole.events >whole.lines
    same "$1: other events" cut.lines whole.lines
}
# Times differ from those of the whole run; here only the other cells are compared.
sed -i 's/abs(float(cell) - wanted) < 1e-3/float(cell) >= 0/' table.py
cp whole.jsonl whole.jsonl.times
FAULT_COUNT=count
export FAULT_COUNT
cut_at 9 0
unset FAULT_COUNT
calls=$(cat count)
[ $status -eq 0 ] && [ "$calls" -gt 150 ] || fail "exit $status after $calls calls: is this test looking?"
is_whole "a run that is not killed"
clear
case=0
while [ $case -lt 24 ]; do
    case=$((case + 1))
    takes_next || continue
    signal=$((case % 3 == 0 ? 15 : 9))
    cut_at $signal $((case * 97 * calls / 240 % calls + case % 5 + 1))
    [ ! -e cut ] || [ $status -eq 0 ] || cut_at 9 $((case * 13 % 40 + 1)) --resume # twice
    if [ $status -ne 0 ]; then
        resume=--resume
        [ -e cut ] || { clear && resume=; }
        expect "killed by $signal, case $case: going on" 0 "" killable $resume
        same "killed by $signal, case $case: another digest" out whole.digest
    fi
    is_whole "killed by $signal, case $case"
    [ $case -ne 5 ] || theirs_agree cut.events
    clear
done
# An evaluation that a signal left undone comes into the row of its step, which was written without it.
undone=0
at=20
while [ $undone -eq 0 ] && [ $at -lt $((calls / 2)) ]; do
    at=$((at + 1))
    clear
    cut_at 15 $at
    [ "$(tail -n 1 cut.csv | sed -n 's/^\([0-9]*\),.*,\r$/\1/p')" = 8 ] || continue
    undone=1
    expect "an evaluation undone: going on" 0 "" killable --resume
    is_whole "an evaluation that was undone"
    grep -qx 'starts 9' cut.scalars || fail "an evaluation undone: no purge from step 9 on"
done
[ $undone -eq 1 ] || fail "no signal left an evaluation undone"
# A row that is none of this table is never taken for one, nor changed.
clear
expect "first steps, for another row" 0 "" killable --steps 8
for row in 8,firn "8$(printf '%0200d' 0 | sed 's/0/,1/g')" "8,$(printf '%0999d' 1)"; do
    sed -i "\$s/.*/$row\r/" cut.csv
    cp cut.csv cut.rows
    expect "another row" 1 "^firn: cut.csv: line 9 is none that this run wrote there" killable --resume --steps 1
    cmp -s cut.csv cut.rows || fail "another row was changed: $(sed -n 9p cut.csv | cut -c 1-60)"
done
# A checkpoint from before older files: each of them is cut. TensorBoard that has read them forgets the steps.
clear
expect "first steps" 0 "" killable --steps 8
cp cut early
expect "further steps" 0 "" killable --steps 8 --resume
expect "last steps" 0 "" killable --resume
cp early cut
expect "going on from before" 0 "" killable --resume
is_whole "going on from before"
grep -qx 'starts 9 17 9' cut.scalars && grep -qx 'files 4' cut.scalars || fail "going on from before: $(tail -n 3 cut.scalars)"
theirs_agree cut.events

# --- what is refused ----------------------------------------------------------------------------------------------------

# refused NAME STATUS PATTERN [OPTION]...: of a run of 8 steps that goes on; nothing is changed
refused() {
    name=$1 wanted=$2 pattern=$3
    shift 3
    find . -newer kill.so -type f -path './cut*' -exec cksum {} + | sort >before
    expect "$name" "$wanted" "$pattern" train run.plan --checkpoint cut "$@"
    find . -newer kill.so -type f -path './cut*' -exec cksum {} + | sort >after
    same "$name: something was changed" before after
}
clear
expect "a run to go on with" 0 "" killable --steps 8
mv cut cut.kept
refused "a table without --resume" 1 "cut.csv: is there already; give --resume to go on with it, or another name" --csv cut.csv
refused "events without --resume" 1 "cut.events: has the event files of this run (events.out.*); give --resume" --tensorboard cut.events \
    --eval loss.plan
refused "events of another run" 1 "cut.events: has event files of another run (events.out.*), which TensorBoard would mix" \
    --tensorboard cut.events
mv cut.kept cut
resume="--resume --eval loss.plan --eval-every 4"
refused "other columns" 1 "cut.csv: has other columns than this run writes: it begins with \"step,loss,.*,eval_loss\", and not with \
\"step,.*,elapsed\"; move it away" --resume --csv cut.csv
sed -i 's/metric: loss/metric: accuracy/' recipe.yaml
compile accuracy.plan eval
refused "events of another evaluation" 1 "has event files of another run" --resume --eval accuracy.plan --tensorboard cut.events
echo notes >cut.notes
refused "a file that is no table" 1 "cut.notes: has other columns than this run writes: it begins with \"notes\"" $resume --csv cut.notes
# lines FILE OPTION [OPTION]...: a whole line of somebody else is refused wherever it stands, as is a step behind a later one
lines() {
    file=$1 option=$2
    shift 2
    for edit in '2i # mine' '$a total,1' '5s/.*//' '$p' '6{h;d};7G'; do
        sed "$edit" "$file" >cut.edited
        [ "$edit" != '$p' ] || sed -n 3p "$file" >>cut.edited
        refused "a line in $file: $edit" 1 "cut.edited: line [0-9]* is none that this run wrote there: it begins with .*; take it \
out, or give another $option" $resume "$@" "$option" cut.edited
    done
}
lines cut.csv --csv
for edit in '$s/,[^,]*$/\r/' '$s/\r//' '$s/^/x/'; do
    sed "$edit" cut.csv >cut.edited
    refused "a row of another form: $edit" 1 "cut.edited: line 9 is none that this run wrote" $resume --csv cut.edited
done
expect "a log to go on with" 0 "" train run.plan --eval loss.plan --eval-every 4 --steps 8 --log cut.log --checkpoint cut.other
lines cut.log --log
{ cat cut.log && echo digest 0; } >cut.edited # as of standard output that appends to the log
expect "a log with the digest of the run" 0 "" train run.plan --checkpoint cut.other $resume --log cut.edited --steps 1
[ "$(sed '1,/"step":8,/d;/eval/d' cut.edited | cut -d , -f 1)" = '{"step":9' ] || fail "a log with the digest goes on: $(tail -n 2 cut.edited)"
head -n 6 cut.csv >cut.short
refused "a table that is too short" 1 "cut.short: ends at step 5 and the checkpoint is at step 8; give the table that goes with it" \
    $resume --csv cut.short
file=$(echo cut.events/*)
cp "$file" cut.whole
for bytes in 300 1000; do # events of fewer steps
    head -c $bytes cut.whole >"$file"
    refused "events that are too few" 1 "cut.events: its event files end at step [0-9]* and the checkpoint is at step 8" $resume \
        --tensorboard cut.events
done
for at in 0 9 13 60 300 700; do
    { head -c $at cut.whole && printf 'firn' && tail -c +$((at + 5)) cut.whole; } >"$file"
    refused "events with other bytes at $at" 1 "$file: is damaged at byte [0-9]*: " $resume --tensorboard cut.events
done
cp cut.whole "$file"
refused "a folder in no folder" 1 "none/events: the folder of the event files cannot be made: No such file" $resume \
    --tensorboard none/events
refused "a file as a folder" 1 "cut.notes: is no folder, in which event files could be" $resume --tensorboard cut.notes
refused "a table over the log" 2 "the log would be written over the table" $resume --log cut.csv --csv cut.csv
refused "a table over the data" 2 "the table would be written over the data" $resume --csv x.npy
refused "events into the data" 2 "the event files would be written over the data" $resume --tensorboard "$PWD/x.npy"
rm -rf cut.new
refused "a run that fails before its first step" 1 "none/log" $resume --csv cut.new.csv --tensorboard cut.new --log none/log
[ ! -e cut.new ] && [ ! -e cut.new.csv ] || fail "a run that failed before its first step has left a file"

# --- a file that fails --------------------------------------------------------------------------------------------------

# fails_at NAME PATTERN BLOCKS [OPTION]...: files may have so many blocks of 512 bytes; what was learned is saved
fails_at() {
    name=$1 pattern=$2 blocks=$3
    shift 3
    rm -rf small small.*
    status=0
    (ulimit -f "$blocks" && train endless.plan --checkpoint small "$@") >out 2>said.pipe || status=$?
    cp said.pipe err
    [ $status -eq 1 ] && grep -q "$pattern; raise the limit .*; the run stopped after step [0-9]*, and its state is in small" err ||
        fail "$name: exit $status"
    last=$(sed -n 's/.*stopped after step \([0-9]*\),.*/\1/p' err)
    expect "$name: what was saved" 0 "" "$FIRN" digest small
}
fails_at "a table that cannot grow" "small.csv: the table cannot be written: File too large" 32 --csv small.csv
[ "$(tail -n 1 small.csv | cut -d , -f 1)" = "$last" ] || fail "a table that cannot grow ends at another step than the run"
expect "going on with the table" 0 "" train endless.plan --checkpoint small --resume --csv small.csv --steps 5
fails_at "events that cannot grow" "small.events/events.out.*: the event file cannot be written: File too large" 32 \
    --tensorboard small.events
python3 "$READER" small.events >small.scalars 2>err || fail "events that cannot grow are damaged"
grep '^[0-9]' small.scalars | sort -n | tail -n 1 | grep -q "^$last " || fail "events that cannot grow end at another step than the run"
expect "going on with the events" 0 "" train endless.plan --checkpoint small --resume --tensorboard small.events --steps 5
expect "a full device" 1 "/dev/full: the table cannot be written: No space left" train run.plan --csv /dev/full
mkfifo pipe
expect "a table that nobody reads" 1 "pipe: the table cannot be written: nobody reads this pipe" timeout 10 "$FIRN" train run.plan \
    --pub key.pub.pem --data x.npy --labels y.npy --quiet --csv pipe
(
    exec 9<>pipe
    : >opened
    head -n 5 <&9 >lines
) &
while [ ! -e opened ]; do sleep 0.1; done
rm -f small
expect "a table that nobody reads any more" 1 "pipe: the table cannot be written: Broken pipe; .*its state is in small" train \
    endless.plan --csv pipe --checkpoint small
wait
cat pipe >piped &
expect "a table in a pipe" 0 "" train run.plan --eval loss.plan --eval-every 4 --csv pipe
wait
python3 table.py piped whole.jsonl >piped.table 2>err || fail "a table in a pipe"
same "a table in a pipe is another" piped.table whole.table
# Removed, and cut, while it is written
for way in "rm -f gone.csv" "truncate -s 700 gone.csv" "rm -f gone.events/*"; do
    rm -rf gone gone.*
    "$FIRN" train endless.plan --pub key.pub.pem --data x.npy --labels y.npy --threads 1 --quiet --csv gone.csv \
        --tensorboard gone.events --checkpoint gone >out 2>err &
    child=$!
    until [ -e gone.csv ] && [ "$(wc -l <gone.csv)" -gt 50 ]; do sleep 0.02; done
    $way
    sleep 0.05
    kill -TERM $child
    status=0
    wait $child || status=$?
    [ $status -eq 1 ] && grep -q "gone.*: the .* was [cutremovd]* during the run, .*its state is in gone" err || fail "$way: exit $status"
done

[ $failures -eq 0 ]
