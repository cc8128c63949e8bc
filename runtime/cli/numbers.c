/* Finds the numbers in the data that stop a run: NaN and infinity, and integers that the plan does not take. A run
 * notes what its steps read of streams of float32, so that a message can name the file and the record of the step at
 * fault. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

#define PIECE_ELEMENTS 4096u

/* --- what a step reads --- */

static void note_read(cli_reads *reads, uint32_t stream, uint64_t first, uint32_t count) {
    cli_read *last = reads->count != 0 ? &reads->list[reads->count - 1] : NULL;
    if (last != NULL && last->stream == stream && last->first + last->count == first) {
        last->count += count;
        return;
    }
    if (reads->list == NULL || reads->count == reads->space) {
        reads->space = 2 * reads->space + 64;
        reads->list = firn_host_grow(reads->list, reads->space * sizeof *reads->list);
    }
    reads->list[reads->count++] = (cli_read){stream, first, count};
}

static int read_noted(void *context, uint32_t stream, uint64_t first, uint32_t count, void *elements) {
    cli_session *session = context;
    const firn_source *source = &session->data.source;
    if (source->streams[stream].element == FIRN_FLOAT32)
        note_read(&session->numbers.now, stream, first, count);
    else if (session->numbers.rule.known && stream == session->numbers.rule.stream)
        note_read(&session->numbers.labels, stream, first, count);
    return source->read(source->context, stream, first, count, elements);
}

void cli_numbers_watch(cli_session *session) {
    session->source = session->data.source;
    session->source.context = session;
    session->source.read = read_noted;
    cli_rows_begin(session);
}

void cli_numbers_begin_step(cli_session *session) {
    cli_numbers *numbers = &session->numbers;
    const cli_reads before = numbers->before;
    numbers->before = numbers->now;
    numbers->now = before;
    numbers->now.count = numbers->labels.count = 0;
    if (firn_progress(&session->firn, &numbers->step) == FIRN_OK)
        numbers->step++;
}

void cli_numbers_free(cli_numbers *numbers) {
    free(numbers->now.list);
    free(numbers->before.list);
    free(numbers->labels.list);
}

/* --- searching --- */

/* Whether an element, in the bytes of a source, is not finite (float32) or not from 0 to below `limit` (integers; 0:
 * any integer is allowed). */
static bool is_bad(uint8_t type, const uint8_t *element, uint32_t limit, double *value) {
    float real;
    if (type == FIRN_FLOAT32) {
        memcpy(&real, element, sizeof real);
        *value = (double)real;
        return !isfinite(real);
    }
    *value = cli_integer_at(type, element);
    return limit != 0 && (*value < 0 || *value >= limit);
}

/* Fills in where an element lies. */
static void locate(const cli_session *session, uint32_t stream, uint64_t element, cli_finding *finding) {
    const firn_host_stream *files = &session->data.files[stream];
    const uint32_t each = session->data.streams[stream].record_elements;
    const uint32_t file = firn_host_data_file_of(files, element);
    const uint64_t in_file = element - files->starts[file];
    finding->stream = stream;
    finding->file = firn_host_file_name(files->files[file]);
    finding->records = session->info.window == 0;
    finding->record = in_file / each;
    finding->element = in_file % each;
    finding->several = each > 1;
}

/* Searches `count` elements of a stream for the first that is not finite, or not below a limit. */
static bool search(const cli_session *session, uint32_t stream, uint64_t first, uint64_t count, uint32_t limit,
                   cli_finding *finding) {
    static uint8_t elements[PIECE_ELEMENTS * 4];
    const firn_source *source = &session->data.source;
    const uint8_t type = source->streams[stream].element;
    for (uint64_t done = 0; done < count;) {
        const uint32_t piece = count - done < PIECE_ELEMENTS ? (uint32_t)(count - done) : PIECE_ELEMENTS;
        if (source->read(source->context, stream, first + done, piece, elements) != FIRN_OK)
            return false;
        for (uint32_t i = 0; i < piece; i++)
            if (is_bad(type, elements + (size_t)i * firn_type_bytes(type), limit, &finding->value)) {
                locate(session, stream, first + done + i, finding);
                return true;
            }
        done += piece;
    }
    return false;
}

