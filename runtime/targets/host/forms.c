/* What a data file is (data_file.h): recognises its form, compares it with what the plan reads, and says how its
 * numbers become elements. A file is refused by its header first; only then is the rest of it unpacked. */
#include <stdio.h>
#include <string.h>

#include "plan/ops.h"
#include "runtime/targets/host/data_file.h"
#include "runtime/targets/host/table.h"

bool firn_host_file_is_named_bin(const firn_host_file *file) {
    return file->layout.format == FIRN_DATA_RAW && firn_host_tokens_named(file);
}

const char *firn_host_file_tokens(const firn_host_file *file) {
    return file->form == FIRN_HOST_FORM_TOKENS ? firn_host_number_row_of(file->how.from)->name : NULL;
}

uint64_t firn_host_file_rounded(const firn_host_file *file) {
    return file->rounded;
}

uint64_t firn_host_file_rounded_integers(const firn_host_file *file, char *text, size_t size) {
    const uint64_t count = file->integers.count;
    if (count != 0)
        snprintf(text, size, "%llu integer%s no number of float32, and rounded: %s%s", (unsigned long long)count,
                 count == 1 ? " is" : "s are", count == 1 ? "" : "the first is ", file->integers.first);
    return count;
}

static uint32_t width_of(const firn_data_layout *layout) {
    return firn_host_number_row_of(firn_host_number_of(layout))->width;
}

/* Returns the length of the file that follows from its header, or UINT64_MAX. */
static uint64_t announced(const firn_data_layout *layout) {
    const uint32_t width = width_of(layout);
    return layout->elements > (UINT64_MAX - layout->offset) / width ? UINT64_MAX
                                                                    : layout->offset + layout->elements * width;
}

/* --- arrays that only the host reads: other types, big-endian, in Fortran order --- */

/* Returns the fault that the length of a file shows. partial: more of it may follow. */
static firn_data_fault compare_length(const firn_data_layout *layout, uint64_t bytes, bool partial) {
    const uint64_t wanted = announced(layout);
    if (layout->elements == 0)
        return FIRN_DATA_EMPTY;
    if (partial || wanted == bytes)
        return FIRN_DATA_GOOD;
    return wanted > bytes ? FIRN_DATA_CUT : FIRN_DATA_LONGER;
}

/* Completes what is known of an array of NumPy whose type or order a device does not read. */
static firn_data_fault widen(firn_host_file *file) {
    firn_data_layout *layout = &file->layout;
    if ((layout->fault != FIRN_DATA_TYPE && layout->fault != FIRN_DATA_ORDER) ||
        firn_host_number_of(layout) == FIRN_HOST_NUMBERS)
        return layout->fault;
    if (layout->rank == 0 || layout->rank > 8)
        return FIRN_DATA_RANK;
    layout->elements = firn_data_elements(layout);
    return compare_length(layout, file->file.bytes, file->packed != NULL);
}

/* Reads the extents of IDX of float64, which a device takes for bytes. */
static bool look_at_doubles(firn_host_file *file) {
    uint8_t head[4 + 4 * 8];
    firn_data_layout idx = {.format = FIRN_DATA_IDX, .type = "0x0e", .big_endian = true};
    if (strcmp(file->layout.type, idx.type) != 0 || file->file.read(file->file.context, 0, head, 4) != FIRN_OK)
        return false;
    idx.rank = head[3];
    if (idx.rank == 0 || idx.rank > 8)
        return false;
    idx.offset = 4 + 4 * (uint64_t)idx.rank;
    if (file->file.bytes < idx.offset || file->file.read(file->file.context, 0, head, (uint32_t)idx.offset) != FIRN_OK)
        return false;
    for (uint32_t i = 0; i < idx.rank; i++)
        idx.dims[i] = (uint64_t)head[4 + 4 * i] << 24 | (uint64_t)head[5 + 4 * i] << 16 |
                      (uint64_t)head[6 + 4 * i] << 8 | head[7 + 4 * i];
    idx.elements = firn_data_elements(&idx);
    file->layout.fault = compare_length(&idx, file->file.bytes, file->packed != NULL);
    if (file->layout.fault != FIRN_DATA_GOOD)
        return false;
    file->layout = idx;
    return true;
}

/* --- what the plan reads --- */

