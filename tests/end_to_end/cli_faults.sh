#!/bin/sh
# What firn and firnc do when the machine fails them: closed descriptors, full disks, folders that cannot be read, files
# that change while they are read. Nothing may be lost or half written without a message that says so.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
needs full others
BUILD=$(cd "$BUILD" && pwd)
FIRNC=$BUILD/firnc
FIRN=$BUILD/firn
corpus=$PWD/tests/fuzz/corpus

cat >"$folder/recipe.yaml" <<'end'
trainer:
  init:
    seed: 1
    model: {name: mlp, input_size: 4, hidden_sizes: [5], output_size: 3, nonlinearity: tanh}
    optimizer: {SGD: {momentum: 0.5}}
    schedulers: [{ConstantLR: {learning_rate: 0.1}}]
    precision: {enabled: false}
    loop: {num_steps: 20}
  fit:
    train_dataloader: {batch_size: 4, shuffle: false, feature_type: float32, label_type: int32}
  validate:
    metric: accuracy
    val_dataloader: {batch_size: 4}
end
python3 - "$folder" <<'end'
import os, random, sys

import numpy as np

os.chdir(sys.argv[1])
random.seed(1)
np.save("x.npy", np.float32([random.gauss(0, 1) for _ in range(96)]).reshape(24, 4))
np.save("y.npy", np.int32([random.randrange(3) for _ in range(24)]))
np.save("other.npy", np.zeros((24, 4), np.float32))
end
cd "$folder"
"$FIRNC" keygen key >out
# compile PLAN [--set ...]
compile() {
    plan=$1
    shift
    "$FIRNC" compile recipe.yaml --mode train --key key.key.pem -o "$plan" "$@" >out
}
# train PLAN ...
train() {
    plan=$1
    shift
    "$FIRN" train "$plan" --pub key.pub.pem --data x.npy --labels y.npy --threads 1 "$@"
}
compile run.plan
compile endless.plan --set trainer.init.loop.num_steps=100000000

# --- standard descriptors that are closed ---------------------------------------------------------------------------

expect "a run" 0 "" train run.plan --quiet --checkpoint whole --log whole.jsonl
cp out whole.digest
closed() {
    "$@" <&- >&- 2>&-
}
for wanted in train compile export; do
    status=0
    case $wanted in
    export) closed "$FIRN" export whole -o closed.safetensors || status=$? ;;
    train) closed train run.plan --checkpoint closed --log closed.jsonl || status=$? ;;
    compile) closed "$FIRNC" compile recipe.yaml --mode train --key key.key.pem -o closed.plan || status=$? ;;
    esac
    [ $status -eq 0 ] || fail "closed descriptors, $wanted: exit $status"
done
# The result of these commands is what they print.
for wanted in "$FIRNC inspect run.plan" "$FIRNC schedule run.plan" "$FIRNC export run.plan --array" "$FIRN digest closed"; do
    status=0
    # shellcheck disable=SC2086 # a command and its words
    $wanted >&- 2>closed.err || status=$?
    [ $status -eq 1 ] && grep -q 'closed' closed.err || fail "without standard output: $wanted: exit $status"
done
expect "an export with open descriptors" 0 "" "$FIRN" export whole -o whole.safetensors
same "closed descriptors: a message is in the parameters" closed.safetensors whole.safetensors
same "closed descriptors: a message is in the checkpoint" closed whole
same "closed descriptors: a message is in the plan" closed.plan run.plan
sed 's/,"seconds":.*/}/' whole.jsonl >whole.lines
sed 's/,"seconds":.*/}/' closed.jsonl >closed.lines
same "closed descriptors: a message is in the log" closed.lines whole.lines
[ ! -e closed.lock ] || fail "closed descriptors: the lock is left, with a message in it"

# --- a folder that may be written and searched, but not read --------------------------------------------------------

# Root reads any folder, so root becomes another user.
unreadable() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid=65534 --clear-groups "$@"
    else
        "$@"
    fi
}
mkdir blind
chmod 755 .
chmod 644 key.key.pem
cp "$FIRN" firn # a build folder may be closed to other users
cp "$FIRNC" firnc
[ "$(id -u)" -ne 0 ] || chown 65534 blind
chmod 300 blind
expect "compile into it" 0 "" unreadable ./firnc compile recipe.yaml --mode train --key key.key.pem -o blind/run.plan
expect "a checkpoint in it" 0 "" unreadable ./firn train blind/run.plan --pub key.pub.pem --data x.npy --labels y.npy \
    --quiet --threads 1 --steps 9 --checkpoint blind/checkpoint --checkpoint-every 4 --log blind/log
