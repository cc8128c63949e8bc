/* A pool of threads for parallel_for. The tasks of a call are divided into ranges, and each thread that is free takes
 * the next one. The division does not affect the result, because kernels write only what belongs to a task.
 *
 * One store publishes a call, and one compare-and-exchange of the same word takes a range. Between calls the threads
 * poll that word briefly and then sleep, so that calls in quick succession need no wake-up and an idle pool uses no CPU
 * time. The caller works too, and waits only for ranges that other threads have begun; a thread that arrives late finds
 * no range and delays no other thread. There is one call at a time, and a task must not make another. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/float_environment.h"
#include "runtime/targets/host/host.h"

#define THREADS_MAX      256u
#define RANGES_OF_THREAD 4u
/* How long a thread polls before it sleeps: first continuously, then yielding between polls. Together this takes about
 * as long as waking the thread. */
#define LOOKS  200u
#define YIELDS 100u

typedef void (*task_body)(void *argument, size_t begin, size_t end);

struct firn_host_threads {
    /* Pieces of the current call that have not been taken, in the low 16 bits; above them the number of the call, so
     * that a thread cannot take a range of one call for one of another. */
    _Alignas(64) atomic_uint_least64_t left;
    /* The current call. Written only when no range is left. A thread reads these fields and then takes a range; if it
     * gets one, the fields were valid. */
    _Atomic(task_body) body;
    _Atomic(void *) argument;
    atomic_size_t tasks, ranges;
    _Alignas(64) atomic_size_t finished; /* finished ranges of the current call */
    _Alignas(64) atomic_uint sleepers;
    atomic_bool caller_sleeps, stopping;
    pthread_mutex_t lock; /* used only to sleep */
    pthread_cond_t work, done;
    pthread_t threads[THREADS_MAX];
    unsigned count; /* threads, without the caller */
    unsigned looks, yields;
};

#define LEFT_MASK UINT64_C(0xffff)
#define ONE_CALL  (LEFT_MASK + 1)

_Static_assert((uint64_t)RANGES_OF_THREAD *(THREADS_MAX + 1) <= LEFT_MASK, "the ranges of a call can be counted");

static void rest(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* --- working ------------------------------------------------------------------------------------------------------ */

static bool something_is_left(firn_host_threads *pool) {
    return (atomic_load(&pool->left) & LEFT_MASK) != 0;
}

/* Takes a range and runs it. Returns false if there is none. */
static bool do_range(firn_host_threads *pool) {
    uint64_t left = atomic_load_explicit(&pool->left, memory_order_acquire);
    size_t tasks, ranges;
    task_body body;
    void *argument;
    do {
        if ((left & LEFT_MASK) == 0)
            return false;
        tasks = atomic_load_explicit(&pool->tasks, memory_order_relaxed);
        ranges = atomic_load_explicit(&pool->ranges, memory_order_relaxed);
        body = atomic_load_explicit(&pool->body, memory_order_relaxed);
        argument = atomic_load_explicit(&pool->argument, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&pool->left, &left, left - 1, memory_order_acq_rel,
                                                    memory_order_acquire));
    size_t range = ranges - (size_t)(left & LEFT_MASK), whole = tasks / ranges, longer = tasks % ranges;
    size_t begin = range * whole + (range < longer ? range : longer);
    body(argument, begin, begin + whole + (range < longer));
    /* After this the caller may return and begin another call. */
    if (atomic_fetch_add(&pool->finished, 1) + 1 == ranges && atomic_load(&pool->caller_sleeps)) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->lock);
    }
    return true;
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

/* Polls a condition for a while. */
static bool holds_soon(firn_host_threads *pool, bool (*holds)(firn_host_threads *)) {
    for (unsigned i = 0; i < pool->looks; i++) {
        if (holds(pool))
            return true;
        rest();
    }
    for (unsigned i = 0; i < pool->yields; i++) {
        if (holds(pool))
            return true;
        sched_yield();
    }
    return holds(pool);
}

