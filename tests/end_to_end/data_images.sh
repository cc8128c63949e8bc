#!/bin/sh
# Folders of PNG and JPEG images, and of class folders of them: their pixels, order, labels and hash, what is left out or
# noted, and each refusal in one line. The images are those of tests/fuzz/corpus/images: 12 pixels wide and 10 high.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
case $FIRN in /*) ;; *) FIRN=$PWD/$FIRN ;; esac
images=$PWD/tests/fuzz/corpus/images

if ! "$FIRN" data "$images/grey.png" >"$folder/out" 2>&1 || ! "$FIRN" data "$images/grey.jpg" >"$folder/out" 2>&1; then
    grep -q "built without lib\(png\|jpeg\); install the package lib" "$folder/out" || fail "an image is refused"
    echo "firn was built without libpng or libjpeg"
    [ $failures -eq 0 ]
    exit
fi

"$FIRNC" keygen "$folder/test" >"$folder/out"
PUB=$folder/test.pub.pem
# compile NAME MODE HELD_OUT MODEL [OPTION]...
compile() {
    plan=$1
    mode=$2
    held_out=$3
    model=$4
    shift 4
    "$FIRNC" compile compiler/recipes/small_mlp.yaml --mode "$mode" --key "$folder/test.key.pem" -o "$folder/$plan.plan" \
        --set trainer.init.precision.enabled=false --set "trainer.init.model=$model" \
        --set "trainer.fit.train_dataloader={batch_size: 2, held_out_per_mille: $held_out, feature_type: uint8, feature_scale: 0.01}" \
        --set 'trainer.validate={metric: accuracy, val_dataloader: {batch_size: 1}}' "$@" >"$folder/out"
}
compile all train 0 '{name: mlp, input_size: 360, hidden_sizes: [], output_size: 3}'
compile train train 200 '{name: mlp, input_size: 360, hidden_sizes: [], output_size: 3}'
compile eval eval 200 '{name: mlp, input_size: 360, hidden_sizes: [], output_size: 3}'
compile predict eval 0 '{name: mlp, input_size: 360, hidden_sizes: [], output_size: 3}' \
    --set trainer.validate.metric=none --set 'trainer.validate.outputs=[logits]'
compile two train 0 '{name: mlp, input_size: 360, hidden_sizes: [], output_size: 2}'
compile lenet train 0 '{name: lenet, image_height: 16, image_width: 14, image_channels: 3, filters: [2, 2], hidden_sizes: [4, 4], output_size: 3, nonlinearity: relu, pooling: max}'
compile lenet_grey train 0 '{name: lenet, image_height: 16, image_width: 14, filters: [2, 2], hidden_sizes: [4, 4], output_size: 3, nonlinearity: relu, pooling: max}'

# fresh FILE...: an empty folder with these images
fresh() {
    rm -rf "$folder/x"
    mkdir "$folder/x"
    for image; do cp "$images/$image" "$folder/x"; done
}
classes() {
    fresh
    mkdir "$folder/x/cat" "$folder/x/dog9" "$folder/x/dog10"
    (cd "$images" && cp grey.png colour.png interlaced.png palette.png "$folder/x/cat" &&
        cp grey.jpg half.jpg whole.jpg progressive.jpg "$folder/x/dog9" && cp bits.png opaque.png "$folder/x/dog10")
}
# says TEXT FILE: the file has the line
says() {
    grep -q -- "$1" "$folder/$2" || fail "no '$1' in $2"
}
data() {
    "$FIRN" data "$folder/x" "$@"
}
train() {
    plan=$1
    shift
    "$FIRN" train "$folder/$plan.plan" --pub "$PUB" --data "$folder/x" --steps 2 "$@"
}

# --- class folders --------------------------------------------------------------------------------------------------

classes
expect "class folders" 0 "" data --classes-output "$folder/classes.txt" --convert "$folder/x.npy" --convert-labels "$folder/y.npy"
says '^  form               images, decoded to bytes$' out
says '^  shape              (10, 10, 12, 3): 10 records of 360 numbers$' out
says '^  class folders      3: 0 cat (4), 1 dog9 (4), 2 dog10 (2)$' out
says '^  counts             0: 4, 1: 4, 2: 2$' out
[ "$(cat "$folder/classes.txt")" = "$(printf 'cat\ndog9\ndog10')" ] || fail "the names of classes"
python3 - "$folder" <<'end' || fail "the pixels, or the order of the classes"
import sys
import numpy as np
x, y = np.load(sys.argv[1] + '/x.npy').astype(int), np.load(sys.argv[1] + '/y.npy')
v, u = np.mgrid[0:10, 0:12]
grey = (u * 17 + v * 11) % 256
colour = np.stack([u * 21 % 256, v * 25 % 256, (u + v) * 11 % 256], -1)
palette = ((u // 2 + v) % 16)[..., None] * np.array([16, 8, 4])
bits = np.where((u + v) % 3 == 0, 255, 0)
# colour, grey, interlaced, palette.png; grey, half, progressive, whole.jpg; bits, opaque.png: the classes take turns
assert list(y) == [0, 1, 2, 0, 1, 0, 1, 2, 0, 1]
three = lambda a: np.repeat(a[..., None], 3, 2)
for i, wanted in ((0, colour), (2, three(bits)), (3, three(grey)), (5, colour), (7, colour), (8, palette)):
    assert (x[i] == wanted).all(), i
assert (abs(x[1] - three(grey)) < 40).all() and (x[1][..., 0] == x[1][..., 2]).all()
end
expect "the hash" 0 "" data --plan "$folder/all.plan" --pub "$PUB"
# Another decoder, or other settings of one, would have another hash.
says '^  data hash          e51daaba7fa6f1bd04d7960efdcfb55ea2a72956fd0d0790dfdedb06e7484b2a$' out
expect "a run" 0 "" train all --checkpoint "$folder/run.ckpt"
says "x: 10 images in 3 class folders: cat 4, dog9 4, dog10 2" err
says "colour.png and .*/interlaced.png have the same contents, and so have others$" err
cp "$folder/out" "$folder/digest"
expect "the run of arrays" 0 "" "$FIRN" train "$folder/all.plan" --pub "$PUB" --data "$folder/x.npy" --labels "$folder/y.npy" --steps 2
cmp -s "$folder/out" "$folder/digest" || fail "images and arrays are two runs"
expect "a run that holds out" 0 "" train train --checkpoint "$folder/part.ckpt"
says "same contents, and so have others: what is held out of one may be trained on in the other" err
expect "an evaluation" 0 "" "$FIRN" eval "$folder/eval.plan" --pub "$PUB" --data "$folder/x" --checkpoint "$folder/part.ckpt"
says "10 samples, 2 of them held out, which are read" err
cp "$images/bits.png" "$folder/x/cat/colour.png"
expect "another image" 3 "CHECKPOINT_OTHER_DATA" train all --checkpoint "$folder/run.ckpt" --resume
classes
mv "$folder/x/cat" "$folder/x/eel"
expect "another order" 3 "CHECKPOINT_OTHER_DATA" train all --checkpoint "$folder/run.ckpt" --resume
classes
expect "the same images" 0 "" train all --checkpoint "$folder/run.ckpt" --resume

