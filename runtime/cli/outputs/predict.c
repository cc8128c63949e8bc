/* firn predict: runs an eval plan over a checkpoint's parameters and writes one of its outputs, a row for each sample,
 * as CSV, as an array of NumPy or as lines of JSON. The file is written under a temporary name and renamed when it is
 * complete. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

#define NUMBER_BYTES 32 /* of one number in CSV, with what separates it */

typedef struct table {
    const cli_options *options;
    firn_host_replacement file;
    enum { NUMBERS, NPY, CSV, JSON } form; /* NUMBERS: lines of them, without a header */
    cli_classes classes;
    cli_rows_form rows_form; /* CSV, JSON */
    firn_tensor_info output;
    uint64_t columns;  /* numbers in a row */
    uint64_t rows, at; /* rows and bytes written so far */
    char *text;        /* of one row of NUMBERS */
    bool unread;       /* a label could not be read */
} table;

/* --- which output, and how --- */

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
        firn_host_fail(session->options->file, "the plan has no outputs; compile it with trainer.validate.outputs, or "
                                               "give the predict.plan that firnc compile "
                                               "--all makes");
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

/* Chooses the form by --format, else by the name of the file. */
static int choose_form(table *table, const cli_options *options) {
    const char *path = options->output, *format = options->format;
    if (format != NULL)
        table->form = strcmp(format, "npy") == 0 ? NPY : strcmp(format, "csv") == 0 ? CSV : JSON;
    else if (firn_host_has_ending(path, ".npy"))
        table->form = NPY;
    else if (firn_host_has_ending(path, ".jsonl"))
        table->form = JSON;
    else if (firn_host_has_ending(path, ".csv"))
        table->form = options->classes != NULL ? CSV : NUMBERS;
    else {
        firn_host_fail(path, "says no format; end the name in .csv for text, in .npy for NumPy or in .jsonl for JSON, "
                             "or give --format");
        return CLI_USAGE;
    }
    if (table->form != NPY || options->classes == NULL)
        return CLI_OK;
    firn_host_fail(options->classes, "an array of NumPy has no names; leave out --classes, or write --format csv");
    return CLI_USAGE;
}

static int begin_table(table *table, const cli_session *session) {
    *table = (struct table){.options = session->options};
    int status = choose_form(table, session->options);
    if (status == CLI_OK)
        status = find_output(session, &table->output);
    if (status != CLI_OK)
        return status;
    table->columns = table->output.bytes / sizeof(float) / session->info.samples;
    table->at = table->form == NPY ? CLI_NPY_HEADER_BYTES : 0;
    if (table->form == NUMBERS)
        table->text = firn_host_allocate((size_t)table->columns * NUMBER_BYTES);
    return table->form == CSV || table->form == JSON
               ? cli_rows_form_begin(&table->rows_form, session, &table->output, &table->classes,
                                     table->form == CSV ? CLI_ROWS_CSV : CLI_ROWS_JSON)
               : CLI_OK;
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

/* Writes rows for people, the first ones behind a header. */
static bool put_text(table *table, uint64_t rows) {
    const cli_rows_kind kind = table->form == CSV ? CLI_ROWS_CSV : CLI_ROWS_JSON;
    const float *values = table->output.data;
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    if (to == NULL)
        return false;
    if (table->form == CSV && table->rows == 0)
        cli_rows_csv_head(to, &table->rows_form);
    bool read = true;
    for (uint64_t row = 0; read && row < rows; row++)
        read = cli_rows_put(to, &table->rows_form, kind, table->rows + row, values + row * table->columns);
    table->unread = !read;
    const bool made = fclose(to) == 0;
    const bool written = made && read && put(table, text, length);
    free(text);
    return written;
}

/* Writes the first rows that the last step has computed. */
static bool put_rows(table *table, uint64_t rows) {
    const float *values = table->output.data;
    bool written = true;
    if (table->form == NPY)
        written = put(table, values, (size_t)(rows * table->columns) * sizeof *values);
    else if (table->form != NUMBERS)
        written = put_text(table, rows);
    for (uint64_t row = 0; written && table->form == NUMBERS && row < rows; row++)
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

static int fail_to_write(table *table) {
    if (table->unread)
        return cli_error(table->rows_form.session, FIRN_ERROR_SOURCE);
    firn_host_replace_fail(&table->file, table->options->output);
    return CLI_FILE;
}

/* --- the command --- */

/* Predicts for the samples that are fewer than a batch, also if there are no others, by a batch of their own. They are
 * left out, with a note, where that cannot be: of a part of the data and of what was pushed. */
static int predict_rest(cli_session *session, table *table) {
    firn_sample_counts counts;
    const bool filled = cli_last_batch_is_filled(session);
    int error = filled ? firn_count_samples(&session->firn, cli_source(session), &counts) : cli_note_left(session);
    if (error != FIRN_OK || !filled)
        return error == FIRN_OK ? CLI_OK : cli_error(session, error);
    const uint64_t left = counts.part - table->rows;
    if (left == 0)
        return table->rows != 0 ? CLI_OK : cli_error(session, FIRN_ERROR_DATA_TOO_SHORT);
    cli_last_batch batch;
    cli_last_batch_begin(&batch, session, left);
    error = firn_eval_restart(&session->firn); /* back to the first sample, of this batch */
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
        uint32_t rows = 0;
        error = firn_eval_step(&session->firn, cli_source(session));
        if (error == FIRN_OK)
            error = firn_eval_rows(&session->firn, &rows);
        if (error == FIRN_OK && !put_rows(table, rows))
            return fail_to_write(table);
        if (cli_signals_came()) {
            firn_host_note("interrupted; %s was not written", table->options->output);
            return CLI_INTERRUPTED;
        }
    }
    const bool few = error == FIRN_ERROR_DATA_TOO_SHORT && cli_last_batch_is_filled(session);
    if (error != FIRN_ERROR_DATA_END && !few)
        return cli_error(session, error);
    int status = predict_rest(session, table);
    if (status == CLI_OK && !firn_host_data_unchanged(&session->data))
        status = cli_error(session, FIRN_ERROR_SOURCE);
    if (status != CLI_OK)
        return status;
    bool whole = (table->form != NPY || put_header(table)) && firn_host_replace_end(&table->file);
    return whole ? CLI_OK : fail_to_write(table);
}

/* Notes what was written and, where it has no header, which option writes one. */
static void note_written(const table *table) {
    const bool classes = cli_rows_are_of_classes(&table->output);
    firn_host_note("%llu row%s of %s, %llu number%s each%s%s", (unsigned long long)table->rows, cli_s(table->rows),
                   table->output.name, (unsigned long long)table->columns, cli_s(table->columns),
                   table->form == NUMBERS ? ", without a header; --format csv writes one" : "",
                   table->form == NUMBERS && classes ? ", and the predicted class of each row by its name" : "");
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
        note_written(table);
    return status;
}

int cli_predict(const cli_options *options) {
    static cli_session session;
    static table table;
    int status = cli_session_begin(&session, options, true);
    if (status == CLI_OK)
        status = predict(&session, &table);
    free(table.text);
    cli_classes_free(&table.classes);
    cli_session_end(&session);
    return status;
}
