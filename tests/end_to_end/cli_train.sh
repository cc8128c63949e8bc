#!/bin/sh
# firn train and eval from the user's view: resuming, interrupting, the log, and each way of stopping with its exit code
# and its one line on stderr.
set -eu

. tests/end_to_end/expectations
needs full

# compile NAME [--set ...]: a train plan of the small GPT-2
compile() {
    plan=$1
    shift
    "$BUILD/firnc" compile compiler/recipes/small_gpt2.yaml --mode train --key "$folder/test.key.pem" \
        -o "$folder/$plan.plan" "$@" >"$folder/out"
}

# lines LOG: the parts that must be the same in every log of a run
lines() {
    sed 's/,"seconds":[0-9.]*,"elapsed":[0-9.]*}/}/' "$1"
}

"$BUILD/firnc" keygen "$folder/test" >"$folder/out"
"$BUILD/firnc" keygen "$folder/other" >"$folder/out"
PUB=$folder/test.pub.pem
DATA=$folder/text
cat /usr/share/common-licenses/GPL-3 /usr/share/common-licenses/GPL-2 >"$DATA"
compile small
PLAN=$folder/small.plan
train() {
    "$FIRN" train "$PLAN" --pub "$PUB" --data "$DATA" --quiet "$@"
}

# --- resuming ------------------------------------------------------------------------------------------------------

expect "20 steps" 0 "" train --steps 20 --checkpoint "$folder/a" --log "$folder/a.jsonl"
cp "$folder/out" "$folder/a.digest"
grep -Eqx 'digest [0-9a-f]{64}' "$folder/a.digest" || fail "train ends with the digest"
[ "$(wc -l <"$folder/a.jsonl")" -eq 21 ] || fail "a line for each step, and one"

expect "10 steps" 0 "" train --steps 10 --checkpoint "$folder/b" --log "$folder/b.jsonl"
expect "10 more" 0 "" train --steps 10 --checkpoint "$folder/b" --log "$folder/b.jsonl" --resume
same "a resumed run has another digest" "$folder/out" "$folder/a.digest"
lines "$folder/a.jsonl" >"$folder/a.lines"
lines "$folder/b.jsonl" >"$folder/b.lines"
same "a resumed run has another log" "$folder/a.lines" "$folder/b.lines"

# Steps that are in the log but not in the checkpoint are run again; an incomplete line is removed.
expect "checkpoint every 4" 0 "" train --steps 10 --checkpoint "$folder/c" --checkpoint-every 4 --log "$folder/c.jsonl"
rm "$folder/c"
expect "4 steps" 0 "" train --steps 4 --checkpoint "$folder/c"
printf '{"step":11,"lo' >>"$folder/c.jsonl"
expect "16 more" 0 "" train --steps 16 --checkpoint "$folder/c" --log "$folder/c.jsonl" --resume
lines "$folder/c.jsonl" >"$folder/c.lines"
same "a log that ran ahead is cut back" "$folder/a.lines" "$folder/c.lines"

# Without --resume, an existing run is not started again from the beginning.
for steps in 0 3; do
    cp "$folder/a" "$folder/a.kept"
    cp "$folder/a.jsonl" "$folder/a.jsonl.kept"
    expect "a checkpoint that is there, $steps steps" 1 "--resume" train --steps $steps --checkpoint "$folder/a" \
        --log "$folder/a.jsonl"
    same "a new run took a checkpoint" "$folder/a" "$folder/a.kept"
    same "a new run took a log" "$folder/a.jsonl" "$folder/a.jsonl.kept"
done

expect "threads" 0 "" train --steps 20 --threads 3
same "three threads have another digest" "$folder/out" "$folder/a.digest"
expect "to the end" 0 "" train --resume --checkpoint "$folder/a" --log "$folder/a.jsonl"
cp "$folder/out" "$folder/end.digest"
for steps in "" "--steps 5"; do
    expect "beyond the end" 5 "the run is complete at step 40: nothing is left to do" train --resume \
        --checkpoint "$folder/a" --log "$folder/a.jsonl" $steps
    same "a run that is complete has another digest" "$folder/out" "$folder/end.digest"
done
expect "no step beyond the end" 0 "" train --resume --checkpoint "$folder/a" --steps 0
expect "--steps=N is --steps N" 0 "" train --steps=20
same "--steps=20 has another digest" "$folder/out" "$folder/a.digest"

