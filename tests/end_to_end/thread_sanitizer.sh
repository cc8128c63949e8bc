#!/bin/sh
# The host's thread pool and the code that distributes work to it run under ThreadSanitizer without a data race. A
# program with a race shows that the sanitizer detects one.
set -eu
. tests/end_to_end/machine
needs proc

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Address randomisation is off, because the sanitizer does not support some kernels' memory layouts.
build_and_run() {
    ${CC:-gcc} -std=c11 -g -O1 -fsanitize=thread -ffp-contract=off -I. "$1" runtime/targets/host/threads.c \
        runtime/kernels/parallel.c runtime/kernels/threads_part.c runtime/kernels/vector/pieces.c -o "$folder/program" -pthread -lcmocka
    setarch -R "$folder/program" >"$folder/log" 2>&1
}

# Uses threads directly, because the pool's caller may finish before another thread wakes up.
cat >"$folder/race.c" <<'END'
#include <pthread.h>
static int sum;
static void *add(void *argument) {
    sum++;
    return argument;
}
int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, add, NULL);
    pthread_create(&two, NULL, add, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
END
race=0
build_and_run "$folder/race.c" || race=$?
# The sanitizer of gcc 12 and 13 does not know the 47 bits of addresses that a kernel with pages of 16 KiB gives on AArch64.
if grep -q 'unsupported VMA range' "$folder/log"; then
    echo "skipped for want of a CPU feature: addresses of a width that ThreadSanitizer knows; $(grep -m 1 'Found' "$folder/log")"
    exit 0
fi
# Containers often forbid it, and without it the addresses may be some that the sanitizer does not know.
if grep -q '^setarch: .*personality' "$folder/log"; then
    echo "skipped for want of the right to switch off the randomisation of addresses: ThreadSanitizer"
    exit 0
fi
if [ $race -eq 0 ] || ! grep -q 'data race' "$folder/log"; then
    echo "the sanitizer does not see a race:"
    cat "$folder/log"
    exit 1
fi
if ! build_and_run tests/unit/test_parallel.c; then
    cat "$folder/log"
    exit 1
fi
