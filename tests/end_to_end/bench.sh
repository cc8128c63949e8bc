#!/bin/sh
# The benchmarks run in their shortest form: every kind of case, a table with a row for each case, JSON that
# tests/bench/tables.py accepts, and a drawing; with too little time; without PyTorch; and with a program in its place.
# No time is checked.
#
# Needs: bench python
set -eu

. tests/end_to_end/expectations

# bench NAME OPTIONS...: runs the benchmarks with output in $folder/NAME; sets status.
bench() {
    out=$folder/$1
    shift
    status=0
    "$BUILD/firn-bench" --firnc "$BUILD/firnc" --out "$out" "$@" >"$out.table" 2>"$out.log" || status=$?
}
check() {
    python3 tests/bench/tables.py --check "$1/report.json" || exit 1
}

bench all --smoke --torch no
[ "$status" -eq 0 ]
for kind in square "attention forward" "attention backward" "lstm forward" "lstm backward" conv adamw element decode open memory step ops "decode ops"; do
    grep -q "^$kind " "$folder/all.table" || {
        echo "the table has no row for: $kind" >&2
        exit 1
    }
done
rows=$(sed -e '1,/^what /d' -e '/^$/,$d' "$folder/all.table" | wc -l)
listed=$(grep -c '"what":' "$folder/all/report.json")
[ "$rows" -eq "$listed" ] || {
    echo "the table has $rows rows, report.json $listed" >&2
    exit 1
}
check "$folder/all"
grep -q '"torch":[[:space:]]*null' "$folder/all/report.json"
grep -q '^</svg>' "$folder/all/report.svg"
python3 tests/bench/tables.py "$folder/all/report.json" >"$folder/tables"
for title in "Training steps" Products "Attention, forward" Convolutions "LSTM, backward" "Ops alone" "Ops of a step"; do
    grep -q "^## $title\$" "$folder/tables"
done
if python3 tests/bench/tables.py "$folder/no.json" 2>"$folder/log"; then exit 1; fi
grep -q "no.json: cannot be read: .*make bench" "$folder/log" && [ "$(wc -l <"$folder/log")" -eq 1 ]
# The check finds what is missing.
for lost in features quartiles of_all_threads commit; do
    sed "s/\"$lost\":/\"lost\":/" "$folder/all/report.json" >"$folder/lost.json"
    status=0
    python3 tests/bench/tables.py --check "$folder/lost.json" >/dev/null 2>&1 || status=$?
    [ "$status" -ne 0 ] || {
        echo "tables.py --check does not miss: $lost" >&2
        exit 1
    }
done
# The shares of a step's parts add up to the whole step: one case, one round.
awk -F: '/"op":/ { part = $2 } /"share_of_step":/ && part !~ /"step"/ { sum += $2; parts++ }
    END { exit !(parts > 5 && sum > 0.999 && sum < 1.001) }' "$folder/all/report.json" || {
    echo "the shares of the ops do not add up to a step" >&2
    exit 1
}
for part in linear executor clock; do
    grep -q "\"op\":[[:space:]]*\"$part\"" "$folder/all/report.json"
done

# --only leaves nothing else; --repeat sets the number of rounds; the report distinguishes kernel sets.
FIRN_KERNELS=plain bench plain --only "square 64 forward float32" --repeat 4 --torch no
[ "$status" -eq 0 ]
grep -q '^kernels: portable;' "$folder/plain.table"
[ "$(grep -c '"what":' "$folder/plain/report.json")" -eq 1 ]
grep -q '"rounds":[[:space:]]*4' "$folder/plain/report.json"
check "$folder/plain"

# With too little time every turn still has a row, and the run is no failure.
bench short --minutes 0.0001 --torch no
[ "$status" -eq 0 ]
check "$folder/short"
grep -q '"turns_left_out":[[:space:]]*[1-9]' "$folder/short/report.json"
for kind in square attention lstm adamw open step ops matmul; do
    grep -q "^$kind .* left out: the time was up" "$folder/short.table"
