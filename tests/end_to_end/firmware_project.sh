#!/bin/sh
# `firnc export --firmware` writes a project that a cross compiler alone builds, far from the sources of Firn: on the emulated
# board of every target it trains and evaluates to the losses, the digest and the metric of this machine, by make and by CMake,
# with an MLP, a LeNet and a DS-CNN, with windows of text and with samples that are pushed. For every recipe the project has the
# sources that its plan needs. What does not fit a board, and every other mistake, is refused in one line; nothing is lost, and
# no export that ends early leaves half a project.
#
# Needs: boards tools
set -eu

. tests/end_to_end/expectations

root=$PWD
cp "$FIRNC" "$folder/firnc" # it needs nothing beside itself
firnc=$folder/firnc
"$FIRNC" keygen "$folder/my" >"$folder/log"
"$FIRNC" keygen "$folder/other" >"$folder/log"

# compile NAME RECIPE MODE [OPTION]...
compile() {
    made=$folder/$1
    recipe=$2
    mode=$3
    shift 3
    "$FIRNC" compile "$recipe" --mode "$mode" --key "$folder/my.key.pem" -o "$made" "$@" >"$folder/log" 2>&1 ||
        fail "$recipe does not compile: $(cat "$folder/log")"
}

# bytes N: so many bytes that are not random, of a text; classes N MOST: so many classes from 0 to MOST - 1
bytes() {
    cat runtime/sample.c runtime/attention.c runtime/restore.c plan/generated/op_table.c 2>/dev/null | head -c "$1"
}
classes() {
    awk -v n="$1" -v most="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%03o\n", i * 7 % most }' |
        while read -r class; do printf "\\$class"; done
}

compile mlp.plan runtime/targets/size.yaml train
compile mlp.eval runtime/targets/size.yaml eval --set trainer.validate.metric=accuracy --set trainer.validate.val_dataloader.batch_size=8
bytes 2560 | npy "$folder/mlp.data.npy" '|u1' '(40, 64)'
classes 40 10 | npy "$folder/mlp.labels.npy" '|u1' '(40,)'

# --- on the boards ---

# compare NAME PROJECT STEPS EVAL: what the board printed, in $folder/printed, is what this machine computes
compare() {
    project=$2
    set -- "$1" "$2" "$3" "$4" --pub "$folder/my.pub.pem"
    for stream in data labels; do
        [ ! -e "$project/$stream.npy" ] || set -- "$@" --$stream "$project/$stream.npy"
    done
    title=$1 steps=$3 evaluates=$4
    shift 4
    rm -f "$folder/log.jsonl" "$folder/run.ckpt"
    "$FIRN" train "$project/train.plan" "$@" --steps "$steps" --quiet --checkpoint "$folder/run.ckpt" --log "$folder/log.jsonl" |
        tail -n 1 >"$folder/digest"
    {
        sed -n 's/^{"step":\([0-9]*\),"loss":\([^,]*\),"loss_bits":"\([0-9a-f]*\)".*/step \1 loss \2 0x\3/p' "$folder/log.jsonl"
        cat "$folder/digest"
        [ "$evaluates" = no ] || "$FIRN" eval "$project/eval.plan" "$@" --quiet --checkpoint "$folder/run.ckpt" | sed 's/^/metric /'
    } >"$folder/wanted"
    sed 's/^evaluated [0-9]* batches, \(metric [^ ]*\) .*/\1/' "$folder/printed" | grep '^step \|^digest \|^metric ' >"$folder/got" || true
    [ "$(grep -c '^step ' "$folder/got")" -eq "$steps" ] && cmp -s "$folder/wanted" "$folder/got" ||
        fail "$title: not what this machine computes: $(diff "$folder/wanted" "$folder/got")"
}

