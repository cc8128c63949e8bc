/* Reads the headers of data files (dataset.h). The lengths in a file are not trusted: bounds are checked by
 * subtraction, and products before they are computed. */
#include "runtime/targets/dataset.h"

#include <string.h>

#include "plan/bytes.h"
#include "plan/ops.h"

#define NPY_HEADER_MAX 512u /* numpy writes 118 bytes for any array with few dimensions */

static uint32_t big32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3];
}

/* Multiplies the dimensions. Returns false if one is 0, or if there are more elements than bytes in the file: then they
 * are not counted, and are UINT64_MAX. */
static bool count_elements(firn_data_layout *layout, uint64_t file_bytes) {
    uint64_t elements = 1;
    layout->elements = UINT64_MAX;
    for (uint32_t i = 0; i < layout->rank; i++) {
        if (layout->dims[i] == 0 || elements > file_bytes / layout->dims[i])
            return false;
        elements *= layout->dims[i];
    }
    layout->elements = elements;
    return true;
}

/* Returns true if the elements extend from the offset exactly to the end of the file. */
static bool fills(const firn_data_layout *layout, uint64_t file_bytes) {
    uint32_t bytes = firn_type_bytes(layout->element);
    return layout->offset <= file_bytes && (file_bytes - layout->offset) % bytes == 0 &&
           (file_bytes - layout->offset) / bytes == layout->elements;
}

/* --- IDX: 0, 0, type, rank, then each extent as 32 bits, big-endian --- */

static bool idx_type(uint8_t code, uint8_t *element) {
    switch (code) {
    case 0x08:
        *element = FIRN_UINT8;
        return true;
    case 0x09:
        *element = FIRN_INT8;
        return true;
    case 0x0b:
        *element = FIRN_INT16;
        return true;
    case 0x0c:
        *element = FIRN_INT32;
        return true;
    case 0x0d:
        *element = FIRN_FLOAT32;
        return true;
    default:
        return false;
    }
}

/* Sets *found if the file is an IDX file of a supported type. */
static int look_idx(const firn_data_file *file, firn_data_layout *layout, bool *found) {
    uint8_t head[4 + 4 * 8];
    *found = false;
    if (file->bytes < 8)
        return FIRN_OK;
    if (file->read(file->context, 0, head, 4) != 0)
        return FIRN_ERROR_SOURCE;
    firn_data_layout idx = {.format = FIRN_DATA_IDX, .big_endian = true, .rank = head[3]};
    if (head[0] != 0 || head[1] != 0 || !idx_type(head[2], &idx.element) || idx.rank == 0 || idx.rank > 8)
        return FIRN_OK;
    idx.offset = 4 + 4 * (uint64_t)idx.rank;
    if (file->bytes < idx.offset)
        return FIRN_OK;
    if (file->read(file->context, 4, head + 4, 4u * idx.rank) != 0)
        return FIRN_ERROR_SOURCE;
    for (uint32_t i = 0; i < idx.rank; i++)
        idx.dims[i] = big32(head + 4 + (size_t)4 * i);
    if (!count_elements(&idx, file->bytes) || !fills(&idx, file->bytes))
        return FIRN_OK;
    *layout = idx;
    *found = true;
    return FIRN_OK;
}

/* --- .npy: magic, version, length, then the text of a Python dictionary with three keys --- */

/* The text that has not been parsed yet. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_spaces(cursor *text) {
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\n' || *text->at == '\t'))
        text->at++;
}

/* Skips `word` and the spaces around it. */
static bool take(cursor *text, const char *word) {
    skip_spaces(text);
    size_t length = 0;
    while (word[length] != 0)
        length++;
    if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length) != 0)
        return false;
    text->at += length;
    skip_spaces(text);
    return true;
}

static bool take_number(cursor *text, uint32_t *number) {
    uint64_t value = 0;
    const char *start = text->at;
    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
        value = 10 * value + (uint64_t)(*text->at - '0');
        if (value > UINT32_MAX)
            return false;
    }
    *number = (uint32_t)value;
    return text->at > start;
}

static bool take_type(cursor *text, uint8_t *element) {
    if (take(text, "'|u1'") || take(text, "'<u1'"))
        *element = FIRN_UINT8;
    else if (take(text, "'|i1'") || take(text, "'<i1'"))
        *element = FIRN_INT8;
    else if (take(text, "'|b1'"))
        *element = FIRN_BOOL;
    else if (take(text, "'<u2'"))
        *element = FIRN_UINT16;
    else if (take(text, "'<i2'"))
        *element = FIRN_INT16;
    else if (take(text, "'<i4'"))
        *element = FIRN_INT32;
    else if (take(text, "'<f4'"))
        *element = FIRN_FLOAT32;
    else
        return false;
    return true;
}

