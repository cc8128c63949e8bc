#!/bin/sh
# What this major version of the format began with stays as it is (plan/FORMAT.md, "What may change, and how"): every line
# of the schema's listing, and the operands and attributes of every op. What came later has a mark and is not looked at.
#
#     tests/end_to_end/format_frozen.sh           compares with tests/golden/format_2.golden
#     tests/end_to_end/format_frozen.sh --print   prints the golden file, which changes with the major version alone
set -eu

. tests/end_to_end/expectations

tests/end_to_end/unmarked_format plan/generated/schema.txt plan/ops.def >"$folder/format"
if [ "${1:-}" = --print ]; then
    cat "$folder/format"
elif ! diff tests/golden/format_2.golden "$folder/format"; then
    echo "the format has changed for plans that exist: mark what is new, and leave the rest as it was"
    exit 1
fi
