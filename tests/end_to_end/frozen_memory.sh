#!/bin/sh
# No allocator: neither libfirn.a nor the firmware refers to one. No function of the runtime is recursive or has a stack
# frame of unknown size. Firmware has no double arithmetic except in schedules, and its example is short.
set -eu

BUILD=${BUILD:-build}
failures=0

runtime/targets/check-symbols nm "$BUILD/libfirn.a" || failures=1
. tests/end_to_end/targets
for target in $targets; do
    make -s --no-print-directory BUILD="$BUILD" check-$target || failures=1
done
lines=$(wc -l <runtime/targets/firmware_main.c)
if [ "$lines" -gt 60 ]; then
    echo "runtime/targets/firmware_main.c has $lines lines; 60 are allowed"
    failures=1
fi

# The checks can fail: a program that allocates, and a call graph in which two functions call each other.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '#include <stdlib.h>\nint main(void) { free(malloc(1)); return 0; }\n' >"$folder/heap.c"
${CC:-gcc} "$folder/heap.c" -o "$folder/heap"
if runtime/targets/check-symbols nm "$folder/heap" 2>"$folder/log"; then
    echo "check-symbols does not see malloc"
    failures=1
fi
for function in firn_open firn_initialise firn_train_step firn_eval_step firn_save firn_restore firn_digest even; do
    printf 'node: { title: "%s" label: "%s\\na.c:1:1\\n8 bytes (static)" }\n' "$function" "$function"
done >"$folder/graph"
awk -f runtime/targets/stack.awk "$folder/graph" >"$folder/log" || {
    echo "stack.awk refuses a graph without a call"
    failures=1
}
{
    echo 'edge: { sourcename: "firn_open" targetname: "even" label: "a.c:1:1" }'
    echo 'edge: { sourcename: "even" targetname: "firn_open" label: "a.c:1:1" }'
} >>"$folder/graph"
if awk -f runtime/targets/stack.awk "$folder/graph" >"$folder/log" 2>&1 || ! grep -q 'can call itself' "$folder/log"; then
    echo "stack.awk does not see a recursion"
    failures=1
fi
exit $failures
