#!/bin/sh
# The progress of firn train: on a terminal one line that is rewritten and never wider than the terminal, elsewhere lines at
# sensible times, with epoch, speed, time left, the last evaluation and the best; nothing with --quiet.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
needs terminal
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
    loop: {num_steps: 60}
  fit:
    train_dataloader: {batch_size: 3, shuffle: true, feature_type: float32, label_type: int32, held_out_per_mille: 250}
  validate:
    metric: loss
    val_dataloader: {batch_size: 3}
end
cd "$folder"
three_classes
"$FIRNC" keygen key >out
"$FIRNC" compile recipe.yaml --mode train --key key.key.pem -o run.plan >out
"$FIRNC" compile recipe.yaml --mode eval --key key.key.pem -o loss.plan >out
"$FIRNC" compile recipe.yaml --mode train --key key.key.pem -o long.plan --set trainer.init.loop.num_steps=5000 >out
"$FIRNC" compile recipe.yaml --mode train --key key.key.pem -o endless.plan --set trainer.init.loop.num_steps=unlimited >out

# Each look at the clock takes CLOCK_SECONDS.
cat >clock.c <<'end'
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    static double seconds = 1e6;
    (void)clock;
    seconds += atof(getenv("CLOCK_SECONDS"));
    now->tv_sec = (time_t)seconds;
    now->tv_nsec = (long)((seconds - (double)now->tv_sec) * 1e9);
    return 0;
}
end
${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -O1 -shared -fPIC clock.c -o clock.so

# slow SECONDS PLAN [OPTION]...: trains with that clock
slow() {
    seconds=$1 plan=$2
    shift 2
    LD_PRELOAD=./clock.so CLOCK_SECONDS=$seconds "$FIRN" train "$plan" --pub key.pub.pem --data x.npy --labels y.npy --threads 1 "$@"
}

# --- lines --------------------------------------------------------------------------------------------------------------

# 18 samples are trained with, 3 in a step: an epoch has 6 steps.
expect "a run" 0 "" slow 0.001 run.plan --eval loss.plan --eval-every 25
grep '^step [0-9]*/' err >steps
[ "$(wc -l <steps)" -eq 16 ] || fail "a short run has $(wc -l <steps) lines and not 16"
for line in '^step 1/60  loss [0-9.]*  epoch 1/10  lr 0.3  scale 1  [0-9.]* samples/s  left 0:00$' \
    '^step 5/60  .*  epoch 1/10  ' '^step 13/60  .*  epoch 3/10  ' '^step 25/60  .*  epoch 5/10  .*  left 0:00$' \
    '^step 29/60  .*  left 0:00  best [0-9.]* at 25  eval loss [0-9.]*$' '^step 60/60  .*  epoch 10/10  .*  best [0-9.]* at [25][50]  eval loss [0-9.]*$'; do
    grep -q "$line" steps || fail "no line '$line'"
done
expect "a run that goes on" 0 "" slow 0.001 run.plan --eval loss.plan --eval-every 25 --log on.jsonl --checkpoint on --steps 30
expect "its end" 0 "" slow 0.001 run.plan --eval loss.plan --eval-every 25 --log on.jsonl --checkpoint on --resume
grep -q '^step 31/60  .*  epoch 6/10  .*  best [0-9.]* at 25  eval loss [0-9.]*$' err || fail "the evaluation before is not shown"
expect "a quiet run" 0 "" slow 0.001 run.plan --eval loss.plan --eval-every 25 --quiet
[ ! -s err ] || fail "a quiet run shows something"
# Two looks a step and more: at 7 seconds each, some minutes between lines by steps alone would be too long.
expect "a slow run" 0 "" slow 7 long.plan --steps 1000
sed -n 's,^step \([0-9]*\)/.*,\1,p' err >steps
awk 'NR > 1 && $1 - last > 5 { exit 1 } { last = $1 }' steps || fail "more than a minute without a line"
# At a millisecond a look, a run without an end is not one of endless lines.
expect "a run without an end" 0 "" slow 0.01 endless.plan --steps 20000
mkfifo pipe
LD_PRELOAD=./clock.so CLOCK_SECONDS=0.001 "$FIRN" train endless.plan --pub key.pub.pem --data x.npy --labels y.npy --threads 1 \
    --log pipe 2>err >out &
child=$!
head -n 30000 pipe >read
status=0
wait $child || status=$?
grep -q '^step 101  loss [0-9.]*  epoch 17  lr 0.3  scale 1  [0-9.]* samples/s$' err || fail "a run without an end: no line of step 101"
lines=$(grep -c '^step ' err)
[ $status -eq 1 ] && [ "$lines" -ge 20 ] && [ "$lines" -le 40 ] || fail "a run without an end: exit $status, $lines lines"

# --- a terminal ---------------------------------------------------------------------------------------------------------

cat >terminal.py <<'end'
import fcntl, os, pty, re, struct, sys, termios

# Runs firn on a terminal of so many columns; prints its lines as they are in the end, and fails if one was ever too wide.
columns, *command = sys.argv[1:]
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(columns), 0, 0))
    os.environ.update(LD_PRELOAD="./clock.so", CLOCK_SECONDS="0.05")
    os.execv(command[0], command)