# on_board MODEL TARGET STEPS EXPORT-OPTIONS...: exports, builds and runs in another folder
on_board() {
    model=$1 target=$2 steps=$3
    shift 3
    takes_next || return 0
    project=$folder/project
    rm -rf "$project"
    evaluates=no
    case " $* " in *" --with "*) evaluates=yes ;; esac
    cd "$folder"
    expect "$model on $target: export" 0 "" "$firnc" export "$model.plan" --firmware project --target "$target" --pub my.pub.pem "$@"
    ! grep -rqF -e "$root" -e "$folder" project || fail "$model on $target: a file names the place where it was made"
    # Of the second model on, most files are those of the first: ccache has them, where it is installed.
    prefix=$(sed -n 's/^CROSS := //p' project/Makefile)
    [ "$model" = mlp ] || ! command -v ccache >/dev/null || prefix="ccache $prefix"
    expect "$model on $target: make run" 0 "" make -C project -s run STEPS="$steps" CROSS="$prefix"
    cp out printed
    cd "$root"
    [ ! -s "$folder/err" ] || fail "$model on $target: the build or the run writes on stderr"
    grep -q '^ *code: ' "$folder/printed" || fail "$model on $target: no size is shown"
    compare "$model on $target" "$project" "$steps" $evaluates
}

targets=$(sed -n 's/^TARGETS := //p' runtime/targets/targets.mk)
for model in lenet ds_cnn; do
    for mode in train eval; do
        compile $model.$mode compiler/recipes/small_$model.yaml $mode --set trainer.fit.train_dataloader.batch_size=4 \
            --set trainer.fit.train_dataloader.micro_batch_size=2
    done
    mv "$folder/$model.train" "$folder/$model.plan"
done
bytes 31360 | npy "$folder/lenet.data.npy" '|u1' '(40, 28, 28)'
bytes 6000 | npy "$folder/ds_cnn.data.npy" '|u1' '(40, 15, 10, 1)'
classes 40 10 | npy "$folder/lenet.labels.npy" '|u1' '(40,)'
classes 40 4 | npy "$folder/ds_cnn.labels.npy" '|u1' '(40,)'
for target in $targets; do
    on_board mlp "$target" 3 --with mlp.eval --data mlp.data.npy --labels mlp.labels.npy --records 32
    for model in lenet ds_cnn; do
        on_board $model "$target" 2 --with $model.eval --data $model.data.npy --labels $model.labels.npy
    done
done

# Without data there are zeros; windows of text; samples that are pushed.
on_board mlp rv32 2
compile gpt2.plan compiler/recipes/small_gpt2.yaml train
bytes 2000 >"$folder/text"
on_board gpt2 cortex-m7 1 --data text --records 1000
compile pushed.plan compiler/recipes/device_mlp.yaml train
on_board pushed cortex-m33 3 --data mlp.data.npy --labels mlp.labels.npy --records 10

# --- by CMake, and with other settings ---

if takes_next; then
    cd "$folder"
    rm -rf project
    expect "export" 0 "" "$firnc" export mlp.plan --firmware project/ --target rv32imac --pub my.pub.pem --data mlp.data.npy --labels mlp.labels.npy
    expect "cmake" 0 "" cmake -S project -B by-cmake -DSTEPS=4 -DOPTIMIZE=-O1
    expect "cmake --build" 0 "" cmake --build by-cmake --target run
    cp out printed
    cd "$root"
    [ ! -s "$folder/err" ] || fail "cmake warns"
    compare "by CMake" "$folder/project" 4 no
fi

# --- every recipe: no name of the library is missing from the sources of its project ---

