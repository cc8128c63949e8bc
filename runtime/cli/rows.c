/* Finds out why a loss is exactly 0 or not finite where rows may be ignored or weighted: no row of the step counts, or
 * the sum of the weights, which the loss is divided by, is of no use. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "plan/keys/ignored_label.h"
#include "plan/ops.h"
#include "runtime/cli/cli.h"

enum { PIECE_RECORDS = 4096, LABELS_OF_RECORDS = 1, WEIGHTS = 2 };

double cli_integer_at(uint8_t type, const uint8_t *element) {
    int32_t word;
    int16_t half;
    uint16_t unsigned_half;
    switch (type) {
    case FIRN_INT32:
        memcpy(&word, element, sizeof word);
        return word;
    case FIRN_INT16:
        memcpy(&half, element, sizeof half);
        return half;
    case FIRN_UINT16:
        memcpy(&unsigned_half, element, sizeof unsigned_half);
        return unsigned_half;
    case FIRN_INT8:
        return (int8_t)*element;
    default:
        return *element;
    }
}

/* --- what the plan says of rows --- */

bool cli_ignored_label(const cli_session *session, uint32_t *label, bool *unclassed) {
    return firn_ignored_label(cli_plan(session), label, unclassed);
}

uint32_t cli_label_classes(const cli_session *session, const firn_stream_info *stream) {
    uint32_t ignored;
    bool unclassed;
    return cli_ignored_label(session, &ignored, &unclassed) && unclassed && stream->limit == ignored + 1
               ? ignored
               : stream->limit;
}

/* Losses that ignore different labels say nothing about a row as a whole. Without the phase `count` each micro-batch
 * has a divisor of its own, so the sum over a batch is none. */
void cli_rows_begin(cli_session *session) {
    cli_row_rule *rule = &session->numbers.rule;
    const firn_fb_plan plan = cli_plan(session);
    bool counted = session->info.micro_batches == 1;
    *rule = (cli_row_rule){.stream = session->data.source.stream_count > LABELS_OF_RECORDS ? LABELS_OF_RECORDS : 0};
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan); p++) {
        const firn_fb_phase phase = firn_fb_plan_phases_at(plan, p);
        counted = counted || firn_fb_phase_kind(phase) == FIRN_FB_PHASE_KIND_COUNT;
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++) {
            firn_loss_rows loss;
            if (!firn_loss_rows_of(plan, firn_fb_phase_ops_at(phase, i), &loss))
                continue;
            if (rule->known && (loss.ignored != rule->ignored || loss.divides != rule->divides)) {
                rule->known = false;
                return;
            }
            rule->ignored = loss.ignored;
            rule->unclassed = loss.unclassed;
            rule->divides = loss.divides;
            rule->known = true;
        }
    }
    rule->weighted = session->data.source.stream_count > WEIGHTS;
    rule->divides = rule->divides && rule->weighted && counted;
    rule->known = rule->known && (rule->ignored >= 0 || rule->weighted) &&
                  !(rule->weighted && session->info.window != 0) &&
                  session->data.source.streams[rule->stream].element != FIRN_FLOAT32;
}

/* --- the rows of a step --- */

/* What was found in the rows so far. */
typedef struct tally {
    bool present;  /* a row counts */
    bool overflew; /* the sum was beyond float32 on the way */
    double sum;    /* of the weights of rows that are not ignored */
} tally;

/* Adds rows that follow each other in the streams of labels and weights. Returns false if they cannot be read. */
static bool add_rows(const cli_session *session, uint64_t first, uint32_t count, tally *rows) {
    static uint8_t labels[PIECE_RECORDS * 4];
    static float weights[PIECE_RECORDS];
    const cli_row_rule *rule = &session->numbers.rule;
    const firn_source *source = &session->data.source;
    const uint8_t type = source->streams[rule->stream].element;
    if (source->read(source->context, rule->stream, first, count, labels) != FIRN_OK ||
        (rule->weighted && source->read(source->context, WEIGHTS, first, count, weights) != FIRN_OK))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const double label = cli_integer_at(type, labels + (size_t)i * firn_type_bytes(type));
        const double weight = label == (double)rule->ignored ? 0 : rule->weighted ? (double)weights[i] : 1;
        rows->present = rows->present || weight != 0; /* so is NaN */
        rows->sum += weight;
        rows->overflew = rows->overflew || fabs(rows->sum) > (double)FLT_MAX;
    }
    return true;
}

