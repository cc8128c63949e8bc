/* firn data-statistics: computes the mean and the standard deviation of each column of the training data, once, and
 * writes them as JSON, whose numbers are those of float32, digit for digit. firnc freezes them into a plan. Sums are
 * taken in float64, in two passes and in the order of the records, so the same data give the same file anywhere. */
#include <cjson/cJSON.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/ops.h"
#include "runtime/cli/cli.h"
#include "runtime/text/utf8.h"

enum { PIECE_ELEMENTS = 16384, ELEMENT_BYTES_MOST = 4, CHANNELS_MOST = 4, NOTED_MOST = 5 };

#define WHOLE_MOST 0x1p24 /* float32 holds every integer up to it */

/* Which numbers of a record are one column. */
typedef enum axis { EACH, LAST, FIRST, ALL } axis;

static const char *const axis_words[] = {"each", "last", "first", "all"};

typedef struct column {
    double sum, mean, squares, least, most;
    float deviation;
} column;

/* The columns of one stream. */
typedef struct part {
    uint32_t stream;
    axis axis;
    uint64_t records; /* that are looked at */
    bool all;         /* these are all records: none is held out */
    bool rounded;     /* integers of the files are others as float32 */
    uint32_t each;    /* numbers of a record */
    uint32_t run;     /* number i of a record is of column i / run % count */
    uint32_t count;
    const firn_host_names *names; /* of the columns; none if there are none */
    column *columns;
} part;

/* --- which data --------------------------------------------------------------------------------------------------- */

/* Opens the data as a plan of float32 does, or of bytes where the file has bytes. */
static bool open_data(firn_host_data *data, const cli_options *options) {
    firn_host_wanted wanted = {.records = true, .only_looks = true};
    wanted.stream_count = options->labels != NULL || options->target != NULL ? 2 : 1;
    cli_want_parts(&wanted, options);
    const char *labels = wanted.stream_count > 1 ? options->labels : NULL;
    bool opened = firn_host_data_open(data, &wanted, options->data, options->data_count, labels, NULL);
    for (uint32_t s = 0; opened && s < wanted.stream_count; s++) {
        const firn_data_layout *layout = firn_host_file_layout(data->files[s].files[0]);
        if (layout->format == FIRN_DATA_RAW)
            return firn_host_refuse_raw(firn_host_file_name(data->files[s].files[0]), layout,
                                        firn_host_file_kind(data->files[s].files[0]));
        wanted.streams[s].record_elements = firn_data_record_elements(layout);
        wanted.streams[s].element = s == 0 && layout->element == FIRN_UINT8 ? FIRN_UINT8
                                    : s == 1 && data->classes.count != 0    ? FIRN_INT32
                                                                            : FIRN_FLOAT32;
    }
    if (!opened)
        return false;
    firn_host_data_close(data);
    wanted.only_looks = false;
    return firn_host_data_open(data, &wanted, options->data, options->data_count, labels, NULL);
}

/* The last records are held out, as a plan does: floor(records * per_mille / 1000) of them. */
static uint64_t records_left(uint64_t records, uint32_t per_mille) {
    return records - (records / 1000 * per_mille + records % 1000 * per_mille / 1000);
}

/* Chooses what a column is, for records of several extents by what images usually are. */
static bool choose_axis(part *part, const firn_data_layout *layout, const char *word, const char *name) {
    const uint64_t last = layout->rank > 1 ? layout->dims[layout->rank - 1] : 1, first = layout->dims[1];
    for (uint32_t i = 0; word != NULL && i < sizeof axis_words / sizeof *axis_words; i++)
        if (strcmp(word, axis_words[i]) == 0)
            part->axis = (axis)i;
    if (word == NULL && layout->rank > 3 && last > CHANNELS_MOST && first > CHANNELS_MOST) {
        firn_host_fail(name, "has records of several extents, of which none is that of channels for sure; write "
                             "--axis each, last, first or all");
        return false;
    }
    if (word == NULL && layout->rank > 2)
        part->axis = layout->rank == 3 ? ALL : last <= CHANNELS_MOST ? LAST : FIRST;
    if (layout->rank <= 2 && (part->axis == LAST || part->axis == FIRST))
        part->axis = EACH; /* of a flat record both are its numbers */
    part->run = part->axis == FIRST ? part->each / (uint32_t)first : 1;
    part->count = part->axis == EACH   ? part->each
                  : part->axis == LAST ? (uint32_t)last
                  : part->axis == ALL  ? 1
                                       : (uint32_t)first;
    return true;
}