cp "$DATA" "$folder/changed"
printf x >>"$folder/changed"
expect "other data under the same log" 1 "another run" "$FIRN" train "$PLAN" --pub "$PUB" --data "$folder/changed" \
    --quiet --resume --checkpoint "$folder/b" --log "$folder/b.jsonl" --allow-other-data

# Without --resume, an existing log is not overwritten; with --resume, a log with a gap is not continued.
cp "$folder/b.jsonl" "$folder/b.jsonl.kept"
expect "a log that is there" 1 "--resume" train --steps 1 --log "$folder/b.jsonl"
same "a new run took a log of its own" "$folder/b.jsonl" "$folder/b.jsonl.kept"
head -n 3 "$folder/b.jsonl" >"$folder/gap.jsonl"
cp "$folder/gap.jsonl" "$folder/gap.kept"
expect "a log with a gap" 1 "ends at step 2 and the checkpoint is at step 20" train --steps 1 --resume \
    --checkpoint "$folder/b" --log "$folder/gap.jsonl"
same "a log with a gap was changed" "$folder/gap.jsonl" "$folder/gap.kept"

# No output may overwrite an input or another output, through links and not yet existing paths either.
cp "$DATA" "$folder/precious"
cp "$PLAN" "$folder/precious.plan"
ln -s precious "$folder/precious.link"
ln "$folder/precious" "$folder/precious.hard"
mkdir "$folder/sub"
for output in --log --checkpoint --counter; do
    for name in precious precious.link precious.hard sub/../precious precious.plan test.pub.pem labels; do
        expect "$output $name" 2 "would be written over" "$FIRN" train "$folder/precious.plan" --pub "$PUB" --quiet \
            --data "$folder/precious" --labels "$folder/labels" --steps 1 $output "$folder/$name"
    done
done
same "the data was written over" "$folder/precious" "$DATA"
same "the plan was written over" "$folder/precious.plan" "$PLAN"
expect "one name for two" 2 "over the log" train --steps 1 --checkpoint "$folder/cc" --log "$folder/sub/../cc"
expect "a log by the name of a temporary" 2 "tmp over the log" train --steps 1 --checkpoint "$folder/cc" \
    --log "$folder/cc.tmp"
mv "$folder/precious" "$folder/sub/precious"
expect "a log among the data" 2 "folder of the data" "$FIRN" train "$PLAN" --pub "$PUB" --data "$folder/sub" --steps 1 \
    --log "$folder/sub/log"
[ ! -e "$folder/cc" ] && [ ! -e "$folder/sub/log" ] || fail "a command line that was refused made a file"

# --- interrupting --------------------------------------------------------------------------------------------------

# A run that would take hours.
compile long --set trainer.init.loop.num_steps=100000000
for signal in INT TERM HUP USR1 USR2 ALRM XCPU; do
    # A non-interactive shell starts its background jobs with SIGINT ignored; env restores the default.
    env --default-signal=INT,HUP,USR1,USR2,ALRM,XCPU "$FIRN" train "$folder/long.plan" --pub "$PUB" --data "$DATA" --quiet \
        --checkpoint "$folder/stopped" --log "$folder/stopped.jsonl" >"$folder/out" 2>"$folder/err" &
    child=$!
    until [ -e "$folder/stopped.jsonl" ] && [ "$(wc -l <"$folder/stopped.jsonl")" -gt 5 ]; do sleep 0.05; done
    kill -$signal $child
    status=0
    wait $child || status=$?
    [ $status -eq 130 ] || fail "SIG$signal: exit $status, not 130"
    grep -q interrupted "$folder/err" || fail "SIG$signal: says so"
    case $signal in
    INT | TERM) again="; again to stop at once" ;;
    *) again= ;;
    esac
    grep -qx "stopping after this step$again" "$folder/err" || fail "SIG$signal: is heard at once"
    done_steps=$(($(wc -l <"$folder/stopped.jsonl") - 1))
    cp "$folder/out" "$folder/stopped.digest"
    expect "the same number of steps" 0 "" "$FIRN" train "$folder/long.plan" --pub "$PUB" --data "$DATA" --quiet \
        --steps "$done_steps"
    same "SIG$signal: an interrupted run is another" "$folder/out" "$folder/stopped.digest"
    expect "its checkpoint" 0 "" "$FIRN" digest "$folder/stopped"
    same "SIG$signal: the checkpoint is another" "$folder/out" "$folder/stopped.digest"
    rm -f "$folder/stopped.jsonl" "$folder/stopped"
