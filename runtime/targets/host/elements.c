/* The elements of one data file (data_file.h): as they are in it, or converted piece by piece as they are read. All
 * numbers are converted once when the data are opened, so that a later read finds none that does not fit, unless the
 * file has changed. */
#include <stdlib.h>
#include <string.h>

#include "plan/ops.h"
#include "runtime/targets/host/data_file.h"

enum { ELEMENT_BYTES_MOST = 4 };

/* Reads numbers as they are in the contents. Returns FIRN_OK or SOURCE. */
static int read_numbers(const firn_host_file *file, uint64_t first, uint32_t count, uint8_t *numbers) {
    const uint32_t width = firn_host_number_row_of(file->how.from)->width;
    return file->file.read(file->file.context, file->layout.offset + first * width, numbers, count * width);
}

bool firn_host_file_next_piece(const firn_host_file *file, firn_host_piece *piece) {
    piece->first += piece->count;
    const uint64_t left = file->layout.elements - piece->first;
    piece->count = left < FIRN_HOST_PIECE_NUMBERS ? (uint32_t)left : FIRN_HOST_PIECE_NUMBERS;
    if (piece->count == 0)
        return false;
    return read_numbers(file, piece->first, piece->count, piece->numbers) == FIRN_OK ||
           firn_host_file_refuse_read(file);
}

int firn_host_file_read(const firn_host_file *file, uint64_t first, uint32_t count, void *elements) {
    uint8_t numbers[FIRN_HOST_PIECE_NUMBERS * FIRN_HOST_NUMBER_BYTES_MOST], *to = elements;
    if (!file->converted)
        return firn_data_read(&file->file, &file->layout, first, count, elements);
    if (first > file->layout.elements || file->layout.elements - first < count)
        return FIRN_ERROR_SOURCE;
    while (count > 0) {
        const uint32_t piece = count < FIRN_HOST_PIECE_NUMBERS ? count : FIRN_HOST_PIECE_NUMBERS;
        if (read_numbers(file, first, piece, numbers) != FIRN_OK ||
            firn_host_convert(&file->how, numbers, piece, to).count != piece)
            return FIRN_ERROR_SOURCE;
        to += (size_t)piece * firn_type_bytes(file->how.to);
        first += piece;
        count -= piece;
    }
    return FIRN_OK;
}

/* --- numbers that are no elements of the plan --- */

/* Writes what to do about a number that does not fit. */
static void say_mend(const firn_host_file *file, uint32_t stream, firn_host_misfit misfit, bool below, char *text,
                     size_t size) {
    static const char *const keys[FIRN_HOST_STREAMS] = {"feature_type", "label_type", "weight_type"};
    switch (misfit) {
    case FIRN_HOST_OVERFLOW:
        snprintf(text, size, "divide such columns, or mend the record");
        return;
    case FIRN_HOST_INEXACT:
        snprintf(text, size, "subtract an offset, or save x.astype('float32') if it may be rounded");
        return;
    case FIRN_HOST_CLASS:
        firn_host_mend_class(&file->how, text, size);
        return;
    case FIRN_HOST_NAN:
        snprintf(text, size, "mend the record, or leave it out of the file");
        return;
    default:
        if (file->unplanned)
            snprintf(text, size, "mend the record, or give the plan that reads it by --plan");
        else if (stream == 1 && below && misfit == FIRN_HOST_RANGE && !file->how.ignores)
            snprintf(text, size,
                     "give the rows to be ignored a class of their own, and name it by ignore_index: then -100 is read "
                     "as that class; or give them -100, and compile with ignore_index: -100");
        else
            snprintf(text, size, "mend the record, or change %s of the recipe",
                     file->tokens ? "token_type" : keys[stream]);
    }
}

/* Refuses a number, which lies at `element` of the file. */
static bool refuse_number(const firn_host_file *file, uint32_t stream, uint64_t element, const uint8_t *number,
                          firn_host_misfit misfit) {
    static const char *const why[] = {
        [FIRN_HOST_FITS] = "",
        [FIRN_HOST_FRACTION] = "is no whole number",
        [FIRN_HOST_RANGE] = "is beyond it",
        [FIRN_HOST_CLASS] = "is no class",
        [FIRN_HOST_NAN] = "is no number of it",
        [FIRN_HOST_OVERFLOW] = "would be infinity in it",
        [FIRN_HOST_INEXACT] = "would be another number in it",
    };
    const uint32_t each = file->tokens ? 1 : firn_data_record_elements(&file->layout);
    char value[64], at[64] = "", mend[250];
    firn_host_number_text(&file->how, number, value, sizeof value);
    if (each > 1)
        snprintf(at, sizeof at, "element %llu of ", (unsigned long long)(element % each));
    say_mend(file, stream, misfit, value[0] == '-', mend, sizeof mend);
    return firn_host_fail(
        file->name, "%s%s %llu, counted from 0, is %s; %s %s, and %s %s (%s): %s", at,
        file->tokens ? "token" : "record", (unsigned long long)(element / each), value,
        file->unplanned ? "without a plan it becomes" : "the plan reads", firn_type_name(file->how.to), value,
        why[misfit], firn_error_name(misfit == FIRN_HOST_CLASS ? FIRN_ERROR_DATA_RANGE : FIRN_ERROR_DATA_TYPE), mend);
}