/* Parses a shape such as (3, 4) or (3,), with at least one extent. */
static bool take_shape(cursor *text, firn_data_layout *layout) {
    if (!take(text, "("))
        return false;
    while (!take(text, ")")) {
        if (layout->rank == 8 || !take_number(text, &layout->dims[layout->rank]))
            return false;
        layout->rank++;
        if (!take(text, ",") && !(text->at < text->end && *text->at == ')'))
            return false;
    }
    return layout->rank > 0;
}

static bool take_dictionary(cursor *text, firn_data_layout *layout) {
    bool type = false, order = false, shape = false;
    if (!take(text, "{"))
        return false;
    while (!take(text, "}")) {
        if (!type && take(text, "'descr'"))
            type = take(text, ":") && take_type(text, &layout->element);
        else if (!order && take(text, "'fortran_order'"))
            order = take(text, ":") && take(text, "False");
        else if (!shape && take(text, "'shape'"))
            shape = take(text, ":") && take_shape(text, layout);
        else
            return false;
        if (!take(text, ",") && !(text->at < text->end && *text->at == '}'))
            return false;
    }
    return type && order && shape && text->at == text->end;
}

static int look_npy(const firn_data_file *file, firn_data_layout *layout, bool *found) {
    static const uint8_t magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    uint8_t head[12] = {0};
    *found = false;
    if (file->bytes < 10)
        return FIRN_OK;
    if (file->read(file->context, 0, head, file->bytes < sizeof head ? 10 : sizeof head) != 0)
        return FIRN_ERROR_SOURCE;
    if (memcmp(head, magic, sizeof magic) != 0)
        return FIRN_OK;
    *found = true;
    uint32_t version = head[6], start = version == 1 ? 10 : 12;
    uint32_t length = firn_load16(head + 8);
    if (version >= 2)
        length |= (uint32_t)head[10] << 16 | (uint32_t)head[11] << 24;
    char text[NPY_HEADER_MAX];
    *layout = (firn_data_layout){.format = FIRN_DATA_NPY, .offset = (uint64_t)start + length};
    if (version < 1 || version > 3 || file->bytes < start || length > sizeof text || file->bytes - start < length)
        return FIRN_ERROR_DATA_TYPE;
    if (file->read(file->context, start, text, length) != 0)
        return FIRN_ERROR_SOURCE;
    cursor rest = {text, text + length};
    if (!take_dictionary(&rest, layout)) {
        layout->rank = 0;
        return FIRN_ERROR_DATA_TYPE;
    }
    return count_elements(layout, file->bytes) && fills(layout, file->bytes) ? FIRN_OK : FIRN_ERROR_DATA_TYPE;
}

/* --- either --- */

int firn_data_look(const firn_data_file *file, firn_data_layout *layout) {
    bool found;
    *layout = (firn_data_layout){0};
    int status = look_npy(file, layout, &found);
    if (status != FIRN_OK || found)
        return status;
    status = look_idx(file, layout, &found);
    if (status != FIRN_OK || found)
        return status;
    *layout = (firn_data_layout){.format = FIRN_DATA_RAW, .element = FIRN_UINT8, .rank = 1, .elements = file->bytes};
    layout->dims[0] = file->bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)file->bytes;
    return FIRN_OK;
}

static void reverse(uint8_t *bytes, uint32_t count) {
    for (uint32_t i = 0; i < count / 2; i++) {
        uint8_t byte = bytes[i];
        bytes[i] = bytes[count - 1 - i];
        bytes[count - 1 - i] = byte;
    }
}

int firn_data_read(const firn_data_file *file, const firn_data_layout *layout, uint64_t first, uint32_t count,
                   void *elements) {
    uint32_t bytes = firn_type_bytes(layout->element);
    if (first > layout->elements || layout->elements - first < count || count > UINT32_MAX / bytes)
        return FIRN_ERROR_SOURCE;
    if (file->read(file->context, layout->offset + first * bytes, elements, count * bytes) != 0)
        return FIRN_ERROR_SOURCE;
    if (layout->big_endian && bytes > 1) {
        uint8_t *at = elements;
        for (uint32_t i = 0; i < count; i++, at += bytes)
            reverse(at, bytes);
    }
    return FIRN_OK;
}

uint32_t firn_data_record_elements(const firn_data_layout *layout) {
    uint64_t elements = layout->elements / (layout->dims[0] == 0 ? 1 : layout->dims[0]);
    return elements > UINT32_MAX ? UINT32_MAX : (uint32_t)elements;
}
