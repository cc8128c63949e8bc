/* Writes and reads files of ids (compiler/tokens/ids_file.h). */
#define _POSIX_C_SOURCE 200809L

#include "compiler/tokens/ids_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/base/text.h"

enum {
    HEADER_BYTES = 128, /* of the .npy file that is written */
    HEADER_MAX = 4096,  /* of one that is read */
    BLOCK_IDS = 1 << 14
};

static const uint8_t npy_magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* Of a raw id. */
static uint32_t width_of(uint32_t vocabulary) {
    return vocabulary <= 65536 ? 2 : 4;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* Version 1.0 of the format, as NumPy writes it. */
static void make_header(const firnc_ids_writer *writer, uint8_t header[HEADER_BYTES]) {
    enum { BEFORE = 10 };
    memset(header, ' ', HEADER_BYTES);
    memcpy(header, npy_magic, sizeof npy_magic);
    memcpy(header + sizeof npy_magic, (const uint8_t[]){1, 0, HEADER_BYTES - BEFORE, 0}, 4);
    const int length =
        snprintf((char *)header + BEFORE, HEADER_BYTES - BEFORE,
                 "{'descr': '<i4', 'fortran_order': False, 'shape': (%llu,), }", (unsigned long long)writer->count);
    header[BEFORE + length] = ' ';
    header[HEADER_BYTES - 1] = '\n';
}

bool firnc_ids_write_begin(firnc_ids_writer *writer, const char *name, uint32_t vocabulary) {
    uint8_t header[HEADER_BYTES];
    *writer = (firnc_ids_writer){.npy = firnc_text_ends(name, ".npy")};
    writer->width = writer->npy ? 4 : width_of(vocabulary);
    make_header(writer, header);
    return firnc_output_begin(&writer->output, name) &&
           (!writer->npy || firnc_output_add(&writer->output, header, sizeof header));
}

bool firnc_ids_write(firnc_ids_writer *writer, const firnc_ids *ids) {
    uint8_t block[4 * BLOCK_IDS];
    for (uint32_t done = 0; done < ids->count;) {
        const uint32_t left = ids->count - done, count = left < BLOCK_IDS ? left : BLOCK_IDS;
        uint8_t *to = block;
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t byte = 0; byte < writer->width; byte++)
                *to++ = (uint8_t)(ids->ids[done + i] >> (8 * byte));
        if (!firnc_output_add(&writer->output, block, (uint64_t)count * writer->width))
            return false;
        done += count;
    }
    writer->count += ids->count;
    return true;
}

bool firnc_ids_write_end(firnc_ids_writer *writer, const firnc_file *note) {
    uint8_t header[HEADER_BYTES];
    make_header(writer, header);
    return firnc_output_end_noted(&writer->output, header, writer->npy ? sizeof header : 0, note);
}