done

# Under nohup a run continues when its terminal closes. Otherwise it receives SIGHUP, once or several times, and saves.
for hangup in ignore default; do
    env --$hangup-signal=HUP "$FIRN" train "$folder/long.plan" --pub "$PUB" --data "$DATA" --quiet \
        --checkpoint "$folder/hung" --log "$folder/hung.jsonl" >"$folder/out" 2>"$folder/err" &
    child=$!
    until [ -e "$folder/hung.jsonl" ] && [ "$(wc -l <"$folder/hung.jsonl")" -gt 5 ]; do sleep 0.05; done
    kill -HUP $child
    kill -HUP $child 2>/dev/null || true
    if [ $hangup = ignore ]; then
        heard_at=$(wc -l <"$folder/hung.jsonl")
        until [ "$(wc -l <"$folder/hung.jsonl")" -gt $((heard_at + 20)) ]; do sleep 0.05; done
        kill -TERM $child
    fi
    status=0
    wait $child || status=$?
    [ $status -eq 130 ] && [ -s "$folder/hung" ] || fail "SIGHUP, $hangup: exit $status, or nothing saved"
    rm -f "$folder/hung.jsonl" "$folder/hung"
done

# A limit of CPU time sends SIGXCPU each second; a run that it stops has saved its state.
status=0
sh -c "ulimit -St 1; exec '$FIRN' train '$folder/long.plan' --pub '$PUB' --data '$DATA' --quiet \
    --checkpoint '$folder/limited' --log '$folder/limited.jsonl'" >"$folder/out" 2>"$folder/err" || status=$?
[ $status -eq 130 ] && grep -q "^interrupted after step" "$folder/err" || fail "a limit of CPU time: exit $status"
[ "$(grep -c 'stopping after this step' "$folder/err")" -eq 1 ] || fail "a limit of CPU time is said more than once"
expect "its checkpoint" 0 "" "$FIRN" digest "$folder/limited"
[ ! -e "$folder/limited.tmp" ] && [ ! -e "$folder/limited.lock" ] || fail "a limit of CPU time leaves files"
rm -f "$folder/limited" "$folder/limited.jsonl"

# A signal to the whole job also ends the process that reads the messages.
mkfifo "$folder/messages"
sleep 1000 <"$folder/messages" &
reader=$!
"$FIRN" train "$folder/long.plan" --pub "$PUB" --data "$DATA" --checkpoint "$folder/unread" --log "$folder/unread.jsonl" \
    >"$folder/out" 2>"$folder/messages" &
child=$!
until [ -e "$folder/unread.jsonl" ] && [ "$(wc -l <"$folder/unread.jsonl")" -gt 5 ]; do sleep 0.05; done
kill -KILL $reader
kill -TERM $child
status=0
wait $child || status=$?
[ $status -eq 130 ] && [ -s "$folder/unread" ] || fail "messages that nobody reads: exit $status, or nothing saved"
rm -f "$folder/unread.jsonl" "$folder/unread" "$folder/messages"

# Two simultaneous runs on one checkpoint or one log: the second one is refused and does not affect the first.
expect "3 steps" 0 "" "$FIRN" train "$folder/long.plan" --pub "$PUB" --data "$DATA" --quiet --steps 3 \
    --checkpoint "$folder/held"
[ ! -e "$folder/held.lock" ] || fail "a run that ended left its lock"
cp "$folder/held" "$folder/other"
ln -s held "$folder/held.link"
"$FIRN" train "$folder/long.plan" --pub "$PUB" --data "$DATA" --quiet --resume --checkpoint "$folder/held" \
    --checkpoint-every 2 --log "$folder/held.jsonl" >"$folder/out" 2>"$folder/err" &
child=$!
until [ -e "$folder/held.jsonl" ] && [ "$(wc -l <"$folder/held.jsonl")" -gt 5 ]; do sleep 0.05; done
for name in held held.link; do
    expect "a second run on a checkpoint, $name" 1 "another run is saving there" "$FIRN" train "$folder/long.plan" \
        --pub "$PUB" --data "$DATA" --quiet --resume --checkpoint "$folder/$name" --steps 1
