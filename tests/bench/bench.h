/* The benchmarks of `make bench`. The machine may be shared and its clock frequency varies, so absolute times are not
 * comparable between runs. Only ratios of times taken in one round are: the share of a reference, PyTorch's time
 * divided by ours, our times of two types divided by each other, instructions of the peak loop, and the share of each
 * op in the step of its round. Times, G/s, sizes, and the machine's peak and triad describe this run only. No test here
 * may pass or fail on a time. */
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
    BENCH_TRIAD,   /* a loop that reads two streams and writes one */
    BENCH_READS,   /* a loop of one thread that reads one stream; timed by the thread's CPU time */
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
    BENCH_BFLOAT16_LAST, /* the same under autocast */
    BENCH_BFLOAT16_LAST_COMPILED,
    BENCH_TORCHES
};
#define BENCH_EAGER_ONLY   (1u << BENCH_EAGER)
#define BENCH_FLOAT32_BOTH (1u << BENCH_EAGER | 1u << BENCH_COMPILED)
#define BENCH_EAGER_BOTH   (1u << BENCH_EAGER | 1u << BENCH_BFLOAT16)
#define BENCH_SEQUENTIAL   ((1u << BENCH_CHANNELS_LAST) - 1) /* every way that is not for images alone */
#define BENCH_IMAGES       (BENCH_FLOAT32_BOTH | 1u << BENCH_CHANNELS_LAST | 1u << BENCH_CHANNELS_LAST_COMPILED)
#define BENCH_EVERY_TORCH  ((1u << BENCH_TORCHES) - 1)
#define BENCH_AUTOCAST                                                                                                 \
    (1u << BENCH_BFLOAT16 | 1u << BENCH_BFLOAT16_COMPILED | 1u << BENCH_BFLOAT16_LAST |                                \
     1u << BENCH_BFLOAT16_LAST_COMPILED)

typedef struct bench_options {
    const char *only;  /* run only groups and cases whose names contain this; NULL: all */
    const char *out;   /* output folder */
    const char *firnc; /* path of the compiler */
    const char *python;
    unsigned repeat; /* rounds of each case; 0: as many as the time allows */
    double minutes;  /* the run ends after this time; 0: when everything has been measured */
    unsigned threads;
    bool smoke;        /* one repetition of the smallest shapes */
    unsigned torches;  /* bit mask of the ways of PyTorch to run; 0: none */
    bool chosen_torch; /* by --torch: also the ways that PyTorch emulates on this CPU */
    double call_limit; /* seconds; a case whose call is expected to take longer is left out */
    int word_count;    /* the command line */
    char **words;
} bench_options;

/* One benchmark case: work that can be run repeatedly. */
typedef struct bench_case {
    char group[24], shape[48], storage[32];
    bench_reference reference;
    double work; /* operations or bytes of one call */
    void (*run)(void *context);
    void *context;
    const int *error;  /* the last status that was not FIRN_OK in any call so far; NULL: calls cannot fail */
    double call_limit; /* seconds; 0: the limit of the options */
    const char *like;  /* storage whose measured speed is assumed when this kind has no measurement yet; NULL: none */
    bool one_thread;   /* it works in the calling thread alone, whose CPU time is its time */
    uint32_t tokens;   /* that a call decodes; 0: none. The row's note then has tokens per second */
    double cache;      /* bytes of keys and values that such a call reads beside those of `work` */
    /* Memory for the BENCH_STREAMS reference: four arrays of stream_elements floats; of BENCH_READS the first of them.
     */
    float *streams[4];
    size_t stream_elements;
} bench_case;

/* The largest number of cases in a contest, and of rounds. */
enum { BENCH_CASES_MAX = 16, BENCH_ROUNDS_MAX = 64 };

/* Cases of the same work in several types. Each round measures each of them and PyTorch. */
typedef struct bench_contest {
    const bench_case *cases;
    unsigned count;
    const char *torch; /* the question for pytorch.py about the same work; NULL: none */
    unsigned torches;  /* bit mask of the ways in which PyTorch does it */
    double share;      /* of the turn's remaining time that the contest may take; 0: all of it */
} bench_contest;

