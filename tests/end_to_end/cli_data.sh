#!/bin/sh
# The same data in every format that firn reads gives the same run; firn eval prints one number; an exported checkpoint
# can be used as initial weights and is exported unchanged.
#
# Needs: python
set -eu

. tests/end_to_end/expectations

"$BUILD/firnc" keygen "$folder/test" >"$folder/out"
PUB=$folder/test.pub.pem
# compile NAME RECIPE MODE [--set ...]
compile() {
    plan=$folder/$1.plan
    recipe=compiler/recipes/$2
    mode=$3
    shift 3
    "$BUILD/firnc" compile "$recipe" --mode "$mode" --key "$folder/test.key.pem" -o "$plan" "$@" >"$folder/out"
}
compile mlp small_mlp.yaml train
compile mlp_eval small_mlp.yaml eval
compile gpt2 small_gpt2.yaml train
compile gpt2_eval small_gpt2.yaml eval

# --- records: 120 images of 28 x 28 with labels 0 to 9 --------------------------------------------------------------

cat /usr/share/common-licenses/GPL-3 /usr/share/common-licenses/GPL-2 /usr/share/common-licenses/LGPL-2.1 \
    /usr/share/common-licenses/GPL-3 >"$folder/text"
head -c 94080 "$folder/text" >"$folder/pixels"
head -c 120 "$folder/text" | tr -c 'a-i' 'j' | tr 'a-j' '\000-\011' >"$folder/classes"
{
    printf '\0\0\010\003\0\0\0\170\0\0\0\034\0\0\0\034'
    cat "$folder/pixels"
} >"$folder/images"
{
    printf '\0\0\010\001\0\0\0\170'
    cat "$folder/classes"
} >"$folder/labels"
gzip -c "$folder/images" >"$folder/images.gz"
gzip -c "$folder/labels" >"$folder/labels.gz"
npy "$folder/images.npy" '|u1' '(120, 784)' <"$folder/pixels"
npy "$folder/labels.npy" '|u1' '(120,)' <"$folder/classes"

mlp() {
    "$FIRN" train "$folder/mlp.plan" --pub "$PUB" --quiet --steps 12 "$@"
}
expect "IDX" 0 "" mlp --data "$folder/images" --labels "$folder/labels" --checkpoint "$folder/mlp" \
    --log "$folder/idx.jsonl"
cp "$folder/out" "$folder/idx"
expect "IDX in gzip" 0 "" mlp --data "$folder/images.gz" --labels "$folder/labels.gz" --log "$folder/gz.jsonl"
same "gzip is another run" "$folder/out" "$folder/idx"
head -n 1 "$folder/idx.jsonl" >"$folder/a"
head -n 1 "$folder/gz.jsonl" >"$folder/b"
same "the log has another SHA-256 for the same contents" "$folder/a" "$folder/b"
# listed OPTION FILE...: the lines of the list whose SHA-256 identifies the data
listed() {
    option=$1
    shift
    sha256sum "$@" | sed "s/\\([0-9a-f]*\\).*/$option \\1/"
}
sum=$({
    listed data "$folder/images"
    listed labels "$folder/labels"
} | sha256sum | cut -d ' ' -f 1)
grep -q "\"data_sha256\":\"$sum\"" "$folder/a" || fail "the SHA-256 is that of the list of the files' own"
expect ".npy" 0 "" mlp --data "$folder/images.npy" --labels "$folder/labels.npy"
same ".npy is another run" "$folder/out" "$folder/idx"
cat "$folder/classes" "$folder/classes" | npy "$folder/both.npy" '|u1' '(240,)'
expect "two files of records" 0 "" mlp --data "$folder/images" --data "$folder/images.gz" --labels "$folder/both.npy"

expect "accuracy" 0 "" "$FIRN" eval "$folder/mlp_eval.plan" --pub "$PUB" --data "$folder/images" \
    --labels "$folder/labels" --checkpoint "$folder/mlp"
grep -Eqx '(0|1|0\.[0-9]+|[0-9.]+e-[0-9]+)' "$folder/out" || fail "accuracy is one number from 0 to 1"
[ "$(wc -l <"$folder/out")" -eq 1 ] || fail "eval prints one line"
echo '120 samples, 24 of them held out, which are read; 3 batches of 8' >"$folder/wanted"
same "eval says what it reads, and that nothing is left out" "$folder/err" "$folder/wanted"
head -c 92512 "$folder/pixels" | npy "$folder/some.npy" '|u1' '(118, 784)'
head -c 118 "$folder/classes" | npy "$folder/some_classes.npy" '|u1' '(118,)'
expect "a short batch" 0 "" "$FIRN" eval "$folder/mlp_eval.plan" --pub "$PUB" --data "$folder/some.npy" \
    --labels "$folder/some_classes.npy" --checkpoint "$folder/mlp" --allow-other-data
grep -qx '118 samples, 23 of them held out, which are read; 2 batches of 8 and one of 7' "$folder/err" ||
    fail "eval says of which batches the last one is short"
! grep -q 'left out' "$folder/err" || fail "eval leaves out samples of a short batch"
compile whole_eval small_mlp.yaml eval --set trainer.validate.val_dataloader.drop_last=true
for quiet in "" --quiet; do
    expect "accuracy of 23 samples" 0 "" "$FIRN" eval "$folder/whole_eval.plan" --pub "$PUB" --data "$folder/some.npy" \
        --labels "$folder/some_classes.npy" --checkpoint "$folder/mlp" --allow-other-data $quiet
    cp "$folder/err" "$folder/left$quiet"
done
grep -Eqx '7 samples .* a batch of 8 and were left out' "$folder/left" || fail "eval says what it left out"
[ ! -s "$folder/left--quiet" ] || fail "quiet is quiet"

# With a number of steps an evaluation ends with the earlier of them and the data, unless it reads the data again.
for row in "2 2 batches of 8" "3 2 batches of 8 and one of 7" "9 2 batches of 8 and one of 7" "9 2 batches of 8|drop_last=true" \
    "9 9 batches of 8|wrap=true"; do
    steps=${row%% *} batches=${row#* } more=
    case $row in *"|"*) more="--set trainer.validate.val_dataloader.${row#*|}" batches=${batches%|*} ;; esac
    compile some_eval small_mlp.yaml eval --set trainer.init.loop.eval_steps=$steps $more
    expect "$row" 0 "" "$FIRN" eval "$folder/some_eval.plan" --pub "$PUB" --data "$folder/some.npy" \
        --labels "$folder/some_classes.npy" --checkpoint "$folder/mlp" --allow-other-data
    grep -qx "118 samples, 23 of them held out, which are read; $batches" "$folder/err" || fail "$row: another number of batches"
