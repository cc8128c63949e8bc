/* The log of a run, in JSON lines. The first line describes the run; each further line reports one step, or the
 * evaluation of the state after the step before it. The lines of a run are identical on every machine, with or without
 * interruptions, except for "seconds" and "elapsed", and "kernels" of the first line, which names the kernel set of the
 * machine that created the log. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

/* --- writing --- */

/* Prints a number with enough digits to recover the float exactly. JSON has no NaN or infinity; they become null. */
static void print_number(FILE *to, const char *name, float value) {
    if (isfinite(value))
        fprintf(to, ",\"%s\":%.9g", name, (double)value);
    else
        fprintf(to, ",\"%s\":null", name);
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void print_hash(FILE *to, const char *name, const uint8_t hash[32]) {
    char text[65];
    cli_hex(text, hash);
    fprintf(to, ",\"%s\":\"%s\"", name, text);
}

/* Prints nothing for NULL. */
static void print_string(FILE *to, const char *name, const char *text) {
    if (text == NULL)
        return;
    fprintf(to, ",\"%s\":", name);
    cli_print_json(to, text);
}

/* history: NULL if the run is not evaluated. */
static void print_head(FILE *to, const cli_session *session, const cli_history *history) {
    const firn_info *info = &session->info;
    const char *loss = NULL, *unit = NULL;
    if (session->plan.bytes != NULL)
        cli_loss_words(session, &loss, &unit);
    fprintf(to, "{\"firn\":\"%s\"", FIRN_VERSION);
    print_string(to, "model", session->report.model);
    print_hash(to, "plan_hash", info->plan_hash);
    print_hash(to, "run_hash", info->run_hash);
    print_hash(to, "model_hash", info->model_hash);
    print_string(to, "target", session->report.target);
    print_string(to, "kernels", info->kernels);
    print_hash(to, "data_sha256", session->data.sha256);
    fprintf(to, ",\"parameters\":%llu,\"steps\":%llu,\"samples_per_step\":%llu,\"window\":%lu",
            (unsigned long long)info->parameters, (unsigned long long)info->steps,
            (unsigned long long)info->samples * info->micro_batches, (unsigned long)info->window);
    print_string(to, "loss_name", loss);
    print_string(to, "loss_unit", unit);
    if (history != NULL) {
        print_hash(to, "eval_run_hash", history->run_hash);
        print_hash(to, "eval_data_sha256", history->data_sha256);
    }
    fputs("}\n", to);
}

static void print_step(FILE *to, const firn_step_report *report, int error, double seconds, double elapsed) {
    /* The counter in the report does not include a step that was not completed. */
    uint64_t step = report->global_step + (error == FIRN_ERROR_LOSS_NOT_FINITE ? 1 : 0);
    fprintf(to, "{\"step\":%llu", (unsigned long long)step);
    print_number(to, "loss", report->loss);
    fprintf(to, ",\"loss_bits\":\"%08lx\"", (unsigned long)bits_of(report->loss));
    print_number(to, "learning_rate", report->learning_rate);
    print_number(to, "loss_scale", report->loss_scale);
    print_number(to, "gradient_norm", report->gradient_norm);
    fprintf(to, ",\"skipped\":%s", report->skipped ? "true" : "false");
    if (error != FIRN_OK)
        print_string(to, "error", firn_error_name(error));
    fprintf(to, ",\"seconds\":%.9f,\"elapsed\":%.3f}\n", seconds, elapsed);
}

static void print_evaluation(FILE *to, uint64_t step, const cli_metric *metrics, uint32_t count, double seconds,
                             double elapsed) {
    char name[CLI_METRIC_NAME_BYTES + 5];
    fprintf(to, "{\"step\":%llu", (unsigned long long)step);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "eval_%s", metrics[i].name);
        print_number(to, name, metrics[i].value);
    }
    fprintf(to, ",\"seconds\":%.9f,\"elapsed\":%.3f}\n", seconds, elapsed);
}

/* Appends what was printed into the entry. */
static bool write_line(cli_log *log, FILE *line) {
    return cli_appended_close_entry(&log->to, line) && cli_appended_write(&log->to);
}

bool cli_log_step(cli_log *log, const firn_step_report *report, int error, double seconds, double elapsed) {
    FILE *line = log->to.file != NULL ? cli_appended_entry(&log->to, 0) : NULL;
    if (line == NULL)
        return log->to.file == NULL;
    print_step(line, report, error, seconds, elapsed);
    return write_line(log, line);
}

bool cli_log_evaluation(cli_log *log, uint64_t step, const cli_metric *metrics, uint32_t count, double seconds,
                        double elapsed) {
    FILE *line = log->to.file != NULL ? cli_appended_entry(&log->to, 0) : NULL;
    if (line == NULL)
        return log->to.file == NULL;
    print_evaluation(line, step, metrics, count, seconds, elapsed);
    return write_line(log, line);
}

void cli_log_end(cli_log *log, bool failed) {
    cli_appended_end(&log->to, failed);
}

/* --- going on with a log --- */

