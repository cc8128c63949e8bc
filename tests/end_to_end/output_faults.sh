#!/bin/sh
# The table of runtime/FAULTS.md for files that a program writes at once: predictions, matrices, reports, converted data, names of
# classes, counters, exports, plans, sets of plans, signatures, images, C sources, weights, tokens. Each call of the system
# that writes them fails, and the process is killed at each; the disk is full, the folder is read-only, nobody reads what is
# printed. The file then is the one before or the new one, a set of files is of one call, and the next call works. The
# names of columns and classes beside a checkpoint are swept with the training that writes them.
# Checkpoint and log are in cli_faults.sh, the best state in validation_faults.sh, studies in compare.sh and tune.sh.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
needs full others
BUILD=$(cd "$BUILD" && pwd)
FIRNC=$BUILD/firnc
FIRN=$BUILD/firn
root=$PWD

# --- what is read -----------------------------------------------------------------------------------------------------

cd "$folder"
chmod 755 . # another user writes there, too
cp "$FIRN" firn
cp "$FIRNC" firnc
cp "$root/tests/fuzz/corpus/onnx/perceptron" net.onnx
mkdir hf images images/cat images/dog
cp "$root/tests/golden/gpt2_training.safetensors" hf/model.safetensors
cat >hf/config.json <<'end'
{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 256, "n_embd": 32, "n_layer": 2, "n_head": 2,
"n_inner": null, "n_positions": 16, "activation_function": "gelu", "resid_pdrop": 0.0, "embd_pdrop": 0, "attn_pdrop": 0.0}
end
printf 'a b\n' >hf/merges.txt
awk '/^    model:/ { skip = 1; next } /^    [a-z]/ { skip = 0 } !skip' "$root/tests/end_to_end/gpt2_training.yaml" >gpt2.yaml
cp "$root/tests/golden/tokens/vocab.json" "$root/tests/golden/tokens/merges.txt" "$root/tests/golden/tokens/text.txt" .
cp "$root/tests/fuzz/corpus/images/grey.png" images/cat
cp "$root/tests/fuzz/corpus/images/grey.png" images/dog
cat >recipe.yaml <<'end'
trainer:
  init:
    seed: 1
    model: {name: mlp, input_size: 4, hidden_sizes: [5], output_size: 3, nonlinearity: tanh}
    optimizer: {SGD: {momentum: 0.5}}
    schedulers: [{ConstantLR: {learning_rate: 0.1}}]
    precision: {enabled: false}
    loop: {num_steps: 2}
  fit:
    train_dataloader: {batch_size: 4, shuffle: false, feature_type: float32, label_type: int32}
  validate:
    metric: mean_per_class_accuracy
    val_dataloader: {batch_size: 4}
end
cat >net.yaml <<'end'
trainer:
  init: {model: {onnx: net.onnx}, optimizer: {SGD: {learning_rate: 0.1}}, precision: {enabled: false}, loop: {num_steps: 1}}
  fit: {train_dataloader: {batch_size: 4, feature_type: float32, label_type: int32}}
end
awk 'BEGIN { srand(1); print "a,b,c,d,y"
    for (i = 0; i < 24; i++) printf "%.3f,%.3f,%.3f,%.3f,%d\n", rand(), rand(), rand(), rand(), i % 3 }' >table.csv
