#!/bin/sh
# From a text to the ids of a prompt and from generated ids to text, by firnc tokens and firn generate in one pipe: what
# goes there comes back byte for byte, as it comes; ids that no token has, what is no id, and no input are refused.
set -eu

. tests/end_to_end/expectations
needs full
golden=tests/golden/tokens
pair="--vocabulary $golden/vocab.json --merges $golden/merges.txt"
loop=trainer.init

# there NAME FILE OPTION...: the file goes through standard input to ids, and comes back.
there() {
    what=$1
    file=$2
    shift 2
    "$FIRNC" tokens - "$@" -o - <"$file" 2>"$folder/err" >"$folder/ids" || fail "$what: not encoded"
    "$FIRNC" tokens --to-text - "$@" <"$folder/ids" >"$folder/back" 2>"$folder/err" || fail "$what: not decoded"
    same "$what does not come back" "$file" "$folder/back"
    "$FIRNC" tokens "$file" "$@" -o "$folder/ids.npy" >"$folder/out" 2>"$folder/err" || fail "$what: no file of ids"
    tail -c +129 "$folder/ids.npy" | od -An -v -t d4 -w4 | tr -d ' ' | tr '\n' ' ' | sed 's/ $//' >"$folder/wanted"
    echo >>"$folder/wanted"
    same "$what: numbers and the file have other ids" "$folder/ids" "$folder/wanted"
}

printf 'The plan is frozen;  two more' >"$folder/line"
printf 'no end \303' >"$folder/cut"
printf 'a<|endoftext|>b <|end|>\n' >"$folder/special"
head -c 3000 /dev/urandom >"$folder/random"
for name in llama3 pair; do
    options="--tokenizer $golden/$name.json"
    [ "$name" != pair ] || options=$pair
    for file in $golden/text.txt "$folder/line" "$folder/cut" "$folder/special" "$folder/random"; do
        # shellcheck disable=SC2086
        there "$name, $(basename "$file")" "$file" $options
    done
done
for name in qwen2 llama2 metaspace; do
    there "$name, a line" "$folder/line" --tokenizer $golden/$name.json
done
shared=../shared/data/tokens
for name in gpt2_like llama3_like qwen2_like metaspace_like; do
    [ ! -e $shared/$name.json ] || there "$name" ../shared/data/tinyshakespeare.txt --tokenizer $shared/$name.json
done

# shellcheck disable=SC2086
{
    "$FIRNC" tokens --text 'The plan is frozen;  two more' $pair -o - >"$folder/ids" 2>"$folder/err" || fail "no ids of --text"
    "$FIRNC" tokens - $pair -o - <"$folder/line" | cmp -s - "$folder/ids" || fail "--text has other ids than the file"
    expect "ids of a text in a file" 0 "" "$FIRNC" tokens --text "The plan" $pair -o "$folder/text.bin"
    [ -e "$folder/text.bin.tokenizer" ] || fail "no note of the tokenizer"
    "$FIRNC" tokens - $pair --count <"$folder/line" >"$folder/out"
    grep -q "^standard input: [0-9]* tokens, 29 bytes" "$folder/out" || fail "standard input is not counted"
    "$FIRNC" tokens - $pair -o "$folder/stream.npy" <$golden/text.txt >"$folder/out" 2>"$folder/err"
    "$FIRNC" tokens $golden/text.txt $pair -o "$folder/file.npy" >"$folder/out"
    same "standard input to a file" "$folder/stream.npy" "$folder/file.npy"
    [ "$("$FIRNC" tokens --text '<|end|>' --tokenizer $golden/llama3.json -o - | wc -w)" -eq 1 ] || fail "a special token"
    [ "$("$FIRNC" tokens --text '<|end|>' --tokenizer $golden/llama3.json -o - --no-special-in-text | wc -w)" -gt 1 ] ||
        fail "a special token as text"
}

# --- a model says it --------------------------------------------------------------------------------------------------

"$FIRNC" keygen "$folder/key" >"$folder/out"
# shellcheck disable=SC2086
"$FIRNC" tokens $golden/text.txt $pair -o "$folder/train.bin" >"$folder/out"
for mode in "train" "eval --decode"; do
    # shellcheck disable=SC2086
    expect "compile $mode" 0 "" "$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode $mode --key "$folder/key.key.pem" \
        --set $loop.model.vocab_size=320 --set $loop.loop.num_steps=2 --set trainer.fit.train_dataloader.token_type=int32 \
        -o "$folder/${mode%% *}.plan"
