/* The command line of the benchmarks.
 *
 *     firn-bench [--only NAME] [--minutes M] [--repeat N] [--threads N] [--limit S] [--smoke]
 *                [--torch no|float32|compiled|eager|all] [--python P] [--firnc P] [--out D]
 *
 * --only NAME    run only the cases whose "what shape storage" contains NAME
 * --minutes M    end within M minutes (17; none with --repeat): a case gets three rounds at least, five if there is
 * time, and up to fifteen while they are cheap. What there is no time for is left out, and its row says so
 * --repeat N     exactly N rounds of each case, however long that takes
 * --threads N    threads of the kernels and of PyTorch (the number of CPUs)
 * --limit S      leave out kernels of which one call is expected to take longer than S seconds (3)
 * --smoke        run one round of the smallest shapes and check the files that were written; takes seconds
 * --torch HOW    no: without PyTorch; float32: eager, without autocast; compiled: float32, eager and compiled, without
 *                autocast; eager: float32 and bfloat16, without torch.compile; all: everything. The default is all but
 *                autocast on a CPU without bfloat16, which emulates it very slowly; torch.compile takes minutes
 *
 * FIRN_KERNELS in the environment chooses the kernel set, as for firn. Exit code 0: every case ran or was left out
 * because this machine or the time lacks something that it needs, whatever the times are; 1: a case failed and has no
 * row; 2: the command line is wrong. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/targets/host/host.h"
#include "tests/bench/bench.h"

#define MACHINE_ROUNDS 3    /* rounds before and rounds after the cases */
#define MINUTES        17.0 /* installing packages and building takes one or two more */

bench_options bench_settings = {
    .out = "build/bench", .firnc = "build/firnc", .python = "python3", .call_limit = 3.0, .torches = BENCH_EVERY_TORCH};

static bool read_number(const char *text, unsigned *number) {
    char *end;
    const unsigned long value = strtoul(text, &end, 10);
    if (end == text || *end != 0 || value == 0 || value > 64)
        return false;
    *number = (unsigned)value;
    return true;
}

static bool read_limit(const char *text) {
    unsigned seconds;
    if (!read_number(text, &seconds))
        return false;
    bench_settings.call_limit = seconds;
    return true;
}

static bool read_minutes(const char *text) {
    char *end;
    bench_settings.minutes = strtod(text, &end);
    return end != text && *end == 0 && bench_settings.minutes > 0.0 && bench_settings.minutes < 1e6;
}

static bool read_torch(const char *text) {
    static const struct {
        const char *name;
        unsigned torches;
    } choices[] = {{"no", 0},
                   {"float32", BENCH_EAGER_ONLY},
                   {"compiled", BENCH_FLOAT32_BOTH},
                   {"eager", BENCH_EAGER_BOTH},
                   {"all", BENCH_EVERY_TORCH}};
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++)
        if (strcmp(text, choices[i].name) == 0) {
            bench_settings.torches = choices[i].torches;
            bench_settings.chosen_torch = true;
            return true;
        }
    return false;
}

static bool read_option(const char *name, const char *value) {
    if (strcmp(name, "--only") == 0)
        bench_settings.only = value;
    else if (strcmp(name, "--repeat") == 0)
        return read_number(value, &bench_settings.repeat);
    else if (strcmp(name, "--minutes") == 0)
        return read_minutes(value);
    else if (strcmp(name, "--threads") == 0)
        return read_number(value, &bench_settings.threads);
    else if (strcmp(name, "--limit") == 0)
        return read_limit(value);
    else if (strcmp(name, "--torch") == 0)
        return read_torch(value);
    else if (strcmp(name, "--python") == 0)
        bench_settings.python = value;
    else if (strcmp(name, "--firnc") == 0)
        bench_settings.firnc = value;
    else if (strcmp(name, "--out") == 0)
        bench_settings.out = value;
    else
        return false;
    return true;
}

