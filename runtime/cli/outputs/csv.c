/* firn train --csv: a table with one row for each step, as RFC 4180 has it: lines end with CR and LF. An evaluation
 * stands in the row of its step, which is therefore written only with an evaluation that is due. If that row has been
 * written already, as by the call before --resume, its last columns are replaced; a pipe gets a row with the evaluation
 * alone. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

#define ROW_END "\r\n"

enum {
    NUMBER_BYTES = 20, /* more than a number has, with the comma before it */
    OTHERS_BYTES = 256 /* more than the other columns have together */
};

static const char *const timing[] = {"error", "seconds", "elapsed"};
enum { TIMING = sizeof timing / sizeof *timing };

/* --- rows --------------------------------------------------------------------------------------------------------- */

static void print_head(FILE *to, const cli_csv *csv) {
    fputs("step", to);
    for (uint32_t i = 0; i < csv->series.count; i++) {
        fputc(',', to);
        cli_print_csv(to, csv->series.names[i]);
    }
    for (size_t i = 0; i < TIMING; i++)
        fprintf(to, ",%s", timing[i]);
    for (uint32_t i = 0; i < csv->metric_count; i++)
        fprintf(to, ",eval_%s", csv->metrics[i].name);
    fputs(ROW_END, to);
}

/* Prints a number with enough digits to recover the float exactly. What is not finite are the words that readers of
 * tables know. */