/* A row of the report. The arrays have a value for each round. */
typedef struct bench_row {
    char group[24], shape[48], storage[32], note[160];
    bench_reference reference;
    unsigned contest; /* rows of one contest have the same number; 0: the row is from no contest */
    unsigned rounds;
    double work;
    double seconds;                                        /* of one call: the median of the rounds */
    double times[BENCH_ROUNDS_MAX];                        /* of one call */
    double of_one[BENCH_ROUNDS_MAX];                       /* share of the reference with one thread; 0: none */
    double of_all[BENCH_ROUNDS_MAX];                       /* the same with all threads */
    double by_first[BENCH_ROUNDS_MAX];                     /* time divided by that of the contest's first case */
    double instructions;                                   /* BENCH_NOTHING: instructions that one thread of the peak
                                                            * loop executes in the same time; 0: none */
    double torch_times[BENCH_TORCHES][BENCH_ROUNDS_MAX];   /* of one call; 0: none */
    double torch_by_ours[BENCH_TORCHES][BENCH_ROUNDS_MAX]; /* the same divided by our time; 0: none */
    char torch_why[BENCH_TORCHES][96];                     /* why PyTorch has no time; "": it has or was not asked */
    char op[40];                                           /* op name if the row is a part of a step; "": other row */
    double calls, share;                                   /* of this part, for one step */
} bench_row;

/* The median of values and their quartiles. */
typedef struct bench_spread {
    double low, median, high;
} bench_spread;

extern bench_options bench_settings;

/* --- measure.c --- */

