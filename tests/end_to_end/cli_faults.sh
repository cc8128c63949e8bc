#!/bin/sh
# What firn and firnc do when the machine fails them: closed descriptors, full disks, folders that cannot be read, files
# that change while they are read. Nothing may be lost or half written without a message that says so.
set -eu

. tests/end_to_end/expectations
BUILD=$(cd "$BUILD" && pwd)
FIRNC=$BUILD/firnc
FIRN=$BUILD/firn

# same NAME FILE FILE
same() {
    cmp -s "$2" "$3" || fail "$1"
}

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
import array, random, sys

def save(name, code, descr, shape, values):
    header = ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)).ljust(117) + "\n"
    with open(sys.argv[1] + "/" + name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        array.array(code, values).tofile(file)

random.seed(1)
save("x.npy", "f", "<f4", (24, 4), [random.gauss(0, 1) for _ in range(96)])
save("y.npy", "i", "<i4", (24,), [random.randrange(3) for _ in range(24)])
save("other.npy", "f", "<f4", (24, 4), [0] * 96)
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

# --- standard descriptors that are closed ---------------------------------------------------------------------------

expect "a run" 0 "" train run.plan --quiet --checkpoint whole --log whole.jsonl
cp out whole.digest
closed() {
    "$@" <&- >&- 2>&-
}
for wanted in train compile; do
    status=0
    case $wanted in
    train) closed train run.plan --checkpoint closed --log closed.jsonl || status=$? ;;
    compile) closed "$FIRNC" compile recipe.yaml --mode train --key key.key.pem -o closed.plan || status=$? ;;
    esac
    [ $status -eq 0 ] || fail "closed descriptors, $wanted: exit $status"
done
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

[ $failures -eq 0 ]