/* Returns true if elements of this type are made from numbers of files. */
static bool is_made(uint8_t element) {
    return element == FIRN_FLOAT32 || element == FIRN_INT32 || element == FIRN_INT16 || element == FIRN_UINT16 ||
           element == FIRN_INT8 || element == FIRN_UINT8 || element == FIRN_BOOL;
}

/* Whether numbers of a file can become what the plan reads; each of them is looked at later. Tokens and bytes are
 * integers. */
static bool is_convertible(firn_host_number number, const firn_host_wanted *wanted, uint8_t element) {
    if (firn_host_number_is(number, element))
        return true;
    return is_made(element) &&
           (wanted->records || (!firn_host_number_row_of(number)->real && number != FIRN_HOST_BOOL));
}

/* Says how the numbers of a file become elements. */
static void choose(firn_host_file *file, const firn_host_wanted *wanted, uint32_t stream) {
    firn_data_layout *layout = &file->layout;
    const firn_host_number number = firn_host_number_of(layout);
    const firn_stream_info *info = &wanted->streams[stream];
    const uint8_t to = info->record_elements != 0 ? info->element : firn_host_number_row_of(number)->element;
    uint32_t extents = 0;
    for (uint32_t i = 0; i < layout->rank; i++)
        extents += layout->dims[i] > 1;
    layout->fortran = layout->fortran && extents > 1;
    const bool made = file->form == FIRN_HOST_FORM_TABLE || file->form == FIRN_HOST_FORM_IMAGES;
    if (file->form != FIRN_HOST_FORM_TOKENS && !made)
        file->form = layout->format == FIRN_DATA_NPY   ? (file->archived ? FIRN_HOST_FORM_NPZ : FIRN_HOST_FORM_NPY)
                     : layout->format == FIRN_DATA_IDX ? FIRN_HOST_FORM_IDX
                                                       : FIRN_HOST_FORM_BYTES;
    const bool labels = stream == 1 && file->form != FIRN_HOST_FORM_TABLE; /* a table's cells have been converted */
    file->tokens = !wanted->records;
    file->unplanned = info->record_elements == 0;
    file->how = (firn_host_conversion){.from = number,
                                       .reversed = firn_host_number_is_reversed(layout),
                                       .to = to,
                                       .ignores = labels && wanted->ignores,
                                       .unclassed = labels && wanted->unclassed,
                                       .ignored = wanted->ignored};
    file->hashed_as_rows = !firn_host_number_is(number, to) || layout->fortran || made ||
                           (layout->format == FIRN_DATA_NPY && file->how.reversed);
    file->converted = file->hashed_as_rows || (file->how.ignores && to != FIRN_FLOAT32);
    layout->element = to;
}

/* Whether a file is packed, beyond doubt: a text may begin with the letters of a kind, as with BZh. */
static bool is_packed(const firn_host_file *file, const firn_file_kind *kind) {
    static const char bzip2[] = "1AY&SY";
    uint8_t head[10] = {0};
    if (kind == NULL || (kind->use != FIRN_FILE_PACKED && kind->use != FIRN_FILE_ZIP) ||
        file->file.bytes < sizeof head || file->file.read(file->file.context, 0, head, sizeof head) != FIRN_OK)
        return false;
    for (uint32_t i = 0; i < 6; i++)
        if (head[i] < ' ' || head[i] > '~')
            return true;
    return memcmp(head + 4, bzip2, sizeof bzip2 - 1) == 0;
}

/* Compares a file that is no array with a plan that reads a text of bytes or tokens. */
static bool compare_text(firn_host_file *file, const firn_host_wanted *wanted, uint32_t stream) {
    const firn_stream_info *info = &wanted->streams[stream];
    const firn_file_kind *kind = firn_host_file_kind(file);
    if (is_packed(file, kind))
        return firn_host_fail(file->name, "is %s, and its bytes are no text: %s", kind->name,
                              firn_host_file_mend(kind));
    if (info->element != FIRN_UINT8 && !firn_host_tokens_are(file))
        return firn_host_refuse_stream(file->name, &file->layout, wanted, stream);
    if (info->element != FIRN_UINT8 && file->packed != NULL) /* how wide its tokens are needs all of it */
        return true;
    if (info->element != FIRN_UINT8) {
        if (!firn_host_tokens_look(file, info))
            return false;
        file->form = FIRN_HOST_FORM_TOKENS;
    }
    choose(file, wanted, stream);
    return true;
}