done

# As many samples are held out as are read: the note says which part this plan reads, and numbers agree with their words.
for mode in train eval; do
    compile half_$mode small_mlp.yaml $mode --set trainer.fit.train_dataloader.held_out_per_mille=500
done
expect "half of the data" 0 "" "$FIRN" train "$folder/half_train.plan" --pub "$PUB" --steps 1 --data "$folder/images" \
    --labels "$folder/labels" --checkpoint "$folder/half"
grep -q '^120 samples, 60 of them held out and 60 read; 8 in a step (2 micro-batches of 4), 7.5 steps in an epoch, ' "$folder/err" ||
    fail "a training reads the half that is not held out"
expect "the other half" 0 "" "$FIRN" eval "$folder/half_eval.plan" --pub "$PUB" --data "$folder/images" \
    --labels "$folder/labels" --checkpoint "$folder/half"
grep -qx '120 samples, 60 of them held out, which are read; 7 batches of 8 and one of 4' "$folder/err" ||
    fail "an evaluation reads the half that is held out"
head -c 31360 "$folder/pixels" | npy "$folder/forty.npy" '|u1' '(40, 784)'
head -c 40 "$folder/classes" | npy "$folder/forty_classes.npy" '|u1' '(40,)'
head -c 35280 "$folder/pixels" | npy "$folder/more.npy" '|u1' '(45, 784)'
head -c 45 "$folder/classes" | npy "$folder/more_classes.npy" '|u1' '(45,)'
evaluate() {
    "$FIRN" eval "$folder/whole_eval.plan" --pub "$PUB" --data "$folder/$1.npy" --labels "$folder/$1_classes.npy" \
        --checkpoint "$folder/mlp" --allow-other-data
}
expect "one batch" 0 "" evaluate forty
echo '40 samples, 8 of them held out, which are read; 1 batch of 8' >"$folder/wanted"
sed '/^the checkpoint was trained/d' "$folder/err" >"$folder/said"
same "one batch is in the singular" "$folder/said" "$folder/wanted"
expect "one sample left" 0 "" evaluate more
grep -qx '1 sample at the end of the data is fewer than a batch of 8 and was left out' "$folder/err" ||
    fail "one sample that was left out is in the singular"
# Too few samples of a part: what is said to do keeps the model, the data and the split of the training.
"$FIRNC" compile compiler/recipes/small_mlp.yaml --mode eval --key "$folder/test.key.pem" -o "$folder/wide_eval.plan" \
    --set trainer.validate.val_dataloader.batch_size=64 --set trainer.validate.val_dataloader.drop_last=true \
    >"$folder/out"
expect "too few samples to evaluate" 1 "DATA_TOO_SHORT); 120 samples, 24 of them held out, which are read, and a batch takes 64: compile with a batch_size of at most 24, or train and evaluate with more data, or with a larger held_out_per_mille\$" \
    "$FIRN" eval "$folder/wide_eval.plan" --pub "$PUB" --quiet --data "$folder/images" --labels "$folder/labels" \
    --checkpoint "$folder/mlp"

# A weight of 0 excludes a record, as ignore_index excludes its class.
weighted() {
    plan=$1
    shift
    "$FIRN" train "$folder/$plan.plan" --pub "$PUB" --quiet --steps 5 --data "$folder/images" \
        --labels "$folder/labels" "$@"
}
compile weights small_mlp.yaml train --set trainer.init.model.sample_weights=true \
    --set trainer.fit.train_dataloader.weight_type=uint8
compile ignored small_mlp.yaml train --set trainer.init.model.ignore_index=9
tr '\000-\011' '\001\001\001\001\001\001\001\001\001\000' <"$folder/classes" | npy "$folder/weights.npy" '|u1' '(120,)'
head -c 480 /dev/zero | tr '\000' '?' | npy "$folder/float_weights.npy" '<f4' '(120,)'
expect "a class that is ignored" 0 "" weighted ignored
cp "$folder/out" "$folder/ignored"
expect "weights" 0 "" weighted weights --sample-weights "$folder/weights.npy"
same "a weight of 0 is not as a class that is ignored" "$folder/out" "$folder/ignored"
expect "no weights" 1 "images: the plan also reads 1 uint8 of each record (DATA_TYPE); give them by --sample-weights" weighted weights
expect "weights of another type" 1 "firn: [^ ]*/float_weights.npy: record 0, counted from 0, is 0.7470588; the plan reads uint8, and .* no whole number (DATA_TYPE): .*weight_type" \
    weighted weights --sample-weights "$folder/float_weights.npy"
expect "weights alone" 2 "needs --labels" mlp --data "$folder/images" --sample-weights "$folder/weights.npy"
head -c 50 "$folder/classes" | npy "$folder/few_weights.npy" '|u1' '(50,)'
expect "fewer weights than images" 1 "120 records and 50 weights" weighted weights --sample-weights "$folder/few_weights.npy"

expect "weights that nobody reads" 2 "reads no weights; leave out --sample-weights" weighted ignored \
    --sample-weights "$folder/weights.npy"
compile none small_mlp.yaml eval --set trainer.init.model.ignore_index=9
head -c 120 /dev/zero | tr '\000' '\011' | npy "$folder/nines.npy" '|u1' '(120,)'
expect "every row ignored" 1 "^firn: [^ ]*/nines.npy: every row was ignored" "$FIRN" eval "$folder/none.plan" --pub "$PUB" \
    --data "$folder/images" --labels "$folder/nines.npy" --checkpoint "$folder/mlp" --allow-other-data --quiet

