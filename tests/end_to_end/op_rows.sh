#!/bin/sh
# A wrong row of plan/ops.def stops the generator with one line that names the row and the fault, and a row without a cost
# or a line of documentation does not compile.
set -eu

. tests/end_to_end/expectations

mkdir "$folder/plan" "$folder/generated"
flatc --binary --schema --bfbs-builtins --bfbs-comments -o "$folder" plan/plan.fbs

# generator ROW: builds the generator with the table and one row more.
generator() {
    { cat plan/ops.def && printf '%s\n' "$1"; } >"$folder/plan/ops.def"
    gcc -std=c11 -I"$folder" -I. plan/generate/*.c "$BUILD/signature.o" -o "$folder/generate" -lm 2>"$folder/compiler"
}

# refused WORDS FAULT ROW: the generator's message holds the fault.
refused() {
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

refused "an unknown type" "an operand has no type" "$(row '.inputs = "x:complex[...]", .outputs = "y:real[=x]"')"
refused "no extents" "an operand has no extents" "$(row '.inputs = "x:real", .outputs = "y:real[1]"')"
refused "extents of an unknown operand" "extents are those of" "$(row '.inputs = "x:real[=z]", .outputs = "y:real[1]"')"
refused "an unknown letter in an output" "an output has a letter" "$(row '.inputs = "x:real[...]", .outputs = "y:real[N,C]"')"
refused "an output that is no input" "an output without a type" "$(row '.inputs = "x:real[...]", .outputs = "z"')"
refused "a wanted input behind an optional one" "an input behind an optional one" \
    "$(row '.inputs = "x:real[...]? z:real[...]", .outputs = "y:real[1]"')"
refused "an unknown flag" "an operand has a flag" "$(row '.inputs = "x:real[...]!", .outputs = "y:real[1]"')"
refused "three extents" "an operand has more than two extents" "$(row '.inputs = "x:real[A,B,C]", .outputs = "y:real[1]"')"
refused "an unknown range" "an integer has no range" "$(row '.inputs = "x:real[...]", .outputs = "y:real[1]", .integers = "a:rate"')"
refused "an unknown range of a real" "a real has no range" "$(row '.inputs = "x:real[...]", .outputs = "y:real[1]", .reals = "a:flag"')"
refused "indices below nothing" "indices are below a letter" "$(row '.inputs = "x:int32(V)[...]", .outputs = "y:real[1]"')"
refused "sums without operands" ".reductions and .reduced" "$(row '.inputs = "x:real[...]", .outputs = "y:real[1]", .reductions = "s"')"
refused "an unknown class of autocast" ".autocast is no word" "$(row '.inputs = "x:real[...]", .outputs = "y:real[1]", .autocast = "fast"')"
refused "a code that is taken" "the code or the name is another" \
    'FIRN_OP(wrong, 1, declared, none, none, "a wrong row", .inputs = "x:real[...]", .outputs = "y:real[1]")'
refused "a backward op that wants what forward does not have" "an input is neither dy" \
    'FIRN_OP(tanh2, 998, declared, by_name, none, "forward", .inputs = "x:real[...]", .outputs = "y:real[=x]")
FIRN_OP(tanh2_backward, 999, declared, none, none, "backward", .inputs = "dy:real[...] z:real[=dy]", .outputs = "dx:real[=dy]")'
refused "a gradient without a backward op" "the gradient is by_name, and there is no op" \
    'FIRN_OP(wrong, 999, declared, by_name, none, "a wrong row", .inputs = "x:real[...]", .outputs = "y:real[=x]")'

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
