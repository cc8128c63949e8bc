#!/bin/sh
# Tokens as trainers of language models keep them give the run that an array of them gives, or are refused in one line.
# Bytes that are no text are refused or noted.
#
# Needs: python
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/test" >"$folder/out"
PUB=$folder/test.pub.pem

# --- raw tokens -----------------------------------------------------------------------------------------------------

# text NAME MODE VOCABULARY TYPE
text() {
    "$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode "$2" --key "$folder/test.key.pem" -o "$folder/$1.plan" \
        --set trainer.init.model.vocab_size="$3" --set trainer.fit.train_dataloader.token_type="$4" \
        --set trainer.validate.val_dataloader.token_type="$4" >"$folder/out"
}
text tokens train 300 int32
text many train 70000 int32
text letters train 256 uint8
python3 - "$folder" <<'end'
import sys
import numpy as np
folder = sys.argv[1] + '/'
tokens = np.random.default_rng(2).integers(0, 300, 1000)
def header(magic, version, count):
    head = np.zeros(256, 'int32')
    head[:3] = magic, version, count
    return head.tobytes()
np.save(folder + 'tokens.npy', tokens.astype('int32'))
np.save(folder + 'tokens16.npy', tokens.astype('uint16'))
tokens.astype('uint16').tofile(folder + 'short.bin')
tokens.astype('int32').tofile(folder + 'long.bin')
def write(name, contents):
    open(folder + name, 'wb').write(contents)
short, long = tokens.astype('uint16').tobytes(), tokens.astype('uint32').tobytes()
write('llm.bin', header(20240520, 1, 1000) + short)
write('llm', header(20240520, 1, 1000) + short)
write('llm3.bin', header(20240801, 7, 1000) + long)
write('llm_version.bin', header(20240520, 2, 1000) + short)
write('llm_count.bin', header(20240520, 1, 999) + short)
write('llm_cut.bin', header(20240520, 1, 1000)[:900])
write('llm_high.bin', header(20240520, 1, 1000) + short[:40] + b'\x2c\1' + short[42:])
write('odd.bin', short[:-1])
write('high.bin', short[:40] + b'\x2c\1' + short[42:])
write('text.bin', b'The quick brown fox jumps over the lazy dog.\r\n' * 20)
write('none.bin', b'')
write('short.txt', short)
write('many.bin', np.random.default_rng(3).integers(0, 70000, 1000).astype('uint32').tobytes())
end
gzip -k "$folder/short.bin" "$folder/long.bin" "$folder/odd.bin"

# read_by PLAN FILE
read_by() {
    "$FIRN" train "$folder/$1.plan" --pub "$PUB" --steps 1 --data "$folder/$2"
}
expect "tokens in .npy" 0 "" read_by tokens tokens.npy
cp "$folder/out" "$folder/tokens.digest"
for file in tokens16.npy short.bin long.bin llm.bin llm llm3.bin short.bin.gz long.bin.gz; do
    expect "tokens in $file" 0 "" read_by tokens $file
    same "tokens in $file are another run" "$folder/out" "$folder/tokens.digest"
    case $file in
    short* | llm.bin | llm) grep -q "/$file: 1000 tokens of uint16\$" "$folder/err" || fail "the width of $file is said" ;;
    long* | llm3.bin) grep -q "/$file: 1000 tokens of uint32\$" "$folder/err" || fail "the width of $file is said" ;;
    esac