compile unweighted small_mlp.yaml eval --set trainer.init.model.sample_weights=true --set trainer.init.model.ignore_index=9
for zeros in 0 480; do # bytes of weights of 0, before those of 1: the file at fault is that of the labels, or of the weights
    { head -c $zeros /dev/zero; for i in $(seq $(((480 - zeros) / 4))); do printf '\000\000\200\077'; done; } | npy "$folder/weighs.npy" '<f4' '(120,)'
    [ $zeros = 0 ] && fault=nines || fault=weighs
    expect "no row counts, $fault" 1 "^firn: [^ ]*/$fault.npy: .*(NO_ROWS)" "$FIRN" eval "$folder/unweighted.plan" --pub "$PUB" \
        --data "$folder/images" --labels "$folder/nines.npy" --sample-weights "$folder/weighs.npy" --checkpoint "$folder/mlp" --allow-other-data --quiet
done

# For features that are not finite, the message does not mention the learning rate, which is not the cause.
for mode in train eval; do
    compile floats_$mode small_mlp.yaml $mode --set trainer.fit.train_dataloader.feature_type=float32 \
        --set trainer.fit.train_dataloader.feature_scale=null --set trainer.fit.train_dataloader.feature_shift=null \
        --set trainer.validate.val_dataloader.feature_type=float32
done
head -c 376320 /dev/zero | tr '\000' '\377' | npy "$folder/nan.npy" '<f4' '(120, 784)'
expect "NaN features" 4 "nan.npy: .*LOSS_NOT_FINITE.*step 1 reads record [0-9]*, counted from 0, whose element 0 is NaN" "$FIRN" train "$folder/floats_train.plan" --pub "$PUB" --quiet \
    --data "$folder/nan.npy" --labels "$folder/labels.npy"
expect "eval of NaN features" 4 "nan.npy: .*LOSS_NOT_FINITE.*step 1 reads record 96, .*is NaN: mend such records" "$FIRN" eval "$folder/floats_eval.plan" \
    --pub "$PUB" --data "$folder/nan.npy" --labels "$folder/labels.npy" --checkpoint "$folder/mlp" --quiet \
    --allow-other-preprocessing --allow-other-data

# What stops a run by its numbers is looked for in the data of its steps: a record that holds NaN, of weight 0 too, whose
# loss is finite; gradients that overflow only where that record is read; and data that is not the cause.
"$FIRNC" compile compiler/recipes/small_mlp.yaml --mode train --key "$folder/test.key.pem" -o "$folder/linear.plan" \
    --set 'trainer.init.model={name: mlp, input_size: 2, hidden_sizes: [], output_size: 3, sample_weights: true}' \
    --set 'trainer.fit.train_dataloader={batch_size: 4, shuffle: false, feature_type: float32, label_type: uint8}' \
    --set trainer.init.precision.enabled=false >"$folder/out"
for check in true false; do
    "$FIRNC" compile compiler/recipes/small_mlp.yaml --mode train --key "$folder/test.key.pem" -o "$folder/scaled_$check.plan" \
        --set 'trainer.init.model={name: mlp, input_size: 2, hidden_sizes: [], output_size: 3}' \
        --set 'trainer.fit.train_dataloader={batch_size: 4, shuffle: false, feature_type: float32, label_type: uint8}' \
        --set 'trainer.init.precision={fp16_type: float16, loss_scaling_factor: dynamic}' \
        --set trainer.init.loop.check_loss=$check --set trainer.init.loop.num_steps=300 >"$folder/out"
done
python3 - "$folder/" <<'end'
import sys
import numpy as np
folder = sys.argv[1]
x = np.linspace(-1, 1, 48).reshape(24, 2).astype('float32')
for name, record, value in (('one_nan', 6, np.nan), ('one_inf', 6, -np.inf), ('all_good', 6, 1), ('one_huge', 1, 3e38)):
    y = x.copy()
    y[record, 1] = value
    np.save(folder + name + '.npy', y)
np.save(folder + 'three.npy', (np.arange(24) % 3).astype('uint8'))
np.save(folder + 'masked.npy', (np.arange(24) != 6).astype('float32'))
end
numbers() {
    plan=$1
    data=$2
    shift 2
    "$FIRN" train "$folder/$plan.plan" --pub "$PUB" --quiet --data "$folder/$data.npy" --labels "$folder/three.npy" "$@"
}
expect "NaN in a record of weight 0" 4 "^firn: [^ ]*/one_nan.npy: a parameter is NaN.*step 2 reads record 6, counted from 0, whose element 1 is NaN, and nothing was saved: .*a weight of 0 does not mask" \
    numbers linear one_nan --sample-weights "$folder/masked.npy" --checkpoint "$folder/never"
[ ! -e "$folder/never" ] || fail "a state that is ruined was saved"
expect "infinity with dynamic scaling" 4 "^firn: [^ ]*/one_inf.npy: .*LOSS_NOT_FINITE.*step 2 reads record 6, .*is infinity, and the state is that before it: mend such records, or leave them out of the file\$" \
    numbers scaled_true one_inf
expect "a record that overflows at every scale" 4 "^firn: [^ ]*/one_nan.npy: .*LOSS_SCALE_FLOOR.*in \([0-9]*\) of [0-9]* steps, and \1 of these read NaN.*record 6, " \
    numbers scaled_false one_nan
expect "a value that is too large" 4 "scaled_true.plan: .*LOSS_NOT_FINITE.*the data of this step hold no NaN or infinity.*3e+38, in record 1 of [^ ]*/one_huge.npy, .*scale the data, or" \
    numbers scaled_true one_huge
expect "data that is good" 0 "" numbers scaled_true all_good --steps 3
# More samples in a step than there are.
head -c 128 "$folder/three.npy" >"$folder/few_classes.npy"
head -c 128 "$folder/all_good.npy" >"$folder/few.npy"
sed -i '1s/(24,)/(3,) /' "$folder/few_classes.npy"
sed -i '1s/(24, 2)/(3, 2) /' "$folder/few.npy"
tail -c +129 "$folder/three.npy" | head -c 3 >>"$folder/few_classes.npy"
tail -c +129 "$folder/all_good.npy" | head -c 24 >>"$folder/few.npy"
"$FIRNC" compile compiler/recipes/small_mlp.yaml --mode train --key "$folder/test.key.pem" -o "$folder/few.plan" \
    --set 'trainer.init.model={name: mlp, input_size: 2, hidden_sizes: [], output_size: 3}' \
    --set 'trainer.fit.train_dataloader={batch_size: 4, micro_batch_size: 2, feature_type: float32, label_type: uint8}' \
    --set trainer.init.precision.enabled=false >"$folder/out"
