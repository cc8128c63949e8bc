#!/bin/sh
# The host's pool of threads, and what hands out pieces of work, under ThreadSanitizer: no race. A program with one shows
# that it would be seen.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Fixed addresses: some kernels place memory where the sanitizer does not expect it.
build_and_run() {
    ${CC:-gcc} -std=c11 -g -O1 -fsanitize=thread -ffp-contract=off -I. "$1" runtime/targets/host/threads.c \
        runtime/kernels/parallel.c runtime/kernels/vector/pieces.c -o "$folder/program" -pthread -lcmocka
    setarch -R "$folder/program" >"$folder/log" 2>&1
}

# Not by way of the pool, whose caller may be done before another thread wakes up.
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
if build_and_run "$folder/race.c" || ! grep -q 'data race' "$folder/log"; then
    echo "the sanitizer does not see a race:"
    cat "$folder/log"
    exit 1
fi
if ! build_and_run tests/unit/test_parallel.c; then
    cat "$folder/log"
    exit 1
fi