static bool read_options(int count, char **words) {
    bench_settings.threads = firn_host_cpus();
    bench_settings.word_count = count;
    bench_settings.words = words;
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--smoke") == 0) {
            bench_settings.smoke = true;
            bench_settings.repeat = 1;
        } else if (i + 1 < count && read_option(words[i], words[i + 1])) {
            i++;
        } else {
            fprintf(stderr, "bench: command line: %s; the first lines of tests/bench/main.c show what there is\n",
                    words[i]);
            return false;
        }
    }
    if (bench_settings.repeat == 0 && bench_settings.minutes <= 0.0)
        bench_settings.minutes = MINUTES;
    return true;
}

/* The references, measured without a case. */
typedef struct samples {
    double peak_one[2 * MACHINE_ROUNDS], peak_all[2 * MACHINE_ROUNDS];
    double triad_one[2 * MACHINE_ROUNDS], triad_all[2 * MACHINE_ROUNDS];
    unsigned count;
} samples;

/* Load from other processes. Under noticeable load the ratios are unreliable, above all those to PyTorch, because its
 * threads wait for each other in busy loops. */
static void look_for_others(void) {
    const double load = bench_machine_of()->load;
    if (load > 0.3 && !bench_settings.smoke)
        fprintf(stderr, "bench: the load of this machine is %.1f already: others are computing, so do not trust this\n",
                load);
}

static void look_at_machine(samples *seen) {
    for (int i = 0; i < MACHINE_ROUNDS; i++, seen->count++) {
        seen->peak_one[seen->count] = bench_peak(1);
        seen->peak_all[seen->count] = bench_peak(bench_settings.threads);
        seen->triad_one[seen->count] = bench_triad(1);
        seen->triad_all[seen->count] = bench_triad(bench_settings.threads);
    }
}

int main(int count, char **words) {
    if (count == 6 && strcmp(words[1], "--threads") == 0 && strcmp(words[3], "--memory-of") == 0)
        return read_number(words[2], &bench_settings.threads) ? bench_memory_of(words[4], words[5]) : 2;
    firn_host_messages_to(firn_host_print_message, NULL);
    if (!read_options(count, words))
        return 2;
    if (firn_kernel_set_choose(NULL) == NULL) {
        fprintf(stderr, "bench: FIRN_KERNELS: %s is no kernel set of this machine\n", getenv("FIRN_KERNELS"));
        return 2;
    }
    if (mkdir(bench_settings.out, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "bench: %s: cannot be made: %s\n", bench_settings.out, strerror(errno));
        return 1;
    }
    /* The rows that others are compared with come first: a run that has too little time leaves out the last. */
    static void (*const families[])(void) = {bench_squares,      bench_steps,    bench_attention, bench_blocks,
                                             bench_adamw,        bench_elements, bench_batches,   bench_recurrence,
                                             bench_convolutions, bench_decoding, bench_openings,  bench_step_ops,
                                             bench_decoding_ops};
    if (!bench_budget_plan(families, sizeof families / sizeof families[0])) {
        fprintf(stderr, "bench: --only %s: no case has this in its name (\"what shape storage\" of a row)\n",
                bench_settings.only);
        return 2;
    }
    samples seen = {0};
    bench_rates rates = {.begin = bench_seconds()};
    look_for_others();
    rates.engine_count = bench_engines(rates.engines); /* before there are other threads */
    bench_begin();
    bench_torch_begin();
    bench_report_begin();
    look_at_machine(&seen);
    bench_budget_run(rates.begin, families, sizeof families / sizeof families[0]);
    look_at_machine(&seen);
    rates.peak_one = bench_spread_of(seen.peak_one, seen.count).median;
    rates.peak_all = bench_spread_of(seen.peak_all, seen.count).median;
    rates.triad_one = bench_spread_of(seen.triad_one, seen.count).median;
    rates.triad_all = bench_spread_of(seen.triad_all, seen.count).median;
    const bool good = bench_report_write(&rates);
    bench_torch_end();
    bench_end();
    return good && !bench_has_failed() ? 0 : 1;
}
