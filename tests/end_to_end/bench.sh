#!/bin/sh
# The benchmarks run, in their shortest form: every kind of case, a table with a row for each, JSON that parses, a
# drawing. No time is judged.
set -eu

BUILD=${BUILD:-build}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$BUILD/firn-bench" --smoke --torch no --firnc "$BUILD/firnc" --out "$folder/bench" >"$folder/table"
for kind in square "attention forward" "attention backward" adamw open memory step ops; do
    grep -q "^$kind " "$folder/table" || {
        echo "the table has no row for: $kind" >&2
        exit 1
    }
done
rows=$(sed -e '1,/^what /d' -e '/^$/,$d' "$folder/table" | wc -l)
listed=$(grep -c '"what":' "$folder/bench/report.json")
[ "$rows" -eq "$listed" ] || {
    echo "the table has $rows rows, report.json $listed" >&2
    exit 1
}
# The parts of a step are the step: one case, one round.
awk -F: '/"op":/ { part = $2 } /"share_of_step":/ && part !~ /"step"/ { sum += $2; parts++ }
    END { exit !(parts > 5 && sum > 0.999 && sum < 1.001) }' "$folder/bench/report.json" || {
    echo "the shares of the ops do not add up to a step" >&2
    exit 1
}
for part in linear executor clock; do
    grep -q "\"op\":[[:space:]]*\"$part\"" "$folder/bench/report.json"
done
# Kernel sets are told apart in the report.
FIRN_KERNELS=plain "$BUILD/firn-bench" --smoke --only "square 64 forward float32" --torch no --firnc "$BUILD/firnc" \
    --out "$folder/plain" | head -n 1 | grep -q '^kernels: portable;'
# A word that is no option is refused.
status=0
"$BUILD/firn-bench" --fast 2>/dev/null || status=$?
[ "$status" -eq 2 ]
