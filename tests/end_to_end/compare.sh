#!/bin/sh
# firnc compare: prints a row for float32 and for each requested pair, with the losses of a run made by hand; refusals
# leave no files behind.
#
# Needs: python
set -eu

RECIPE=compiler/recipes/small_gpt2.yaml
. tests/end_to_end/expectations

cat /usr/share/common-licenses/GPL-3 /usr/share/common-licenses/LGPL-2.1 >"$folder/text"
load=$(cut -d . -f 1 /proc/loadavg)$(cut -d . -f 2 /proc/loadavg | cut -c 1) # in tenths
"$FIRNC" compare "$RECIPE" --data "$folder/text" --trial-steps 5 --types bfloat16,float16 --pol 1,2 -o "$folder/study" \
    >"$folder/table" 2>"$folder/err"
cp "$folder/table" "$folder/out"
# Between 0.2 and 0.5 the load may have changed since it was read.
[ "$load" -lt 5 ] || grep -q 'the load of this machine is .* do not trust the times' "$folder/err" || fail "load: silent"
[ "$load" -ge 2 ] || [ ! -s "$folder/err" ] || fail "load: a warning without others"
csv=$folder/study/compare.csv
[ "$(cut -d, -f1 "$csv" | tr '\n' ' ')" = \
    "what float32 float16-pol1 float16-pol2 bfloat16-pol1 bfloat16-pol2 " ] || fail "rows of the CSV"
[ "$(sed -n 2p "$csv" | cut -d, -f5)" = 0 ] || fail "float32 deviates from itself"
[ "$(cut -d, -f5 "$csv" | sort -u | wc -l)" -eq 6 ] || fail "two pairs deviate alike"
[ "$(wc -l <"$folder/table")" -eq 7 ] || fail "lines of the table"
# Reductions are counted by kind, in the table and in the CSV; the kinds are those of the plans.
[ "$(head -n 1 "$csv" | cut -d, -f9-)" = "f32,chunked,even_odd_blocks,pairs" ] || fail "kinds in the CSV"
[ "$(sed -n 2p "$csv" | cut -d, -f9-)" = "37,0,0,0" ] || fail "kinds of float32"
grep -q '^float16-pol1 .*  [0-9]* f32, [0-9]* chunked$' "$folder/table" || fail "kinds in the table"
grep -q 'bfloat16-pol2</text>' "$folder/study/compare.svg" || fail "no curve of bfloat16-pol2"
[ "$(ls "$folder/study" | grep -v '\.jsonl$' | tr '\n' ' ')" = "compare.csv compare.svg " ] || fail "something was left behind"
[ "$(ls "$folder/study" | grep -c '\.jsonl$')" -eq 5 ] || fail "not the log of each run"

# The same run by hand: a row has one level for all layers, without the annotations of the recipe.
set -- --set trainer.init.precision.fp16_type=float16 --set trainer.init.precision.loss_scaling_factor=dynamic \
    --set trainer.init.precision.precision_opt_level=2 --set trainer.init.precision.pol_lowering=emulate \
    --set trainer.init.precision.pol=[]
"$FIRNC" keygen "$folder/test" >"$folder/out"
"$FIRNC" compile "$RECIPE" --mode train --key "$folder/test.key.pem" -o "$folder/plan" "$@" >"$folder/out"
"$FIRN" train "$folder/plan" --pub "$folder/test.pub.pem" --data "$folder/text" --steps 5 --log "$folder/log" -q >"$folder/out"
sed -n 's/.*"loss_bits":"\([0-9a-f]*\)".*/\1/p' "$folder/log" >"$folder/by_hand"
sed -n 's/.*"loss_bits":"\([0-9a-f]*\)".*/\1/p' "$folder/study/float16-pol2.jsonl" | cmp - "$folder/by_hand" ||
    fail "not the run made by hand"

# Logits by blocks of rows change no loss; a number of rows that the plan cannot have is warned of once.
losses_of_rows() {
    expect "--logit-rows $1" 0 '' "$FIRNC" compare "$RECIPE" --data "$folder/text" --trial-steps 5 --types float16 --pol 2 \
        --set trainer.fit.train_dataloader.micro_batch_size=4 --logit-rows "$1" -o "$folder/rows$1"
    cut -d, -f1-6 "$folder/rows$1/compare.csv"
}
losses_of_rows 32 >"$folder/blocks"
! grep -q 'changes nothing' "$folder/err" || fail "--logit-rows 32: the logits are whole"
losses_of_rows 64 | cmp -s - "$folder/blocks" || fail "--logit-rows: other losses"
[ "$(grep -c 'warning: --logit-rows: 64 changes nothing: the logits have' "$folder/err")" -eq 1 ] || fail "--logit-rows 64: no warning"

# A run that ends with an error caused by values is a result. (1e38 as a static scale overflows at once.)
expect 'a run that stops' 0 '' "$FIRNC" compare "$RECIPE" --data "$folder/text" --trial-steps 5 --types float16 --pol 0 \
    --set trainer.init.precision.loss_scaling_factor=1e38 -o "$folder/stopped"
