/* firn predict: runs an eval plan over a checkpoint's parameters and writes one of its outputs, a row for each sample,
 * as CSV or as an array of NumPy. The file is written under a temporary name and renamed when it is complete. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

#define NUMBER_BYTES 32 /* of one number in CSV, with what separates it */

typedef struct table {
    const cli_options *options;
    firn_host_replacement file;
    bool npy;
    firn_tensor_info output;
    uint64_t columns;  /* numbers in a row */
    uint64_t rows, at; /* rows and bytes written so far */
    char *text;        /* of one row */
} table;

/* --- which output, and how --- */

static bool ends_with(const char *path, const char *ending) {
    size_t length = strlen(path), end = strlen(ending);
    return length > end && strcmp(path + length - end, ending) == 0;
}

/* Returns the names of all outputs in an allocated text. */
static char *names_of(const cli_session *session) {
    char *names = firn_host_path("", "");
    firn_tensor_info output;
    for (uint32_t i = 0; firn_output_at(&session->firn, i, &output) == FIRN_OK; i++) {
        char *before = firn_host_path(names, i == 0 ? "" : ", ");
        free(names);
        names = firn_host_path(before, output.name);
        free(before);
    }
    return names;
}

static int refuse_name(const cli_session *session, const char *what) {
    char *names = names_of(session);
    firn_host_fail(session->options->file, "%s; write --name and one of: %s", what, names);
    free(names);
    return CLI_USAGE;
}

static int find_output(const cli_session *session, firn_tensor_info *output) {
    const char *name = session->options->name;
    if (session->info.outputs == 0) {
        firn_host_fail(session->options->file, "the plan has no outputs; compile it with trainer.validate.outputs");
        return CLI_REFUSED;
    }
    if (name == NULL && session->info.outputs > 1)
        return refuse_name(session, "the plan has several outputs");
    int error = name == NULL ? firn_output_at(&session->firn, 0, output) : firn_output(&session->firn, name, output);
    if (error != FIRN_OK)
        return refuse_name(session, "the plan has no output of this name");
    if (output->type == FIRN_FLOAT32 && output->rank > 0 && output->dims[0] == session->info.samples)
        return CLI_OK;
    /* firnc makes no such plan; the format does not forbid it. */
    firn_host_fail(session->options->file, "the output %s is not a row of float32 for each sample; name another one",
                   output->name);
    return CLI_REFUSED;
}

static int begin_table(table *table, const cli_session *session) {
    const char *path = session->options->output;
    *table = (struct table){.options = session->options, .npy = ends_with(path, ".npy")};
    if (!table->npy && !ends_with(path, ".csv")) {
        firn_host_fail(path, "says no format; end the name in .csv for text or in .npy for NumPy");
        return CLI_USAGE;
    }
    int status = find_output(session, &table->output);
    if (status != CLI_OK)
        return status;
    table->columns = table->output.bytes / sizeof(float) / session->info.samples;
    table->at = table->npy ? CLI_NPY_HEADER_BYTES : 0;
    table->text = table->npy ? NULL : firn_host_allocate((size_t)table->columns * NUMBER_BYTES);
    return CLI_OK;
}

/* --- writing --- */

static bool put(table *table, const void *bytes, size_t count) {
    bool written = firn_host_replace_write(&table->file, table->at, bytes, count);
    table->at += count;
    return written;
}

static bool put_line(table *table, const float *row) {
    size_t length = 0;
    for (uint64_t i = 0; i < table->columns; i++)
        length += (size_t)snprintf(table->text + length, NUMBER_BYTES, "%.9g%c", (double)row[i],
                                   i + 1 < table->columns ? ',' : '\n');
    return put(table, table->text, length);
}

/* Writes the first rows that the last step has computed. */
static bool put_rows(table *table, uint64_t rows) {
    const float *values = table->output.data;
    bool written = !table->npy || put(table, values, (size_t)(rows * table->columns) * sizeof *values);
    for (uint64_t row = 0; written && !table->npy && row < rows; row++)
        written = put_line(table, values + row * table->columns);
    table->rows += rows;
    return written;
}

