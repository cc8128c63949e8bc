/* File access of firnc: a file is read whole, and written whole or not at all. A function that fails returns false
 * after one message. If the call of the compiler ends early (compiler/base/landing.h), open files are closed and
 * temporary files removed; no call ends between the names of a set. */
#ifndef FIRNC_FILES_H
#define FIRNC_FILES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct firnc_bytes {
    uint8_t *data; /* aligned to 64, in the compiler's memory; followed by a zero byte that count excludes */
    uint64_t count;
} firnc_bytes;

/* Reads a regular file of at most `limit` bytes. A pipe, a device or a folder is refused at once. */
bool firnc_file_read(const char *name, uint64_t limit, firnc_bytes *bytes);

/* Returns how many bytes of a file to read. `head` is the first FIRNC_HEAD_BYTES bytes, or all bytes of a shorter file.
 * UINT64_MAX: the whole file. */
typedef uint64_t (*firnc_extent)(const uint8_t *head, uint64_t count);
enum { FIRNC_HEAD_BYTES = 1024 };

/* Reads at most as many bytes of a regular file as `extent` returns, so that a file of another kind is refused by its
 * first bytes. `limit` applies to what is read, not to the length of the file. */
bool firnc_file_read_part(const char *name, uint64_t limit, firnc_extent extent, firnc_bytes *bytes);

/* Opens a regular file to read it, and never waits. Returns its descriptor and sets *size; or returns -1 with errno
 * set, EISDIR for a folder and ENXIO for a pipe, a socket or a device. Prints no message. */
int firnc_file_open(const char *name, uint64_t *size);

/* The same, but says why it returns -1. */
int firnc_input_open(const char *name, uint64_t *size);

/* Reads the next bytes of a file: `most`, or all up to its end. Returns false after one message. */
bool firnc_input_read(int file, const char *name, void *bytes, uint64_t most, uint64_t *count);

/* What an open file was at a moment. */
typedef struct firnc_input_state {
    uint64_t bytes;
    int64_t seconds, nanoseconds; /* when it was last written */
} firnc_input_state;

firnc_input_state firnc_input_look(int file);

/* False after one message if the file was written since `before`: what was read may then be of two contents.
 * firnc_file_read asks this itself. */
bool firnc_input_unchanged(int file, const char *name, const firnc_input_state *before);

/* True if both names exist and are the same file, through any links. Prints no message. */
bool firnc_same_file(const char *one, const char *other);

/* Remembers an open file as an input, which firnc_file_write refuses to replace. firnc_file_read does the same for each
 * file that it reads. Options alone do not name all inputs: a recipe and an ONNX file name further ones. */
void firnc_file_remember(int file);
/* Forgets all of them. */
void firnc_files_forget(void);

/* A file that is written in parts, as firnc_file_write does: under a temporary name beside it, until it is whole. A
 * caller that may be ended by a signal holds it back or abandons the output. */
typedef struct firnc_output {
    const char *name, *target; /* as it was given, and without links */
    char *temporary;
    int file;
} firnc_output;

/* Each returns false after one message; the temporary file is then removed. */
bool firnc_output_begin(firnc_output *output, const char *name);
bool firnc_output_add(firnc_output *output, const void *bytes, uint64_t count);
/* False after the message of firnc_output_begin, if that would fail because of the name or its folder. Creates nothing.
 */
bool firnc_output_look(const char *name);
/* Replaces the first `count` bytes, which were written before, and gives the file its name. */
bool firnc_output_end(firnc_output *output, const void *head, uint64_t count);
/* Removes what was written, unless the output ended or failed. */
void firnc_output_abandon(firnc_output *output);

/* Replaces or creates a file atomically: a reader sees the old bytes or the new ones, even after a power cut. */
bool firnc_file_write(const char *name, const void *bytes, uint64_t count);

/* One file of a set. */
typedef struct firnc_file {
    const char *name;
    firnc_bytes bytes;
} firnc_file;

/* Writes every file of a set as firnc_file_write does, or leaves every file as it was. Two names of one
 * file are refused. Only a power cut, or a kill that cannot be caught, between two renames leaves some old and some
 * new. */
bool firnc_files_write(const firnc_file *files, uint32_t count);

/* Ends an output as firnc_output_end does, and writes a note beside it that belongs to these very bytes, or leaves both
 * as they were. A power cut, or a kill that cannot be caught, may leave the output, old or new, without a note, but
 * never beside the note of the other. */
bool firnc_output_end_noted(firnc_output *output, const void *head, uint64_t count, const firnc_file *note);

/* Makes a folder unless it is there; *made says whether it was made here. */
bool firnc_folder_make(const char *name, bool *made);
/* False after the message of firnc_folder_make, if that would fail; *there: it is there already. Makes nothing. */
bool firnc_folder_look(const char *name, bool *there);

/* Writes a new folder, whole or not at all: under a temporary name beside it, NAME.XXXXXX, until all files are in it.
 * The names of the files are paths below it, whose folders are made. An empty folder of that name is replaced; anything
 * else is refused. Only a kill that cannot be caught leaves the temporary folder. */
bool firnc_folder_write(const char *name, const firnc_file *files, uint32_t count);

/* Returns true if firnc_folder_write could replace what has that name now, or nothing has. */
bool firnc_folder_is_free(const char *name);

/* Creates a file with the given permissions; fails if it exists. */
bool firnc_file_create(const char *name, const void *bytes, uint64_t count, unsigned permissions);

#endif