text = b""
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:
        break
    if not part:
        break
    text += part
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
text = text.decode().replace("\r\n", "\n")
rewritten = [line for line in text.split("\n") if "\r" in line]
shown = [re.sub("\x1b\\[K$", "", piece) for line in rewritten for piece in line.split("\r")[1:]]
assert all(line.startswith("\r") and line.endswith("\x1b[K") for line in rewritten), rewritten[:1]
limit = int(columns) - 1 if int(columns) else 79
assert shown and max(map(len, shown)) <= limit, max(shown, key=len)
assert not [piece for piece in shown if "\x1b" in piece]
print(status, len(rewritten), len(shown), max(map(len, shown)))
for line in text.split("\n"):
    print(re.sub("\x1b\\[K", "", line.split("\r")[-1]))
end
# on COLUMNS [OPTION]...
on() {
    columns=$1
    shift
    python3 terminal.py "$columns" "$FIRN" train run.plan --pub key.pub.pem --data x.npy --labels y.npy --threads 1 "$@" >shown 2>err ||
        fail "a terminal of $columns columns"
    read -r status lines pieces longest <shown
    [ "$status" -eq 0 ] || fail "a terminal of $columns columns: exit $status"
}
on 200 --eval loss.plan --eval-every 25
[ "$lines" -le 5 ] && [ "$pieces" -gt 10 ] || fail "$lines lines on a terminal, rewritten $pieces times"
grep -q '^step 60/60  loss [0-9.]*  epoch 10/10  lr 0.3  scale 1  [0-9.]* samples/s  left 0:00  best [0-9.]* at [0-9]*  eval loss [0-9.]*$' shown ||
    fail "the last line of a wide terminal"
on 80 --eval loss.plan --eval-every 25
grep -q '^step 60/60  loss [0-9.]*  epoch 10/10  .*left 0:00  eval loss [0-9.]*$' shown ||
    fail "the last line of 80 columns"
on 40 --eval loss.plan --eval-every 25
grep -q '^step 60/60  loss [0-9.]*  left 0:00$' shown || fail "the last line of 40 columns"
on 7
grep -q '^step 6$' shown || fail "the last line of 7 columns"
on 0
[ "$longest" -gt 40 ] || fail "a terminal that does not say how wide it is"
TERM=dumb python3 - "$FIRN" <<'end' || fail "a terminal that rewrites no line"
import os, pty, sys

command = [sys.argv[1]] + "train run.plan --pub key.pub.pem --data x.npy --labels y.npy --threads 1".split()
child, terminal = pty.fork()
if child == 0:
    os.execv(command[0], command)
text = b""
try:
    while part := os.read(terminal, 65536):
        text += part
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) or b"\x1b" in text or text.count(b"step ") < 10)
end

[ $failures -eq 0 ]
