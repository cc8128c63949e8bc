/* Raw tokens, a file of nothing but numbers of two or four bytes, as trainers of language models keep their text: named
 * .bin, or behind a header of llm.c. Without a header the width follows from the plan's number of tokens: each number
 * must be below it. The whole file is read for that. */
#include <string.h>

#include "plan/bytes.h"
#include "plan/ops.h"
#include "runtime/targets/host/data_file.h"

enum { PIECE_BYTES = 16384, HEADER_BYTES = 1024, TEXT_LEAST = 16 };

/* The headers of llm.c: 256 integers, of which the first three are the magic, the version and the number of tokens. */
static const struct {
    uint32_t magic, version;
    firn_host_number number;
} headers[] = {{20240520, 1, FIRN_HOST_UINT16}, {20240801, 7, FIRN_HOST_UINT32}};

enum { HEADERS = sizeof headers / sizeof headers[0] };

/* Returns the index of the header that the file begins with, or HEADERS. */
static size_t header_of(const firn_host_file *file) {
    uint8_t magic[4];
    size_t i = 0;
    if (file->file.bytes < sizeof magic || file->file.read(file->file.context, 0, magic, sizeof magic) != FIRN_OK)
        return HEADERS;
    while (i < HEADERS && headers[i].magic != firn_load32(magic))
        i++;
    return i;
}

bool firn_host_tokens_named(const firn_host_file *file) {
    return firn_host_file_has_ending(file, ".bin") || firn_host_file_has_ending(file, ".bin.gz");
}

bool firn_host_tokens_have_header(const firn_host_file *file) {
    return header_of(file) != HEADERS;
}

bool firn_host_tokens_are(const firn_host_file *file) {
    return firn_host_tokens_named(file) || firn_host_tokens_have_header(file);
}

/* Makes the layout that of one array of numbers. */
static void describe(firn_host_file *file, firn_host_number number, uint64_t offset) {
    const firn_host_number_row *row = firn_host_number_row_of(number);
    const uint64_t count = (file->file.bytes - offset) / row->width;
    file->layout =
        (firn_data_layout){.format = FIRN_DATA_NPY, .rank = 1, .dims = {count}, .offset = offset, .elements = count};
    snprintf(file->layout.type, sizeof file->layout.type, "<%s", row->code);
}

static bool look_behind_header(firn_host_file *file, size_t header) {
    uint8_t head[12] = {0};
    const uint32_t width = firn_host_number_row_of(headers[header].number)->width;
    if (file->file.bytes >= HEADER_BYTES && file->file.read(file->file.context, 0, head, sizeof head) != FIRN_OK)
        return firn_host_file_refuse_read(file);
    const uint32_t version = firn_load32(head + 4), count = firn_load32(head + 8);
    if (file->file.bytes < HEADER_BYTES)
        return firn_host_fail(file->name, "has fewer bytes than a header of llm.c; get it again");
    if (version != headers[header].version)
        return firn_host_fail(file->name,
                              "has tokens of llm.c in version %lu, and firn reads version %lu; write it again",
                              (unsigned long)version, (unsigned long)headers[header].version);
    if (count == 0 || file->file.bytes - HEADER_BYTES != (uint64_t)count * width)
        return firn_host_fail(
            file->name, "has %llu bytes behind its header, which says %lu tokens of %lu bytes; get it again",
            (unsigned long long)(file->file.bytes - HEADER_BYTES), (unsigned long)count, (unsigned long)width);
    describe(file, headers[header].number, HEADER_BYTES);
    return true;
}

/* What was found of one width in the whole file. */
typedef struct scan {
    bool good;       /* all numbers are tokens of the plan */
    uint64_t bad_at; /* index of the first that is none */
    uint32_t bad;
} scan;

typedef struct scans {
    scan two, four;
    bool text; /* all bytes are those of printable text */
} scans;

static void scan_piece(scans *found, const uint8_t *bytes, uint32_t count, uint64_t at, uint32_t limit) {
    for (uint32_t i = 0; i + 1 < count; i += 2) {
        const uint32_t token = firn_load16(bytes + i);
        if (found->two.good && token >= limit)
            found->two = (scan){false, (at + i) / 2, token};
    }
    for (uint32_t i = 0; found->four.good && i + 3 < count; i += 4) {
        const uint32_t token = firn_load32(bytes + i);
        if (token >= limit)
            found->four = (scan){false, (at + i) / 4, token};
    }
    for (uint32_t i = 0; found->text && i < count; i++)
        found->text = (bytes[i] >= ' ' && bytes[i] <= '~') || (bytes[i] >= '\t' && bytes[i] <= '\r');
}

static bool scan_file(const firn_host_file *file, uint32_t limit, scans *found) {
    uint8_t bytes[PIECE_BYTES];
    const uint64_t all = file->file.bytes;
    *found = (scans){.two = {.good = all % 2 == 0}, .four = {.good = all % 4 == 0}, .text = all >= TEXT_LEAST};
    for (uint64_t at = 0; at < all && (found->two.good || found->four.good || found->text);) {
        const uint32_t piece = all - at < PIECE_BYTES ? (uint32_t)(all - at) : PIECE_BYTES;
        if (file->file.read(file->file.context, at, bytes, piece) != FIRN_OK)
            return firn_host_file_refuse_read(file);
        scan_piece(found, bytes, piece, at, limit);
        at += piece;
    }
    return true;
}

bool firn_host_tokens_look(firn_host_file *file, const firn_stream_info *info) {
    const size_t header = header_of(file);
    const uint32_t limit = info->limit != 0 ? info->limit : INT32_MAX;
    scans found;
    if (header != HEADERS)
        return look_behind_header(file, header);
    if (file->file.bytes == 0)
        return firn_host_fail(file->name, "is empty, and so has no tokens; the plan reads tokens of %s",
                              firn_type_name(info->element));
    if (!scan_file(file, limit, &found))
        return false;
    if (found.text)
        return firn_host_fail(file->name,
                              "is text, and the plan reads tokens of %s: give the tokens that a tokenizer made "
                              "of it, or compile with token_type: uint8",
                              firn_type_name(info->element));
    if (found.four.good || found.two.good) {
        describe(file, found.four.good ? FIRN_HOST_UINT32 : FIRN_HOST_UINT16, 0);
        return true;
    }
    if (file->file.bytes % 2 != 0)
        return firn_host_fail(file->name,
                              "has %llu bytes, an odd number, and so is no file of tokens of 2 or 4 bytes; get "
                              "it again, or give an .npy array of tokens",
                              (unsigned long long)file->file.bytes);
    return firn_host_fail(file->name,
                          "is no file of tokens of this plan, which are below %lu: token %llu of uint16, counted from "
                          "0, is %lu; give the plan's own tokens, or compile with their vocab_size",
                          (unsigned long)limit, (unsigned long long)found.two.bad_at, (unsigned long)found.two.bad);
}
