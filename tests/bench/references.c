/* The references: the machine's peak rates, measured in the same round as the case that is compared with them. The peak
 * loop is written separately for each vector width, because it must use the same instruction as the kernels. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "tests/bench/bench.h"

#define THREADS_MAX    64
#define SUMS           12        /* independent sums: enough to hide the latency of two units */
#define PEAK_SECONDS   4e-3      /* approximate seconds of one measurement */
#define TRIAD_ELEMENTS (8 << 20) /* floats in an array: 32 MB */

/* Results are stored here so that the compiler cannot remove a loop. */
static volatile float sink;

/* --- a loop of multiply-adds: returns the operations of one pass --- */

typedef void (*peak_loop)(size_t rounds);

#if defined(__x86_64__) || defined(__i386__)
#    include <immintrin.h>

__attribute__((target("avx512f"))) static void peak_avx512(size_t rounds) {
    __m512 sums[SUMS], factor = _mm512_set1_ps(0.5f), term = _mm512_set1_ps(1.0f);
    for (int i = 0; i < SUMS; i++)
        sums[i] = _mm512_set1_ps((float)i);
    for (size_t round = 0; round < rounds; round++)
        for (int i = 0; i < SUMS; i++)
            sums[i] = _mm512_fmadd_ps(sums[i], factor, term);
    for (int i = 1; i < SUMS; i++)
        sums[0] = _mm512_add_ps(sums[0], sums[i]);
    sink = _mm512_cvtss_f32(sums[0]);
}

__attribute__((target("avx2,fma"))) static void peak_avx2(size_t rounds) {
    __m256 sums[SUMS], factor = _mm256_set1_ps(0.5f), term = _mm256_set1_ps(1.0f);
    for (int i = 0; i < SUMS; i++)
        sums[i] = _mm256_set1_ps((float)i);
    for (size_t round = 0; round < rounds; round++)
        for (int i = 0; i < SUMS; i++)
            sums[i] = _mm256_fmadd_ps(sums[i], factor, term);
    for (int i = 1; i < SUMS; i++)
        sums[0] = _mm256_add_ps(sums[0], sums[i]);
    sink = _mm256_cvtss_f32(sums[0]);
}
#endif

#ifdef __aarch64__
#    include <arm_neon.h>

/* Two registers for each sum, because some cores have four units. Compilers replace the intrinsic function by a sum,
 * because both factors are known. */
static void peak_neon(size_t rounds) {
    float32x4_t low[SUMS], high[SUMS];
    const float32x4_t factor = vdupq_n_f32(0.5f);
    for (int i = 0; i < SUMS; i++)
        low[i] = high[i] = vdupq_n_f32((float)i);
    for (size_t round = 0; round < rounds; round++)
        for (int i = 0; i < SUMS; i++) {
            __asm__("fmla %0.4s, %1.4s, %1.4s" : "+w"(low[i]) : "w"(factor));
            __asm__("fmla %0.4s, %1.4s, %1.4s" : "+w"(high[i]) : "w"(factor));
        }
    for (int i = 0; i < SUMS; i++)
        low[0] = vaddq_f32(vaddq_f32(low[0], low[i]), high[i]);
    sink = vgetq_lane_f32(low[0], 0);
}
#else

/* Other CPUs: four lanes, which the compiler vectorises. */
static void peak_plain(size_t rounds) {
    float sums[SUMS][4];
    for (int i = 0; i < SUMS; i++)
        for (int lane = 0; lane < 4; lane++)
            sums[i][lane] = (float)i;
    for (size_t round = 0; round < rounds; round++)
        for (int i = 0; i < SUMS; i++)
            for (int lane = 0; lane < 4; lane++)
                sums[i][lane] = __builtin_fmaf(sums[i][lane], 0.5f, 1.0f);
    for (int i = 0; i < SUMS; i++)
        sink = sums[i][0] + sums[i][1] + sums[i][2] + sums[i][3];
}
#endif

typedef struct peak_kind {
    const char *name;
    peak_loop loop;
    unsigned lanes;
} peak_kind;

static peak_kind widest(void) {
#if defined(__x86_64__) || defined(__i386__)
    if (__builtin_cpu_supports("avx512f"))
        return (peak_kind){"avx512f fma, 16 lanes", peak_avx512, 16};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (peak_kind){"avx2 fma, 8 lanes", peak_avx2, 8};
#endif
#ifdef __aarch64__
    return (peak_kind){"neon fma, 2 x 4 lanes", peak_neon, 8};
#else
    return (peak_kind){"fmaf, 4 lanes", peak_plain, 4};
#endif
}

const char *bench_peak_name(void) {
    return widest().name;
}

/* --- the same in several threads --- */

typedef struct task {
    void (*run)(const struct task *task);
    peak_loop loop;
    float *const *streams;
    size_t begin, end; /* range of rounds of the peak loop, or of elements */
    pthread_barrier_t *start;
    double seconds, cpu_seconds;
} task;

static void *run_task(void *argument) {
    task *mine = argument;
    pthread_barrier_wait(mine->start);
    const double begin = bench_seconds(), cpu_begin = bench_thread_seconds();
    mine->run(mine);
    mine->cpu_seconds = bench_thread_seconds() - cpu_begin;
    mine->seconds = bench_seconds() - begin;
    return NULL;
}

static unsigned threads_used(unsigned threads) {
    return threads < THREADS_MAX ? threads : THREADS_MAX;
}

/* Splits [0, count) among threads that start together. Returns the seconds of the slowest thread; *waited: whether a
 * thread had no CPU for more than a sixth of its time. */
