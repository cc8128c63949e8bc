/* Writes and reads files of ids (compiler/tokens/ids_file.h). */
#define _POSIX_C_SOURCE 200809L

#include "compiler/tokens/ids_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/base/landing.h"
#include "compiler/base/text.h"

enum {
    HEADER_BYTES = 128, /* of the .npy file that is written */
    HEADER_MAX = 4096,  /* of one that is read */
    BLOCK_IDS = 1 << 14
};

static const uint8_t npy_magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
static const char between[] = " ,\t\r\n"; /* numbers, as firn generate has it */

bool firnc_ids_is_stream(const char *name) {
    return name != NULL && strcmp(name, FIRNC_IDS_STREAM) == 0;
}

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
    *writer = (firnc_ids_writer){.npy = firnc_text_ends(name, ".npy"), .numbers = firnc_ids_is_stream(name)};
    if (writer->numbers)
        return true;
    writer->width = writer->npy ? 4 : width_of(vocabulary);
    make_header(writer, header);
    return firnc_output_begin(&writer->output, name) &&
           (!writer->npy || firnc_output_add(&writer->output, header, sizeof header));
}

/* Prints ids to standard output; main sees whether that failed. */
static bool print_numbers(firnc_ids_writer *writer, const firnc_ids *ids) {
    for (uint32_t i = 0; i < ids->count; i++)
        printf("%s%lu", writer->count++ > 0 ? " " : "", (unsigned long)ids->ids[i]);
    return true;
}

bool firnc_ids_write(firnc_ids_writer *writer, const firnc_ids *ids) {
    uint8_t block[4 * BLOCK_IDS];
    if (writer->numbers)
        return print_numbers(writer, ids);
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
    if (note == NULL) {
        (void)puts(""); /* main sees whether that failed, as above */
        return true;
    }
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

/* Whether a file begins with numbers and nothing else, so that it was hardly written as raw ids. A name that ends in
 * .bin says that they are raw. */
static bool has_numbers(const firnc_ids_reader *reader, const uint8_t *head, uint64_t count) {
    uint64_t digits = 0;
    for (uint64_t i = 0; i < count; i++) {
        const bool digit = head[i] >= '0' && head[i] <= '9';
        if (!digit && (head[i] == '\0' || strchr(between, head[i]) == NULL))
            return false;
        digits += digit;
    }
    return digits > 0 && !firnc_text_ends(reader->name, ".bin");
}

static bool begin(firnc_ids_reader *reader, uint64_t size) {
    uint8_t head[FIRNC_HEAD_BYTES];
    uint64_t count;
    if (!firnc_input_read(reader->file, reader->name, head, sizeof head, &count))
        return false;
    if (count >= sizeof npy_magic && memcmp(head, npy_magic, sizeof npy_magic) == 0)
        return (lseek(reader->file, sizeof npy_magic, SEEK_SET) >= 0 ||
                refuse(reader, "cannot be read again; give a regular file")) &&
               read_header(reader, size);
    if (has_numbers(reader, head, count))
        return refuse(reader,
                      "has numbers as text; give them to standard input, as --to-text - <FILE, or name the file "
                      ".bin if its bytes are raw ids");
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
    *reader = (firnc_ids_reader){.name = name, .vocabulary = vocabulary, .file = STDIN_FILENO};
    reader->numbers = firnc_ids_is_stream(name);
    if (reader->numbers) {
        reader->name = "standard input";
        return true;
    }
    reader->file = firnc_input_open(name, &size);
    if (reader->file < 0)
        return false;
    firnc_hold_file(reader->file);
    reader->before = firnc_input_look(reader->file);
    if (begin(reader, size))
        return true;
    firnc_ids_read_end(reader);
    return false;
}

static bool add_id(firnc_ids_reader *reader, firnc_ids *ids, uint32_t id) {
    if (id >= reader->vocabulary)
        return refuse(reader, firnc_format("has the id %lld at place %llu, beyond the %u tokens of the vocabulary; "
                                           "give the tokenizer that made it",
                                           (long long)(int32_t)id, (unsigned long long)reader->read,
                                           (unsigned)reader->vocabulary));
    firnc_ids_add(ids, id);
    reader->read++;
    return true;
}

/* Takes the number that was read. One above 2^31 - 1 is no id of any tokenizer. */
static bool add_word(firnc_ids_reader *reader, firnc_ids *ids) {
    const size_t digits = strspn(reader->word, "0123456789");
    const unsigned long long id = strtoull(reader->word, NULL, 10);
    const bool whole = digits == reader->length && digits < FIRNC_IDS_WORD_MAX;
    if (!whole || id > INT32_MAX)
        return refuse(reader,
                      firnc_format("has %s at place %llu, which is no id; give the numbers that firnc tokens -o "
                                   "- and firn generate print, with spaces, commas or line ends between them",
                                   reader->word, (unsigned long long)reader->read));
    reader->length = 0;
    return add_id(reader, ids, (uint32_t)id);
}

/* Takes bytes of numbers. The beginning of a number that is too long for an id is enough for the message. */
static bool add_digits(firnc_ids_reader *reader, firnc_ids *ids, const char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const bool ends = bytes[i] != '\0' && strchr(between, bytes[i]) != NULL;
        if (!ends && reader->length < FIRNC_IDS_WORD_MAX) {
            reader->word[reader->length++] = bytes[i] != '\0' ? bytes[i] : '?';
            reader->word[reader->length] = '\0';
        }
        const bool full = reader->length == FIRNC_IDS_WORD_MAX;
        if ((full || (ends && reader->length > 0)) && !add_word(reader, ids))
            return false;
    }
    return true;
}

/* Reads what has come at standard input, and waits for an id. */
static bool read_numbers(firnc_ids_reader *reader, firnc_ids *ids) {
    char block[4096];
    while (ids->count == 0) {
        const ssize_t count = read(reader->file, block, sizeof block);
        if (count < 0 && errno != EINTR)
            return refuse(reader, firnc_format("cannot be read: %s; check where it comes from", strerror(errno)));
        if (count < 0)
            return true;
        if (count == 0)
            return reader->length == 0 || add_word(reader, ids);
        if (!add_digits(reader, ids, block, (size_t)count))
            return false;
    }
    return true;
}

bool firnc_ids_read(firnc_ids_reader *reader, firnc_ids *ids) {
    uint8_t block[4 * BLOCK_IDS];
    const uint64_t left = reader->count - reader->read;
    const uint64_t wanted = (left < BLOCK_IDS ? left : BLOCK_IDS) * reader->width;
    uint64_t count;
    ids->count = 0;
    if (reader->numbers)
        return read_numbers(reader, ids);
    if (!firnc_input_read(reader->file, reader->name, block, wanted, &count))
        return false;
    if (wanted == 0)
        return firnc_input_unchanged(reader->file, reader->name, &reader->before);
    if (count < wanted)
        return refuse(reader, "became shorter while it was read; write it again");
    for (uint64_t at = 0; at < count; at += reader->width) {
        uint32_t id = 0;
        for (uint32_t byte = 0; byte < reader->width; byte++)
            id |= (uint32_t)block[at + byte] << (8 * byte);
        if (!add_id(reader, ids, id))
            return false;
    }
    return true;
}

void firnc_ids_read_end(const firnc_ids_reader *reader) {
    if (reader->numbers)
        return;
    firnc_let_go_file(reader->file);
    close(reader->file);
}
