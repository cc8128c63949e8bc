/* Unpacks the archive, and finds the files that others need (archive.h). What a file is for may not be known here. */
#include "compiler/firmware/archive.h"

#include <string.h>
#include <zlib.h>

#include "compiler/base/text.h"

enum { GZIP_WINDOW = 15 + 16 }; /* of inflateInit2: the largest window, in a gzip file */

static uint64_t unpacked_bytes(void) {
    const firnc_archive_file *last = &firnc_archive_files[firnc_archive_file_count - 1];
    return (uint64_t)last->offset + last->bytes;
}

bool firnc_archive_open(firnc_archive *archive) {
    const uint64_t bytes = unpacked_bytes();
    *archive = (firnc_archive){.contents = {firnc_allocate_aligned(bytes + 1), bytes},
                               .taken = firnc_allocate(firnc_archive_file_count * sizeof *archive->taken)};
    z_stream stream = {.next_in = (z_const Bytef *)(uintptr_t)firnc_archive_packed,
                       .avail_in = firnc_archive_packed_bytes,
                       .next_out = archive->contents.data,
                       .avail_out = (uInt)bytes};
    bool good = inflateInit2(&stream, GZIP_WINDOW) == Z_OK;
    good = good && inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
    (void)inflateEnd(&stream);
    if (!good)
        firnc_say("firnc: the sources in this program cannot be unpacked; install firnc again");
    return good;
}

/* --- finding ------------------------------------------------------------------------------------------------------ */

/* Compares a name of the table with a text of `length` bytes. */
static int compare(const char *name, const char *text, size_t length) {
    const int order = strncmp(name, text, length);
    return order != 0 ? order : name[length] != '\0';
}

/* The index of a file, or of the file that defines a symbol; the number of files if there is none. */
static uint32_t find_file(const char *name) {
    uint32_t low = 0, high = firnc_archive_file_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = strcmp(firnc_archive_files[middle].name, name);
        if (order == 0)
            return middle;
        *(order < 0 ? &low : &high) = order < 0 ? middle + 1 : middle;
    }
    return firnc_archive_file_count;
}

static uint32_t find_symbol(const char *text, size_t length) {
    uint32_t low = 0, high = firnc_archive_symbol_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = compare(firnc_archive_symbols[middle].name, text, length);
        if (order == 0)
            return firnc_archive_symbols[middle].file;
        *(order < 0 ? &low : &high) = order < 0 ? middle + 1 : middle;
    }
    return firnc_archive_file_count;
}

const char *firnc_archive_text(const firnc_archive *archive, const char *name) {
    const firnc_archive_file *file = &firnc_archive_files[find_file(name)];
    return firnc_format("%.*s", (int)file->bytes, (const char *)archive->contents.data + file->offset);
}

/* --- taking ------------------------------------------------------------------------------------------------------- */

/* Takes the file and what it needs, without recursion: `waiting` has those whose needs are not taken yet. */
static void take(firnc_archive *archive, uint32_t first) {
    uint32_t *waiting = firnc_allocate((firnc_archive_file_count + UINT64_C(1)) * sizeof *waiting);
    uint32_t count = 0;
    if (first < firnc_archive_file_count && !archive->taken[first])
        waiting[count++] = first;
    archive->taken[first] = archive->taken[first] || count != 0;
    while (count != 0) {
        const firnc_archive_file *file = &firnc_archive_files[waiting[--count]];
        for (uint32_t i = 0; i < file->need_count; i++) {
            const uint32_t need = firnc_archive_needs[file->first_need + i];
            if (!archive->taken[need])
                waiting[count++] = need;
            archive->taken[need] = true;
        }
    }
}

void firnc_archive_take(firnc_archive *archive, const char *name) {
    take(archive, find_file(name));
}

void firnc_archive_take_folder(firnc_archive *archive, const char *folder) {
    const size_t length = strlen(folder);
    for (uint32_t i = 0; i < firnc_archive_file_count; i++) {
        const char *name = firnc_archive_files[i].name;
        if (strncmp(name, folder, length) == 0 && name[length] == '/')
            archive->taken[i] = true;
    }
}

static bool is_of_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void firnc_archive_take_names(firnc_archive *archive, const char *text) {
    while (*text != '\0') {
        size_t length = 0;
        while (is_of_name(text[length]))
            length++;
        const uint32_t file = length != 0 ? find_symbol(text, length) : firnc_archive_file_count;
        if (file < firnc_archive_file_count)
            take(archive, file);
        text += length != 0 ? length : 1;
    }
}