expect "an export into it" 0 "" unreadable ./firn export blind/checkpoint -o blind/parameters
expect "keys into it" 0 "" unreadable ./firnc keygen blind/mine
chmod 700 blind
for name in run.plan checkpoint log parameters mine.key.pem mine.pub.pem; do
    [ -s blind/$name ] || fail "a folder that cannot be read: no $name"
done
[ "$(ls blind | wc -l)" -eq 6 ] || fail "a folder that cannot be read has other files: $(ls blind)"

# --- names of checkpoints and other outputs -------------------------------------------------------------------------

# refused NAME STATUS PATTERN CHECKPOINT: before the first step, and nothing is changed
refused() {
    ls -lR names >before
    expect "a checkpoint: $1" "$2" "$3" train run.plan --quiet --checkpoint "$4" --log names/log
    ls -lR names >after
    same "a checkpoint, $1: something was changed" before after
}
mkdir names names/folder names/there.tmp names/locked.lock
ln -s nothing names/dangling
ln -s loop names/loop
mkfifo names/pipe
echo notes >names/notes
echo notes >names/kept.tmp
ln -s nothing names/linked.tmp
refused "a folder" 1 "names/folder: is a folder; give the name of a file in it" names/folder
refused "a folder by a slash" 1 "is the name of a folder" names/new/
refused "a link to nothing" 1 "names/dangling: is a link to a file that is not there" names/dangling
refused "a link to itself" 1 "names/loop: Too many levels of symbolic links" names/loop
refused "a pipe" 1 "names/pipe: is a pipe and not a regular file" names/pipe
refused "a device" 1 "/dev/full: is a device or socket and not a regular file" /dev/full
refused "a folder that is missing" 1 "make the folder" names/none/c
refused "a file for a folder" 1 "Not a directory" names/notes/c
refused "another file" 1 "names/notes: is there already and is no checkpoint .*; give another name" names/notes
refused "a folder at the temporary name" 1 "names/there.tmp: is in the way: .*move it away" names/there
refused "a file at the temporary name" 1 "names/kept.tmp: is in the way" names/kept
refused "a link at the temporary name" 1 "names/linked.tmp: is in the way" names/linked
refused "a folder at the name of the lock" 1 "names/locked.lock: the lock cannot be made: .*; move what is there away" names/locked
refused "a long name" 1 "give a shorter name" "names/$(printf '%0252d' 0)"
expect "another file to resume" 3 "names/notes: is there already and is no checkpoint" train run.plan --resume \
    --checkpoint names/notes
for name in x.npy y.npy run.plan key.pub.pem; do
    refused "$name" 2 "$name: the checkpoint would be written over" $name
done
# A file that something is mounted on cannot be replaced by a rename.
: >names/mounted
if mount --bind names/notes names/mounted 2>dd; then
    refused "a file that is mounted" 1 "names/mounted: cannot be replaced" names/mounted
    umount names/mounted
else
    echo "skipped for want of the right to mount: a checkpoint on a file that is mounted"
fi
rm names/mounted
# Standard output may be a file.
sent() {
    "$FIRN" train run.plan --pub key.pub.pem --data x.npy --labels y.npy --quiet --threads 1 "$@" >names/sent
}
expect "a checkpoint in place of standard output" 2 "the checkpoint would be written to the file of standard output" \
    sent --checkpoint /dev/stdout
expect "a log in the file of standard output" 2 "the log would be written to the file of standard output" \
    sent --log /dev/stdout
# What a run that was killed has left is no obstacle.
head -c 100 whole >names/after.tmp
: >names/after.lock
expect "a leftover" 0 "" train run.plan --quiet --checkpoint names/after
same "a leftover: another checkpoint" names/after whole
[ ! -e names/after.tmp ] && [ ! -e names/after.lock ] || fail "a leftover is left"

expect "an export to a link to nothing" 1 "is a link to a file that is not there" "$FIRN" export whole -o names/dangling
expect "an export into the way" 1 "names/kept.tmp: is in the way" "$FIRN" export whole -o names/kept
expect "a plan to a link to nothing" 1 "is a link to a file that is not there" "$FIRNC" compile recipe.yaml --mode train \
    --key key.key.pem -o names/dangling
expect "a plan in place of a folder" 1 "names/folder: is not a regular file" "$FIRNC" compile recipe.yaml --mode train \
    --key key.key.pem -o names/folder

# A file that the recipe names is an input, too.
cp "$corpus/onnx/perceptron" net.onnx
cat >onnx.yaml <<'end'
trainer:
  init: {model: {onnx: net.onnx}, optimizer: {SGD: {learning_rate: 0.1}}, loop: {num_steps: 4}}
  fit: {train_dataloader: {batch_size: 4, feature_type: float32, label_type: int32}}