/* Finds the largest magnitude of float32 in what was read. */
static void search_largest(const cli_session *session, const cli_read *read, cli_finding *largest) {
    static float values[PIECE_ELEMENTS];
    const firn_source *source = &session->data.source;
    for (uint64_t done = 0; done < read->count;) {
        const uint64_t left = read->count - done;
        const uint32_t piece = left < PIECE_ELEMENTS ? (uint32_t)left : PIECE_ELEMENTS;
        if (source->read(source->context, read->stream, read->first + done, piece, values) != FIRN_OK)
            return;
        for (uint32_t i = 0; i < piece; i++)
            if (fabs((double)values[i]) > largest->value) {
                largest->value = fabs((double)values[i]);
                locate(session, read->stream, read->first + done + i, largest);
            }
        done += piece;
    }
}

static bool search_stream(const cli_session *session, uint32_t stream, uint32_t limit, cli_finding *finding) {
    return search(session, stream, 0, firn_host_data_elements(&session->data.files[stream]), limit, finding);
}

static bool search_reads(const cli_session *session, const cli_reads *reads, cli_finding *finding) {
    for (size_t i = 0; i < reads->count; i++)
        if (search(session, reads->list[i].stream, reads->list[i].first, reads->list[i].count, 0, finding))
            return true;
    return false;
}

bool cli_parameters_finite(const cli_session *session) {
    firn_tensor_info tensor;
    for (uint32_t i = 0; firn_tensor_at(&session->firn, i, &tensor) == FIRN_OK; i++) {
        if ((tensor.role != FIRN_FB_ROLE_PARAMETER && tensor.role != FIRN_FB_ROLE_BUFFER) ||
            tensor.type != FIRN_FLOAT32)
            continue;
        const float *values = tensor.data;
        for (uint64_t j = 0; j < tensor.bytes / sizeof *values; j++)
            if (!isfinite(values[j]))
                return false;
    }
    return true;
}

/* Where a number that is not finite was found. */
typedef enum place { NOWHERE, IN_STEP, IN_STEP_BEFORE, IN_DATA } place;

static place find_not_finite(const cli_session *session, cli_finding *finding) {
    const firn_source *source = &session->data.source;
    if (search_reads(session, &session->numbers.now, finding))
        return IN_STEP;
    if (cli_parameters_finite(session)) /* so the data of earlier steps have done no harm */
        return NOWHERE;
    if (search_reads(session, &session->numbers.before, finding))
        return IN_STEP_BEFORE;
    for (uint32_t i = 0; i < source->stream_count; i++)
        if (source->streams[i].element == FIRN_FLOAT32 && search_stream(session, i, 0, finding))
            return IN_DATA;
    return NOWHERE;
}

static bool find_out_of_range(const cli_session *session, cli_finding *finding, uint32_t *limit) {
    for (uint32_t i = 0; i < session->data.source.stream_count; i++) {
        firn_stream_info info;
        if (firn_stream_at(&session->firn, i, &info) != FIRN_OK || info.limit == 0)
            continue;
        *limit = info.limit;
        if (search_stream(session, i, info.limit, finding))
            return true;
    }
    return false;
}

/* --- the numbers of a run --- */

/* Counts a step whose loss is 0 because none of its rows counts, and keeps the first for a note. */
static void count_empty_step(cli_session *session, const firn_step_report *report) {
    cli_numbers *numbers = &session->numbers;
    double sum;
    const cli_rows rows = cli_rows_of_step(session, &sum);
    if (rows == CLI_ROWS_COUNT)
        return;
    if (numbers->empty++ == 0) {
        numbers->first_empty = report->global_step;
        numbers->why_empty = rows;
    }
}

