#!/bin/sh
# Data as people have it gives the run that the same numbers give in the form of the plan, or is refused in one line that
# names the place. tests/unit/test_readers.c has every type against every type.
#
# Needs: python
set -eu

. tests/end_to_end/expectations

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
compile ignored_eval eval --set "$ignoring" --set "$float_data" --set 'trainer.validate.val_dataloader={batch_size: 4}'
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

# Integers of any magnitude that float32 has become it; their neighbours do not.
python3 - "$folder" <<'end'
import sys
import numpy as np
folder = sys.argv[1] + '/'
large = [1 << 63, (1 << 64) - (1 << 40), 1 << 62, (1 << 24) + 2], [-1 << 63, (1 << 63) - (1 << 39), -1 << 62, (1 << 24) - 1]
for kind, row in zip(('uint64', 'int64'), large):
    np.save(folder + 'x_large_' + kind + '.npy', np.array([row] * 24, kind))
    np.save(folder + 'x_want_' + kind + '.npy', np.array([row] * 24, 'float32'))
for i, number in enumerate([(1 << 63) + 1, (1 << 64) - 1, (1 << 64) - (1 << 39), (1 << 24) + 1]):
    np.save(folder + f'x_beside_{i}.npy', np.array([[number] * 4] * 24, 'uint64'))
end
# converts X: what the plan makes of these features, in got.npy
converts() {
    rm -f "$folder/got.npy"
    "$FIRN" data "$folder/$1.npy" --labels "$folder/y_int32.npy" --plan "$folder/floats.plan" --pub "$PUB" --convert "$folder/got.npy"
}
for kind in uint64 int64; do
    expect "large integers of $kind" 0 "" converts x_large_$kind
    tail -c 384 "$folder/got.npy" >"$folder/got" && tail -c 384 "$folder/x_want_$kind.npy" >"$folder/want"
    same "large integers of $kind are others" "$folder/got" "$folder/want"
done
for i in 0 1 2 3; do
    expect "an integer beside, $i" 1 "x_beside_$i.npy: element 0 of record 0, counted from 0, is [0-9]*; the plan reads float32, and [0-9]* would be another number in it" \
        converts x_beside_$i
done

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
expect "a checkpoint of labels of -100" 0 "" train ignored x_uint8 y_minus --checkpoint "$folder/ignored.ckpt"
for labels in y_three y_minus; do
    expect "eval of $labels" 0 "" "$FIRN" eval "$folder/ignored_eval.plan" --pub "$PUB" --quiet --data "$folder/x_uint8.npy" \
        --labels "$folder/$labels.npy" --checkpoint "$folder/ignored.ckpt"
    cp "$folder/out" "$folder/eval.$labels"
done
same "eval of -100 is not that of the class that is ignored" "$folder/eval.y_three" "$folder/eval.y_minus"
expect "labels of -100 without ignore_index" 1 "y_minus.npy: .*DATA_RANGE.* is -100, and the plan takes 0 to 2: .*ignore_index: then -100 is read as it" \
    train floats x_float32 y_minus --quiet
expect "labels of -100 as bytes" 1 "y_minus.npy: record 0, counted from 0, is -100; the plan reads uint8, and -100 is beyond it (DATA_TYPE): .*ignore_index" \
    train bytes x_uint8 y_minus

# --- labels that begin at 1, and twins ------------------------------------------------------------------------------

python3 - "$folder" <<'end'
import sys
import numpy as np
folder = sys.argv[1] + '/'
np.save(folder + 'y_one.npy', np.arange(24) % 2 + 1)
np.save(folder + 'y_three_one.npy', np.arange(24) % 3 + 1)
end
cp "$folder/x_float32.npy" "$folder/x_twin.npy"
expect "labels from 1" 0 "" train floats x_float32 y_one
grep -q 'y_one.npy: the labels are 1 to 2, and no record has class 0 of 3: if the classes begin at 1, save x - 1, and compile with one class fewer$' \
    "$folder/err" || fail "labels that begin at 1 are noted"
