#!/bin/bash
# The examples of `help COMMAND` and of the manual pages: every command has some, help and page have the same ones, and each
# runs as it stands, in a folder with the files that it names. The order is that of a user: keys, plans, runs, what is made of
# them. Uses bash, because that is the shell of most users.
#
# Needs: test_update mpi
set -eu

. tests/end_to_end/expectations
needs terminal
root=$PWD
case $BUILD in
/*) ;;
*) BUILD=$root/$BUILD ;;
esac

# from_help PROGRAM COMMAND, from_page PROGRAM COMMAND: the examples, one a line.
from_help() {
    "$1" help "$2" | sed -n '/^  Examples$/,$p' | sed -n 's/^        *//p' |
        awk '/\\$/ { sub(/\\$/, ""); line = line $0; next } { print line $0; line = "" }'
}
from_page() {
    "$1" help --man "$2" | sed -n '/^\.SH EXAMPLES$/,/^\.SH SEE/p' | sed -n '/^\.nf$/,/^\.fi$/p' | sed '/^\./d; s/\\-/-/g' |
        awk '/\\e$/ { sub(/\\e$/, ""); line = line $0; next } { print line $0; line = "" }'
}

mkdir "$folder/bin" "$folder/js" "$folder/js/chart.js"
tools="firn firnc firn-mpi"
if ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null; then
    echo "skipped: examples of firn-mpi: Open MPI is missing (.packages/install mpi)"
    tools="firn firnc"
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
for tool in $tools; do
    ln -s "$BUILD/$tool" "$folder/bin/$tool"
    "$BUILD/$tool" help | sed -n 's/^  \([a-z-]*\) .*/\1/p' >"$folder/commands"
    while read -r command; do
        [ "$command" != help ] || continue
        from_help "$BUILD/$tool" "$command" >"$folder/of_help"
        from_page "$BUILD/$tool" "$command" >"$folder/of_page"
        [ -s "$folder/of_help" ] || fail "$tool $command: no example"
        cmp -s "$folder/of_help" "$folder/of_page" || fail "$tool $command: help and page have other examples"
        grep -v -e "\(^\|| \|^mpirun -n 2 \)$tool $command " "$folder/of_help" && fail "$tool $command: an example of something else"
        sed "s/^/$tool $command	/" "$folder/of_help" >>"$folder/examples"
    done <"$folder/commands"
done

# The files that the examples name and no example makes.
mkdir "$folder/work"
cp tests/golden/tokens/bytes.json "$folder/work/tokenizer.json"
printf '/*! Chart.js v3.9.1 */\n' >"$folder/js/chart.js/chart.min.js"
cd "$folder/work"
for i in 1 2 3 4 5 6 7 8; do
    echo "The plan is frozen, and the run has the same bits on each machine: this is line $i."
done >text.txt
cat >recipe.yaml <<'end'
trainer:
  init:
    seed: 1
    model: {name: gpt2, vocab_size: 256, hidden_size: 16, num_hidden_layers: 1, num_heads: 2, filter_size: 32, max_position_embeddings: 32}
    optimizer: {AdamW: {}}
    schedulers: [{ConstantLR: {learning_rate: 0.001}}]
    precision: {enabled: false}
    loop: {num_steps: 30, micro_batch_order: tree}
  fit:
    train_dataloader: {max_sequence_length: 16, batch_size: 4, micro_batch_size: 2, held_out_per_mille: 300}
  validate:
    metric: loss
    val_dataloader: {batch_size: 1}
end
cat >flowers.yaml <<'end'
trainer:
  init:
    seed: 1
    model: {name: mlp, input_size: 2, hidden_sizes: [4], output_size: 3, nonlinearity: tanh}
    optimizer: {SGD: {momentum: 0.5}}
    schedulers: [{ConstantLR: {learning_rate: 0.1}}]
    precision: {enabled: false}
    loop: {num_steps: 20}
  fit:
    train_dataloader: {batch_size: 4, micro_batch_size: 2, feature_type: float32, label_type: int32, held_out_per_mille: 250}
  validate:
    metric: mean_per_class_accuracy
    val_dataloader: {batch_size: 2}
end
{
    echo length,width,species
    awk 'BEGIN { split("iris lily rose", names, " "); for (i = 0; i < 64; i++) printf "%.1f,%.1f,%s\n", i % 7 + 1, i % 5 + 1, names[i % 3 + 1] }'
} >flowers.csv
cut -d , -f 1,2 flowers.csv | head -n 6 >new.csv

FIRN_JAVASCRIPT=$folder/js
PATH=$folder/bin:$PATH
TMPDIR=$folder # of the session of mpirun
export FIRN_JAVASCRIPT PATH TMPDIR

# device: starts one, behind a pseudo terminal, whose name goes where the example says /dev/ttyUSB0.
device() {
    firnc image plans/train.plan --pub me.pub.pem --slot-bytes 131072 -o device.flash >"$folder/out"
    printf '\0\0\0\0' >>device.flash
    "$BUILD/tests/test_update" serve device.flash 131072 me.pub.pem all confirm >device 2>&1 &
    served=$!
    for _ in $(seq 200); do
        grep -q '^port ' device && break
        sleep 0.05
    done
    port=$(sed -n 's/^port //p' device)
}

count=0
# runs LINE: an example.
runs() {
    count=$((count + 1))
    line=$1
    case $line in
    *ttyUSB0*)
        device
        line=${line//\/dev\/ttyUSB0/$port}
        ;;
    esac
    bash -e -o pipefail -c "$line" </dev/null >"$folder/out" 2>"$folder/err" || fail "exit $?: $line"
    [ "$line" = "$1" ] || kill "$served" 2>/dev/null || true
}

order="firnc keygen
firnc compile
firn data
firn data-statistics
firn train
firnc inspect"
{
    echo "$order"
    cut -f 1 "$folder/examples" | uniq | grep -vxF "$order"
} >"$folder/order"
while read -r command; do
    sed -n "s/^$command	//p" "$folder/examples" >"$folder/lines"
    while IFS= read -r line; do runs "$line"; done <"$folder/lines"
done <"$folder/order"
[ "$count" -eq "$(wc -l <"$folder/examples")" ] || fail "$count examples ran of $(wc -l <"$folder/examples")"
[ "$count" -ge 40 ] || fail "only $count examples"
for made in me.key.pem train.plan run.ckpt run.html run.svg new.predicted.csv run.safetensors plan.hex board/Makefile tuned/recipe.yaml \
    study/compare.csv signed.plan slots.bin text.bin; do
    [ -s "$made" ] || fail "no example has made $made"
done
head -n 1 new.predicted.csv | grep -q '^row,predicted,class,' || fail "the example of predict writes no predicted class"

echo "$count examples, $failures failures"
[ "$failures" -eq 0 ]