expect "labels twice" 1 "labels are given twice, because the class folders" train all --labels "$folder/y.npy"
expect "too many classes" 1 "x: has 3 class folders, and the plan has 2 classes (DATA_RANGE)" train two
rm -r "$folder/x/dog9"
expect "a class without a folder" 0 "" train all
says "x: 1 of the 3 classes of the plan have no folder" err
rm -r "$folder/x/dog10"
expect "one class" 0 "" train all
says "x: all images are of one class" err
expect "one class, described" 0 "" data
says "warning            all images are of one class" out
cp -r "$folder/x" "$folder/other"
mv "$folder/other/cat" "$folder/other/cow"
expect "other classes" 1 "other: has other class folders than .*/x" "$FIRN" data "$folder/x" "$folder/other"

# --- an evaluation beside a training --------------------------------------------------------------------------------

classes
compile beside eval 0 '{name: mlp, input_size: 360, hidden_sizes: [], output_size: 3}'
rm -rf "$folder/other"
cp -r "$folder/x" "$folder/other"
expect "the same classes" 0 "" train all --eval "$folder/beside.plan" --eval-data "$folder/other"
mv "$folder/other/cat" "$folder/other/zebra"
expect "other classes to evaluate" 1 "other: has other class folders than .*/x, and the labels are their indices" \
    train all --eval "$folder/beside.plan" --eval-data "$folder/other"
