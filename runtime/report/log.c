/* Reads the log of a run (runtime/report/report.h): lines of JSON that firn train wrote, or rows that a device printed.
 * Lines are read one by one, whatever their number. A damaged line, such as the last one of a log that a power cut
 * ended, is counted and left out. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/chart/chart.h"
#include "runtime/report/report.h"

enum { LINE_BYTES = 1 << 16, READ_BYTES = 1 << 20 };

#define MOST_STEP 9007199254740992.0 /* whole numbers up to it are exact in binary64, and in JavaScript */

/* --- the first line --- */

/* Keeps the members of the first line that are texts or numbers. */
static void keep_head(report_log *log, const report_line *line) {
    for (uint32_t i = 0; i < line->count && log->head_count < REPORT_HEAD_MAX; i++) {
        const report_field *field = &line->fields[i];
        report_said *said = &log->head[log->head_count];
        const bool fits =
            field->name_length < sizeof said->name && memchr(field->name, '\\', field->name_length) == NULL;
        if (!fits || (field->kind != REPORT_TEXT && field->kind != REPORT_NUMBER))
            continue;
        memcpy(said->name, field->name, field->name_length);
        said->name[field->name_length] = 0;
        said->text = firn_host_allocate(field->text_length + 1);
        report_line_text(said->text, field);
        log->head_count++;
    }
}

const char *report_log_said(const report_log *log, const char *name) {
    for (uint32_t i = 0; i < log->head_count; i++)
        if (strcmp(log->head[i].name, name) == 0)
            return log->head[i].text;
    return NULL;
}

/* --- lines of JSON --- */

/* Returns the step of a line; 0: it has none. */
static uint64_t step_of(const report_line *line) {
    const double step = report_line_number(line, "step");
    return step >= 1 && step <= MOST_STEP && step == floor(step) ? (uint64_t)step : 0;
}

/* Returns the metric of this name, made if it is new; NULL if there is no room for it. */
static report_metric *metric_of(report_log *log, const char *name, size_t length) {
    for (uint32_t i = 0; i < log->metric_count; i++)
        if (strlen(log->metrics[i].name) == length && memcmp(log->metrics[i].name, name, length) == 0)
            return &log->metrics[i];
    if (log->metric_count == REPORT_METRICS_MAX || length == 0 || length >= REPORT_NAME_BYTES ||
        memchr(name, '\\', length) != NULL)
        return NULL;
    report_metric *metric = &log->metrics[log->metric_count++];
    memcpy(metric->name, name, length);
    report_series_begin(&metric->values, log->loss.most);
    return metric;
}

/* Adds the values of an evaluation. Returns false if the line has none. */
static bool take_evaluation(report_log *log, const report_line *line, uint64_t step) {
    static const char begin[] = "eval_";
    bool found = false;
    for (uint32_t i = 0; i < line->count; i++) {
        const report_field *field = &line->fields[i];
        const size_t skip = sizeof begin - 1;
        if (field->name_length <= skip || memcmp(field->name, begin, skip) != 0 ||
            (field->kind != REPORT_NUMBER && field->kind != REPORT_NULL))
            continue;
        report_metric *metric = metric_of(log, field->name + skip, field->name_length - skip);
        const bool later =
            metric == NULL || metric->values.count == 0 || metric->values.list[metric->values.count - 1].last_at < step;
        found = found || later;
        if (metric != NULL && later)
            report_series_add(&metric->values, step, field->number);
    }
    return found;
}

/* Notes that a step was done. Returns false if it does not come after those before it. */
static bool take_step_number(report_log *log, uint64_t step) {
    if (log->steps != 0 && step <= log->last_step)
        return false;
    log->first_step = log->steps == 0 ? step : log->first_step;
    log->last_step = step;
    log->steps++;
    return true;
}

/* Keeps the error of a step; one that went well has none, so that of a step before is forgotten. */
static void keep_error(report_log *log, const report_field *field) {
    log->error[0] = 0;
    if (field == NULL || field->kind != REPORT_TEXT || field->text_length >= sizeof log->error)
        return;
    report_line_text(log->error, field);
}

