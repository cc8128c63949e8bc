/* Counts what stands in each column of a table (columns.h). Nothing is refused here: a cell is a number, or it is not.
 */
#include "runtime/targets/host/tables/columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/targets/host/cells.h"
#include "runtime/targets/host/data_file.h"
#include "runtime/targets/host/table.h"

enum { COLUMNS_MOST = 4096, SEEN_SLOTS = 2048 };

#define PIECE_BYTES 1048576u

_Static_assert((int)SEEN_SLOTS > (int)FIRN_HOST_DISTINCT_MOST, "a table of hashes has an empty place");

/* --- different cells ---------------------------------------------------------------------------------------------- */

/* FNV-1a. */
static uint64_t hash_of(const void *bytes, size_t count) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash | 1; /* 0 is an empty place */
}

static void add_distinct(firn_host_column *column, uint64_t hash) {
    if (column->more)
        return;
    if (column->seen == NULL)
        column->seen = firn_host_allocate(SEEN_SLOTS * sizeof *column->seen);
    uint32_t slot = (uint32_t)(hash >> 32) % SEEN_SLOTS;
    while (column->seen[slot] != 0 && column->seen[slot] != hash)
        slot = (slot + 1) % SEEN_SLOTS;
    if (column->seen[slot] == hash)
        return;
    column->more = column->distinct == FIRN_HOST_DISTINCT_MOST;
    if (column->more)
        return;
    column->seen[slot] = hash;
    column->distinct++;
}

/* --- cells -------------------------------------------------------------------------------------------------------- */

/* The number of a cell. A cell is at most as exact as float64 here, which is for people. */
static double number_of(const char *text) {
    int64_t integer;
    bool fraction;
    if (firn_host_cell_integer(text, &integer, &fraction))
        return (double)integer;
    return (double)firn_host_cell_float(text);
}

static void add_number(firn_host_column *column, double value) {
    if (column->numbers == 0) {
        column->least = column->most = value;
        column->whole = true;
    }
    column->numbers++;
    column->whole = column->whole && value == floor(value);
    column->least = value < column->least ? value : column->least;
    column->most = value > column->most ? value : column->most;
    column->sum += value;
    add_distinct(column, hash_of(&value, sizeof value));
}

static void add_cell(firn_host_column *column, const char *text) {
    double value;
    switch (firn_host_cell_of(text)) {
    case FIRN_HOST_CELL_NUMBER:
        value = number_of(text);
        if (isinf(value))
            column->infinities++; /* beyond float32 */
        else
            add_number(column, value);
        return;
    case FIRN_HOST_CELL_MISSING:
        column->missing++;
        return;
    case FIRN_HOST_CELL_INFINITE:
        column->infinities++;
        return;
    case FIRN_HOST_CELL_TEXT:
        column->texts++;
        add_distinct(column, hash_of(text, strlen(text)));
        return;
    }
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* Makes the columns of the cells in the first row. *header: one of them is a text. */
static bool read_first(firn_host_columns *columns, firn_host_cells *cells, bool *header) {
    *header = false;
    for (bool last = false; !last;) {
        if (columns->count == COLUMNS_MOST || !firn_host_cells_next(cells, &last))
            return false;
        columns->list = firn_host_grow(columns->list, (columns->count + 1) * sizeof *columns->list);
        columns->list[columns->count++] = (firn_host_column){.name = firn_host_path(cells->text, "")};
        *header = *header || firn_host_cell_of(cells->text) == FIRN_HOST_CELL_TEXT;
    }
    return true;
}

static bool read_row(firn_host_columns *columns, firn_host_cells *cells) {
    uint32_t column = 0;
    for (bool last = false; !last; column++) {
        if (!firn_host_cells_next(cells, &last) || column == columns->count)
            return false;
        add_cell(&columns->list[column], cells->text);
    }
    return column == columns->count;
}

static bool read_rows(firn_host_columns *columns, const uint8_t *bytes, uint64_t count, firn_host_header said) {
    firn_host_cells cells;
    bool header;
    firn_host_cells_begin(&cells, bytes, count);
    const bool good = read_first(columns, &cells, &header);
    header = said == FIRN_HOST_HEADER_YES || (header && said == FIRN_HOST_HEADER_UNKNOWN);
    for (uint32_t i = 0; !header && i < columns->count; i++) {
        free(columns->list[i].name);
        columns->list[i].name = NULL;
    }
    if (good && !header)
        firn_host_cells_restart(&cells, bytes, count);
    while (good && !columns->cut && !firn_host_cells_over(&cells)) {
        columns->cut = !read_row(columns, &cells);
        columns->rows += columns->cut ? 0 : 1;
    }
    firn_host_cells_free(&cells);
    return good;
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

/* Copies the contents of an open file. NULL after a message. */
static uint8_t *copy_of(const firn_host_file *file) {
    const uint64_t count = file->file.bytes;
    if (!firn_host_file_fits(file, count, "is a table of more than", "look at a part of it"))
        return NULL;
    uint8_t *bytes = firn_host_allocate((size_t)count + 1);
    for (uint64_t at = 0; at < count;) {
        const uint32_t piece = count - at < PIECE_BYTES ? (uint32_t)(count - at) : PIECE_BYTES;
        if (file->file.read(file->file.context, at, bytes + at, piece) != FIRN_OK) {
            free(bytes);
            firn_host_file_refuse_read(file);
            return NULL;
        }
        at += piece;
    }
    return bytes;
}

bool firn_host_columns_read(firn_host_columns *columns, const char *path, const firn_host_wanted *wanted) {
    *columns = (firn_host_columns){0};
    firn_host_file *file = firn_host_file_open(path, true, wanted, 0);
    bool good = file != NULL && firn_host_table_is(file, wanted, 0) && firn_host_file_unpack(file, UINT64_MAX - 1);
    uint8_t *bytes = good ? copy_of(file) : NULL;
    good = bytes != NULL && read_rows(columns, bytes, file->file.bytes, wanted->header);
    for (uint32_t i = 0; i < columns->count; i++) {
        free(columns->list[i].seen);
        columns->list[i].seen = NULL;
    }
    free(bytes);
    if (file != NULL)
        firn_host_file_close(file);
    if (!good)
        firn_host_columns_free(columns);
    return good;
}

void firn_host_columns_free(firn_host_columns *columns) {
    for (uint32_t i = 0; i < columns->count; i++)
        free(columns->list[i].name);
    free(columns->list);
    *columns = (firn_host_columns){0};
}