expect "few samples" 0 "" "$FIRN" train "$folder/few.plan" --pub "$PUB" --steps 1 --data "$folder/few.npy" \
    --labels "$folder/few_classes.npy"
for line in "^3 samples, none held out; 4 in a step (2 micro-batches of 2), 0.75 steps in an epoch, .* epochs in the run of" \
    "a step takes more samples than there are: it reads some of them more than once"; do
    grep -q "$line" "$folder/err" || fail "no line '$line' about few samples"
done

expect "no labels" 1 "DATA_TYPE.*give them by --labels" mlp --data "$folder/images"
expect "labels for features" 1 "--data has 1 uint8 in each record, and the plan reads 784 uint8 (DATA_TYPE);.*swapped, give this one by --labels" \
    mlp --data "$folder/labels" --labels "$folder/labels"
expect "raw bytes for records" 1 "not an array" mlp --data "$folder/pixels" --labels "$folder/labels"
tr '\000-\011' '\001-\012' <"$folder/classes" | npy "$folder/eleven.npy" '|u1' '(120,)'
expect "a class too high" 1 "^firn: [^ ]*/eleven.npy: .*DATA_RANGE.* is 10, and the plan takes 0 to 9: .*x - 1 if" mlp --data "$folder/images" --labels "$folder/eleven.npy"
head -c 50 "$folder/classes" | npy "$folder/fewer.npy" '|u1' '(50,)'
expect "fewer labels than images" 1 "120 records and 50 labels" mlp --data "$folder/images" --labels "$folder/fewer.npy"
npy "$folder/wrong.npy" '|u1' '(121,)' <"$folder/classes"
labelled() {
    mlp --data "$folder/images" --labels "$1"
}
expect "a .npy that is too short" 1 "wrong.npy: is an array that was cut" labelled "$folder/wrong.npy"
npy "$folder/vast.npy" '|u1' '(4294967295, 4294967295)' <"$folder/classes"
expect "a .npy that is far too short" 1 "vast.npy: is an array that was cut" labelled "$folder/vast.npy"
head -c 60 "$folder/wrong.npy" >"$folder/header.npy"
expect "a .npy that is cut in its header" 1 "header.npy: is an array that was cut" labelled "$folder/header.npy"
npy "$folder/longer.npy" '|u1' '(119,)' <"$folder/classes"
expect "a .npy with a byte too many" 1 "longer.npy: has bytes behind the array" labelled "$folder/longer.npy"
npy "$folder/empty.npy" '|u1' '(0,)' </dev/null
expect "a .npy without records" 1 "empty.npy: is an array without elements" labelled "$folder/empty.npy"
sed "s/|u1/<f8/" "$folder/longer.npy" >"$folder/double.npy"
expect "a .npy of another type that is too short" 1 "double.npy: is an array that was cut: .*(119,) of float64, which is 1080 bytes" labelled "$folder/double.npy"
head -c 5000 "$folder/images.gz" >"$folder/cut.gz"
expect "gzip that is cut" 1 "gzip" mlp --data "$folder/cut.gz" --labels "$folder/labels"

# Arrays as NumPy writes them, each with what firn cannot read of it, or not as this plan does. Beside them, data packed
# so that reading all of it would cost 200 MB.
python3 - "$folder" <<'end'
import gzip, sys, zlib
import numpy as np
folder = sys.argv[1] + '/'
x = np.zeros((120, 784), 'float32')
np.save(folder + 'a_fortran.npy', np.asfortranarray(x))
np.save(folder + 'a_big.npy', x.astype('>f4'))
np.save(folder + 'a_zero.npy', x.astype('uint8'))
np.save(folder + 'a_scalar.npy', np.float32(1))
np.save(folder + 'a_int64.npy', np.load(folder + 'labels.npy').astype('int64'))
np.save(folder + 'a_complex.npy', x[:, :2].astype('complex64'))
np.save(folder + 'a_object.npy', np.array([[1], [1, 2]], dtype=object))
np.save(folder + 'a_text.npy', np.array(['cat', 'dog']))
np.save(folder + 'a_fields.npy', np.zeros(3, [('a', 'f4'), ('b', 'i4')]))
np.save(folder + 'a_deep.npy', np.zeros((1,) * 9, 'uint8'))
np.save(folder + 'a_onehot.npy', np.zeros((120, 10), 'uint8'))
np.save(folder + 'a_flat.npy', np.zeros(120 * 784, 'uint8'))
np.save(folder + 'a_columns.npy', np.zeros((784, 120), 'uint8'))
np.savez(folder + 'a.npz', x=x[:1])
open(folder + 'a_double.idx', 'wb').write(bytes([0, 0, 14, 1, 0, 0, 0, 2]) + bytes(16))
open(folder + 'a_short.idx', 'wb').write(bytes([0, 0, 8, 1, 0, 0, 0, 9]) + bytes(5))
open(folder + 'a_none', 'wb').close()
labels = np.load(folder + 'labels.npy')
labels[77] = 255
minus = labels.astype('int32')
minus[77] = -100
np.save(folder + 'minus.npy', minus)
np.save(folder + 'minus_one.npy', np.where(minus == -100, -1, minus))
np.save(folder + 'minus_half.npy', np.where(minus == -100, -1.5, minus))

# The same labels with a header of 700 bytes, and in Fortran order, which is C order for one dimension.
def header(name, text, length, body):
    head = text.encode().ljust(length - 11) + b'\n'
    open(folder + name, 'wb').write(b'\x93NUMPY\1\0' + len(head).to_bytes(2, 'little') + head + body)
body = np.load(folder + 'labels.npy').tobytes()
header('long.npy', "{'descr': '|u1', 'fortran_order': False, 'shape': (120,), }", 700, body)
header('order.npy', "{'descr': '|u1', 'fortran_order': True, 'shape': (120,), }", 128, body)
header('not.npy', "{'descr': '|u1', 'shape': (120,), }", 128, body)