end
expect "a plan of an ONNX file" 0 "" "$FIRNC" compile onnx.yaml --mode train --key key.key.pem -o onnx.plan
expect "a plan in place of its ONNX file" 1 "net.onnx: would be replaced, and is read; give another name" \
    "$FIRNC" compile onnx.yaml --mode train --key key.key.pem -o ./net.onnx
same "a plan replaced its ONNX file" net.onnx "$corpus/onnx/perceptron"

# --- what is not kept, and what is complete --------------------------------------------------------------------------

expect "no checkpoint" 0 "" train run.plan
sed '/^step 1/,$d' err | grep -qx "without --checkpoint FILE the trained parameters are kept nowhere" ||
    fail "a run without a checkpoint does not say so before its first step"
expect "no checkpoint, quietly" 0 "" train run.plan --quiet
[ ! -s err ] || fail "quiet is quiet"
expect "15 steps" 0 "" train run.plan --quiet --steps 15 --checkpoint most
expect "more steps than are left" 0 "" train run.plan --resume --steps 9 --checkpoint most
grep -qx "the run is complete at step 20, after 5 of the 9 steps" err || fail "fewer steps than asked for, without a word"
expect "a run that is complete" 5 "most: the run is complete at step 20: nothing is left to do" train run.plan --resume \
    --steps 5 --checkpoint most
same "a run that is complete has another digest" out whole.digest

# --- a disk without room ---------------------------------------------------------------------------------------------

# no_room COMMAND...: files may have no bytes.
no_room() {
    (
        ulimit -f 0
        "$@"
    )
}
# Messages go to a pipe, as a file could not take them.
no_room train run.plan --checkpoint full 2>&1 >out | cat >err || true
grep -q "full: [0-9]* bytes for a checkpoint cannot be reserved: .* (STORAGE_FULL); .*no step was run" err ||
    fail "no room for a checkpoint is not known before the first step"
[ "$(wc -l <err)" -eq 1 ] && [ ! -e full ] && [ ! -e full.tmp ] && [ ! -e full.lock ] || fail "a run without room has begun"

# A log that cannot grow: the run stops after a step whose line it has, saves that step, and can go on from there.
compile long.plan --set trainer.init.loop.num_steps=3000
expect "a run of 3000 steps" 0 "" train long.plan --quiet --log long.jsonl --checkpoint long
cp out long.digest
small_log() {
    sh -c 'ulimit -f 32; exec "$@"' - "$FIRN" train long.plan --pub key.pub.pem --data x.npy --labels y.npy --quiet \
        --threads 1 --log small.jsonl "$@"
}
expect "a log that cannot grow" 1 "small.jsonl: the log cannot be written: File too large; raise the limit .*; the run \
stopped after step [0-9]*, and its state is in small" small_log --checkpoint small
last=$(($(wc -l <small.jsonl) - 1))
grep -q "after step $last," err || fail "a log that cannot grow ends at another step than the run"
expect "going on with the log" 0 "" train long.plan --quiet --log small.jsonl --checkpoint small --resume
same "a log that could not grow: another digest" out long.digest
sed 's/,"seconds":.*/}/' long.jsonl >long.lines
sed 's/,"seconds":.*/}/' small.jsonl >small.lines
same "a log that could not grow has other lines" small.lines long.lines
mv small.jsonl kept.jsonl
expect "a log that cannot grow, without a checkpoint" 1 "the run stopped after step [0-9]*, and nothing was saved without \
--checkpoint" small_log

# A log that is removed while it is written.
"$FIRN" train endless.plan --pub key.pub.pem --data x.npy --labels y.npy --quiet --threads 1 --log removed.jsonl \
    --checkpoint removed >out 2>err &
child=$!
until [ -e removed.jsonl ] && [ "$(wc -l <removed.jsonl)" -gt 5 ]; do sleep 0.02; done
rm removed.jsonl
kill -TERM $child
status=0
wait $child || status=$?
[ $status -eq 1 ] && grep -q "removed.jsonl: the log was removed during the run, .*its state is in removed" err ||
    fail "a log that is removed: exit $status"