for recipe in compiler/recipes/small_*.yaml compiler/recipes/device_mlp.yaml compiler/recipes/lenet.yaml; do
    takes_next || continue
    compile some.plan "$recipe" train
    rm -rf "$folder/project"
    expect "$recipe" 0 "" "$FIRNC" export "$folder/some.plan" --firmware "$folder/project" --target cortex-m4f --pub "$folder/my.pub.pem"
    sed -n 's|^    firn/\(.*\)\.c.*|\1|p' "$folder/project/Makefile" | grep -v '^mbedtls/\|^runtime/targets/' >"$folder/sources"
    sed "s|.*|$BUILD/objects/&.o|" "$folder/sources" | xargs nm -g | sed 's/firn_kernel_find_plain/firn_kernel_find/' >"$folder/names"
    awk 'NF > 1 && $(NF - 1) == "U" { used[$NF] } NF == 3 { defined[$NF] } END { for (name in used) if (name ~ /^firn_/ && !(name in defined)) print name }' \
        "$folder/names" | while read -r name; do
        grep -q "\<$name\>.* = \|\<$name\[\]" "$folder/project/parts.c" || echo "$name"
    done >"$folder/got"
    [ "$(wc -l <"$folder/sources")" -gt 50 ] && [ ! -s "$folder/got" ] || fail "$recipe: names are missing"
done

rm -f "$folder/got" # which `fail` would print

# The tables of all parts are left out of the archive; CMake's list has the same.
sed -n '/^PARTS_TABLES/,/half_parts/p' Makefile | grep -o '\(plan\|schedules\|runtime\)/[a-z_/]*' | sort >"$folder/wanted"
sed -n '/foreach(table/,/)$/p' runtime/package/sources.cmake | grep -o '\(plan\|schedules\|runtime\)/[a-z_/]*' | sort >"$folder/listed"
[ "$(wc -l <"$folder/listed")" -eq 9 ] && cmp -s "$folder/wanted" "$folder/listed" || fail "Makefile and sources.cmake leave out other tables"

# --- what is refused ---

mkdir "$folder/full" && touch "$folder/full/file" && mkdir "$folder/empty"
# refuse NAME STATUS PATTERN PLAN OPTION...: in one line, and makes nothing
refuse() {
    title=$1 wanted=$2 pattern=$3 given_plan=$4
    shift 4
    rm -rf "$folder/new"
    expect "$title" "$wanted" "$pattern" "$FIRNC" export "$folder/$given_plan" --firmware "$folder/new" --target cortex-m4f --pub "$folder/my.pub.pem" "$@"
    [ -z "$(find "$folder" -maxdepth 1 -name 'new*')" ] || fail "$title: something was made"
}
fixed="--firmware $folder/x --pub $folder/my.pub.pem"
given="--data $folder/mlp.data.npy --labels $folder/mlp.labels.npy"
plan=$folder/mlp.plan
# Options are split into words on purpose.
expect "unknown target" 2 "pdp11 is not known; give one of cortex-m0plus .*rv32imac" "$FIRNC" export "$plan" $fixed --target pdp11
expect "half a target" 2 "is not known" "$FIRNC" export "$plan" $fixed --target cortex
expect "no target" 2 "add --target" "$FIRNC" export "$plan" $fixed
expect "no key" 2 "add --pub" "$FIRNC" export "$plan" --firmware "$folder/x" --target rv32
expect "with -o" 2 "leave it out" "$FIRNC" export "$plan" $fixed --target rv32 -o "$folder/x"
expect "two forms" 2 "add one of the five" "$FIRNC" export "$plan" $fixed --target rv32 --c
expect "target without the form" 2 "only with --firmware" "$FIRNC" export "$plan" --c --target rv32
expect "an address" 2 "only with --hex" "$FIRNC" export "$plan" $fixed --target rv32 --address 64
for place in full mlp.plan; do
    before=$(find "$folder/$place" | sort)
    expect "folder $place" 1 "give the name of a new folder" "$FIRNC" export "$plan" --firmware "$folder/$place" --target rv32 --pub "$folder/my.pub.pem"
    [ "$(find "$folder/$place" | sort)" = "$before" ] || fail "$place was changed"
