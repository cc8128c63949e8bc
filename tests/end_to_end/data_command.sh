#!/bin/sh
# firn data says what files hold and what a plan takes from them or why it refuses them. What it converts gives the run of
# the files that it was made of, and a failed conversion leaves what was there.
#
# Needs: python
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/test" >"$folder/out"
PUB=$folder/test.pub.pem
compile() {
    "$FIRNC" compile compiler/recipes/small_mlp.yaml --mode "$2" --key "$folder/test.key.pem" -o "$folder/$1.plan" \
        --set trainer.init.precision.enabled=false --set 'trainer.init.model={name: mlp, input_size: 2, hidden_sizes: [], output_size: 3}' \
        --set "trainer.fit.train_dataloader={batch_size: 4, held_out_per_mille: 250, feature_type: float32, label_type: uint8}" \
        --set 'trainer.validate.val_dataloader={batch_size: 3}' >"$folder/out"
}
compile train train
compile eval eval
"$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode train --key "$folder/test.key.pem" -o "$folder/text.plan" >"$folder/out"
python3 - "$folder" <<'end'
import sys
import numpy as np
folder = sys.argv[1] + '/'
x = np.arange(24).reshape(12, 2) / 10 - 1
x[3, 1] = np.nan
np.save(folder + 'x.npy', np.asfortranarray(x.astype('>f8')))
np.save(folder + 'good.npy', np.where(np.isnan(x), 0, x))
np.save(folder + 'y.npy', np.arange(12) % 3)
np.save(folder + 'from_one.npy', np.arange(12) % 3 + 1)
np.save(folder + 'large.npy', np.array([1 << 40, -5, 7]))
np.savez_compressed(folder + 'both.npz', x=np.where(np.isnan(x), 0, x).astype('float32'), y=(np.arange(12) % 3).astype('int8'))
open(folder + 'table.csv', 'w').write('a,b,c\n' + ''.join(f'{a},{b},{c}\n' for (a, b), c in zip(np.where(np.isnan(x), 0, x), np.arange(12) % 3)))
(np.arange(1000) % 256).astype('uint16').tofile(folder + 'tokens.bin')
open(folder + 'llm.bin', 'wb').write(np.array([20240520, 1, 5] + [0] * 253, 'int32').tobytes() + np.arange(5).astype('uint16').tobytes())
end
head -c 2000 /usr/share/common-licenses/GPL-3 >"$folder/text.txt"
gzip -k "$folder/text.txt"
echo tiny >"$folder/tiny"

