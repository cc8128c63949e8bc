#!/bin/sh
# What this major version of the format began with stays as it is (plan/FORMAT.md, "What may change, and how"): every line
# of the schema's listing, and the operands and attributes of every op. What came later has a mark and is not looked at.
# The test also tries changes of each kind on copies: those without a mark must be found, those with one must pass.
#
#     tests/end_to_end/format_frozen.sh           compares with tests/golden/format_2.golden
#     tests/end_to_end/format_frozen.sh --print   prints the golden file, which changes with the major version alone
#
# Needs: tools
set -eu

. tests/end_to_end/expectations

tests/end_to_end/unmarked_format plan/generated/schema.txt plan/ops.def >"$folder/format"
if [ "${1:-}" = --print ]; then
    cat "$folder/format"
    exit 0
elif ! diff tests/golden/format_2.golden "$folder/format"; then
    echo "the format has changed for plans that exist: mark what is new, and leave the rest as it was"
    exit 1
fi

# --- changes that are tried ------------------------------------------------------------------------------------------

mkdir "$folder/generated"
gcc -std=c11 -I. plan/generate/*.c "$BUILD/signature.o" "$BUILD/objects/plan/checks/trail.o" -o "$folder/generator" -lm

# changed FILE EXPRESSION: changes a copy of plan.fbs or ops.def with sed, and makes the format of the copy. False if the
# generator refuses the schema; the table is only read.
changed() {
    cp plan/plan.fbs plan/ops.def "$folder"
    sed -i "$2" "$folder/$1"
    ! cmp -s "plan/$1" "$folder/$1" || fail "nothing to change in $1: $2"
    flatc --binary --schema --bfbs-builtins --bfbs-comments -o "$folder" "$folder/plan.fbs" >"$folder/got" &&
        "$folder/generator" "$folder/plan.bfbs" "$folder/generated" >"$folder/got" 2>&1 &&
        tests/end_to_end/unmarked_format "$folder/generated/schema.txt" "$folder/ops.def" >"$folder/format"
}

# found FILE EXPRESSION: the change is found, if the generator does not refuse it.
found() {
    if changed "$1" "$2" && cmp -s tests/golden/format_2.golden "$folder/format"; then fail "not found: $2"; fi
}

# passes FILE EXPRESSION: the change passes.
passes() {
    changed "$1" "$2" || fail "refused: $2"
    diff tests/golden/format_2.golden "$folder/format" >"$folder/got" || fail "does not pass: $2"
}

schedule='/^table Schedule {/,/^}/'
tensor='/^table Tensor /,/^}/'
plan='/^table Plan {/,/^}/'
reduction='/^struct Reduction {/,/^}/'
found plan.fbs "$schedule s/root:/beginning:/"
found plan.fbs "$schedule s/root:uint/root:int/"
found plan.fbs "$schedule s/root:uint/root:uint = 1/"
found plan.fbs "$schedule s/^  root:.*/&\n  extra:uint;/"
found plan.fbs "$schedule s/^}/  extra:uint;\n}/"
found plan.fbs "$schedule s/^  tensor:.*//"
found plan.fbs "$plan s/check_loss:bool = true/check_loss:bool/"
found plan.fbs "$tensor s/(required, max: 8)/(required, max: 9)/"
found plan.fbs "$tensor s/(required, max: 8)/(required, max: 7)/"
found plan.fbs "$tensor s/(required, max: 8)/(max: 8)/"
found plan.fbs "$tensor s/(ascii, max: 200)/(max: 200)/"
found plan.fbs "$reduction s/chunk:uint/chunk:int/"
found plan.fbs "$reduction s/reserved_low:/meaning:/"
found plan.fbs "$reduction s/reserved_low:uint/reserved_low:ushort/"
found plan.fbs "s/^struct ScheduleNumber {/&\n  reserved_first:double;/"
found plan.fbs 's/{ sequential, permutation }/{ sequential, shuffled, permutation }/'
found plan.fbs 's/{ sequential, permutation }/{ sequential, permutation, shuffled }/'
found plan.fbs 's/{ sequential, permutation }/{ permutation, sequential }/'
found plan.fbs 's/{ sequential, permutation }/{ sequential }/'
found plan.fbs 's/^enum SamplerKind : ubyte/enum SamplerKind : ushort/'
passes plan.fbs "$schedule s/^}/  extra:uint (since: 1);\n}/"
passes plan.fbs "s/^table Schedule {/table Schedule (relaxed: 1) {/"
passes plan.fbs "$plan s/^}/  extras:[Extra] (since: 3, max: 4);\n}\n\ntable Extra {\n  number:uint (since: 2);\n}/"
passes plan.fbs "$tensor s/(required, max: 8)/(required, max: 9, raised: \"8 1\")/"
passes plan.fbs "$reduction s/reserved_low:uint/meaning:uint (since: 1)/"
passes plan.fbs 's/^\(enum SamplerKind : ubyte\) \(.*\) }/\1 (since: "shuffled 1") \2, shuffled }/'

add='/^FIRN_OP(add,/,/)$/'
dropout='/^FIRN_OP(dropout,/,/)$/'
cross='/^FIRN_OP(cross_entropy,/,/)$/'
new='FIRN_OP(none, 999, declared, none, none, "text", .inputs = "x:real[...]", .outputs = "y:real[=x]"'
found ops.def "$add s/(add, 10,/(add, 999,/"
found ops.def "$dropout s/rate:rate/rate:finite/"
found ops.def "$dropout s/rng_id:rng_id/rng_id:int31/"
found ops.def "$dropout s/rng_id:rng_id/rng_id:rng_id form:flag/"
found ops.def "$dropout s/, .reals = \"rate:rate\"//"
found ops.def "$cross s/logits:real\[N,V\] labels:int32(V)\[N\]/labels:int32(V)[N] logits:real[N,V]/"
found ops.def "$cross s/row_max:float32\[N\] row_sum:float32\[N\]/row_sum:float32[N] row_max:float32[N]/"
found ops.def "$cross s/labels:int32(V)\[N\]/& spare:float32[1]?/"
found ops.def "$cross s/logits:real/logits:float32/"
found ops.def "$cross s/row_sum:float32\[N\]/&!/"
found ops.def "/^FIRN_OP(linear_backward_weight,/,/)$/ s/x:@dy/&|float32/"
found ops.def "$add d"
found ops.def "\$ s/\$/\n$new)/"
passes ops.def "$dropout s/rng_id:rng_id/& form:flag=0^1/"
passes ops.def "$dropout s/rate:rate/& other:rate=0.5^2/"
passes ops.def "$add s/, .autocast/, .integers = \"form:flag=1^1\"&/"
passes ops.def "$cross s/labels:int32(V)\[N\]/& spare:float32[1]?^3/"
passes ops.def "$cross s/row_sum:float32\[N\]/& spare:float32[1]!^4/"
passes ops.def "$cross s/logits:real\[N,V\] /&\" \"/"
passes ops.def "/^FIRN_OP(linear_backward_weight,/,/)$/ s/x:@dy/&|float32^1/"
passes ops.def "\$ s/\$/\n$new, .since = 5)/"

[ "$failures" -eq 0 ]