rm -r "$folder/other/zebra"
expect "fewer classes to evaluate" 1 "other: has other class folders than .*/x, and the labels are their indices" \
    train all --eval "$folder/beside.plan" --eval-data "$folder/other"

# --- what is in the folders -----------------------------------------------------------------------------------------

classes
mkdir "$folder/x/.git" "$folder/x/empty"
touch "$folder/x/cat/.DS_Store"
ln -s grey.png "$folder/x/cat/link.png"
echo text >"$folder/x/README"
expect "an empty class folder" 1 "x/empty: is a class folder without an image; put images into it, or remove it" data
rmdir "$folder/x/empty"
expect "what is left out" 0 "" data
for left in '.git (hidden)' 'cat/.DS_Store (hidden)' 'cat/link.png (a symbolic link)' 'README (beside class folders)'; do
    says "^left out: .*/x/$left$" out
done
says "10 records" out
# Documents and archives beside class folders hide no images; tables and arrays are data themselves.
printf '%%PDF-1.4 a licence' >"$folder/x/licence.pdf"
printf 'PK\003\004 the download' >"$folder/x/images.zip"
gzip -c "$folder/x/README" >"$folder/x/README.gz"
printf '\211HDF\r\n\032\n' >"$folder/x/model.h5"
expect "documents beside class folders" 0 "" data
for left in licence.pdf images.zip README.gz model.h5; do
    says "^left out: .*/x/$left (beside class folders)$" out
done
says "10 records" out
rm "$folder/x/licence.pdf" "$folder/x/images.zip" "$folder/x/README.gz" "$folder/x/model.h5"
mv "$folder/x/README" "$folder/README"
for array in x.npy x.npy.gz x.idx x.idx.gz x.npz x.csv x.csv.gz; do
    python3 - "$folder/x/${array%.gz}" <<'end'
import sys
import numpy as np
name, x = sys.argv[1], np.zeros((4, 3), np.uint8)
if name.endswith(".npy"):
    np.save(name, x)
elif name.endswith(".npz"):
    np.savez(name, x=x)
elif name.endswith(".idx"):
    open(name, "wb").write(bytes([0, 0, 8, 2, 0, 0, 0, 4, 0, 0, 0, 3]) + x.tobytes())
else:
    open(name, "w").write("a,b,c\n" + 4 * "0,0,0\n")
end
    [ "$array" = "${array%.gz}" ] || gzip "$folder/x/${array%.gz}"
    expect "$array beside class folders" 0 "" data
    says "shape              (4, 3): 4 records of 3 numbers" out
    says "^left out: .*/x/cat (a folder)$" out
    rm "$folder/x/$array"
