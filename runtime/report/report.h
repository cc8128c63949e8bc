/* Declarations that the files of `firn report` and `firn plot` share: what they read of logs and plans, and how it is
 * written as JSON. Nothing here runs a plan, and all text that is read may come from anywhere. */
#ifndef FIRN_REPORT_H
#define FIRN_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "plan/checks/check.h"
#include "runtime/cli/cli.h"

struct cJSON;

/* --- json.c: text for a page ---------------------------------------------------------------------------------------*/

/* Writes a text as a string of JSON that may stand in a script of HTML: only ASCII, without < > and &. What is no UTF-8
 * becomes U+FFFD. */
void report_put_text(FILE *to, const char *text);
/* Writes a number with `digits` digits; null if it is not finite. */
void report_put_number(FILE *to, double value, int digits);
/* Writes `,"name":` and the text; nothing for NULL. */
void report_put_member(FILE *to, const char *name, const char *text);
void report_put_hash(FILE *to, const char *name, const uint8_t hash[FIRN_HASH_BYTES]);

/* --- line.c: one line of a log -------------------------------------------------------------------------------------*/

enum { REPORT_FIELDS_MAX = 48 };

typedef enum report_kind { REPORT_NUMBER, REPORT_TEXT, REPORT_TRUE, REPORT_FALSE, REPORT_NULL } report_kind;

/* A member of an object. Texts are the insides of strings, with their escapes, in the line. */
typedef struct report_field {
    const char *name, *text;
    size_t name_length, text_length;
    report_kind kind;
    double number; /* NaN if it is null, and infinity if it is beyond binary64 */
} report_field;

typedef struct report_line {
    report_field fields[REPORT_FIELDS_MAX];
    uint32_t count;
} report_line;

/* Reads an object without objects and arrays in it. Returns false if the bytes are anything else. */
bool report_line_read(report_line *line, const char *bytes, size_t count);
/* Returns the first member of this name, or NULL. */
const report_field *report_line_find(const report_line *line, const char *name);
/* Decodes the text of a field into `to`, which has at least text_length + 1 bytes: no text is longer than its escapes.
 * A zero, and half of a surrogate pair, become U+FFFD; bytes that are no UTF-8 stay as they are. */
void report_line_text(char *to, const report_field *field);
/* Returns a number; NaN if there is no such member, or if it is null or of another kind. */
double report_line_number(const report_line *line, const char *name);

/* --- series.c: values over the steps, thinned ----------------------------------------------------------------------*/

/* The values of consecutive steps: their extremes, with the steps that have them, the last one, and their sum. */
typedef struct report_bucket {
    uint64_t index; /* (step - 1) / width of the series, so that runs that begin at other steps have the same buckets */
    uint64_t count, low_at, high_at, last_at;
    double low, high, last, sum;
} report_bucket;

/* A series of any length in bounded memory. Steps are put into buckets of one width, a power of two that doubles when
 * there would be more than `most` buckets. So the least and the greatest value of each bucket are kept, and no extreme
 * of the run is ever lost. */
typedef struct report_series {
    report_bucket *list; /* ascending index; buckets without a value are left out */
    uint32_t count, most;
    uint64_t width;      /* 0: empty */
    uint64_t not_finite; /* values that are NaN or infinite, and in no bucket */
} report_series;

void report_series_begin(report_series *series, uint32_t most);
/* Adds a value; steps ascend. */
void report_series_add(report_series *series, uint64_t step, double value);
void report_series_free(report_series *series);
/* Writes [[steps],[values]]: the least and the greatest value of each bucket in the order of their steps, and the last
 * value of all. */
void report_series_put(FILE *to, const report_series *series, int digits);
/* The mean of the values in the buckets that are within 1/100 of the run before and behind bucket i. */
double report_series_smooth(const report_series *series, uint32_t i);
/* Writes [[steps],[values]] with the smoothed value of each bucket at its last step. */
void report_series_put_smooth(FILE *to, const report_series *series, int digits);
/* Writes [[steps],[means],[counts]] of each bucket likewise: its mean, and how many values it is of. */
void report_series_put_means(FILE *to, const report_series *series, int digits);

/* --- log.c: a log --------------------------------------------------------------------------------------------------*/

enum { REPORT_RUNS_MAX = 32, REPORT_METRICS_MAX = 16, REPORT_NAME_BYTES = 64, REPORT_HEAD_MAX = 20 };

/* One value of an evaluation over the run. */
typedef struct report_metric {
    char name[REPORT_NAME_BYTES]; /* behind "eval_" */
    report_series values;
} report_metric;

/* A member of the first line, as text. */
typedef struct report_said {
    char name[REPORT_NAME_BYTES];
    char *text; /* allocated */
} report_said;

typedef struct report_log {
    const char *path, *name; /* name: report_logs_name sets it */
    bool other_plan;         /* it is shown beside a plan that is not its own, by its run hash */
    bool device;             /* no line of JSON was read: only rows that a device printed */
    report_said head[REPORT_HEAD_MAX];
    uint32_t head_count;
    report_series loss, rate, scale, norm, seconds, skipped; /* skipped: 1 for each step that was */
    report_metric metrics[REPORT_METRICS_MAX];
    uint32_t metric_count;
    uint64_t first_step, last_step, steps; /* steps 0: the log has none */
    uint64_t damaged;                      /* lines that are none of a log, and steps that do not ascend */
    uint64_t lines;
    double elapsed;                /* seconds of its call, of the last line that has them */
    double elapsed_before;         /* seconds of the calls before, which --resume went on from */
    char error[REPORT_NAME_BYTES]; /* of the last step, "" if it has none */
    char digest[65];               /* that a device printed last, or "" */
} report_log;