# prints FILE...: `firn data` of files in the folder prints standard input, in which FOLDER stands for the folder
prints() {
    sed "s|FOLDER|$folder|" >"$folder/wanted"
    expect "$*" 0 "" env -C "$folder" "$PWD/$FIRN" data "$@"
    same "firn data $*" "$folder/out" "$folder/wanted"
}
case $FIRN in /*) FIRN=$(realpath --relative-to=. "$FIRN") ;; esac
prints x.npy --labels y.npy <<END
data 1 of 1: x.npy
  form               .npy of float64, big-endian, in Fortran order
  shape              (12, 2): 12 records of 2 numbers
  range              -1 to 1.2999999999999998
  NaN                1 of 24 numbers, infinity 0
  sha256             $(sha256sum <"$folder/x.npy" | cut -d ' ' -f 1)
labels 1 of 1: y.npy
  form               .npy of int64
  shape              (12,): 12 records of 1 number
  range              0 to 2
  classes            3, from 0 to 2
  counts             0: 4, 1: 4, 2: 4
  sha256             $(sha256sum <"$folder/y.npy" | cut -d ' ' -f 1)
END
prints large.npy text.txt.gz tokens.bin llm.bin <<END
data 1 of 4: large.npy
  form               .npy of int64
  shape              (3,): 3 records of 1 number
  range              -5 to 1099511627776
  sha256             $(sha256sum <"$folder/large.npy" | cut -d ' ' -f 1)
data 2 of 4: text.txt.gz
  form               bytes, packed with gzip
  length             2000 bytes
  sha256             $(sha256sum <"$folder/text.txt" | cut -d ' ' -f 1)
data 3 of 4: tokens.bin
  form               bytes, tokens of 2 or 4 bytes to a plan that reads such
  length             2000 bytes
  as uint16          1000 tokens from 0 to 255, 256 different; a plan needs vocab_size 256 or more
  sha256             $(sha256sum <"$folder/tokens.bin" | cut -d ' ' -f 1)
data 4 of 4: llm.bin
  form               raw tokens of uint16
  shape              (5,): 5 records of 1 number
  range              0 to 4
  tokens             5 tokens from 0 to 4, 5 different; a plan needs vocab_size 5 or more
  sha256             $(sha256sum <"$folder/llm.bin" | cut -d ' ' -f 1)
END
prints table.csv --target-column c <<END
data 1 of 1: table.csv
  form               a table of comma-separated values
  shape              (12, 2): 12 records of 2 numbers
  range              -1 to 1.3
  NaN                0 of 24 numbers, infinity 0
  sha256             $(sha256sum <"$folder/table.csv" | cut -d ' ' -f 1)
labels 1 of 1: table.csv
  form               a table of comma-separated values
  shape              (12,): 12 records of 1 number
  range              0 to 2
  NaN                0 of 12 numbers, infinity 0
  classes            3, from 0 to 2
  counts             0: 4, 1: 4, 2: 4
  sha256             $(sha256sum <"$folder/table.csv" | cut -d ' ' -f 1)
columns of table.csv: 3, in 12 rows
       name                  type      missing distinct        least         most         mean
    1  a                     number          0       12           -1          1.2          0.1
    2  b                     number          0       12         -0.9          1.3        0.225
    3  c                     integer         0        3            0            2            1
END
expect "classes from 1" 0 "" "$FIRN" data "$folder/x.npy" --labels "$folder/from_one.npy"
grep -qx '  warning            the classes begin at 1, and a plan numbers them from 0: save x - 1' "$folder/out" ||
    fail "that classes begin at 1 is said"
mkdir "$folder/texts"
cp "$folder/text.txt" "$folder/texts/a"
ln -s a "$folder/texts/b"
expect "a folder" 0 "" "$FIRN" data "$folder/texts"
grep -qx "left out: $folder/texts/b (a symbolic link)" "$folder/out" || fail "what is left out is said"
mkdir "$folder/nothing" "$folder/hidden"
touch "$folder/hidden/.z"
expect "an empty folder behind another" 1 "nothing: is a folder with no file in it" "$FIRN" data "$folder/texts" "$folder/nothing"
expect "a folder of hidden files behind another" 1 "hidden: has no file that is read: $folder/hidden/.z (hidden) is left out; give" \
    "$FIRN" data "$folder/texts" "$folder/hidden"
cp "$folder/text.txt" "$folder/hidden/1.txt"
expect "folders in the order of the line" 0 "" "$FIRN" data "$folder/texts" "$folder/hidden"
[ "$(grep '^left out' "$folder/out" | sed "s|$folder/||" | tr '\n' ' ')" = "left out: texts/b (a symbolic link) left out: hidden/.z (hidden) " ] ||
    fail "what is left out of two folders"

# --- what firn data says of columns and tokens ----------------------------------------------------------------------

printf 'name,age,x,k\nann,3,NA,1\nbob,4,2.5,1\nann,5,1e40,1\n' >"$folder/people.csv"
expect "a table with texts" 1 "'ann' is no number" "$FIRN" data "$folder/people.csv"
sed 's/^columns of .*: 4/columns of: 4/' "$folder/out" >"$folder/got"
cat >"$folder/wanted" <<'END'
columns of: 4, in 3 rows
       name                  type      missing distinct        least         most         mean
    1  name                  text            0        2
    2  age                   integer         0        3            3            5            4
    3  x                     number          1        1          2.5          2.5          2.5
    4  k                     integer         0        1            1            1            1
  note: column 3 (x) has 1 number that is infinite or beyond float32
  note: column 4 (k) is the same in every row
END
same "the columns of a table" "$folder/got" "$folder/wanted"
[ "$(wc -L <"$folder/wanted")" -le 100 ] || fail "the lines are too long"
awk 'BEGIN { for (i = 0; i < 1500; i++) print i "," i % 7 }' >"$folder/many.csv"
"$FIRN" data "$folder/many.csv" --header no >"$folder/out"
grep -q '^    1   *integer  *0  *>1000  *0  *1499  *749.5$' "$folder/out" || fail "many values: $(cat "$folder/out")"
gzip -c "$folder/table.csv" >"$folder/packed.csv.gz"
"$FIRN" data "$folder/packed.csv.gz" --target-column c >"$folder/out"
grep -q '^    3  c  *integer ' "$folder/out" || fail "a packed table has no columns"
printf '\001\000\002\000\007\000\001\000' >"$folder/ids.bin"
"$FIRN" data "$folder/ids.bin" >"$folder/out"
grep -qx '  as uint16          4 tokens from 1 to 7, 3 different; a plan needs vocab_size 8 or more' "$folder/out" ||
    fail "tokens: $(cat "$folder/out")"
head -c 60 "$folder/packed.csv.gz" >"$folder/cut.csv.gz"
expect "a packed table that is cut" 1 "" "$FIRN" data "$folder/cut.csv.gz"

# --- what a plan takes ----------------------------------------------------------------------------------------------

takes() {
    plan=$1
    shift
    "$FIRN" data "$@" --plan "$folder/$plan.plan" --pub "$PUB"
}
expect "what train takes" 0 "" takes train "$folder/good.npy" --labels "$folder/y.npy"
sed '1,/^plan/d; s/data hash .*/data hash/' "$folder/out" >"$folder/got"
cat >"$folder/wanted" <<END
  data               2 float32 of each record; 18 numbers are rounded once to float32
  labels             1 uint8 of each record, from 0 to 2
  data hash
  samples            12 samples, 3 of them held out and 9 read
