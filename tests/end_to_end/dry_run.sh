#!/bin/sh
# firn train --dry-run: says what would be run, opens plan, data, checkpoint, evaluations and outputs as the run does, and
# refuses by the same line and exit code; no file is created, changed or removed.
set -eu

. tests/end_to_end/expectations
root=$PWD
case $BUILD in
/*) ;;
*)
    FIRNC=$root/$FIRNC
    FIRN=$root/$FIRN
    ;;
esac
recipe=$root/compiler/recipes/small_gpt2.yaml
cp README.md "$folder/README.md"
mkdir "$folder/here"
cd "$folder/here"
mv ../README.md text
"$FIRNC" keygen k >../out
"$FIRNC" keygen other >../out
for mode in train eval; do "$FIRNC" compile "$recipe" --mode $mode --key k.key.pem -o $mode.plan --security-counter 3 >../out; done
"$FIRNC" compile "$recipe" --mode train --key k.key.pem -o seeded.plan --set trainer.init.seed=9 >../out
"$FIRNC" compile "$recipe" --mode eval --key k.key.pem -o wide.plan --set trainer.init.model.hidden_size=32 >../out
"$FIRNC" compile "$recipe" --mode eval --key k.key.pem -o predict.plan --decode >../out

# listing: names, modes, times and contents of all files here.
listing() {
    ls -lAR --time-style=full-iso .
    find . -type f ! -name pipe -exec sha256sum {} + | sort
}

# dry STATUS WORD...: a dry run ends with the status, and everything is as it was.
dry() {
    wanted=$1
    shift
    listing >../before
    status=0
    "$FIRN" train "$@" --dry-run --threads 1 >../out 2>../err </dev/null || status=$?
    [ $status -eq "$wanted" ] || fail "$*: exit $status, not $wanted"
    listing >../after
    cmp -s ../before ../after || fail "$*: something was written: $(diff ../before ../after)"
}

# says PATTERN: on standard output
says() {
    grep -q -- "$1" ../out || fail "no '$1'"
}

# refused WORD...: a dry run is refused by the line and the exit code of the run.
refused() {
    wanted=0
    "$FIRN" train "$@" --threads 1 --quiet >../said 2>../wanted </dev/null || wanted=$?
    [ $wanted -ne 0 ] || fail "$*: the run is not refused"
    dry $wanted "$@" --quiet
    same "$*: another line" ../wanted ../err
    same "$*: another output" ../said ../out
}

# --- a new run ---

base='train.plan --pub k.pub.pem --data text'
outputs='--checkpoint run.ckpt --checkpoint-every 10 --log run.jsonl --counter counter --profile times --keep-best best.ckpt --csv run.csv --tensorboard events'
# shellcheck disable=SC2086 # several options
{
    dry 0 $base
    says '^dry run: nothing was run or written$'
    says '^plan  *train.plan: gpt2, 8832 parameters, kernels '
    says '^steps  *40, step 1 to 40 of 40, 4 samples each$'
    says '^epochs  *[0-9.]* of [0-9]* samples$'
    says '^memory  *[0-9]* bytes; the machine has [0-9]*, of which [0-9]* are available now$'
    says '^writes  *nothing$'
    grep -q ' windows of 17 bytes, .* epochs in the run of 40 steps$' ../err || fail "no notes about the data"
    dry 0 $base --eval eval.plan --eval-every 20 $outputs --steps 20
    says '^steps  *20, step 1 to 20 of 40, '
    says '^evaluates  *eval.plan every 20 steps and at the end$'
    says '^memory  *[0-9]* bytes: [0-9]* of the training, [0-9]* of the evaluations; '
    says '^writes  *run.ckpt: a checkpoint of 112032 bytes, every 10 steps and at the end$'
    says '^writes  *best.ckpt: a checkpoint of 112032 bytes, of the best evaluation$'
    says '^writes  *run.jsonl: the log, '
    says '^writes  *run.csv: a table, '
    says '^writes  *events: a folder, '
    says '^writes  *times: the times of the ops, '
    says '^writes  *counter: the security counter, '
    printf 'a\033[2J\nb' >../name # of a file, which neither ends the line nor reaches the terminal
    dry 0 $base --csv "$(cat ../name)" --checkpoint "$(cat ../name)2"
    says '^writes  *a.x1b\[2J.x0ab: a table, '
    says '^  *a.x1b\[2J.x0ab2.tmp, .columns and .lock: '
    dry 0 $base --steps 0
    says '^steps  *none of 40'
    : >empty
    dry 0 $base --log empty
    mkfifo pipe
    dry 0 $base --log pipe
    rm pipe empty

    # --- going on ---

    "$FIRN" train $base --eval eval.plan --eval-every 10 $outputs --steps 10 --threads 1 --quiet >../out 2>../err
    cp run.ckpt ten.ckpt
    "$FIRN" train $base --eval eval.plan --eval-every 10 $outputs --steps 10 --threads 1 --quiet --resume >../out 2>../err
    dry 0 $base --eval eval.plan --eval-every 10 $outputs --resume
    says '^steps  *20, step 21 to 40 of 40, '
    says '^writes  *run.ckpt: .*; it is there, and goes on or is replaced$'
    # A best state and lines of the log that are ahead of the checkpoint: the run removes them, and a dry run does not.
    cp ten.ckpt run.ckpt
    dry 0 $base --eval eval.plan --eval-every 10 $outputs --resume
    says '^steps  *30, step 11 to 40 of 40, '
    "$FIRN" train $base --eval eval.plan --eval-every 10 $outputs --threads 1 --quiet --resume >../out 2>../err ||
        fail "the run does not go on after a dry run"
    refused $base --eval eval.plan --eval-every 10 $outputs --resume # complete: exit code 5
    [ $status -eq 5 ] || fail "a complete run: exit $status"

    # --- what is refused ---

    refused $base $outputs --eval eval.plan
    refused $base --log run.jsonl
    refused $base --checkpoint ten.ckpt
    refused $base --checkpoint none.ckpt --resume
    refused $base --checkpoint text --resume
    refused $base --checkpoint text
    refused $base --checkpoint .
    refused $base --checkpoint none/run.ckpt
    refused $base --log none/run.jsonl
    refused $base --log .
    refused $base --csv run.csv
    refused $base --csv none/run.csv
    refused $base --csv .
    refused $base --tensorboard events
    refused $base --tensorboard none/events
    refused $base --tensorboard text
    for ending in .tmp .lock .columns; do
        refused $base --checkpoint new.ckpt --tensorboard new.ckpt$ending
        [ $wanted -eq 2 ] || fail "events at new.ckpt$ending: exit $wanted"
    done
    refused $base --log new/
    refused $base --counter none/counter
    refused $base --counter text
    refused $base --profile none/times
    refused train.plan --pub other.pub.pem --data text
    refused train.plan --pub k.key.pem --data text
    refused none.plan --pub k.pub.pem --data text
    refused text --pub k.pub.pem --data text
    refused eval.plan --pub k.pub.pem --data text
    refused train.plan --pub k.pub.pem --data none
    refused $base --labels text
    refused $base --eval train.plan
    refused $base --eval wide.plan
    refused $base --eval predict.plan
    refused $base --eval eval.plan --by none
    refused seeded.plan --pub k.pub.pem --data text --checkpoint ten.ckpt --resume
    refused $base --checkpoint ten.ckpt --log ten.ckpt
    head -c 20 text >short
    refused train.plan --pub k.pub.pem --data short
    refused $base --data short --checkpoint ten.ckpt --resume
    head -c 9000 text >other
    refused train.plan --pub k.pub.pem --data other --checkpoint ten.ckpt --resume
    "$FIRN" train seeded.plan --pub k.pub.pem --data text --log seeded.jsonl --checkpoint seeded.ckpt --steps 10 --threads 1 \
        --quiet >../out 2>../err
    refused $base --checkpoint ten.ckpt --resume --log seeded.jsonl
    cp ten.ckpt damaged.ckpt
    printf x | dd of=damaged.ckpt bs=1 seek=20000 conv=notrunc 2>../err
    refused $base --checkpoint damaged.ckpt --resume
    printf '9\n' >high
    refused $base --counter high
    echo mine >new.ckpt.tmp
    refused $base --checkpoint new.ckpt
    rm new.ckpt.tmp

    # Room: more than the limit of file sizes, in blocks of 512 bytes.
    (
        ulimit -f 100
        refused $base --checkpoint big.ckpt
        [ $failures -eq 0 ]
    ) || failures=1
    # The lock of another run.
    if command -v flock >/dev/null; then
        : >run2.ckpt.lock
        (
            flock 9
            refused $base --checkpoint run2.ckpt
            [ $failures -eq 0 ]
        ) 9<run2.ckpt.lock || failures=1
        rm run2.ckpt.lock
    fi
    # A disk that is full, if this user may mount one.
    mkdir disk
    if mount -t tmpfs -o size=64k tmpfs disk 2>../err; then
        refused $base --checkpoint disk/run.ckpt
        mkdir disk/events
        head -c 100000 /dev/zero >disk/rest 2>../err || true
        refused $base --log disk/run.jsonl
        refused $base --csv disk/run.csv
        wanted=0 # the name of an event file has the time, so the line is compared without it
        "$FIRN" train $base --tensorboard disk/events --threads 1 --quiet >../said 2>../wanted </dev/null || wanted=$?
        dry $wanted $base --tensorboard disk/events --quiet
        sed 's/tfevents[^:]*//' ../wanted >../wanted.line
        sed 's/tfevents[^:]*//' ../err >../err.line
        same "events on a full disk: another line" ../wanted.line ../err.line
        grep -q "the event file cannot be written: No space left" ../err || fail "events on a full disk"
        umount disk
    else
        echo "skipped for want of the right to mount: a disk that is full"
    fi
    # A folder that cannot be written to, which root can.
    if [ "$(id -u)" -ne 0 ]; then
        mkdir closed
        printf '1\n' >closed/counter
        chmod 555 closed
        refused $base --checkpoint closed/run.ckpt
        refused $base --log closed/run.jsonl
        refused $base --csv closed/run.csv
        refused $base --tensorboard closed/events
        chmod 755 closed
    fi
}

[ $failures -eq 0 ] || exit 1
echo "what would be run, the same refusals, and nothing written"