printf 'cat\ndog\ncow\n' >names
mkdir chart.js
echo '/*! Chart.js v3.9.1 */' >chart.js/chart.min.js
{
    ./firnc keygen key
    chmod 644 key.key.pem
    ./firnc compile recipe.yaml --mode train --key key.key.pem -o train.plan --security-counter 3
    ./firnc compile recipe.yaml --mode eval --key key.key.pem -o matrix.plan --security-counter 3
    ./firnc compile recipe.yaml --mode eval --key key.key.pem -o logits.plan --set trainer.validate.metric=none \
        --set "trainer.validate.outputs=[logits]"
    ./firnc compile recipe.yaml --mode train --unsigned --pub key.pub.pem -o open.plan
    ./firnc sign open.plan --key key.key.pem -o signature
    ./firn train train.plan --pub key.pub.pem --data table.csv --target-column y --checkpoint trained --threads 1 \
        --log trained.jsonl --profile times.json
    ./firn export trained -o trained.safetensors
    ./firnc compile net.yaml --mode train --key key.key.pem -o net.plan
    python3 -c 'import numpy; numpy.save("nx.npy", numpy.zeros((4, 4), numpy.float32)); numpy.save("ny.npy", numpy.zeros(4, numpy.int32))'
    ./firn train net.plan --pub key.pub.pem --data nx.npy --labels ny.npy --checkpoint net.ckpt --threads 1
    ./firn export net.ckpt -o net.safetensors
    ./firnc tokens text.txt --vocabulary vocab.json --merges merges.txt -o ids.npy
    for words in "train.plan --mode train" "decode.plan --mode eval --decode"; do
        # shellcheck disable=SC2086 # a name and options
        set -- $words
        ./firnc compile "$root/tests/end_to_end/gpt2_training.yaml" --key key.key.pem -o "text_$1" "$2" "$3" ${4:+"$4"}
    done
    ./firn train text_train.plan --pub key.pub.pem --data "$root/tests/golden/gpt2_training.txt" --steps 0 --checkpoint text.ckpt
} >said 2>&1 || {
    cat said
    fail "what is read cannot be made"
    exit 1
}

# --- faults -----------------------------------------------------------------------------------------------------------

# A library that lets call number FAULT_AT of those that write files fail with FAULT_ERROR, or kills the process there if
# FAULT_ERROR is 0, and makes the file FAULT_FIRED first.
cat >faults.c <<'end'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int fails(void) {
    static long count;
    if (++count != atol(getenv("FAULT_AT")))
        return 0;
    close(REAL(open64)(getenv("FAULT_FIRED"), O_WRONLY | O_CREAT, 0666));
    if (atoi(getenv("FAULT_ERROR")) == 0)
        raise(SIGKILL);
    errno = atoi(getenv("FAULT_ERROR"));
    return 1;
}

static int open_as(const char *path, int flags, unsigned mode) {
    return (flags & (O_CREAT | O_DIRECTORY)) != 0 && fails() ? -1 : REAL(open64)(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(more, unsigned) : 0;
    va_end(more);
    return open_as(path, flags, mode);
}
int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(more, unsigned) : 0;
    va_end(more);
    return open_as(path, flags, mode);
}
int mkstemp(char *name) {
    return fails() ? -1 : REAL(mkstemp)(name);
}
ssize_t write(int file, const void *bytes, size_t count) {
    return file > 2 && fails() ? -1 : REAL(write)(file, bytes, count);
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    return fails() ? -1 : REAL(pwrite64)(file, bytes, count, offset);
}
int fsync(int file) {
    return fails() ? -1 : REAL(fsync)(file);
}
int fchmod(int file, mode_t mode) {
    return fails() ? -1 : REAL(fchmod)(file, mode);
}
int chmod(const char *path, mode_t mode) {
    return fails() ? -1 : REAL(chmod)(path, mode);
}
int link(const char *from, const char *to) {
    return fails() ? -1 : REAL(link)(from, to);
}
int unlink(const char *path) { /* what is not removed is seen as a file too many, and here only killed */
    if (atoi(getenv("FAULT_ERROR")) == 0)
        (void)fails();
    return REAL(unlink)(path);
}
int mkdir(const char *path, mode_t mode) {
    return fails() ? -1 : REAL(mkdir)(path, mode);
}
int rename(const char *from, const char *to) {
    return fails() ? -1 : REAL(rename)(from, to);
}
end
${CC:-cc} -std=c11 -O1 -shared -fPIC faults.c -o faults.so -ldl

# --- the files of one command -----------------------------------------------------------------------------------------

files=   # that the command writes, in the folder put
command= # the function that runs it

