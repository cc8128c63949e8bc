/* The files that firmware projects are written from (firnc export --firmware), in this program: sources of the library,
 * boards, mbedTLS, templates. runtime/package/firmware/make-archive packs them and makes the tables when firnc is
 * built. */
#ifndef FIRNC_ARCHIVE_H
#define FIRNC_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/base/files.h"

typedef struct firnc_archive_file {
    const char *name;                /* the path in the source tree; of mbedTLS's files behind "mbedtls/" */
    uint32_t offset, bytes;          /* in the unpacked archive */
    uint32_t first_need, need_count; /* in firnc_archive_needs */
} firnc_archive_file;

typedef struct firnc_archive_symbol {
    const char *name;
    uint16_t file; /* that defines it */
} firnc_archive_symbol;

/* The tables, made with the archive. Files and symbols are sorted by name. A need is the index of a file: a header that
 * is included, or a source that defines a name in this one. */
extern const firnc_archive_file firnc_archive_files[];
extern const uint32_t firnc_archive_file_count;
extern const uint16_t firnc_archive_needs[];
extern const firnc_archive_symbol firnc_archive_symbols[];
extern const uint32_t firnc_archive_symbol_count;
extern const uint8_t firnc_archive_packed[];
extern const uint32_t firnc_archive_packed_bytes;

/* The unpacked archive, and which of its files a project takes. */
typedef struct firnc_archive {
    firnc_bytes contents;
    bool *taken; /* by index of the file */
} firnc_archive;

/* Unpacks the archive. Returns false after one message. */
bool firnc_archive_open(firnc_archive *archive);

/* The text of a file, ended by a zero byte. The name must be that of a file in the archive. */
const char *firnc_archive_text(const firnc_archive *archive, const char *name);

/* Takes a file and all that it needs. The name must be that of a file in the archive. */
void firnc_archive_take(firnc_archive *archive, const char *name);

/* Takes every file below a folder, without what they need. */
void firnc_archive_take_folder(firnc_archive *archive, const char *folder);

/* Takes what defines the names in a text of C, and all that this needs. */
void firnc_archive_take_names(firnc_archive *archive, const char *text);

#endif