END
same "what train takes is said" "$folder/got" "$folder/wanted"
hash=$(sed -n 's/^  data hash *//p' "$folder/out")
expect "the run" 0 "" "$FIRN" train "$folder/train.plan" --pub "$PUB" --quiet --steps 2 --data "$folder/good.npy" \
    --labels "$folder/y.npy" --log "$folder/log"
cp "$folder/out" "$folder/digest"
grep -q "\"data_sha256\":\"$hash\"" "$folder/log" || fail "the hash is that of a run"
expect "what eval takes" 0 "" takes eval "$folder/good.npy" --labels "$folder/y.npy"
grep -qx '  samples            12 samples, 3 of them held out, which are read' "$folder/out" || fail "what eval takes is said"
expect "what a text plan takes" 0 "" takes text "$folder/text.txt.gz"
grep -qx '  data               a text of uint8, from 0 to 255' "$folder/out" || fail "what a text plan takes is said"
# refuses NAME PATTERN COMMAND...: and the files are described before
refuses() {
    expect "$@"
    grep -q '^data 1 of' "$folder/out" || fail "$1: the files are not described"
}
refuses "a class too high" 1 "from_one.npy: .*DATA_RANGE.*record 2, counted from 0, is 3, and the plan takes 0 to 2" \
    takes train "$folder/good.npy" --labels "$folder/from_one.npy"
refuses "no labels" 1 "good.npy: the plan also reads 1 uint8 of each record" takes train "$folder/good.npy"
refuses "labels for features" 1 "y.npy: --data has 1 int64 in each record, and the plan reads 2 float32" takes train "$folder/y.npy" \
    --labels "$folder/y.npy"
refuses "too little text" 1 "DATA_TOO_SHORT" takes text "$folder/tiny"
expect "tokens for a text plan" 0 "" takes text "$folder/llm.bin"
grep -q "llm.bin begins like tokens of llm.c, and its bytes are read as they are" "$folder/err" || fail "a kind is noted"
# Without a plan no message speaks of one.
python3 - "$folder" <<'end'
import sys
import numpy as np
arrays = {'number': np.float32(3), 'complex': np.ones(3, 'complex64'), 'objects': np.array([{}, 1], object), 'words': np.array(['a']),
          'fields': np.zeros(2, [('a', 'f4')])}
for name, array in arrays.items():
    np.save(f'{sys.argv[1]}/no_{name}.npy', array)
end
for array in number complex objects words fields; do
    for role in data labels; do
        set -- "$folder/no_$array.npy"
        [ $role = data ] || set -- "$folder/x.npy" --labels "$folder/no_$array.npy"
        expect "$array without a plan, $role" 1 "no_$array.npy: is an array \(of\|without\) .*: .*\(float32\|reshape(1)\)$" "$FIRN" data "$@"
        ! grep -q 'the plan' "$folder/err" || fail "$array, $role: of which plan?"
    done