def bomb(name, first, times=200):
    packer = zlib.compressobj(1, wbits=31)
    with open(folder + name, 'wb') as file:
        file.write(packer.compress(first))
        for _ in range(times):
            file.write(packer.compress(bytes(1 << 20)))
        file.write(packer.flush())
npy = open(folder + 'images.npy', 'rb').read()
bomb('bomb_raw.gz', b'')
bomb('bomb_behind.gz', npy)
bomb('bomb_type.gz', npy[:128].replace(b"|u1", b"<f8") + npy[128:])
bomb('bomb_idx.gz', bytes([0, 0, 8, 3, 0, 0, 0, 120, 0, 0, 0, 28, 0, 0, 0, 28]))
bomb('vast.gz', npy[:128].replace(b'(120, 784)', b'(1 , 784)'.replace(b'1 ', b'99999999999')).replace(b'  ', b'', 1), 0)
packed = gzip.compress(npy)
open(folder + 'members.gz', 'wb').write(gzip.compress(npy[:500]) + gzip.compress(npy[500:]) + bytes(100))
open(folder + 'behind.gz', 'wb').write(packed + b'more')
end
expect "a header of 700 bytes" 0 "" labelled "$folder/long.npy"
same "a long header is another run" "$folder/out" "$folder/idx"
expect "one dimension in Fortran order" 0 "" labelled "$folder/order.npy"
same "Fortran order is another run" "$folder/out" "$folder/idx"
images() {
    mlp --data "$folder/$1" --labels "$folder/labels"
}
expect "zeros" 0 "" images a_zero.npy
cp "$folder/out" "$folder/zeros"
for alike in a_fortran a_big; do
    expect "zeros, $alike" 0 "" images $alike.npy
    same "$alike is another run" "$folder/out" "$folder/zeros"
done
expect "no dimension" 1 "without a dimension, .*x.reshape(1)" images a_scalar.npy
expect "complex numbers" 1 "complex64 ('<c8').*save x.real" images a_complex.npy
expect "objects" 1 "objects of Python.*numpy.stack" images a_object.npy
expect "texts" 1 "an array of text ('<U3')" images a_text.npy
expect "fields" 1 "an array of structured records;.*structured_to_unstructured" images a_fields.npy
expect "nine dimensions" 1 "an array with 9 dimensions" images a_deep.npy
expect "no dictionary" 1 "header cannot be understood" images not.npy
expect "a flat array" 1 "has 1 uint8 in each record.*its shape is (94080,): save x.reshape(-1, 784)" images a_flat.npy
expect "columns as records" 1 "its shape is (784, 120): if its columns are the records, .*ascontiguousarray(x.T)" images \
    a_columns.npy
expect "an archive of arrays" 1 "1 record and 120 labels" images a.npz
expect "IDX of doubles" 1 "--data has 1 float64 in each record, .*its shape is (2,)" images a_double.idx
expect "IDX that was cut" 1 "begins like IDX, but has fewer bytes" images a_short.idx
expect "an empty file" 1 "a_none: is empty" images a_none
expect "labels of int64" 0 "" labelled "$folder/a_int64.npy"
same "labels of int64 are another run" "$folder/out" "$folder/idx"
expect "one-hot labels" 1 "a_onehot.npy: .*if they are one-hot, save x.argmax(axis=1)" labelled "$folder/a_onehot.npy"
compile int_labels small_mlp.yaml train --set trainer.fit.train_dataloader.label_type=int32
expect "labels of -100" 1 "^firn: [^ ]*/minus.npy: .*DATA_RANGE.*record 77, counted from 0, is -100, and the plan takes 0 to 9: give the rows to be ignored a class of their own" \
    "$FIRN" train "$folder/int_labels.plan" --pub "$PUB" --quiet --data "$folder/images" --labels "$folder/minus.npy"
# ignore_index is the mend of a negative class alone, and only where the plan has none.
compile int_ignored small_mlp.yaml train --set trainer.init.model.ignore_index=9 --set trainer.fit.train_dataloader.label_type=int32
negative() {
    "$FIRN" train "$folder/$1.plan" --pub "$PUB" --quiet --data "$folder/images" --labels "$folder/minus_$2.npy"
}
expect "a negative class of bytes" 1 "record 77, .* is -1; the plan reads uint8, and -1 is beyond it (DATA_TYPE): give the rows to be ignored" negative mlp one
expect "a negative class of integers" 1 "record 77, .* is -1, and the plan takes 0 to 9: give the rows to be ignored" negative int_labels one
expect "a negative class of bytes beside ignore_index" 1 "is -1; .*: mend the record, or change label_type of the recipe$" negative ignored one
expect "a negative class beside ignore_index" 1 "is -1, and the plan takes 0 to 9: number the classes from 0 to 9" negative int_ignored one
for plan in mlp int_labels ignored; do
    expect "half a class, $plan" 1 "is -1.5; .*no whole number (DATA_TYPE): mend the record, or change label_type of the recipe$" negative $plan half
done

# Records whose axes have another order than those of the plan have as many elements, and would be read as other records.
compile axes small_resnet8.yaml train
compile maps small_ds_cnn.yaml train
python3 - "$folder" <<'end'
import sys
import numpy as np
folder = sys.argv[1] + '/'
x = (np.arange(40 * 14 * 14 * 2) % 251).astype('uint8').reshape(40, 14, 14, 2)
np.save(folder + 'r_good.npy', x)
np.save(folder + 'r_flat.npy', x.reshape(40, -1))
np.save(folder + 'r_lines.npy', x.reshape(40, 14, 28))
np.save(folder + 'r_ones.npy', x.reshape(40, 1, 14, 14, 1, 2))
np.save(folder + 'r_first.npy', np.ascontiguousarray(x.transpose(0, 3, 1, 2)))
np.save(folder + 'r_back.npy', np.ascontiguousarray(np.load(folder + 'r_first.npy').transpose(0, 2, 3, 1)))
np.save(folder + 'r_ones_first.npy', x.transpose(0, 3, 1, 2).reshape(40, 2, 1, 14, 14))
np.save(folder + 'r_other.npy', x.reshape(40, 7, 28, 2))
np.save(folder + 'r_labels.npy', (np.arange(40) % 3).astype('uint8'))
np.save(folder + 'r_column.npy', (np.arange(40) % 3).astype('uint8').reshape(40, 1, 1))
open(folder + 'r_first.idx', 'wb').write(bytes([0, 0, 8, 4, 0, 0, 0, 40, 0, 0, 0, 2, 0, 0, 0, 14, 0, 0, 0, 14]) + x.tobytes())
end
gzip -c "$folder/r_first.npy" >"$folder/r_first.gz"
axes() {
    "$FIRN" train "$folder/axes.plan" --pub "$PUB" --quiet --steps 2 --data "$folder/$1" \
        --labels "$folder/${2:-r_labels.npy}"
}
expect "images as the plan reads them" 0 "" axes r_good.npy
cp "$folder/out" "$folder/axes"
for alike in r_flat r_lines r_ones r_back; do
    expect "images, $alike" 0 "" axes $alike.npy
    same "$alike is another run" "$folder/out" "$folder/axes"