/* Reads a log of firn train, or rows that a device printed. `most`: the buckets of each series. Returns CLI_OK or,
 * after a message, CLI_FILE. Free it in any case. */
int report_log_read(report_log *log, const char *path, uint32_t most);
void report_log_free(report_log *log);
/* Returns what the first line says, or NULL. */
const char *report_log_said(const report_log *log, const char *name);
/* Writes the log as an object. */
void report_log_put(FILE *to, const report_log *log);

/* Returns CLI_OK or, after a message, CLI_USAGE if there are more than REPORT_RUNS_MAX logs, or if the output is named
 * as another form than the one that is written. `what` is what is made, `form` and `ending` its form, as SVG and .svg.
 */
int report_logs_check(const cli_options *options, const char *what, const char *form, const char *ending);

/* --- names.c: what runs are called ---------------------------------------------------------------------------------*/

/* Gives each of at most REPORT_RUNS_MAX logs its name, which is the end of its path: the name of the file, and as many
 * folders as tell it from logs of another path. */
void report_logs_name(report_log *logs, uint32_t count);

/* --- units.c: what a loss is measured in ---------------------------------------------------------------------------*/

typedef struct report_unit {
    const char *loss; /* "cross-entropy" */
    const char *unit; /* "nats per byte"; "" if it has none */
} report_unit;

/* Of the loss of a plan. */
report_unit report_unit_of(firn_fb_plan plan);
/* The loss of guessing each class alike, of a plan whose loss is one cross-entropy of classes; NaN of others. */
double report_guess_of(firn_fb_plan plan);

/* --- plan.c: a plan ------------------------------------------------------------------------------------------------*/

typedef struct report_plan {
    cli_session session; /* has the file and the keys alone: a plan that this machine has no memory for is shown, too */
    firn_info info;
    firn_header header;
    firn_fb_plan plan;
    void *pool; /* of the check */
    uint64_t pool_bytes;
    struct cJSON *said; /* the report of the plan; NULL: it has none */
} report_plan;

/* Loads and verifies the plan of the options. Returns CLI_OK or, after a message, another exit code. Free it in any
 * case; *plan may not be moved. */
int report_plan_read(report_plan *plan, const cli_options *options);
void report_plan_free(report_plan *plan);
/* The steps before, at and behind the boundary of a node of a schedule that are in the run. Returns their number, which
 * is 0 for a boundary at the end of the run or beyond it, however large. */
size_t report_steps_around(uint64_t steps[3], uint64_t edge, uint64_t run);
/* Writes what the plan is and does as an object. */
void report_plan_put(FILE *to, const report_plan *plan);
/* Writes its tensors, and the bytes of the arenas that are live in each op, as an object. */
void report_memory_put(FILE *to, const report_plan *plan);
/* Writes its ops likewise, with their layers, extents, costs and levels. */
void report_ops_put(FILE *to, const report_plan *plan);

/* --- file.c --------------------------------------------------------------------------------------------------------*/

/* Reads a file of at most `most` bytes into allocated text, with a zero behind its *length bytes. Returns NULL after a
 * message, which ends with the mend if the file is larger. */
char *report_file_read(const char *path, size_t most, const char *mend, size_t *length);

/* --- profile.c: what firn train --profile wrote --------------------------------------------------------------------*/

typedef struct report_profile {
    const char *path;
    struct cJSON *root;
} report_profile;

/* Reads the times of the ops of a plan; plan NULL: of any. Returns CLI_OK or, after a message, CLI_FILE. Free it in any
 * case. */
int report_profile_read(report_profile *profile, const char *path, const report_plan *plan);
void report_profile_free(report_profile *profile);
void report_profile_put(FILE *to, const report_profile *profile);

/* --- matrix.c: what firn eval --confusion wrote --------------------------------------------------------------------*/

typedef struct report_matrix {
    const char *path;
    char *text; /* of the file, which has the names */
    char **names;
    uint64_t *counts; /* a row for each label, with a count for each prediction */
    uint32_t classes;
} report_matrix;

/* Returns and frees as above. */
int report_matrix_read(report_matrix *matrix, const char *path);
void report_matrix_free(report_matrix *matrix);
void report_matrix_put(FILE *to, const report_matrix *matrix);

/* --- page.c --------------------------------------------------------------------------------------------------------*/

/* Writes a file as a whole with what `put` writes of `what`; one that is there stays until the new one is whole.
 * Returns CLI_OK or, after a message, CLI_FILE. */
int report_write(const char *path, void (*put)(FILE *to, const void *what), const void *what);

/* --- library.c: the library that draws the charts ------------------------------------------------------------------*/

/* Reads the library from where its package has put it, into allocated text. Returns CLI_OK or, after a message that
 * names the package, CLI_FILE. */
int report_library_read(char **text, size_t *length);

/* --- the parts of the page, which the build makes of page.html, page.css and page.js -------------------------------*/

extern const char report_page_html[], report_page_css[], report_page_js[];

#endif
