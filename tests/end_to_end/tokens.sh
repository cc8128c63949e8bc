#!/bin/sh
# firnc tokens: the ids of five tokenizers, and of a vocab.json with merges.txt, are those of the reference implementation;
# a text that is encoded in many parts has the ids of the whole; decoding gives byte-level texts back byte for byte; a plan
# trains on the array; what firnc does not read is refused by name, and no refusal leaves a file behind.
#
# Needs: python
set -eu

. tests/end_to_end/expectations
golden=tests/golden/tokens
text=$golden/text.txt
pair="--vocabulary $golden/vocab.json --merges $golden/merges.txt"

# tokenizer NAME: the options that name it
tokenizer() {
    [ "$1" = pair ] && echo "$pair" || echo "--tokenizer $golden/$1.json"
}

# values FILE: the ids of an array, in one line
values() {
    tail -c +129 "$1" | od -An -v -t d4 -w4 | awk '{ printf "%s%s", NR == 1 ? "" : " ", $1 }'
}

# --- the ids of the reference -----------------------------------------------------------------------------------------

awk -v text="$(cat $text; echo .)" 'BEGIN {
    text = substr(text, 1, length(text) - 1)
    for (number = 0; number < 400; number++)
        printf "%d\n%s", number, text
}' >"$folder/long.txt"
grep -v '^#' $golden/ids.txt >"$folder/rows"
while read -r name what count ids; do
    options=$(tokenizer "$name")
    input=$text
    case $what in
    long) input=$folder/long.txt ;;
    special) options="$options --special" ;;
    plain) options="$options --no-special-in-text" ;;
    esac
    expect "$name $what" 0 "" "$FIRNC" tokens "$input" $options -o "$folder/ids.npy"
    grep -q "ids.npy: $count tokens, int32" "$folder/out" || fail "$name $what: not $count tokens"
    case $ids in
    *" "*) [ "$(values "$folder/ids.npy")" = "$ids" ] || fail "$name $what: other ids" ;;
    *) [ "$(tail -c +129 "$folder/ids.npy" | sha256sum)" = "$ids  -" ] || fail "$name $what: other ids" ;;
    esac
done <"$folder/rows"
[ "$(wc -l <"$folder/rows")" -eq 19 ] || fail "ids.txt has other rows"

# The files that were made once from a larger text, where they are.
shared=../shared/data/tokens
if [ -e $shared/ids.json ]; then
    for kind in gpt2_like llama3_like qwen2_like metaspace_like; do
        for file in tinyshakespeare.txt mixed.txt; do
            input=$shared/$file
            [ -e "$input" ] || input=../shared/data/$file
            expect "$kind $file" 0 "" "$FIRNC" tokens "$input" --tokenizer $shared/$kind.json -o "$folder/ids.npy"
            wanted=$(python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))[sys.argv[2]][sys.argv[3]]["sha256_of_int32_little_endian"])' $shared/ids.json $kind $file)
            [ "$(tail -c +129 "$folder/ids.npy" | sha256sum)" = "$wanted  -" ] || fail "$kind $file: other ids"
        done
    done
fi

# --- standard input that cannot be read -------------------------------------------------------------------------------

for way in "" --to-text; do
    expect "a folder at standard input $way" 1 "standard input: cannot be read: Is a directory; check where it comes from" \
        sh -c "exec '$FIRNC' tokens $way - $(tokenizer pair) -o '$folder/none' <'$folder'"
done

# --- there and back ---------------------------------------------------------------------------------------------------

head -c 100000 /dev/urandom >"$folder/random"
printf 'no end \303' >"$folder/cut.txt" # the text ends within a character
for name in llama3 pair; do
    for input in $text "$folder/long.txt" "$folder/random" "$folder/cut.txt"; do
        expect "$name $input" 0 "" "$FIRNC" tokens "$input" $(tokenizer $name) -o "$folder/ids.bin"
        expect "$name decodes $input" 0 "" "$FIRNC" tokens --to-text "$folder/ids.bin" $(tokenizer $name) -o "$folder/again"
        cmp -s "$folder/again" "$input" || fail "$name: $input does not come back"
        "$FIRNC" tokens --to-text "$folder/ids.bin" $(tokenizer $name) | cmp -s - "$input" || fail "$name: not on stdout"
    done