# A log that is cut while it is written: emptied, as by copytruncate of logrotate, it begins again with its first line, also
# if the run is one that was resumed; cut to a part, lines of it are lost, and the run says so.
rm -f cut cut.jsonl
expect "a run to go on with" 0 "" train endless.plan --quiet --steps 3 --log cut.jsonl --checkpoint cut
first=$(head -n 1 cut.jsonl)
# cut_log BYTES: an endless run, the log of which is cut to so many bytes; its exit status
cut_log() {
    : >err
    "$FIRN" train endless.plan --pub key.pub.pem --data x.npy --labels y.npy --threads 1 --log cut.jsonl --checkpoint cut \
        --resume --steps 500000 >out 2>err &
    child=$!
    until grep -q "^step" err || ! kill -0 $child 2>dd; do sleep 0.02; done
    sleep 0.1
    truncate -s "$1" cut.jsonl
    until grep -q "^cut.jsonl was" err || ! kill -0 $child 2>dd; do sleep 0.02; done
    sleep 0.1
    kill -TERM $child 2>dd || true
    status=0
    wait $child || status=$?
}
for time in 1 2; do
    cut_log 0
    [ $status -eq 130 ] && grep -q "^cut.jsonl was emptied after step [0-9]*, and the run goes on: the log begins again" err ||
        fail "a log that is emptied: exit $status"
    [ "$(head -n 1 cut.jsonl)" = "$first" ] && [ "$(sed -n '2,$s/^{"step":[0-9]*,.*}$/step/p' cut.jsonl | sort -u)" = step ] ||
        fail "a log that was emptied: other lines"
done
expect "going on with a log that was emptied" 0 "" train endless.plan --quiet --steps 3 --log cut.jsonl --checkpoint cut --resume
cut_log 1500
[ $status -eq 1 ] && grep -q "^firn: cut.jsonl: the log was cut during the run, and lines of it are lost; its state is in cut" err ||
    fail "a log that is cut: exit $status"
# A log that was cut by others is refused for what it is.
refused_log() {
    expect "$1" 1 "cut.jsonl: $2; move it away, or give another --log" train endless.plan --quiet --steps 3 --log cut.jsonl \
        --checkpoint cut --resume
}
sed 1d kept.jsonl >cut.jsonl
refused_log "a log without its first line" "lacks its first line, which names the run, like a log that was cut during a run"
{ head -c 1000 /dev/zero && sed 1d kept.jsonl; } >cut.jsonl
refused_log "a log with a hole" "begins with bytes of 0, like a log that was cut while a run wrote it"
echo notes >cut.jsonl
refused_log "a file that is no log" "is not the log of a run: it has another first line"

# The digest cannot be printed; what was saved is said.
status=0
train run.plan --checkpoint printed >/dev/full 2>err || status=$?
[ $status -eq 1 ] && grep -q "^the run stopped after step 20, and its state is in printed" err ||
    fail "a digest that cannot be printed: exit $status"
status=0
train run.plan --checkpoint printed --resume >/dev/full 2>err || status=$?
[ $status -eq 1 ] && grep -q "the run is complete at step 20" err ||
    fail "a digest of a complete run that cannot be printed: exit $status"

# The reader of the log ends before the run. It opens the pipe before firn does.
mkfifo reader
(
    exec 9<>reader
    : >opened
    head -n 5 <&9 >lines
) &
while [ ! -e opened ]; do sleep 0.1; done
expect "a log that nobody reads any more" 1 "reader: the log cannot be written: Broken pipe; .*after step [0-9]*, and its \
state is in unread" train long.plan --quiet --log reader --checkpoint unread
wait
expect "what was saved" 0 "" "$FIRN" digest unread

# A pipe without a reader: open() would wait for one.
mkfifo unheard
expect "a log that nobody reads" 1 "unheard: the log cannot be written: nobody reads this pipe; " timeout 10 "$FIRN" train \
    run.plan --pub key.pub.pem --data x.npy --labels y.npy --quiet --log unheard

# --- inputs that are no files, or other files -----------------------------------------------------------------------

"$FIRNC" compile recipe.yaml --mode eval --key key.key.pem -o eval.plan >out
evaluate() {
    timeout 10 "$FIRN" eval eval.plan --pub key.pub.pem --data x.npy --labels y.npy --checkpoint "$1"
}
expect "evaluate a pipe" 1 "unheard: is neither a file nor a folder, but a pipe" evaluate unheard
expect "evaluate a folder" 1 "names/folder: is a folder; give a file" evaluate names/folder
expect "evaluate a link to nothing" 1 "names/dangling: is a link to a file that is not there" evaluate names/dangling
expect "evaluate nothing" 3 "CHECKPOINT_MISSING" evaluate names/none
expect "evaluate a plan" 3 "run.plan: begins like a plan, and not like a checkpoint (CHECKPOINT_DAMAGED); give the file" evaluate run.plan
expect "a digest of a plan" 3 "run.plan: begins like a plan, and not like a checkpoint (CHECKPOINT_DAMAGED); give the file" "$FIRN" digest run.plan
head -c 500 whole >cut
expect "evaluate a checkpoint that was cut" 3 "cut: the checkpoint is incomplete or damaged" evaluate cut
linked="names/dangling: is a link to a file that is not there; give the name of a file"
expect "a plan behind a link to nothing" 1 "$linked" "$FIRN" train names/dangling --pub key.pub.pem --data x.npy
expect "data behind a link to nothing" 1 "$linked" "$FIRN" train run.plan --pub key.pub.pem --data names/dangling
expect "a recipe behind a link to nothing" 1 "$linked" "$FIRNC" compile names/dangling --mode train --key key.key.pem \
    -o unwritten
