/* Reads the headers of data files (dataset.h). The lengths in a file are not trusted: bounds are checked by
 * subtraction, and products before they are computed. */
#include "runtime/targets/dataset.h"

#include <string.h>

#include "plan/bytes.h"
#include "plan/ops.h"

#define NPY_HEADER_MAX     (UINT32_C(1) << 20) /* bytes of a header, with the spaces at its end */
#define NPY_DICTIONARY_MAX 512u /* bytes without the spaces; numpy writes 118 for any array with few dimensions */

static uint32_t big32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3];
}

/* Multiplies the dimensions, all or those behind the first. Returns UINT64_MAX if there would be more elements than any
 * file has. */
static uint64_t count_elements(const firn_data_layout *layout, uint32_t from) {
    uint64_t elements = 1;
    for (uint32_t i = from; i < layout->rank; i++) {
        const uint64_t extent = layout->dims[i];
        if (extent == 0)
            return 0;
        elements = elements > (UINT64_MAX >> 4) / extent ? UINT64_MAX : elements * extent;
    }
    return elements;
}

/* Compares the length of a file with what its header says. */
static firn_data_fault compare(const firn_data_layout *layout, uint64_t file_bytes) {
    const uint32_t width = firn_type_bytes(layout->element);
    if (layout->elements == 0)
        return FIRN_DATA_EMPTY;
    if (layout->offset > file_bytes || layout->elements > (file_bytes - layout->offset) / width)
        return FIRN_DATA_CUT;
    return file_bytes - layout->offset != layout->elements * width ? FIRN_DATA_LONGER : FIRN_DATA_GOOD;
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

/* Sets *found if the file is an IDX file of a supported type. If it only begins like one, layout->fault says why it is
 * none. partial: more of the file may follow. */
static int look_idx(const firn_data_file *file, bool partial, firn_data_layout *layout, bool *found) {
    static const char digits[] = "0123456789abcdef";
    uint8_t head[4 + 4 * 8];
    *found = false;
    if (file->bytes < 8)
        return FIRN_OK;
    if (file->read(file->context, 0, head, 4) != 0)
        return FIRN_ERROR_SOURCE;
    firn_data_layout idx = {.format = FIRN_DATA_IDX, .big_endian = true, .rank = head[3]};
    if (head[0] != 0 || head[1] != 0 || head[2] < 0x08 || head[2] > 0x0e || idx.rank == 0 || idx.rank > 8)
        return FIRN_OK;
    memcpy(idx.type, (const char[]){'0', 'x', digits[head[2] >> 4], digits[head[2] & 15], 0}, 5);
    idx.offset = 4 + 4 * (uint64_t)idx.rank;
    if (file->bytes < idx.offset)
        return FIRN_OK;
    if (file->read(file->context, 4, head + 4, 4u * idx.rank) != 0)
        return FIRN_ERROR_SOURCE;
    for (uint32_t i = 0; i < idx.rank; i++)
        idx.dims[i] = big32(head + 4 + (size_t)4 * i);
    idx.elements = count_elements(&idx, 0);
    if (!idx_type(head[2], &idx.element))
        idx.fault = FIRN_DATA_TYPE;
    else if (!partial || idx.elements == 0)
        idx.fault = compare(&idx, file->bytes);
    *layout = idx;
    *found = idx.fault == FIRN_DATA_GOOD;
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

/* Numbers above UINT64_MAX / 10 become UINT64_MAX. */
static bool take_number(cursor *text, uint64_t *number) {
    uint64_t value = 0;
    const char *start = text->at;
    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++)
        value = value > UINT64_MAX / 10 - 1 ? UINT64_MAX : 10 * value + (uint64_t)(*text->at - '0');
    *number = value;
    return text->at > start;
}

static bool is_text(const char *a, const char *b) {
    for (; *a != 0 && *a == *b; a++)
        b++;
    return *a == *b;
}

/* Finds the type that the header names. Returns false if it is not supported. */
static bool find_type(const char *name, uint8_t *element) {
    static const struct {
        char name[4];
        uint8_t element;
    } types[] = {{"|u1", FIRN_UINT8}, {"<u1", FIRN_UINT8}, {"|i1", FIRN_INT8},
                 {"<i1", FIRN_INT8},  {"|b1", FIRN_BOOL},  {"<u2", FIRN_UINT16},
                 {"<i2", FIRN_INT16}, {"<i4", FIRN_INT32}, {"<f4", FIRN_FLOAT32}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is_text(types[i].name, name)) {
            *element = types[i].element;
            return true;
        }
    return false;
}

/* Copies the type that the header names. Returns false if it is no text in quotes: the fields of a structured array are
 * a list, whose end is not looked for. */
static bool take_type(cursor *text, firn_data_layout *layout) {
    size_t length = 0;
    if (!take(text, "'")) {
        if (take(text, "["))
            layout->type[0] = '[';
        return false;
    }
    for (; text->at < text->end && *text->at != '\''; text->at++)
        if (length < sizeof layout->type - 1)
            layout->type[length++] = *text->at;
    return take(text, "'");
}

/* Parses a shape such as (3, 4) or (3,). Extents behind the eighth are only counted. */
static bool take_shape(cursor *text, firn_data_layout *layout) {
    if (!take(text, "("))
        return false;
    while (!take(text, ")")) {
        uint64_t extent;
        if (layout->rank == UINT8_MAX || !take_number(text, &extent))
            return false;
        if (layout->rank < 8)
            layout->dims[layout->rank] = extent;
        layout->rank++;
        if (!take(text, ",") && !(text->at < text->end && *text->at == ')'))
            return false;
    }
    return true;
}

static bool take_order(cursor *text, bool *fortran) {
    *fortran = take(text, "True");
    return *fortran || take(text, "False");
}

/* Returns true if the text is a dictionary of exactly these keys. */
static bool take_dictionary(cursor *text, firn_data_layout *layout, bool *fortran) {
    bool type = false, order = false, shape = false;
    if (!take(text, "{"))
        return false;
    while (!take(text, "}")) {
        if (!type && take(text, "'descr'"))
            type = take(text, ":") && take_type(text, layout);
        else if (!order && take(text, "'fortran_order'"))
            order = take(text, ":") && take_order(text, fortran);
        else if (!shape && take(text, "'shape'"))
            shape = take(text, ":") && take_shape(text, layout);
        else
            return false;
        if (!take(text, ",") && !(text->at < text->end && *text->at == '}'))
            return false;
    }
    return type && order && shape && text->at == text->end;
}

/* Returns what is wrong with an array by its header; the length of the file is compared later. An array with at most
 * one extent above 1 is in C order and in Fortran order at once. */
static firn_data_fault judge(firn_data_layout *layout, bool understood, bool fortran) {
    uint32_t extents = 0;
    if (layout->type[0] == '[' || (understood && !find_type(layout->type, &layout->element)))
        return FIRN_DATA_TYPE;
    if (!understood)
        return FIRN_DATA_HEADER;
    if (layout->rank == 0 || layout->rank > 8)
        return FIRN_DATA_RANK;
    for (uint32_t i = 0; i < layout->rank; i++)
        extents += layout->dims[i] > 1;
    return fortran && extents > 1 ? FIRN_DATA_ORDER : FIRN_DATA_GOOD;
}

/* Reads what a header has behind the dictionary, all of which must be spaces. */
static int skip_padding(const firn_data_file *file, uint64_t at, uint64_t end, bool *spaces) {
    char text[64];
    while (at < end && *spaces) {
        const uint32_t piece = end - at < sizeof text ? (uint32_t)(end - at) : (uint32_t)sizeof text;
        if (file->read(file->context, at, text, piece) != 0)
            return FIRN_ERROR_SOURCE;
        cursor rest = {text, text + piece};
        skip_spaces(&rest);
        *spaces = rest.at == rest.end;
        at += piece;
    }
    return FIRN_OK;
}

static int refuse(firn_data_layout *layout, firn_data_fault fault) {
    layout->fault = fault;
    return fault == FIRN_DATA_GOOD ? FIRN_OK : FIRN_ERROR_DATA_TYPE;
}

static int look_npy(const firn_data_file *file, bool partial, firn_data_layout *layout, bool *found) {
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
    char text[NPY_DICTIONARY_MAX];
    *layout = (firn_data_layout){.format = FIRN_DATA_NPY, .offset = (uint64_t)start + length};
    if (version < 1 || version > 3) {
        layout->type[0] = version < 10 ? (char)('0' + version) : '?';
        return refuse(layout, FIRN_DATA_VERSION);
    }
    if (length > NPY_HEADER_MAX)
        return refuse(layout, FIRN_DATA_HEADER);
    if (file->bytes < layout->offset)
        return refuse(layout, FIRN_DATA_CUT);
    const uint32_t most = length < sizeof text ? length : (uint32_t)sizeof text;
    if (file->read(file->context, start, text, most) != 0)
        return FIRN_ERROR_SOURCE;
    cursor rest = {text, text + most};
    bool fortran = false, understood = take_dictionary(&rest, layout, &fortran);
    if (skip_padding(file, (uint64_t)start + most, layout->offset, &understood) != FIRN_OK)
        return FIRN_ERROR_SOURCE;
    layout->fortran = fortran;
    firn_data_fault fault = judge(layout, understood, fortran);
    if (fault != FIRN_DATA_GOOD)
        return refuse(layout, fault);
    layout->elements = count_elements(layout, 0);
    return refuse(layout, partial && layout->elements != 0 ? FIRN_DATA_GOOD : compare(layout, file->bytes));
}

/* --- either --- */

static int look(const firn_data_file *file, bool partial, firn_data_layout *layout) {
    bool found;
    *layout = (firn_data_layout){0};
    int status = look_npy(file, partial, layout, &found);
    if (status != FIRN_OK || found)
        return status;
    status = look_idx(file, partial, layout, &found);
    if (status != FIRN_OK || found)
        return status;
    layout->format = FIRN_DATA_RAW; /* what is known of an IDX file that has a fault stays, for a message */
    layout->element = FIRN_UINT8;
    layout->big_endian = false;
    layout->rank = 1;
    layout->offset = 0;
    layout->dims[0] = layout->elements = file->bytes;
    return FIRN_OK;
}

int firn_data_look(const firn_data_file *file, firn_data_layout *layout) {
    return look(file, false, layout);
}

int firn_data_look_at_begin(const firn_data_file *begin, firn_data_layout *layout) {
    return look(begin, true, layout);
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

uint64_t firn_data_elements(const firn_data_layout *layout) {
    return count_elements(layout, 0);
}

uint32_t firn_data_record_elements(const firn_data_layout *layout) {
    const uint64_t elements = count_elements(layout, 1);
    return elements > UINT32_MAX ? UINT32_MAX : (uint32_t)elements;
}