static bool has_something_to_do(firn_host_threads *pool) {
    return something_is_left(pool) || atomic_load(&pool->stopping);
}

static bool is_finished(firn_host_threads *pool) {
    return atomic_load(&pool->finished) == atomic_load_explicit(&pool->ranges, memory_order_relaxed);
}

/* A thread that sleeps announces it before its last look at the word, and a thread with work publishes it before it
 * looks for sleepers. All four operations are sequentially consistent, so at least one of the two threads sees the
 * other. */
static void sleep_until_work(firn_host_threads *pool) {
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while (!has_something_to_do(pool))
        pthread_cond_wait(&pool->work, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void sleep_until_finished(firn_host_threads *pool) {
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->caller_sleeps, true);
    while (!is_finished(pool))
        pthread_cond_wait(&pool->done, &pool->lock);
    atomic_store(&pool->caller_sleeps, false);
    pthread_mutex_unlock(&pool->lock);
}

static void wake_sleepers(firn_host_threads *pool) {
    if (atomic_load(&pool->sleepers) == 0)
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

static void *worker(void *argument) {
    firn_host_threads *pool = argument;
    (void)firn_float_begin(); /* never restored: it lasts as long as the thread */
    while (!atomic_load(&pool->stopping)) {
        while (do_range(pool)) {
        }
        if (!holds_soon(pool, has_something_to_do))
            sleep_until_work(pool);
    }
    return NULL;
}

/* --- the pool ----------------------------------------------------------------------------------------------------- */

unsigned firn_host_cpus(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

firn_host_threads *firn_host_threads_start(unsigned threads) {
    if (threads <= 1)
        return NULL;
    firn_host_threads *pool = aligned_alloc(64, sizeof *pool);
    if (pool == NULL)
        return NULL;
    *pool = (firn_host_threads){.count = 0};
    if (threads <= firn_host_cpus()) { /* with more threads than CPUs, a polling thread would displace a working one */
        pool->looks = LOOKS;
        pool->yields = YIELDS;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    unsigned wanted = threads - 1 < THREADS_MAX ? threads - 1 : THREADS_MAX;
    while (pool->count < wanted && pthread_create(&pool->threads[pool->count], NULL, worker, pool) == 0)
        pool->count++;
    if (pool->count == 0) {
        firn_host_threads_stop(pool);
        return NULL;
    }
    return pool;
}

unsigned firn_host_threads_count(const firn_host_threads *pool) {
    return pool != NULL ? pool->count + 1 : 1;
}

void firn_host_threads_stop(firn_host_threads *pool) {
    if (pool == NULL)
        return;
    atomic_store(&pool->stopping, true);
    wake_sleepers(pool);
    for (unsigned i = 0; i < pool->count; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

void firn_host_threads_run(firn_host_threads *pool, size_t tasks,
                           void (*body)(void *argument, size_t begin, size_t end), void *argument) {
    if (tasks < 2) {
        body(argument, 0, tasks);
        return;
    }
    size_t most = (size_t)RANGES_OF_THREAD * (pool->count + 1), ranges = tasks < most ? tasks : most;
    atomic_store_explicit(&pool->tasks, tasks, memory_order_relaxed);
    atomic_store_explicit(&pool->ranges, ranges, memory_order_relaxed);
    atomic_store_explicit(&pool->body, body, memory_order_relaxed);
    atomic_store_explicit(&pool->argument, argument, memory_order_relaxed);
    atomic_store_explicit(&pool->finished, 0, memory_order_relaxed);
    uint64_t call = (atomic_load_explicit(&pool->left, memory_order_relaxed) / ONE_CALL + 1) * ONE_CALL;
    atomic_store(&pool->left, call | ranges);
    wake_sleepers(pool);
    while (do_range(pool)) {
    }
    if (!holds_soon(pool, is_finished))
        sleep_until_finished(pool);
}