double bench_seconds(void);
double bench_thread_seconds(void); /* of the CPU, for the calling thread */
/* Zeros are no values and are left out. All three are 0 if there is no value. */
bench_spread bench_spread_of(const double *values, unsigned count);
void *bench_allocate(size_t bytes); /* zeroed, aligned to 64 bytes; exits on failure */
void bench_format(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Prints a line. The run continues with the next case and its exit code will be 1. Not for cases that are left out
 * because a CPU feature, memory, time or PyTorch is missing. */
void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool bench_has_failed(void);
/* Returns true and reports the error if a call of the case has failed. A failed case has no row. */
bool bench_case_failed(const bench_case *it);
/* Returns an empty row with the names of the case. */
bench_row bench_row_of(const bench_case *it);
/* The task distribution that kernels are given. */
firn_parallel bench_parallel(void);
/* Returns how many calls make one measurement, and sets the seconds of a call. The first call warms the caches. */
size_t bench_choose_calls(const bench_case *it, double *seconds);
/* Returns the seconds of one call, averaged over `calls` calls. */
double bench_time_calls(const bench_case *it, size_t calls);
/* Runs the cases that --only selects and adds a row for each to the report. */
void bench_compete(const bench_contest *it);
/* The same for a case without a rival. */
void bench_measure(const bench_case *it);
void bench_begin(void);
void bench_end(void);

/* --- budget.c --- */

/* Returns false if --only leaves the case out. */
bool bench_is_wanted(const char *group, const char *shape, const char *storage);
/* Runs the families of cases, but bench_turn only adds up the weights. Returns false if there is nothing to run. */
bool bench_budget_plan(void (*const families[])(void), size_t count);
/* Runs the families of cases after they have been planned. begin: when the run's time began. */
void bench_budget_run(double begin, void (*const families[])(void), size_t count);
/* Asks for a turn: measurements that are prepared and finished together. weight: the seconds that they usually take
 * with five rounds. Returns true if the caller is to measure now, and sets the time that it may take. When the time is
 * up, the turn is left out, which the report says. */
bool bench_turn(const char *group, const char *shape, double weight);
/* Seconds of the turn that are left; very many if the run has no time limit. */
double bench_turn_left(void);
/* Returns true, and adds a row that says so, if the least number of rounds does not fit into what is left of the run.
 */
bool bench_is_out_of_time(const bench_case *it, double round_seconds);
/* Returns how many rounds fit into the seconds if each takes round_seconds: at least BENCH_ROUNDS_LEAST. */
enum { BENCH_ROUNDS_LEAST = 3 };
unsigned bench_rounds(double round_seconds, double seconds);
typedef struct bench_turns {
    unsigned all, left_out;
} bench_turns;
bench_turns bench_count_turns(void);

/* --- references.c --- */

/* Multiply-add operations per second of `threads` threads that do nothing else. */
double bench_peak(unsigned threads);
/* The same for one thread, in vectors of the kernels per second: of NEON, two instructions each. */
double bench_peak_instructions(void);
const char *bench_peak_name(void);
/* Bytes per second of a[i] = b[i] + s * c[i]. */
double bench_triad(unsigned threads);
/* Bytes per second of a loop that reads four streams and writes three. */
double bench_streams(unsigned threads, float *const streams[4], size_t elements);
/* Bytes per second of CPU time of a loop of one thread that reads one stream. */
double bench_reads(const float *stream, size_t elements);

/* Seconds that the slowest of `threads` threads takes for so many rounds of a loop. */
double bench_loop_seconds(unsigned threads, void (*loop)(size_t rounds), size_t rounds);

/* --- engines.c --- */

/* An instruction that multiplies half types, and the operations per second of a loop of it. */
typedef struct bench_engine {
    const char *name;
    double one, all;
} bench_engine;
enum { BENCH_ENGINES_MAX = 4 };
/* Measures those of this CPU. Returns how many there are. */
unsigned bench_engines(bench_engine list[BENCH_ENGINES_MAX]);

/* --- machine.c --- */

/* What the machine is, as far as speed depends on it, and which code was measured, when. A text that cannot be found
 * out is "unknown". */
typedef struct bench_machine {
    char name[96];      /* as the CPU calls itself, which says little on a virtual machine */
    char features[256]; /* those of the CPU that the kernels use, as Linux spells them, separated by spaces */
    char caches[128];   /* of one CPU: level, kind, size, and the CPUs that share it */
    unsigned cpus;
    char siblings[32]; /* the hardware threads of the first core */
    double memory;     /* bytes */
    double load;       /* average over the minute before the run; -1: unknown */
    char commit[64];   /* of git, with "changed" if the files differ from it */
    char date[32];     /* the beginning of the run, in UTC */
} bench_machine;

const bench_machine *bench_machine_of(void);
/* Whether the CPU has an instruction that multiplies bfloat16. */
bool bench_multiplies_bfloat16(void);
/* Bytes of memory that the system has available; a guess if the system does not report it. */
double bench_available_bytes(void);

/* --- pytorch.c --- */

void bench_torch_begin(void);
/* What the first line of pytorch.py says about PyTorch, as a JSON object; NULL: it cannot be run. */
const char *bench_torch_about(void);
const char *bench_torch_name(unsigned way);
/* Warms up. Returns the seconds of one measurement. If there is none, returns 0 and writes the reason, which is "" if
 * nobody wants to know it. limit: seconds after which PyTorch gives up. */
double bench_torch_prepare(unsigned way, const char *question, double limit, char *why, size_t size);
/* Returns the seconds of one call, after bench_torch_prepare; 0 if there is none. */
double bench_torch(unsigned way, const char *question);
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

void bench_squares(void);
void bench_blocks(void);
void bench_attention(void);
void bench_recurrence(void);
void bench_convolutions(void);
void bench_batches(void);
void bench_adamw(void);
void bench_elements(void);
void bench_steps(void);
void bench_step_ops(void);
void bench_openings(void);
void bench_decoding(void);
void bench_decoding_ops(void);
/* Prints the peak resident memory of one step. Must run in a separate process. */
int bench_memory_of(const char *plan, const char *key);

/* --- report.c --- */

/* The references, without a case: medians over the whole run; operations and bytes per second. */
typedef struct bench_rates {
    double begin; /* of the run, as bench_seconds gives it */
    double peak_one, peak_all, triad_one, triad_all;
    bench_engine engines[BENCH_ENGINES_MAX]; /* measured once, before the cases */
    unsigned engine_count;
} bench_rates;

void bench_report_begin(void);
void bench_report_row(const bench_row *row);
const bench_row *bench_report_rows(size_t *count);
/* Returns the last row of that group and storage that has a time; group NULL matches every group. */
const bench_row *bench_report_last(const char *group, const char *storage);
/* Ends the table on stdout and writes report.json and report.svg into the output folder. */
bool bench_report_write(const bench_rates *rates);

/* --- json.c --- */

/* Writes report.json, reads it back and checks it. The head of json.c describes the file. */
bool bench_json_write(const bench_rates *rates);

#endif
