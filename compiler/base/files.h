/* Files of firnc: read whole, written whole or not at all. Every function returns false after one line on stderr. */
#ifndef FIRNC_FILES_H
#define FIRNC_FILES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct firnc_bytes {
    uint8_t *data; /* aligned to 64, in the compiler's memory; a zero byte follows, which is not counted */
    uint64_t count;
} firnc_bytes;

/* Reads a regular file or a pipe of at most `limit` bytes. */
bool firnc_file_read(const char *name, uint64_t limit, firnc_bytes *bytes);

/* Whether both names lead to one file that is there, through whatever links. Writes nothing to stderr. */
bool firnc_same_file(const char *one, const char *other);

/* Replaces a file, or makes it: a reader sees the old bytes or the new ones, also after a power cut. */
bool firnc_file_write(const char *name, const void *bytes, uint64_t count);

/* Makes a file that must not exist yet, with these permissions. */
bool firnc_file_create(const char *name, const void *bytes, uint64_t count, unsigned permissions);

#endif