done
expect "many tokens" 0 "" read_by many many.bin
grep -q "many.bin: 1000 tokens of uint32" "$folder/err" || fail "tokens above 65535 have four bytes"
expect "few of many tokens" 0 "" read_by many short.bin
grep -q "short.bin: 1000 tokens of uint16" "$folder/err" || fail "tokens below 65536 have two bytes in any plan"
# refused FILE PATTERN
refused() {
    expect "tokens in $1" 1 "^firn: [^ ]*/$1: $2" read_by tokens "$1"
}
refused odd.bin "has 1999 bytes, an odd number, and so is no file of tokens"
refused odd.bin.gz "has 1999 bytes, an odd number"
refused high.bin "is no file of tokens of this plan, which are below 300: token 20 of uint16, counted from 0, is 300; give"
refused text.bin "is text, and the plan reads tokens of int32: give the tokens that a tokenizer made"
refused none.bin "is empty, and so has no tokens"
refused short.txt "it has uint8, and the plan reads int32 (DATA_TYPE); give an .npy array or a .bin file of such tokens, as firnc tokens makes of a text"
refused llm_version.bin "has tokens of llm.c in version 2, and firn reads version 1"
refused llm_count.bin "has 2000 bytes behind its header, which says 999 tokens of 2 bytes"
refused llm_cut.bin "has fewer bytes than a header of llm.c"
expect "a token too high behind a header" 1 "llm_high.bin: .*DATA_RANGE.*token 20, counted from 0, is 300" \
    "$FIRN" train "$folder/tokens.plan" --pub "$PUB" --quiet --data "$folder/llm_high.bin"

# --- what is no text ------------------------------------------------------------------------------------------------

expect "tokens as bytes" 0 "" read_by letters short.bin
grep -q "short.bin is named as tokens are, and its bytes are read as they are; .*token_type: int32" "$folder/err" ||
    fail "tokens that are read as bytes are noted"
expect "tokens of llm.c as bytes" 0 "" read_by letters llm
grep -q "llm begins like tokens of llm.c, and its bytes are read as they are; give it to a plan with token_type: int32" "$folder/err" ||
    fail "tokens of llm.c that are read as bytes are noted"
head -c 3000 /usr/share/common-licenses/GPL-3 >"$folder/text"
# Latin 1, and UTF-8 that was cut
{ printf '\351t\351 \303'; cat "$folder/text"; } >"$folder/latin"
expect "text that is not UTF-8" 0 "" read_by letters latin
! grep -q latin "$folder/err" || fail "text that is not UTF-8 is text"
for begin in '\375\067zXZ\000:xz' '\050\265\057\375:zstd' '\004\042\115\030:lz4' '\037\235\220:compress' '7z\274\257\047\034:7z' \
    'Rar!\032\007:rar' 'BZh91AY&SY:bzip2'; do
    { printf "${begin%%:*}"; cat "$folder/text"; } >"$folder/packed"
    expect "bytes of ${begin##*:}" 1 "packed: is ${begin##*:}.*, and its bytes are no text: unpack it first" read_by letters packed
done
python3 - "$folder" <<'end'
import sys
import zipfile
import numpy as np
folder = sys.argv[1] + '/'
text = np.frombuffer(open(folder + 'text', 'rb').read(), 'uint8')
np.savez_compressed(folder + 'text.npz', text)
with zipfile.ZipFile(folder + 'texts.zip', 'w') as archive:
    archive.writestr('a.txt', text.tobytes())
np.save(folder + 'text16.npy', text.astype('>u2'))
end
expect "bytes of zip" 1 "texts.zip: is zip .*without an array (.npy) in it: unpack it first" read_by letters texts.zip
expect "text" 0 "" read_by letters text
cp "$folder/out" "$folder/text.digest"
for file in text.npz text16.npy; do
    expect "text in $file" 0 "" read_by letters $file
    same "text in $file is another run" "$folder/out" "$folder/text.digest"
done

# --- the order of the files in a folder -----------------------------------------------------------------------------

mkdir "$folder/pages"
for page in 1 2 9 10 11 100; do
    tail -c "+$((page * 50))" /usr/share/common-licenses/GPL-3 | head -c 300 >"$folder/pages/p$page"