done
expect "an empty folder" 0 "" "$FIRNC" export "$plan" --firmware "$folder/empty" --target rv32 --pub "$folder/my.pub.pem"
[ -e "$folder/empty/Makefile" ] || fail "an empty folder stays empty"
mkdir "$folder/here" && ln -s nowhere "$folder/link"
for place in "$folder/here/." "$folder/link" /; do
    expect "folder $place" 1 "give the name of a new folder" "$FIRNC" export "$plan" --firmware "$place" --target rv32 --pub "$folder/my.pub.pem"
done
expect "folder of a folder that is not there" 1 "check that its folder exists" "$FIRNC" export "$plan" --firmware "$folder/no/x" --target rv32 \
    --pub "$folder/my.pub.pem"
[ ! -e "$folder/x" ] || fail "a refused export left a folder"

expect "secret key" 1 "holds a private key" "$FIRNC" export "$plan" --firmware "$folder/x" --target rv32 --pub "$folder/my.key.pem"
expect "another key" 3 "WRONG_KEY" "$FIRNC" export "$plan" --firmware "$folder/x" --target rv32 --pub "$folder/other.pub.pem"
"$FIRNC" compile runtime/targets/size.yaml --mode train --unsigned --pub "$folder/my.pub.pem" -o "$folder/unsigned" >"$folder/log"
head -c 3000 "$plan" >"$folder/cut"
refuse "unsigned" 3 "not signed" unsigned
refuse "a plan that was cut" 3 "refused" cut
refuse "no plan" 3 "refused" my.pub.pem
refuse "a plan that is not there" 1 "none" none
refuse "an eval plan" 3 "mlp.eval: refused: it evaluates" mlp.eval
refuse "a train plan beside it" 3 "mlp.plan: refused: it trains" mlp.plan --with "$plan"
refuse "another model beside it" 3 "lenet.eval: refused: it is of another model than .*mlp.plan" mlp.plan --with "$folder/lenet.eval"
refuse "two plans beside it" 2 "leave the others out" mlp.plan --with "$folder/mlp.eval" --with "$folder/mlp.eval"

bytes 2560 | npy "$folder/floats.npy" '<f4' '(10, 64)'
bytes 2560 | npy "$folder/wide.npy" '|u1' '(20, 128)'
classes 40 11 | npy "$folder/eleven.npy" '|u1' '(40,)'
classes 10 10 | npy "$folder/ten.npy" '|u1' '(10,)'
gzip -c "$folder/mlp.data.npy" >"$folder/packed.npy.gz"
: >"$folder/nothing"
head -c 1000 "$folder/mlp.data.npy" >"$folder/cut.npy"
labels="--labels $folder/mlp.labels.npy"
refuse "another type" 1 "holds 64 float32 of each record, and .* reads 64 uint8 of each record; convert it by firn data --convert" mlp.plan --data "$folder/floats.npy" $labels
refuse "another length" 1 "holds 128 uint8 of each record" mlp.plan --data "$folder/wide.npy" $labels
refuse "packed" 1 "no array of the formats" mlp.plan --data "$folder/packed.npy.gz" $labels
refuse "empty" 1 "holds nothing" mlp.plan --data "$folder/nothing" $labels
refuse "an array that was cut" 1 "do not read" mlp.plan --data "$folder/cut.npy" $labels
refuse "a folder as data" 1 "is a folder" mlp.plan --data "$folder/full" $labels
refuse "data that are not there" 1 "none" mlp.plan --data "$folder/none" $labels
refuse "a class too many" 1 "eleven.npy: record 3 has 10, and .* takes values from 0 to 9" mlp.plan --data "$folder/mlp.data.npy" --labels "$folder/eleven.npy"
refuse "fewer labels" 1 "ten.npy: has 10 records, and .*mlp.data.npy has 40" mlp.plan --data "$folder/mlp.data.npy" --labels "$folder/ten.npy"
refuse "no labels" 2 "add --labels FILE" mlp.plan --data "$folder/mlp.data.npy"
refuse "labels alone" 2 "there is no --data" mlp.plan $labels
refuse "labels that nobody reads" 2 "leave it out" gpt2.plan --data "$folder/text" $labels
refuse "weights that nobody reads" 2 "leave it out" mlp.plan $given --sample-weights "$folder/mlp.labels.npy"
refuse "more records than there are" 1 "has 40 records, and --records asks for 41" mlp.plan $given --records 41
refuse "too few records" 1 "5 records leave 5 samples .* a batch has 8" mlp.plan $given --records 5
for records in 0 -1 x 4294967296; do
    refuse "--records $records" 2 "is not a number of records; write one from 1" mlp.plan $given --records "$records"
