#!/bin/sh
# Runs tests that are built, two at a time, and prints one line for each and a summary. tests/check builds what they need
# first; make calls that. A test passes if it exits with 0 within its time limit. A test that cannot be started fails, and so
# does a run that ends early.
#
#     tests/run.sh [--list] --loop test [WORD]...   what `make test` runs: names that contain one of the words
#     tests/run.sh [--list] --loop all [WORD]...    what `make test-all` runs
#     tests/run.sh [--list] --slice N/K             slice N of K of the same, from 0 to K - 1
#     tests/run.sh [--list] --long N                part N of the exhaustive forms (FIRN_TEST_EXHAUSTIVE=1), from 0 on; round and
#                                                   round, because there are some dozens; `all`: all of them
#     tests/run.sh [--list] NAME...                 the tests with these names, as unit/test_shapes
#     tests/run.sh --from FILE                      the tests that the file lists, as --list prints them; they arrive on stdin
#                                                   when they can run
#
# --list runs none, but prints for each test: its command, its name, its budget in seconds of CPU, and every and from, which
# say that it takes one case of `every`, beginning with number `from` (FIRN_TEST_EVERY, FIRN_TEST_FROM). tests/budget has
# these numbers. `make test` takes other cases each time; FIRN_TEST_SEED, which is printed, says which. With FIRN_TEST_LOOP=test
# scripts know that tests/check has built the variants of compilers for `make test` (tests/end_to_end/variants).
#
# A kernel set that this CPU cannot run is skipped by the tests, and the summary counts the tests that skipped one, or
# another thing that the machine lacks. Sets that are listed in FIRN_TEST_SETS, as in FIRN_TEST_SETS='avx2 avx512', must not
# be skipped: if the CPU lacks one, the tests fail.
set -u
cd "$(dirname "$0")/.." || exit 2

BUILD=${BUILD:-build}
SANITIZED=${SANITIZED:-$BUILD/sanitized}
export BUILD SANITIZED
logs=$BUILD/test-logs
limit=${TEST_SECONDS:-900}

# wrong TEXT: the command line or the environment asks for what there is not.
wrong() {
    echo "tests/run.sh: $*" >&2
    exit 2
}

# is_number TEXT: digits, and no octal number
is_number() {
    case $1 in
    '' | *[!0-9]* | 0?*) return 1 ;;
    esac
}

is_number "$limit" || wrong "TEST_SECONDS=$limit is no number of seconds"
case $BUILD in *[[:space:]]*) wrong "BUILD=$BUILD: name a folder without spaces" ;; esac

# --one COMMAND NAME SECONDS EVERY FROM: runs a test; prints one line on stdout, followed by the end of the log if it failed.
if [ "${1:-}" = --one ]; then
    name=$3 budget=$4
    log=$logs/$name${6:+-$6}.log
    mkdir -p "$(dirname "$log")"
    [ "$name" = "${name#long/}" ] || export FIRN_TEST_EXHAUSTIVE=1
    [ "$5" = 1 ] || export FIRN_TEST_EVERY="$5" FIRN_TEST_FROM="$6"
    [ "$5" = 1 ] || name="$name, $(($6 + 1)) of $5"
    begin=$(date +%s)
    # In the background, so that an interrupt ends the test at once. Shells let what is there ignore two signals.
    env --default-signal=INT,QUIT timeout -k 10 "$limit" "$2" >"$log" 2>&1 </dev/null &
    test=$!
    trap 'kill $test 2>/dev/null; exit 130' INT TERM HUP
    wait $test
    status=$?
    took=$(($(date +%s) - begin))
    # The second line of `times` is that of the children, as 1m2.345s for user and for system. A pipe would have its own.
    times >"$log.times"
    seconds=$(awk 'NR == 2 { gsub(/[ms]/, " "); printf "%.1f", $1 * 60 + $2 + $3 * 60 + $4 }' "$log.times")
    rm "$log.times"
    if [ $status -eq 0 ]; then
        skipped=
        grep -q '^skipped for want of ' "$log" && skipped="  in part skipped for want of what this machine lacks"
        over=
        awk -v s="$seconds" -v b="$budget" 'BEGIN { exit !(s > 2 * b + 1) }' && over="  over its budget of $budget s"
        echo "passed  $name  $seconds s$over$skipped"
    else
        reason="exit $status"
        [ $took -ge "$limit" ] && reason="stopped after $limit s"
        printf 'FAILED  %s  %s s  %s; the end of %s:\n%s\n' "$name" "$seconds" "$reason" "$log" \
            "$(tail -n 25 "$log" | sed 's/^/    /')"
    fi
    exit 0
fi