done
expect "labels in a column" 0 "" axes r_good.npy r_column.npy
same "labels in a column are another run" "$folder/out" "$folder/axes"
for first in r_first.npy r_first.idx r_first.gz; do
    expect "channels first, $first" 1 "$first: its shape is (40, 2, 14, 14), and the plan reads records of \[14, 14, 2\] (DATA_TYPE); save numpy.ascontiguousarray(x.transpose(0, 2, 3, 1))\$" \
        axes $first
done
expect "channels first, and an axis of 1" 1 "(40, 2, 1, 14, 14), .*x.transpose(0, 3, 4, 1, 2))\$" axes r_ones_first.npy
expect "other extents" 1 "(40, 7, 28, 2), .*(DATA_TYPE); save x.reshape(-1, 14, 14, 2) if the elements" axes r_other.npy

# A file that will be refused is not unpacked as a whole first.
small() {
    (ulimit -v 150000 && images "$1")
}
expect "zeros in gzip" 1 "is not an array" small bomb_raw.gz
expect "zeros behind an array in gzip" 1 "has bytes behind the array" small bomb_behind.gz
expect "zeros behind IDX in gzip" 1 "is not an array" small bomb_idx.gz
expect "an array of another type in gzip" 1 "float64" small bomb_type.gz
expect "more in gzip than there can be" 1 "vast.gz: is an array that was cut" small vast.gz
expect "members of gzip" 0 "" images members.gz
same "members are another run" "$folder/out" "$folder/idx"
expect "bytes behind gzip" 1 "has bytes behind the gzip data" images behind.gz

# --- text ----------------------------------------------------------------------------------------------------------

gpt2() {
    "$FIRN" train "$folder/gpt2.plan" --pub "$PUB" --quiet --steps 5 "$@"
}
expect "floats for bytes" 1 "nan.npy: it has float32, and the plan reads uint8 (DATA_TYPE); give bytes" \
    gpt2 --data "$folder/nan.npy"
head -c 300 "$folder/text" >"$folder/little"
expect "little text" 0 "" gpt2 --data "$folder/little" --checkpoint "$folder/little.ckpt"
compile little_eval small_gpt2.yaml eval --set trainer.validate.val_dataloader.drop_last=true
expect "little text to evaluate" 1 "DATA_TOO_SHORT.*18 windows of 17 bytes, 1 of them held out.* of 300 bytes in 1 file, .*: compile with a batch_size of at most 1, or train and evaluate with more data, or with a larger held_out_per_mille\$" "$FIRN" eval "$folder/little_eval.plan" --pub "$PUB" \
    --data "$folder/little" --checkpoint "$folder/little.ckpt" --quiet
mkdir "$folder/texts"
cp /usr/share/common-licenses/GPL-2 "$folder/texts/b"
cp /usr/share/common-licenses/GPL-3 "$folder/texts/a"
ln -s a "$folder/texts/link"
expect "two files" 0 "" gpt2 --data "$folder/texts/a" --data "$folder/texts/b" --log "$folder/two.jsonl"
cp "$folder/out" "$folder/two"
expect "a folder" 0 "" gpt2 --data "$folder/texts" --checkpoint "$folder/c"
same "a folder is not its files by name" "$folder/out" "$folder/two"
gzip "$folder/texts/a"
expect "gzip in a folder" 0 "" gpt2 --data "$folder/texts"
same "gzip in a folder is another run" "$folder/out" "$folder/two"
expect "the other order" 0 "" gpt2 --data "$folder/texts/b" --data "$folder/texts/a.gz"
if cmp -s "$folder/out" "$folder/two"; then fail "the order of files has no influence"; fi
expect "labels that nobody reads" 2 "reads no labels; leave out --labels" gpt2 --data "$folder/texts" \
    --labels "$folder/labels"
expect "one file" 0 "" gpt2 --data "$folder/texts/b" --log "$folder/one.jsonl"
sum=$(listed data "$folder/texts/b" | sha256sum | cut -d ' ' -f 1)
grep -q "\"data_sha256\":\"$sum\"" "$folder/one.jsonl" || fail "the SHA-256 of one file is that of its line"

# A folder is read in an order that is said, and what is left out of it is named.
mkdir "$folder/mixed" "$folder/mixed/inner" "$folder/hidden"
cp "$folder/texts/b" "$folder/mixed/p9"
cp "$folder/texts/b" "$folder/mixed/p10"
cp "$folder/texts/b" "$folder/mixed/.p11"
cp "$folder/texts/b" "$folder/hidden/.p"
: >"$folder/mixed/r"
ln -s p9 "$folder/mixed/link"
ln -s none "$folder/mixed/dangling"
mkfifo "$folder/mixed/pipe"
told() {
    "$FIRN" train "$folder/gpt2.plan" --pub "$PUB" --steps 1 "$@"
}
expect "a mixed folder" 0 "" told --data "$folder/mixed"
for line in "data: 3 files in this order: .*/p9, .*/p10, .*/r\$" "left out: .*/mixed/\.p11 (hidden)" \
    "left out: .*/mixed/link (a symbolic link)" "left out: .*/mixed/dangling (a symbolic link)" \
    "left out: .*/mixed/inner (a folder)" "left out: .*/mixed/pipe (a pipe)" "/p9 comes before .*/p10, by the numbers of their names\$" \
    "/r is empty" "^[0-9]* windows of 17 bytes, [0-9]* of them held out and [0-9]* read; 4 in a step"; do
    grep -q "$line" "$folder/err" || fail "no line '$line' about the folder"
