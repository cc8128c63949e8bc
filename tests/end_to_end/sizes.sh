#!/bin/sh
# The flash of a training firmware (`make size`) has not grown by more than 2% on any core since tests/golden/sizes, which
# holds what `make sizes` prints:
#
#     make -s sizes >tests/golden/sizes
#
# Another version of a cross compiler makes other code; the test then says so, and compares nothing of that compiler.
#
# Needs: boards
set -eu

. tests/end_to_end/expectations

. tests/end_to_end/targets
sized=$targets
takes_all || sized=$(for target in $targets; do ! takes_next || echo "$target"; done)
make -s --no-print-directory BUILD="$BUILD" sizes TARGETS="$sized" >"$folder/now" </dev/null || fail "make sizes failed"
golden=$folder/golden
awk -v sized=" $sized " '
    $1 == "compiler" ? sized ~ ($2 ~ /riscv/ ? " rv" : " cortex") : index(sized, " " $1 " ")' tests/golden/sizes >"$golden"
grep '^compiler ' "$golden" | while read -r line; do
    grep -qx "$line" "$folder/now" || echo "not compared, for want of $line"
done | tee "$folder/others"
# The rows of the whole; those of single parts are for readers. RISC-V has one compiler, all others have that of Arm.
awk 'FILENAME == others { if ($0 ~ /riscv/) without_riscv = 1; else without_arm = 1; next }
     $1 == "compiler" || ($3 != "all" && $3 != "without-signature") { next }
     ($1 ~ /^rv/ ? without_riscv : without_arm) { next }
     FILENAME == golden { was[$1, $2, $3] = $4; next }
     { is[$1, $2, $3] = $4; if (!(($1, $2, $3) in was)) print $1, $2, $3 ": not in " golden }
     END {
         for (row in was) {
             name = row
             gsub(SUBSEP, " ", name)
             if (!(row in is))
                 print name ": missing"
             else if (is[row] > was[row] * 1.02)
                 print name ": " is[row] " bytes, were " was[row]
         }
     }' others="$folder/others" golden="$golden" "$folder/others" "$golden" "$folder/now" >"$folder/found"
[ ! -s "$folder/found" ] || fail "$(cat "$folder/found")"
[ "$(grep -c ' all ' "$golden")" -ge 2 ] || fail "$golden has hardly any rows"

# .packages/install unpacks the C library of each core that uses picolibc, and of no other.
make -s --no-print-directory -f - multilibs >"$folder/used" <<'END'
include runtime/targets/targets.mk
with_picolibc := $(foreach target,$(TARGETS),$(if $(findstring picolibc,$($(target)_LIBC)),$(target)))
multilibs: ; @$(foreach target,$(with_picolibc),$($(target)_CROSS)gcc $($(target)_MACHINE) -print-multi-directory &&) true
END
.packages/install --print multilibs | sort >"$folder/listed"
sort -u "$folder/used" | cmp -s - "$folder/listed" ||
    fail "multilibs in .packages/list are not those of runtime/targets/targets.mk: $(sort -u "$folder/used" | xargs)"

[ $failures -eq 0 ]
