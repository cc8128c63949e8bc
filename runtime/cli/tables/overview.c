/* What firn data says of each column of a table, and of the numbers in a file of raw tokens. */
#include <stdlib.h>
#include <string.h>

#include "plan/bytes.h"
#include "plan/ops.h"
#include "runtime/cli/cli.h"
#include "runtime/targets/host/tables/columns.h"

enum { COLUMNS_SHOWN = 100, NAME_SHOWN = 20, PIECE_BYTES = 16384, ID_BITS_MOST = 20, NOTES_MOST = 5 };

/* --- columns ------------------------------------------------------------------------------------------------------ */

static const char *type_of(const firn_host_column *column) {
    if (column->texts != 0)
        return column->numbers != 0 ? "mixed" : "text";
    if (column->numbers == 0)
        return "-";
    return column->whole ? "integer" : "number";
}

/* Prints at most `most` characters of a name, and spaces up to that width. */
static void print_name(const char *name, size_t most) {
    char text[NAME_SHOWN + 1] = "";
    snprintf(text, most + 1, "%s", name != NULL ? name : "");
    firn_host_print(stdout, text);
    for (size_t i = strlen(text); i < most; i++)
        putchar(' ');
}

static void print_column(uint32_t index, const firn_host_column *column) {
    char distinct[24];
    snprintf(distinct, sizeof distinct, "%s%lu", column->more ? ">" : "", (unsigned long)column->distinct);
    printf("%5lu  ", (unsigned long)index + 1);
    print_name(column->name, NAME_SHOWN);
    printf("  %-7s %9llu %8s", type_of(column), (unsigned long long)column->missing, distinct);
    if (column->numbers != 0)
        printf(" %12.6g %12.6g %12.6g", column->least, column->most, column->sum / (double)column->numbers);
    putchar('\n');
}

/* Notes columns that say nothing, and cells that no plan reads. */
static void print_notes(const firn_host_columns *columns) {
    uint32_t noted = 0;
    for (uint32_t i = 0; i < columns->count && noted < NOTES_MOST; i++) {
        const firn_host_column *column = &columns->list[i];
        const bool constant = column->distinct == 1 && column->missing + column->infinities == 0 && columns->rows > 1;
        if (!constant && column->infinities == 0)
            continue;
        noted++;
        printf("  note: column %lu", (unsigned long)i + 1);
        if (column->name != NULL) {
            printf(" (");
            firn_host_print(stdout, column->name);
            printf(")");
        }
        if (constant)
            printf(" is the same in every row\n");
        else
            printf(" has %llu number%s that %s infinite or beyond float32\n", (unsigned long long)column->infinities,
                   cli_s(column->infinities), column->infinities == 1 ? "is" : "are");
    }
    if (columns->cut)
        printf("  note: row %llu behind the header has other cells than the first one, and ends this list\n",
               (unsigned long long)columns->rows + 1);
}

void cli_columns_print(const char *path, const firn_host_wanted *wanted) {
    firn_host_columns columns;
    if (!firn_host_columns_read(&columns, path, wanted))
        return;
    printf("columns of ");
    firn_host_print(stdout, path);
    printf(": %lu, in %llu row%s\n", (unsigned long)columns.count, (unsigned long long)columns.rows,
           cli_s(columns.rows));
    printf("%5s  %-*s  %-7s %9s %8s %12s %12s %12s\n", "", NAME_SHOWN, "name", "type", "missing", "distinct", "least",
           "most", "mean");
    for (uint32_t i = 0; i < columns.count && i < COLUMNS_SHOWN; i++)
        print_column(i, &columns.list[i]);
    if (columns.count > COLUMNS_SHOWN)
        printf("  ... and %lu more\n", (unsigned long)(columns.count - COLUMNS_SHOWN));
    print_notes(&columns);
    firn_host_columns_free(&columns);
}

/* --- tokens ------------------------------------------------------------------------------------------------------- */

/* The numbers of a file, if each has so many bytes. */
typedef struct ids {
    uint32_t width;
    uint64_t count;
    uint32_t least, most;
    uint8_t *seen; /* a bit for each below 2^ID_BITS_MOST */
    bool beyond;   /* some are not below it */
    uint64_t distinct;
} ids;

static void add_id(ids *ids, uint32_t id) {
    ids->least = ids->count == 0 || id < ids->least ? id : ids->least;
    ids->most = id > ids->most ? id : ids->most;
    ids->count++;
    if (id >> ID_BITS_MOST != 0) {
        ids->beyond = true;
        return;
    }
    ids->distinct += (ids->seen[id / 8] >> id % 8 & 1) == 0;
    ids->seen[id / 8] = (uint8_t)(ids->seen[id / 8] | 1u << id % 8);
}

static void add_bytes(ids *ids, const uint8_t *bytes, uint32_t count) {
    for (uint32_t i = 0; i + ids->width <= count; i += ids->width)
        add_id(ids, ids->width == 2 ? firn_load16(bytes + i) : firn_load32(bytes + i));
}

/* Prints them, unless some are more than tokens are: then the numbers have another width. */
static void print_ids(const ids *ids, const char *name) {
    if (!ids->beyond)
        printf("  %-19s%llu token%s from %lu to %lu, %llu different; a plan needs vocab_size %lu or more\n", name,
               (unsigned long long)ids->count, cli_s(ids->count), (unsigned long)ids->least, (unsigned long)ids->most,
               (unsigned long long)ids->distinct, (unsigned long)ids->most + 1);
}

/* Counts the numbers of a file whose elements are bytes, or the tokens behind a header. */
static bool count_ids(ids *ids, const firn_host_data *data, uint32_t index, uint32_t element_bytes) {
    static uint8_t bytes[PIECE_BYTES];
    const firn_host_stream *stream = &data->files[0];
    const uint64_t elements = firn_host_file_layout(stream->files[index])->elements;
    for (uint64_t at = 0; at < elements;) {
        const uint64_t left = elements - at, most = PIECE_BYTES / element_bytes;
        const uint32_t piece = (uint32_t)(left < most ? left : most);
        if (data->source.read(data->source.context, 0, stream->starts[index] + at, piece, bytes) != FIRN_OK)
            return false; /* what follows reads the file, too, and says so */
        add_bytes(ids, bytes, piece * element_bytes);
        at += piece;
    }
    return true;
}

void cli_tokens_print(const firn_host_data *data, uint32_t index) {
    const firn_host_file *file = data->files[0].files[index];
    const firn_data_layout *layout = firn_host_file_layout(file);
    const bool header = firn_host_file_tokens(file) != NULL;
    const uint32_t element = firn_type_bytes(layout->element), widths[] = {header ? element : 2, 4};
    if (layout->elements == 0 || (!header && !firn_host_file_is_named_bin(file)))
        return;
    for (uint32_t i = 0; i < (header ? 1 : sizeof widths / sizeof *widths); i++) {
        ids ids = {.width = widths[i], .seen = firn_host_allocate((size_t)1 << (ID_BITS_MOST - 3))};
        const bool whole = layout->elements * element % widths[i] == 0;
        if (whole && count_ids(&ids, data, index, element))
            print_ids(&ids, header ? "tokens" : widths[i] == 2 ? "as uint16" : "as uint32");
        free(ids.seen);
    }
}
