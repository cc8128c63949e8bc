#!/bin/sh
# Data as people have it gives the run that the same numbers give in the form of the plan, or is refused in one line that
# names the place. tests/unit/test_readers.c has every type against every type.
#
# Needs: python
set -eu

. tests/end_to_end/expectations

same() {
    cmp -s "$2" "$3" || fail "$1"
}

"$FIRNC" keygen "$folder/test" >"$folder/out"
PUB=$folder/test.pub.pem
# compile NAME MODE [--set ...]: a classifier of records of four numbers
compile() {
    plan=$folder/$1.plan
    mode=$2
    shift 2
    "$FIRNC" compile compiler/recipes/small_mlp.yaml --mode "$mode" --key "$folder/test.key.pem" -o "$plan" \
        --set trainer.init.precision.enabled=false "$@" >"$folder/out"
}
model='trainer.init.model={name: mlp, input_size: 4, hidden_sizes: [], output_size: 3}'
ignoring='trainer.init.model={name: mlp, input_size: 4, hidden_sizes: [], output_size: 4, ignore_index: 3}'
float_data='trainer.fit.train_dataloader={batch_size: 4, feature_type: float32, label_type: int32}'
byte_data='trainer.fit.train_dataloader={batch_size: 4, feature_type: uint8, label_type: uint8}'
compile floats train --set "$model" --set "$float_data"
compile bytes train --set "$model" --set "$byte_data"
compile ignored train --set "$ignoring" --set "$float_data"
compile ignored_bytes train --set "$ignoring" --set "$byte_data"

python3 - "$folder" <<'end'
import sys
import numpy as np
folder = sys.argv[1] + '/'
generator = np.random.default_rng(1)
x = generator.integers(0, 255, (24, 4))
y = np.arange(24) % 3
np.save(folder + 'x_float32.npy', x.astype('float32'))
np.save(folder + 'x_uint8.npy', x.astype('uint8'))
np.save(folder + 'y_int32.npy', y.astype('int32'))
np.save(folder + 'y_uint8.npy', y.astype('uint8'))
for kind in '<i8', '>i8', '<u4', '<f8', '>f8', '<f2', '|u1', '>i2':
    name = kind.replace('<', 'little_').replace('>', 'big_').replace('|', '')
    np.save(folder + 'x_' + name + '.npy', np.asfortranarray(x.astype(kind)))
    np.save(folder + 'y_' + name + '.npy', y.astype(kind))
np.save(folder + 'x_tenth.npy', x / 10)
np.save(folder + 'x_tenth32.npy', (x / 10).astype('float32'))
minus, three = y.copy(), y.copy()
minus[::5], three[::5] = -100, 3
np.save(folder + 'y_minus.npy', minus)
np.save(folder + 'y_three.npy', three.astype('int32'))
np.save(folder + 'y_three_bytes.npy', three.astype('uint8'))
end

# train PLAN X Y...: the digest is on standard output
train() {
    plan=$1
    x=$2
    y=$3
    shift 3
    "$FIRN" train "$folder/$plan.plan" --pub "$PUB" --steps 3 --data "$folder/$x.npy" --labels "$folder/$y.npy" "$@"
}

# --- arrays of every type -------------------------------------------------------------------------------------------

expect "float32 and int32" 0 "" train floats x_float32 y_int32 --checkpoint "$folder/floats.ckpt"
cp "$folder/out" "$folder/floats.digest"
expect "uint8" 0 "" train bytes x_uint8 y_uint8
cp "$folder/out" "$folder/bytes.digest"
for kind in little_i8 big_i8 little_u4 little_f8 big_f8 little_f2 u1 big_i2; do
    for plan in floats bytes; do
        expect "$kind for $plan" 0 "" train $plan x_$kind y_$kind
        same "$kind is another run of $plan" "$folder/out" "$folder/$plan.digest"
        ! grep -q rounded "$folder/err" || fail "$kind is exact"
    done
done
expect "tenths" 0 "" train floats x_tenth32 y_int32
cp "$folder/out" "$folder/tenths"
expect "tenths of float64" 0 "" train floats x_tenth y_int32
same "float64 is not rounded once" "$folder/out" "$folder/tenths"
grep -Eqx '[^ ]*/x_tenth.npy: [0-9]+ of 96 numbers are rounded once, from float64 to float32' "$folder/err" ||
    fail "that numbers are rounded is said once"
expect "tenths, quietly" 0 "" train floats x_tenth y_int32 --quiet
[ ! -s "$folder/err" ] || fail "quiet is quiet"
expect "tenths as bytes" 1 "x_tenth.npy: \(element [1-3] of \)\?record [0-9]*, counted from 0, is [0-9.]*; the plan reads uint8, and .* is no whole number (DATA_TYPE): .*feature_type" \
    train bytes x_tenth y_uint8

# Data in another type are other data for a checkpoint.
expect "resumed with another file" 3 "CHECKPOINT_OTHER_DATA" train floats x_little_i8 y_int32 --checkpoint "$folder/floats.ckpt" --resume
expect "resumed" 0 "" train floats x_float32 y_int32 --checkpoint "$folder/floats.ckpt" --resume

# --- labels of -100 -------------------------------------------------------------------------------------------------

for plan in ignored:three ignored_bytes:three_bytes; do
    expect "labels of class 3, $plan" 0 "" train "${plan%:*}" x_uint8 "y_${plan#*:}"
    cp "$folder/out" "$folder/three"
    expect "labels of -100, $plan" 0 "" train "${plan%:*}" x_uint8 y_minus
    same "labels of -100 are not those of the class that is ignored" "$folder/out" "$folder/three"
done
expect "labels of -100 without ignore_index" 1 "y_minus.npy: .*DATA_RANGE.* is -100, and the plan takes 0 to 2: .*ignore_index: then -100 is read as it" \
    train floats x_float32 y_minus --quiet
expect "labels of -100 as bytes" 1 "y_minus.npy: record 0, counted from 0, is -100; the plan reads uint8, and -100 is beyond it (DATA_TYPE): .*ignore_index" \
    train bytes x_uint8 y_minus

[ $failures -eq 0 ]