done
expect "a number with a plan" 1 "no_number.npy: is an array without a dimension, .*, and the plan reads 2 float32 of each record: " \
    "$FIRN" train "$folder/train.plan" --pub "$PUB" --quiet --data "$folder/no_number.npy" --labels "$folder/y.npy"
printf 'a,b\n1,1e400\n' >"$folder/far.csv"
: >"$folder/empty.csv"
for option in "--target-column b" "--columns a"; do
    expect "an empty table, $option" 1 "empty.csv: is empty, and so no table; give one with a record or more" "$FIRN" data "$folder/empty.csv" $option
done
expect "a label beyond float32" 1 "far.csv: row 2 (line 2), column 2 (b): the number is beyond float32, in which tables are looked at (DATA_TYPE); " \
    "$FIRN" data "$folder/far.csv" --target-column b
expect "not a file" 1 "none: cannot be read" "$FIRN" data "$folder/none"
expect "a plan without its key" 2 "needs --pub with --plan" "$FIRN" data x --plan y
expect "no file" 2 "data: needs a FILE" "$FIRN" data
expect "an option of train" 2 "--resume: unknown option" "$FIRN" data x --resume
expect "no stdout" 1 "stdout: is closed" sh -c "'$FIRN' data '$folder/y.npy' >&-"
if [ -w /dev/full ]; then
    expect "a full disk for the text" 1 "stdout: cannot be written" sh -c "'$FIRN' data '$folder/y.npy' >/dev/full"
fi

# --- what a device gets ---------------------------------------------------------------------------------------------

for source in "good.npy --labels $folder/y.npy" "both.npz --member x,y --labels $folder/both.npz" "table.csv --target-column c"; do
    # $source is split into words intentionally.
    set -- $source
    first=$1
    shift
    rm -f "$folder/device.npy" "$folder/classes.npy"
    expect "convert $first" 0 "" takes train "$folder/$first" "$@" --convert "$folder/device.npy" --convert-labels "$folder/classes.npy"
    python3 -c "import sys, numpy
x, y = numpy.load(sys.argv[1]), numpy.load(sys.argv[2])
sys.exit(x.dtype != 'float32' or x.shape != (12, 2) or y.dtype != 'uint8' or y.shape != (12,))" "$folder/device.npy" \
        "$folder/classes.npy" || fail "$first: NumPy reads what is converted"
    expect "the run of what was converted" 0 "" "$FIRN" train "$folder/train.plan" --pub "$PUB" --quiet --steps 2 \
        --data "$folder/device.npy" --labels "$folder/classes.npy"
    same "$first: converted data are another run" "$folder/out" "$folder/digest"
done
expect "convert without a plan" 0 "" "$FIRN" data "$folder/y.npy" --convert "$folder/out.npy"
cmp -s "$folder/out.npy" "$folder/y.npy" && fail "int64 becomes int32 without a plan"
expect "convert what no type holds" 1 "large.npy: record 0, counted from 0, is 1099511627776; without a plan it becomes int32, and 1099511627776 is beyond it (DATA_TYPE): mend the record, or give the plan" \
    "$FIRN" data "$folder/large.npy" --convert "$folder/never.npy"
[ ! -e "$folder/never.npy" ] && [ ! -e "$folder/never.npy.tmp" ] || fail "a failed conversion leaves a file"
expect "convert over an input" 2 "over the data" "$FIRN" data "$folder/y.npy" --convert "$folder/y.npy"
expect "convert labels over an input" 2 "over the data" "$FIRN" data "$folder/x.npy" --labels "$folder/y.npy" --convert-labels "$folder/x.npy"
expect "both into one file" 2 "the output would be written over the output of the labels" "$FIRN" data "$folder/x.npy" \
    --labels "$folder/y.npy" --convert "$folder/z.npy" --convert-labels "$folder/z.npy"
expect "labels that are not there" 2 "needs --labels or --target-column with --convert-labels" "$FIRN" data "$folder/x.npy" \
    --convert-labels "$folder/z.npy"
expect "two texts in one" 2 "is another text, and --convert writes one" "$FIRN" data "$folder/text.txt" "$folder/text.txt.gz" \
    --convert "$folder/z.npy"
