#!/bin/sh
# Makes the plans of this folder, their results and the checkpoint, from the root of the repository after `make`. They are
# made once for a major version (README.txt). The key that signs them exists only while this runs.
set -eu

. tests/end_to_end/expectations

golden=tests/golden/plans
rm -f $golden/*.plan $golden/*.checkpoint $golden/results
"$FIRNC" keygen "$folder/key" >"$folder/log"
cp "$folder/key.pub.pem" $golden/key.pub.pem

# compile NAME RECIPE MODE [SETTING]...
compile() {
    plan=$golden/$1.plan
    recipe=compiler/recipes/$2.yaml
    mode=$3
    shift 3
    for setting in "$@"; do
        set -- "$@" --set "trainer.init.$setting"
        shift
    done
    "$FIRNC" compile "$recipe" --mode "$mode" --key "$folder/key.key.pem" -o "$plan" "$@" >"$folder/log"
}

# cut NAME: takes off the report, which begins where the constants end.
cut() {
    mv "$golden/$1.plan" "$folder/whole"
    set -- "$1" $(od -A n -t u8 -j 224 -N 16 "$folder/whole")
    head -c $(($2 + $3)) "$folder/whole" >"$golden/$1.plan"
}

compile mlp_train small_mlp train
compile mlp_eval small_mlp eval
# gpt2 HALF MODE LEVEL SETTING...: one block; without its report a training stays below the size to keep.
gpt2() {
    half=$1
    mode=$2
    level=$3
    shift 3
    compile "gpt2_${half}_$mode" small_gpt2 "$mode" model.num_hidden_layers=1 'precision.pol=[]' "precision.fp16_type=$half" \
        "precision.precision_opt_level=$level" precision.pol_lowering=emulate "$@"
    [ "$mode" != train ] || cut "gpt2_${half}_train"
}
gpt2 bfloat16 train 1
gpt2 float16 train 0 precision.loss_scaling_factor=dynamic model.dropout_rate=0
for mode in train eval; do
    gpt2 cbfloat16 $mode 2 precision.loss_scaling_factor=dynamic model.dropout_rate=0
done

${MAKE:-make} -s BUILD="$BUILD" "$BUILD/objects/tests/unit/support_builder.o" "$BUILD/libsigning.a"
gcc -std=c11 -I. $golden/network_plans.c tests/unit/support_network.c "$BUILD/objects/tests/unit/support_builder.o" \
    "$BUILD/libfirnc.a" "$BUILD/libsigning.a" "$BUILD/libfirn.a" -lcmocka -lm -o "$folder/network_plans"
"$folder/network_plans" "$folder/key.key.pem" $golden

tests/end_to_end/golden_plans.sh --print >"$folder/results"
cp "$folder/results" $golden/results
# Each plan has a digest and a loss, or a value; and the run that goes on ends where the one without a break does.
[ "$(grep -Ec '_train digest [0-9a-f]{64}$' $golden/results)" -eq "$(ls $golden/*_train.plan | wc -l)" ] || fail "a digest is missing"
[ "$(grep -Ec '_train loss [0-9.]+$' $golden/results)" -eq "$(ls $golden/*_train.plan | wc -l)" ] || fail "a loss is missing"
[ "$(grep -Ec '_eval [0-9.]+$' $golden/results)" -eq "$(ls $golden/*_eval.plan | wc -l)" ] || fail "a value is missing"
[ "$(sed -n 's/^the checkpoint digest //p' $golden/results)" = "$(sed -n 's/^frozen_train digest //p' $golden/results)" ] ||
    fail "the checkpoint does not go on as the run did"
for plan in $golden/*.plan; do
    [ "$(wc -c <"$plan")" -lt 20000 ] || fail "$plan is too large to keep"
done
[ "$failures" -eq 0 ] || rm -f $golden/*.plan $golden/*.checkpoint $golden/results $golden/key.pub.pem
[ "$failures" -eq 0 ]
