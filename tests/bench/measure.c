/* Measures cases in rounds. Each round times each case, with the references before and after it, then PyTorch, and
 * computes the ratios from that round's times. The report has the medians of the ratios and their quartiles. */
#define _GNU_SOURCE
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "runtime/targets/host/host.h"
#include "tests/bench/bench.h"

#define SHORTEST      20e-3 /* seconds of one measurement; shorter calls are repeated to fill it */
#define CASE_SECONDS  20.0  /* without a time limit: seconds in a case's calls after which there is no further round */
#define CHEAP_CALL    0.1   /* seconds of a call that is made even if the time of its turn is up */
#define TORCH_SECONDS 300.0 /* without a time limit: seconds that torch.compile may take */

static firn_host_threads *pool;
static bool has_failed;

double bench_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double bench_thread_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int ascending(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Returns the value at a share of sorted values, between two of them if need be. */
static double quantile(const double *sorted, unsigned count, double share) {
    const double place = share * (count - 1);
    const unsigned below = (unsigned)place, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

bench_spread bench_spread_of(const double *values, unsigned count) {
    double sorted[BENCH_ROUNDS_MAX];
    unsigned used = 0;
    for (unsigned i = 0; i < count && i < BENCH_ROUNDS_MAX; i++)
        if (values[i] > 0.0)
            sorted[used++] = values[i];
    if (used == 0)
        return (bench_spread){0};
    qsort(sorted, used, sizeof *sorted, ascending);
    return (bench_spread){quantile(sorted, used, 0.25), quantile(sorted, used, 0.5), quantile(sorted, used, 0.75)};
}

/* Large tensors lie in huge pages, as they do in the arena of a program on a host (runtime/targets/host/blocks.c). */
void *bench_allocate(size_t bytes) {
    enum { LINE = 64, HUGE = 2 << 20 };
    void *memory = NULL;
    const bool is_large = bytes >= HUGE;
    if (posix_memalign(&memory, is_large ? HUGE : LINE, bytes) != 0) {
        fprintf(stderr, "bench: %zu bytes of memory cannot be had; choose less with --only\n", bytes);
        exit(1);
    }
    if (is_large)
        (void)madvise(memory, bytes / HUGE * HUGE, MADV_HUGEPAGE);
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

bench_row bench_row_of(const bench_case *it) {
    bench_row row = {.reference = it->reference, .work = it->work};
    memcpy(row.group, it->group, sizeof row.group);
    memcpy(row.shape, it->shape, sizeof row.shape);
    memcpy(row.storage, it->storage, sizeof row.storage);
    return row;
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

double bench_time_calls(const bench_case *it, size_t calls) {
    double (*const clock)(void) = it->one_thread ? bench_thread_seconds : bench_seconds;
    const double begin = clock();
    for (size_t i = 0; i < calls; i++)
        it->run(it->context);
    return (clock() - begin) / (double)calls;
}

size_t bench_choose_calls(const bench_case *it, double *seconds) {
    size_t calls = 1;
    *seconds = bench_time_calls(it, 1);
    for (; *seconds * (double)calls < SHORTEST && !bench_settings.smoke; calls *= 2)
        *seconds = bench_time_calls(it, calls);
    return calls;
}

static double measure_reference(const bench_case *it, unsigned threads) {
    switch (it->reference) {
    case BENCH_PEAK:
        return bench_peak(threads);
    case BENCH_STREAMS:
        return bench_streams(threads, it->streams, it->stream_elements);
    case BENCH_TRIAD:
        return bench_triad(threads);
    case BENCH_READS:
        return bench_reads(it->streams[0], it->stream_elements);
    default:
        return bench_peak_instructions();
    }
}

/* What the reference reaches around a case of a round. */
typedef struct reference {
    double one, all; /* with one thread and with all */
} reference;

/* Measures the reference, before a case and after it, and keeps the better rate. It takes milliseconds: a thread of
 * another process, or of PyTorch before it sleeps, may hold one of the cores all that time, which lowers the rate, and
 * nothing raises it. */
static void look_at_reference(const bench_case *it, reference *best) {
    best->one = fmax(best->one, measure_reference(it, 1));
    if (it->reference != BENCH_NOTHING && it->reference != BENCH_READS)
        best->all = fmax(best->all, measure_reference(it, bench_settings.threads));
}

/* The seconds that a call is expected to take, by the last measured case of this kind; 0: unknown. */
static double expected_seconds(const bench_case *it) {
    const bench_row *last = bench_report_last(it->group, it->storage);
    if (last == NULL && it->like != NULL)
        last = bench_report_last(NULL, it->like);
    return last == NULL || it->reference == BENCH_NOTHING ? 0.0 : last->seconds / last->work * it->work;
}

/* Adds a row without a time. */
static void leave_out(const bench_case *it, double seconds) {
    bench_row row = bench_row_of(it);
    bench_format(row.note, sizeof row.note, "left out: a call would take about %.1f s", seconds);
    bench_report_row(&row);
}

/* A case that takes part in the rounds. */
typedef struct contestant {
    const bench_case *it;
    size_t calls;
    double seconds; /* of a call, before the first round */
    double instructions[BENCH_ROUNDS_MAX];
    bench_row row;
} contestant;

/* A contest while it runs. */
typedef struct arena {
    contestant entered[BENCH_CASES_MAX];
    unsigned count;
    double round_seconds; /* expected */
    double torch_times[BENCH_TORCHES][BENCH_ROUNDS_MAX];
    char torch_why[BENCH_TORCHES][96];
    bool torch_runs[BENCH_TORCHES];
} arena;

/* The seconds that a call of the next case may take, so that the least number of rounds of it and of those that have
 * entered fits into the turn. */
static double limit_of(const arena *here, const bench_case *it) {
    const double limit = it->call_limit > 0.0 ? it->call_limit : bench_settings.call_limit;
    const double rest = bench_turn_left() - BENCH_ROUNDS_LEAST * here->round_seconds;
    return fmin(limit, fmax(rest / (BENCH_ROUNDS_LEAST + 1), CHEAP_CALL));
}

static void enter(arena *here, const bench_case *it) {
    contestant *mine = &here->entered[here->count];
    if (!bench_is_wanted(it->group, it->shape, it->storage))
        return;
    const double expected = expected_seconds(it);
    if (expected > limit_of(here, it)) {
        leave_out(it, expected);
        return;
    }
    mine->it = it;
    mine->calls = bench_choose_calls(it, &mine->seconds);
    if (bench_case_failed(it))
        return;
    const double round_seconds = here->round_seconds + mine->seconds * (double)mine->calls + SHORTEST;
    if (bench_is_out_of_time(it, round_seconds))
        return;
    here->round_seconds = round_seconds;
    mine->row = bench_row_of(it);
    here->count++;
}

/* Whether PyTorch would emulate what this way multiplies, which takes many times as long as the rest of its contest. */
static bool is_emulated(unsigned way) {
    return (BENCH_AUTOCAST >> way & 1u) != 0 && !bench_multiplies_bfloat16();
}

/* Prepares PyTorch in the ways that take part. A way of which the least number of rounds does not fit into the time is
 * left out, and so is one that is emulated, unless it was asked for. */
static void enter_torch(arena *here, const bench_contest *it, double end) {
    for (unsigned way = 0; way < BENCH_TORCHES; way++) {
        if (it->torch == NULL || ((it->torches & bench_settings.torches) >> way & 1u) == 0)
            continue;
        char *why = here->torch_why[way];
        if (is_emulated(way) && !bench_settings.chosen_torch) {
            bench_format(why, sizeof here->torch_why[way], "left out: emulated on this CPU; --torch all measures it");
            continue;
        }
        const double left = fmin(end - bench_seconds(), bench_turn_left());
        const double ours = BENCH_ROUNDS_LEAST * here->round_seconds, limit = fmin(left - ours, TORCH_SECONDS);
        if (limit <= 0.0) {
            bench_format(why, sizeof here->torch_why[way], "left out: no time for it");
            continue;
        }
        const double seconds = bench_torch_prepare(way, it->torch, limit, why, sizeof here->torch_why[way]);
        if (seconds <= 0.0)
            continue;
        if (BENCH_ROUNDS_LEAST * (here->round_seconds + seconds) > fmin(end - bench_seconds(), bench_turn_left())) {
            bench_format(why, sizeof here->torch_why[way], "left out: a measurement takes %.1f s", seconds);
            continue;
        }
        here->torch_runs[way] = true;
        here->round_seconds += seconds;
    }
}

/* Returns false if the call failed: the case then takes part no longer. */
static bool run_case(contestant *mine, unsigned round) {
    bench_row *row = &mine->row;
    reference rate = {0};
    look_at_reference(mine->it, &rate);
    const double seconds = bench_time_calls(mine->it, mine->calls);
    if (bench_case_failed(mine->it))
        return false;
    look_at_reference(mine->it, &rate);
    row->times[round] = seconds;
    if (mine->it->reference == BENCH_NOTHING) {
        mine->instructions[round] = seconds * rate.one;
    } else {
        row->of_one[round] = mine->it->work / seconds / rate.one;
        row->of_all[round] = rate.all > 0.0 ? mine->it->work / seconds / rate.all : 0.0;
    }
    row->rounds = round + 1;
    return true;
}

static void run_round(arena *here, const bench_contest *it, unsigned round) {
    unsigned left = 0;
    for (unsigned i = 0; i < here->count; i++)
        if (run_case(&here->entered[i], round))
            here->entered[left++] = here->entered[i];
    here->count = left;
    for (unsigned way = 0; way < BENCH_TORCHES && left > 0; way++)
        if (here->torch_runs[way])
            here->torch_times[way][round] = bench_torch(way, it->torch);
}

/* Returns whether there is another round. A time limit is looked at before the rounds, and again in case that they take
 * longer than expected. */
static bool goes_on(const arena *here, unsigned round, unsigned rounds, double end) {
    if (here->count == 0 || round >= rounds || round >= BENCH_ROUNDS_MAX)
        return false;
    if (bench_settings.repeat == 0)
        return round < BENCH_ROUNDS_LEAST || bench_seconds() < end;
    double longest = 0.0;
    for (unsigned i = 0; i < here->count; i++)
        longest = fmax(longest, here->entered[i].seconds * (double)here->entered[i].calls);
    return round == 0 || round * longest < CASE_SECONDS;
}

/* Tokens per second, and what the reference allows: the median of what each round's rate would give, for the weights
 * alone and for the keys and values besides. */
static void note_tokens(const bench_case *it, bench_row *row) {
    const double tokens = it->tokens / row->seconds;
    const double share = bench_spread_of(row->of_one, row->rounds).median;
    if (it->reference == BENCH_READS)
        bench_format(row->note, sizeof row->note,
                     "%.2f tokens/s; reading %.1f MB for each at %.1f GB/s allows %.2f; %.1f MB with keys and values: "
                     "%.2f, of which this is %.1f%%",
                     tokens, it->work * 1e-6, it->work / row->seconds / share * 1e-9, tokens / share,
                     (it->work + it->cache) * 1e-6, tokens / share / (1.0 + it->cache / it->work),
                     share * (1.0 + it->cache / it->work) * 100.0);
    else
        bench_format(row->note, sizeof row->note, "%.2f tokens/s", tokens);
}

static void report(arena *here, unsigned contest) {
    for (unsigned i = 0; i < here->count; i++) {
        contestant *mine = &here->entered[i];
        bench_row *row = &mine->row;
        row->contest = contest;
        row->seconds = bench_spread_of(row->times, row->rounds).median;
        row->instructions = bench_spread_of(mine->instructions, row->rounds).median;
        if (row->instructions > 0.0)
            bench_format(row->note, sizeof row->note, "the time of %.0f instructions", row->instructions);
        if (mine->it->tokens > 0)
            note_tokens(mine->it, row);
        memcpy(row->torch_times, here->torch_times, sizeof row->torch_times);
        memcpy(row->torch_why, here->torch_why, sizeof row->torch_why);
        for (unsigned round = 0; round < row->rounds; round++) {
            if (here->count > 1)
                row->by_first[round] = row->times[round] / here->entered[0].row.times[round];
            for (unsigned way = 0; way < BENCH_TORCHES; way++)
                row->torch_by_ours[way][round] = here->torch_times[way][round] / row->times[round];
        }
        bench_report_row(row);
    }
}

void bench_compete(const bench_contest *it) {
    static arena here;
    static unsigned contests;
    const double end = bench_seconds() + bench_turn_left() * (it->share > 0.0 ? it->share : 1.0);
    here = (arena){0};
    for (unsigned i = 0; i < it->count; i++)
        enter(&here, &it->cases[i]);
    if (here.count == 0)
        return;
    enter_torch(&here, it, end);
    const unsigned rounds = bench_rounds(here.round_seconds, fmin(end - bench_seconds(), bench_turn_left()));
    for (unsigned round = 0; goes_on(&here, round, rounds, end); round++)
        run_round(&here, it, round);
    report(&here, ++contests);
}

void bench_measure(const bench_case *it) {
    bench_compete(&(bench_contest){.cases = it, .count = 1});
}