grep -q '^float16-pol0,.*,yes,' "$folder/stopped/compare.csv" || fail "a stopped run is not marked"

expect 'no data' 2 '--data' "$FIRNC" compare "$RECIPE" -o "$folder/no"
expect 'no folder' 2 'write -o' "$FIRNC" compare "$RECIPE" --data "$folder/text"
expect 'a folder that is there' 1 'not there yet' "$FIRNC" compare "$RECIPE" --data "$folder/text" -o "$folder/study"
expect 'an unknown type' 2 'float8' "$FIRNC" compare "$RECIPE" --data "$folder/text" --types float8 -o "$folder/no"
expect 'a level twice' 2 '1,1' "$FIRNC" compare "$RECIPE" --data "$folder/text" --pol 1,1 -o "$folder/no"
expect 'too many steps' 1 'num_steps' "$FIRNC" compare "$RECIPE" --data "$folder/text" --trial-steps 100000 -o "$folder/no"
[ ! -e "$folder/no" ] || fail "a refused study made its folder"
expect 'few rows' 2 'few is not a number of rows' "$FIRNC" compare "$RECIPE" --data "$folder/text" --logit-rows few -o "$folder/no"
expect 'no threads' 2 '--threads: 0' "$FIRNC" compare "$RECIPE" --data "$folder/text" --threads 0 -o "$folder/no"
expect 'no runner' 1 '--firn' "$FIRNC" compare "$RECIPE" --data "$folder/text" --firn "$folder/none" -o "$folder/runner"
expect 'data that is not there' 1 'training float32 failed' "$FIRNC" compare "$RECIPE" --data "$folder/none" -o "$folder/data"
[ ! -e "$folder/runner" ] && [ ! -e "$folder/data" ] || fail "a study that failed left its folder"

# A held-out part without a sample is detected before training starts.
head -c 150 "$folder/text" >"$folder/little"
expect 'too little held out' 1 'evaluating float32 on the held-out part failed: .*DATA_TOO_SHORT.*held_out_per_mille' \
    "$FIRNC" compare compiler/recipes/small_gpt2.yaml --data "$folder/little" --set trainer.init.loop.num_steps=100000000 \
    -o "$folder/data"

# Records without their labels are detected before training, too, and that is no matter of what is held out.
head -c 94080 /dev/zero | npy "$folder/records.npy" '|u1' '(120, 784)'
expect 'no labels' 1 'training float32 failed: .*DATA_TYPE.*give them by --labels$' "$FIRNC" compare compiler/recipes/small_mlp.yaml \
    --data "$folder/records.npy" -o "$folder/data"

# A limit of file sizes that is reached after the plan was written: the runner cannot write a byte, and its message is passed on.
cat >"$folder/full" <<END
#!/bin/sh
ulimit -f 0
exec "$FIRN" "\$@"
END
chmod +x "$folder/full"
expect 'no room for the runner' 1 'training float32 failed: .*limit of file sizes: raise it' \
    "$FIRNC" compare "$RECIPE" --data "$folder/text" --firn "$folder/full" -o "$folder/data"
# A training that fails after the rehearsal, which writes no log.
cat >"$folder/late" <<END
#!/bin/sh
case "\$*" in *--log*) echo "firn: it fails late" >&2 && exit 1 ;; esac
exec "$FIRN" "\$@"
END
chmod +x "$folder/late"
status=0
"$FIRNC" compare "$RECIPE" --data "$folder/text" --trial-steps 2 --types bfloat16 --pol 0 --firn "$folder/late" -o "$folder/data" \
    >"$folder/out" 2>"$folder/err" || status=$?
[ $status -eq 1 ] && grep -q 'training float32 failed: .*it fails late$' "$folder/err" && [ ! -e "$folder/data" ] ||
    fail "a training that fails late: exit $status"
expect 'no room for the plan' 1 'float32.plan: cannot be written: .*ulimit -f' sh -c "ulimit -f 2; exec '$FIRNC' compare \
    '$RECIPE' --data '$folder/text' -o '$folder/data'"
# A runner that does not begin, or is killed, ends the study with one line.
runs_no_runner() {
    expect "$@"
    [ "$(wc -l <"$folder/err")" -eq 1 ] || fail "$1: more than one line: $(cat "$folder/err")"
}
runs_no_runner 'no file for its messages' 1 'cannot be run: Too many open files; close some programs' sh -c "ulimit -n 4; exec '$FIRNC' \
    compare '$RECIPE' --data '$folder/text' -o '$folder/data'"
printf '#!/bin/sh\nkill -9 $$\n' >"$folder/killed"
chmod +x "$folder/killed"
runs_no_runner 'a killed runner' 1 'killed: ended by signal 9; try it alone' \
    "$FIRNC" compare "$RECIPE" --data "$folder/text" --firn "$folder/killed" -o "$folder/data"