done
expect "a second run on a log" 1 "another run is writing this log" "$FIRN" train "$folder/long.plan" --pub "$PUB" \
    --data "$DATA" --quiet --resume --checkpoint "$folder/other" --log "$folder/held.jsonl" --steps 1
expect "eval and digest only read" 0 "" "$FIRN" digest "$folder/held"
kill -TERM $child
wait $child || true
sed -n 's/^{"step":\([0-9]*\),.*/\1/p' "$folder/held.jsonl" >"$folder/steps"
seq 4 $(($(wc -l <"$folder/held.jsonl") + 2)) >"$folder/wanted"
same "a second run left its steps in the log" "$folder/steps" "$folder/wanted"
rm -f "$folder/held" "$folder/held.link" "$folder/held.jsonl" "$folder/other"

# --- stopped by values ---------------------------------------------------------------------------------------------

compile hot --set trainer.init.precision.enabled=false --set trainer.init.precision.max_gradient_norm=null \
    --set trainer.init.schedulers.0.SequentialLR.schedulers.0.LinearLR.initial_learning_rate=1e30 \
    --set trainer.init.schedulers.0.SequentialLR.schedulers.0.LinearLR.end_learning_rate=1e30
expect "a loss that is not finite" 4 LOSS_NOT_FINITE "$FIRN" train "$folder/hot.plan" --pub "$PUB" --data "$DATA" \
    --quiet --checkpoint "$folder/hot" --log "$folder/hot.jsonl"
tail -n 1 "$folder/hot.jsonl" | grep -q '"loss":null.*"error":"LOSS_NOT_FINITE"' || fail "the log has the loss"
expect "the state of the step before was saved" 0 "" "$FIRN" digest "$folder/hot"

# An update from overflowed gradients makes parameters that are not finite; they must not replace a checkpoint.
compile ruined --set trainer.init.precision.fp16_type=float16 --set trainer.init.precision.loss_scaling_factor=1e38 \
    --set trainer.init.precision.max_gradient_norm=null
expect "no step yet" 0 "" "$FIRN" train "$folder/ruined.plan" --pub "$PUB" --data "$DATA" --quiet --steps 0 \
    --checkpoint "$folder/ruined"
cp "$folder/ruined" "$folder/ruined.kept"
expect "parameters that are not finite" 4 "LOSS_NOT_FINITE.*left as it was" "$FIRN" train "$folder/ruined.plan" \
    --pub "$PUB" --data "$DATA" --quiet --resume --checkpoint "$folder/ruined" --checkpoint-every 1
same "a ruined state took the checkpoint" "$folder/ruined" "$folder/ruined.kept"
expect "parameters that are not finite at the end" 4 "LOSS_NOT_FINITE.*left as it was" "$FIRN" train \
    "$folder/ruined.plan" --pub "$PUB" --data "$DATA" --quiet --resume --checkpoint "$folder/ruined" --steps 1
same "a ruined state took the checkpoint at the end" "$folder/ruined" "$folder/ruined.kept"
expect "parameters that are not finite, and no checkpoint yet" 4 "LOSS_NOT_FINITE.*nothing was saved" "$FIRN" train \
    "$folder/ruined.plan" --pub "$PUB" --data "$DATA" --quiet --checkpoint "$folder/ruined.none" --steps 1
[ ! -e "$folder/ruined.none" ] || fail "a ruined state was saved"

compile floor --set trainer.init.precision.fp16_type=float16 --set trainer.init.precision.loss_scaling_factor=dynamic \
    --set trainer.init.precision.initial_loss_scale=1e38 --set trainer.init.precision.max_loss_scale=1e38 \
    --set trainer.init.precision.min_loss_scale=1e37
expect "a loss scale at its floor" 4 LOSS_SCALE_FLOOR "$FIRN" train "$folder/floor.plan" --pub "$PUB" --data "$DATA" \
    --quiet --checkpoint "$folder/floor" --log "$folder/floor.jsonl"
tail -n 1 "$folder/floor.jsonl" | grep -q '"error":"LOSS_SCALE_FLOOR"' || fail "the log has the floor"
expect "the state was saved" 0 "" "$FIRN" digest "$folder/floor"

# --- files ---------------------------------------------------------------------------------------------------------