"$FIRN" export whole -o whole.safetensors >out
expect "parameters as records" 1 "is not an array, but safetensors; .*: save its arrays by numpy.save" "$FIRN" train run.plan \
    --pub key.pub.pem --data whole.safetensors --labels y.npy
initial() {
    expect "$1 as weights" 1 "$1: not a safetensors file, but $2" "$FIRNC" compile recipe.yaml --mode train \
        --key key.key.pem -o unwritten --weights "$1"
}
initial whole "a checkpoint of firn; firn export"
initial x.npy "an array of NumPy; "
printf 'PK\003\004 of torch.save' >model.bin
initial model.bin "zip (also .npz, .pt, .docx); .*save_file"
gzip -c whole.safetensors >whole.gz
initial whole.gz "gzip; unpack it first"
# What is given in place of something else is named by its first bytes.
begins="begins like a checkpoint of firn, and not like"
expect "a checkpoint as a plan" 3 "whole: $begins a plan (MAGIC); give the plan" "$FIRN" train whole --pub key.pub.pem --data x.npy
expect "a checkpoint to inspect" 3 "whole: refused: it $begins a plan (MAGIC); give the plan" "$FIRNC" inspect whole
expect "a checkpoint as a recipe" 1 "whole: $begins a recipe; give a recipe" "$FIRNC" compile whole --mode train \
    --key key.key.pem -o unwritten
echo text >short
expect "a short file as a plan" 3 "short: begins like no plan (MAGIC); " "$FIRN" train short --pub key.pub.pem --data x.npy
expect "a short file to inspect" 3 "short: refused: it begins like no plan (MAGIC); " "$FIRNC" inspect short
head -c 20 run.plan >cut.plan
expect "a plan that was cut short" 3 "(TRUNCATED); get the plan again" "$FIRN" train cut.plan --pub key.pub.pem --data x.npy
expect "a plan as a key" 1 "run.plan: holds a plan, and the secret key" "$FIRNC" compile recipe.yaml --mode train \
    --key run.plan -o unwritten
expect "a plan as a public key" 1 "run.plan: holds a plan, and the public key" "$FIRN" train run.plan --pub run.plan --data x.npy
head -c 100000 /dev/zero >zeros
expect "zeros as a key" 1 "zeros: holds no key, and the secret key" "$FIRNC" compile recipe.yaml --mode train \
    --key zeros -o unwritten
"$FIRNC" compile recipe.yaml --mode train --unsigned --pub key.pub.pem -o open.plan >out
expect "a plan as a signature" 1 "run.plan: not a signature of P-256: it begins like a plan" "$FIRNC" attach open.plan \
    --signature run.plan --pub key.pub.pem -o unwritten
mkdir model
echo '[]' >model/config.json
expect "a list as config.json" 1 "config.json:1: is not the configuration of a model; " "$FIRNC" compile recipe.yaml --mode train \
    --hf model --key key.key.pem -o unwritten
initial run.plan "a plan; give the weights"
expect "a plan as a model" 1 "begins like a plan, and not like an ONNX model" "$FIRNC" compile recipe.yaml --mode train \
    --set "trainer.init.model={onnx: run.plan}" --key key.key.pem -o unwritten
[ ! -e unwritten ] || fail "something was written"

expect "few open files" 1 "raise the limit (ulimit -" sh -c "ulimit -n 6; exec '$FIRN' train run.plan --pub key.pub.pem \
    --data x.npy --labels y.npy --quiet --threads 1 --checkpoint few"