expect "as many labels from 1 as classes" 1 "y_three_one.npy: .*DATA_RANGE.* is 3, and the plan takes 0 to 2: .*save x - 1 if they begin at 1" \
    train floats x_float32 y_three_one --quiet
expect "labels from 0" 0 "" train floats x_float32 y_int32
! grep -q 'begin at 1' "$folder/err" || fail "labels from 0 are noted"
cat "$folder/y_int32.npy" >"$folder/y_twice.npy"
tail -c 96 "$folder/y_int32.npy" >>"$folder/y_twice.npy"
sed -i '1s/(24,)/(48,)/' "$folder/y_twice.npy"
expect "twins" 0 "" train floats x_float32 y_twice --data "$folder/x_twin.npy"
grep -q 'x_float32.npy and [^ ]*/x_twin.npy have the same contents$' "$folder/err" || fail "twins are noted"
compile held train --set "$model" --set 'trainer.fit.train_dataloader={batch_size: 4, held_out_per_mille: 250, feature_type: float32, label_type: int32}'
expect "twins of which a part is held out" 0 "" train held x_float32 y_twice --data "$folder/x_twin.npy"
grep -q 'have the same contents: what is held out of one may be trained on in the other$' "$folder/err" || fail "twins are noted"

# --- .npz -----------------------------------------------------------------------------------------------------------

python3 -W ignore - "$folder" <<'end'
import struct
import sys
import zipfile
import numpy as np
folder = sys.argv[1] + '/'
x, y = np.load(folder + 'x_float32.npy'), np.load(folder + 'y_int32.npy')
np.savez(folder + 'one.npz', x)
np.savez_compressed(folder + 'small.npz', x=x)
np.savez(folder + 'both.npz', x_train=x, y_train=y)
np.savez_compressed(folder + 'wide.npz', x=np.asfortranarray(x.astype('>f8')), y=y.astype('int64'))
def read(name):
    return open(folder + name, 'rb').read()
def write(name, contents):
    open(folder + name, 'wb').write(contents)
with zipfile.ZipFile(folder + 'comment.npz', 'w') as archive:
    archive.writestr('folder/x.npy', read('x_float32.npy'))
    archive.writestr('readme.txt', 'PK\5\6 is the end')
    archive.comment = b'PK\5\6' + bytes(60)
with zipfile.ZipFile(folder + 'bzip2.npz', 'w', zipfile.ZIP_BZIP2) as archive:
    archive.writestr('x.npy', read('x_float32.npy'))
with zipfile.ZipFile(folder + 'twice.npz', 'w') as archive:
    archive.writestr('x.npy', read('x_float32.npy'))
    archive.writestr('x.npy', read('x_float32.npy'))
with zipfile.ZipFile(folder + 'more.npz', 'w') as archive:
    for name in 'x', 'x', 'z':
        archive.writestr(name + '.npy', read('x_float32.npy'))
np.savez(folder + 'many.npz', **{f'a{i}': y for i in range(12)})
with zipfile.ZipFile(folder + 'texts.zip', 'w') as archive:
    archive.writestr('a.txt', 'some text ' * 100)
with zipfile.ZipFile(folder + 'none.zip', 'w') as archive:
    pass
# An end that has no room for its numbers, with the numbers of zip64 before it.
one = read('one.npz')
end = one.rindex(b'PK\5\6')
bytes_, offset = struct.unpack('<II', one[end + 12:end + 20])
end64 = struct.pack('<IQHHIIQQQQ', 0x06064b50, 44, 45, 45, 0, 0, 1, 1, bytes_, offset)
locator = struct.pack('<IIQI', 0x07064b50, 0, end, 1)
write('zip64.npz', one[:end] + end64 + locator + one[end:end + 8] + b'\xff' * 12 + one[end + 20:])
small = read('small.npz')
directory = small.rindex(b'PK\1\2')
def changed(name, at, new, of=small):
    write(name, of[:at] + new + of[at + len(new):])