done
expect "a mixed folder in detail" 0 "" told --data "$folder/mixed/" -v
grep -q "^data 1 of 3: [^ ]*mixed/p9, [0-9]* uint8" "$folder/err" || fail "-v names each file"
expect "a folder of hidden files" 1 "has no file that is read: .*/hidden/.p (hidden) is left out" gpt2 --data "$folder/hidden"
mkdir "$folder/void"
expect "an empty folder" 1 "void: is a folder with no file" gpt2 --data "$folder/void"

# Bytes that are hardly text are trained on, with a note.
for begin in "BZh9:bzip2" '%%PDF-1:a PDF' '\211PNG\r\n\032\n:a PNG' \
    '\377\376a\000:UTF-16' 'PAR1:parquet'; do
    { printf "${begin%%:*}"; cat "$folder/texts/b"; } >"$folder/kind"
    expect "a file that begins like ${begin##*:}" 0 "" told --data "$folder/kind"
    grep -q "/kind begins like ${begin##*:}.*, and its bytes are read as they are" "$folder/err" ||
        fail "no note about ${begin##*:}"
done
expect "a short run" 0 "" told --data "$folder/little"
grep -q "epochs in the run of" "$folder/err" || fail "train says how many epochs a run has"
grep -q "^18 windows of 17 bytes, 1 of them held out, 16 read and 1 across the border between the two; 4 in a step" \
    "$folder/err" || fail "train says how many windows are in neither part"

# File boundaries determine the windows: the same bytes split at another place are different data.
head -c 5000 "$folder/text" >"$folder/cut_a"
tail -c +5001 "$folder/text" >"$folder/cut_b"
head -c 9000 "$folder/text" >"$folder/cut_c"
tail -c +9001 "$folder/text" >"$folder/cut_d"
expect "cut early" 0 "" gpt2 --data "$folder/cut_a" --data "$folder/cut_b" --log "$folder/early.jsonl"
expect "cut late" 0 "" gpt2 --data "$folder/cut_c" --data "$folder/cut_d" --log "$folder/late.jsonl"
sum=$(listed data "$folder/cut_a" "$folder/cut_b" | sha256sum | cut -d ' ' -f 1)
grep -q "\"data_sha256\":\"$sum\"" "$folder/early.jsonl" || fail "the SHA-256 of two files is that of two lines"
if grep -q "\"data_sha256\":\"$sum\"" "$folder/late.jsonl"; then fail "the same bytes cut elsewhere are other data"; fi

# More files than a process may have open, by the soft limit and by the hard limit.
mkdir "$folder/many"
split -b 400 -a 4 /usr/share/common-licenses/GPL-3 "$folder/many/"
[ "$(ls "$folder/many" | wc -l)" -gt 80 ] || fail "not as many files as this needs"
expect "many files" 0 "" gpt2 --data "$folder/many" --checkpoint "$folder/many.ckpt" --log "$folder/many.jsonl"
cp "$folder/out" "$folder/many.digest"
limited() {
    sh -c "ulimit -Sn 64 && ulimit -Hn $1 && exec '$FIRN' train '$folder/gpt2.plan' --pub '$PUB' --quiet --steps 5 \
        --data '$folder/many' --checkpoint '$folder/limited' --log '$folder/limited.jsonl'"
}
expect "more files than the soft limit" 0 "" limited 512
same "a run below the limit is another" "$folder/out" "$folder/many.digest"
expect "more files than the hard limit" 1 "ulimit -Hn" limited 64

expect "perplexity" 0 "" "$FIRN" eval "$folder/gpt2_eval.plan" --pub "$PUB" --data "$folder/texts" \
    --checkpoint "$folder/c"
grep -Eqx '[0-9]+(\.[0-9]+)?' "$folder/out" || fail "perplexity is one number"
cp "$folder/out" "$folder/perplexity"
expect "eval of a train plan" 3 WRONG_MODE "$FIRN" eval "$folder/gpt2.plan" --pub "$PUB" --data "$folder/texts" \
    --checkpoint "$folder/c"
expect "train of an eval plan" 3 WRONG_MODE "$FIRN" train "$folder/gpt2_eval.plan" --pub "$PUB" --data "$folder/texts"
expect "eval of another model" 3 CHECKPOINT_OTHER_MODEL "$FIRN" eval "$folder/gpt2_eval.plan" --pub "$PUB" \
    --data "$folder/texts" --checkpoint "$folder/mlp"
expect "eval without a checkpoint there" 3 "(CHECKPOINT_MISSING); name the file that firn train" \
    "$FIRN" eval "$folder/gpt2_eval.plan" --pub "$PUB" --data "$folder/texts" --checkpoint "$folder/none"

# --- inputs are files ----------------------------------------------------------------------------------------------

# Nothing waits for a pipe that nobody writes to, nor reads a device, whatever input it is named as.
mkfifo "$folder/pipe"
ln -s pipe "$folder/pipe_link"
for input in "$folder/pipe" "$folder/pipe_link" /dev/zero; do
    refusal="is neither a file nor a folder, but a \(pipe\|device\)"
    run() {
        timeout 10 "$FIRN" train "$folder/gpt2.plan" --pub "$PUB" --data "$folder/little" --quiet --steps 1 "$@"
    }
    expect "$input as a plan" 1 "$refusal" timeout 10 "$FIRN" train "$input" --pub "$PUB" --data "$folder/little"
    expect "$input as a key" 1 "$refusal" timeout 10 "$FIRN" train "$folder/gpt2.plan" --pub "$input" --data "$folder/little"
    expect "$input as data" 1 "$refusal" run --data "$input"
    expect "$input as labels" 1 "$refusal" labelled "$input"
    expect "$input as a device key" 1 "$refusal" run --device-key "$input"
    expect "$input as a counter" 1 "COUNTER" run --counter "$input"
    expect "$input as a checkpoint" 1 "$refusal" timeout 10 "$FIRN" digest "$input"
    expect "$input to export" 1 "$refusal" timeout 10 "$FIRN" export "$input" -o "$folder/x.safetensors"
    refusal="is not a file, but a \(pipe\|device\)"
    expect "$input as a recipe" 1 "$refusal" timeout 10 "$FIRNC" compile "$input" --mode train --key "$folder/test.key.pem" -o "$folder/x"
    expect "$input as initial weights" 1 "$refusal" timeout 10 "$FIRNC" compile compiler/recipes/small_mlp.yaml \
        --mode train --key "$folder/test.key.pem" -o "$folder/x" --weights "$input"
    expect "$input as a model" 1 "$refusal" timeout 10 "$FIRNC" compile compiler/recipes/small_mlp.yaml --mode train \
        --key "$folder/test.key.pem" -o "$folder/x" --set "trainer.init.model={name: onnx, onnx: $input, loss: cross_entropy}"
    expect "$input to inspect" 1 "$refusal" timeout 10 "$FIRNC" inspect "$input"
    expect "$input as a key to export" 1 "$refusal" timeout 10 "$FIRNC" export "$input" --c -o "$folder/x"