done
expect "train" 0 "" "$FIRN" train "$folder/train.plan" --pub "$folder/key.pub.pem" --data "$folder/train.bin" \
    --checkpoint "$folder/ckpt" --quiet
# shellcheck disable=SC2086
"$FIRN" generate "$folder/eval.plan" --pub "$folder/key.pub.pem" --checkpoint "$folder/ckpt" --seed 1 --tokens 8 \
    --prompt "$("$FIRNC" tokens --text 'The plan' $pair -o -)" 2>"$folder/err" | tee "$folder/said" |
    "$FIRNC" tokens --to-text - $pair >"$folder/text" || fail "the pipe failed"
head -c 8 "$folder/text" | grep -q '^The plan$' || fail "the text does not begin with the prompt: $(cat "$folder/text")"
# shellcheck disable=SC2086
"$FIRNC" tokens --to-text - $pair <"$folder/said" | cmp -s - "$folder/text" || fail "what was said decodes to another text"
tr ' ' ',' <"$folder/said" | tr '\n' '\r' >"$folder/commas"
# shellcheck disable=SC2086
"$FIRNC" tokens --to-text - $pair <"$folder/commas" | cmp -s - "$folder/text" || fail "commas between ids"

# Text comes as soon as its ids: the writer waits for it before it goes on.
mkfifo "$folder/ids.pipe"
# shellcheck disable=SC2086
"$FIRNC" tokens --to-text - $pair <"$folder/ids.pipe" >"$folder/text" 2>"$folder/err" &
exec 3>"$folder/ids.pipe"
"$FIRNC" tokens --text 'The plan' $pair -o - >&3
waited=0
until grep -q '^The plan$' "$folder/text" || [ $waited -eq 100 ]; do
    sleep 0.05
    waited=$((waited + 1))
done
[ $waited -lt 100 ] || fail "the text waits for the end of the ids"
exec 3>&-
wait $! || fail "the end of the ids is an error"

# --- what is refused --------------------------------------------------------------------------------------------------

# decodes NAME STATUS PATTERN IDS: what firnc tokens --to-text - says of these ids.
decodes() {
    printf -- "$4" >"$folder/ids"
    expect "$1" "$2" "$3" sh -c "exec '$FIRNC' tokens --to-text - $pair <'$folder/ids'"
}
decodes "an id beyond" 1 "standard input: has the id 320 at place 2, beyond the 320 tokens of the vocabulary" '1 2 320 3'
[ "$(cat "$folder/out")" = "$("$FIRNC" tokens --to-text - $pair <<'ids'
1 2
ids
)" ] || fail "the text before an id that is refused is lost"
decodes "a large id" 1 "has the id 2147483647 at place 0" '2147483647'
decodes "a larger id" 1 "has 4294967297 at place 1, which is no id" '1 4294967297'
decodes "a number without end" 1 "has 1111111111111111111. at place 0, which is no id" "$(printf '%s' '1 ' | tr ' ' 1)$(printf '%4000s' '' | tr ' ' 1)"
decodes "a negative id" 1 "has -1 at place 0, which is no id" '-1'
decodes "a fraction" 1 "has 1.5 at place 1, which is no id" '1 1.5'
decodes "text for ids" 1 "has The at place 0, which is no id; give the numbers that firnc tokens -o - and firn generate print" 'The plan'
decodes "a zero byte" 1 "has 1?2 at place 0, which is no id" '1\0002'
decodes "bytes that are no text" 1 'has \\xff\\xfe at place 0, which is no id' '\377\376'
decodes "no ids" 1 "standard input: has no ids, so there is no text" ''
decodes "a line end" 1 "standard input: has no ids, so there is no text" '\n'
printf '1 2 3\n' >"$folder/numbers"
: >"$folder/nothing.bin"
# shellcheck disable=SC2086
{
    expect "numbers in a file" 1 "has numbers as text; give them to standard input, as --to-text - <FILE" \
        "$FIRNC" tokens --to-text "$folder/numbers" $pair
    printf '1\0' >"$folder/raw.bin"
    expect "one raw id" 0 "" "$FIRNC" tokens --to-text "$folder/raw.bin" $pair
    expect "an empty file of ids" 1 "nothing.bin: has no ids" "$FIRNC" tokens --to-text "$folder/nothing.bin" $pair \
        -o "$folder/none.txt"
    expect "text into no folder" 1 "absent/text: cannot be .*: No such file or directory; check that its folder exists" \
        "$FIRNC" tokens --to-text "$folder/raw.bin" $pair -o "$folder/absent/text"
    expect "ids into no folder" 1 "absent/ids.bin: cannot be .*: No such file or directory; check that its folder exists" \
        "$FIRNC" tokens --text a $pair -o "$folder/absent/ids.bin"
    expect "ids of no file" 1 "absent.bin: cannot be .*: No such file or directory" "$FIRNC" tokens --to-text "$folder/absent.bin" $pair
    expect "an empty text" 1 "standard input: has no tokens, because the text is empty" "$FIRNC" tokens - $pair -o -
    expect "an empty --text" 2 "its value is empty" "$FIRNC" tokens --text "" $pair -o -
    expect "a folder" 1 "standard input: cannot be read: Is a directory" sh -c "exec '$FIRNC' tokens - $pair -o - </"
    expect "a picture" 1 "standard input: is a PNG picture\|standard input: is .*PNG" sh -c \
        "printf '\\211PNG\\r\\n\\032\\n' | '$FIRNC' tokens - $pair -o -"
    expect "no UTF-8" 1 "standard input: .*UTF-8" sh -c "'$FIRNC' tokens - --tokenizer $golden/metaspace.json -o - <'$folder/cut'"
    expect "a text and a file" 2 "encodes this text alone; leave out it or a" "$FIRNC" tokens a --text b $pair -o -
    expect "a text to decode" 2 "is a text and no ids" "$FIRNC" tokens --to-text --text b $pair
    expect "standard input twice" 2 "standard input can be read once" "$FIRNC" tokens - - $pair -o -
    expect "nothing" 2 "needs a TEXT" "$FIRNC" tokens $pair -o -
    expect "a closed output" 1 "standard output cannot be written" sh -c "exec '$FIRNC' tokens --text a $pair -o - >&-"
    expect "a full output" 1 "standard output cannot be written" sh -c "exec '$FIRNC' tokens --text a $pair -o - >/dev/full"
    ("$FIRNC" tokens --to-text - $pair 2>"$folder/err" || :) <"$folder/said" | head -c 2 >"$folder/out"
    [ "$(cat "$folder/out")" = Th ] && [ ! -s "$folder/err" ] || fail "a reader that has seen enough"
}
! ls "$folder" | grep none || fail "a refusal left a file behind"

