#!/bin/sh
# The loops of tests (tests/README.md): slices of `make test-all` have each part of each test once; a run fails with its
# first failing test, and if a test does not arrive; parts take each case once; a test without a budget, a budget without a
# test, and a landing whose number was not raised are refused in one line.
set -eu

. tests/end_to_end/expectations
root=$PWD

# --- the tests of this repository ---

tests/run.sh --list --loop all | sort >"$folder/all"
for slice in 0 1 2 3 4 5 6 7; do
    tests/run.sh --list --slice $slice/8
done | sort >"$folder/slices"
cmp -s "$folder/all" "$folder/slices" || fail "the slices are not the whole: $(diff "$folder/all" "$folder/slices" | head -n 5)"
[ "$(sort -u "$folder/all" | wc -l)" -eq "$(wc -l <"$folder/all")" ] || fail "a part is there twice"
ls tests/end_to_end/*.sh tests/unit/test_*.c | sed 's|^tests/||; s|\.[a-z]*$||; /^unit/{p;s|^unit|sanitized|;}' | sort -u >"$folder/tests"
awk '{ print $2 }' "$folder/all" | sort -u | cmp -s - "$folder/tests" || fail "a test is in no slice"
parts=$(tests/run.sh --list --long all | wc -l)
[ "$parts" -gt 10 ] || fail "hardly a part of the exhaustive forms"
[ "$(tests/run.sh --list --long 3)" = "$(tests/run.sh --list --long $((3 + parts)))" ] || fail "the exhaustive forms do not go round"
# With the same seed the same cases, with another one others.
for seed in 1 1 2; do
    FIRN_TEST_SEED=$seed tests/run.sh --list --loop test >"$folder/seed.$seed.$((seeds = ${seeds:-0} + 1))"
done
cmp -s "$folder/seed.1.1" "$folder/seed.1.2" || fail "other cases with the same seed"
! cmp -s "$folder/seed.1.1" "$folder/seed.2.3" || fail "the same cases with another seed"

# What scripts believe is built is what make builds.
for loop in all test; do
    (FIRN_TEST_LOOP=$loop && . tests/end_to_end/variants && printf '%s\n' $variants | sort >"$folder/variants.$loop")
done
make -s -p -n -f Makefile no-such-goal 2>"$folder/log" >"$folder/variables" </dev/null || true
for list in VARIANTS:all COVERING:test; do
    sed -n "s/^${list%:*} := //p" "$folder/variables" | tr -s ' ' '\n' | grep . | sort | cmp -s - "$folder/variants.${list#*:}" ||
        fail "tests/end_to_end/variants has others than ${list%:*} of runtime/targets/firmware.mk"
done

# --- three small tests ---

mkdir -p "$folder/small/tests/end_to_end" "$folder/small/tests/unit"
cp tests/run.sh "$folder/small/tests"
cp tests/end_to_end/expectations tests/end_to_end/machine "$folder/small/tests/end_to_end"
cd "$folder/small"
printf '#!/bin/sh\necho "skipped for want of a CPU feature: any"\n' >tests/end_to_end/good.sh
printf '#!/bin/sh\necho of this kind; exit 3\n' >tests/end_to_end/bad.sh
cat >tests/end_to_end/parts.sh <<'end'
#!/bin/sh
. tests/end_to_end/expectations
for case in 1 2 3 4 5 6 7; do
    ! takes_next || echo $case >>cases
done
end
chmod +x tests/end_to_end/*.sh
budget() {
    printf '%s\n' "$@" >tests/budget
}
run() {
    env -u FIRN_TEST_EVERY -u FIRN_TEST_FROM -u FIRN_TEST_LOOP -u SANITIZED BUILD=built tests/run.sh "$@"
}
budget "end_to_end/good 1 1 1 1" "end_to_end/bad - - 1 1" "end_to_end/parts 3 1 3 3"
: >cases
expect "what passes" 0 "" run --loop test
grep -q '^2 passed, 0 failed, of 2; 1 in part skipped' "$folder/out" || fail "not two that passed"
[ "$(wc -l <cases)" -ge 2 ] && [ "$(wc -l <cases)" -le 3 ] || fail "one of three cases is not two or three of seven"
: >cases
status=0
run --loop all >"$folder/out" 2>&1 || status=$?
[ $status -ne 0 ] || fail "a failure passes"
grep -q '^FAILED  end_to_end/bad .* exit 3;' "$folder/out" && grep -q 'of this kind' "$folder/out" || fail "a failure does not show its log"
[ "$(sort cases | tr '\n' ' ')" = "1 2 3 4 5 6 7 " ] || fail "the parts do not take each case once: $(sort cases | tr '\n' ' ')"
status=0
run --list --loop test >list
{ cat list && echo "none end_to_end/late 1 1 0"; } >longer
run --from longer <list >"$folder/out" 2>&1 || status=$?
[ $status -ne 0 ] && grep -q '^2 passed, 0 failed, of 3;' "$folder/out" && grep -q '^not run, .*: end_to_end/late$' "$folder/out" ||
    fail "a test that does not arrive is not missed"
status=0
run --from longer </dev/null >"$folder/out" 2>&1 || status=$?
[ $status -ne 0 ] && grep -q '^not run, .*: end_to_end/good end_to_end/late end_to_end/parts$' "$folder/out" ||
    fail "no test arrives, and not each is named"
for wrong in "--loop some" "--slice 8/8" "--slice a/b" "--long some" "--any" "end_to_end/none"; do
    # shellcheck disable=SC2086 # several words
    expect "run.sh $wrong" 2 '^tests/run.sh: ' run $wrong
done
expect "a seed that is none" 2 'FIRN_TEST_SEED=-5 is no number' env FIRN_TEST_SEED=-5 BUILD=built tests/run.sh --loop test

# A test that does not end is stopped, also if it ignores that; so is one that is interrupted. Two runs do not mix.
printf '#!/bin/sh\ntrap "" TERM\nsleep 60 & echo $! >sleeping; wait\nsleep 60\n' >tests/end_to_end/bad.sh
begin=$(date +%s)
status=0
env TEST_SECONDS=1 BUILD=built tests/run.sh end_to_end/bad >"$folder/out" 2>&1 || status=$?
[ $status -ne 0 ] && grep -q 'stopped after 1 s' "$folder/out" && [ $(($(date +%s) - begin)) -lt 40 ] || fail "a test goes on behind its limit"
printf '#!/bin/sh\nsleep 61 & echo $! >sleeping; wait\n' >tests/end_to_end/bad.sh
rm -f sleeping
env BUILD=built tests/run.sh end_to_end/bad >"$folder/out" 2>&1 &
runner=$!
while [ ! -s sleeping ]; do sleep 0.1; done
expect "a second run in one folder" 2 'another run of tests uses built' run end_to_end/good
# Only of this folder: another run of this test may have a process of the same words.
for process in /proc/[0-9]*; do
    [ "$(readlink "$process/cwd" 2>"$folder/log")" = "$(pwd -P)" ] || continue
    ! cat "$process/cmdline" 2>"$folder/log" | tr '\0' ' ' | grep -q 'run.sh --one tests/end_to_end/bad.sh' || kill -TERM "${process#/proc/}"
done
wait $runner || true
sleep 1
# It is gone, or only waits for its parent to ask how it ended.
state=$(awk '{ print $3 }' "/proc/$(cat sleeping)/stat" 2>"$folder/log" || echo Z)
[ "$state" = Z ] || fail "an interrupted test goes on"
rm -f "$folder/out"
printf '#!/bin/sh\necho of this kind; exit 3\n' >tests/end_to_end/bad.sh
budget "end_to_end/good 1 1 1 1" "end_to_end/bad - - 1 1"
expect "no budget" 2 'end_to_end/parts has no budget' run --loop test
budget "end_to_end/good 1 1 1 1" "end_to_end/bad - - 1 1" "end_to_end/parts 3 1 3 3" "unit/test_gone 1 1 1 1"
expect "no test" 2 'unit/test_gone: there is no such test' run --loop test

# --- the number of a landing ---

mkdir -p "$folder/landing/.ci"
cp "$root/.ci/check-landing" "$folder/landing/.ci"
cd "$folder/landing"
commit() {
    echo "$1" >.ci/landing
    git add -A
    git -c user.name=test -c user.email=test@localhost commit -q -m "$1"
}
git init -q .
commit 7
git branch landed
expect "what was landed" 0 "" .ci/check-landing landed
commit 8
expect "one more" 0 "" .ci/check-landing landed
for number in 7 9 eight; do
    commit $number
    expect "landing $number after 7" 1 'write \(8\|the one of\)' .ci/check-landing landed
done
expect "no commit to compare with" 0 "" sh -c 'echo 3 >.ci/landing; .ci/check-landing'

[ $failures -eq 0 ]