# Prints "command name" for each test there is.
all_tests() {
    for script in tests/end_to_end/*.sh; do
        echo "$script end_to_end/$(basename "$script" .sh)"
    done
    for source in tests/unit/test_*.c; do
        [ -e "$source" ] || continue
        test=$(basename "$source" .c)
        echo "$BUILD/tests/$test unit/$test"
        echo "$SANITIZED/tests/$test sanitized/$test"
    done
}

# Prints "command name seconds every from" for each test of a loop, in the order of tests/budget; a test in parts has a line
# for each. A test that has no budget, and a budget of no test, is an error.
planned() {
    all_tests | awk -v loop="$1" -v seed="$FIRN_TEST_SEED" '
        FNR == NR { command[$2] = $1; next }
        /^#/ || !NF { next }
        { name = $1; sub(/^long\//, "", name) }
        !(name in command) { if (loop == "any") next; print "tests/budget: " $1 ": there is no such test" > "/dev/stderr"; wrong = 1; next }
        name != $1 {
            if (loop == "long") for (part = 0; part < $4; part++) print command[name], $1, $5 / $4, $4, part
            next
        }
        { budgeted[$1] = 1 }
        loop == "test" && $2 != "-" { print command[$1], $1, $3, $2, seed % $2 }
        loop == "all" { for (part = 0; part < $4; part++) print command[$1], $1, $5 / $4, $4, part }
        loop == "any" { print command[$1], $1, $5, 1, 0 }
        END {
            for (name in command)
                if (!(name in budgeted) && loop == "any")
                    print command[name], name, 0, 1, 0
                else if (!(name in budgeted)) {
                    print "tests/budget: " name " has no budget; tests/README.md says how one is found" > "/dev/stderr"
                    wrong = 1
                }
            exit wrong
        }' - tests/budget
}

# Prints of the lines on stdin those whose name contains a word.
with_words() {
    awk -v words="$*" 'BEGIN { count = split(words, word, " ") }
        { for (i = 1; i <= count; i++) if (index($2, word[i])) { print; next } if (!count) print }'
}

# Prints the lines of a slice: the tests stand in the order of what they need, and slices take equally long.
slice() {
    awk -v number="${1%/*}" -v slices="${1#*/}" '
        { line[NR] = $0; seconds[NR] = $3; total += $3 }
        END {
            for (i = 1; i <= NR; i++) {
                if (int((sum + seconds[i] / 2) * slices / total) == number) print line[i]
                sum += seconds[i]
            }
        }'
}

list=
if [ "${1:-}" = --list ]; then
    list=1
    shift
fi
FIRN_TEST_SEED=${FIRN_TEST_SEED:-$(date +%s)}
is_number "$FIRN_TEST_SEED" || wrong "FIRN_TEST_SEED=$FIRN_TEST_SEED is no number"
export FIRN_TEST_SEED
lines=
case ${1:-} in
--from) [ -z "$list" ] && [ -r "${2:-}" ] || wrong "--from takes a file that lists tests" ;;
--loop)
    case ${2:-} in test | all | any) ;; *) wrong "--loop takes test, all or any, and not \"${2:-}\"" ;; esac
    loop=$2
    shift 2
    lines=$(planned "$loop") || exit 2
    lines=$(echo "$lines" | with_words "$@")
    ;;
--slice)
    number=${2:-} slices=${2:-}
    number=${number%/*} slices=${slices#*/}
    is_number "$number" && is_number "$slices" && [ "$number" -lt "$slices" ] ||
        wrong "--slice takes N/K with N from 0 to K - 1, and not \"${2:-}\""
    lines=$(planned all) || exit 2
    lines=$(echo "$lines" | slice "$2")
    ;;
--long)
    is_number "${2:-}" || [ "${2:-}" = all ] || wrong "--long takes a number or all, and not \"${2:-}\""
    lines=$(planned long) || exit 2
    [ "$2" = all ] || lines=$(echo "$lines" | awk -v number="$2" '{ line[NR - 1] = $0 } END { print line[number % NR] }')
    ;;
-* | '') wrong "${1:-no test is named}: the head of tests/run.sh has the options" ;;
*)
    all=$(planned any) || exit 2
    lines=$(for name; do echo "$all" | awk -v name="$name" '$2 == name'; done)
    for name; do
        echo "$lines" | grep -q " $name " || wrong "there is no test $name"
    done
    ;;
esac
if [ -n "$list" ]; then
    # The longest first, so that none of them runs alone at the end.
    echo "$lines" | grep . | sort -k 3,3nr -s
    exit 0
fi

# Two runs would write the same logs.
mkdir -p "$BUILD"
exec 9>"$BUILD/test-lock"
if command -v flock >/dev/null && ! flock -n 9; then
    wrong "another run of tests uses $BUILD; wait for it, or give another folder (BUILD=)"
fi
rm -rf "$logs"
mkdir -p "$logs"
# Tests need the NumPy of .packages/list, which is installed for Debian's python3. Another python3 may come first in PATH.
if ! python3 -c 'import numpy' 2>/dev/null && /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    mkdir "$logs/programs"
    ln -s /usr/bin/python3 "$logs/programs/python3"
    PATH=$(cd "$logs/programs" && pwd):$PATH
    export PATH
fi
run() {
    tee "$logs/list" | xargs -r -P 2 -n 5 "$0" --one 9>&- | tee "$logs/results"
}

if [ "${1:-}" = --from ]; then
    listed=$(wc -l <"$2")
    run
    missing=$(awk -v list="$logs/list" 'FILENAME == list { came[$2, $5]; next } !(($2, $5) in came) { print $2 }' \
        "$logs/list" "$2" | sort -u)
    [ -z "$missing" ] || echo "not run, because what they need was not built: $(echo $missing)"
else
    listed=$(echo "$lines" | grep -c .)
    echo "$lines" | grep . | sort -k 3,3nr -s | run
fi
passed=$(grep -c '^passed ' "$logs/results")
failed=$(grep -c '^FAILED ' "$logs/results")
skipped=$(grep -c '^passed .* skipped for want' "$logs/results")
over=$(grep -c '^passed .* over its budget' "$logs/results")
! awk '$4 > 1 { found = 1 } END { exit !found }' "$logs/list" || echo "FIRN_TEST_SEED=$FIRN_TEST_SEED takes the same cases"
echo "$passed passed, $failed failed, of $listed; $skipped in part skipped for want of what this machine lacks; $over over budget"
[ "$passed" -eq "$listed" ] && [ "$listed" -gt 0 ]