done
expect "bytes that are no UTF-8" 0 "" "$FIRNC" tokens "$folder/cut.txt" $pair -o "$folder/ids.bin"
grep -q "warning: is no UTF-8: 1 bytes, the first at byte 7" "$folder/err" || fail "no warning of bytes that are no UTF-8"
printf '\357\273\277text\n' >"$folder/mark.txt"
expect "a byte order mark" 0 "" "$FIRNC" tokens "$folder/mark.txt" $pair -o "$folder/ids.bin"
grep -q "warning: begins with a byte order mark" "$folder/err" || fail "no warning of a byte order mark"
printf 'The plan is frozen;  two more' >"$folder/line.txt"
for name in llama2 metaspace; do
    expect "$name" 0 "" "$FIRNC" tokens "$folder/line.txt" $(tokenizer $name) -o "$folder/ids.bin"
    "$FIRNC" tokens --to-text "$folder/ids.bin" $(tokenizer $name) | cmp -s - "$folder/line.txt" ||
        fail "$name: a line does not come back"
done

# --- forms, counts, several texts -------------------------------------------------------------------------------------

expect "raw" 0 "" "$FIRNC" tokens $text $pair -o "$folder/ids.bin"
grep -q "ids.bin: 351 tokens, uint16, of a vocabulary of 320" "$folder/out" || fail "not so many raw ids"
[ "$(wc -c <"$folder/ids.bin")" -eq 702 ] || fail "raw ids have another length"
expect "array" 0 "" "$FIRNC" tokens $text $pair -o "$folder/ids.npy"
[ "$(od -An -v -t u2 -w2 "$folder/ids.bin" | awk '{ printf "%s%s", NR == 1 ? "" : " ", $1 }')" = "$(values "$folder/ids.npy")" ] ||
    fail "raw ids and those of the array differ"
"$FIRNC" tokens --to-text "$folder/ids.npy" $pair | cmp -s - $text || fail "an array is not decoded"
expect "count" 0 "" "$FIRNC" tokens $text "$folder/line.txt" $pair --count
grep -q "text.txt: 351 tokens, 503 bytes" "$folder/out" && grep -q "tokens in all" "$folder/out" || fail "no count"
expect "two texts" 0 "" "$FIRNC" tokens $text $text $(tokenizer llama3) --special -o "$folder/two.bin"
grep -q "; with <|start|> before and <|end|> behind each text" "$folder/out" || fail "--special does not say what it adds"
expect "one text" 0 "" "$FIRNC" tokens $text $(tokenizer llama3) --special -o "$folder/one.bin"
cat "$folder/one.bin" "$folder/one.bin" | cmp -s - "$folder/two.bin" || fail "two texts are not encoded one by one"
# A vocabulary of more than 65,536 tokens: int32.
python3 - $golden/vocab.json "$folder/large.json" <<'end'
import json, sys
vocabulary = json.load(open(sys.argv[1]))
for number in range(len(vocabulary), 65537):
    vocabulary[f"unused {number}"] = number
json.dump(vocabulary, open(sys.argv[2], "w"))
end
expect "65537 tokens" 0 "" "$FIRNC" tokens $text --vocabulary "$folder/large.json" --merges $golden/merges.txt -o "$folder/large.bin"
grep -q "large.bin: 351 tokens, int32, of a vocabulary of 65537" "$folder/out" || fail "not int32 for 65537 tokens"
tail -c +129 "$folder/ids.npy" | cmp -s - "$folder/large.bin" || fail "raw int32 ids differ"

# --- Unicode ----------------------------------------------------------------------------------------------------------