# A signal ends a command that waits for standard input, and leaves no file.
mkfifo "$folder/text.pipe"
# shellcheck disable=SC2086
"$FIRNC" tokens - $pair -o "$folder/none.bin" <"$folder/text.pipe" >"$folder/out" 2>"$folder/err" &
exec 3>"$folder/text.pipe"
while ! ls "$folder" | grep -q 'none.bin' && kill -0 $! 2>"$folder/got"; do sleep 0.05; done
sleep 0.1
kill -TERM $!
status=0
wait $! || status=$?
exec 3>&-
[ $status -eq 130 ] || fail "interrupted: exit $status, not 130"
! ls "$folder" | grep none.bin || fail "an interruption left a file behind"

# interrupts NAME MESSAGE OPTION...: firnc tokens prints more than a pipe holds, and is told to end when its first byte is
# there. It says so in one line.
mkfifo "$folder/printed.pipe"
interrupts() {
    what=$1
    message=$2
    shift 2
    # shellcheck disable=SC2086
    "$FIRNC" tokens "$@" $pair >"$folder/printed.pipe" 2>"$folder/err" &
    exec 3<"$folder/printed.pipe"
    head -c 1 <&3 >"$folder/printed"
    kill -TERM $! 2>"$folder/got" || fail "$what: has ended"
    cat <&3 >>"$folder/printed"
    exec 3<&-
    status=0
    wait $! || status=$?
    [ $status -eq 130 ] || fail "$what: exit $status, not 130"
    echo "firnc tokens: interrupted; $message" >"$folder/wanted"
    same "$what: another message" "$folder/wanted" "$folder/err"
}

yes 'The plan is frozen;  two more' | head -c 400000 >"$folder/long"
# shellcheck disable=SC2086
"$FIRNC" tokens "$folder/long" $pair -o "$folder/long.bin" >"$folder/out"
interrupts "ids that are printed" "what was printed is incomplete" "$folder/long" -o -
interrupts "a text that is printed" "what was printed is incomplete" --to-text "$folder/long.bin"
interrupts "a text that is printed by -o -" "what was printed is incomplete" --to-text "$folder/long.bin" -o -
# shellcheck disable=SC2046
interrupts "counts" "not all texts are counted" --count $(yes "$golden/text.txt" | head -n 2000)

[ $failures -eq 0 ]