static bool begin_part(part *part, const firn_host_data *data, uint32_t stream, const cli_options *options) {
    const firn_host_file *file = data->files[stream].files[0];
    const firn_data_layout *layout = firn_host_file_layout(file);
    const uint32_t per_mille = options->held_out_per_mille;
    *part = (struct part){.stream = stream, .each = firn_data_record_elements(layout)};
    const uint64_t records = firn_host_data_elements(&data->files[stream]) / part->each;
    part->records = records_left(records, per_mille);
    part->all = part->records == records;
    for (uint32_t i = 0; i < data->files[stream].count; i++) {
        char text[400];
        part->rounded =
            part->rounded || firn_host_file_rounded_integers(data->files[stream].files[i], text, sizeof text) != 0;
    }
    if (!choose_axis(part, layout, stream == 0 ? options->axis : "each", firn_host_file_name(file)))
        return false;
    part->names = stream == 0 ? &data->features : &data->targets;
    part->columns = firn_host_allocate(part->count * sizeof *part->columns);
    for (uint32_t i = 0; i < part->count; i++)
        part->columns[i] = (column){.least = HUGE_VAL, .most = -HUGE_VAL};
    if (part->records >= 2)
        return true;
    return firn_host_fail(firn_host_file_name(file),
                          "has %llu record%s, of which %llu %s trained with, and a deviation needs 2; give more data",
                          (unsigned long long)records, cli_s(records), (unsigned long long)part->records,
                          part->records == 1 ? "is" : "are");
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

static double number_at(uint8_t type, const uint8_t *bytes, uint32_t index) {
    float value;
    int32_t integer;
    if (type == FIRN_UINT8)
        return bytes[index];
    if (type == FIRN_INT32) {
        memcpy(&integer, bytes + (size_t)index * sizeof integer, sizeof integer);
        return integer;
    }
    memcpy(&value, bytes + (size_t)index * sizeof value, sizeof value);
    return (double)value;
}

static const char *column_text(const part *part, uint32_t index, char *text, size_t size) {
    static const char *const what[] = {"column", "target"};
    if (part->names->count == part->count)
        snprintf(text, size, "%s %lu (%.60s)", what[part->stream], (unsigned long)index + 1, part->names->list[index]);
    else
        snprintf(text, size, "%s %lu", what[part->stream], (unsigned long)index + 1);
    return text;
}

static bool refuse_number(const firn_host_data *data, const part *part, uint64_t element, double value) {
    const firn_host_stream *stream = &data->files[part->stream];
    const uint32_t file = firn_host_data_file_of(stream, element);
    const uint32_t number = (uint32_t)(element % part->each) / part->run % part->count;
    char text[100];
    return firn_host_fail(
        firn_host_file_name(stream->files[file]),
        "record %llu, counted from 0, %s: the value is %s, which has no place in a mean (%s); mend it, "
        "or leave the record out",
        (unsigned long long)((element - stream->starts[file]) / part->each),
        column_text(part, number, text, sizeof text), isnan(value) ? "NaN" : "infinite",
        firn_error_name(FIRN_ERROR_DATA_TYPE));
}

static void add_first(column *column, double value) {
    column->sum += value;
    column->least = value < column->least ? value : column->least;
    column->most = value > column->most ? value : column->most;
}

static void add_second(column *column, double value) {
    column->squares += (value - column->mean) * (value - column->mean);
}

/* Gives each number that is trained with to its column. Returns false after a message. */
static bool walk(const firn_host_data *data, part *part, void (*add)(column *column, double value)) {
    static uint8_t bytes[PIECE_ELEMENTS * ELEMENT_BYTES_MOST];
    const uint8_t type = data->streams[part->stream].element;
    const uint64_t elements = part->records * part->each;
    for (uint64_t at = 0; at < elements;) {
        const uint64_t left = elements - at;
        const uint32_t piece = left < PIECE_ELEMENTS ? (uint32_t)left : PIECE_ELEMENTS;
        char fault[200] = "cannot be read to its end";
        if (data->source.read(data->source.context, part->stream, at, piece, bytes) != FIRN_OK) {
            const char *name = firn_host_data_fault(data, fault, sizeof fault);
            return firn_host_fail(name != NULL ? name : "data", "%s; run again where nobody changes it", fault);
        }
        for (uint32_t i = 0; i < piece; i++) {
            const double value = number_at(type, bytes, i);
            if (!isfinite(value))
                return refuse_number(data, part, at + i, value);
            add(&part->columns[(at + i) % part->each / part->run % part->count], value);
        }
        at += piece;
    }
    return true;
}

/* Computes the statistics of a stream. A column that has one value only has the deviation 0. */
static bool compute(const firn_host_data *data, part *part) {
    const uint32_t of_record = part->each / part->count;
    const double numbers = (double)part->records * of_record;
    char text[100];
    if (!walk(data, part, add_first))
        return false;
    for (uint32_t i = 0; i < part->count; i++)
        part->columns[i].mean = part->columns[i].sum / numbers;
    if (!walk(data, part, add_second))
        return false;
    for (uint32_t i = 0; i < part->count; i++) {
        column *c = &part->columns[i];
        c->deviation = c->least == c->most ? 0 : (float)sqrt(c->squares / numbers);
        if (c->most - c->least > (double)FLT_MAX)
            return firn_host_fail(firn_host_file_name(data->files[part->stream].files[0]),
                                  "%s: its values are more apart than float32 can say; divide the column",
                                  column_text(part, i, text, sizeof text));
    }
    return true;
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

/* Adds a number as a float32 that reads back unchanged. */
static void add_single(cJSON *to, const char *name, float value) {
    char text[32];
    snprintf(text, sizeof text, "%.9g", (double)value);
    cJSON_AddRawToObject(to, name, text);
}

static bool add_columns(cJSON *root, const char *list, const part *part, const char *file) {
    cJSON *entries = cJSON_AddArrayToObject(root, list);
    char text[100];
    for (uint32_t i = 0; i < part->count; i++) {
        const column *c = &part->columns[i];
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddItemToArray(entries, entry);
        if (part->names->count == part->count) {
            if (!firn_utf8_is(part->names->list[i]))
                return firn_host_fail(file, "%s has a name that is not UTF-8; write the table in UTF-8",
                                      column_text(part, i, text, sizeof text));
            cJSON_AddStringToObject(entry, "name", part->names->list[i]);
        }
        add_single(entry, "mean", (float)c->mean);
        add_single(entry, "deviation", c->deviation);
        add_single(entry, "least", (float)c->least);
        add_single(entry, "most", (float)c->most);
    }
    return true;
}

/* Makes the JSON object; NULL after a message. */
static cJSON *make_root(const firn_host_data *data, const part *parts, uint32_t count, const cli_options *options) {
    uint8_t sha256[FIRN_HASH_BYTES];
    char hash[65];
    if (!firn_host_data_hash(data, 0, sha256)) {
        firn_host_fail(firn_host_file_name(data->files[0].files[0]),
                       "cannot be read to its end once more, for its hash; run again where nobody changes it");
        return NULL;
    }
    cli_hex(hash, sha256);
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "statistics", 1);
    cJSON_AddNumberToObject(root, "records", (double)parts[0].records);
    cJSON_AddNumberToObject(root, "held_out_per_mille", options->held_out_per_mille);
    cJSON_AddStringToObject(root, "data", hash);
    if (count > 1 && firn_host_data_hash(data, 1, sha256)) {
        cli_hex(hash, sha256);
        cJSON_AddStringToObject(root, "targets_data", hash);
    }
    cJSON_AddStringToObject(root, "axis", axis_words[parts[0].axis]);
    const char *file = firn_host_file_name(data->files[0].files[0]);
    if (add_columns(root, "columns", &parts[0], file) && (count < 2 || add_columns(root, "targets", &parts[1], file)))
        return root;
    cJSON_Delete(root);
    return NULL;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Notes the columns that have one value only, or a deviation that float32 rounds to 0. */
static void note_constant(const part *part) {
    uint32_t noted = 0, all = 0;
    char text[100];
    for (uint32_t i = 0; i < part->count; i++) {
        if (part->columns[i].deviation != 0)
            continue;
        const column *c = &part->columns[i];
        column_text(part, i, text, sizeof text);
        if (noted < NOTED_MOST && c->least == c->most)
            firn_host_note("%s is %.9g in every record%s%s: it says nothing, and becomes 0", text, c->least,
                           part->all ? "" : " that is not held out",
                           part->rounded && fabs(c->least) >= WHOLE_MOST ? ", as float32 rounds it" : "");
        else if (noted < NOTED_MOST)
            firn_host_note(
                "%s is from %.9g to %.9g, and float32 has no deviation as small: it is not divided; multiply "
                "the column",
                text, c->least, c->most);
        noted += noted < NOTED_MOST;
        all++;
    }
    if (all > noted)
        firn_host_note("%lu more columns have the deviation 0", (unsigned long)(all - noted));
}

/* Notes integers of tables that are others as float32. */
static void note_rounded(const firn_host_stream *stream) {
    char text[400];
    uint32_t noted = 0;
    for (uint32_t i = 0; i < stream->count && noted < NOTED_MOST; i++)
        if (firn_host_file_rounded_integers(stream->files[i], text, sizeof text) != 0) {
            firn_host_note("%s: %s", firn_host_file_name(stream->files[i]), text);
            noted++;
        }
}

static void note(const firn_host_data *data, const part *parts, uint32_t count, const cli_options *options) {
    if (options->quiet)
        return;
    for (uint32_t i = 0; i < count; i++) {
        note_rounded(&data->files[parts[i].stream]);
        note_constant(&parts[i]);
    }
    char targets[64] = "";
    if (count > 1)
        snprintf(targets, sizeof targets, " and %lu target%s", (unsigned long)parts[1].count, cli_s(parts[1].count));
    firn_host_note("%s: %llu records, %lu column%s%s", options->output, (unsigned long long)parts[0].records,
                   (unsigned long)parts[0].count, cli_s(parts[0].count), targets);
}

static int run(firn_host_data *data, part *parts, const cli_options *options) {
    const uint32_t count = data->source.stream_count;
    for (uint32_t s = 0; s < count; s++)
        if (!begin_part(&parts[s], data, s, options) || !compute(data, &parts[s]))
            return CLI_FILE;
    cJSON *root = make_root(data, parts, count, options);
    if (root == NULL)
        return CLI_FILE;
    int status = CLI_OK;
    if (!firn_host_data_unchanged(data)) {
        char fault[200] = "has changed";
        const char *name = firn_host_data_fault(data, fault, sizeof fault);
        firn_host_fail(name != NULL ? name : options->data[0], "%s; run again where nobody changes it", fault);
        status = CLI_FILE;
    }
    if (status == CLI_OK)
        status = cli_json_write(options->output, root);
    if (status == CLI_OK)
        note(data, parts, count, options);
    cJSON_Delete(root);
    return status;
}

int cli_data_statistics(const cli_options *options) {
    firn_host_data data;
    part parts[FIRN_HOST_STREAMS] = {0};
    const int status = open_data(&data, options) ? run(&data, parts, options) : CLI_FILE;
    for (uint32_t s = 0; s < FIRN_HOST_STREAMS; s++)
        free(parts[s].columns);
    firn_host_data_close(&data);
    return status;
}
