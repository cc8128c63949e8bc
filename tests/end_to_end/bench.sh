#!/bin/sh
# The benchmarks run in their shortest form: every kind of case, a table with a row for each case, JSON that parses, and
# a drawing. No time is checked.
set -eu

. tests/end_to_end/expectations

"$BUILD/firn-bench" --smoke --torch no --firnc "$BUILD/firnc" --out "$folder/bench" >"$folder/table"
for kind in square "attention forward" "attention backward" "lstm forward" "lstm backward" adamw open memory step ops; do
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
# The shares of a step's parts add up to the whole step: one case, one round.
awk -F: '/"op":/ { part = $2 } /"share_of_step":/ && part !~ /"step"/ { sum += $2; parts++ }
    END { exit !(parts > 5 && sum > 0.999 && sum < 1.001) }' "$folder/bench/report.json" || {
    echo "the shares of the ops do not add up to a step" >&2
    exit 1
}
for part in linear executor clock; do
    grep -q "\"op\":[[:space:]]*\"$part\"" "$folder/bench/report.json"
done
# The report distinguishes kernel sets.
FIRN_KERNELS=plain "$BUILD/firn-bench" --smoke --only "square 64 forward float32" --torch no --firnc "$BUILD/firnc" \
    --out "$folder/plain" | head -n 1 | grep -q '^kernels: portable;'
# Failures set the exit code and leave no row: a compiler that makes no plan, and a plan that ends after one step.
status=0
"$BUILD/firn-bench" --smoke --only float32 --torch no --firnc /bin/false --out "$folder/none" >"$folder/table" \
    2>"$folder/log" || status=$?
[ "$status" -eq 1 ]
grep -q '^bench: failed: ' "$folder/log"
grep -q '^square ' "$folder/table"
[ "$(grep -c '^step ' "$folder/table")" -eq 0 ]
cat >"$folder/firnc" <<END
#!/bin/sh
[ "\$1" != compile ] || set -- "\$@" --set trainer.init.loop.num_steps=1
exec "$BUILD/firnc" "\$@"
END
chmod +x "$folder/firnc"
status=0
"$BUILD/firn-bench" --smoke --only smallest --torch no --firnc "$folder/firnc" --out "$folder/short" >"$folder/table" \
    2>"$folder/log" || status=$?
[ "$status" -eq 1 ]
grep -q '^bench: step, smallest, 1 thread, float32: ' "$folder/log"
grep -q '^open ' "$folder/table"
[ "$(grep -c '^step ' "$folder/table")" -eq 0 ]
# An unknown option is refused.
status=0
"$BUILD/firn-bench" --fast 2>/dev/null || status=$?
[ "$status" -eq 2 ]