/* Adds the value of a member that a log need not have. */
static void take_value(report_series *series, const report_line *line, const char *name, uint64_t step) {
    const report_field *field = report_line_find(line, name);
    if (field != NULL && field->kind == REPORT_NUMBER)
        report_series_add(series, step, field->number);
}

static bool take_step(report_log *log, const report_line *line, uint64_t step) {
    const report_field *loss = report_line_find(line, "loss"), *skipped = report_line_find(line, "skipped");
    if (loss == NULL || (loss->kind != REPORT_NUMBER && loss->kind != REPORT_NULL) || !take_step_number(log, step))
        return false;
    report_series_add(&log->loss, step, loss->number);
    take_value(&log->rate, line, "learning_rate", step);
    take_value(&log->scale, line, "loss_scale", step);
    take_value(&log->norm, line, "gradient_norm", step);
    take_value(&log->seconds, line, "seconds", step);
    if (skipped != NULL && skipped->kind == REPORT_TRUE)
        report_series_add(&log->skipped, step, 1);
    keep_error(log, report_line_find(line, "error"));
    return true;
}

/* Seconds begin at 0 in each call of firn train. */
static void take_elapsed(report_log *log, double elapsed) {
    if (elapsed < log->elapsed)
        log->elapsed_before += log->elapsed;
    log->elapsed = elapsed;
}

/* Returns false if the line is damaged. */
static bool take_json(report_log *log, const char *bytes, size_t count) {
    report_line line;
    if (!report_line_read(&line, bytes, count))
        return false;
    if (log->device && report_line_find(&line, "firn") != NULL) {
        keep_head(log, &line);
        return true;
    }
    const uint64_t step = step_of(&line);
    const double elapsed = report_line_number(&line, "elapsed");
    if (step == 0 || !(take_evaluation(log, &line, step) || take_step(log, &line, step)))
        return false;
    if (isfinite(elapsed) && elapsed >= 0)
        take_elapsed(log, elapsed);
    return true;
}

/* --- rows of a device: "step 3 loss 2.31 0x4013d70a skipped", and "digest " with 64 digits --- */

static void take_digest(report_log *log, const char *text) {
    const size_t length = strspn(text, "0123456789abcdef");
    if (length != sizeof log->digest - 1)
        return;
    memcpy(log->digest, text, length);
    log->digest[length] = 0;
}

/* Other rows of a device are no faults. text: ends with a zero. */
static void take_row(report_log *log, const char *text) {
    static const char step_word[] = "step ", loss_word[] = " loss ", digest_word[] = "digest ";
    if (strncmp(text, digest_word, sizeof digest_word - 1) == 0)
        take_digest(log, text + sizeof digest_word - 1);
    if (strncmp(text, step_word, sizeof step_word - 1) != 0 || text[sizeof step_word - 1] < '0' ||
        text[sizeof step_word - 1] > '9')
        return;
    char *end;
    errno = 0;
    const uint64_t step = strtoull(text + sizeof step_word - 1, &end, 10);
    if (errno != 0 || step == 0 || (double)step > MOST_STEP || strncmp(end, loss_word, sizeof loss_word - 1) != 0)
        return;
    const char *number = end + sizeof loss_word - 1;
    const double loss = strtod(number, &end);
    if (end == number || !take_step_number(log, step)) {
        log->damaged++;
        return;
    }
    report_series_add(&log->loss, step, loss);
    if (strstr(end, " skipped") != NULL)
        report_series_add(&log->skipped, step, 1);
}

/* --- the file --- */

/* Takes one line without its end. Text before the first line of JSON is that of a device, or of who ran the program;
 * behind it, all that is no line of JSON is damaged. */
static void take_line(report_log *log, char *line, size_t length) {
    if (length > 0 && line[length - 1] == '\r')
        length--;
    line[length] = 0;
    if (length == 0)
        return;
    log->lines++;
    if (log->device && line[0] != '{' && line[0] != 0)
        take_row(log, line);
    else if (take_json(log, line, length))
        log->device = false;
    else
        log->damaged++;
}