done
mv "$folder/README" "$folder/x/README"
mkdir -p "$folder/x/cat/kittens"
cp "$images/grey.png" "$folder/x/cat/kittens"
expect "a folder inside" 1 "x/cat: has a folder in it, kittens, and a class folder holds images alone" data
rm -r "$folder/x/cat/kittens"
echo text >"$folder/x/cat/notes.txt"
expect "no image beside images" 1 "x/cat/notes.txt: is no PNG or JPEG image" data
rm "$folder/x/cat/notes.txt"
cp "$images/grey.png" "$folder/x"
expect "images beside folders" 1 "x/: has images, such as grey.png, beside folders of images, such as cat" data
classes
mkdir "$folder/split"
mv "$folder/x" "$folder/split/train"
mv "$folder/split" "$folder/x"
expect "a folder of splits" 1 "x/train: has no image, but folders, such as cat; give the folder" data
fresh grey.png
mv "$folder/x/grey.png" "$folder/x/$(printf 'a\nb.png')"
expect "a hostile name" 0 "" data
classes
mv "$folder/x/cat" "$folder/x/$(printf 'a\nb')"
expect "a hostile class" 1 'a\\x0ab: is a class folder whose name has a control character' data
fresh
mkdir "$folder/x/pictures"
cp "$images/grey.png" "$folder/x/pictures"
cp "$folder/y.npy" "$folder/x"
expect "an array beside a folder" 0 "" data
says "^  form               .npy of int32$" out

classes
mkdir "$folder/x/.one" "$folder/x/.two"
touch "$folder/x/b" "$folder/x/a" "$folder/x/cat/.b" "$folder/x/cat/.a" "$folder/x/cat/.c" "$folder/x/c"
expect "the order of what is left out" 0 "" data
grep '^left out' "$folder/out" >"$folder/got"
[ "$(wc -l <"$folder/got")" -eq 8 ] && LC_ALL=C sort -c "$folder/got" || fail "what is left out is not sorted"

# A folder that cannot be read to its end is refused, whichever entry is the last: else a run would read fewer files.
cat >"$folder/entries.c" <<'end'
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

static void *call(const char *name, DIR *folder) {
    static int calls;
    union {
        void *symbol;
        void *(*call)(DIR *);
    } next = {dlsym(RTLD_NEXT, name)};
    if (++calls != atoi(getenv("FAULT_ENTRY")))
        return next.call(folder);
    open(getenv("FAULT_FIRED"), O_CREAT | O_WRONLY, 0666);
    errno = EIO;
    return NULL;
}

struct dirent *readdir(DIR *folder) {
    return call("readdir", folder);
}

struct dirent64 *readdir64(DIR *folder) {
    return call("readdir64", folder);
}
end
${CC:-cc} -O1 -shared -fPIC "$folder/entries.c" -o "$folder/entries.so" -ldl
classes
mkdir "$folder/arrays"
for file in 1 2 3; do cp "$folder/x.npy" "$folder/arrays/$file.npy"; done
for of in x arrays; do
    expect "a folder" 0 "" "$FIRN" data "$folder/$of"
    cp "$folder/out" "$folder/whole"
    entry=0
    refused=0
    until [ $entry -gt 0 ] && [ ! -e "$folder/fired" ]; do
        entry=$((entry + 1))
        rm -f "$folder/fired"
        status=0
        LD_PRELOAD="$folder/entries.so ${LD_PRELOAD:-}" FAULT_ENTRY=$entry FAULT_FIRED=$folder/fired "$FIRN" data "$folder/$of" >"$folder/out" \
            2>"$folder/err" || status=$?
        case $status in
        0) cmp -s "$folder/out" "$folder/whole" || fail "$of, entry $entry: fewer files" ;;
        1) [ "$(wc -l <"$folder/err")" -eq 1 ] || fail "$of, entry $entry: not one line" ;;
        *) fail "$of, entry $entry: exit $status" ;;
        esac
        ! grep -q "$of[^ ]*: cannot be read: Input/output error" "$folder/err" || refused=$((refused + 1))
    done
    [ $refused -ge 6 ] || fail "$of: refused only $refused times"
done

# --- a folder of images, and images by name -------------------------------------------------------------------------

