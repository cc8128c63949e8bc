/* Tests the distribution of work to threads: work below the grain is not split, each piece runs exactly once, and each
 * thread has its own slot, which must be large enough. */
#define _POSIX_C_SOURCE 199309L
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/kernels/vector/pieces.h"
#include "runtime/targets/host/host.h"

enum { PIECES = 1000, THREADS_MAX = 8 };

/* --- splitting or not --- */

typedef struct record {
    size_t runs, bodies;
} record;

static void count_body(void *argument, size_t begin, size_t end) {
    record *seen = argument;
    (void)begin;
    (void)end;
    seen->bodies++;
}

static void run_twice(void *context, size_t tasks, firn_task_body body, void *argument) {
    record *seen = context;
    seen->runs++;
    body(argument, tasks / 2, tasks);
    body(argument, 0, tasks / 2);
}

static size_t forks(firn_parallel parallel, size_t tasks, uint64_t cost) {
    record seen = {0};
    parallel.context = &seen;
    firn_parallel_run(&parallel, tasks, cost, count_body, &seen);
    assert_int_equal(seen.bodies, seen.runs > 0 ? 2 : 1);
    return seen.runs;
}

static void small_work_is_not_split(void **state) {
    (void)state;
    const firn_parallel two = {.run = run_twice, .threads = 2, .grain = 1000};
    assert_int_equal(forks(two, 10, 100), 1);
    assert_int_equal(forks(two, 10, 99), 0);
    assert_int_equal(forks(two, 1, 1000000), 0);
    assert_int_equal(firn_parallel_threads(&two, 1000), 2);
    assert_int_equal(firn_parallel_threads(&two, 999), 1);
    for (uint32_t threads = 0; threads < 2; threads++) {
        const firn_parallel one = {.run = run_twice, .threads = threads};
        assert_int_equal(forks(one, 10, 1000000), 0);
    }
    const firn_parallel nobody = {.threads = 8}, always = {.run = run_twice, .threads = 2};
    assert_int_equal(forks(nobody, 10, 1000000), 0);
    assert_int_equal(forks(always, 2, 0), 1);
}

/* --- the pool of the host --- */

typedef struct marks {
    uint32_t tasks[64];
} marks;

static void mark(void *argument, size_t begin, size_t end) {
    marks *m = argument;
    for (size_t i = begin; i < end; i++)
        m->tasks[i]++;
}

/* When a call returns, all its results must be visible, whether the threads were spinning or asleep, and no task of one
 * call may be taken for that of another. */
static void calls_follow_each_other(void **state) {
    (void)state;
    for (unsigned threads = 2; threads <= THREADS_MAX; threads += threads == 2 ? 1 : 5) {
        firn_host_threads *pool = firn_host_threads_start(threads);
        assert_non_null(pool);
        assert_int_equal(firn_host_threads_count(pool), threads);
        uint32_t expected[64] = {0};
        marks seen = {{0}};
        for (unsigned call = 0; call < 3000; call++) {
            const size_t tasks = call * 7 % 65;
            if (call % 500 == 0)
                nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* until the threads sleep */
            firn_host_threads_run(pool, tasks, mark, &seen);
            for (size_t i = 0; i < 64; i++) {
                expected[i] += i < tasks;
                if (seen.tasks[i] != expected[i])
                    fail_msg("%u threads, call %u: task %zu was done %u times, not %u", threads, call, i, seen.tasks[i],
                             expected[i]);
            }
        }
        firn_host_threads_stop(pool);
    }
    assert_int_equal(firn_host_threads_count(NULL), 1);
}

/* --- pieces --- */

enum { SLOT = 1024 };

static _Alignas(64) uint8_t workspace[THREADS_MAX][SLOT];

typedef struct pieces_seen {
    uint8_t times[PIECES];
    uint8_t slots[PIECES];
} pieces_seen;

/* Fails if two pieces use a slot at the same time: each fills it with its number and checks it afterwards. */
static void use_slot(void *argument, size_t piece, void *slot) {
    pieces_seen *seen = argument;
    volatile uint32_t *words = slot;
    for (size_t i = 0; i < 256; i++)
        words[i] = (uint32_t)piece;
    for (size_t i = 0; i < 256; i++)
        if (words[i] != (uint32_t)piece)
            seen->times[piece] = 100;
    seen->times[piece]++;
    seen->slots[piece] = (uint8_t)(((uintptr_t)slot - (uintptr_t)workspace) / SLOT);
}

static void run_in_pool(void *context, size_t tasks, firn_task_body body, void *argument) {
    firn_host_threads_run(context, tasks, body, argument);
}

static void each_piece_is_done_once(void **state) {
    (void)state;
    static const unsigned numbers[] = {1, 2, 3, THREADS_MAX};
    for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++) {
        firn_host_threads *pool = firn_host_threads_start(numbers[n]);
        firn_kernel_call call = {.workspace = workspace,
                                 .slot_bytes = SLOT,
                                 .parallel = {pool, pool != NULL ? run_in_pool : NULL, numbers[n], 10}};
        for (size_t pieces = 0; pieces <= PIECES; pieces = 3 * pieces + 1) {
            pieces_seen seen = {{0}, {0}};
            firn_pieces_run(&call, SLOT, pieces, 10, use_slot, &seen);
            for (size_t i = 0; i < PIECES; i++) {
                assert_int_equal(seen.times[i], i < pieces);
                assert_true(seen.slots[i] < numbers[n]);
            }
        }
        pieces_seen alone = {{0}, {0}};
        firn_pieces_run(&call, SLOT, PIECES, 9, use_slot, &alone);
        for (size_t i = 0; i < PIECES; i++)
            assert_int_equal(alone.slots[i], 0);
        firn_host_threads_stop(pool);
    }
}

/* A slot that is smaller than a kernel needs would let threads write into each other's. */
static void a_slot_that_is_too_small_traps(void **state) {
    (void)state;
    const firn_kernel_call call = {.workspace = workspace, .slot_bytes = SLOT, .parallel = {.grain = 10}};
    pieces_seen seen = {{0}, {0}};
    const pid_t child = fork();
    assert_int_not_equal(child, -1);
    if (child == 0) {
        (void)signal(SIGILL, SIG_DFL);
        (void)signal(SIGTRAP, SIG_DFL);
        firn_pieces_run(&call, SLOT + 1, 1, 10, use_slot, &seen);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_work_is_not_split),
        cmocka_unit_test(calls_follow_each_other),
        cmocka_unit_test(each_piece_is_done_once),
        cmocka_unit_test(a_slot_that_is_too_small_traps),
    };
    return cmocka_run_group_tests_name("parallel", tests, NULL, NULL);
}