[ ! -e "$folder/data" ] || fail "a study without room left its folder"

# A result that cannot be written after all trials: their logs are kept.
cat >"$folder/renames.c" <<'end'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

int rename(const char *from, const char *to) {
    errno = ENOSPC;
    return strstr(to, "/compare.csv") != NULL
               ? -1
               : ((__typeof__(&rename))dlsym(RTLD_NEXT, "rename"))(from, to);
}
end
${CC:-cc} -std=c11 -O1 -shared -fPIC "$folder/renames.c" -o "$folder/renames.so" -ldl
status=0
LD_PRELOAD="$folder/renames.so ${LD_PRELOAD:-}" "$FIRNC" compare "$RECIPE" --data "$folder/text" --trial-steps 2 --types bfloat16 --pol 0 \
    -o "$folder/unwritten" >"$folder/out" 2>"$folder/err" || status=$?
[ $status -eq 1 ] && grep -q 'compare.csv: cannot be written: No space left on device; make room' "$folder/err" &&
    grep -q 'unwritten: note: the trials are done, and what they have left is kept there' "$folder/err" &&
    [ "$(ls "$folder/unwritten" | tr '\n' ' ')" = "bfloat16-pol0.jsonl float32.jsonl " ] ||
    fail "results that cannot be written: exit $status, $(ls "$folder/unwritten" | tr '\n' ' ')"

# If the study is interrupted or its terminal closes, the runner ends too and no files remain.
for signal in INT TERM HUP; do
    env --default-signal=HUP,INT "$FIRNC" compare compiler/recipes/demo_gpt2.yaml --data "$folder/text" -o "$folder/long" \
        >"$folder/out" 2>"$folder/err" &
    study=$!
    while [ ! -s "$folder/long/float32.jsonl" ]; do sleep 0.1; done
    kill -$signal $study
    status=0
    wait $study || status=$?
    [ $status -eq 130 ] && grep -q interrupted "$folder/err" && [ ! -e "$folder/long" ] || fail "SIG$signal: exit $status"
done

# A signal that the caller ignores stops nothing.
env --ignore-signal=INT,TERM,HUP "$FIRNC" compare "$RECIPE" --data "$folder/text" --types bfloat16 --pol 0 \
    -o "$folder/ignoring" >"$folder/out" 2>"$folder/err" &
study=$!
while [ ! -e "$folder/ignoring" ]; do sleep 0.01; done
for signal in INT TERM HUP; do kill -$signal $study; done
status=0
wait $study || status=$?
[ $status -eq 0 ] && [ -e "$folder/ignoring/compare.csv" ] || fail "a signal that is ignored: exit $status"

# A signal that the caller does not ignore stops the runner too, even if other signals are ignored.
env --ignore-signal=INT --default-signal=TERM "$FIRNC" compare compiler/recipes/demo_gpt2.yaml --data "$folder/text" \
    -o "$folder/long" >"$folder/out" 2>"$folder/err" &
study=$!
while [ ! -s "$folder/long/float32.jsonl" ]; do sleep 0.1; done
kill -TERM $study
status=0
wait $study || status=$?
[ $status -eq 130 ] && [ ! -e "$folder/long" ] || fail "SIGTERM with SIGINT ignored: exit $status"

# Precision keys in the model of an older recipe do not prevent a study.
expect 'the keys of the model' 0 '' "$FIRNC" compare "$RECIPE" --data "$folder/text" --trial-steps 1 --types float16 --pol 1 \
    --set trainer.init.model.mixed_precision=true --set trainer.init.precision.fp16_type=null \
    --set trainer.init.model.use_bfloat16=true -o "$folder/older"

# A model with record weights.
cat "$folder/text" "$folder/text" | head -c 94080 | npy "$folder/images.npy" '|u1' '(120, 784)'
head -c 120 /dev/zero | npy "$folder/labels.npy" '|u1' '(120,)'
head -c 120 "$folder/text" | npy "$folder/weights.npy" '|u1' '(120,)'
set -- "$FIRNC" compare compiler/recipes/small_mlp.yaml --data "$folder/images.npy" --labels "$folder/labels.npy" \
    --trial-steps 2 --types bfloat16 --pol 1 --set trainer.fit.train_dataloader.held_out_per_mille=200
expect 'weights that nobody takes' 1 'leave out --sample-weights' "$@" --sample-weights "$folder/weights.npy" \
    -o "$folder/weighted"
set -- "$@" --set trainer.init.model.sample_weights=true --set trainer.fit.train_dataloader.weight_type=uint8
expect 'no weights' 1 'by --sample-weights' "$@" -o "$folder/weighted"
expect 'weights of records' 0 '' "$@" --sample-weights "$folder/weights.npy" -o "$folder/weighted"
grep -Eq '^bfloat16-pol1,2,[0-9.]+,[0-9.]+,' "$folder/weighted/compare.csv" || fail "no losses of weighted records"

[ "$failures" -eq 0 ]