void cli_numbers_end_step(cli_session *session, const firn_step_report *report) {
    cli_numbers *numbers = &session->numbers;
    cli_finding finding;
    numbers->steps++;
    if (report->loss == 0)
        count_empty_step(session, report);
    if (!report->skipped)
        return;
    numbers->skipped++;
    if (!search_reads(session, &numbers->now, &finding))
        return;
    if (numbers->skipped_for_data++ == 0)
        numbers->first = finding;
}

/* Whether the state has a tensor of this name. */
static bool has_state(const cli_session *session, const char *name) {
    firn_tensor_info tensor;
    for (uint32_t i = 0; firn_tensor_at(&session->firn, i, &tensor) == FIRN_OK; i++)
        if (strcmp(tensor.name, name) == 0)
            return true;
    return false;
}

/* What helps where the data is not the cause. */
static const char *mend_of_numbers(const cli_session *session) {
    if (has_state(session, "scaler.num_skipped_steps"))
        return "try a lower learning rate, or clip the gradients";
    if (has_state(session, "scaler.loss_scale"))
        return "try a lower learning rate, or loss scaling that is dynamic";
    return "try a lower learning rate, or clip the gradients; with a half type, loss scaling that is dynamic";
}

/* --- texts --- */

static void say_finding(const cli_finding *finding, char *text, size_t size) {
    const char *value = isnan(finding->value) ? "NaN" : "infinity";
    if (finding->several)
        snprintf(text, size, "record %llu, counted from 0, whose element %llu is %s",
                 (unsigned long long)finding->record, (unsigned long long)finding->element, value);
    else
        snprintf(text, size, "record %llu, counted from 0, which is %s", (unsigned long long)finding->record, value);
}

/* A record without weight counts in the loss as 0 times what it computes, and 0 times NaN is NaN. */
static const char *mend_of_finding(const cli_session *session) {
    return session->data.source.stream_count > 2
               ? "mend such records, or leave them out of the file: a weight of 0 does not mask NaN or infinity"
               : "mend such records, or leave them out of the file";
}

/* Writes which value of this step's data is the largest, if it is large. */
static void say_largest(const cli_session *session, char *text, size_t size) {
    enum { LARGE = 10000 };
    const cli_reads *reads = &session->numbers.now;
    cli_finding largest = {.value = 0};
    for (size_t i = 0; i < reads->count; i++)
        search_largest(session, &reads->list[i], &largest);
    text[0] = 0;
    if (largest.value > LARGE)
        snprintf(text, size,
                 "the largest value of its data is %.3g, in record %llu of %s, counted from 0: scale the data, or ",
                 largest.value, (unsigned long long)largest.record, largest.file);
}

/* The message where the data hold no NaN or infinity. */
static void say_finite(const cli_session *session, const char *saved, char *text, size_t size) {
    char largest[600];
    const unsigned long long step = session->numbers.step;
    const char *mend = mend_of_numbers(session);
    say_largest(session, largest, sizeof largest);
    if (session->info.eval)
        mend = cli_parameters_finite(session) ? "evaluate another checkpoint"
                                              : "evaluate another checkpoint, as the parameters of this one hold some";
    snprintf(text, size, "in step %llu%s; the data of this step hold no NaN or infinity%s%s%s", step, saved,
             session->info.eval || step > 1 ? "" : ", and nothing has been learned before",
             largest[0] != 0 ? "; " : ": ", largest);
    const size_t length = strlen(text);
    snprintf(text + length, size - length, "%s", mend);
}