done
# So has a case whose rounds would not end in time.
FIRN_KERNELS=plain bench slow --minutes 0.03 --threads 1 --only "square 1024 forward float16 chunk 64" --torch no
[ "$status" -eq 0 ]
grep -q '^square .* left out: \(a round takes\|the time was up\)' "$folder/slow.table"
check "$folder/slow"
# With more, three rounds at least and fifteen at most.
bench little --minutes 1 --only "square 64 forward float32" --torch no
grep -q '"rounds":[[:space:]]*\(3\|[4-9]\|1[0-5]\),' "$folder/little/report.json"
check "$folder/little"

# Without PyTorch, or without Python, one line says so, and PyTorch's columns are empty.
cat >"$folder/no-torch" <<'END'
#!/bin/sh
echo "ModuleNotFoundError No module named 'torch'"
END
# In its place, a program that answers: eager takes 2 s, compiling fails, and measuring channels_last ends the program.
cat >"$folder/torch" <<'END'
#!/bin/sh
echo '{"version": "9.9", "capability": "none", "threads": 1}'
while read -r verb limit way question; do
    case $verb,$way in
    *,eager | prepare,channels_last) echo 2.0 ;;
    *,compiled) echo "none TimeoutError: warming up took longer than there is time" ;;
    measure,channels_last) exit 0 ;;
    *) echo "none nothing" ;;
    esac
done
END
chmod +x "$folder/no-torch" "$folder/torch"
for python in "$folder/no-torch" "$folder/no-such-program"; do
    bench without --repeat 1 --only "square 64 forward float32" --python "$python"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^bench: no PyTorch for .*: its columns stay empty$' "$folder/without.log")" -eq 1 ]
    check "$folder/without"
done
bench with --repeat 3 --only "step mlp 784-500-10 B32" --python "$folder/torch"
[ "$status" -eq 0 ]
check "$folder/with"
python3 - "$folder/with/report.json" <<'END'
import json, sys

report = json.load(open(sys.argv[1]))
assert report["torch"]["version"] == "9.9"
rows = [row for row in report["rows"] if row["rounds"] > 0]
assert [row["storage"] for row in rows][:2] == ["float32", "bfloat16"] and len(report["rows"]) == 4
for row in report["rows"]:
    assert row in rows or "no kernel set" in row["note"]
for row in rows:
    assert row["torch"]["eager"]["seconds"]["median"] == 2.0
    for ours, theirs in zip(row["seconds"]["rounds"], row["torch"]["eager"]["by_ours"]["rounds"], strict=True):
        assert abs(ours * theirs - 2.0) < 1e-9
    assert "took longer" in row["torch"]["compiled"]["why"] and (
        row["torch"]["bf16"]["why"] == "nothing" or "emulated on this CPU" in row["torch"]["bf16"]["why"]
    )
    assert "channels_last" not in row["torch"]
END
# A plan for a CPU with other instructions is emulated if its name is asked for.
bench emulated --repeat 1 --only "B32 bfloat16 for AMX" --torch no
[ "$status" -eq 0 ]
grep -q "^step .* bfloat16 for AMX .* [mn]s " "$folder/emulated.table"
check "$folder/emulated"
bench ended --repeat 2 --only "step resnet8" --python "$folder/torch"
[ "$status" -eq 0 ]
check "$folder/ended"
grep -q 'torch channels_last, resnet8 32: the process ended or hangs' "$folder/ended.log"

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
"$BUILD/firn-bench" --smoke --only smallest --torch no --firnc "$folder/firnc" --out "$folder/ends" >"$folder/table" \
    2>"$folder/log" || status=$?
[ "$status" -eq 1 ]
grep -q '^bench: step, smallest, 1 thread, float32: ' "$folder/log"
grep -q '^open ' "$folder/table"
[ "$(grep -c '^step ' "$folder/table")" -eq 0 ]
# An unknown option is refused.
for words in --fast "--minutes 0" "--minutes x" "--repeat 0"; do
    status=0
    # shellcheck disable=SC2086 # an option and its value
    "$BUILD/firn-bench" $words 2>/dev/null || status=$?
    [ "$status" -eq 2 ]
done
# So is a name that no case has, in one line.
status=0
"$BUILD/firn-bench" --only nothing --torch no --out "$folder/nothing" 2>"$folder/log" || status=$?
[ "$status" -eq 2 ]
grep -q '^bench: --only nothing: no case' "$folder/log" && [ "$(wc -l <"$folder/log")" -eq 1 ]