done
# Nor is a large file read that is no plan, no longer one, or no checkpoint.
head -c 512 "$folder/gpt2.plan" >"$folder/sparse_plan"
truncate -s 3G "$folder/sparse" "$folder/sparse_plan"
limited_to() {
    (ulimit -v "$1" && shift && exec "$@")
}
expect "3 GB for a plan" 3 "(MAGIC)" timeout 10 "$FIRN" train "$folder/sparse" --pub "$PUB" --data "$folder/little"
expect "3 GB behind a plan" 3 "(TRAILING_BYTES)" timeout 10 "$FIRN" train "$folder/sparse_plan" --pub "$PUB" \
    --data "$folder/little"
expect "3 GB for a checkpoint" 3 "CHECKPOINT_DAMAGED" limited_to 200000 "$FIRN" digest "$folder/sparse"
expect "a folder as a recipe" 1 "is a folder; give a file" "$FIRNC" inspect "$folder"

# --- export and import ---------------------------------------------------------------------------------------------

expect "export" 0 "" "$FIRN" export "$folder/c" -o "$folder/c.safetensors"
echo "$folder/c.safetensors: $("$FIRN" digest "$folder/c" --per-tensor | grep -c ' transformer\.') tensors, $(wc -c <"$folder/c.safetensors") bytes" >"$folder/wanted"
same "export says what it has written" "$folder/out" "$folder/wanted"
expect "export over a file, quietly" 0 "" "$FIRN" export "$folder/c" -o "$folder/c.safetensors" --quiet
[ ! -s "$folder/out" ] && [ ! -s "$folder/err" ] || fail "a quiet export is quiet"
compile again small_gpt2.yaml train --weights "$folder/c.safetensors"
expect "no step" 0 "" "$FIRN" train "$folder/again.plan" --pub "$PUB" --data "$folder/texts" --quiet --steps 0 \
    --checkpoint "$folder/again"
for checkpoint in c again; do
    "$FIRN" digest "$folder/$checkpoint" --per-tensor | grep ' transformer\.' >"$folder/$checkpoint.parameters"
done
[ -s "$folder/c.parameters" ] || fail "digest --per-tensor names the parameters"
same "weights changed on their way through safetensors" "$folder/c.parameters" "$folder/again.parameters"
expect "eval of the imported weights" 0 "" "$FIRN" eval "$folder/gpt2_eval.plan" --pub "$PUB" --data "$folder/texts" \
    --checkpoint "$folder/again"
same "they have another perplexity" "$folder/out" "$folder/perplexity"
for command in train eval predict; do
    "$FIRN" help $command | tr -s ' \n' ' ' >"$folder/$command.help"
done
grep -q -e '--checkpoint FILE where the state is saved' "$folder/train.help" || fail "what --checkpoint of train is"
for command in eval predict; do
    grep -q -e '--checkpoint FILE the state that train saved' "$folder/$command.help" || fail "what --checkpoint of $command is"
done
expect "an option of another command" 2 "--resume: unknown option" "$FIRN" eval x --resume
expect "nowhere to export" 1 "cannot be written" "$FIRN" export "$folder/c" -o "$folder/none/x"
cp "$folder/c.safetensors" "$folder/kept"
expect "no room to export" 1 "cannot be written: .*; raise the limit of file sizes (ulimit -f)" sh -c "ulimit -f 8; exec '$FIRN' export '$folder/c' -o '$folder/kept'"
same "a failed export took the file before" "$folder/kept" "$folder/c.safetensors"
[ ! -e "$folder/kept.tmp" ] || fail "a failed export left half a file"
printf 'FIRNCKPT' >"$folder/not"
expect "a name that would steer a terminal" 1 'no\\x1b\[31m\\x0athing: cannot be read' "$FIRN" digest \
    "$folder/$(printf 'no\033[31m\nthing')"
expect "not a checkpoint" 3 CHECKPOINT_DAMAGED "$FIRN" digest "$folder/not"
expect "no such checkpoint" 1 "cannot be read" "$FIRN" digest "$folder/nothing"
expect "digest of a folder" 1 "is a folder" "$FIRN" digest "$folder/texts"

# --- inputs are never overwritten ----------------------------------------------------------------------------------

cp "$folder/c" "$folder/c.kept"
ln -s c "$folder/c.link"
ln "$folder/c" "$folder/c.hard"
mkdir "$folder/sub"
for output in c c.link c.hard sub/../c; do
    expect "export over its checkpoint, $output" 2 "over the checkpoint" "$FIRN" export "$folder/c" -o "$folder/$output"
done
same "an export took its checkpoint" "$folder/c" "$folder/c.kept"
[ -L "$folder/c.link" ] || fail "an export took a link to its checkpoint"

# --- the demo keeps the run before it if its data is too short ---

mkdir "$folder/demo"
echo kept >"$folder/demo/kept"
head -c 100 /usr/share/common-licenses/GPL-3 >"$folder/short"
expect "a demo of 100 bytes" 1 'DATA_TOO_SHORT' env OUT="$folder/demo" DATA="$folder/short" BOARDS= FIRNC="$FIRNC" \
    FIRN="$FIRN" compiler/recipes/demo.sh
[ -e "$folder/demo/kept" ] && [ ! -e "$folder/demo.trial" ] || fail "a demo of 100 bytes removes the run before it"

[ $failures -eq 0 ]