version=$(sed -n 's/.*firnc_unicode_version\[\] = "\(.*\)".*/\1/p' compiler/tokens/unicode_table.c)
"$FIRNC" help tokens | grep -q "Unicode $version" || fail "--help names another version of Unicode than $version"
grep -q "Unicode $version" compiler/tokens/TOKENS.md || fail "TOKENS.md names another version of Unicode than $version"
if [ "$(python3 -c 'import unicodedata; print(unicodedata.unidata_version)')" = "$version" ]; then
    python3 compiler/tokens/unicode_table.py | cmp -s - compiler/tokens/unicode_table.c ||
        fail "unicode_table.py writes another table"
else
    echo "python3 has another version of Unicode than $version: the table is not compared"
fi

# --- a plan trains on the array ---------------------------------------------------------------------------------------

expect "keygen" 0 "" "$FIRNC" keygen "$folder/key"
expect "tokens to train on" 0 "" "$FIRNC" tokens "$folder/long.txt" $pair -o "$folder/train.npy"
expect "compile" 0 "" "$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode train --key "$folder/key.key.pem" \
    --set trainer.init.model.vocab_size=320 --set trainer.init.loop.num_steps=2 -o "$folder/train.plan"
expect "train" 0 "" "$FIRN" train "$folder/train.plan" --pub "$folder/key.pub.pem" --data "$folder/train.npy"
grep -q "windows of 17 tokens" "$folder/err" || fail "the training does not read the tokens"

# Older files have no type of the model, and an empty text where there is no unknown token.
python3 -c 'import json, sys
file = json.load(open(sys.argv[1]))
del file["model"]["type"]
file["model"]["unk_token"] = ""
json.dump(file, open(sys.argv[2], "w"))' $golden/bytes.json "$folder/older.json"
for tokenizer in $golden/bytes.json "$folder/older.json"; do
    expect "an older file" 0 "" "$FIRNC" tokens README.md --tokenizer "$tokenizer" -o "$folder/$(basename "$tokenizer").bin"
done
cmp -s "$folder/bytes.json.bin" "$folder/older.json.bin" || fail "an older file has other ids"

# --- what is refused --------------------------------------------------------------------------------------------------