# A file system of its own, if this user may mount one: what was reserved cannot be taken by others during the run.
mkdir disk
if mount -t tmpfs -o size=64k tmpfs disk 2>dd; then
    "$FIRN" train endless.plan --pub key.pub.pem --data x.npy --labels y.npy --quiet --threads 1 --checkpoint disk/run \
        --log disk.jsonl >out 2>err &
    child=$!
    until [ -e disk.jsonl ] && [ "$(wc -l <disk.jsonl)" -gt 5 ]; do sleep 0.02; done
    head -c 100000 /dev/zero >disk/filled 2>dd || true
    kill -TERM $child
    status=0
    wait $child || status=$?
    [ $status -eq 130 ] && "$FIRN" digest disk/run >out || fail "a disk that fills up during a run: exit $status"
    expect "a disk that is full" 1 "disk/other: .* cannot be reserved: No space left on device (STORAGE_FULL); the disk \
is full: make room and run again; no step was run, and there is no checkpoint yet" train run.plan --quiet \
        --checkpoint disk/other
    expect "a disk that is full, for a prediction or an export" 1 "disk/other: cannot be written: No space left" \
        "$FIRN" export whole -o disk/other
    expect "a disk that is full, for a plan" 1 "disk/other: cannot be written: No space left" "$FIRNC" compile \
        recipe.yaml --mode train --key key.key.pem -o disk/other
    [ "$(ls disk | tr '\n' ' ')" = "filled run " ] || fail "a disk that is full has other files: $(ls disk)"
    umount disk
else
    echo "skipped for want of the right to mount: a disk that fills up during a run"
fi

# --- every call that fails -------------------------------------------------------------------------------------------

# A library that lets call number FAULT_AT of those that write files fail with FAULT_ERROR, and makes the file
# FAULT_FIRED then. With FAULT_SIGNAL, it sends that signal at the first write. With FAULT_READ, it cuts the file FAULT_CUT to 100 bytes when the file of that name is read; without FAULT_CUT, reads
# of FAULT_BYTES bytes of that file fail, except at its beginning.
cat >faults.c <<'end'
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int fails(void) {
    static long count;
    const char *at = getenv("FAULT_AT");
    if (at == NULL || ++count != atol(at))
        return 0;
    close(REAL(open64)(getenv("FAULT_FIRED"), O_WRONLY | O_CREAT, 0666));
    errno = atoi(getenv("FAULT_ERROR"));
    return 1;
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(more, unsigned) : 0;
    va_end(more);
    return (flags & (O_CREAT | O_DIRECTORY)) != 0 && fails() ? -1 : REAL(open64)(path, flags, mode);
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    static int sent;
    if (getenv("FAULT_SIGNAL") != NULL && !sent++)
        raise(atoi(getenv("FAULT_SIGNAL")));
    return fails() ? -1 : REAL(pwrite64)(file, bytes, count, offset);
}
int fallocate64(int file, int mode, off64_t offset, off64_t length) {
    return fails() ? -1 : REAL(fallocate64)(file, mode, offset, length);
}
int ftruncate64(int file, off64_t length) {
    return fails() ? -1 : REAL(ftruncate64)(file, length);
}
int fsync(int file) {
    return fails() ? -1 : REAL(fsync)(file);
}
int rename(const char *from, const char *to) {
    return fails() ? -1 : REAL(rename)(from, to);
}
ssize_t pread64(int file, void *bytes, size_t count, off64_t offset) {
    char link[64], path[4096] = {0};
    const char *name = getenv("FAULT_READ");
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const int meant = name != NULL && readlink(link, path, sizeof path - 1) > 0 && strstr(path, name) != NULL;
    if (meant && getenv("FAULT_CUT") == NULL && count == (size_t)atol(getenv("FAULT_BYTES")) && offset > 0) {
        errno = EIO;
        return -1;
    }
    if (meant && getenv("FAULT_CUT") != NULL)
        (void)!truncate64(getenv("FAULT_CUT"), 100);
    return REAL(pread64)(file, bytes, count, offset);
}
end
${CC:-cc} -std=c11 -O1 -shared -fPIC faults.c -o faults.so -ldl

for steps in 3 6 9; do
    expect "$steps steps" 0 "" train run.plan --quiet --steps $steps --checkpoint good
    cat out >>good.digests
    tail -n 1 out >good.digest
    rm good