bool firn_host_file_compare(firn_host_file *file, const firn_host_wanted *wanted, uint32_t stream) {
    const firn_data_layout *layout = &file->layout;
    const firn_stream_info *info = &wanted->streams[stream];
    if (info->record_elements == 0) { /* nothing is read from this stream, or there is no plan */
        if (layout->format == FIRN_DATA_RAW && file->packed == NULL && firn_host_tokens_have_header(file)) {
            if (!firn_host_tokens_look(file, info))
                return false;
            file->form = FIRN_HOST_FORM_TOKENS;
        }
        choose(file, wanted, stream);
        return true;
    }
    if (wanted->records && layout->format == FIRN_DATA_RAW)
        return firn_host_refuse_raw(file->name, layout, firn_host_file_kind(file));
    if (!wanted->records && layout->format == FIRN_DATA_RAW)
        return compare_text(file, wanted, stream);
    if (!is_convertible(firn_host_number_of(layout), wanted, info->element) ||
        (wanted->records && firn_data_record_elements(layout) != info->record_elements))
        return firn_host_refuse_stream(file->name, layout, wanted, stream);
    if (wanted->records && !firn_host_axes_fit(layout, &wanted->shapes[stream]))
        return firn_host_refuse_axes(file->name, layout, wanted, stream);
    choose(file, wanted, stream);
    return true;
}

bool firn_host_file_look(firn_host_file *file, const firn_host_wanted *wanted, uint32_t stream) {
    const int error = file->packed != NULL ? firn_data_look_at_begin(&file->file, &file->layout)
                                           : firn_data_look(&file->file, &file->layout);
    if (error == FIRN_ERROR_DATA_TYPE) {
        file->layout.fault = widen(file);
        if (file->layout.fault != FIRN_DATA_GOOD)
            return firn_host_refuse_array(file->name, &file->layout, file->file.bytes, wanted, stream);
    } else if (error != FIRN_OK) {
        return firn_host_fail(file->name, "cannot be read; look at its permissions and the disk");
    }
    if (wanted->records && file->layout.format == FIRN_DATA_RAW && file->layout.fault == FIRN_DATA_TYPE)
        (void)look_at_doubles(file);
    if (file->layout.format == FIRN_DATA_RAW && firn_host_table_is(file, wanted, stream)) {
        file->form = FIRN_HOST_FORM_TABLE;
        return true;
    }
    return firn_host_file_compare(file, wanted, stream);
}

/* Unpacks the rest of a file whose header is as wanted, and at most one byte more than the header announces: that byte
 * shows that the file is longer. One byte of gzip unpacks to at most 1032 bytes, so a header that announces more than
 * the file can hold is refused first. */
static bool finish_unpacking(firn_host_file *file, const firn_host_wanted *wanted, uint32_t stream) {
    enum { MOST_FOR_A_BYTE = 1032 };
    firn_data_layout *layout = &file->layout;
    const bool sized = layout->format == FIRN_DATA_NPY || (layout->format == FIRN_DATA_IDX && wanted->records);
    const uint64_t most = sized ? announced(layout) : UINT64_MAX - 1;
    if (sized && most / MOST_FOR_A_BYTE > file->packed_bytes) {
        layout->fault = FIRN_DATA_CUT;
        return firn_host_refuse_array(file->name, layout, file->packed_bytes, wanted, stream);
    }
    if (!firn_host_file_unpack(file, most + 1))
        return false;
    if (file->packed == NULL)
        return firn_host_file_look(file, wanted, stream);
    layout->fault = FIRN_DATA_LONGER;
    if (layout->format == FIRN_DATA_NPY)
        return firn_host_refuse_array(file->name, layout, file->file.bytes, wanted, stream);
    return firn_host_refuse_raw(file->name, layout, NULL);
}

bool firn_host_file_finish(firn_host_file *file, const firn_host_wanted *wanted, uint32_t stream) {
    if (file->packed != NULL && !finish_unpacking(file, wanted, stream))
        return false;
    return !file->layout.fortran || firn_host_file_reorder(file);
}