head -c 10 "$DATA" >"$folder/short"
expect "data that is too short" 1 DATA_TOO_SHORT "$FIRN" train "$PLAN" --pub "$PUB" --data "$folder/short" --quiet
expect "data that is too short, with a log" 1 DATA_TOO_SHORT "$FIRN" train "$PLAN" --pub "$PUB" \
    --data "$folder/short" --quiet --log "$folder/short.jsonl"
[ ! -e "$folder/short.jsonl" ] || fail "a run that never began left a log"
cp "$folder/b" "$folder/kept"
expect "data that is too short to go on" 1 DATA_TOO_SHORT "$FIRN" train "$PLAN" --pub "$PUB" --data "$folder/short" \
    --quiet --resume --checkpoint "$folder/b" --allow-other-data
same "a run that never began took a checkpoint" "$folder/b" "$folder/kept"

# Data that becomes invalid during the run: a byte that the plan does not allow, near the end.
compile ascii --set trainer.init.model.vocab_size=128 --set trainer.fit.train_dataloader.shuffle=false
{
    head -c 400 "$DATA"
    printf '\377'
    cat "$DATA"
} >"$folder/bad"
expect "a value out of range" 1 DATA_RANGE "$FIRN" train "$folder/ascii.plan" --pub "$PUB" --data "$folder/bad" --quiet \
    --checkpoint "$folder/bad.ckpt" --log "$folder/bad.jsonl"
expect "the steps before it were saved" 0 "" "$FIRN" digest "$folder/bad.ckpt"
expect "no data" 1 "none" "$FIRN" train "$PLAN" --pub "$PUB" --data "$folder/none" --quiet
expect "a folder without files" 1 "no file" sh -c "mkdir '$folder/void' && '$FIRN' train '$PLAN' --pub '$PUB' --data '$folder/void'"
expect "no key" 1 "none.pem" "$FIRN" train "$PLAN" --pub "$folder/none.pem" --data "$DATA"
expect "a key that is none" 1 "PEM" "$FIRN" train "$PLAN" --pub "$DATA" --data "$DATA"
expect "no plan" 1 "none.plan" "$FIRN" train "$folder/none.plan" --pub "$PUB" --data "$DATA"
expect "nowhere to save" 1 "make the folder" train --steps 1 --checkpoint "$folder/none/c"
mkfifo "$folder/pipe"
expect "a pipe for a checkpoint" 1 "not a regular file" train --steps 1 --checkpoint "$folder/pipe"
expect "a pipe for an export" 1 "not a regular file" "$FIRN" export "$folder/a" -o "$folder/pipe"
[ -p "$folder/pipe" ] || fail "a pipe was replaced"
ln -s a.safetensors "$folder/link"
: >"$folder/a.safetensors"
expect "an export behind a link" 0 "" "$FIRN" export "$folder/a" -o "$folder/link"
[ -L "$folder/link" ] && [ -s "$folder/a.safetensors" ] || fail "the link was replaced, not its file"
expect "nowhere to log" 1 "log cannot be written: .*; look at the folder" train --steps 1 --log "$folder/none/log"

# No room: files are limited to 8 blocks of 512 bytes, and the checkpoint is larger.
cp "$folder/b" "$folder/kept"
expect "a limit of file sizes" 1 "STORAGE_FULL.*limit of file sizes: raise it (ulimit -f).*the checkpoint before is untouched" \
    sh -c "ulimit -f 8; exec '$FIRN' train '$PLAN' --pub '$PUB' --data '$DATA' --quiet \
    --resume --checkpoint '$folder/b' --steps 3"
same "a limit of file sizes took the checkpoint before" "$folder/b" "$folder/kept"
[ ! -e "$folder/b.tmp" ] || fail "a limit of file sizes left half a checkpoint"
expect "a limit of file sizes at the first save" 1 "STORAGE_FULL.*limit of file sizes: raise it (ulimit -f).*there is no checkpoint yet" \
    sh -c "ulimit -f 8; exec '$FIRN' train \
    '$PLAN' --pub '$PUB' --data '$DATA' --quiet --checkpoint '$folder/first' --steps 1"
expect "a limit of file sizes under the log" 1 "log cannot be written: .*; raise the limit of file sizes (ulimit -f)" \
    sh -c "ulimit -f 4; exec '$FIRN' train '$PLAN' --pub '$PUB' --data '$DATA' --quiet --steps 40 --log '$folder/limited.jsonl'"
