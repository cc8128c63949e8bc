/* Measures the time of each op within a step. A plan opened with the kernel set "timed" gets kernels that call those of
 * this machine's set and accumulate their time. Only this program has that set: it is linked with
 * --wrap=firn_kernel_set_choose, so the library under test is the one that users have. Code here may not change a
 * kernel's arguments. */
#include <string.h>

#include "tests/bench/bench.h"

#define LEAST_SHARE    0.001 /* of a step; ops with a smaller share are reported together */
#define CLOCK_READINGS 1000

/* --- the kernel set --- */

const firn_kernel_set *__real_firn_kernel_set_choose(const char *name);
const firn_kernel_set *__wrap_firn_kernel_set_choose(const char *name);

static void run_timed(uint16_t code, const firn_kernel_call *call);

/* A kernel does not receive its op code, so there is a separate wrapper for each op. */
#define FIRN_OP(name, code, ...)                                                                                       \
    static void run_timed_##name(const firn_kernel_call *call) {                                                       \
        run_timed(code, call);                                                                                         \
    }
#include "plan/ops.def"
#undef FIRN_OP

static const struct {
    const char *name;
    firn_kernel timed;
} ops[] = {
#define FIRN_OP(name, code, ...) [code] = {#name, run_timed_##name},
#include "plan/ops.def"
#undef FIRN_OP
};
enum { OPS_END = sizeof ops / sizeof ops[0] };

static const firn_kernel_set *timed_set; /* whose kernels are timed */

/* Per op code, since the last round began. */
static struct {
    size_t calls;
    double seconds;
} totals[OPS_END];

/* A kernel that consists of others finds them in this set; their time is part of its own. Ops of one code may have
 * several kernels, one for each kind of sum, so the kernel is found anew for each call. */
static void run_timed(uint16_t code, const firn_kernel_call *call) {
    static bool is_inside;
    const firn_kernel kernel = timed_set->find(code, call->reductions).run;
    if (is_inside) {
        kernel(call);
        return;
    }
    is_inside = true;
    const double begin = bench_seconds();
    kernel(call);
    is_inside = false;
    totals[code].seconds += bench_seconds() - begin;
    totals[code].calls++;
}

static firn_kernel_choice find_timed(uint16_t code, const firn_reduction *reduction) {
    firn_kernel_choice choice = timed_set->find(code, reduction);
    if (code >= OPS_END || choice.run == NULL)
        return choice;
    choice.run = ops[code].timed;
    return choice;
}

const firn_kernel_set *__wrap_firn_kernel_set_choose(const char *name) {
    static firn_kernel_set timed = {.name = BENCH_TIMED, .find = find_timed};
    const bool is_timed = name != NULL && strcmp(name, BENCH_TIMED) == 0;
    const firn_kernel_set *set = __real_firn_kernel_set_choose(is_timed ? NULL : name);
    if (!is_timed || set == NULL)
        return set;
    timed_set = set;
    timed.has_scratch = set->has_scratch;
    return &timed;
}

/* --- rounds --- */

/* The parts of a step: one per op code, and two more. */
enum { EXECUTOR = OPS_END, CLOCK, PARTS };

static struct {
    double calls; /* per step */
    double seconds[BENCH_ROUNDS_MAX], shares[BENCH_ROUNDS_MAX];
} parts[PARTS];

/* The shortest time between two readings of the clock. */
static double time_of_reading(void) {
    double least = 1.0;
    for (int i = 0; i < CLOCK_READINGS; i++) {
        const double begin = bench_seconds(), taken = bench_seconds() - begin;
        least = taken < least ? taken : least;
    }
    return least;
}

static void clear_totals(void) {
    for (size_t code = 0; code < OPS_END; code++) {
        totals[code].calls = 0;
        totals[code].seconds = 0.0;
    }
}

static void set_part(size_t part, unsigned round, double calls, double seconds, double step) {
    parts[part].calls = calls;
    parts[part].seconds[round] = seconds;
    parts[part].shares[round] = seconds / step;
}

/* Divides the time of a round's steps among the parts. The clock is read twice for each call; half of that cost falls
 * between the two readings, the other half outside. */
static void divide_round(unsigned round, double steps, double step, double reading) {
    double outside = step, all_calls = 0.0;
    for (size_t code = 0; code < OPS_END; code++) {
        const double calls = (double)totals[code].calls / steps, seconds = totals[code].seconds / steps;
        set_part(code, round, calls, seconds - reading * calls, step);
        outside -= seconds;
        all_calls += calls;
    }
    set_part(EXECUTOR, round, 1.0, outside - reading * all_calls, step);
    set_part(CLOCK, round, 2.0 * all_calls, 2.0 * reading * all_calls, step);
}

/* --- rows --- */

static double median_of(const double *values, unsigned count) {
    return bench_spread_of(values, count).median;
}

/* seconds: of each round. */
static void report_part(bench_row row, const char *name, double calls, const double *seconds, double share) {
    bench_format(row.op, sizeof row.op, "%s", name);
    bench_format(row.note, sizeof row.note, "%6.2f %% %5.0f x  %s", 100.0 * share, calls, name);
    row.calls = calls;
    row.seconds = bench_spread_of(seconds, row.rounds).median;
    memcpy(row.times, seconds, row.rounds * sizeof *seconds);
    row.share = share;
    bench_report_row(&row);
}

/* Sorts the ops by share, largest first. The entries lose their op code order, which is not needed afterwards. */
static void report_ops(const bench_row *row) {
    double shares[OPS_END], others[BENCH_ROUNDS_MAX] = {0}, other_share = 0.0, other_calls = 0.0;
    for (size_t code = 0; code < OPS_END; code++) {
        shares[code] = median_of(parts[code].shares, row->rounds);
        if (shares[code] >= LEAST_SHARE)
            continue;
        for (unsigned round = 0; round < row->rounds; round++)
            others[round] += parts[code].seconds[round];
        other_share += shares[code];
        other_calls += parts[code].calls;
    }
    for (;;) {
        size_t largest = 0;
        for (size_t code = 1; code < OPS_END; code++)
            largest = shares[code] > shares[largest] ? code : largest;
        if (shares[largest] < LEAST_SHARE)
            break;
        report_part(*row, ops[largest].name, parts[largest].calls, parts[largest].seconds, shares[largest]);
        shares[largest] = 0.0;
    }
    if (other_calls > 0.0)
        report_part(*row, "other ops", other_calls, others, other_share);
}

static void report_rest(const bench_row *row, size_t part, const char *name) {
    report_part(*row, name, parts[part].calls, parts[part].seconds, median_of(parts[part].shares, row->rounds));
}

void bench_ops(const bench_case *it) {
    double steps[BENCH_ROUNDS_MAX];
    bench_row row = bench_row_of(it);
    double call_seconds;
    const size_t calls = bench_choose_calls(it, &call_seconds);
    if (bench_is_out_of_time(it, call_seconds * (double)calls))
        return;
    const double reading = time_of_reading();
    const unsigned rounds = bench_rounds(call_seconds * (double)calls, bench_turn_left());
    row.reference = BENCH_NOTHING;
    for (; row.rounds < rounds && row.rounds < BENCH_ROUNDS_MAX; row.rounds++) {
        clear_totals();
        steps[row.rounds] = bench_time_calls(it, calls);
        if (bench_case_failed(it))
            return;
        divide_round(row.rounds, (double)calls, steps[row.rounds], reading);
    }
    report_part(row, "step", 1.0, steps, 1.0);
    report_ops(&row);
    report_rest(&row, EXECUTOR, "executor");
    report_rest(&row, CLOCK, "clock");
}
