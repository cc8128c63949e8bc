#!/bin/sh
# The runtime is bounded: no allocator and no printf, in the archive of this machine and in firmware; no recursion, and
# no stack frame of unknown size; in firmware no double arithmetic except in schedules, and its example is short. The checks
# themselves are tested with code that violates them.
#
# Needs: boards
set -eu

. tests/end_to_end/expectations

# expect_refusal WORD COMMAND...: the command fails and prints the word.
expect_refusal() {
    word=$1
    shift
    if "$@" >"$folder/log" 2>&1; then
        fail "accepted: $*"
    elif ! grep -q "$word" "$folder/log"; then
        fail "refused for another reason than $word: $*"
        cat "$folder/log" >&2
    fi
}

# --- firmware: symbols, doubles, recursion, frames ---

. tests/end_to_end/targets
for target in $targets; do
    takes_next || continue
    make -s --no-print-directory BUILD="$BUILD" check-$target >"$folder/$target" || fail "$target: check-$target failed"
    cat "$folder/$target"
    # every function of the library that users call has a known stack size that fits a microcontroller
    for entry in firn_open firn_initialise firn_train_step firn_eval_step firn_save firn_restore firn_digest; do
        bytes=$(sed -n "s/^ *\([0-9]*\) bytes  *$entry(.*/\1/p" "$folder/$target")
        case $entry:$target in
        firn_open:cortex-m7) most=1024 ;;
        firn_open:*) most=1152 ;; # more registers to save
        *) most=16384 ;;
        esac
        [ "${bytes:-0}" -gt 0 ] && [ "$bytes" -le $most ] || fail "$target: $entry needs ${bytes:-an unknown number of} bytes"
    done
done

lines=$(wc -l <runtime/targets/firmware_main.c)
[ "$lines" -le 60 ] || fail "runtime/targets/firmware_main.c has $lines lines; 60 are allowed"

# --- the archive of this machine: undefined and defined symbols ---

heap='^_*(malloc|calloc|realloc|free|cfree|aligned_alloc|memalign|posix_memalign|valloc|sbrk|brk|mmap|strn?dup|alloca)$'
output='^_*(v?[fds]?n?printf(_chk)?|f?puts|putchar|fwrite|fopen|write)$'

# names_of ARCHIVE: the symbols without their versions
names_of() {
    nm "$1" 2>/dev/null | awk 'NF >= 2 { sub(/@.*/, "", $NF); print $NF }' | sort -u
}

# check_archive ARCHIVE: no heap functions and no printing functions
check_archive() {
    found=$(names_of "$1" | grep -E "$heap|$output" || true)
    [ -z "$found" ] || {
        echo "$1: names of the heap or of printing:" $found
        return 1
    }
}

[ "$(names_of "$BUILD/libfirn.a" | grep -c '^firn_')" -gt 50 ] || fail "$BUILD/libfirn.a: where are its functions?"
check_archive "$BUILD/libfirn.a" || fail "$BUILD/libfirn.a is not bounded"
runtime/targets/check-symbols nm "$BUILD/libfirn.a" || fail "$BUILD/libfirn.a: names of the heap or of printf"

# --- the archive of this machine: frames ---

# large_frames ARCHIVE: the functions of an x86-64 archive whose frame has 20,480 bytes or more. The probe of the matrix
# engine is left out: it runs once, when the kernel set is chosen.
large_frames() {
    objdump -d "$1" | awk '/^[0-9a-f]+ </ { name = $2 }
        /(sub +\$0x([5-9a-f][0-9a-f][0-9a-f][0-9a-f]|[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]),%rsp)/ { print name }' |
        grep -v '^<agrees>:$' || true
}

[ "$(objdump -d "$BUILD/libfirn.a" | grep -c 'sub .*,%rsp')" -gt 50 ] || [ "$(uname -m)" != x86_64 ] ||
    fail "$BUILD/libfirn.a: where are its frames?"
[ -z "$(large_frames "$BUILD/libfirn.a")" ] || fail "large frames: $(large_frames "$BUILD/libfirn.a")"

# --- the checks themselves ---

cat >"$folder/heap.c" <<'C'
#include <stdlib.h>
void *firn_grow(unsigned n);
void *firn_grow(unsigned n) {
    return malloc(n);
}
C
${CC:-gcc} -c "$folder/heap.c" -o "$folder/heap.o"
cp "$BUILD/libfirn.a" "$folder/with-heap.a"
ar r "$folder/with-heap.a" "$folder/heap.o" 2>"$folder/log"
expect_refusal malloc check_archive "$folder/with-heap.a"
expect_refusal malloc runtime/targets/check-symbols nm "$folder/heap.o"
printf 'int firn_count(void);\nint firn_count(void) {\n    static int count;\n    return ++count;\n}\n' >"$folder/state.c"
${CC:-gcc} -c "$folder/state.c" -o "$folder/state.o"
expect_refusal 'variables that are written' runtime/targets/check-symbols nm "$folder/state.o" "$folder/state.o"

printf 'float __extendsfdf2(float);\nfloat firn_twice(float);\nfloat firn_twice(float x) {\n    return __extendsfdf2(x);\n}\n' >"$folder/double.c"
${CC:-gcc} -c "$folder/double.c" -o "$folder/double.o"
expect_refusal 'double.o: double arithmetic: __extendsfdf2' runtime/targets/check-symbols nm "$folder/double.o" "$folder/state.o" \
    "$folder/double.o"
mkdir "$folder/schedules"
cp "$folder/double.o" "$folder/schedules"
runtime/targets/check-symbols nm "$folder/double.o" "$folder/schedules/double.o" || fail "schedules may have doubles"

graph() {
    for name in firn_initialise firn_train_step firn_eval_step firn_save firn_restore firn_digest; do
        printf 'node: { title: "%s" label: "%s\\n%s\\n8 bytes (static)" }\n' $name $name runtime/step.c:1:1
    done
    printf 'node: { title: "firn_open" label: "firn_open\\nruntime/open.c:1:1\\n%s" }\n' "$1"
    printf 'edge: { sourcename: "firn_open" targetname: "%s" label: "runtime/open.c:2:1" }\n' "$2"
}
graph '8 bytes (static)' memcpy >"$folder/good"
awk -f runtime/targets/stack.awk "$folder/good" >"$folder/log" || fail "stack.awk refuses a good graph"
graph '8 bytes (static)' firn_open >"$folder/recursive"
expect_refusal 'can call itself' awk -f runtime/targets/stack.awk "$folder/recursive"
graph '8 bytes (dynamic)' memcpy >"$folder/dynamic"
expect_refusal 'size is not known' awk -f runtime/targets/stack.awk "$folder/dynamic"

[ $failures -eq 0 ]
