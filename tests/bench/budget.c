/* The time of a run, and what it is spent on. The cases come in turns. Each turn has a weight, and gets that share of
 * the time that is left for it and all later turns: what one turn does not need is left to the others. A turn whose
 * least number of rounds takes longer than that takes it from the others; only the end of the run is fixed. What would
 * go beyond it has a row that says so. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/bench/bench.h"

#define ROUNDS_USUAL  5
#define ROUNDS_MOST   15
#define CHEAP_SECONDS 4.0 /* rounds beyond the usual number are run only within this time */
#define ENDLESS       1e9

static struct {
    bool planning;
    double weight; /* of this turn, if it is planned, and of all later ones */
    double end;    /* of the run */
    double turn_end;
    bench_turns turns;
} budget;

bool bench_is_wanted(const char *group, const char *shape, const char *storage) {
    char name[128];
    bench_format(name, sizeof name, "%s %s %s", group, shape, storage);
    return bench_settings.only == NULL || strstr(name, bench_settings.only) != NULL;
}

bool bench_budget_plan(void (*const families[])(void), size_t count) {
    budget.planning = true;
    for (size_t i = 0; i < count; i++)
        families[i]();
    budget.planning = false;
    return budget.turns.all > 0;
}

void bench_budget_run(double begin, void (*const families[])(void), size_t count) {
    budget.end = bench_settings.minutes > 0.0 ? begin + 60.0 * bench_settings.minutes : ENDLESS;
    for (size_t i = 0; i < count; i++)
        families[i]();
}

static void leave_out(const char *group, const char *shape) {
    bench_row row = {.reference = BENCH_NOTHING};
    bench_format(row.group, sizeof row.group, "%s", group);
    bench_format(row.shape, sizeof row.shape, "%s", shape);
    bench_format(row.storage, sizeof row.storage, "all");
    bench_format(row.note, sizeof row.note, "left out: the time was up; measure it alone with --only");
    bench_report_row(&row);
    budget.turns.left_out++;
}

bool bench_turn(const char *group, const char *shape, double weight) {
    if (budget.planning) {
        budget.weight += weight;
        budget.turns.all++;
        return false;
    }
    const double now = bench_seconds(), share = weight / budget.weight;
    budget.weight -= weight;
    if (now >= budget.end) {
        leave_out(group, shape);
        return false;
    }
    budget.turn_end = bench_settings.minutes > 0.0 ? now + (budget.end - now) * fmin(share, 1.0) : ENDLESS;
    return true;
}

double bench_turn_left(void) {
    return fmax(budget.turn_end - bench_seconds(), 0.0);
}

bool bench_is_out_of_time(const bench_case *it, double round_seconds) {
    if (bench_settings.repeat != 0 || BENCH_ROUNDS_LEAST * round_seconds <= budget.end - bench_seconds())
        return false;
    bench_row row = bench_row_of(it);
    bench_format(row.note, sizeof row.note, "left out: a round takes %.1f s, and the time is nearly up", round_seconds);
    bench_report_row(&row);
    return true;
}

unsigned bench_rounds(double round_seconds, double seconds) {
    if (bench_settings.repeat != 0)
        return bench_settings.repeat;
    const double fitting = seconds / fmax(round_seconds, 1e-9), cheap = CHEAP_SECONDS / fmax(round_seconds, 1e-9);
    const double rounds = fmin(fitting, fmax(ROUNDS_USUAL, fmin(cheap, ROUNDS_MOST)));
    return rounds > BENCH_ROUNDS_LEAST ? (unsigned)rounds : BENCH_ROUNDS_LEAST;
}

bench_turns bench_count_turns(void) {
    return budget.turns;
}