static double run_once(unsigned threads, void (*run)(const task *), peak_loop loop, float *const *streams, size_t count,
                       bool everyone_all, bool *waited) {
    pthread_barrier_t start;
    pthread_t ids[THREADS_MAX];
    task tasks[THREADS_MAX];
    const unsigned used = threads_used(threads);
    pthread_barrier_init(&start, NULL, used);
    for (unsigned i = 0; i < used; i++) {
        const size_t begin = everyone_all ? 0 : count / used * i;
        const size_t end = everyone_all || i + 1 == used ? count : count / used * (i + 1);
        tasks[i] = (task){.run = run, .loop = loop, .streams = streams, .begin = begin, .end = end, .start = &start};
        if (i > 0 && pthread_create(&ids[i], NULL, run_task, &tasks[i]) != 0)
            abort();
    }
    (void)run_task(&tasks[0]);
    double slowest = 0.0;
    *waited = false;
    for (unsigned i = 0; i < used; i++) {
        if (i > 0)
            pthread_join(ids[i], NULL);
        slowest = tasks[i].seconds > slowest ? tasks[i].seconds : slowest;
        *waited |= tasks[i].seconds > 1.2 * tasks[i].cpu_seconds;
    }
    pthread_barrier_destroy(&start);
    return slowest;
}

/* Repeats that until no thread waited, a few times at most, and returns the seconds of the fastest time. Of threads
 * that start together, Linux puts one in ten on the CPU of another although a CPU is idle, and leaves it there for some
 * milliseconds, which is as long as a measurement takes. */
static double run_threads(unsigned threads, void (*run)(const task *), peak_loop loop, float *const *streams,
                          size_t count, bool everyone_all) {
    enum { TRIES = 5 };
    double fastest = 0.0;
    bool waited = true;
    for (int i = 0; i < TRIES && waited; i++) {
        const double seconds = run_once(threads, run, loop, streams, count, everyone_all, &waited);
        fastest = i == 0 || seconds < fastest ? seconds : fastest;
    }
    return fastest;
}

static void run_loop(const task *mine) {
    mine->loop(mine->end);
}

double bench_loop_seconds(unsigned threads, void (*loop)(size_t rounds), size_t rounds) {
    return run_threads(threads, run_loop, loop, NULL, rounds, true);
}

double bench_peak(unsigned threads) {
    static size_t rounds = 0;
    for (size_t trial = 1 << 14; rounds == 0; trial *= 2)
        if (bench_loop_seconds(1, widest().loop, trial) > PEAK_SECONDS)
            rounds = trial;
    const double seconds = bench_loop_seconds(threads, widest().loop, rounds);
    return 2.0 * SUMS * widest().lanes * (double)rounds * threads_used(threads) / seconds;
}

double bench_peak_instructions(void) {
    return bench_peak(1) / (2.0 * widest().lanes);
}

/* --- bandwidth --- */

static void run_triad(const task *mine) {
    float *restrict a = mine->streams[0];
    const float *restrict b = mine->streams[1], *restrict c = mine->streams[2];
    for (size_t i = mine->begin; i < mine->end; i++)
        a[i] = b[i] + 3.0f * c[i];
}

double bench_triad(unsigned threads) {
    static float *streams[3];
    const size_t elements = bench_settings.smoke ? 1 << 16 : TRIAD_ELEMENTS;
    for (int i = 0; i < 3 && streams[i] == NULL; i++)
        streams[i] = bench_allocate(elements * sizeof *streams[i]);
    const double seconds = run_threads(threads, run_triad, NULL, streams, elements, false);
    return 3.0 * (double)elements * sizeof **streams / seconds;
}

/* The factor is 0, so the arrays keep their contents; the compiler cannot see this value. */
static void run_streams(const task *mine) {
    const volatile float zero = 0.0f;
    const float factor = zero;
    float *restrict a = mine->streams[0], *restrict b = mine->streams[2], *restrict c = mine->streams[3];
    const float *restrict source = mine->streams[1];
    for (size_t i = mine->begin; i < mine->end; i++) {
        const float x = factor * source[i];
        a[i] += x;
        b[i] += x;
        c[i] += x;
    }
}

double bench_streams(unsigned threads, float *const streams[4], size_t elements) {
    const double seconds = run_threads(threads, run_streams, NULL, streams, elements, false);
    return 7.0 * (double)elements * sizeof **streams / seconds;
}

/* One cache line after the other, each prefetched some lines ahead, which is a little faster than what the hardware
 * fetches by itself. There are as many sums as hide the latency of an addition. */
double bench_reads(const float *stream, size_t elements) {
    typedef float quad __attribute__((vector_size(16)));
    enum { AHEAD = 128, QUAD = 4, SUMS_OF_LINE = 4, LINE = QUAD * SUMS_OF_LINE };
    quad sums[2][SUMS_OF_LINE] = {{{0.0f}}};
    const double begin = bench_thread_seconds();
    size_t i = 0;
    for (; i + 2 * LINE <= elements; i += 2 * LINE) {
        __builtin_prefetch(stream + i + AHEAD);
        __builtin_prefetch(stream + i + AHEAD + LINE);
        for (size_t s = 0; s < SUMS_OF_LINE; s++) {
            sums[0][s] += *(const quad *)(const void *)(stream + i + s * QUAD);
            sums[1][s] += *(const quad *)(const void *)(stream + i + LINE + s * QUAD);
        }
    }
    const double seconds = bench_thread_seconds() - begin;
    for (size_t s = 0; s < SUMS_OF_LINE; s++)
        sink = sums[0][s][0] + sums[1][s][0];
    return (double)i * sizeof *stream / seconds;
}
