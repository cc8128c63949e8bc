/* Measures cases in rounds. Each round times the references, the case and PyTorch one after the other and computes the
 * ratios from that round's times. The report has the median of the ratios. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/targets/host/host.h"
#include "tests/bench/bench.h"

#define SHORTEST     20e-3 /* seconds of one measurement; shorter calls are repeated to fill it */
#define CASE_SECONDS 20.0  /* seconds in our own calls after which a case gets no further round */

static firn_host_threads *pool;
static bool has_failed;

double bench_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int ascending(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double bench_median(double *values, size_t count) {
    if (count == 0)
        return 0.0;
    qsort(values, count, sizeof *values, ascending);
    return count % 2 != 0 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2.0;
}

void *bench_allocate(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes) != 0) {
        fprintf(stderr, "bench: %zu bytes of memory cannot be had; choose less with --only\n", bytes);
        exit(1);
    }
    memset(memory, 0, bytes);
    return memory;
}

void bench_format(char *text, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, size, format, arguments);
    va_end(arguments);
}

void bench_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    has_failed = true;
}

bool bench_has_failed(void) {
    return has_failed;
}

bool bench_case_failed(const bench_case *it) {
    if (it->error == NULL || *it->error == FIRN_OK)
        return false;
    bench_fail("%s, %s, %s: %s", it->group, it->shape, it->storage, firn_error_text(*it->error));
    return true;
}

static void run_in_pool(void *context, size_t tasks, firn_task_body body, void *argument) {
    firn_host_threads_run(context, tasks, body, argument);
}

firn_parallel bench_parallel(void) {
    return (firn_parallel){pool, pool != NULL ? run_in_pool : NULL, firn_host_threads_count(pool), FIRN_GRAIN};
}

void bench_begin(void) {
    pool = firn_host_threads_start(bench_settings.threads);
}

void bench_end(void) {
    firn_host_threads_stop(pool);
    pool = NULL;
}

bool bench_is_wanted(const char *group, const char *shape, const char *storage) {
    char name[128];
    bench_format(name, sizeof name, "%s %s %s", group, shape, storage);
    return bench_settings.only == NULL || strstr(name, bench_settings.only) != NULL;
}

double bench_time_calls(const bench_case *it, size_t calls) {
    const double begin = bench_seconds();
    for (size_t i = 0; i < calls; i++)
        it->run(it->context);
    return (bench_seconds() - begin) / (double)calls;
}

size_t bench_choose_calls(const bench_case *it) {
    size_t calls = 1;
    double seconds = bench_time_calls(it, 1);
    for (; seconds * (double)calls < SHORTEST && !bench_settings.smoke; calls *= 2)
        seconds = bench_time_calls(it, calls);
    return calls;
}

bool bench_goes_on(unsigned rounds, double spent) {
    return rounds < bench_settings.repeat && rounds < BENCH_ROUNDS_MAX && spent < CASE_SECONDS;
}

static double reference_rate(const bench_case *it, unsigned threads) {
    switch (it->reference) {
    case BENCH_PEAK:
        return bench_peak(threads);
    case BENCH_STREAMS:
        return bench_streams(threads, it->streams, it->stream_elements);
    default:
        return 0.0;
    }
}

/* Returns true and adds a row without a time if the last measured case of this kind predicts that a call would exceed
 * the limit. */
static bool is_too_long(const bench_case *it) {
    const bench_row *last = bench_report_last(it->group, it->storage);
    const double limit = it->call_limit > 0.0 ? it->call_limit : bench_settings.call_limit;
    if (last == NULL && it->like != NULL)
        last = bench_report_last(NULL, it->like);
    if (last == NULL || it->reference == BENCH_NOTHING)
        return false;
    const double seconds = last->seconds / last->work * it->work;
    if (seconds <= limit)
        return false;
    bench_row row = {.reference = it->reference, .work = it->work};
    memcpy(row.group, it->group, sizeof row.group);
    memcpy(row.shape, it->shape, sizeof row.shape);
    memcpy(row.storage, it->storage, sizeof row.storage);
    bench_format(row.note, sizeof row.note, "left out: a call would take about %.0f s", seconds);
    bench_report_row(&row);
    return true;
}

void bench_measure(const bench_case *it) {
    double ours[BENCH_ROUNDS_MAX], of_one[BENCH_ROUNDS_MAX], of_all[BENCH_ROUNDS_MAX], instructions[BENCH_ROUNDS_MAX];
    double torch[BENCH_TORCHES][BENCH_ROUNDS_MAX];
    size_t torch_count[BENCH_TORCHES] = {0};
    if (!bench_is_wanted(it->group, it->shape, it->storage) || is_too_long(it))
        return;
    const size_t calls = bench_choose_calls(it);
    double spent = 0.0;
    unsigned round = 0;
    while (bench_goes_on(round, spent)) {
        const double one = reference_rate(it, 1), all = reference_rate(it, bench_settings.threads);
        const double instruction_rate = it->reference == BENCH_NOTHING ? bench_peak_instructions() : 0.0;
        ours[round] = bench_time_calls(it, calls);
        if (bench_case_failed(it))
            return;
        spent += ours[round] * (double)calls;
        instructions[round] = ours[round] * instruction_rate;
        of_one[round] = one > 0.0 ? it->work / ours[round] / one : 0.0;
        of_all[round] = all > 0.0 ? it->work / ours[round] / all : 0.0;
        for (unsigned variant = 0; variant < BENCH_TORCHES; variant++) {
            if (it->torch[0] == 0 || (it->torches >> variant & 1u) == 0)
                continue;
            const double seconds = bench_torch(variant, it->torch);
            if (seconds > 0.0)
                torch[variant][torch_count[variant]++] = seconds / ours[round];
        }
        round++;
    }
    bench_row row = {.reference = it->reference, .rounds = round, .work = it->work};
    memcpy(row.group, it->group, sizeof row.group);
    memcpy(row.shape, it->shape, sizeof row.shape);
    memcpy(row.storage, it->storage, sizeof row.storage);
    row.seconds = bench_median(ours, round);
    row.of_one = bench_median(of_one, round);
    row.of_all = bench_median(of_all, round);
    row.instructions = bench_median(instructions, round);
    if (row.instructions > 0.0)
        bench_format(row.note, sizeof row.note, "the time of %.0f instructions", row.instructions);
    for (unsigned variant = 0; variant < BENCH_TORCHES; variant++)
        row.torch[variant] = bench_median(torch[variant], torch_count[variant]);
    bench_report_row(&row);
}