# prepare: the folder put, with what was there before
prepare() {
    rm -rf put
    mkdir put
    [ $command != counter ] || echo 1 >put/counter
    for file in $files; do
        case $file in */*) mkdir -p "put/${file%/*}" ;; esac
        [ -e "put/$file" ] || echo "before $file" >"put/$file"
    done
    rm -rf before
    cp -r put before
}

# Which files are there, and no others: with "killed", firnc may have left temporary files beside them.
holds_only() {
    (cd put && find . -type f | sed 's/^..//' | sort) >there
    for file in $files; do
        sed -i "\\|^$file\$|d" there
        [ "${2:-}" != killed ] || [ "$program" != firnc ] || sed -i "\\|^$file\.[A-Za-z0-9]\{6\}\$|d" there
    done
    [ "${2:-}" != killed ] || [ "$program" != firn ] || for file in $files; do sed -i "\\|^$file\.tmp\$|d" there; done
    [ ! -s there ] || fail "$1: other files are there: $(tr '\n' ' ' <there)"
}

# state NAME: sets state to old, new or mixed; a file that is neither fails. With "killed", ids may have no note.
state() {
    state=
    for file in $files; do
        [ "$sets:${2:-}" != noted:killed ] || [ -z "$state" ] || [ -e "put/$file" ] || continue
        if cmp -s "put/$file" "new/$file"; then
            is=new
        elif cmp -s "put/$file" "before/$file"; then
            is=old
        else
            is=half
            fail "$1: $file is neither the file before nor the new one"
        fi
        [ -z "$state" ] || [ "$state" = $is ] || is=mixed
        state=$is
    done
}

# swept: every call fails, with one error after the other
swept() {
    at=0
    rm -f fired
    until [ $at -gt 0 ] && [ ! -e fired ]; do
        at=$((at + 1))
        case $((at % 4)) in 0) error=28 ;; 1) error=122 ;; 2) error=5 ;; 3) error=30 ;; esac # ENOSPC, EDQUOT, EIO, EROFS
        prepare
        rm -f fired
        status=0
        LD_PRELOAD="./faults.so ${LD_PRELOAD:-}" FAULT_AT=$at FAULT_ERROR=$error FAULT_FIRED=fired $command >out 2>err || status=$?
        what="$command, error $error of call $at"
        holds_only "$what"
        state "$what"
        case $status:$state in
        0:new) ;;
        1:old) grep -q "^$program: .*; " err || fail "$what: no message with a mend" ;;
        1:mixed) [ $sets = yes ] && grep -q "is there already; convert again" err || fail "$what: files of two calls" ;;
        1:new) grep -q "confirmed that\|made durable" err || fail "$what: the new file is there, and nothing says so" ;;
        *) fail "$what: exit $status with $state files" ;;
        esac
        [ $status -eq 0 ] || case $error in
        28 | 122) grep -q "make room\|confirmed that\|made durable\|kept" err || fail "$what: another mend" ;;
        *) ! grep -q "make room" err || fail "$what: room is no mend" ;;
        esac
    done
    [ $at -gt 4 ] || fail "$command: only $at calls: is this test looking?"
}

# killed: the process is killed at every call, and the next one works
killed() {
    at=0
    rm -f fired
    until [ $at -gt 0 ] && [ ! -e fired ]; do
        at=$((at + 1))
        prepare
        rm -f fired
        status=0
        LD_PRELOAD="./faults.so ${LD_PRELOAD:-}" FAULT_AT=$at FAULT_ERROR=0 FAULT_FIRED=fired $command >out 2>err || status=$?
        what="$command, killed at call $at"
        [ $status -eq 137 ] || [ ! -e fired ] || fail "$what: exit $status"
        holds_only "$what" killed
        state "$what" killed
        [ "$state" != mixed ] || [ "$sets" = yes ] || fail "$what: files of two calls"
        expect "$what, again" 0 "" $command
        state "$what, again"
        [ "$state" = new ] || fail "$what, again: $state"
        [ "$program" != firn ] || holds_only "$what, again"
    done
}

# Files may have no bytes; messages go through a pipe, as a file could not take them.
limited() {
    prepare
    status=0
    { (ulimit -f 0 && $command) 2>&1 >out || echo "$?" >/dev/full 2>&1; } | cat >err || true
    grep -q "^$program: .*raise the limit" err || fail "$command: a file that may not grow: no message"
    state "$command, a file that may not grow"
    [ "$state" = old ] || fail "$command: a file that may not grow: $state"
    holds_only "$command, a file that may not grow"
}

# A folder that may not be written to
read_only() {
    rm -rf put
    mkdir put
    for file in $files; do case $file in */*) mkdir -p "put/${file%/*}" ;; esac done
    chmod -R 555 put
    [ "$(id -u)" -ne 0 ] || as="setpriv --reuid=65534 --clear-groups"
    expect "$command into a read-only folder" 1 "put.*Permission denied" $command
    as=
    chmod -R 755 put
    [ -z "$(find put -type f)" ] || fail "$command into a read-only folder: $(find put -type f)"
}