changed('bad_crc.npz', directory + 16, b'\1\2\3\4')
changed('bad_size.npz', directory + 24, struct.pack('<I', 400))
changed('bad_packed.npz', directory + 20, struct.pack('<I', 100))
changed('bad_far.npz', directory + 20, struct.pack('<I', 1 << 30))
changed('bad_offset.npz', directory + 42, struct.pack('<I', 1 << 30))
changed('bad_name.npz', directory + 28, struct.pack('<H', 60000))
changed('secret.npz', directory + 8, b'\1')
changed('bad_data.npz', 100, b'\0' * 8)
write('cut.npz', small[:-30])
write('head.npz', small[:200])
end

expect "tenths again" 0 "" train floats x_float32 y_int32
# npz FILE [OPTION...]: features from a .npz file
npz() {
    file=$1
    shift
    "$FIRN" train "$folder/floats.plan" --pub "$PUB" --steps 3 --quiet --data "$folder/$file" --labels "$folder/y_int32.npy" "$@"
}
for file in one small comment zip64 "both --member x_train" "small --member x.npy" "wide --member x"; do
    # $file is split into words intentionally.
    set -- $file
    name=$1.npz
    shift
    expect "$file" 0 "" npz "$name" "$@"
    same "$file is another run" "$folder/out" "$folder/floats.digest"
done
expect "data and labels in one file" 0 "" "$FIRN" train "$folder/floats.plan" --pub "$PUB" --steps 3 --data "$folder/both.npz" \
    --labels "$folder/both.npz" --member x_train,y_train --log "$folder/npz.jsonl"
same "both in one file are another run" "$folder/out" "$folder/floats.digest"
expect "the files by themselves" 0 "" train floats x_float32 y_int32 --log "$folder/npy.jsonl"
[ "$(head -n 1 "$folder/npz.jsonl")" = "$(head -n 1 "$folder/npy.jsonl")" ] || fail "an array has another hash in an archive"
expect "two arrays, and no name" 1 "both.npz: has 2 arrays: name one of x_train, y_train by --member" npz both.npz
expect "a name that is not there" 1 "both.npz: has no array of the name z; name one of x_train, y_train by --member" npz both.npz --member z
expect "a name of two" 1 "twice.npz: has 2 arrays of the name x" npz twice.npz --member x
expect "two arrays of one name" 1 "twice.npz: has 2 arrays of the name x; save it again by numpy.savez" npz twice.npz
expect "a name twice and another" 1 "more.npz: has 3 arrays: name one of x, z by --member" npz more.npz
expect "more names than are shown" 1 "many.npz: has 12 arrays: name one of a0, a1, a2, a3, a4, a5, a6, a7, ... by --member" npz many.npz
expect "a name of a .npy file" 1 "x_float32.npy: is no .npz file, of which --member names an array" npz x_float32.npy --member x
gzip -k "$folder/small.npz"
expect "an archive in gzip" 1 "small.npz.gz: is not an array, but zip (also .npz, .pt, .docx); .*: unpack it first" npz small.npz.gz
expect "a name in it" 1 "small.npz.gz: is packed with gzip, and --member names an array of a .npz file; if it is one, unpack it first" \
    npz small.npz.gz --member x
expect "names of four" 2 "--member: a,b,c,d names more than three arrays" npz both.npz --member a,b,c,d
expect "a name without a file" 2 "names an array by --member, and no file by --sample-weights" npz both.npz --member a,b,c
expect "an archive of bzip2" 1 "bzip2.npz: is a zip file that is packed in another way than deflate; save it again" npz bzip2.npz
expect "an archive with a password" 1 "secret.npz: is a zip file that is encrypted" npz secret.npz
for file in texts none; do
    expect "an archive of no array, $file" 1 "$file.zip: is zip (also .npz, .pt, .docx) without an array (.npy) in it" npz $file.zip
done
for file in bad_crc bad_size bad_packed bad_far bad_offset bad_name bad_data cut head; do
    expect "a damaged archive, $file" 1 "$file.npz: is a\( damaged zip file\| zip file that was cut or is damaged\|n array that was cut\)" npz $file.npz
done

[ $failures -eq 0 ]