done
saving() {
    "$FIRN" train run.plan --pub key.pub.pem --data x.npy --labels y.npy --quiet --threads 1 --checkpoint swept \
        --log swept.jsonl --csv swept.csv --tensorboard swept.events --checkpoint-every 3 "$@"
}
{ printf 'step ' && seq 20 | tr '\n' ' '; } >all.steps
at=0
until [ $at -gt 0 ] && [ ! -e fired ]; do
    at=$((at + 1))
    error=$((at % 2 == 0 ? 5 : 28)) # EIO, ENOSPC
    rm -rf fired swept swept.*
    status=0
    LD_PRELOAD="./faults.so ${LD_PRELOAD:-}" FAULT_AT=$at FAULT_ERROR=$error FAULT_FIRED=fired saving --steps 9 >out 2>err || status=$?
    cp err err.kept
    [ ! -e swept.tmp ] && [ ! -e swept.lock ] || fail "call $at: a temporary file is left"
    case $status in
    0) same "call $at: another digest" out good.digest ;;
    1) [ -s err ] || fail "call $at: no message" ;;
    *) fail "call $at: exit $status" ;;
    esac
    if [ -e swept ]; then
        "$FIRN" digest swept >digest && grep -qxF "$(cat digest)" good.digests || fail "call $at: another checkpoint"
        grep -qxF "$(cat digest)" good.digest || [ $status -ne 0 ] || fail "call $at: exit 0 without the last state"
        [ "$(cat digest)" = "$(cat good.digest)" ] || grep -q 'step [36]' err.kept || fail "call $at: says not what is kept"
        expect "call $at: going on" 0 "" saving --resume
    else
        [ $status -eq 1 ] || fail "call $at: exit $status without a checkpoint"
        rm -rf swept.*
        expect "call $at: beginning again" 0 "" saving
    fi
    same "call $at: another end" out whole.digest
    cut -d , -f 1 swept.csv | tr -d '\r' | tr '\n' ' ' >swept.steps
    same "call $at: other rows of the table" swept.steps all.steps
    python3 "$corpus/../../end_to_end/event_files.py" swept.events >swept.scalars 2>swept.err || fail "call $at: $(cat swept.err)"
    [ "$(grep -c '^[0-9]* train/loss ' swept.scalars)" -eq 20 ] || fail "call $at: other events"
done
[ $at -gt 40 ] || fail "only $at calls write the checkpoint, the log, the table and the events: is this test looking?"

# --- data that change ------------------------------------------------------------------------------------------------

# disturb COMMAND...: the command runs while an endless run reads d.npy.
disturb() {
    rm -f disturbed disturbed.jsonl
    "$FIRN" train endless.plan --pub key.pub.pem --data d.npy --labels y.npy --threads 1 --checkpoint disturbed \
        --log disturbed.jsonl --checkpoint-every 100 >out 2>err &
    child=$!
    until [ -e disturbed.jsonl ] && [ "$(wc -l <disturbed.jsonl)" -gt 5 ]; do sleep 0.01; done
    "$@"
}
# undisturbed NAME: the checkpoint has the state of an undisturbed run of as many steps as the log has.
undisturbed() {
    "$FIRN" digest disturbed >digest
    expect "$1: an undisturbed run" 0 "" train endless.plan --quiet --steps $(($(wc -l <disturbed.jsonl) - 1))
    same "$1: another digest" out digest
}
# changes NAME PATTERN COMMAND...: the command changes the contents of d.npy. What was learned from the old ones is
# saved, and the message says so.
changes() {
    name=$1
    pattern=$2
    shift 2
    disturb "$@"
    status=0
    wait $child || status=$?
    [ $status -eq 1 ] || fail "$name: exit $status, not 1"
    grep -q "^firn: d.npy: $pattern.* (SOURCE); the run stopped after step [0-9]*, and its state is in disturbed" err ||
        fail "$name: no message"
    undisturbed "$name"
    rm d.npy
    cp -p x.npy d.npy
    expect "$name: going on" 0 "" "$FIRN" train endless.plan --pub key.pub.pem --data d.npy --labels y.npy --quiet \
        --threads 1 --steps 5 --checkpoint disturbed --log disturbed.jsonl --resume
}
overwrite_back() { # with the time of modification as it was
    dd if=other.npy of=d.npy conv=notrunc status=none
    touch -r x.npy d.npy
}
same_bytes() {
    dd if=x.npy of="$1" conv=notrunc status=none
}
other_name() {
    chmod 600 d.npy
    mv d.npy e.npy
    cp other.npy d.npy
    kill -TERM $child
}
cp -p x.npy d.npy
changes "data overwritten" "was changed while it was in use" dd if=other.npy of=d.npy conv=notrunc status=none
changes "data cut" "was changed while it was in use: it has 0 bytes and had [0-9]* at the start, so it is shorter" \
    cp /dev/null d.npy
