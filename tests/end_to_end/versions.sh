#!/bin/sh
# What plan/FORMAT.md promises under "What may change, and how". A copy of the sources gets one new thing of each kind: a
# field, a value of an enumeration, an op, an attribute, an operand, a raised limit, a meaning for a reserved member of a
# struct and a rule that is relaxed, each with a minor version of its own. Then
#     - the runtime of these sources refuses a plan that uses one of them from the header alone, and names both versions;
#     - the runtime of the copy runs it;
#     - a plan of the copy that uses nothing new needs minor version 0, is byte for byte the same but for the hash of the
#       schema, which the signature follows, and runs on the runtime of these sources;
#     - the runtime of the copy runs the plans of these sources to the same digests.
#
# Needs: tools
set -eu

. tests/end_to_end/expectations

new=$folder/new
case $BUILD in
/*) place=build ;;
*) place=$BUILD ;;
esac
built=$new/$place
minor=$(sed -n 's/^#define FIRN_FORMAT_MINOR \([0-9]*\)u$/\1/p' plan/generated/version.h)

# --- the copy ------------------------------------------------------------------------------------------------------

mkdir "$new"
git ls-files --cached --others --exclude-standard >"$folder/files" 2>/dev/null || true
[ -s "$folder/files" ] || find . -type f ! -path './build/*' ! -path './.cache/*' >"$folder/files"
tar -c -T "$folder/files" --ignore-failed-read 2>"$folder/log" | tar -x -C "$new"
ln -s "$PWD/.cache" "$new/.cache"

# patch FILE EXPRESSION: changes the file in the copy with sed, and fails if that changes nothing.
patch() {
    cp "$new/$1" "$folder/before"
    sed -i "$2" "$new/$1"
    ! cmp -s "$folder/before" "$new/$1" || fail "nothing to change in $1: $2"
}

patch plan/plan.fbs "/^table Plan {/,/^}/s/^}/  remark:uint (since: $((minor + 1)));\n}/"
patch plan/plan.fbs "s/^\(enum MicroBatchOrder : ubyte (since: \"tree 3\)\") {\(.*\) }/\1, any $((minor + 2))\") {\2, any }/"
cat >>"$new/plan/ops.def" <<end
FIRN_OP(lookup, 9000, embedding, none, none, "rows of a table", .inputs = "ids:int32(V)[...] table:float32[V,C]",
        .outputs = "y:real[own: those of ids,C]", .since = $((minor + 3)))
end
patch plan/ops.def "/^FIRN_OP(embedding,/,/)\$/s/table:float32\[V,C\]\"/table:float32[V,C] spare:float32[...]?^$((minor + 5))\", .integers = \"hint:count=7^$((minor + 4))\"/"
patch plan/plan.fbs "/^table Input {/,/^}/s/\(name:string (required, ascii, max: \)200)/\1400, raised: \"200 $((minor + 6))\")/"
patch plan/plan.fbs "/^struct ScheduleNode {/,/^}/s/reserved:ulong;/patience:ulong (since: $((minor + 7)));/"
patch schedules/schedule.c 's/node->reserved == 0/node->reserved <= 9/'
# A constant initialiser may have an rng_id.
patch plan/plan.fbs "s/^table Initialiser {/table Initialiser (relaxed: $((minor + 8))) {/"
patch plan/checks/semantics_fields.c 's/if (initialiser->rng_id != 0)/if (initialiser->rng_id > 9)/'
patch plan/needs.c "s/^    return ops > needs ? ops : needs;/    firn_fb_plan plan = firn_fb_plan_root(flatbuffers);\\n\
    for (uint32_t i = 0; i < firn_fb_plan_initialisers_count(plan); i++)\\n\
        if (firn_fb_initialiser_rule(firn_fb_plan_initialisers_at(plan, i)) == FIRN_FB_INITIALISER_RULE_CONSTANT \&\&\\n\
            firn_fb_initialiser_rng_id(firn_fb_plan_initialisers_at(plan, i)) != 0)\\n\
            ops = $((minor + 8));\\n&/"
# The default of the attribute means what the op did before; any other value empties the result.
patch runtime/kernels/embedding.c '/^void firn_kernel_embedding(/,/^}/s/^}/    if (call->integers[FIRN_EMBEDDING_HINT] != 7)\n        clear(call->outputs[FIRN_EMBEDDING_OUT_Y].data, call->outputs[FIRN_EMBEDDING_OUT_Y].elements);\n}/'
cat >>"$new/runtime/kernels/embedding.c" <<'end'

void firn_kernel_lookup(const firn_kernel_call *call) {
    firn_split(call, call->inputs[0].elements, 2, embedding_rows);
}
end
[ "$failures" -eq 0 ] || exit 1

# Objects whose sources are as before are used again, if the lists of their headers hold in the copy.
mkdir -p "$built"
if [ "$place" = "$BUILD" ]; then
    cp -a "$BUILD/flags" "$BUILD/mbedtls" "$BUILD/signing" "$BUILD/objects" "$built"
    rm -rf "$built/objects/runtime/kernels"
fi
build() {
    # Without the kernel sets of x86, which take the longest to compile.
    ${MAKE:-make} -s --no-print-directory -C "$new" BUILD="$place" PORTABLE=1 "$@" >"$folder/log" 2>&1 || {
        tail -n 20 "$folder/log"
        echo "the copy does not build"
        exit 1
    }
}
build generate
build -j2 "$place/firnc" "$place/firn" "$place/libsigning.a" "$place/objects/tests/unit/support_builder.o"
gcc -std=c11 -I"$new" "$new/tests/end_to_end/new_plans.c" "$new/tests/unit/support_signed_plans.c" \
    "$built/objects/tests/unit/support_builder.o" "$built/libfirnc.a" "$built/libsigning.a" "$built/libfirn.a" -lcmocka -lm -o "$folder/new_plans"

grep -qx "#define FIRN_FORMAT_MINOR $((minor + 8))u" "$new/plan/generated/version.h" || fail "the copy has another minor version"
tests/end_to_end/unmarked_format plan/generated/schema.txt plan/ops.def >"$folder/old.txt"
tests/end_to_end/unmarked_format "$new/plan/generated/schema.txt" "$new/plan/ops.def" >"$folder/new.txt"
diff "$folder/old.txt" "$folder/new.txt" >"$folder/out" || fail "the marks do not stand at what is new"

# --- plans that use something new ----------------------------------------------------------------------------------

"$folder/new_plans" "$folder" >"$folder/out" 2>&1 || fail "plans, or attributes that are left out, in memory for decoded ops and without"
tr -dc a-h </usr/share/common-licenses/GPL-3 | tr a-h '\000-\007' >"$folder/data"

# run RUNTIME NAME: trains with a plan of new_plans for a few steps.
run() {
    "$1/firn" train "$folder/$2.plan" --pub "$folder/new.pub.pem" --data "$folder/data" --steps 6 --quiet
}

# needed PLAN: the minor version that a plan needs.
needed() {
    od -A n -t u4 -j 12 -N 4 "$1" | tr -d ' '
}

# only BYTES NAME: leaves the first bytes of the plan as they are, and overwrites all others.
only() {
    { head -c "$1" "$folder/$2.plan" && tail -c +$(($1 + 1)) "$folder/$2.plan" | tr '\000-\377' '\252'; } >"$folder/gone.plan"
}

[ "$(needed "$folder/nothing.plan")" -eq 0 ] || fail "nothing new: the plan needs minor version $(needed "$folder/nothing.plan")"
expect "nothing new on the old runtime" 0 "" run "$BUILD" nothing
cp "$folder/out" "$folder/digest"
grep -Eqx 'digest [0-9a-f]{64}' "$folder/digest" || fail "no digest"
expect "nothing new on the new runtime" 0 "" run "$built" nothing
cmp -s "$folder/out" "$folder/digest" || fail "nothing new: another digest on the new runtime"

needs=$minor
for thing in field value op attribute operand limit member rule; do
    needs=$((needs + 1))
    versions="needs format 2\.$needs, and this runtime has 2\.$minor (FORMAT_VERSION); use a newer firn"
    [ "$(needed "$folder/$thing.plan")" -eq $needs ] || fail "$thing: the plan needs minor version $(needed "$folder/$thing.plan")"
    expect "$thing on the old runtime" 3 "^firn: $folder/$thing.plan: $versions" run "$BUILD" $thing
    for command in "verify --pub $folder/new.pub.pem" inspect; do
        # shellcheck disable=SC2086 # a command and its option
        expect "the old firnc $command of $thing" 3 "^firnc: $folder/$thing.plan: refused: it needs format 2\.$needs, and this \
version of firnc has 2\.$minor (FORMAT_VERSION); use a newer firnc" "$BUILD/firnc" $command "$folder/$thing.plan"
        # shellcheck disable=SC2086
        expect "the new firnc $command of $thing" 0 "" "$built/firnc" $command "$folder/$thing.plan"
    done
    expect "$thing on the new runtime" 0 "" run "$built" $thing
    grep -Eqx 'digest [0-9a-f]{64}' "$folder/out" || fail "$thing: no digest on the new runtime"
    if [ $thing = attribute ]; then
        cmp -s "$folder/out" "$folder/digest" && fail "the attribute has no effect"
    else
        cmp -s "$folder/out" "$folder/digest" || fail "$thing: another digest on the new runtime"
    fi
    # Nothing behind the header is needed to refuse it, nor anything in it but magic and version.
    only 512 $thing
    expect "the header of $thing on the old runtime" 3 "$versions" run "$BUILD" gone
    expect "the header of $thing on the new runtime" 3 "(SIGNATURE)" run "$built" gone
    only 16 $thing
    expect "the version of $thing on the old runtime" 3 "$versions" run "$BUILD" gone
    expect "the version of $thing on the new runtime" 3 "(HEADER)" run "$built" gone
done

# --- plans that use nothing new ------------------------------------------------------------------------------------

# Text, and 64 images of 28 x 28 bytes with labels from 0 to 9, as IDX.
cat /usr/share/common-licenses/GPL-3 /usr/share/common-licenses/GPL-2 >"$folder/text"
{
    printf '\0\0\010\003\0\0\0\100\0\0\0\034\0\0\0\034'
    head -c $((64 * 784)) "$folder/text"
} >"$folder/images"
{
    printf '\0\0\010\001\0\0\0\100'
    head -c 64 "$folder/text" | tr -c 'a-i' 'j' | tr 'a-j' '\000-\011'
} >"$folder/labels"

"$BUILD/firnc" keygen "$folder/key" >"$folder/out"

# trained RUNTIME NAME: trains for three steps with a plan, evaluates, and prints the digest and the result.
trained() {
    rm -f "$folder/checkpoint"
    # shellcheck disable=SC2086 # several options
    "$1/firn" train "$folder/$2.train" --pub "$folder/key.pub.pem" $data --steps 3 --quiet --checkpoint "$folder/checkpoint" &&
        "$1/firn" eval "$folder/$2.eval" --pub "$folder/key.pub.pem" $data --quiet --checkpoint "$folder/checkpoint"
}

# unchanged NAME MINOR RECIPE DATA [SETTING]...: compiles a recipe in both modes with the old compiler and the new one.
# The training plan needs this minor version; the other one 3, for a last batch that may be short, and 0 where $whole says that
# batches are whole. The plans are the same, and both runtimes run all of them to the same result.
whole=
unchanged() {
    case_name=$1
    minor=$2
    recipe=compiler/recipes/$3.yaml
    data=$4
    shift 4
    for setting in "$@"; do
        set -- "$@" --set "trainer.init.$setting"
        shift
    done
    [ -z "$whole" ] || set -- "$@" --set trainer.validate.val_dataloader.drop_last=true
    for mode in train eval; do
        for by in old new; do
            [ $by = old ] && programs=$BUILD || programs=$built
            expect "$case_name $mode by the $by compiler" 0 "" "$programs/firnc" compile "$recipe" --mode $mode \
                --key "$folder/key.key.pem" -o "$folder/$by.$mode" "$@"
            wanted_minor=$minor
            [ $mode = train ] || wanted_minor=${whole:-3}
            [ "$(needed "$folder/$by.$mode")" -eq $wanted_minor ] ||
                fail "$case_name $mode: the plan of the $by compiler does not need $wanted_minor"
        done
        [ "$(wc -c <"$folder/old.$mode")" -eq "$(wc -c <"$folder/new.$mode")" ] ||
            fail "$case_name $mode: the new compiler's plan has another length"
        # Bytes 80 to 111 are the hash of the schema, 512 to 575 the signature; cmp counts from 1.
        cmp -l "$folder/old.$mode" "$folder/new.$mode" >"$folder/differences" || true
        awk '!(($1 > 80 && $1 <= 112) || ($1 > 512 && $1 <= 576)) { exit 1 }' "$folder/differences" ||
            fail "$case_name $mode: the new compiler's plan differs"
        [ "$(awk '$1 <= 112' "$folder/differences" | wc -l)" -ge 16 ] || fail "$case_name $mode: the copy has the same schema"
    done
    expect "$case_name: the old plans on the old runtime" 0 "" trained "$BUILD" old
    cp "$folder/out" "$folder/result"
    [ "$(grep -c . "$folder/result")" -ge 2 ] || fail "$case_name: no digest and no result"
    for plans in old new; do
        for runtime in "$BUILD" "$built"; do
            expect "$case_name: the $plans plans with $runtime" 0 "" trained "$runtime" $plans
            cmp -s "$folder/out" "$folder/result" || fail "$case_name: another result of the $plans plans with $runtime"
        done
    done
}

dynamic="precision.loss_scaling_factor=dynamic precision.pol_lowering=emulate"
images="--data $folder/images --labels $folder/labels"
unchanged "a GPT-2" 2 small_gpt2 "--data $folder/text" precision.enabled=false
# shellcheck disable=SC2086 # several settings
unchanged "a GPT-2 in float16" 2 small_gpt2 "--data $folder/text" precision.fp16_type=float16 precision.precision_opt_level=1 $dynamic
# shellcheck disable=SC2086
unchanged "a GPT-2 in cbfloat16" 2 small_gpt2 "--data $folder/text" precision.fp16_type=cbfloat16 \
    precision.precision_opt_level=2 $dynamic
whole=0
unchanged "a GPT-2 of whole batches" 2 small_gpt2 "--data $folder/text"
unchanged "an MLP in bfloat16" 0 small_mlp "$images"
whole=
unchanged "an MLP" 0 small_mlp "$images" precision.enabled=false 'optimizer={Adam: {amsgrad: true}}'

[ "$failures" -eq 0 ]
