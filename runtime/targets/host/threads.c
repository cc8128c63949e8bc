/* A pool of threads for parallel_for. Each call's tasks are cut into pieces that whoever is free takes next; the split
 * has no influence on a bit of the result, because kernels write only what belongs to a task. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/float_environment.h"
#include "runtime/targets/host/host.h"

#define THREADS_MAX      256u
#define PIECES_OF_THREAD 4u

struct firn_host_threads {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    pthread_t threads[THREADS_MAX];
    unsigned count;  /* of threads, without the caller */
    unsigned active; /* threads that hold a piece */
    bool stopping;
    /* the call that is being worked on */
    size_t tasks, next, piece;
    void (*body)(void *argument, size_t begin, size_t end);
    void *argument;
};

/* Works off pieces until none is left. The lock is held on entry and on return. */
static void work_off(firn_host_threads *pool) {
    while (pool->next < pool->tasks) {
        size_t begin = pool->next;
        size_t end = pool->tasks - begin > pool->piece ? begin + pool->piece : pool->tasks;
        pool->next = end;
        pool->active++;
        pthread_mutex_unlock(&pool->lock);
        pool->body(pool->argument, begin, end);
        pthread_mutex_lock(&pool->lock);
        pool->active--;
    }
    if (pool->active == 0)
        pthread_cond_signal(&pool->done);
}

static void *worker(void *argument) {
    firn_host_threads *pool = argument;
    (void)firn_float_begin(); /* for the life of the thread */
    pthread_mutex_lock(&pool->lock);
    while (!pool->stopping) {
        if (pool->next < pool->tasks)
            work_off(pool);
        else
            pthread_cond_wait(&pool->work, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

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
    firn_host_threads *pool = firn_host_allocate(sizeof *pool);
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
    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
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
    size_t pieces = (size_t)PIECES_OF_THREAD * (pool->count + 1);
    pthread_mutex_lock(&pool->lock);
    pool->body = body;
    pool->argument = argument;
    pool->piece = tasks / pieces > 1 ? tasks / pieces : 1;
    pool->next = 0;
    pool->tasks = tasks;
    pthread_cond_broadcast(&pool->work);
    work_off(pool);
    while (pool->active > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
