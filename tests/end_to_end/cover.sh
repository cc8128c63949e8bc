#!/bin/sh
# The bits of bits.sh, economically: every two of op family, type, level, kernel set, threads, compiler, optimisation and
# machine meet in one of the runs that cover.py chooses. What it covers and what it leaves out is counted here again, from the
# factors alone: each pair of values must stand in a row, or in a line that says why it stands in none.
#
# Needs: cover signing boards python
set -eu

. tests/end_to_end/expectations
seed=${FIRN_TEST_SEED:-1}

# The kernel sets of this processor that this CPU and build can run.
"$FIRNC" keygen "$folder/test" >"$folder/log"
"$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode train --key "$folder/test.key.pem" -o "$folder/plan" >"$folder/log"
case $(uname -m) in
x86_64)
    possible="plain fma avx2 avx512 avx512fp16 avx512bf16 amx"
    machines="64 bits/32 bits/aarch64/cortex-m7/rv32"
    ;;
*)
    possible="plain neon neonfp16"
    machines="64 bits/cortex-m7/rv32"
    ;;
esac
sets=
for set in $possible; do
    if FIRN_KERNELS=$set "$FIRN" train "$folder/plan" --pub "$folder/test.pub.pem" --data /usr/share/common-licenses/GPL-3 \
        --steps 1 --quiet >"$folder/out" 2>&1; then
        sets=$sets${sets:+,}$set
        continue
    fi
    grep -q KERNELS_UNKNOWN "$folder/out" || fail "set '$set' does not run"
    case " ${FIRN_TEST_SETS:-} " in *" $set "*) fail "no set '$set', which FIRN_TEST_SETS asks for" ;; esac
    echo "skipped for want of a CPU feature: set '$set'"
done
rm -f "$folder/out"

tests/end_to_end/bits.sh --list >"$folder/cases"
python3 tests/end_to_end/cover.py "$seed" "$sets" <"$folder/cases" >"$folder/rows"
sed -n '/^#/p' "$folder/rows"
grep -v '^#' "$folder/rows" >"$folder/runs"

# The values of a row: those of its case, and those that the name of its build says.
awk -v sets="$sets" -v machines="$machines" '
    FILENAME ~ /cases$/ {
        split($3, kind, "/")
        family[$1] = $2; type[$1] = kind[1]; level[$1] = "level " (kind[2] != "" ? kind[2] : "of the recipe")
        seen["family", $2]; seen["type", kind[1]]; seen["level", level[$1]]
        next
    }
    /^#.*: / { split($0, part, ": "); left[substr(part[1], 3)] = part[2]; next }
    /^#/ { next }
    {
        build = $2
        compiler = build ~ /^(clang|aarch64)/ ? "clang" : "gcc"
        optimisation = match(build, /O[0-9]/) ? substr(build, RSTART, 2) : build ~ /^(host|aarch64)$/ ? "O3" : "O2"
        machine = build == "aarch64" ? build : build ~ /m32/ ? "32 bits" : build ~ /^(gcc|clang|host)/ ? "64 bits" : build
        value["family"] = family[$1]; value["type"] = type[$1]; value["level"] = level[$1]; value["set"] = $3
        value["threads"] = $4; value["compiler"] = compiler; value["optimisation"] = optimisation; value["machine"] = machine
        for (a in value) for (b in value) if (a != b) has[a " " value[a] ", " b " " value[b]]
    }
    END {
        names = split("family type level set threads compiler optimisation machine", name, " ")
        split(sets, set, ","); for (i in set) seen["set", set[i]]
        split("1 2 3 8", threads, " "); for (i in threads) seen["threads", threads[i]]
        seen["compiler", "gcc"]; seen["compiler", "clang"]
        split("O0 O2 O3", level_of, " "); for (i in level_of) seen["optimisation", level_of[i]]
        split(machines, machine_of, "/"); for (i in machine_of) seen["machine", machine_of[i]]
        for (i = 1; i <= names; i++) for (j = i + 1; j <= names; j++)
            for (a in seen) { split(a, x, SUBSEP); if (x[1] != name[i]) continue
                for (b in seen) { split(b, y, SUBSEP); if (y[1] != name[j]) continue
                    pair = x[1] " " x[2] ", " y[1] " " y[2]; pairs++
                    if (pair in has) covered++
                    else if (left[pair] == "") { print "neither run nor left out: " pair; wrong = 1 }
                }
            }
        for (pair in left) if (pair in has) { print "run and left out: " pair; wrong = 1 }
        print pairs " pairs, " covered " of them run"
        exit wrong
    }' "$folder/cases" "$folder/rows" || failures=$((failures + 1))

tests/end_to_end/bits.sh --rows "$folder/runs" >"$folder/out" || fail "seed $seed"
cat "$folder/out"
# As many runs as rows, none of them left out.
grep -q "^$(grep -c . "$folder/runs") runs compared, 0 differ$" "$folder/out" || fail "other runs than the rows"
[ $failures -eq 0 ]