expect "a full disk under the log" 1 "log cannot be written" train --steps 1 --log /dev/full
expect "nowhere to print" 1 "stdout.*; make room" sh -c "'$FIRN' train '$PLAN' --pub '$PUB' --data '$DATA' --quiet --steps 1 >/dev/full"

# --- refused -------------------------------------------------------------------------------------------------------

expect "another key" 3 WRONG_KEY "$FIRN" train "$PLAN" --pub "$folder/other.pub.pem" --data "$DATA"
head -c 5000 "$PLAN" >"$folder/cut.plan"
expect "a plan that is cut" 3 TRUNCATED "$FIRN" train "$folder/cut.plan" --pub "$PUB" --data "$DATA"
cp "$PLAN" "$folder/longer.plan"
printf x >>"$folder/longer.plan"
expect "a byte too many" 3 TRAILING_BYTES "$FIRN" train "$folder/longer.plan" --pub "$PUB" --data "$DATA"
expect "not a plan" 3 MAGIC "$FIRN" train "$DATA" --pub "$PUB" --data "$DATA"
echo 7 >"$folder/counter"
expect "an old plan" 3 SECURITY_COUNTER train --counter "$folder/counter"
compile newer --security-counter 9
expect "a newer plan" 0 "" "$FIRN" train "$folder/newer.plan" --pub "$PUB" --data "$DATA" --quiet --steps 1 \
    --counter "$folder/counter"
[ "$(cat "$folder/counter")" -eq 9 ] || fail "the counter grows with the plan"
echo 8 >"$folder/counter"
expect "a newer plan without a step" 0 "" "$FIRN" train "$folder/newer.plan" --pub "$PUB" --data "$DATA" --quiet --steps 0 \
    --counter "$folder/counter"
[ "$(cat "$folder/counter")" -eq 8 ] || fail "the counter grows before a step has worked"
expect "a counter in no folder" 1 "the folder of the counter does not exist" train --counter "$folder/nowhere/counter"
[ ! -s "$folder/out" ] || fail "a step without its counter"
expect "a counter that begins" 0 "" "$FIRN" train "$folder/newer.plan" --pub "$PUB" --data "$DATA" --quiet --steps 1 \
    --counter "$folder/begun"
[ "$(cat "$folder/begun")" -eq 9 ] || fail "a counter begins at 0 and takes that of the plan"
expect "an empty plan" 2 "an empty name in place of a " "$FIRN" train "" --pub "$PUB" --data "$DATA"
compile ours --vendor acme --class sensor --image-id 7
ours() {
    "$FIRN" train "$folder/ours.plan" --data "$DATA" --quiet --steps 1 "$@"
}
expect "the right device" 0 "" ours --pub "$PUB" --vendor acme --class sensor --image-id 7
expect "another vendor" 3 OTHER_DEVICE ours --pub "$PUB" --vendor acne
expect "another class" 3 OTHER_DEVICE ours --pub "$PUB" --class 00112233-4455-6677-8899-aabbccddeeff
expect "another image id" 3 OTHER_IMAGE ours --pub "$PUB" --image-id 8
expect "a vendor that is none" 2 "is no identity" ours --pub "$PUB" --vendor "a b"
expect "several keys" 0 "" ours --pub "$folder/other.pub.pem" --pub "$PUB"
echo nine >"$folder/counter"
expect "a counter that is none" 1 COUNTER train --counter "$folder/counter"
expect "no checkpoint to resume" 3 CHECKPOINT_MISSING train --resume --checkpoint "$folder/none"
expect "another plan's checkpoint" 3 "CHECKPOINT_OTHER_RUN.*firnc compile --continue.*the optimizer's state" train --resume --checkpoint "$folder/hot"
head -c 3000 "$folder/a" >"$folder/cut"
expect "a checkpoint that is cut" 3 CHECKPOINT_DAMAGED train --resume --checkpoint "$folder/cut"
expect "digest of it" 3 "CHECKPOINT_DAMAGED); use another copy" "$FIRN" digest "$folder/cut"
expect "export of it" 3 CHECKPOINT_DAMAGED "$FIRN" export "$folder/cut" -o "$folder/cut.safetensors"
[ ! -e "$folder/cut.safetensors" ] || fail "a damaged checkpoint was exported"