# Nobody reads what is printed; it cannot be written. The files are there.
unread() {
    prepare
    status=0
    $command >/dev/full 2>err || status=$?
    state "$command, a full output"
    [ "$state" = new ] || fail "$command, a full output: $state"
    [ $status -eq "$when_full" ] || fail "$command, a full output: exit $status, not $when_full"
    prepare
    {
        status=0
        sleep 0.05
        $command 2>err || status=$?
        echo $status >status
    } | :
    state "$command, a closed pipe"
    [ "$state" = new ] || fail "$command, a closed pipe: $state"
    [ "$(cat status)" -eq "$when_closed" ] || fail "$command, a closed pipe: exit $(cat status), not $when_closed"
}

as= # the command that runs the program as another user, or with a library

# writes COMMAND PROGRAM FULL CLOSED FILE...: a command of that program, which writes these files into put, and its exit codes
# if standard output is full, and closed
writes() {
    takes_next || return 0
    command=$1
    program=$2
    when_full=$3
    when_closed=$4
    shift 4
    files=$*
    sets=no
    [ $# -eq 1 ] || sets=yes
    case $files in *.tokenizer) sets=noted ;; esac # a file and what is noted of it: never of two calls
    rm -rf put
    mkdir put
    [ $command != counter ] || echo 1 >put/counter
    expect "$command" 0 "" $command
    rm -rf new
    mv put new
    swept
    killed
    limited
    read_only
    unread
}

firn() { $as ./firn "$@"; }
firnc() { $as ./firnc "$@"; }
data="--data table.csv --target-column y"
predict() { firn predict logits.plan --pub key.pub.pem --checkpoint trained --data table.csv --columns a,b,c,d --threads 1 "$@"; }
npy() { predict -o put/rows.npy; }
csv() { predict -o put/rows.csv; }
named() { predict --classes names --format csv -o put/rows; }
jsonl() { predict -o put/rows.jsonl; }
matrix() { firn eval matrix.plan --pub key.pub.pem --checkpoint trained $data --threads 1 --quiet --confusion put/matrix.csv; }
counter() { firn eval matrix.plan --pub key.pub.pem --checkpoint trained $data --threads 1 --quiet --counter put/counter; }
converted() { firn data table.csv --target-column y --convert put/x.npy --convert-labels put/y.npy; }
statistics() { firn data-statistics table.csv --target-column y -o put/statistics.json; }
page() { FIRN_JAVASCRIPT=. firn report trained.jsonl --plan train.plan --pub key.pub.pem --profile times.json -o put/page.html; }
plot() { firn plot trained.jsonl -o put/plot.svg; }
classes() { firn data images --classes-output put/classes; }
exported() { firn export trained -o put/parameters; }
compile() { firnc compile recipe.yaml --mode train --key key.key.pem -o put/plan; }
all() { firnc compile recipe.yaml --all --key key.key.pem -o put/plans; }
sign() { firnc sign open.plan --key key.key.pem -o put/signature; }
attach() { firnc attach open.plan --signature signature --pub key.pub.pem -o put/plan; }
image() { firnc image train.plan --pub key.pub.pem --slot-bytes 16384 -o put/image; }
sources() { firnc export train.plan --c -o put/parts.c; }
array() { firnc export train.plan --array -o put/plan.c; }
hex() { firnc export train.plan --hex --address 0x08040000 -o put/plan.hex; }
elf() { firnc export train.plan --elf --machine arm -o put/plan.o; }
renamed() { firnc weights recipe.yaml --trained trained.safetensors -o put/weights.safetensors; }
handed() { firnc weights gpt2.yaml --set trainer.init.precision.enabled=false --hf hf --trained hf/model.safetensors -o put/model/; }
onnx() { firnc weights net.yaml --trained net.safetensors --onnx net.onnx -o put/net.onnx; }
ids() { firnc tokens text.txt --vocabulary vocab.json --merges merges.txt -o put/ids.npy; }
raw() { firnc tokens text.txt --vocabulary vocab.json --merges merges.txt -o put/ids.bin; }
decoded() { firnc tokens --to-text ids.npy --vocabulary vocab.json --merges merges.txt -o put/text; }