fresh grey.png grey.jpg
cp "$images/half.jpg" "$folder/x/p9.png"
cp "$images/opaque.png" "$folder/x/p10.jpg"
expect "predictions of a flat folder" 0 "" "$FIRN" predict "$folder/predict.plan" --pub "$PUB" --data "$folder/x" \
    --checkpoint "$folder/run.ckpt" -o "$folder/p.csv" --format csv --classes "$folder/classes.txt"
[ "$(wc -l <"$folder/p.csv")" -eq 5 ] && [ "$(grep -c 'cat\|dog9\|dog10' "$folder/p.csv")" -ge 4 ] || fail "the predictions"
[ "$(cut -d, -f1,2 "$folder/p.csv" | sed "s|$folder/||" | tr '\n' ' ')" = "row,file 0,x/grey.jpg 1,x/grey.png 2,x/p9.png 3,x/p10.jpg " ] ||
    fail "the files of the predictions: $(cut -d, -f1,2 "$folder/p.csv")"
mv "$folder/x/grey.jpg" "$folder/x/$(printf 'a "b",\303\251.jpg')"
mv "$folder/x/p9.png" "$folder/x/$(printf 'p9\351.png')"
expect "predictions as JSON" 0 "" "$FIRN" predict "$folder/predict.plan" --pub "$PUB" --data "$folder/x" \
    --checkpoint "$folder/run.ckpt" -o "$folder/p.jsonl"
python3 - "$folder" <<'end' || fail "the files of JSON: $(cut -c 1-80 "$folder/p.jsonl")"
import json
import sys
names = [json.loads(line)['file'] for line in open(sys.argv[1] + '/p.jsonl', encoding='utf-8')]
assert names == [sys.argv[1] + '/x/' + name for name in ('a "b",\u00e9.jpg', 'grey.png', 'p9\u00e9.png', 'p10.jpg')], names
end
mv "$folder/x/$(printf 'a "b",\303\251.jpg')" "$folder/x/grey.jpg"
mv "$folder/x/$(printf 'p9\351.png')" "$folder/x/p9.png"
expect "a flat folder is described" 0 "" data --convert "$folder/flat.npy"
expect "images by name" 0 "" "$FIRN" data "$folder/x/grey.jpg" "$folder/x/grey.png" --convert "$folder/grey.npy"
says '^  shape              (1, 10, 12): 1 record of 120 numbers$' out
python3 - "$folder" <<'end' || fail "a flat folder is in natural order, and files are what they contain"
import sys
import numpy as np
flat, x, grey = (np.load(sys.argv[1] + name) for name in ('/flat.npy', '/x.npy', '/grey.npy'))
assert (flat == x[[1, 3, 4, 7]]).all() and (grey == x[[1, 3], :, :, 0]).all()
end
expect "no labels" 1 "x: the plan also reads 1 uint8 of each record" train all
expect "no labels to write" 2 "needs --labels or --target-column with --convert-labels" data --convert-labels "$folder/z.npy"
expect "no names to write" 2 "x: is no folder of class folders" data --classes-output "$folder/z"
expect "names over the data" 2 "into the folder of the data" data --classes-output "$folder/x/z"
classes
ln -s x/cat/grey.png "$folder/link"
find "$folder/x" -type f -exec sha256sum {} + | sort >"$folder/sums"
for over in x/cat/grey.png x/cat/new link; do
    expect "names over an image: $over" 2 "into the folder of the data" data --classes-output "$folder/$over"
    expect "an array over an image: $over" 2 "into the folder of the data" data --convert "$folder/$over"
    expect "a checkpoint over an image: $over" 2 "into the folder of the data" train all --checkpoint "$folder/$over"
    expect "statistics over an image: $over" 2 "into the folder of the data" "$FIRN" data-statistics "$folder/x" -o "$folder/$over"
    expect "a prediction over an image: $over" 2 "into the folder of the data" "$FIRN" predict "$folder/predict.plan" \
        --pub "$PUB" --data "$folder/x/" --checkpoint "$folder/run.ckpt" -o "$folder/$over" --format csv