cp "$folder/a" "$folder/other_version"
printf '\001' | dd of="$folder/other_version" bs=1 seek=8 conv=notrunc 2>"$folder/err"
expect "a checkpoint of another version" 3 "(CHECKPOINT_VERSION); use the firn that wrote it$" train --resume \
    --checkpoint "$folder/other_version"
expect "digest of that" 3 "(CHECKPOINT_VERSION); use the firn that wrote it$" "$FIRN" digest "$folder/other_version"

cp "$folder/a" "$folder/long"
printf x >>"$folder/long"
expect "a checkpoint with a byte behind it" 3 CHECKPOINT_DAMAGED train --resume --checkpoint "$folder/long"
expect "digest of that" 3 "behind the record (CHECKPOINT_DAMAGED); .* first $(wc -c <"$folder/a") bytes" "$FIRN" \
    digest "$folder/long"
expect "export of that" 3 CHECKPOINT_DAMAGED "$FIRN" export "$folder/long" -o "$folder/long.safetensors"

# A flash slot is longer than the record in it; the rest is erased.
{ cat "$folder/a" && head -c 5000 /dev/zero | tr '\000' '\377'; } >"$folder/slot"
expect "digest of the record" 0 "" "$FIRN" digest "$folder/a"
cp "$folder/out" "$folder/a.digest"
expect "digest of a slot" 0 "" "$FIRN" digest "$folder/slot"
same "a slot has another digest than its record" "$folder/out" "$folder/a.digest"
expect "export of a slot" 0 "" "$FIRN" export "$folder/slot" -o "$folder/slot.safetensors"
expect "a slot to resume from" 3 CHECKPOINT_DAMAGED train --resume --checkpoint "$folder/slot"
printf x >>"$folder/slot"
expect "a slot with a byte behind" 3 "behind the record" "$FIRN" digest "$folder/slot"

# --- the command line ----------------------------------------------------------------------------------------------

expect "nothing" 2 "firn help" "$FIRN"
expect "an unknown command" 2 "trian" "$FIRN" trian "$PLAN"
expect "an unknown option" 2 "--speed" train --speed 9
expect "an option of another command" 2 "--per-tensor" train --per-tensor
expect "a value that is no number" 2 "--steps" train --steps many
expect "a negative number" 2 "--steps" train --steps -1
expect "no value" 2 "--log" train --log
expect "twice" 2 "--steps: is given twice; leave one out" train --steps 1 --steps 2
expect "too many threads" 2 "--threads: 1000 .*; write one from 1 to 256" train --threads 1000
expect "no kernel set" 2 "FIRN_KERNELS=typo: .*; write one that this machine can run: plain" env FIRN_KERNELS=typo "$FIRN" train \
    "$PLAN" --pub "$PUB" --data "$DATA" --steps 1
for set in $(sed 's/.*can run: //; s/,//g' "$folder/err"); do
    expect "the set $set, which the message names" 0 "" env FIRN_KERNELS="$set" "$FIRN" train "$PLAN" --pub "$PUB" --data "$DATA" \
        --steps 1 --quiet
done
"$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode train --key "$folder/test.key.pem" -o "$folder/large.plan" \
    --set trainer.fit.train_dataloader.batch_size=1024 --set trainer.fit.train_dataloader.micro_batch_size=1024 >"$folder/out"
expect "little memory" 1 "; .*ulimit -v" sh -c "ulimit -v 16000; exec '$FIRN' train '$folder/large.plan' --pub '$PUB' --data '$DATA' \
    --threads 1 --steps 1"
expect "a second plan" 2 "one word too many" train "$PLAN"
expect "no key option" 2 "--pub" "$FIRN" train "$PLAN" --data "$DATA"
expect "no data option" 2 "--data" "$FIRN" train "$PLAN" --pub "$PUB"
expect "no plan option" 2 "PLAN" "$FIRN" train --pub "$PUB" --data "$DATA"
expect "resume without checkpoint" 2 "--checkpoint" train --resume
expect "eval without checkpoint" 2 "--checkpoint" "$FIRN" eval "$PLAN" --pub "$PUB" --data "$DATA"
expect "export without output" 2 "--output" "$FIRN" export "$folder/a"
expect "help" 0 "" "$FIRN" help train
grep -q "firn train PLAN" "$folder/out" || fail "help shows the command line"
expect "version" 0 "" "$FIRN" --version
grep -q "^firn [0-9]" "$folder/out" || fail "--version prints it"

[ $failures -eq 0 ]
