/* The port of a workstation: plan in sealed memory, checkpoint and security counter in files, threads, keys from PEM,
 * data from files. Used by the command line and by tests; the library knows nothing of it. Functions that return bool
 * write one line to stderr before they return false. */
#ifndef FIRN_HOST_H
#define FIRN_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "plan/signature.h"
#include "runtime/firn.h"
#include "runtime/targets/dataset.h"

/* --- messages (message.c) ---------------------------------------------------------------------------------------- */

/* Text that may be foreign: a byte that is not printable ASCII is written as \xNN, so that it can neither end a line
 * nor steer a terminal. */
void firn_host_print(FILE *to, const char *text);
/* "firn: WHERE: text" on stderr, printed so; always returns false. */
bool firn_host_fail(const char *where, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line on stderr that is no error, printed so. */
void firn_host_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Memory, zeroed; says so and exits with 1 when there is none. */
void *firn_host_allocate(size_t bytes);
/* The same memory with room for more, which is not zeroed. */
void *firn_host_grow(void *memory, size_t bytes);

/* path with an ending added, in memory of its own. */
char *firn_host_path(const char *path, const char *ending);

/* --- blocks (blocks.c) -------------------------------------------------------------------------------------------
 */

/* Zeroed memory, aligned to a page; NULL for 0 bytes, or when there is none. */
void *firn_host_block(uint64_t bytes);
/* From now on a write to it faults. False, without a message, when the kernel refuses. */
bool firn_host_block_seal(void *block, uint64_t bytes);
/* NULL is allowed. */
void firn_host_block_free(void *block, uint64_t bytes);

/* --- plan (plan.c) -------------------------------------------------------------------------------------------------
 */

typedef struct firn_host_plan {
    const void *bytes; /* read-only; aligned to a page */
    uint64_t count;
    const char *lost; /* NULL: sealed, nobody can write to it; else what this kernel could not promise */
} firn_host_plan;

/* Copies a file into sealed memory and maps it read-only. */
bool firn_host_plan_load(firn_host_plan *plan, const char *path);
void firn_host_plan_unload(firn_host_plan *plan);

/* --- key (key.c) ---------------------------------------------------------------------------------------------------
 */

/* Reads a P-256 public key from PEM ("BEGIN PUBLIC KEY"). */
bool firn_host_key_load(uint8_t key[FIRN_PUBLIC_KEY_BYTES], const char *path);

/* The same from text. False, without a message, when the text is anything else. */
bool firn_host_key_parse(uint8_t key[FIRN_PUBLIC_KEY_BYTES], const char *text, size_t length);

/* --- threads (threads.c) -------------------------------------------------------------------------------------------
 */

typedef struct firn_host_threads firn_host_threads;

/* CPUs that this process may run on. */
unsigned firn_host_cpus(void);
/* A pool in which `threads` threads work, the caller's being one. NULL for 1, or when no thread can be made. */
firn_host_threads *firn_host_threads_start(unsigned threads);
/* Threads that work, the caller's counted. */
unsigned firn_host_threads_count(const firn_host_threads *pool);
void firn_host_threads_stop(firn_host_threads *pool);
void firn_host_threads_run(firn_host_threads *pool, size_t tasks,
                           void (*body)(void *argument, size_t begin, size_t end), void *argument);

/* --- replacing files (replace.c) -----------------------------------------------------------------------------------
 */

/* A file that is being written beside the one whose place it takes. The functions return false with errno set. */
typedef struct firn_host_replacement {
    char *target;    /* the file, links resolved */
    char *temporary; /* target.tmp */
    int file;        /* open for writing, or -1 */
} firn_host_replacement;

/* True when a regular file is there, or nothing, in a folder that can be written to; else false, after a message. */
bool firn_host_replaceable(const char *path);
/* ENOTSUP: something else than a regular file is there. */
bool firn_host_replace_begin(firn_host_replacement *replacement, const char *path);
bool firn_host_replace_write(const firn_host_replacement *replacement, uint64_t offset, const void *bytes,
                             size_t count);
/* Makes it durable and moves it to its place. On a failure the file that was there stays, unless only the last step
 * failed, the sync of the folder. */
bool firn_host_replace_end(firn_host_replacement *replacement);
/* Removes it; keeps errno. Also after a failure, and for a replacement that holds only a file of -1. */
void firn_host_replace_abandon(firn_host_replacement *replacement);

/* A claim on a file that is replaced as a whole, and so cannot be locked itself: an empty file beside it is, which a
 * crash leaves there to no harm. */
typedef struct firn_host_lock {
    char *path; /* target.lock, or NULL: nothing is held */
    int file;
} firn_host_lock;

/* False, after a message, when another process has it or no file can be made. */
bool firn_host_lock_take(firn_host_lock *lock, const char *path);
/* Also for one that was never taken, which is all zeros. */
void firn_host_lock_release(firn_host_lock *lock);

/* --- the port (port.c) ---------------------------------------------------------------------------------------------
 */

typedef struct firn_host_port {
    firn_port port;           /* its context is this struct */
    firn_storage storage;     /* one file, replaced as a whole: a record is written beside it and renamed on sync */
    firn_counter counter;     /* a file with one decimal number */
    const char *checkpoint;   /* NULL: no storage */
    const char *counter_path; /* NULL: no counter */
    firn_host_threads *threads;
    int reading;                   /* file descriptor, or -1 */
    firn_host_replacement writing; /* the record */
} firn_host_port;

/* Fills in a port. The paths may be NULL and must outlive it. Never fails: what is wrong with a file shows in use. */
void firn_host_port_begin(firn_host_port *port, const char *checkpoint, const char *counter, unsigned threads);
void firn_host_port_end(firn_host_port *port);

/* --- data (data.c) -------------------------------------------------------------------------------------------------
 */

typedef struct firn_host_file firn_host_file;

/* One stream made of files: each is a segment. */
typedef struct firn_host_stream {
    firn_host_file **files;
    firn_segment *segments;
    uint64_t *starts; /* element at which each segment begins */
    uint32_t count;
    const char *name; /* of the first file, for messages */
} firn_host_stream;

enum { FIRN_HOST_STREAMS = 3 };

typedef struct firn_host_data {
    firn_source source;
    firn_stream streams[FIRN_HOST_STREAMS];
    firn_host_stream files[FIRN_HOST_STREAMS];
    uint8_t sha256[32]; /* of a list with a line for each file in order: "data ", "labels " or "weights ", then the
                           SHA-256 of its contents (uncompressed) in hexadecimal */
} firn_host_data;

/* Opens the files of stream 0 and, where they are not NULL, those of labels as stream 1 and of weights as stream 2;
 * there are no weights without labels. A directory stands for the regular files in it, sorted by name, links not
 * followed. Compressed files (gzip) are unpacked into memory. records: the plan reads records, so files are arrays and
 * agree in the shape of a record. */
bool firn_host_data_open(firn_host_data *data, const char *const *paths, uint32_t path_count, const char *labels,
                         const char *weights, bool records);
void firn_host_data_close(firn_host_data *data);

#endif