/* --- the hash of what is read --- */

/* Hashes the type and the extents, as in "int32 (120,)". */
static bool hash_head(firn_sha256 *hash, const firn_host_file *file) {
    char shape[200], line[300];
    firn_host_dims_text(file->layout.dims, file->layout.rank, "()", shape, sizeof shape);
    const int length = snprintf(line, sizeof line, "rows of firn, 1: %s %s\n", firn_type_name(file->how.to), shape);
    return firn_sha256_update(hash, line, (size_t)length) == FIRN_OK;
}

bool firn_host_file_hash_rows(firn_host_file *file, uint32_t stream, uint8_t digest[FIRN_HASH_BYTES]) {
    uint8_t elements[FIRN_HOST_PIECE_NUMBERS * ELEMENT_BYTES_MOST];
    firn_host_piece piece = {0};
    const uint32_t width = firn_host_number_row_of(file->how.from)->width, bytes = firn_type_bytes(file->how.to);
    firn_sha256 hash;
    file->rounded = 0;
    bool hashed = firn_sha256_begin(&hash) == FIRN_OK && hash_head(&hash, file);
    while (hashed && firn_host_file_next_piece(file, &piece)) {
        const firn_host_converted done = firn_host_convert(&file->how, piece.numbers, piece.count, elements);
        if (done.count != piece.count)
            return refuse_number(file, stream, piece.first + done.count, piece.numbers + (size_t)done.count * width,
                                 done.misfit);
        file->rounded += done.rounded;
        hashed = firn_sha256_update(&hash, elements, (size_t)piece.count * bytes) == FIRN_OK;
    }
    if (hashed && piece.first < file->layout.elements)
        return false;
    if (!file->hashed_as_rows)
        return hashed || firn_host_file_refuse_read(file);
    return (hashed && firn_sha256_end(&hash, digest) == FIRN_OK) || firn_host_file_refuse_read(file);
}

/* --- Fortran order --- */

/* Steps through the elements in Fortran order, and knows the place of each in C order. */
typedef struct walk {
    uint64_t index[8], step[8], place;
} walk;

static void begin_walk(walk *walk, const firn_data_layout *layout) {
    uint64_t step = 1;
    *walk = (struct walk){0};
    for (uint32_t i = layout->rank; i-- > 0;) {
        walk->step[i] = step;
        step *= layout->dims[i];
    }
}

static void advance(walk *walk, const firn_data_layout *layout) {
    for (uint32_t i = 0; i < layout->rank; i++) {
        walk->place += walk->step[i];
        if (++walk->index[i] < layout->dims[i])
            return;
        walk->place -= walk->step[i] * layout->dims[i];
        walk->index[i] = 0;
    }
}

bool firn_host_file_reorder(firn_host_file *file) {
    const uint32_t width = firn_host_number_row_of(file->how.from)->width;
    const uint64_t bytes = file->layout.elements * width;
    firn_host_piece piece = {0};
    walk walk;
    if (!firn_host_file_fits(file, bytes, "is an array in Fortran order of more than",
                             "save numpy.ascontiguousarray(x), which is not read into memory"))
        return false;
    uint8_t digest[FIRN_HASH_BYTES];
    if (!firn_host_file_hash(file, digest))
        return false;
    uint8_t *memory = firn_host_allocate((size_t)bytes);
    begin_walk(&walk, &file->layout);
    while (firn_host_file_next_piece(file, &piece))
        for (uint32_t i = 0; i < piece.count; i++) {
            memcpy(memory + walk.place * width, piece.numbers + (size_t)i * width, width);
            advance(&walk, &file->layout);
        }
    if (piece.first < file->layout.elements) {
        free(memory);
        return false;
    }
    firn_host_file_replace(file, memory, bytes);
    file->layout.offset = 0;
    file->layout.fortran = false;
    file->reordered = true;
    return true;
}
