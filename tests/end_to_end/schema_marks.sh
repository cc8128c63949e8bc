#!/bin/sh
# The version marks of a schema: what the generator makes of right ones, and the line with which it refuses wrong ones.
#
# Needs: tools
set -eu

. tests/end_to_end/expectations

gcc -std=c11 -I. plan/generate/*.c "$BUILD/signature.o" "$BUILD/objects/plan/checks/trail.o" -o "$folder/generator" -lm
mkdir "$folder/generated"

# generate NAME STATUS PATTERN SCHEMA: runs the generator on a schema without its head and end.
generate() {
    {
        printf 'namespace firn;\nattribute "max";\nattribute "since";\nattribute "raised";\nattribute "relaxed";\nattribute "other";\n'
        printf 'file_identifier "FIRN";\n%s\nroot_type Plan;\n' "$4"
    } >"$folder/marks.fbs"
    flatc --binary --schema --bfbs-builtins --bfbs-comments -o "$folder" "$folder/marks.fbs"
    expect "$1" "$2" "$3" "$folder/generator" "$folder/marks.bfbs" "$folder/generated"
}

# written FILE LINE: the generator has written this line.
written() {
    grep -qxF "$2" "$folder/generated/$1" || fail "$1 has no line '$2'"
}

without="enum Kind : ubyte { a, b }
table Plan { kind:Kind; name:string (required, max: 9); numbers:[uint] (max: 4); }"
generate "a schema without marks" 0 "" "$without"
cp "$folder/generated/schema.txt" "$folder/old"
# What is marked in ops.def, which the generator reads too.
ops=$(sed -n 's/^FIRN_OP.*\.since = \([0-9]*\).*$/\1/p; s/^ .*\.since = \([0-9]*\).*$/\1/p; s/^.*:[^^ ]*^\([0-9]*\).*$/\1/p' plan/ops.def | sort -n | tail -n 1)
written version.h "#define FIRN_FORMAT_MINOR ${ops:-0}u"
[ "$(grep -c '^    {' "$folder/generated/since.c")" = 1 ] || fail "a schema without marks has some"

generate "a schema with marks" 0 "" 'enum Kind : ubyte (since: "c 2, d 2, e 7") { a, b, c, d, e }
enum Wide : ushort (since: "k 3") { i, j, k }
struct Pair { low:uint; kind:Kind; rest:ubyte; wide:Wide; }
table Part { kinds:[Kind] (max: 4); pair:Pair; text:string (since: 8, max: 9, raised: "5 9"); }
table Plan { kind:Kind; name:string (required, max: 9); numbers:[uint] (max: 64, raised: "4 1, 16 5");
  parts:[Part] (since: 3, max: 4); count:uint = 6 (since: 4); }'
written version.h "#define FIRN_FORMAT_MINOR 9u"
grep -v '^    {0, 0, 0, 0, 0, 0}' "$folder/generated/since.c" | grep '^    {' >"$folder/got" || true
cat >"$folder/wanted" <<'end'
    {FIRN_SINCE_VALUE, 0, 2, 0, 1, 1}, /* c of Kind */
    {FIRN_SINCE_VALUE, 0, 7, 0, 1, 3}, /* e of Kind */
    {FIRN_SINCE_VALUE, 1, 2, 4, 1, 1}, /* c of Kind */
    {FIRN_SINCE_VALUE, 1, 7, 4, 1, 3}, /* e of Kind */
    {FIRN_SINCE_VALUE, 1, 3, 6, 2, 1}, /* k of Wide */
    {FIRN_SINCE_FIELD, 2, 8, 0, 0, 0}, /* Part.text */
    {FIRN_SINCE_LIMIT, 2, 9, 0, 0, 5}, /* Part.text */
    {FIRN_SINCE_VALUE, 3, 2, 0, 1, 1}, /* c of Kind */
    {FIRN_SINCE_VALUE, 3, 7, 0, 1, 3}, /* e of Kind */
    {FIRN_SINCE_LIMIT, 5, 1, 0, 0, 4}, /* Plan.numbers */
    {FIRN_SINCE_LIMIT, 5, 5, 0, 0, 16}, /* Plan.numbers */
    {FIRN_SINCE_FIELD, 6, 3, 0, 0, 0}, /* Plan.parts */
    {FIRN_SINCE_FIELD, 7, 4, 0, 0, 0}, /* Plan.count */
end
cmp -s "$folder/wanted" "$folder/got" || fail "since.c has other marks"
: >"$folder/got"
written schema.txt "    3 d since 2"
written schema.txt "    1 b"
written schema.txt "    2 text string max 9 since 8 raised 5 9"
written schema.txt "    2 numbers [uint32] max 64 raised 4 1 raised 16 5"
written schema.txt "    4 count uint32 default 6 since 4"