const char *firnc_ids_type(const firnc_ids_writer *writer) {
    return writer->width == 2 ? "uint16" : "int32";
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static bool refuse(const firnc_ids_reader *reader, const char *why) {
    firnc_say("firnc: %s: %s", reader->name, why);
    return false;
}

/* Reads the header's dictionary, which the format has as a text of Python. */
static bool read_dictionary(firnc_ids_reader *reader, const char *text) {
    const char *shape = strstr(text, "'shape': (");
    char *end;
    if (strstr(text, "'descr': '<u2'") != NULL)
        reader->width = 2;
    else if (strstr(text, "'descr': '<i4'") != NULL)
        reader->width = 4;
    else
        return refuse(reader, "is no array of uint16 or int32, little-endian; save ids as one of them");
    if (shape == NULL)
        return refuse(reader, "has no shape in its header; save it again by numpy.save");
    shape += strlen("'shape': (");
    if (*shape < '0' || *shape > '9')
        return refuse(reader, "is no array of one extent; save ids by numpy.ravel");
    reader->count = strtoull(shape, &end, 10);
    return strncmp(end, ",)", 2) == 0 || refuse(reader, "is no array of one extent; save ids by numpy.ravel");
}

/* Reads a .npy header behind its magic, of versions 1 to 3. */
static bool read_header(firnc_ids_reader *reader, uint64_t size) {
    uint8_t start[6];
    char text[HEADER_MAX + 1];
    uint64_t count;
    if (!firnc_input_read(reader->file, reader->name, start, 4, &count))
        return false;
    const bool longer = count == 4 && start[0] > 1;
    if (longer && !firnc_input_read(reader->file, reader->name, start + 4, 2, &count))
        return false;
    const uint32_t before = longer ? 12 : 10;
    const uint64_t length = (uint64_t)start[2] | (uint64_t)start[3] << 8 |
                            (longer ? (uint64_t)start[4] << 16 | (uint64_t)start[5] << 24 : 0);
    if (count < (longer ? 2 : 4) || start[0] < 1 || start[0] > 3 || length > HEADER_MAX)
        return refuse(reader, "has no header of versions 1 to 3 of .npy; save it again by numpy.save");
    if (!firnc_input_read(reader->file, reader->name, text, length, &count))
        return false;
    text[count] = '\0';
    if (!read_dictionary(reader, text))
        return false;
    return (reader->count <= size && before + length + reader->count * reader->width == size) ||
           refuse(reader, "has another length than its header says; it may be cut: write it again");
}

static bool begin(firnc_ids_reader *reader, uint64_t size) {
    uint8_t magic[sizeof npy_magic];
    uint64_t count;
    if (!firnc_input_read(reader->file, reader->name, magic, sizeof magic, &count))
        return false;
    if (count == sizeof magic && memcmp(magic, npy_magic, sizeof magic) == 0)
        return read_header(reader, size);
    reader->width = width_of(reader->vocabulary);
    reader->count = size / reader->width;
    if (size % reader->width != 0)
        return refuse(reader, firnc_format("has %llu bytes, which is no number of ids of %u bytes; give the file that "
                                           "firnc tokens wrote, and its tokenizer",
                                           (unsigned long long)size, (unsigned)reader->width));
    return lseek(reader->file, 0, SEEK_SET) == 0 || refuse(reader, "cannot be read again; give a regular file");
}

bool firnc_ids_read_begin(firnc_ids_reader *reader, const char *name, uint32_t vocabulary) {
    uint64_t size;
    *reader = (firnc_ids_reader){.name = name, .vocabulary = vocabulary, .file = firnc_input_open(name, &size)};
    if (reader->file < 0)
        return false;
    reader->before = firnc_input_look(reader->file);
    if (begin(reader, size))
        return true;
    close(reader->file);
    return false;
}

bool firnc_ids_read(firnc_ids_reader *reader, firnc_ids *ids) {
    uint8_t block[4 * BLOCK_IDS];
    const uint64_t left = reader->count - reader->read;
    const uint64_t wanted = (left < BLOCK_IDS ? left : BLOCK_IDS) * reader->width;
    uint64_t count;
    ids->count = 0;
    if (!firnc_input_read(reader->file, reader->name, block, wanted, &count))
        return false;
    if (wanted == 0)
        return firnc_input_unchanged(reader->file, reader->name, &reader->before);
    if (count < wanted)
        return refuse(reader, "became shorter while it was read; write it again");
    for (uint64_t at = 0; at < count; at += reader->width, reader->read++) {
        uint32_t id = 0;
        for (uint32_t byte = 0; byte < reader->width; byte++)
            id |= (uint32_t)block[at + byte] << (8 * byte);
        if (id >= reader->vocabulary)
            return refuse(reader, firnc_format("has the id %lld at place %llu, beyond the %u tokens of the vocabulary; "
                                               "give the tokenizer that made it",
                                               (long long)(int32_t)id, (unsigned long long)reader->read,
                                               (unsigned)reader->vocabulary));
        firnc_ids_add(ids, id);
    }
    return true;
}

void firnc_ids_read_end(const firnc_ids_reader *reader) {
    close(reader->file);
}