/* Cuts the bytes of a file into lines. A line that is too long is damaged. */
static bool read_lines(report_log *log, int file) {
    char *block = firn_host_allocate(READ_BYTES), *line = firn_host_allocate(LINE_BYTES + 1);
    size_t length = 0;
    bool too_long = false;
    int64_t count;
    while ((count = firn_host_read(file, block, READ_BYTES)) > 0)
        for (const char *at = block, *end = block + count; at < end;) {
            const char *stop = memchr(at, '\n', (size_t)(end - at));
            const size_t part = (size_t)((stop != NULL ? stop : end) - at);
            too_long = too_long || part > LINE_BYTES - length;
            if (!too_long) {
                memcpy(line + length, at, part);
                length += part;
            }
            at += part + (stop != NULL);
            if (stop == NULL)
                continue;
            if (too_long)
                log->damaged++;
            else
                take_line(log, line, length);
            length = 0;
            too_long = false;
        }
    if (count == 0 && (too_long || length > 0)) { /* half a line, of a run that was ended, mostly is no whole object */
        if (too_long)
            log->damaged++;
        else
            take_line(log, line, length);
    }
    free(block);
    free(line);
    return count == 0;
}

static int refuse(const report_log *log) {
    if (log->lines == 0 && log->damaged == 0)
        firn_host_fail(log->path, "is empty; give the file that firn train --log wrote");
    else
        firn_host_fail(log->path, "has no step of a run in it; give the file that firn train --log wrote, or the rows "
                                  "that a device printed");
    return CLI_FILE;
}

int report_logs_check(const cli_options *options, const char *what, const char *form, const char *ending) {
    uint32_t streams = 0;
    for (uint32_t i = 0; i < options->data_count; i++)
        streams += cli_is_stream(options->data[i]);
    if (streams > 1) {
        firn_host_fail("-", "standard input can be read once; leave out the second -");
        return CLI_USAGE;
    }
    if (firn_chart_is_misnamed(options->output)) {
        firn_host_fail(options->output, "is no name of %s, which a %s is written in; end it in %s", form, what, ending);
        return CLI_USAGE;
    }
    if (options->data_count <= REPORT_RUNS_MAX)
        return CLI_OK;
    firn_host_fail(options->command, "gets %lu logs, and a %s shows at most %d; give fewer",
                   (unsigned long)options->data_count, what, REPORT_RUNS_MAX);
    return CLI_USAGE;
}

int report_log_read(report_log *log, const char *path, uint32_t most) {
    const bool stream = cli_is_stream(path);
    path = stream ? "standard input" : path;
    *log = (report_log){.path = path, .name = path, .device = true};
    report_series *series[] = {&log->loss, &log->rate, &log->scale, &log->norm, &log->seconds, &log->skipped};
    for (size_t i = 0; i < sizeof series / sizeof *series; i++)
        report_series_begin(series[i], most);
    uint64_t bytes;
    const int file = stream ? STDIN_FILENO : firn_host_open(path, true, &bytes);
    if (file < 0)
        return CLI_FILE;
    const bool whole = read_lines(log, file);
    const int error = errno;
    if (!stream)
        close(file);
    if (!whole) {
        firn_host_fail(path, "cannot be read to its end: %s; look at the disk", strerror(error));
        return CLI_FILE;
    }
    return log->steps == 0 && log->head_count == 0 && log->digest[0] == 0 ? refuse(log) : CLI_OK;
}

void report_log_free(report_log *log) {
    report_series *series[] = {&log->loss, &log->rate, &log->scale, &log->norm, &log->seconds, &log->skipped};
    for (size_t i = 0; i < sizeof series / sizeof *series; i++)
        report_series_free(series[i]);
    for (uint32_t i = 0; i < log->metric_count; i++)
        report_series_free(&log->metrics[i].values);
    for (uint32_t i = 0; i < log->head_count; i++)
        free(log->head[i].text);
    *log = (report_log){0};
}

