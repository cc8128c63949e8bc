#!/bin/sh
# firnc check: what it says of a recipe is what the plan of firnc compile has; it warns and refuses by the same lines and
# exit codes, needs no key, and writes nothing.
set -eu

. tests/end_to_end/expectations
root=$PWD
recipes=$root/compiler/recipes
case $BUILD in
/*) ;;
*) FIRNC=$root/$FIRNC ;;
esac
mkdir "$folder/here" # where the commands run
cd "$folder/here"
"$FIRNC" keygen mine >"$folder/out"

# facts: the totals and the summary of a plan, of JSON on stdin, without blanks.
facts() {
    tr -d ' \t' | sed -n '/^"totals":/,/^"pool_bytes":/p; /^"summary":/,/^"unusual":/p'
}

# --- it says what the plan has, and writes nothing ---

for recipe in small_gpt2 small_mlp small_bert small_lenet small_llama; do
    for mode in train eval; do
        takes_next || continue
        "$FIRNC" compile "$recipes/$recipe.yaml" --mode $mode --key mine.key.pem -o plan >"$folder/out" 2>"$folder/warned"
        "$FIRNC" inspect plan --json | facts >"$folder/wanted"
        rm plan
        ls -lA --time-style=full-iso . "$recipes" >"$folder/before"
        expect "$recipe, $mode" 0 "" "$FIRNC" check "$recipes/$recipe.yaml" --mode $mode --json
        facts <"$folder/out" >"$folder/got"
        same "$recipe, $mode: other facts than the plan" "$folder/wanted" "$folder/got"
        [ "$(wc -l <"$folder/got")" -ge 30 ] || fail "$recipe, $mode: hardly any facts"
        sed 's/^firnc compile:/firnc check:/' "$folder/warned" >"$folder/got"
        same "$recipe, $mode: other warnings" "$folder/err" "$folder/got"
        ls -lA --time-style=full-iso . "$recipes" >"$folder/after"
        same "$recipe, $mode: something was written" "$folder/before" "$folder/after"
    done
done

expect "the text" 0 "" "$FIRNC" check "$recipes/small_gpt2.yaml"
for line in '^plan  *train: [0-9,]* bytes; nothing was written$' '^trains  *gpt2 (said), 8,832 parameters' \
    '^memory  *204,512 bytes: ' '^            transformer.h.\[0-1\].mlp.c_fc.weight$' '^not decayed$' \
    '^            transformer.h.\[0-1\].ln_1.bias$' '^schedules  *reach their last value at step 40, with the run$' \
    '^            cortex-m7  *fits$' '^warnings  *none$'; do
    grep -q -- "$line" "$folder/out" || fail "the text: no '$line'"
done
# Decayed and undecayed, each parameter by its name.
"$FIRNC" check "$recipes/small_gpt2.yaml" --json >"$folder/json"
grep '"decayed":.*"transformer' "$folder/json" | tr ',' '\n' | grep -c '"transformer' >"$folder/count" || true
[ "$(cat "$folder/count")" -eq 10 ] || fail "JSON: $(cat "$folder/count") decayed parameters, and not 10"

# A command line of firnc compile does as it is, and its files are not written.
expect "a command line of compile" 0 "" "$FIRNC" check "$recipes/small_mlp.yaml" --mode train --key mine.key.pem -o never.plan
expect "unsigned" 0 "" "$FIRNC" check "$recipes/small_mlp.yaml" --mode train --unsigned --pub mine.pub.pem -o never.plan
expect "all" 0 "" "$FIRNC" check "$recipes/small_gpt2.yaml" --all -o never
for plan in train eval predict decode; do
    grep -q "^plan  *$plan: " "$folder/out" || fail "--all: no plan $plan"
done
[ "$(ls)" = "$(printf 'mine.key.pem\nmine.pub.pem')" ] || fail "something was written: $(ls)"

# --- warnings ---

set -- "$recipes/small_gpt2.yaml" --mode train --late-update --target avx512fp16 --set trainer.init.loop.num_steps=20
"$FIRNC" compile "$@" --key mine.key.pem -o plan >"$folder/out" 2>"$folder/warned"
expect "warnings" 0 "" "$FIRNC" check "$@"
same "the warnings of compile" "$folder/warned" "$folder/err"
count=$(wc -l <"$folder/warned")
[ "$count" -ge 1 ] || fail "no warning to compare"
grep -q "^warnings  *$count, on stderr$" "$folder/out" || fail "warnings are not counted"
grep -q '^schedules  *reach their last value at step 40, which the run does not reach: it ends after step 20$' "$folder/out" ||
    fail "the schedules are cut, and nothing says so"
expect "warnings in JSON" 0 "" "$FIRNC" check "$@" --json
[ "$(sed -n '/^	"warnings":/,$p' "$folder/out" | grep -o 'warning: ' | wc -l)" -eq "$count" ] || fail "JSON has other warnings"
rm plan
expect "a plan that no board holds" 0 "" "$FIRNC" check "$recipes/cct.yaml"
grep -q '^            cortex-m7  *does not fit: [0-9,]* bytes of RAM, and it has [0-9,]*$' "$folder/out" || fail "a board is too small, and nothing says so"

# --- what compile refuses ---

# refused_alike WORD...: both commands refuse by one line and one exit code; compile is given a key and an output.
refused_alike() {
    status=0
    "$FIRNC" compile "$@" >"$folder/out" 2>"$folder/wanted" || status=$?
    [ $status -ne 0 ] || fail "compile $*: is not refused"
    sed -i 's/^firnc compile:/firnc check:/' "$folder/wanted"
    expect "check $*" $status "" "$FIRNC" check "$@"
    same "check $*: another line than compile's" "$folder/wanted" "$folder/err"
    [ ! -s "$folder/out" ] || fail "check $*: something on stdout"
}
output='--key mine.key.pem -o plan'
gpt2=$recipes/small_gpt2.yaml
sed 's/hidden_size: /hiden_size: /' "$gpt2" >"$folder/mistyped.yaml"
printf 'trainer: [\n' >"$folder/damaged.yaml"
: >"$folder/empty.yaml"
# shellcheck disable=SC2086 # several options
{
    refused_alike "$folder/none.yaml" --mode train $output
    refused_alike "$folder/mistyped.yaml" --mode train $output
    refused_alike "$folder/damaged.yaml" --mode train $output
    refused_alike "$folder/empty.yaml" --mode train $output
    refused_alike . --mode train $output
    refused_alike "$gpt2" --mode train_and_eval $output
    refused_alike "$gpt2" --mode both $output
    refused_alike "$gpt2" --mode train --all $output
    refused_alike "$gpt2" --mode train --decode $output
    refused_alike "$gpt2" --mode train $output --target abacus
    refused_alike "$gpt2" --mode train $output --set trainer.init.seed
    refused_alike "$gpt2" --mode train $output --set trainer.init.sed=1
    refused_alike "$gpt2" --mode train $output --set trainer.init.loop.num_steps=0
    refused_alike "$gpt2" --mode train $output --samples 0
    refused_alike "$gpt2" --mode train $output --weight-copies some
    refused_alike "$gpt2" --mode train $output --vendor 'far too long a name for it'
    refused_alike "$gpt2" --mode train $output --weights none.safetensors
    refused_alike "$gpt2" --mode train $output --tokenizer none.json
    refused_alike "$gpt2" --mode train $output --continue none.ckpt
    refused_alike "$gpt2" --mode train $output --statistics none
    refused_alike "$gpt2" --mode train $output --allow-unmatched
    refused_alike "$gpt2" --mode train $output --restart-data
    refused_alike "$gpt2" --mode train --key none.pem -o plan
    refused_alike "$gpt2" --mode train --key mine.pub.pem -o plan
    refused_alike "$gpt2" --mode train --unsigned --key mine.key.pem -o plan
    refused_alike "$gpt2" --mode train --unsigned --pub mine.key.pem -o plan
    refused_alike "$gpt2" --mode train --key mine.key.pem -o mine.key.pem
    refused_alike "$recipes/table.yaml" --mode train $output
    refused_alike "$gpt2" --mode eval $output --late-updat
    mkdir is.plan
    ln -s nowhere link.plan
    for name in none/plan is.plan link.plan mine.key.pem/plan new/; do
        refused_alike "$gpt2" --mode train --key mine.key.pem -o $name
    done
    for name in mine.pub.pem none/folder mine.key.pem/folder; do
        refused_alike "$gpt2" --all --key mine.key.pem -o $name
    done
    rmdir is.plan
    mkdir -p set/eval.plan
    refused_alike "$gpt2" --all --key mine.key.pem -o set
    rm -r set link.plan
}
expect "a graph" 2 "^firnc check: --dump-after: prints a graph, and no plan is checked; " "$FIRNC" check "$gpt2" --dump-after fuse
expect "no recipe" 2 "^firnc check: " "$FIRNC" check
# The second of several plans is refused, and nothing is said of the first.
expect "one of all is wrong" 1 "" "$FIRNC" check "$gpt2" --all --set trainer.validate.val_dataloader.batch_size=0
[ ! -s "$folder/out" ] || fail "a plan is shown, and another is refused"
[ "$(ls)" = "$(printf 'mine.key.pem\nmine.pub.pem')" ] || fail "something was written: $(ls)"

[ $failures -eq 0 ] || exit 1
echo "what would be made, the same warnings and refusals, and nothing written"
