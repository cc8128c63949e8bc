/* The benchmarks of `make bench`. The machine may be shared and its clock frequency varies, so absolute times are not
 * comparable between runs. Only ratios of times taken in one round are: the share of a reference, PyTorch's time
 * divided by ours, instructions of the peak loop, and the share of each op in the step of its round. Times, G/s, sizes,
 * and the machine's peak and triad describe this run only. No test here may pass or fail on a time. */
#ifndef FIRN_TESTS_BENCH_H
#define FIRN_TESTS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/kernels/kernels.h"

/* The reference whose time a case is divided by. */
typedef enum bench_reference {
    BENCH_PEAK,    /* fused multiply-adds in float32 at the widest vector width */
    BENCH_STREAMS, /* a loop that reads four streams and writes three */
    BENCH_NOTHING  /* no ratio: a time, also given in instructions of the peak loop, or a size */
} bench_reference;

/* The ways in which PyTorch is run. */
enum {
    BENCH_EAGER,
    BENCH_COMPILED,
    BENCH_BFLOAT16,
    BENCH_BFLOAT16_COMPILED,
    BENCH_CHANNELS_LAST, /* images, in float32 */
    BENCH_CHANNELS_LAST_COMPILED,
    BENCH_TORCHES
};
#define BENCH_EAGER_ONLY   (1u << BENCH_EAGER)
#define BENCH_FLOAT32_BOTH (1u << BENCH_EAGER | 1u << BENCH_COMPILED)
#define BENCH_EAGER_BOTH   (1u << BENCH_EAGER | 1u << BENCH_BFLOAT16)
#define BENCH_SEQUENTIAL   ((1u << BENCH_CHANNELS_LAST) - 1) /* every way that is not for images alone */
#define BENCH_EVERY_TORCH  ((1u << BENCH_TORCHES) - 1)

typedef struct bench_options {
    const char *only;  /* run only groups and cases whose names contain this; NULL: all */
    const char *out;   /* output folder */
    const char *firnc; /* path of the compiler */
    const char *python;
    unsigned repeat, threads;
    bool smoke;        /* one repetition of the smallest shapes */
    unsigned torches;  /* bit mask of the ways of PyTorch to run; 0: none */
    double call_limit; /* seconds; a case whose call is expected to take longer is left out */
} bench_options;

/* One benchmark case: work that can be run repeatedly. */
typedef struct bench_case {
    char group[24], shape[48], storage[24];
    bench_reference reference;
    double work; /* operations or bytes of one call */
    void (*run)(void *context);
    void *context;
    const int *error; /* the last status that was not FIRN_OK in any call so far; NULL: calls cannot fail */
    char torch[96];   /* the question for pytorch.py about the same work; "": none */
    unsigned torches;
    double call_limit; /* seconds; 0: the limit of the options */
    const char *like;  /* storage whose measured speed is assumed when this kind has no measurement yet; NULL: none */
    /* Memory for the BENCH_STREAMS reference: four arrays of stream_elements floats. */
    float *streams[4];
    size_t stream_elements;
} bench_case;

/* A row of the report. */
typedef struct bench_row {
    char group[24], shape[48], storage[24], note[64];
    bench_reference reference;
    unsigned rounds;
    double work, seconds;        /* of one call: the median of the rounds */
    double of_one, of_all;       /* share of the reference with one thread and with all; 0: none */
    double instructions;         /* BENCH_NOTHING: instructions that one thread of the peak loop executes in the same
                                  * time; 0: none */
    double torch[BENCH_TORCHES]; /* PyTorch's time divided by ours; 0: none */
    char op[40];                 /* op name if the row is a part of a step; "": any other row */
    double calls, share;         /* of this part, for one step */
} bench_row;

/* The largest number of rounds of a case. */
#define BENCH_ROUNDS_MAX 64

extern bench_options bench_settings;

/* --- measure.c --- */

double bench_seconds(void);
/* Sorts the values and returns their median; 0 if there are no values. */
double bench_median(double *values, size_t count);
void *bench_allocate(size_t bytes); /* zeroed, aligned to 64 bytes; exits on failure */
void bench_format(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Prints a line. The run continues with the next case and its exit code will be 1. Not for cases that are left out
 * because a CPU feature, memory or PyTorch is missing. */
void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool bench_has_failed(void);
/* Returns true and reports the error if a call of the case has failed. A failed case has no row. */
bool bench_case_failed(const bench_case *it);
/* The task distribution that kernels are given. */
firn_parallel bench_parallel(void);
/* Returns false if --only leaves the case out. */
bool bench_is_wanted(const char *group, const char *shape, const char *storage);
/* Returns how many calls make one measurement. The first call warms the caches. */
size_t bench_choose_calls(const bench_case *it);
/* Returns the seconds of one call, averaged over `calls` calls. */
double bench_time_calls(const bench_case *it, size_t calls);
/* Returns whether a case gets another round, given the rounds and the seconds it has taken so far. */
bool bench_goes_on(unsigned rounds, double spent);
/* Runs a case in rounds, each with its references, and adds a row to the report. */
void bench_measure(const bench_case *it);
void bench_begin(void);
void bench_end(void);

/* --- references.c --- */

/* Multiply-add operations per second of `threads` threads that do nothing else. */
double bench_peak(unsigned threads);
/* The same for one thread, in vector instructions per second. */
double bench_peak_instructions(void);
const char *bench_peak_name(void);
/* Bytes per second of a[i] = b[i] + s * c[i]. */
double bench_triad(unsigned threads);
/* Bytes per second of a loop that reads four streams and writes three. */
double bench_streams(unsigned threads, float *const streams[4], size_t elements);

/* --- pytorch.c --- */

void bench_torch_begin(void);
const char *bench_torch_version(void); /* "no torch" if PyTorch is not available */
/* Returns the seconds of one call; 0 if PyTorch cannot run it. */
double bench_torch(unsigned variant, const char *question);
void bench_torch_end(void);

/* --- ops.c --- */

/* This machine's kernel set, wrapped so that each kernel is timed: a value of firn_config.kernels that only this
 * program supports. */
#define BENCH_TIMED "timed"
/* Runs a case that is one step of a plan opened with that set, and adds rows to the report: the step, each op that
 * takes at least a thousandth of it, all other ops together, the time the executor spends between ops, and the time
 * spent reading the clock. */
void bench_ops(const bench_case *it);

/* --- the cases --- */

void bench_products(void);
void bench_attention(void);
void bench_recurrence(void);
void bench_batches(void);
void bench_adamw(void);
void bench_plans(void);
/* Prints the peak resident memory of one step. Must run in a separate process. */
int bench_memory_of(const char *plan, const char *key);

/* --- report.c --- */

void bench_report_begin(void);
void bench_report_row(const bench_row *row);
/* Returns the last row of that group and storage that has a time; group NULL matches every group. */
const bench_row *bench_report_last(const char *group, const char *storage);
typedef struct bench_machine {
    double peak_one, peak_all, triad_one, triad_all; /* medians over the whole run; operations and bytes per second */
} bench_machine;
/* Ends the table on stdout and writes report.json and report.svg into the output folder. */
bool bench_report_write(const bench_machine *machine);
/* Reads report.json back and checks both files. */
bool bench_report_check(void);

#endif