writes npy firn 0 0 rows.npy
writes csv firn 0 0 rows.csv
writes named firn 0 0 rows
writes jsonl firn 0 0 rows.jsonl
writes matrix firn 1 141 matrix.csv
writes counter firn 1 141 counter
writes converted firn 1 1 x.npy y.npy
writes statistics firn 0 0 statistics.json
writes page firn 0 0 page.html
writes plot firn 0 0 plot.svg
./firn data images >said 2>&1 && writes classes firn 1 141 classes
writes exported firn 1 141 parameters
writes compile firnc 1 141 plan
writes all firnc 1 141 plans/train.plan plans/eval.plan plans/predict.plan
writes sign firnc 1 141 signature
writes attach firnc 1 141 plan
writes image firnc 1 141 image
writes sources firnc 1 141 parts.c
writes array firnc 1 141 plan.c
writes hex firnc 1 141 plan.hex
writes elf firnc 1 141 plan.o
writes renamed firnc 1 141 weights.safetensors
writes handed firnc 1 141 model/config.json model/merges.txt model/model.safetensors
writes onnx firnc 1 141 net.onnx
writes ids firnc 1 141 ids.npy ids.npy.tokenizer
writes raw firnc 1 141 ids.bin ids.bin.tokenizer
writes decoded firnc 0 0 text

# --- names beside a checkpoint ------------------------------------------------------------------------------------------

# A training writes CHECKPOINT.columns before its first step, and one that goes on with other data adds their hash to it.
# Whatever fails, no checkpoint is without its names, and the names are those before or the new ones, never half of them.
sed 's/^0/1/' table.csv >later.csv
learn() { ./firn train train.plan --pub key.pub.pem $data --checkpoint put/ckpt --threads 1 --quiet --steps 1; }
go_on() {
    ./firn train train.plan --pub key.pub.pem --data later.csv --target-column y --checkpoint put/ckpt --threads 1 --quiet \
        --resume --allow-other-data --steps 1
}
# begin COMMAND: the folder put, as it is before the command
begin() {
    rm -rf put
    mkdir put
    [ "$1" = learn ] || cp first/ckpt first/ckpt.columns put
}
# names_are NAME COMMAND: those before the command, or those behind it; and the state can be read
names_are() {
    if [ -e put/ckpt.columns ]; then
        cmp -s put/ckpt.columns new/ckpt.columns || { [ "$2" = go_on ] && cmp -s put/ckpt.columns first/ckpt.columns; } ||
            fail "$1: names that are neither those before nor the new ones"
    fi
    [ -e put/ckpt ] || return 0
    [ -e put/ckpt.columns ] || fail "$1: a checkpoint without its names"
    expect "$1, a prediction" 0 "" ./firn predict logits.plan --pub key.pub.pem --checkpoint put/ckpt --data table.csv \
        --threads 1 --quiet -o rows.csv
}
# keeps COMMAND: each call of it that writes fails, and the process is killed there
keeps() {
    begin "$1"
    expect "$1" 0 "" "$1"
    rm -rf new
    mv put new
    for kind in 28 5 0; do # ENOSPC, EIO, a kill
        at=0
        rm -f fired
        until [ $at -gt 0 ] && [ ! -e fired ]; do
            at=$((at + 1))
            begin "$1"
            rm -f fired
            status=0
            LD_PRELOAD="./faults.so ${LD_PRELOAD:-}" FAULT_AT=$at FAULT_ERROR=$kind FAULT_FIRED=fired "$1" >out 2>err || status=$?
            what="$1, error $kind of call $at"
            case $kind:$status in
            *:0 | 0:137) ;;
            *:1) grep -q "^firn: .*; \|cannot" err || fail "$what: no message" ;;
            *) fail "$what: exit $status" ;;
            esac
            names_are "$what" "$1"
            case $kind in 0) ;; *) [ ! -e put/ckpt.columns.tmp ] || fail "$what: a temporary file is left" ;; esac
            [ $status -eq 0 ] || { [ "$1" = learn ] && [ -e put/ckpt ]; } || {
                expect "$what, again" 0 "" "$1"
                names_are "$what, again" "$1"
            }
        done
        [ $at -gt 8 ] || fail "$1: only $at calls: is this test looking?"
    done
}
if takes_next; then
    keeps learn
    rm -rf first
    mv new first
    keeps go_on