/* Its first extent is known at the end only. */
static bool put_header(const table *table) {
    uint64_t dims[FIRN_RANK_MAX];
    for (uint32_t d = 1; d < table->output.rank; d++)
        dims[d - 1] = table->output.dims[d];
    return cli_npy_put_header(&table->file, FIRN_FLOAT32, table->rows, dims, table->output.rank - 1u);
}

static int fail_to_write(const table *table) {
    firn_host_fail(table->options->output, "cannot be written: %s; %s", strerror(errno), firn_host_room());
    return CLI_FILE;
}

/* --- the command --- */

/* Predicts for the samples that are fewer than a batch, by a batch of their own. They are left out, with a note, where
 * that cannot be: of a part of the data and of what was pushed. */
static int predict_rest(cli_session *session, table *table) {
    const firn_info *info = &session->info;
    uint64_t left;
    int error = firn_eval_left(&session->firn, cli_source(session), &left);
    if (error != FIRN_OK || left == 0 || info->steps != 0)
        return error == FIRN_OK ? CLI_OK : cli_error(session, error);
    if (!info->all_data || info->ring != 0) {
        error = cli_note_left(session);
        return error == FIRN_OK ? CLI_OK : cli_error(session, error);
    }
    cli_last_batch batch;
    cli_last_batch_begin(&batch, session, left);
    error = firn_restore(&session->firn, NULL); /* back to the first sample, of this batch */
    if (error == FIRN_OK)
        error = firn_eval_step(&session->firn, &batch.source);
    cli_last_batch_end(&batch);
    if (error != FIRN_OK)
        return cli_error(session, error);
    return put_rows(table, left) ? CLI_OK : fail_to_write(table);
}

static int run_steps(cli_session *session, table *table) {
    int error = FIRN_OK;
    while (error == FIRN_OK) {
        cli_numbers_begin_step(session);
        error = firn_eval_step(&session->firn, cli_source(session));
        if (error == FIRN_OK && !put_rows(table, session->info.samples))
            return fail_to_write(table);
        if (cli_signals_came()) {
            firn_host_note("interrupted; %s was not written", table->options->output);
            return CLI_INTERRUPTED;
        }
    }
    if (error != FIRN_ERROR_DATA_END)
        return cli_error(session, error);
    int status = predict_rest(session, table);
    if (status == CLI_OK && !firn_host_data_unchanged(&session->data))
        status = cli_error(session, FIRN_ERROR_SOURCE);
    if (status != CLI_OK)
        return status;
    bool whole = (!table->npy || put_header(table)) && firn_host_replace_end(&table->file);
    return whole ? CLI_OK : fail_to_write(table);
}

static int predict(cli_session *session, table *table) {
    int status = begin_table(table, session);
    if (status == CLI_OK)
        status = cli_restore(session);
    if (status == CLI_OK)
        status = cli_push_begin(session, 0);
    if (status != CLI_OK)
        return status;
    if (!firn_host_replaceable(session->options->output))
        return CLI_FILE;
    cli_signals_catch();
    cli_note_data(session);
    status = firn_host_replace_begin(&table->file, session->options->output) ? run_steps(session, table)
                                                                             : fail_to_write(table);
    if (status != CLI_OK)
        firn_host_replace_abandon(&table->file);
    else if (!session->options->quiet)
        firn_host_note("%llu row%s of %s, %llu number%s each", (unsigned long long)table->rows, cli_s(table->rows),
                       table->output.name, (unsigned long long)table->columns, cli_s(table->columns));
    return status;
}

int cli_predict(const cli_options *options) {
    static cli_session session;
    static table table;
    int status = cli_session_begin(&session, options, true);
    if (status == CLI_OK)
        status = predict(&session, &table);
    free(table.text);
    cli_session_end(&session);
    return status;
}
