#!/bin/sh
# What plan/FORMAT.md promises under "What may change, and how". A copy of the sources gets one new thing of each kind: a
# field, a value of an enumeration, an op, an attribute, an operand and a raised limit, each with a minor version of its
# own. Then
#     - the runtime of these sources refuses a plan that uses one of them from the header alone, and names both versions;
#     - the runtime of the copy runs it;
#     - a plan of the copy that uses nothing new needs what it needed before, is byte for byte the same but for the hash of
#       the schema, and runs on the runtime of these sources;
#     - the runtime of the copy runs the plans of these sources to the same digests.
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
patch plan/plan.fbs "s/^\(enum PolOrigin : ubyte\) {\(.*\)}/\1 (since: \"guess $((minor + 2))\") {\2, guess }/"
cat >>"$new/plan/ops.def" <<end
FIRN_OP(lookup, 250, embedding, none, none, "rows of a table", .inputs = "ids:int32(V)[...] table:float32[V,C]",
        .outputs = "y:real[own: those of ids,C]", .since = $((minor + 3)))
end
patch plan/ops.def "/^FIRN_OP(embedding,/,/)\$/s/table:float32\[V,C\]\"/table:float32[V,C] spare:float32[...]?^$((minor + 5))\", .integers = \"hint:flag=0^$((minor + 4))\"/"
patch plan/plan.fbs "s/^\(  compiler:string (required, ascii, max: \)200)/\1400, raised: \"200 $((minor + 6))\")/"
cat >>"$new/runtime/kernels/embedding.c" <<'end'

void firn_kernel_lookup(const firn_kernel_call *call) {
    firn_kernel_embedding(call);
}
end
# Without the kernel sets of x86, which take the longest to compile.
patch Makefile 's/^ifneq ($(filter x86_64 i%86 amd64,$(shell uname -m)),)$/ifneq (,)/'
[ "$failures" -eq 0 ] || exit 1

# Objects whose sources are as before are used again, if the lists of their headers hold in the copy.
mkdir -p "$built"
if [ "$place" = "$BUILD" ]; then
    cp -a "$BUILD/flags" "$BUILD/mbedtls" "$BUILD/objects" "$built"
    rm -rf "$built/objects/runtime/kernels"
fi
build() {
    ${MAKE:-make} -s --no-print-directory -C "$new" BUILD="$place" "$@" >"$folder/log" 2>&1 || {
        tail -n 20 "$folder/log"
        echo "the copy does not build"
        exit 1
    }
}
build generate
build -j2 "$place/firnc" "$place/firn"
gcc -std=c11 -I"$new" "$new/tests/end_to_end/new_plans.c" "$new/tests/unit/support_signed_plans.c" "$built/libfirnc.a" \
    "$built/libfirn.a" -lcmocka -lmbedcrypto -lm -o "$folder/new_plans"

grep -qx "#define FIRN_FORMAT_MINOR $((minor + 6))u" "$new/plan/generated/version.h" || fail "the copy has another minor version"
tests/end_to_end/unmarked_format plan/generated/schema.txt plan/ops.def >"$folder/old.txt"
tests/end_to_end/unmarked_format "$new/plan/generated/schema.txt" "$new/plan/ops.def" >"$folder/new.txt"
cmp -s "$folder/old.txt" "$folder/new.txt" || fail "the marks do not stand at what is new"

# --- plans that use something new ----------------------------------------------------------------------------------

"$folder/new_plans" "$folder"
tr -dc a-h </usr/share/common-licenses/GPL-3 | tr a-h '\000-\007' >"$folder/data"

# run RUNTIME NAME: trains with a plan of new_plans for a few steps.
run() {
    "$1/firn" train "$folder/$2.plan" --pub "$folder/new.pub.pem" --data "$folder/data" --steps 6 --quiet
}

expect "nothing new on the old runtime" 0 "" run "$BUILD" nothing
cp "$folder/out" "$folder/digest"
grep -Eqx 'digest [0-9a-f]{64}' "$folder/digest" || fail "no digest"
expect "nothing new on the new runtime" 0 "" run "$built" nothing
cmp -s "$folder/out" "$folder/digest" || fail "nothing new: another digest on the new runtime"

needs=$minor
for thing in field value op attribute operand limit; do
    needs=$((needs + 1))
    refusal="(FORMAT_VERSION); the plan needs format 2\.$needs; this runtime has 2\.$minor"
    expect "$thing on the old runtime" 3 "$refusal" run "$BUILD" $thing
    expect "$thing on the new runtime" 0 "" run "$built" $thing
    cmp -s "$folder/out" "$folder/digest" || fail "$thing: another digest on the new runtime"
    # Nothing behind the header is needed to refuse it.
    { head -c 256 "$folder/$thing.plan" && tail -c +257 "$folder/$thing.plan" | tr '\000-\377' '\252'; } >"$folder/gone.plan"
    expect "the header of $thing on the old runtime" 3 "$refusal" run "$BUILD" gone
    expect "the header of $thing on the new runtime" 3 "(SIGNATURE)" run "$built" gone
done

# --- plans that use nothing new ------------------------------------------------------------------------------------

"$BUILD/firnc" keygen "$folder/key" >"$folder/out"
for recipe in small_gpt2 small_mlp; do
    for mode in train eval; do
        for programs in "$BUILD" "$built"; do
            [ "$programs" = "$BUILD" ] && by=old || by=new
            expect "$recipe $mode by the $by compiler" 0 "" "$programs/firnc" compile "compiler/recipes/$recipe.yaml" \
                --mode $mode --key "$folder/key.key.pem" -o "$folder/$recipe.$mode.$by"
        done
        # Bytes 80 to 111 are the hash of the schema, the last 64 the signature; cmp counts from 1.
        size=$(wc -c <"$folder/$recipe.$mode.old")
        [ "$size" -eq "$(wc -c <"$folder/$recipe.$mode.new")" ] || fail "$recipe $mode: the new compiler's plan has another length"
        cmp -l "$folder/$recipe.$mode.old" "$folder/$recipe.$mode.new" >"$folder/differences" || true
        awk -v size="$size" '$1 <= 80 || ($1 > 112 && $1 <= size - 64) { exit 1 }' "$folder/differences" ||
            fail "$recipe $mode: the new compiler's plan differs"
        [ "$(awk '$1 <= 112' "$folder/differences" | wc -l)" -ge 16 ] || fail "$recipe $mode: the copy has the same schema"
    done
done

# small_run RUNTIME COMPILER: trains for three steps, evaluates, and prints the digest and the result.
small_run() {
    "$1/firn" train "$folder/small_gpt2.train.$2" --pub "$folder/key.pub.pem" --data /usr/share/common-licenses/GPL-3 \
        --steps 3 --quiet --checkpoint "$folder/checkpoint" &&
        "$1/firn" eval "$folder/small_gpt2.eval.$2" --pub "$folder/key.pub.pem" --data /usr/share/common-licenses/GPL-3 \
            --quiet --checkpoint "$folder/checkpoint" && rm "$folder/checkpoint"
}

expect "the old plans on the old runtime" 0 "" small_run "$BUILD" old
cp "$folder/out" "$folder/result"
[ "$(grep -c . "$folder/result")" -ge 2 ] || fail "no digest and no result"
expect "the old plans on the new runtime" 0 "" small_run "$built" old
cmp -s "$folder/out" "$folder/result" || fail "the old plans: another result on the new runtime"
expect "the new plans on the old runtime" 0 "" small_run "$BUILD" new
cmp -s "$folder/out" "$folder/result" || fail "the new plans: another result on the old runtime"

[ "$failures" -eq 0 ]