/* --- writing --- */

static void put_series(FILE *to, const char *name, const report_series *series, int digits) {
    if (series->count == 0)
        return;
    fprintf(to, ",\"%s\":", name);
    report_series_put(to, series, digits);
}

/* How often steps were skipped: [[steps],[how many]], the first step of each bucket. */
static void put_skipped(FILE *to, const report_series *series) {
    fputs(",\"skipped\":[[", to);
    for (uint32_t i = 0; i < series->count; i++)
        fprintf(to, "%s%llu", i == 0 ? "" : ",", (unsigned long long)series->list[i].low_at);
    fputs("],[", to);
    for (uint32_t i = 0; i < series->count; i++)
        fprintf(to, "%s%llu", i == 0 ? "" : ",", (unsigned long long)series->list[i].count);
    fputs("]]", to);
}

/* Whether a higher value of a metric is better; the name may have a number behind it. */
static bool is_higher(const char *name) {
    static const struct {
        const char *word;
        bool higher;
    } kinds[] = {
#define FIRN_METRIC(kind, rule, word, higher) {word, higher},
#include "runtime/metrics.def"
#undef FIRN_METRIC
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t length = strlen(kinds[i].word);
        if (strncmp(name, kinds[i].word, length) == 0 && name[length + strspn(name + length, "_0123456789")] == 0)
            return kinds[i].higher;
    }
    return false;
}

static void put_metrics(FILE *to, const report_log *log) {
    fputs(",\"metrics\":[", to);
    for (uint32_t i = 0; i < log->metric_count; i++) {
        fprintf(to, "%s{\"name\":", i == 0 ? "" : ",");
        report_put_text(to, log->metrics[i].name);
        fprintf(to, ",\"higher\":%s", is_higher(log->metrics[i].name) ? "true" : "false");
        put_series(to, "values", &log->metrics[i].values, 9);
        fprintf(to, ",\"notFinite\":%llu}", (unsigned long long)log->metrics[i].values.not_finite);
    }
    fputc(']', to);
}

void report_log_put(FILE *to, const report_log *log) {
    const char *separator = "";
    fputs("{\"name\":", to);
    report_put_text(to, log->name);
    report_put_member(to, "path", log->path);
    fputs(",\"head\":{", to);
    for (uint32_t i = 0; i < log->head_count; i++) {
        fputs(separator, to);
        separator = ",";
        report_put_text(to, log->head[i].name);
        fputc(':', to);
        report_put_text(to, log->head[i].text);
    }
    fprintf(to,
            "},\"device\":%s,\"otherPlan\":%s,\"steps\":%llu,\"first\":%llu,\"last\":%llu,\"damaged\":%llu,"
            "\"notFinite\":%llu",
            log->device ? "true" : "false", log->other_plan ? "true" : "false", (unsigned long long)log->steps,
            (unsigned long long)log->first_step, (unsigned long long)log->last_step, (unsigned long long)log->damaged,
            (unsigned long long)log->loss.not_finite);
    fputs(",\"elapsed\":", to);
    report_put_number(to, log->elapsed_before + log->elapsed, 9);
    report_put_member(to, "error", log->error[0] != 0 ? log->error : NULL);
    report_put_member(to, "digest", log->digest[0] != 0 ? log->digest : NULL);
    fprintf(to, ",\"every\":%llu", (unsigned long long)log->loss.width);
    put_series(to, "loss", &log->loss, 7);
    if (log->loss.count != 0) {
        fputs(",\"smooth\":", to);
        report_series_put_smooth(to, &log->loss, 7);
        fputs(",\"mean\":", to); /* differences of runs are paired by it */
        report_series_put_means(to, &log->loss, 7);
    }
    put_series(to, "rate", &log->rate, 7);
    put_series(to, "scale", &log->scale, 7);
    put_series(to, "norm", &log->norm, 6);
    put_series(to, "seconds", &log->seconds, 4);
    put_skipped(to, &log->skipped);
    put_metrics(to, log);
    fputc('}', to);
}