static void print_number(FILE *to, float value) {
    if (isfinite(value))
        fprintf(to, ",%.9g", (double)value);
    else
        fprintf(to, ",%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

/* The last columns, which are empty where there was no evaluation. */
static void print_evaluation(FILE *to, const cli_csv *csv, bool evaluated) {
    for (uint32_t i = 0; i < csv->metric_count; i++)
        if (evaluated)
            print_number(to, csv->metrics[i].value);
        else
            fputc(',', to);
    fputs(ROW_END, to);
}

/* Appends the last row. */
static bool write_row(cli_csv *csv) {
    csv->held = false;
    if (!cli_appended_write(&csv->to))
        return false;
    csv->end = csv->to.written;
    return true;
}

bool cli_csv_flush(cli_csv *csv) {
    return csv->to.file == NULL || !csv->held || write_row(csv);
}

bool cli_csv_step(cli_csv *csv, const firn_step_report *report, int error, double seconds, double elapsed, bool due) {
    FILE *row = csv->to.file != NULL && cli_csv_flush(csv) ? cli_appended_entry(&csv->to, 0) : NULL;
    if (row == NULL)
        return csv->to.file == NULL;
    cli_series_take(&csv->series, report);
    csv->step = report->global_step + (error == FIRN_ERROR_LOSS_NOT_FINITE ? 1 : 0);
    fprintf(row, "%llu", (unsigned long long)csv->step);
    for (uint32_t i = 0; i < csv->series.count; i++)
        print_number(row, csv->series.values[i]);
    fprintf(row, ",%s,%.9f,%.3f", error != FIRN_OK ? firn_error_name(error) : "", seconds, elapsed);
    csv->columns_bytes = (size_t)ftell(row);
    print_evaluation(row, csv, false);
    csv->held = cli_appended_close_entry(&csv->to, row);
    return csv->held && (due || write_row(csv));
}

/* Makes a row of a step that another call has run, and that is not in this table. */
static bool begin_row(cli_csv *csv, uint64_t step) {
    FILE *row = cli_appended_entry(&csv->to, 0);
    if (row == NULL)
        return false;
    fprintf(row, "%llu", (unsigned long long)step);
    for (size_t i = 0; i < csv->series.count + TIMING; i++)
        fputc(',', row);
    csv->step = step;
    csv->columns_bytes = (size_t)ftell(row);
    csv->held = cli_appended_close_entry(&csv->to, row);
    return csv->held;
}

bool cli_csv_evaluation(cli_csv *csv, uint64_t step) {
    cli_appended *to = &csv->to;
    if (to->file == NULL)
        return true;
    const bool replaces = !csv->held && csv->step == step && csv->end == to->written && cli_appended_is_file(to);
    if (!csv->held && !replaces && !begin_row(csv, step))
        return false;
    const uint64_t begin = csv->end - to->last_bytes;
    FILE *row = cli_appended_entry(to, csv->columns_bytes);
    if (row == NULL)
        return false;
    print_evaluation(row, csv, true);
    if (!cli_appended_close_entry(to, row))
        return false;
    if (!replaces)
        return write_row(csv);
    const bool replaced = cli_appended_replace(to, begin, csv->columns_bytes);
    csv->end = to->written;
    return replaced;
}

/* --- going on ----------------------------------------------------------------------------------------------------- */

/* Returns the step of a row, or 0 if the line is none: it has another number of columns, another end, or more bytes. */
static uint64_t step_of(const void *context, const char *line) {
    const cli_csv *csv = context;
    const size_t length = strcspn(line, ROW_END);
    uint32_t commas = 0;
    for (size_t i = 0; i < length; i++)
        commas += line[i] == ',';
    const bool whole = commas == csv->series.count + TIMING + csv->metric_count &&
                       strcmp(line + length, ROW_END) == 0 && length + strlen(ROW_END) < csv->to.entry_bytes;
    return whole && *line >= '0' && *line <= '9' ? strtoull(line, NULL, 10) : 0;
}

/* Keeps the last row up to the checkpoint, whose evaluation may come now. */
static void take_row(void *context, const char *line, uint64_t step, bool ahead) {
    cli_csv *csv = context;
    const size_t length = strlen(line);
    if (ahead)
        return;
    csv->step = step;
    memcpy(csv->to.last, line, length);
    csv->to.last_bytes = length;
    size_t at = strcspn(line, ROW_END);
    for (uint32_t i = 0; i < csv->metric_count; i++)
        while (at > 0 && line[--at] != ',')
            ;
    csv->columns_bytes = at;
}

static int refuse_head(const cli_csv *csv, const char *line, ssize_t length) {
    const int shown = length > 0 ? (int)strcspn(line, ROW_END) : 0;
    firn_host_fail(csv->to.path,
                   "has other columns than this run writes: it begins with \"%.*s\"%s, and not with \"%.*s\"; move it "
                   "away, or give another --csv",
                   shown > 200 ? 200 : shown, length > 0 ? line : "", shown > 200 ? "..." : "",
                   (int)strcspn(csv->to.head, ROW_END), csv->to.head);
    return CLI_FILE;
}

static int go_on(cli_csv *csv, uint64_t steps_done) {
    const cli_appended_lines lines = {.step_of = step_of, .take = take_row, .context = csv};
    char *line = NULL;
    size_t space = 0;
    const ssize_t length = getline(&line, &space, csv->to.file);
    const bool same = length == (ssize_t)csv->to.head_bytes && memcmp(line, csv->to.head, csv->to.head_bytes) == 0;
    int status = same ? CLI_OK : refuse_head(csv, line, length);
    free(line);
    if (status == CLI_OK)
        status = cli_appended_keep(&csv->to, &lines, steps_done);
    csv->end = csv->to.written;
    return status;
}

int cli_csv_begin(cli_csv *csv, const cli_session *session, const cli_validation *validation, uint64_t steps_done) {
    *csv = (cli_csv){
        .to = {
            .path = session->options->csv, .what = "the table", .option = "--csv", .looks = session->options->dry_run}};
    cli_appended *to = &csv->to;
    if (to->path == NULL)
        return CLI_OK;
    if (validation->on) {
        csv->metrics = validation->metrics;
        csv->metric_count = validation->metric_count;
    }
    cli_series_begin(&csv->series, session);
    to->entry_bytes = OTHERS_BYTES + NUMBER_BYTES * (size_t)(csv->series.count + csv->metric_count);
    FILE *head = open_memstream(&to->head, &to->head_bytes);
    if (head != NULL)
        print_head(head, csv);
    if (head == NULL || fclose(head) != 0) {
        firn_host_fail("memory", "%s", strerror(errno));
        return CLI_FILE;
    }
    const int status = cli_appended_begin(to, session->options->resume);
    return status == CLI_OK && !to->created ? go_on(csv, steps_done) : status;
}

void cli_csv_end(cli_csv *csv, bool failed) {
    cli_appended_end(&csv->to, failed);
    cli_series_end(&csv->series);
}