generate "the same with other numbers" 0 "" 'enum Kind : ubyte (since: "c 1") { a, b, c }
table Plan { kind:Kind; name:string (required, max: 9); numbers:[uint] (max: 64, raised: "4 1"); count:uint (since: 1); }'
tests/end_to_end/unmarked_format "$folder/generated/schema.txt" | cmp -s "$folder/old" - ||
    fail "the listing without what marks stand at is not that of the schema before"

generate "a member that was reserved" 0 "" "struct Pair { x:uint; y:uint (since: 3); } table Plan { pair:Pair; }"
written since.c "    {FIRN_SINCE_VALUE, 0, 3, 4, 4, 0}, /* Pair.y */"

generate "a rule that was relaxed" 0 "" "table Part (relaxed: 4) { x:uint (since: 3); y:uint (since: 3); } table Plan { parts:[Part] (max: 9); }"
written version.h "#define FIRN_FORMAT_MINOR 4u"
written schema.txt "table Part relaxed 4"

rm -r "$folder/generated"
mkdir "$folder/generated"

# plan WORDS FAULT FIELDS: refuses a table with these fields.
plan() {
    generate "$1" 1 "$2" "table Plan { $3 }"
}

# kind WORDS FAULT ATTRIBUTES: refuses an enumeration of a, b and c with these attributes.
kind() {
    generate "$1" 1 "$2" "enum Kind : ubyte ($3) { a, b, c } table Plan { kind:Kind; }"
}

plan "since 0" "x: since and relaxed are a minor version" "x:uint (since: 0);"
plan "since a word" "x: since and relaxed are a minor version" 'x:uint (since: "soon");'
plan "since nothing" "x: since and relaxed are a minor version" "x:uint (since);"
plan "since beyond the highest" "x: since and relaxed are a minor version" "x:uint (since: 65536);"
plan "an older field behind a newer one" "y: fields with since come last" "x:uint (since: 1); y:uint;"
plan "a version before that of the field before" "y: fields with since come last" "x:uint (since: 2); y:uint (since: 1);"
plan "a field that came later and is required" "y: a field with since cannot be required" \
    "x:uint; y:string (since: 1, required, max: 9);"
plan "raised without max" "x: raised gives the earlier limit" 'x:uint (raised: "1 1");'
plan "raised above max" "x: raised gives the earlier limit" 'x:[uint] (max: 4, raised: "4 1");'
plan "raised from a word" "x: raised gives the earlier limit" 'x:[uint] (max: 4, raised: "two 1");'
plan "raised without a version" "x: each of its marks" 'x:[uint] (max: 4, raised: "2");'
plan "raised without a limit" "x: each of its marks" 'x:[uint] (max: 4, raised: " 2");'
plan "raised in version 0" "x: each of its marks" 'x:[uint] (max: 4, raised: "2 0");'
plan "raised to less" "x: each limit in raised" 'x:[uint] (max: 8, raised: "4 1, 2 2");'
plan "raised twice in a version" "x: each limit in raised" 'x:[uint] (max: 8, raised: "2 1, 4 1");'
plan "raised before it came" "x: each limit in raised" 'x:[uint] (since: 3, max: 8, raised: "2 3");'
plan "raised without a comma" "x: its marks are separated" 'x:[uint] (max: 8, raised: "2 1 4 2");'
plan "raised and a comma" "x: its marks are separated" 'x:[uint] (max: 8, raised: "2 1, ");'
plan "a deprecated field" "x: fields stay" "x:uint (deprecated);"
generate "relaxed in version 0" 1 "Plan: since and relaxed are a minor version" "table Plan (relaxed: 0) { x:uint; }"
generate "another attribute of a table" 1 "Plan: a table has no attribute but relaxed" "table Plan (other: 1) { x:uint; }"
generate "a struct that was relaxed" 1 "Pair: a table has no attribute but relaxed, and a struct has none" \
    "struct Pair (relaxed: 1) { x:uint; } table Plan { pair:Pair; }"
generate "a struct that is aligned" 1 "Pair: .* (force_align neither)" \
    "struct Pair (force_align: 8) { x:uint; y:uint; } table Plan { pair:Pair; }"
kind "a value that it does not have" "Kind: since names a value that it does not have" 'since: "d 1"'
kind "a value twice" "Kind: since names a value twice" 'since: "c 1, c 2"'
kind "a new value 0" "Kind: value 0 has no since" 'since: "a 1, b 1, c 1"'
kind "an older value behind a newer one" "Kind: values with since come last" 'since: "b 1"'
kind "a value before that of the value before" "Kind: values with since come last" 'since: "b 2, c 1"'
kind "another attribute" "Kind: an enumeration has no attribute but since" 'other: "c 1"'

[ -z "$(ls "$folder/generated")" ] || fail "a wrong schema has changed what was generated"
[ "$failures" -eq 0 ]