fi

# --- inputs that change while they are read -----------------------------------------------------------------------------

# A library that appends a byte to the file GROWS behind the first read of it.
cat >grows.c <<'end'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

ssize_t read(int file, void *bytes, size_t count) {
    static int grown;
    struct stat ours, its;
    const ssize_t got = ((__typeof__(&read))dlsym(RTLD_NEXT, "read"))(file, bytes, count);
    if (!grown && fstat(file, &ours) == 0 && stat(getenv("GROWS"), &its) == 0 && ours.st_ino == its.st_ino) {
        const int other = open(getenv("GROWS"), O_WRONLY | O_APPEND);
        grown = write(other, " ", 1) == 1;
        close(other);
    }
    return got;
}
end
${CC:-cc} -std=c11 -O1 -shared -fPIC grows.c -o grows.so -ldl
# grows COMMAND INPUT FILE: the command refuses an input that grows while it is read, and leaves the file as it was.
grows() {
    command=$1
    files=$3
    prepare
    cp "$2" kept
    as="env LD_PRELOAD=./grows.so GROWS=$2"
    expect "$command, $2 grows" 1 "$2: was changed while it was read" $command
    as=
    mv kept "$2"
    cmp -s "put/$3" "before/$3" || fail "$command, $2 grows: the output was written"
    holds_only "$command, $2 grows"
}
grows compile recipe.yaml plan
grows onnx net.onnx net.onnx
grows renamed trained.safetensors weights.safetensors
grows attach signature plan
grows ids text.txt ids.npy
grows raw vocab.json ids.bin
grows decoded ids.npy text

# --- commands whose result is what they print ---------------------------------------------------------------------------

# printed NAME PROGRAM COMMAND...: exit 1 and one line if that cannot be written, 141 if nobody reads it
printed() {
    name=$1
    program=$2
    shift 2
    status=0
    "$@" >/dev/full 2>err || status=$?
    [ $status -eq 1 ] && grep -q "^$program: .*cannot be written" err || fail "$name, a full output: exit $status"
    {
        status=0
        sleep 0.05
        "$@" 2>err || status=$?
        echo $status >status
    } | :
    [ "$(cat status)" -eq 141 ] || fail "$name, a closed pipe: exit $(cat status)"
}
printed "a metric" firn ./firn eval matrix.plan --pub key.pub.pem --checkpoint trained $data --threads 1 --quiet
printed "a digest" firn ./firn digest trained
printed "a checkpoint" firn ./firn checkpoint trained
printed "a text" firn ./firn generate text_decode.plan --pub key.pub.pem --checkpoint text.ckpt --prompt Hello --tokens 5
printed "what data hold" firn ./firn data table.csv
printed "what a plan holds" firnc ./firnc inspect train.plan
printed "what would be made" firnc ./firnc check recipe.yaml
printed "what a key is" firnc ./firnc key key.pub.pem
printed "a schedule" firnc ./firnc schedule recipe.yaml
printed "a plan as C" firnc ./firnc export train.plan --array
printed "tokens as text" firnc ./firnc tokens --to-text ids.npy --vocabulary vocab.json --merges merges.txt
printed "the ids of a text" firnc ./firnc tokens --text "a text" -o - --vocabulary vocab.json --merges merges.txt
printed "a number of tokens" firnc ./firnc tokens --count text.txt --vocabulary vocab.json --merges merges.txt

cd "$root"
[ $failures -eq 0 ]