done
find "$folder/x" -type f -exec sha256sum {} + | sort | cmp -s - "$folder/sums" || fail "an image was replaced"
rm "$folder/link"
expect "no folder for names" 1 "cannot be written" data --classes-output "$folder/none/z"

# --- images that are refused ----------------------------------------------------------------------------------------

# refuses FILE PATTERN: a folder with this image beside one that is good, or as it is if FILE is "made"
refuses() {
    [ "$1" = made ] || fresh colour.png "$1"
    expect "$1" 1 "$2" data
}
refuses deep.png "deep.png: has 16 bits in each channel"
refuses alpha.png "alpha.png: has transparent pixels"
refuses inks.jpg "inks.jpg: is a JPEG image of four inks (CMYK)"
refuses turned.jpg "turned.jpg: is stored turned or mirrored (Exif orientation 6)"
for file in colour.png interlaced.png half.jpg progressive.jpg; do
    bytes=$(wc -c <"$images/$file")
    for cut in 0 5 30 60 $((bytes / 2)) $((bytes - 2)); do
        fresh grey.png
        head -c "$cut" "$images/$file" >"$folder/x/cut"
        refuses made "x/cut: is \(a .* image that \(is cut\|was cut\)\|no PNG or JPEG image\)"
    done
done
fresh grey.png
printf 'BM123456' >"$folder/x/other.png"
refuses made "other.png: is no PNG or JPEG image, and the other files are"
python3 - "$folder" <<'end'
import struct, sys, zlib
chunk = lambda k, d: struct.pack('>I', len(d)) + k + d + struct.pack('>I', zlib.crc32(k + d))
def png(name, w, h, rows): open(sys.argv[1] + name, 'wb').write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', w, h, 8, 2, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
# A progressive JPEG of 12 x 10 grey pixels: a scan of the averages of its four blocks, then scans of one coefficient each
# that say of every block that it is 0, bit by bit from the third to the lowest.
part = lambda code, d: struct.pack('>BBH', 255, code, len(d) + 2) + d
table = lambda kind: part(0xc4, bytes([kind, 1]) + bytes(15) + b'\0')  # of one code, 0, for the symbol 0
def scans(name, count):
    list = [(0, 0, 0)] + [(i, i, high << 4 | low) for high, low in ((0, 3), (3, 2), (2, 1), (1, 0)) for i in range(1, 64)]
    open(sys.argv[1] + name, 'wb').write(
        b'\xff\xd8' + part(0xdb, b'\0' + b'\1' * 64) + part(0xc2, struct.pack('>BHHBBBB', 8, 10, 12, 1, 1, 17, 0)) + table(0) + table(16)
        + b''.join(part(0xda, bytes([1, 1, 0, *which])) + b'\x0f' for which in list[:count]) + b'\xff\xd9')
scans('/scans.jpg', 201)
scans('/most.jpg', 200)
png('/large.png', 24, 20, bytes(20 * 73))
png('/huge.png', 16384, 16384, bytes(100))
png('/vast.png', 2**19, 2**19, bytes(100))
grey = bytearray(open('tests/fuzz/corpus/images/grey.jpg', 'rb').read())
at = grey.index(b'\xff\xc0') + 5 # of the rows and columns in the frame
grey[at:at + 4] = struct.pack('>HH', 40000, 50000)
open(sys.argv[1] + '/broad.jpg', 'wb').write(grey)
end
fresh grey.png
cp "$folder/large.png" "$folder/x"
refuses made "large.png: is 24 pixels wide and 20 high, and others are 12 wide and 10 high; give --resize 12x10"
fresh grey.png
cp "$folder/most.jpg" "$folder/x"
expect "200 scans" 0 "" data
cp "$folder/scans.jpg" "$folder/x"
refuses made "scans.jpg: is a JPEG image that is .* (more than 200 scans); save or copy it again$"
for size in "huge:a PNG image that was cut: 16384 x 16384 pixels cannot be in" "vast:an image of 524288 x 524288 pixels"; do
    fresh grey.png
    cp "$folder/${size%%:*}.png" "$folder/x"
    refuses made "x/${size%%:*}.png: is ${size#*:}"
