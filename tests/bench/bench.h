/* The benchmarks of `make bench`. The machine is shared and its clock moves, so a figure alone says little. What may be
 * compared are ratios of times of one round: the shares of a reference, PyTorch's time by ours, instructions of the
 * peak loop, and the shares of the ops, which are of the step of their round. Times, G/s, sizes, and the peak and the
 * triad of the machine are of this run only. Nothing here passes or fails on a time. */
#ifndef FIRN_TESTS_BENCH_H
#define FIRN_TESTS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/kernels/kernels.h"

/* What a case is a ratio of. */
typedef enum bench_reference {
    BENCH_PEAK,    /* fused multiply-adds of float32 at the widest vector */
    BENCH_STREAMS, /* a loop that reads four streams and writes three */
    BENCH_NOTHING  /* a time by itself, told in instructions of the peak loop; or a size */
} bench_reference;

/* PyTorch in its four ways. */
enum { BENCH_EAGER, BENCH_COMPILED, BENCH_BFLOAT16, BENCH_BFLOAT16_COMPILED, BENCH_TORCHES };
#define BENCH_EAGER_ONLY   (1u << BENCH_EAGER)
#define BENCH_FLOAT32_BOTH (1u << BENCH_EAGER | 1u << BENCH_COMPILED)
#define BENCH_EAGER_BOTH   (1u << BENCH_EAGER | 1u << BENCH_BFLOAT16)
#define BENCH_EVERY_TORCH  ((1u << BENCH_TORCHES) - 1)

typedef struct bench_options {
    const char *only;  /* groups and cases whose names contain it; NULL: all */
    const char *out;   /* folder */
    const char *firnc; /* the compiler */
    const char *python;
    unsigned repeat, threads;
    bool smoke;        /* one repetition of the smallest shapes */
    unsigned torches;  /* ways of PyTorch that are asked, a bit each; 0: none */
    double call_limit; /* seconds that one call may be expected to take */
} bench_options;

/* One case: something that can be run again and again. */
typedef struct bench_case {
    char group[24], shape[48], storage[24];
    bench_reference reference;
    double work; /* operations or bytes of one call */
    void (*run)(void *context);
    void *context;
    const int *error; /* of the calls until now, the last that was not FIRN_OK; NULL: they cannot fail */
    char torch[96];   /* the same work for pytorch.py; "" when it has none */
    unsigned torches;
    double call_limit; /* seconds; 0: that of the options */
    const char *like;  /* a storage whose speed is expected of a kind that was not measured yet; NULL: none */
    /* The memory of BENCH_STREAMS: four arrays of so many floats. */
    float *streams[4];
    size_t stream_elements;
} bench_case;

/* A line of the report. */
typedef struct bench_row {
    char group[24], shape[48], storage[24], note[64];
    bench_reference reference;
    unsigned rounds;
    double work, seconds;        /* of one call: the median of the rounds */
    double of_one, of_all;       /* share of the reference with one thread and with all; 0: none */
    double instructions;         /* BENCH_NOTHING: of the peak loop with one thread, in the same time; 0: none */
    double torch[BENCH_TORCHES]; /* PyTorch's time divided by ours; 0: none */
    char op[40];                 /* a part of a step; "": the row is something else */
    double calls, share;         /* of the part, in one step */
} bench_row;

/* Of a case, at the most. */
#define BENCH_ROUNDS_MAX 64

extern bench_options bench_settings;

/* --- measure.c --- */

double bench_seconds(void);
/* Sorts the values; 0 when there is none. */
double bench_median(double *values, size_t count);
void *bench_allocate(size_t bytes); /* zeroed, aligned to 64 */
void bench_format(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Prints a line; the run goes on with the next case, and its exit code will be 1. Not for what is left out for want of
 * a feature, of memory or of PyTorch. */
void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool bench_has_failed(void);
/* Whether a call of the case has failed, which is told; it has no row then. */
bool bench_case_failed(const bench_case *it);
/* How kernels are given their threads. */
firn_parallel bench_parallel(void);
/* False when --only leaves it out. */
bool bench_is_wanted(const char *group, const char *shape, const char *storage);
/* How many calls make a measurement; the first one warms the caches. */
size_t bench_choose_calls(const bench_case *it);
/* Seconds of one of so many calls. */
double bench_time_calls(const bench_case *it, size_t calls);
/* Whether a case has a further round after so many, which took so many seconds. */
bool bench_goes_on(unsigned rounds, double spent);
/* Runs a case in rounds, each with its references, and puts a row into the report. */
void bench_measure(const bench_case *it);
void bench_begin(void);
void bench_end(void);

/* --- references.c --- */

/* Operations a second of `threads` threads that do nothing but multiply-adds. */
double bench_peak(unsigned threads);
/* The same for one thread, in vector instructions a second. */
double bench_peak_instructions(void);
const char *bench_peak_name(void);
/* Bytes a second of a[i] = b[i] + s * c[i]. */
double bench_triad(unsigned threads);
/* Bytes a second of four streams read and three written. */
double bench_streams(unsigned threads, float *const streams[4], size_t elements);

/* --- pytorch.c --- */

void bench_torch_begin(void);
const char *bench_torch_version(void); /* "no torch" when there is none */
/* Seconds of one call; 0 when PyTorch cannot do it. */
double bench_torch(unsigned variant, const char *question);
void bench_torch_end(void);

/* --- ops.c --- */

/* The kernel set of this machine with kernels that are timed: a firn_config.kernels of this program alone. */
#define BENCH_TIMED "timed"
/* Runs a case that is one step of a plan opened with that set, and puts rows into the report: the step, each op that
 * takes a thousandth of it, the others together, what the executor does between ops, and the readings of the clock. */
void bench_ops(const bench_case *it);

/* --- the cases --- */

void bench_products(void);
void bench_attention(void);
void bench_adamw(void);
void bench_plans(void);
/* The peak resident memory of one step, printed; run in a process of its own. */
int bench_memory_of(const char *plan, const char *key);

/* --- report.c --- */

void bench_report_begin(void);
void bench_report_row(const bench_row *row);
/* The last row of that kind that has a time; group NULL: of any. */
const bench_row *bench_report_last(const char *group, const char *storage);
typedef struct bench_machine {
    double peak_one, peak_all, triad_one, triad_all; /* medians over the whole run; operations and bytes a second */
} bench_machine;
/* The end of the table on stdout; report.json and report.svg in the folder. */
bool bench_report_write(const bench_machine *machine);
/* Reads report.json back, and looks at both files. */
bool bench_report_check(void);

#endif
