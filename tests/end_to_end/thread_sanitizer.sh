#!/bin/sh
# The host's pool of threads, and what hands out pieces of work, under ThreadSanitizer: no race. A program with one shows
# that it would be seen.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Fixed addresses: some kernels place memory where the sanitizer does not expect it.
build_and_run() {
    ${CC:-gcc} -std=c11 -g -O1 -fsanitize=thread -ffp-contract=off -I. "$1" runtime/targets/host/threads.c \
        runtime/kernels/parallel.c runtime/kernels/x86/pieces.c -o "$folder/program" -pthread -lcmocka
    setarch -R "$folder/program" >"$folder/log" 2>&1
}

cat >"$folder/race.c" <<'END'
#include "runtime/targets/host/host.h"
static int sum;
static void add(void *argument, size_t begin, size_t end) {
    (void)argument;
    for (size_t i = begin; i < end; i++)
        sum++;
}
int main(void) {
    firn_host_threads *pool = firn_host_threads_start(2);
    for (int i = 0; i < 1000; i++)
        firn_host_threads_run(pool, 1000, add, NULL);
    firn_host_threads_stop(pool);
    return 0;
}
END
if build_and_run "$folder/race.c" || ! grep -q 'data race' "$folder/log"; then
    echo "the sanitizer does not see a race:"
    cat "$folder/log"
    exit 1
fi
if ! build_and_run tests/unit/test_parallel.c; then
    cat "$folder/log"
    exit 1
fi