const char *cli_say_not_finite(const cli_session *session, const char *saved, char *text, size_t size) {
    const cli_numbers *numbers = &session->numbers;
    cli_finding finding;
    char found[200];
    const place where = find_not_finite(session, &finding);
    double sum;
    const cli_rows rows = where == NOWHERE ? cli_rows_of_step(session, &sum) : CLI_ROWS_COUNT;
    if (rows == CLI_ROWS_OVERFLOW || rows == CLI_ROWS_TINY) {
        cli_rows_say(session, rows, sum, found, sizeof found);
        snprintf(text, size, "in step %llu%s; %s", (unsigned long long)numbers->step, saved, found);
        return cli_rows_file(session, rows);
    }
    if (where == NOWHERE) {
        say_finite(session, saved, text, size);
        return session->options->file;
    }
    say_finding(&finding, found, sizeof found);
    if (where == IN_DATA)
        snprintf(text, size, "in step %llu%s; the data hold %s: %s", (unsigned long long)numbers->step, saved, found,
                 mend_of_finding(session));
    else
        snprintf(text, size, "step %llu reads %s%s: %s", (unsigned long long)numbers->step - (where == IN_STEP_BEFORE),
                 found, saved, mend_of_finding(session));
    return finding.file;
}

const char *cli_say_floor(const cli_session *session, char *text, size_t size) {
    const cli_numbers *numbers = &session->numbers;
    const unsigned long long skipped = numbers->skipped, steps = numbers->steps, bad = numbers->skipped_for_data;
    if (bad != 0) {
        char found[200];
        say_finding(&numbers->first, found, sizeof found);
        snprintf(text, size,
                 "gradients overflowed in %llu of %llu steps, and %llu of these read NaN or infinity from the data, "
                 "such as %s: %s",
                 skipped, steps, bad, found, mend_of_finding(session));
        return numbers->first.file;
    }
    if (skipped == steps)
        snprintf(text, size,
                 "the gradients overflowed in every step, at every scale, and the data of these steps hold no NaN or "
                 "infinity; try another half type or a lower learning rate");
    else
        snprintf(text, size,
                 "the gradients overflowed in %llu of %llu steps, and the data of these steps hold no NaN or infinity; "
                 "try a lower learning rate, another half type, or look at the records of these steps (skipped in the "
                 "log)",
                 skipped, steps);
    return session->options->file;
}

const char *cli_say_out_of_range(const cli_session *session, char *text, size_t size) {
    cli_finding finding;
    uint32_t limit, ignored;
    bool unclassed;
    char at[100], mend[300];
    if (!find_out_of_range(session, &finding, &limit))
        return NULL;
    if (!finding.records)
        snprintf(at, sizeof at, "token %llu", (unsigned long long)finding.record);
    else if (finding.several)
        snprintf(at, sizeof at, "element %llu of record %llu", (unsigned long long)finding.element,
                 (unsigned long long)finding.record);
    else
        snprintf(at, sizeof at, "record %llu", (unsigned long long)finding.record);
    const bool labels = finding.records && finding.stream == 1;
    if (labels && (finding.value < 0 || finding.value == UINT8_MAX) &&
        !cli_ignored_label(session, &ignored, &unclassed))
        snprintf(mend, sizeof mend,
                 "give the rows to be ignored a class of their own, such as %lu, count it among the classes, and name "
                 "it by ignore_index: then -100 is read as it; or give them -100, and compile with ignore_index: -100",
                 (unsigned long)limit);
    else if (labels)
        snprintf(mend, sizeof mend, "number the classes from 0 to %lu%s, or compile with more classes",
                 (unsigned long)limit - 1, finding.value == limit ? " (save x - 1 if they begin at 1)" : "");
    else if (finding.value < 0)
        snprintf(mend, sizeof mend, "give tokens of at least 0");
    else
        snprintf(mend, sizeof mend, "give tokens below %lu, or compile with a vocab_size above %.0f",
                 (unsigned long)limit, finding.value);
    snprintf(text, size, "%s, counted from 0, is %.0f, and the plan takes 0 to %lu: %s", at, finding.value,
             (unsigned long)limit - 1, mend);
    return finding.file;
}