/* Returns the step of a line, or 0 if the line is not one of a step. */
static uint64_t step_of(const void *context, const char *line) {
    (void)context;
    static const char begin[] = "{\"step\":";
    return strncmp(line, begin, sizeof begin - 1) == 0 ? strtoull(line + sizeof begin - 1, NULL, 10) : 0;
}

/* Returns true if both lines have the field, a hash, with the same value. */
static bool same_hash(const char *line, const char *head, const char *field) {
    const char *a = strstr(line, field), *b = strstr(head, field);
    return a != NULL && b != NULL && strncmp(a, b, strlen(field) + 64) == 0;
}

/* A log belongs to this run if plan and data agree; the machine that wrote it does not matter. */
static bool same_run(const char *line, const char *head) {
    return same_hash(line, head, "\"run_hash\":\"") && same_hash(line, head, "\"data_sha256\":\"");
}

/* Refuses a log by what is in place of its first line. */
static int refuse_head(const char *path, const char *line, ssize_t length) {
    static const char begin[] = "{\"firn\":";
    const char *mend = "; move it away, or give another --log";
    if (length > 0 && line[0] == 0)
        firn_host_fail(path, "begins with bytes of 0, like a log that was cut while a run wrote it%s", mend);
    else if (length > 0 && step_of(NULL, line) != 0)
        firn_host_fail(path, "lacks its first line, which names the run, like a log that was cut during a run%s", mend);
    else if (length <= 0 || strncmp(line, begin, sizeof begin - 1) != 0)
        firn_host_fail(path, "is not the log of a run: it has another first line%s", mend);
    else
        firn_host_fail(path, "is the log of another run: its first line names another plan or other data; give the "
                             "data of the run, or another --log");
    return CLI_FILE;
}

/* The values of a log can be compared only if one plan computed them over one set of data. */
static bool same_evaluation(const char *line, const char *head) {
    return same_hash(line, head, "\"eval_run_hash\":\"") && same_hash(line, head, "\"eval_data_sha256\":\"");
}

static int refuse_evaluation(const char *path) {
    firn_host_fail(path,
                   "its first line names another eval plan, or other data of the evaluations, or none; give those "
                   "that the run began with, or another --log");
    return CLI_FILE;
}

/* If the line is one of an evaluation, adds its value, NaN if that is not a finite number. ahead: its step comes after
 * that of the checkpoint. */
static void note_evaluation(void *context, const char *line, uint64_t step, bool ahead) {
    cli_history *history = context;
    char name[CLI_METRIC_NAME_BYTES + 16];
    if (history == NULL || strstr(line, ",\"eval_") == NULL)
        return;
    snprintf(name, sizeof name, ",\"eval_%s\":", history->name);
    const char *at = strstr(line, name);
    const char *from = at != NULL ? at + strlen(name) : "";
    char *stop;
    float value = strtof(from, &stop);
    if (stop == from) /* null, or no number at all */
        value = NAN;
    const size_t all = history->count + history->ahead;
    if (history->list == NULL || all == history->space) {
        history->space = 2 * history->space + 64;
        history->list = firn_host_grow(history->list, history->space * sizeof *history->list);
    }
    history->list[all] = (cli_score){step, isfinite(value) ? value : NAN};
    history->count += ahead ? 0 : 1;
    history->ahead += ahead ? 1 : 0;
}

/* Checks the first line, and keeps the lines of steps up to `steps_done`. */
static int go_on(cli_log *log, cli_history *history, uint64_t steps_done) {
    const cli_appended_lines lines = {.step_of = step_of, .take = note_evaluation, .context = history};
    const char *path = log->to.path, *head = log->to.head;
    char *line = NULL;
    size_t space = 0;
    ssize_t length = getline(&line, &space, log->to.file);
    const bool same = length > 0 && same_run(line, head);
    const int refused = !same                                             ? refuse_head(path, line, length)
                        : history != NULL && !same_evaluation(line, head) ? refuse_evaluation(path)
                                                                          : CLI_OK;
    free(line);
    return refused == CLI_OK ? cli_appended_keep(&log->to, &lines, steps_done) : refused;
}

int cli_log_cut_ahead(cli_log *log) {
    return cli_appended_cut_ahead(&log->to);
}

int cli_log_begin(cli_log *log, const cli_session *session, cli_history *history, uint64_t steps_done) {
    *log = (cli_log){.to = {.path = session->options->log,
                            .what = "the log",
                            .option = "--log",
                            .entry_bytes = CLI_LOG_LINE_BYTES,
                            .looks = session->options->dry_run}};
    cli_appended *to = &log->to;
    if (to->path == NULL)
        return CLI_OK;
    FILE *text = open_memstream(&to->head, &to->head_bytes);
    if (text != NULL)
        print_head(text, session, history);
    if (text == NULL || fclose(text) != 0) {
        firn_host_fail("memory", "%s", strerror(errno));
        return CLI_FILE;
    }
    const int status = cli_appended_begin(to, session->options->resume);
    return status == CLI_OK && !to->created ? go_on(log, history, steps_done) : status;
}
