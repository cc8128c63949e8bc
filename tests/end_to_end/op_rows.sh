#!/bin/sh
# A row that grew in later versions means what the old row meant where a plan leaves the new things out (later_ops.c). A
# wrong row of plan/ops.def stops the generator with one line that names the row, the word at fault and the fault, before
# anything is written; and a row without a cost or a line of documentation does not compile.
#
# Needs: tools
set -eu

. tests/end_to_end/expectations

mkdir "$folder/plan" "$folder/generated"
flatc --binary --schema --bfbs-builtins --bfbs-comments -o "$folder" plan/plan.fbs

# Of the generator, only op_rows.c reads the table.
for source in plan/generate/*.c; do
    [ "$source" = plan/generate/op_rows.c ] || gcc -std=c11 -I. -c "$source" -o "$folder/$(basename "$source" .c).o"
done

# generator ROW: builds the generator with the table and one row more.
generator() {
    { cat plan/ops.def && printf '%s\n' "$1"; } >"$folder/plan/ops.def"
    gcc -std=c11 -I"$folder" -I. plan/generate/op_rows.c "$folder"/*.o "$BUILD/signature.o" "$BUILD/objects/plan/checks/trail.o" -o "$folder/generate" -lm \
        2>"$folder/compiler"
}

# refused WORDS FAULT ROW: the generator's message holds the fault.
refused() {
    takes_next || return 0
    if ! generator "$3"; then
        fail "$1 does not compile: $(head -n 3 "$folder/compiler")"
        return
    fi
    expect "$1" 1 "^plan/ops.def: [a-z0-9_]*: $2" "$folder/generate" "$folder/plan.bfbs" "$folder/generated"
}

row() {
    echo "FIRN_OP(wrong, 999, declared, none, none, \"a wrong row\", $1)"
}

generator "$(row '.inputs = "x:real[...]", .outputs = "y:real[=x]"')"
expect "a row that is right" 0 "" "$folder/generate" "$folder/plan.bfbs" "$folder/generated"
grep -q 'FIRN_WRONG_IN_X = 0' "$folder/generated/operands.h" || fail "the new row has no positions"

cp -r "$folder/generated" "$folder/before"

generator 'FIRN_OP(later, 999, declared, none, none, "a row that grew", .inputs = "x:real[...] a:float32[1]? b:float32[1]?^3",
    .outputs = "y:real[=x] z:float32[1]^4", .integers = "form:flag mode:count=7^2 last:flag=0^5",
    .reals = "p:finite q:rate=0.5^6", .since = 1)'
mkdir -p "$folder/later/plan/generated"
cp "$folder/plan/ops.def" "$folder/later/plan"
expect "a row that grew" 0 "" "$folder/generate" "$folder/plan.bfbs" "$folder/later/plan/generated"
printf '%s\n' '#include "plan/shapes/shape_rules.h"' >"$folder/later/empty.c"
gcc -std=c11 -Wall -Wextra -Werror -I"$folder/later" -I. tests/end_to_end/later_ops.c plan/ops.c plan/errors.c plan/shapes/*.c \
    plan/divide.c "$folder/later/plan/generated/op_table.c" "$folder/later/plan/generated/op_since.c" -o "$folder/later/test"
expect "what a row that grew means" 0 "" "$folder/later/test"
grep -q '| 999 | later, since 1 |.*z: float32\[1\], since 4.*mode: count, default 7, since 2' \
    "$folder/later/plan/generated/OPS.md" || fail "OPS.md does not show the versions"

# operands WORDS FAULT INPUTS OUTPUTS: a row with these operands is refused.
operands() {
    refused "$1" "$2" "$(row ".inputs = \"$3\", .outputs = \"$4\"")"
}

# attributes WORDS FAULT COLUMNS: a row with these columns besides the operands is refused.
attributes() {
    refused "$1" "$2" "$(row ".inputs = \"x:real[...]\", .outputs = \"y:real[=x]\", $3")"
}

operands "an unknown type" "x: an operand has no type" "x:complex[...]" "y:real[=x]"
operands "no extents" "x: an operand has no extents" "x:real" "y:real[1]"
operands "extents of an unknown operand" "x: its type or extents are those of an operand" "x:real[=z]" "y:real[1]"
operands "extents of an optional input" "y: its type or extents are those of an optional" "x:real[...]?" "y:real[=x]"
operands "the type of an optional input" "y: its type or extents are those of an optional" "x:real[...]?" "y:@x[1]"
operands "an operand's own type" "x: its type or extents are those of an optional" "x:@x[...]" "y:real[1]"
operands "an unknown letter in an output" "y: an output has a letter" "x:real[...]" "y:real[N,C]"
operands "rows without an input that has them" "y: an output has leading dimensions" "x:real[N]" "y:real[N]"
operands "rows of an optional input" "y: an output has leading dimensions" "x:real[N] z:real[N,C]?" "y:real[N]"
operands "a fresh output with the name of an input" "x: a fresh output has the name" "x:real[...]" "x:real[1]"
operands "an output that is no input" "z: an output without a type" "x:real[...]" "z"
operands "an output that changes an optional input" "x: an output without a type" "x:real[...]?" "x"
operands "an input behind one that repeats" "x: only the last input repeats" "x:real[...]+ z:real[...]" "y:real[1]"
operands "an optional input that repeats" "x: only the last input repeats" "x:real[...]+?" "y:real[1]"
operands "an output that repeats" "y: the flags" "x:real[...]" "y:real[1]+"
operands "an output that changes inputs that repeat" "x: an output without a type" "x:real[...]+" "x"
operands "indices that repeat" "x: indices are an input that is always" "z:real[V] x:int32(V)[...]+" "y:real[1]"
operands "a letter of an optional input" "y: an output has a letter" "x:real[...] z:real[C]?" "y:real[C]"
operands "optional indices" "x: indices are an input that is always" "x:int32(V)[...]? z:real[V]" "y:real[1]"
operands "indices into an optional table" "V: indices are below a letter" "x:int32(V)[...] z:real[V]?" "y:real[1]"
operands "an unknown flag" "x: an operand has a flag" "x:real[...]#" "y:real[1]"
operands "an input that is scratch" "x: the flag ! is for fresh" "x:real[...]!" "y:real[1]"
operands "a changed input as scratch" "x!: an output without a type" "x:real[...]" "x!"
operands "sums that are no scratch" "y: .sums x. is scratch" "x:real[...]" "y:float32[sums x]"
operands "an optional output" "y: the flags" "x:real[...]" "y:real[1]?"
operands "a reusable output" "y: the flags" "x:real[...]" "y:real[1]~"
operands "three extents" "x: an operand has more than two extents" "x:real[A,B,C]" "y:real[1]"
operands "an extent that means a letter" "240: an extent is neither" "x:real[240]" "y:real[1]"
operands "an alternative that means a letter" "250: an extent is neither" "x:real[3|250]" "y:real[1]"
operands "a large extent before an alternative" "300|5: an extent is neither" "x:real[300|5]" "y:real[1]"
operands "an alternative of nothing" "0: an extent is neither" "x:real[3|0]" "y:real[1]"
operands "a negative extent" "-1: an extent is neither" "x:real[-1]" "y:real[1]"
operands "three alternatives" "3|4|5: an extent is neither" "x:real[3|4|5]" "y:real[1]"
operands "empty extents" "x: an extent is missing" "x:real[]" "y:real[1]"
operands "nothing behind N" "x: an extent is missing" "x:real[N,]" "y:real[1]"
operands "a word that begins with own" "owner: an extent is neither" "x:real[owner]" "y:real[1]"
operands "N that is not first" "x: N stands first" "x:real[C,N]" "y:real[1]"
operands "alternatives behind N" "x: two numbers are for" "x:real[N,3|4]" "y:real[1]"
operands "alternatives in a matrix" "x: two numbers are for" "x:real[3|4,C]" "y:real[1]"
operands "alternatives of an output" "y: two numbers are for" "x:real[...]" "y:real[3|4]"
operands "scratch as an input" "z: \[sums x\] is for outputs" "x:real[...] z:float32[sums x]" "y:real[1]"
operands "indices below nothing" "V: indices are below a letter" "x:int32(V)[...]" "y:real[1]"
operands "indices below a word" "rows: indices are below neither" "x:int32(rows)[...] z:real[R]" "y:real[1]"
operands "indices below an empty word" "x: indices are an input" "x:int32()[...]" "y:real[1]"
operands "indices of another type" "x: indices are an input" "x:int64(V)[V]" "y:real[1]"
operands "indices as an output" "y: indices are an input" "x:real[V]" "y:int32(V)[1]"
operands "an own type that nothing checks" "x: .own. needs a rule" "x:own[1]" "y:real[1]"
operands "own extents that nothing infers" "y: .own. needs a rule" "x:real[...]" "y:real[own]"

numbered() { seq -f "$1" -s ' ' "$2"; }
operands "65 inputs" "x65:real" "$(numbered 'x%g:real[...]' 65)" "y:real[1]"
operands "65 outputs" "y65:real" "x:real[...]" "$(numbered 'y%g:real[1]' 65)"
operands "a ninth input that is reusable" "x9: only the first 8" "$(numbered 'x%g:real[...]' 8) x9:real[=x1]~" "y:real[=x1]"

attributes "an own range that nothing checks" "a: .own. needs a rule" '.integers = "a:own"'
attributes "an own range of a real" "a: .own. needs a rule" '.reals = "a:own"'
attributes "an unknown range" "a: an integer has no range" '.integers = "a:rate"'
attributes "an unknown range of a real" "a: a real has no range" '.reals = "a:flag"'
attributes "two types" "b: a second integer of range type" '.integers = "a:type b:type"'
attributes "sums without operands" ".reductions and .reduced" '.reductions = "s"'
refused "sums of an optional input" "x: .reduced names an input that is always" \
    "$(row '.inputs = "x:real[...]?", .outputs = "y:real[1]", .reductions = "s", .reduced = "x"')"
attributes "reductions with two flags" "t: two reductions name" \
    '.integers = "a:flag b:flag", .reductions = "s:a t:b", .reduced = "x"'
attributes "a reduction whose flag is none" "s: a reduction that is no tensor" \
    '.integers = "a:count", .reductions = "s:a", .reduced = "x"'
attributes "an unknown class of autocast" "fast: .autocast is no word" '.autocast = "fast"'
attributes "an op that begins what it does not change" "first: an op with .begins" '.begins = "first"'
refused "an index into a tensor of any shape" "partial: integer 0 is the index" \
    "$(row '.inputs = "x:real[...]", .outputs = "x", .integers = "index:count", .begins = "partial"')"
refused "an op that fills an element without an index" "partial: integer 0 is the index" \
    "$(row '.inputs = "x:real[P]", .outputs = "x", .begins = "partial"')"
attributes "a default of what was always there" "a: an attribute that came later" '.integers = "a:flag=1"'
attributes "an integer that came later without a default" "a: an attribute that came later" '.integers = "a:flag^1"'
attributes "a real that came later without a default" "a: an attribute that came later" '.reals = "a:rate^1"'
attributes "an old attribute behind a later one" "b: what came later stands behind" '.integers = "a:flag=1^1 b:flag"'
attributes "versions that descend" "b: what came later stands behind" '.integers = "a:flag=1^2 b:flag=0^1"'
attributes "an attribute that is older than its row" "a: what came later stands behind" '.integers = "a:flag=1^2", .since = 2'
attributes "version 0" "a: behind ^ stands a minor version" '.integers = "a:flag=1^0"'
attributes "a version that is no number" "a: behind ^ stands a minor version" '.integers = "a:flag=1^x"'
attributes "a version that is too large" "a: behind ^ stands a minor version" '.integers = "a:flag=1^65536"'
attributes "words behind a version" "a: behind the range" '.integers = "a:flag=1^1x"'
attributes "a default out of the range" "a: a default is not in the range" '.integers = "a:flag=2^1"'
attributes "a default that is no number" "a: a default is not in the range" '.integers = "a:own=x^1"'
attributes "a real default out of the range" "a: a default is not in the range" '.reals = "a:rate=1^1"'
attributes "a default that is NaN" "a: a default is not in the range" '.reals = "a:finite=nan^1"'
attributes "a reduction that came later" "s: a reduction has neither" '.reductions = "s^1", .reduced = "x"'
operands "an input that came later and is wanted" "z: an input that came later is optional" "x:real[...] z:real[1]^1" "y:real[1]"
operands "an old input behind a later one" "z: what came later stands behind" "x:real[...] w:real[1]?^1 z:real[1]?" "y:real[1]"
operands "an old output behind a later one" "w: what came later stands behind" "x:real[...]" "y:real[1] z:real[1]^1 w:real[1]"
operands "output 0 that came later" "y: output 0 came with the row" "x:real[...]" "y:real[1]^1"
refused "a code that is taken" "the code or the name is another" \
    'FIRN_OP(wrong, 1, declared, none, none, "a wrong row", .inputs = "x:real[...]", .outputs = "y:real[1]")'

# backward WORDS FAULT COLUMNS: an op tanh2_backward with these columns does not fit an op tanh2.
backward() {
    refused "$1" "$2" "FIRN_OP(tanh2, 998, declared, by_name, none, \"forward\", .inputs = \"x:real[...]\", .outputs = \"y:real[=x]\")
FIRN_OP(tanh2_backward, 999, declared, none, none, \"backward\", $3)"
}

backward "a backward op that wants what forward does not have" "z: an input is neither dy" \
    '.inputs = "dy:real[...] z:real[=dy]", .outputs = "dx:real[=dy]"'
backward "a backward op that gives the gradient of nothing" "dz: an output is neither" \
    '.inputs = "dy:real[...]", .outputs = "dz:real[=dy]"'
backward "a backward op that gives more" "z: an output is neither" \
    '.inputs = "dy:real[...]", .outputs = "dx:real[=dy] z:real[=dy]"'
refused "a backward op that reads scratch" "z: an input is neither dy" \
    'FIRN_OP(tanh2, 998, declared, by_name, none, "forward", .inputs = "x:real[...]", .outputs = "y:real[=x] z:real[=x]!")
FIRN_OP(tanh2_backward, 999, declared, none, none, "backward", .inputs = "dy:real[...] z:real[=dy]", .outputs = "dx:real[=dy]")'
backward "a backward op with an attribute of its own" "form: an integer is none" \
    '.inputs = "dy:real[...]", .outputs = "dx:real[=dy]", .integers = "form:flag"'
refused "a gradient by name of inputs that repeat" "an op whose last input repeats" \
    'FIRN_OP(tanh2, 998, declared, by_name, none, "forward", .inputs = "x:real[...]+", .outputs = "y:real[=x]")
FIRN_OP(tanh2_backward, 999, declared, none, none, "backward", .inputs = "dy:real[...]", .outputs = "dx:real[=dy]")'
refused "a gradient without a backward op" "the gradient is by_name, and there is no op" \
    'FIRN_OP(wrong, 999, declared, by_name, none, "a wrong row", .inputs = "x:real[...]", .outputs = "y:real[=x]")'

diff -r "$folder/before" "$folder/generated" >"$folder/out" || fail "a wrong row has changed what was generated"

# not_built NAME ROW: plan/ops.c refuses the table.
not_built() {
    { cat plan/ops.def && printf '%s\n' "$2"; } >"$folder/plan/ops.def"
    if gcc -std=c11 -I"$folder" -I. -fsyntax-only plan/ops.c 2>"$folder/compiler"; then fail "$1 compiles"; fi
}

not_built "a row without documentation" \
    'FIRN_OP(wrong, 999, declared, none, none, "", .inputs = "x:real[...]", .outputs = "y:real[1]")'
grep -q 'has no documentation' "$folder/compiler" || fail "the compiler does not say that documentation is missing"
not_built "a row without a cost" 'FIRN_OP(wrong, 999, declared, none)'
not_built "a row that plan/generated has not got" "$(row '.inputs = "x:real[...]", .outputs = "y:real[1]"')"
grep -q 'run make generate' "$folder/compiler" || fail "the compiler does not say what to run"

[ "$failures" -eq 0 ]