changes "data overwritten, their time set back" "was changed while it was in use" overwrite_back
# Nor does a new time, or the same bytes again: the file is hashed again, and the run goes on.
for way in touch same_bytes; do
    disturb $way d.npy
    until grep -q "^d.npy was touched or written during the run; it has the contents" err || ! kill -0 $child 2>dd; do sleep 0.02; done
    heard_at=$(wc -l <disturbed.jsonl)
    until [ "$(wc -l <disturbed.jsonl)" -gt $((heard_at + 20)) ] || ! kill -0 $child 2>dd; do sleep 0.02; done
    kill -TERM $child
    status=0
    wait $child || status=$?
    [ $status -eq 130 ] || fail "data that are touched, $way: exit $status"
    undisturbed "data that are touched, $way"
done
# Another name and other permissions change no contents, nor does another file in the place of this one.
disturb other_name
status=0
wait $child || status=$?
[ $status -eq 130 ] || fail "data by another name: exit $status"
undisturbed "data by another name"

# A step looks at one of the files. At its end a run looks at all of them.
expect "a run of three steps" 0 "" train run.plan --quiet --steps 3 --checkpoint parted
for changed in d.npy e.npy; do
    cp x.npy d.npy
    cp y.npy e.npy
    cp parted continued
    expect "$changed cut before the last step" 1 "^firn: $changed: was changed .* shorter (SOURCE); the run stopped after step 4" env \
        LD_PRELOAD=./faults.so FAULT_READ=/continued FAULT_CUT=$changed "$FIRN" train run.plan --pub key.pub.pem --data d.npy \
        --labels e.npy --threads 1 --quiet --checkpoint continued --resume --steps 1
done

"$FIRNC" compile recipe.yaml --mode eval --key key.key.pem -o eval.plan --set "trainer.validate.outputs=[logits]" >out
results() {
    cp x.npy d.npy
    LD_PRELOAD="./faults.so ${LD_PRELOAD:-}" FAULT_READ=/whole FAULT_CUT=d.npy "$FIRN" "$@" --pub key.pub.pem --data d.npy --labels y.npy \
        --checkpoint whole --threads 1 --quiet
}
for command in "eval eval.plan" "predict eval.plan -o rows.csv" "predict eval.plan -o rows.npy"; do
    expect "data that change, $command" 1 "d.npy: was changed .* shorter (SOURCE), so there is no result" results $command
    [ ! -s out ] && [ ! -e rows.csv ] && [ ! -e rows.npy ] || fail "$command: a result of data that changed"
done


# A label that cannot be read when its row is written. Labels are read from their file only if all data have more than 32 MiB.
python3 - <<'end'
def zeros(name, descr, shape, bytes):
    header = ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)).ljust(117) + "\n"
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        file.truncate(128 + bytes)

zeros("many_x.npy", "<f4", (1700000, 4), 16 * 1700000)
zeros("many_y.npy", "<i4", (1700000,), 4 * 1700000)
end
for form in csv jsonl; do
    expect "a label that cannot be read, $form" 1 "many_y.npy: cannot be read: Input/output error (SOURCE), so there is no result" env \
        LD_PRELOAD="./faults.so ${LD_PRELOAD:-}" FAULT_READ=/many_y FAULT_BYTES=4 "$FIRN" predict eval.plan --pub key.pub.pem --data many_x.npy \
        --labels many_y.npy --checkpoint whole --threads 1 --quiet --format $form -o rows
    [ ! -e rows ] && [ ! -e rows.tmp ] || fail "a label that cannot be read: half a file is left"
done
rm many_x.npy many_y.npy

# --- predictions and exports that are interrupted -------------------------------------------------------------------

status=0
LD_PRELOAD="./faults.so ${LD_PRELOAD:-}" FAULT_SIGNAL=15 "$FIRN" predict eval.plan --pub key.pub.pem --data x.npy --labels y.npy --threads 1 \
    --checkpoint whole -o rows.csv >out 2>err || status=$?
[ $status -eq 130 ] && grep -qx "interrupted; rows.csv was not written" err || fail "an interrupted prediction: exit $status"
status=0
LD_PRELOAD="./faults.so ${LD_PRELOAD:-}" FAULT_SIGNAL=9 "$FIRN" export whole -o parameters >out 2>err || status=$?
[ $status -eq 137 ] && [ -e parameters.tmp ] || fail "an export that is killed: exit $status"
status=0
LD_PRELOAD=./faults.so FAULT_SIGNAL=15 "$FIRN" export whole -o parameters >out 2>err || status=$?
[ $status -eq 130 ] && [ ! -e parameters ] && [ "$(cat err)" = "firn: interrupted; no file is half written" ] ||
    fail "an export that is interrupted: exit $status"
expect "an export after one that was killed" 0 "" "$FIRN" export whole -o parameters
[ ! -e rows.csv ] && [ ! -e rows.csv.tmp ] && [ ! -e parameters.tmp ] || fail "half a file is left"

[ $failures -eq 0 ]