done
fresh grey.png
cp "$folder/broad.jpg" "$folder/x"
refuses made "x/broad.jpg: is an image of 50000 x 40000 pixels, and those of 1 to 268435456 pixels are read; save it smaller"

# --- other sizes ----------------------------------------------------------------------------------------------------

classes
expect "another size than the plan's" 1 "is 12 pixels wide and 10 high, and the plan reads images 14 wide and 16 high; give --resize 14x16" \
    train lenet
expect "another size than the plan's, given" 1 "x: --resize says 14x10, and the plan reads images of 14x16" train lenet --resize 14x10
expect "the size of the plan" 0 "" train lenet --resize 14x16 --checkpoint "$folder/lenet.ckpt"
compile lenet_predict eval 0 '{name: lenet, image_height: 16, image_width: 14, image_channels: 3, filters: [2, 2], hidden_sizes: [4, 4], output_size: 3, nonlinearity: relu, pooling: max}' \
    --set trainer.validate.metric=none --set 'trainer.validate.outputs=[logits]'
for format in csv jsonl; do
    expect "classes of an image network, $format" 0 "" "$FIRN" predict "$folder/lenet_predict.plan" --pub "$PUB" --data "$folder/x" \
        --resize 14x16 --checkpoint "$folder/lenet.ckpt" --classes "$folder/classes.txt" --format $format -o "$folder/p.$format"
done
[ "$(head -n 1 "$folder/p.csv")" = row,file,predicted,class,cat,dog9,dog10 ] || fail "the columns of an image network: $(head -n 1 "$folder/p.csv")"
grep -q '^{"row":0,"file":".*","predicted":[012],"class":"[a-z0-9]*","logits":\[[^][]*\]}$' "$folder/p.jsonl" ||
    fail "the JSON of an image network: $(head -n 1 "$folder/p.jsonl")"
expect "colours for a grey plan" 1 "has colours, and the plan reads images of one channel" train lenet_grey --resize 14x16
expect "a size of flat records" 1 "plan reads 360 numbers of each record, which are none of 1 or 3 channels" train all --resize 7x7
expect "half the size" 0 "" data --resize 6x5 --convert "$folder/half.npy"
expect "an odd size" 0 "" data --resize 5x16 --convert "$folder/odd.npy"
python3 - "$folder" <<'end' || fail "the average over the area of a pixel"
import sys
import numpy as np
x, half, odd = (np.load(sys.argv[1] + name) for name in ('/x.npy', '/half.npy', '/odd.npy'))
def average(a, height, width):  # in units that divide both sizes
    a = np.repeat(np.repeat(a.astype('int64'), height, 1), width, 2)
    sums = a.reshape(len(a), height, x.shape[1], width, x.shape[2], 3).sum((2, 4))
    area = x.shape[1] * x.shape[2]
    return (2 * sums + area) // (2 * area)
assert (half == average(x, 5, 6)).all() and (odd == average(x, 16, 5)).all()
end
for wrong in 5 x5 5x 0x5 5x0 5x99999 5X5 5x5x5; do
    expect "--resize $wrong" 2 "is no size" data --resize $wrong
done
expect "resize of an array" 1 "x.npy: is no image and no folder of images, which --resize is for; leave that out$" "$FIRN" data "$folder/x.npy" --resize 5x5
expect "resize beside an array of the evaluation" 1 "x.npy: is no image and .* --resize is for; --resize holds for --data and --eval-data: give both as images$" \
    train all --resize 12x10 --eval "$folder/eval.plan" --eval-data "$folder/x.npy" --eval-labels "$folder/y.npy"

[ $failures -eq 0 ]