done
# pages OPTION...: the folder, or files by name, for so many steps
pages() {
    "$FIRN" train "$folder/letters.plan" --pub "$PUB" --quiet --steps 2 "$@"
}
natural=
for page in 1 2 9 10 11 100; do natural="$natural --data $folder/pages/p$page"; done
bytes=
for page in 1 10 100 11 2 9; do bytes="$bytes --data $folder/pages/p$page"; done
# $natural and $bytes are split into words intentionally.
expect "files in natural order" 0 "" pages $natural --checkpoint "$folder/natural.ckpt"
cp "$folder/out" "$folder/natural.digest"
expect "a folder" 0 "" pages --data "$folder/pages" --checkpoint "$folder/folder.ckpt" --log "$folder/folder.jsonl"
same "a folder is not read in natural order" "$folder/out" "$folder/natural.digest"
expect "a folder is noted" 0 "" "$FIRN" train "$folder/letters.plan" --pub "$PUB" --steps 1 --data "$folder/pages"
grep -q '/p9 comes before [^ ]*/p10, by the numbers of their names$' "$folder/err" || fail "the natural order is noted"
# A checkpoint of a version that read folders by bytes has the hash of the files in that order.
expect "files by bytes" 0 "" pages $bytes --checkpoint "$folder/bytes.ckpt" --log "$folder/bytes.jsonl"
cp "$folder/bytes.ckpt" "$folder/again.ckpt"
cp "$folder/bytes.jsonl" "$folder/again.jsonl"
expect "files by bytes, resumed" 0 "" pages $bytes --checkpoint "$folder/bytes.ckpt" --log "$folder/bytes.jsonl" --resume
cp "$folder/out" "$folder/bytes.digest"
expect "a folder for files by bytes" 0 "" "$FIRN" train "$folder/letters.plan" --pub "$PUB" --steps 2 --data "$folder/pages" \
    --checkpoint "$folder/again.ckpt" --log "$folder/again.jsonl" --resume
same "a folder does not go on in the order of its checkpoint" "$folder/out" "$folder/bytes.digest"
grep -q 'the files of folders by the bytes of their names, and so they are read now' "$folder/err" || fail "that order is said"
grep -q '/p10 comes before [^ ]*/p2, by the bytes of their names$\|/p100 comes before\|/p11 comes before' "$folder/err" ||
    fail "the order of bytes is noted"
expect "a folder in natural order, resumed" 0 "" pages --data "$folder/pages" --checkpoint "$folder/folder.ckpt" \
    --log "$folder/folder.jsonl" --resume
# Its evaluations read the folder in the same order, so that the log goes on with the data that it names.
text judge eval 256 uint8
expect "files by bytes, evaluated" 0 "" pages $bytes --checkpoint "$folder/judged.ckpt" --log "$folder/judged.jsonl" \
    --eval "$folder/judge.plan" --eval-every 2
expect "a folder for files by bytes, evaluated" 0 "" pages --data "$folder/pages" --checkpoint "$folder/judged.ckpt" \
    --log "$folder/judged.jsonl" --eval "$folder/judge.plan" --eval-every 2 --resume
[ "$(grep -c '^{"step":[0-9]*,"eval_' "$folder/judged.jsonl")" -eq 2 ] || fail "a folder for files by bytes lacks evaluations"
echo more >"$folder/pages/p12"
expect "a folder with one more file" 3 CHECKPOINT_OTHER_DATA pages --data "$folder/pages" --checkpoint "$folder/again.ckpt" --resume
expect "and allowed" 0 "" "$FIRN" train "$folder/letters.plan" --pub "$PUB" --steps 1 --data "$folder/pages" \
    --checkpoint "$folder/folder.ckpt" --resume --allow-other-data
grep -q 'data: 7 files in this order: [^ ]*/p1, [^ ]*/p2, [^ ]*/p9, [^ ]*/p10, [^ ]*/p11, [^ ]*/p12, [^ ]*/p100$' "$folder/err" ||
    fail "other data are read in natural order"

[ $failures -eq 0 ]