# A line has the pattern of the message, the tokenizer, and a statement of Python that edits its document d.
cat >"$folder/edits" <<'end'
truncation: {"max_length":8} would cut the text	bytes	d["truncation"] = {"max_length": 8}
padding: .* would add tokens	bytes	d["padding"] = {}
model.dropout: 0.1	bytes	d["model"]["dropout"] = 0.1
model.type: "WordPiece"	bytes	d["model"]["type"] = "WordPiece"
model.type: "Unigram"	bytes	d["model"]["type"] = "Unigram"
model.end_of_word_suffix: "</w>"	bytes	d["model"]["end_of_word_suffix"] = "</w>"
model.continuing_subword_prefix: "##"	bytes	d["model"]["continuing_subword_prefix"] = "##"
model.unk_token: "<none>" is no token	bytes	d["model"]["unk_token"] = "<none>"
model.fuse_unk: 1 is neither	bytes	d["model"]["fuse_unk"] = 1
model: must be there	bytes	del d["model"]
future: true is not a key	bytes	d["future"] = True
model.future: 1 is not a key	bytes	d["model"]["future"] = 1
normalizer: {"type":"Lowercase"}	bytes	d["normalizer"] = {"type": "Lowercase"}
normalizer.normalizers\[1\]: {"type":"NFKC"}	bytes	d["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFKC"}]}
normalizer.pattern: {"Regex":" +"} is not read	bytes	d["normalizer"] = {"type": "Replace", "pattern": {"Regex": " +"}, "content": "_"}
normalizer.future: 1 is not a key	bytes	d["normalizer"] = {"type": "NFC", "future": 1}
normalizer.future: 1 is not a key	bytes	d["normalizer"] = {"type": "Prepend", "prepend": "_", "future": 1}
normalizer.future: 1 is not a key	bytes	d["normalizer"] = {"type": "Replace", "pattern": {"String": "a"}, "content": "b", "future": 1}
normalizer.pattern.future: 1 is not a key	bytes	d["normalizer"] = {"type": "Replace", "pattern": {"String": "a", "future": 1}, "content": "b"}
normalizer.future: 1 is not a key	bytes	d["normalizer"] = {"type": "Sequence", "normalizers": [], "future": 1}
pre_tokenizer.future: 1 is not a key	bytes	d["pre_tokenizer"]["future"] = 1
pre_tokenizer.future: 1 is not a key	metaspace	d["pre_tokenizer"]["future"] = 1
pretokenizers\[0\].future: 1 is not a key	llama3	d["pre_tokenizer"]["pretokenizers"][0]["future"] = 1
pretokenizers\[0\].pattern.future: 1 is not a key	llama3	d["pre_tokenizer"]["pretokenizers"][0]["pattern"]["future"] = 1
pre_tokenizer: {"type":"Whitespace"}	bytes	d["pre_tokenizer"] = {"type": "Whitespace"}
pretokenizers\[0\].pattern: .*is not read; firnc reads the patterns of GPT-2, Llama 3 and Qwen 2	llama3	d["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] += "|x"
pretokenizers\[0\].behavior: "Removed"	llama3	d["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Removed"
pretokenizers\[0\].invert: true	llama3	d["pre_tokenizer"]["pretokenizers"][0]["invert"] = True
pre_tokenizer.replacement: "ab"	metaspace	d["pre_tokenizer"]["replacement"] = "ab"
pre_tokenizer.prepend_scheme: "often"	metaspace	d["pre_tokenizer"]["prepend_scheme"] = "often"
no token has the id 6, though	bytes	d["model"]["vocab"].pop("&"); d["model"]["vocab"]["(&"] = 331
is an id beyond the	bytes	d["model"]["vocab"]["&"] = 70000
is no id	bytes	d["model"]["vocab"]["&"] = -1
is no id	bytes	d["model"]["vocab"]["&"] = 2.5
is also the id of	bytes	d["model"]["vocab"]["&"] = 8
merges 'zzz', which the vocabulary lacks	bytes	d["model"]["merges"][3] = "zzz a"
model.merges\[3\]: is no merge	bytes	d["model"]["merges"][3] = "a b c"
to a token that the vocabulary lacks	bytes	d["model"]["merges"][3] = "& &"
byte_fallback: true needs a token for each byte, and there is none for 0x41	llama2	d["model"]["vocab"]["<0x41 >"] = d["model"]["vocab"].pop("<0x41>"); d["added_tokens"] = []; d["post_processor"] = None; d["model"]["vocab"]["<|end|>"] = len(d["model"]["vocab"])
added_tokens\[0\].id: .* is not the id of the token	bytes	d["added_tokens"][0]["id"] = 5
is an added token twice	bytes	d["added_tokens"].append(d["added_tokens"][0])
has the character U+[0-9A-F]*, for which	metaspace	d["model"]["unk_token"] = None
is not one object of JSON	bytes	d["model"]["vocab"]["\0"] = 9
end
python3 - $golden "$folder/edits" "$folder" <<'end'
import json, sys
for number, line in enumerate(open(sys.argv[2], encoding="utf-8"), 1):
    _, name, statement = line.rstrip("\n").split("\t")
    d = json.load(open(f"{sys.argv[1]}/{name}.json", encoding="utf-8"))
    exec(statement)
    json.dump(d, open(f"{sys.argv[3]}/edited{number}.json", "w", encoding="utf-8"), ensure_ascii=False)
d = json.load(open(f"{sys.argv[1]}/bytes.json", encoding="utf-8"))
d["post_processor"] = {"type": "BertProcessing", "sep": ["a", 1], "cls": ["b", 2]}
json.dump(d, open(f"{sys.argv[3]}/processor.json", "w", encoding="utf-8"), ensure_ascii=False)
# Sequences of post-processors around the template of llama3.
d = json.load(open(f"{sys.argv[1]}/llama3.json", encoding="utf-8"))
def template(d):
    if d["type"] == "Sequence":
        return next(template(part) for part in d["processors"] if part["type"] != "ByteLevel")
    return d
read, level = template(d["post_processor"]), {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
other = {"type": "RobertaProcessing", "sep": ["a", 1], "cls": ["b", 2], "trim_offsets": True, "add_prefix_space": True}
for name, list in ("read", [level, read]), ("behind", [read, other]), ("before", [other, read]), ("second", [read, read]), (
    "inside", [{"type": "Sequence", "processors": [read]}, {"type": "Sequence", "processors": [level, other]}]):
    d["post_processor"] = {"type": "Sequence", "processors": list}
    json.dump(d, open(f"{sys.argv[3]}/sequence_{name}.json", "w", encoding="utf-8"), ensure_ascii=False)
end
number=0
tab=$(printf '\t')
while IFS=$tab read -r pattern name statement; do
    number=$((number + 1))
    expect "$name: $statement" 1 "$pattern" "$FIRNC" tokens $text --tokenizer "$folder/edited$number.json" -o "$folder/none.bin"
done <"$folder/edits"
[ $number -eq 43 ] || fail "$number edits"
expect "a post-processor without effect" 0 "" "$FIRNC" tokens $text --tokenizer "$folder/processor.json" --count
expect "a post-processor" 1 "post_processor is BertProcessing" \
    "$FIRNC" tokens $text --tokenizer "$folder/processor.json" --special --count
for sequence in "behind RobertaProcessing" "before RobertaProcessing" "second a second TemplateProcessing" "inside RobertaProcessing"; do
    set -- $text --tokenizer "$folder/sequence_${sequence%% *}.json" --count
    expect "post-processors, ${sequence%% *}" 1 "post_processor is ${sequence#* }, and firnc reads one TemplateProcessing; leave out --special" \
        "$FIRNC" tokens "$@" --special
    expect "post-processors without effect, ${sequence%% *}" 0 "" "$FIRNC" tokens "$@"
done
expect "a sequence that is read" 0 "" "$FIRNC" tokens $text --tokenizer "$folder/sequence_read.json" --special -o "$folder/sequence.bin"
cmp -s "$folder/sequence.bin" "$folder/one.bin" || fail "a sequence adds other tokens than its template"
expect "no post-processor" 1 "no post_processor adds tokens" "$FIRNC" tokens $text $pair --special --count

expect "a tokenizer.json as vocabulary" 1 "is a tokenizer.json; give it by --tokenizer" \
    "$FIRNC" tokens $text --vocabulary $golden/bytes.json --merges $golden/merges.txt --count
expect "a vocabulary as tokenizer.json" 1 "model: must be there" "$FIRNC" tokens $text --tokenizer $golden/vocab.json --count
printf 'a b\nzzz a\n' >"$folder/merges.txt"
expect "merges" 1 "merges.txt:1: merges 'a' and 'b' to a token" "$FIRNC" tokens $text --vocabulary $golden/vocab.json --merges "$folder/merges.txt" --count
printf '#version: 0.2\n\ne n x\n' >"$folder/merges.txt"
expect "a line of three" 1 "merges.txt:3: is not two tokens" "$FIRNC" tokens $text --vocabulary $golden/vocab.json --merges "$folder/merges.txt" --count
sed 's/$/\r/' $golden/merges.txt >"$folder/merges.txt"
expect "merges with CRLF" 0 "" "$FIRNC" tokens $text --vocabulary $golden/vocab.json --merges "$folder/merges.txt" -o "$folder/crlf.bin"
cmp -s "$folder/crlf.bin" "$folder/ids.bin" || fail "merges with CRLF give other ids"

: >"$folder/empty.txt"
gzip -c $text >"$folder/text.gz"
printf '\377\376a\0' >"$folder/wide.txt"
expect "an empty text" 1 "has no tokens" "$FIRNC" tokens "$folder/empty.txt" $pair -o "$folder/none.bin"
expect "a packed text" 1 "is gzip and no text" "$FIRNC" tokens "$folder/text.gz" $pair -o "$folder/none.bin"
expect "UTF-16" 1 "is UTF-16 text and no text in UTF-8" "$FIRNC" tokens "$folder/wide.txt" $pair -o "$folder/none.bin"
expect "no UTF-8" 1 "cut.txt: is no UTF-8 at byte 7, which is 0xc3" "$FIRNC" tokens "$folder/cut.txt" $(tokenizer llama2) -o "$folder/none.bin"
expect "a folder" 1 "is a folder" "$FIRNC" tokens "$folder" $pair -o "$folder/none.bin"
expect "a second text that is absent" 1 "absent.txt: cannot be opened" "$FIRNC" tokens $text absent.txt $pair -o "$folder/none.bin"
expect "no folder" 1 "check that its folder exists" "$FIRNC" tokens $text $pair -o "$folder/absent/none.bin"
expect "a text without words" 1 "has no end of a word in 4194304 bytes" sh -c "head -c 5000000 /dev/zero | tr '\\0' '=' >'$folder/flat.txt'; \
    exec '$FIRNC' tokens '$folder/flat.txt' $pair -o '$folder/none.bin'"
# A normalizer whose pattern has several characters keeps no more of the text than one whose has one.
python3 - "$folder" <<'end'
import json, sys
folder = sys.argv[1]
tokenizer = json.load(open("tests/golden/tokens/bytes.json"))
replace = {"type": "Replace", "pattern": {"String": "plan is"}, "content": "is"}
tokenizer["normalizer"] = {"type": "Sequence", "normalizers": [replace, {"type": "NFC"}]}
json.dump(tokenizer, open(f"{folder}/replace.json", "w"))
tokenizer["normalizer"] = {"type": "NFC"}
json.dump(tokenizer, open(f"{folder}/nfc.json", "w"))
token = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": True, "special": False}
count = 1 + max([*tokenizer["model"]["vocab"].values(), *(token["id"] for token in tokenizer["added_tokens"])])
tokenizer["added_tokens"] += [dict(token, id=count + i, content=name) for i, name in enumerate(("n\u00e9v", "ne\u0301v"))]
json.dump(tokenizer, open(f"{folder}/equal.json", "w"))
line = "The plan is frozen; ne\u0301ve\u0301.\n"
open(f"{folder}/plan.txt", "w").write(line * 200000)
open(f"{folder}/is.txt", "w").write(line.replace("plan is", "is") * 200000)
end
expect "six megabytes and a pattern" 0 "" "$FIRNC" tokens "$folder/plan.txt" --tokenizer "$folder/replace.json" -o "$folder/plan.bin"
expect "the same without the pattern" 0 "" "$FIRNC" tokens "$folder/is.txt" --tokenizer "$folder/nfc.json" -o "$folder/is.bin"
cmp -s "$folder/plan.bin" "$folder/is.bin" || fail "a long text that is normalized has other ids"
if [ -e /dev/ptmx ]; then
    python3 - "$FIRNC" "$folder" <<'end' || fail "a message on a terminal leaves a part of the line of progress"
import os, pty, sys
firnc, folder = sys.argv[1:]
child, terminal = pty.fork()
if child == 0:
    os.execv(firnc, [firnc, "tokens", f"{folder}/plan.txt", f"{folder}/wide.txt", "--tokenizer", f"{folder}/nfc.json", "--count"])
said = b""
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:
        break
    if not part:
        break
    said += part
os.waitpid(child, 0)
# What is shown: a carriage return goes to the beginning of the line, which erasing clears.
for line in said.split(b"\n"):
    for shown in line.split(b"\r"):
        if b"MB/s" in shown or not shown:
            continue
        before = line[:line.index(shown)]
        assert b"MB/s" not in before or before.endswith(b"\r\x1b[K") or shown.startswith(b"\x1b[K"), said
assert b"wide.txt: is UTF-16 text" in said, said
end
fi
rm -f "$folder/plan.txt" "$folder/is.txt" "$folder/plan.bin" "$folder/is.bin"
expect "added tokens that are the same" 1 "added_tokens: the normalizer makes the tokens [0-9]* and [0-9]* the same, .*; set normalized to false for one" \
    "$FIRNC" tokens $text --tokenizer "$folder/equal.json" --count
if [ -e /dev/full ] && (ulimit -f 8) 2>"$folder/err"; then
    expect "no room" 1 "raise the limit of file sizes" sh -c "ulimit -f 8; exec '$FIRNC' tokens '$folder/long.txt' $pair -o '$folder/none.bin'"
    expect "standard output is full" 1 "standard output cannot be written" sh -c "exec '$FIRNC' tokens --to-text '$folder/ids.bin' $pair >/dev/full"
fi
ls "$folder" | grep 'none.bin' && fail "a refusal left a file behind"

cp "$folder/ids.bin" "$folder/before"
expect "an output that is the text" 2 "which is read" "$FIRNC" tokens "$folder/line.txt" $pair -o "$folder/line.txt"
expect "an output that is the tokenizer" 2 "which is read" "$FIRNC" tokens $text $(tokenizer llama2) -o $golden/llama2.json
expect "an output that is the ids" 2 "which is read" "$FIRNC" tokens --to-text "$folder/ids.bin" $pair -o "$folder/ids.bin"
cmp -s "$folder/before" "$folder/ids.bin" || fail "the ids were overwritten"
expect "no output" 2 "the name of the output is missing" "$FIRNC" tokens $text $pair
expect "no tokenizer" 2 "the tokenizer is missing" "$FIRNC" tokens $text -o "$folder/none.bin"
expect "two tokenizers" 2 "the tokenizer is missing or not one" "$FIRNC" tokens $text $pair $(tokenizer llama2) --count
expect "no merges" 2 "the tokenizer is missing or not one" "$FIRNC" tokens $text --vocabulary $golden/vocab.json --count
expect "count and output" 2 "writes nothing" "$FIRNC" tokens $text $pair --count -o "$folder/none.bin"
expect "decode two" 2 "takes one file of ids" "$FIRNC" tokens --to-text a b $pair

printf '\1\0\2' >"$folder/odd.bin"
printf '\377\377' >"$folder/beyond.bin"
expect "half an id" 1 "has 3 bytes, which is no number of ids" "$FIRNC" tokens --to-text "$folder/odd.bin" $pair
expect "an id beyond" 1 "has the id 65535 at place 0, beyond the 320 tokens" "$FIRNC" tokens --to-text "$folder/beyond.bin" $pair
head -c 200 "$folder/ids.npy" >"$folder/short.npy"
expect "a cut array" 1 "has another length than its header says" "$FIRNC" tokens --to-text "$folder/short.npy" $pair
head -c 20 "$folder/ids.npy" >"$folder/short.npy"
expect "a cut header" 1 "is no array of uint16 or int32" "$FIRNC" tokens --to-text "$folder/short.npy" $pair

# --- interrupted ------------------------------------------------------------------------------------------------------

i=0
while [ $i -lt 150 ]; do
    cat "$folder/long.txt"
    i=$((i + 1))
done >"$folder/large.txt"
"$FIRNC" tokens "$folder/large.txt" $(tokenizer llama2) -o "$folder/none.bin" >"$folder/out" 2>"$folder/err" &
while ! ls "$folder" | grep -q 'none.bin' && kill -0 $! 2>/dev/null; do sleep 0.05; done
kill -TERM $!
status=0
wait $! || status=$?
[ $status -eq 130 ] || fail "interrupted: exit $status, not 130"
grep -q "interrupted; .*none.bin is not written" "$folder/err" || fail "interrupted: no message"
ls "$folder" | grep 'none.bin' && fail "an interruption left a file behind"

[ $failures -eq 0 ]