static bool add_read(const cli_session *session, uint64_t first, uint64_t count, tally *rows) {
    for (uint64_t done = 0; done < count;) {
        const uint32_t piece = count - done < PIECE_RECORDS ? (uint32_t)(count - done) : PIECE_RECORDS;
        if (!add_rows(session, first + done, piece, rows))
            return false;
        done += piece;
    }
    return true;
}

/* Where samples are pushed, a step may draw any record of the data. Else it reads its labels once, or in a plan with
 * the phase `count` twice. */
static bool add_step(const cli_session *session, tally *rows) {
    const cli_numbers *numbers = &session->numbers;
    const firn_info *info = &session->info;
    const firn_stream *stream = &session->data.source.streams[numbers->rule.stream];
    if (info->ring != 0)
        return add_read(session, 0, firn_host_data_elements(&session->data.files[numbers->rule.stream]), rows);
    uint64_t left =
        info->window != 0 ? UINT64_MAX : (uint64_t)info->samples * info->micro_batches * stream->record_elements;
    for (size_t i = 0; i < numbers->labels.count && left != 0; i++) {
        const cli_read *read = &numbers->labels.list[i];
        const uint64_t count = read->count < left ? read->count : left;
        if (!add_read(session, read->first, count, rows))
            return false;
        left -= count;
    }
    return numbers->labels.count != 0;
}

cli_rows cli_rows_of_step(const cli_session *session, double *sum) {
    const cli_row_rule *rule = &session->numbers.rule;
    const firn_stream *streams = session->data.source.streams;
    tally rows = {0};
    if (!rule->known || (rule->weighted && streams[rule->stream].record_elements != streams[WEIGHTS].record_elements) ||
        !add_step(session, &rows))
        return CLI_ROWS_COUNT;
    *sum = rows.sum;
    if (!rows.present)
        return CLI_ROWS_ABSENT;
    if (!rule->divides || session->info.ring != 0)
        return CLI_ROWS_COUNT;
    if (rows.overflew)
        return CLI_ROWS_OVERFLOW;
    if (rows.sum == 0)
        return CLI_ROWS_CANCEL;
    return isinf(1.0f / (float)rows.sum) ? CLI_ROWS_TINY : CLI_ROWS_COUNT;
}

/* --- what is said --- */

void cli_rows_say(const cli_session *session, cli_rows rows, double sum, char *text, size_t size) {
    const cli_row_rule *rule = &session->numbers.rule;
    char label[64] = "";
    if (rule->ignored >= 0)
        snprintf(label, sizeof label, "the label %lld, which is ignored (ignore_index)",
                 rule->unclassed ? FIRN_PYTORCH_IGNORED : (long long)rule->ignored);
    switch (rows) {
    case CLI_ROWS_ABSENT:
        snprintf(text, size, "each row has %s%s%s", label, label[0] != 0 && rule->weighted ? ", or " : "",
                 rule->weighted ? "the weight 0" : "");
        break;
    case CLI_ROWS_CANCEL:
        snprintf(text, size, "the weights sum to 0");
        break;
    case CLI_ROWS_OVERFLOW:
        snprintf(text, size, "the weights sum to more than float32 holds: divide them all by their mean");
        break;
    case CLI_ROWS_TINY:
        snprintf(text, size, "the weights sum to %.3g, too little to divide by: divide them all by their mean", sum);
        break;
    default:
        text[0] = 0;
    }
}

bool cli_all_zero(const cli_session *session, uint32_t stream) {
    static uint8_t elements[PIECE_RECORDS * 4];
    const firn_source *source = &session->data.source;
    const uint32_t width = firn_type_bytes(source->streams[stream].element);
    const uint64_t count = firn_host_data_elements(&session->data.files[stream]);
    for (uint64_t done = 0; done < count;) {
        const uint32_t piece = count - done < PIECE_RECORDS ? (uint32_t)(count - done) : PIECE_RECORDS;
        if (source->read(source->context, stream, done, piece, elements) != FIRN_OK)
            return false;
        for (size_t i = 0; i < (size_t)piece * width; i++)
            if (elements[i] != 0)
                return false;
        done += piece;
    }
    return true;
}

const char *cli_rows_file(const cli_session *session, cli_rows rows) {
    const cli_options *options = session->options;
    const bool weights = options->weights != NULL && (rows != CLI_ROWS_ABSENT || session->numbers.rule.ignored < 0 ||
                                                      cli_all_zero(session, WEIGHTS));
    return weights ? options->weights : options->labels != NULL ? options->labels : options->data[0];
}