done
refuse "records alone" 2 "there is no --data" mlp.plan --records 5

# What does not fit: records into flash, a plan into flash, blocks into RAM. Each says the region and the bytes.
head -c 5000000 /dev/zero >"$folder/long"
refuse "records for more than the flash" 1 "5000000 records of 1 bytes .* region plan .* has 4194304 bytes, of which [0-9]* are left .* --records [0-9]* or fewer" \
    gpt2.plan --data "$folder/long"
most=$(sed 's/.*--records \([0-9]*\) or fewer/\1/' "$folder/err")
expect "as many as fit" 0 "" "$FIRNC" export "$folder/gpt2.plan" --firmware "$folder/most" --target cortex-m4f --pub "$folder/my.pub.pem" \
    --data "$folder/long" --records "$most"
compile wide.plan runtime/targets/size.yaml train --set 'trainer.init.model.hidden_sizes=[1000, 1000]'
"$FIRN" train "$folder/wide.plan" --pub "$folder/my.pub.pem" --data "$folder/mlp.data.npy" $labels --steps 1 --quiet \
    --checkpoint "$folder/wide.ckpt" >"$folder/log"
"$FIRN" export "$folder/wide.ckpt" -o "$folder/wide.safetensors" >"$folder/log"
compile heavy.plan runtime/targets/size.yaml train --set 'trainer.init.model.hidden_sizes=[1000, 1000]' --weights "$folder/wide.safetensors"
refuse "a plan with weights" 3 "board of cortex-m4f has 4194304 bytes in its region plan, and the plan takes 4[0-9]*;" heavy.plan
compile large.plan compiler/recipes/ds_cnn.yaml train
refuse "DS-CNN as it is" 3 "board of cortex-m4f has 12582912 bytes in its region blocks, and the blocks of the plan take [0-9]*;" large.plan

# --- an export that ends early ---

(
    trap '' XFSZ
    ulimit -f 100
    "$FIRNC" export "$plan" --firmware "$folder/stopped" --target rv32 --pub "$folder/my.pub.pem" >"$folder/out" 2>"$folder/err"
) && fail "a file that cannot be written went through"
[ "$(wc -l <"$folder/err")" -eq 1 ] && grep -q 'raise the limit' "$folder/err" || fail "full: not one line with a mend"
[ -z "$(find "$folder" -maxdepth 1 -name 'stopped*')" ] || fail "an export that failed left something"
files=$(find "$folder/empty" -type f | wc -l)
for signal in KILL TERM; do
    for wait in 0 0.02 0.05 0.1; do
        rm -rf "$folder/killed"*
        "$FIRNC" export "$plan" --firmware "$folder/killed" --target rv32 --pub "$folder/my.pub.pem" >"$folder/out" 2>"$folder/err" &
        sleep $wait
        kill -$signal $! 2>/dev/null || true
        wait $! 2>/dev/null || true
        [ ! -e "$folder/killed" ] || [ "$(find "$folder/killed" -type f | wc -l)" -eq "$files" ] || fail "SIG$signal leaves half a project"
        [ $signal = KILL ] || [ -z "$(find "$folder" -maxdepth 1 -name 'killed.*')" ] || fail "SIG$signal leaves a temporary folder"
    done
done

[ "$failures" -eq 0 ]