# Without a plan one array has records of one type and shape, and tokens without their header.
python3 - "$folder" <<'end'
import gzip, sys
import numpy as np
folder = sys.argv[1] + '/'
np.save(folder + 'three.npy', np.ones((10, 3), 'float32'))
np.save(folder + 'three_more.npy', np.ones((2, 3), 'float64'))
np.save(folder + 'four.npy', np.ones((10, 4), 'float32'))
np.save(folder + 'square.npy', np.ones((10, 3, 1), 'float32'))
np.save(folder + 'small.npy', np.ones((10, 3), 'uint8'))
np.save(folder + 'flat.npy', np.ones(10, 'uint16'))
open(folder + 'llm.bin.gz', 'wb').write(gzip.compress(open(folder + 'llm.bin', 'rb').read()))
open(folder + 'wide.bin', 'wb').write(np.array([20240801, 7, 3] + [0] * 253, 'int32').tobytes() + np.arange(3).astype('uint32').tobytes())
end
expect "records of one shape" 0 "" "$FIRN" data "$folder/three.npy" "$folder/three_more.npy" --convert "$folder/joined.npy"
python3 -c "import sys, numpy
x = numpy.load(sys.argv[1])
sys.exit(x.dtype != 'float32' or x.shape != (12, 3) or bool((x != 1).any()))" "$folder/joined.npy" || fail "records of one shape are joined"
for pair in "three four:has records of float32 (4,), and .*three.npy has records of float32 (3,)" \
    "three square:has records of float32 (3, 1), and" "small three:has records of float32 (3,), and .* of uint8 (3,)" \
    "three flat:has records of uint16 (), and"; do
    files=${pair%%:*}
    set -- "$folder/${files% *}.npy" "$folder/${files#* }.npy"
    expect "$files" 1 "${files#* }.npy: ${pair#*:}.*; convert them one by one, or name the plan" "$FIRN" data "$@" --convert "$folder/never.npy"
    mkdir "$folder/labels"
    cp "$1" "$folder/labels/1.npy"
    cp "$2" "$folder/labels/2.npy"
    expect "$files as labels" 1 "labels/2.npy: has records of" "$FIRN" data "$@" --labels "$folder/labels" --convert-labels "$folder/never.npy"
    rm -r "$folder/labels"
done
expect "a text behind records" 1 "text.txt: has bytes, and .*small.npy has records" "$FIRN" data "$folder/small.npy" "$folder/text.txt" \
    --convert "$folder/never.npy"
expect "tokens behind records" 1 "llm.bin: has records of uint16 (), and" "$FIRN" data "$folder/flat.npy" "$folder/llm.bin" --convert "$folder/never.npy"
expect "two files of tokens" 2 "llm.bin.gz: is another text" "$FIRN" data "$folder/llm.bin" "$folder/llm.bin.gz" --convert "$folder/never.npy"
[ ! -e "$folder/never.npy" ] && [ ! -e "$folder/never.npy.tmp" ] || fail "a refused conversion leaves a file"
for file in llm.bin llm.bin.gz wide.bin; do
    expect "convert $file" 0 "" "$FIRN" data "$folder/$file" --convert "$folder/tokens.npy"
    python3 -c "import sys, numpy
x = numpy.load(sys.argv[1])
sys.exit(x.dtype != sys.argv[2] or x.tolist() != list(range(len(x))) or len(x) < 3)" "$folder/tokens.npy" \
        $([ $file = wide.bin ] && echo int32 || echo uint16) || fail "$file: its tokens are converted, without the header"
done
cp "$folder/device.npy" "$folder/kept.npy"
expect "no room" 1 "kept.npy: cannot be written: .*; raise the limit of file sizes" sh -c "ulimit -f 1; exec '$FIRN' data '$folder/text.txt' \
    --convert '$folder/kept.npy' >/dev/null"
same "a failed conversion took the file before" "$folder/kept.npy" "$folder/device.npy"
[ ! -e "$folder/kept.npy.tmp" ] || fail "a failed conversion left half a file"
expect "no folder" 1 "cannot be written" "$FIRN" data "$folder/y.npy" --convert "$folder/none/z.npy"

[ $failures -eq 0 ]
