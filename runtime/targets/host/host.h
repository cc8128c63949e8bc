/* The port of a workstation: the plan in sealed memory, checkpoint and security counter in files, threads, keys from
 * PEM, data from files. The command line and tests use it; the core of libfirn does not depend on it. Functions that
 * return bool say one message before they return false, unless stated otherwise.
 *
 * libfirn.so has the port: the sections messages, files that are read, blocks, plan, key, threads, room, replacing and
 * the port. None of them ends the process or prints. The rest, and the section console, is for programs, and in
 * libfirnhost.a. */
#ifndef FIRN_HOST_H
#define FIRN_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "plan/keys/file_kind.h"
#include "plan/signature.h"
#include "runtime/firn.h"
#include "runtime/targets/dataset.h"

/* --- messages (message.c) ----------------------------------------------------------------------------------------- */

/* Receives a message. where: what it is about, such as a file; NULL: the message is a note and no error. The texts may
 * come from elsewhere: whoever prints them escapes what is not printable, as firn_host_print does. Both are valid until
 * the function returns. */
typedef void (*firn_host_message)(void *context, const char *where, const char *text);
/* Sets the function that receives messages, in the thread that calls the function that says one; NULL, as at first:
 * messages are lost. Not to be called while another thread is in a function of this header. */
void firn_host_messages_to(firn_host_message message, void *context);
/* Says a message about `where`. Returns false. */
bool firn_host_fail(const char *where, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What to do after a write failed with errno, for the end of a message. */
const char *firn_host_room(void);
/* Says that the file could not be written, why by errno, and what to do. Returns false. */
bool firn_host_fail_to_write(const char *path);
/* Says a note. */
void firn_host_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns path + ending in allocated memory, which the caller frees; NULL with errno ENOMEM if there is none. */
char *firn_host_joined(const char *path, const char *ending);
/* True if a name is longer than `ending`, such as ".csv", and ends with it. */
bool firn_host_has_ending(const char *name, const char *ending);

/* --- console (program/console.c); for programs -------------------------------------------------------------------- */

/* Prints text that may come from elsewhere. A byte that is not printable ASCII is written as \xNN, so that it can
 * neither end the line nor control the terminal. */
void firn_host_print(FILE *to, const char *text);
/* Prints a message to stderr, escaped in the same way: "firn: WHERE: text", or the text of a note. A program gives it
 * to firn_host_messages_to. */
void firn_host_print_message(void *context, const char *where, const char *text);

/* Allocates zeroed memory. If there is none, prints a message and exits with 1. */
void *firn_host_allocate(size_t bytes);
/* Reallocates memory. Added bytes are not zeroed; exits as above. */
void *firn_host_grow(void *memory, size_t bytes);

/* Returns path + ending in allocated memory, which the caller frees; exits as above. */
char *firn_host_path(const char *path, const char *ending);

/* --- files that are read (input.c) -------------------------------------------------------------------------------- */

/* Opens a regular file to read it, and stores its length. Returns its descriptor, or -1 after a message. Never waits: a
 * pipe, a socket or a device is refused, and so is a folder. follow: symbolic links are followed. */
int firn_host_open(const char *path, bool follow, uint64_t *bytes);
/* Says why a name cannot be opened, by errno. Returns false. */
bool firn_host_unreadable(const char *path);
/* Reads at most `most` bytes of an open file, fewer only at its end. Returns their number, or -1 with errno set. */
int64_t firn_host_read(int file, void *bytes, size_t most);

/* --- a line to a device (line.c) ---------------------------------------------------------------------------------- */

typedef struct firn_host_line {
    int file; /* -1: closed */
    const char *path;
} firn_host_line;

/* Returns true if a serial port can be set to this speed. */
bool firn_host_line_has_speed(uint32_t baud);
/* Opens a serial port, or a pseudo terminal, at a speed that it has, for this process alone; or a local socket, which
 * has no speed. */
bool firn_host_line_open(firn_host_line *line, const char *path, uint32_t baud);
void firn_host_line_close(firn_host_line *line);
/* Sends all bytes, waiting at most so many seconds for room. */
bool firn_host_line_send(const firn_host_line *line, const uint8_t *bytes, size_t count, double seconds);
/* Receives what there is, waiting at most so many seconds for the first byte; *count is 0 if none came. */
bool firn_host_line_receive(const firn_host_line *line, uint8_t *bytes, size_t most, double seconds, size_t *count);

/* --- blocks (blocks.c) -------------------------------------------------------------------------------------------- */

/* Allocates zeroed memory, aligned to a page. Returns NULL for 0 bytes, or if there is not enough memory. */
void *firn_host_block(uint64_t bytes);
/* Takes all pages of a block that nothing was written to yet, so that no later write has to wait for memory. Returns
 * false, without a message, if there is not enough. */
bool firn_host_block_populate(void *block, uint64_t bytes);
/* Makes a block read-only, so that a write to it faults. Returns false, without a message, if the kernel refuses. */
bool firn_host_block_seal(void *block, uint64_t bytes);
/* Frees a block; NULL is allowed. */
void firn_host_block_free(void *block, uint64_t bytes);

/* The blocks of an instance: one for each region of its plan, in the order of firn_config.blocks. */
typedef struct firn_host_blocks {
    firn_block list[FIRN_BLOCKS_MAX];
    uint32_t count;
} firn_host_blocks;

/* Allocates the blocks of the sizes that firn_plan_sizes gives. If there is not enough memory, it allocates nothing and
 * returns false without a message. */
bool firn_host_blocks_begin(firn_host_blocks *blocks, const firn_sizes *sizes);
/* Frees them; all zeros are allowed. */
void firn_host_blocks_end(firn_host_blocks *blocks);

/* --- plan (plan.c) ------------------------------------------------------------------------------------------------ */

typedef struct firn_host_plan {
    const void *bytes; /* read-only; aligned to a page */
    uint64_t count;
    const char *lost; /* NULL: sealed, no process can write to it; else what this kernel cannot ensure */
} firn_host_plan;

/* Copies a file into sealed memory and maps it read-only. */
bool firn_host_plan_load(firn_host_plan *plan, const char *path);
void firn_host_plan_unload(firn_host_plan *plan);

/* --- key (key.c) -------------------------------------------------------------------------------------------------- */

/* Reads a P-256 public key from PEM ("BEGIN PUBLIC KEY"). Returns false after a message. */
bool firn_host_key_load(uint8_t key[FIRN_PUBLIC_KEY_BYTES], const char *path);

/* --- threads (threads.c) ------------------------------------------------------------------------------------------ */

typedef struct firn_host_threads firn_host_threads;

/* Returns the number of CPUs that this process may use. */
unsigned firn_host_cpus(void);
/* Starts a pool in which `threads` threads work, the calling thread included. Returns NULL for 1, or if no thread can
 * be created. */
firn_host_threads *firn_host_threads_start(unsigned threads);
/* Returns the number of working threads, the calling thread included. */
unsigned firn_host_threads_count(const firn_host_threads *pool);
void firn_host_threads_stop(firn_host_threads *pool);
void firn_host_threads_run(firn_host_threads *pool, size_t tasks,
                           void (*body)(void *argument, size_t begin, size_t end), void *argument);

/* --- room on a disk (reserve.c) ----------------------------------------------------------------------------------- */

/* Reserves room for `bytes` bytes from `offset` on; the length of the file stays. Returns false with errno set, without
 * a message: EFBIG beyond the limit of file sizes, EOPNOTSUPP if the file or its file system cannot reserve. */
bool firn_host_reserve(int file, uint64_t offset, uint64_t bytes);
/* Returns true if a file of so many bytes could be made beside the file of a path, by the limit of file sizes and the
 * free bytes of the disk; creates nothing. Else returns false with errno set, EFBIG or ENOSPC, without a message. What
 * cannot be asked counts as room. */
bool firn_host_has_room(const char *path, uint64_t bytes);

/* --- replacing files (replace.c) ---------------------------------------------------------------------------------- */

/* A file that is written under a temporary name and then renamed over the target. The functions below that begin with
 * firn_host_replace_, and firn_host_remove, return false with errno set, without a message; firn_host_replace_fail says
 * it. */
typedef struct firn_host_replacement {
    char *target;    /* the file to replace, symbolic links resolved */
    char *temporary; /* target.tmp */
    int file;        /* open for writing, or -1 */
    bool created;    /* the temporary file is this replacement's */
    bool placed;     /* after a failure: the rename was done, but the disk did not confirm it */
} firn_host_replacement;

/* Returns true if the path names a regular file, or none, that a rename may replace: its folder is writable, and the
 * temporary name is free or holds a leftover of firn. Else returns false, after a message. */
bool firn_host_replaceable(const char *path);
/* Creates the temporary file. Fails with ENOTSUP if the path names something other than a regular file, and with EEXIST
 * if something that is no leftover of firn has the temporary name. */
bool firn_host_replace_begin(firn_host_replacement *replacement, const char *path);
/* Reserves room for the whole file, by writing zeros where the file system cannot reserve. */
bool firn_host_replace_reserve(const firn_host_replacement *replacement, uint64_t bytes);
/* Returns true if the temporary name still is that of the open file. */
bool firn_host_replace_is_there(const firn_host_replacement *replacement);
bool firn_host_replace_write(const firn_host_replacement *replacement, uint64_t offset, const void *bytes,
                             size_t count);
/* Syncs what was written, so that firn_host_replace_end is unlikely to fail: for the files of a set. */
bool firn_host_replace_sync(const firn_host_replacement *replacement);
/* Syncs the file to the disk and renames it over the target. On failure the previous file remains, unless only the last
 * operation failed, the sync of the folder. A folder that cannot be opened for that is no failure. */
bool firn_host_replace_end(firn_host_replacement *replacement);
/* Removes the regular file of a path, or that to which a link of this name leads, and syncs its folder. */
bool firn_host_remove(const char *path);
/* Removes the temporary file; preserves errno. May be called after a failure, and on a replacement whose only
 * initialised field is file = -1. */
void firn_host_replace_abandon(firn_host_replacement *replacement);
/* Abandons a replacement of which a function above has failed, and prints what is at the path now. Returns false. */
bool firn_host_replace_fail(firn_host_replacement *replacement, const char *path);

/* A lock for a file that is replaced as a whole and so cannot be locked itself. An empty file beside it is locked
 * instead; one left behind by a crash does no harm. */
typedef struct firn_host_lock {
    char *path; /* target.lock; NULL: nothing is locked */
    int file;
} firn_host_lock;

/* Returns false, after a message, if another process holds the lock or the file cannot be created. */
bool firn_host_lock_take(firn_host_lock *lock, const char *path);
/* Returns false, after the message of firn_host_lock_take, if that would fail because of what is there; creates nothing
 * and keeps nothing locked. */
bool firn_host_lock_look(const char *path);
/* Also accepts a lock that was never taken, if it is all zeros. */
void firn_host_lock_release(firn_host_lock *lock);

/* --- the port (port.c) -------------------------------------------------------------------------------------------- */

typedef struct firn_host_port {
    firn_port port;           /* its context is the firn_host_port */
    firn_storage storage;     /* one file, replaced as a whole: a record is written beside it and renamed on sync */
    firn_counter counter;     /* a file that holds one decimal number */
    const char *checkpoint;   /* NULL: no storage */
    const char *counter_path; /* NULL: no counter */
    firn_host_threads *threads;
    int reading;                   /* file descriptor, or -1 */
    firn_host_replacement writing; /* the record */
    bool reserved;                 /* `writing` is open and has room for the next record */
    uint64_t written;              /* end of what the current save has written */
    int cause;                     /* errno of the last operation of the storage that failed */
    int counter_cause;             /* errno of an advance of the counter that failed; 0: none did */
    bool counter_placed;           /* the file has the new number, but the disk did not confirm it */
} firn_host_port;

/* Fills in a port. The paths may be NULL and must outlive it. Never fails: errors of the files are reported when they
 * are used. */
void firn_host_port_begin(firn_host_port *port, const char *checkpoint, const char *counter, unsigned threads);
/* Reserves room for one record of so many bytes, which the next save takes. Returns FIRN_OK, STORAGE or
 * STORAGE_FULL. */
int firn_host_port_reserve(firn_host_port *port, uint64_t bytes);
/* Exchanges the files of two ports' storage, between saves: an instance that is opened with the one port then saves to
 * the file of the other. */
void firn_host_port_exchange(firn_host_port *a, firn_host_port *b);
void firn_host_port_end(firn_host_port *port);

/* --- files that must not change (watch.c) ------------------------------------------------------------------------- */

/* An open file, as it was when it was opened. */
typedef struct firn_host_watch {
    int file; /* -1: the file is not read any more */
    uint64_t bytes;
    struct timespec modified, changed; /* changed: also by a change of permissions or names */
    bool hashed;                       /* sha256 is that of the contents */
    uint8_t sha256[32];
    bool faulty;        /* a read failed, or the file has changed */
    int error;          /* errno, if a read failed; else 0 */
    uint64_t bytes_now; /* length when the change was noticed */
    bool unsettled;     /* it was opened so shortly after a change that a later one could have the same time */
    uint64_t renewals;  /* how often a change of the times was found to have left the contents */
    bool touched;       /* and one of them was a change of the time of modification; the owner clears it */
} firn_host_watch;

void firn_host_watch_begin(firn_host_watch *watch, int file);
/* Stores the hash of the contents, which tells a change of permissions or names from a change of the contents. */
void firn_host_watch_hashed(firn_host_watch *watch, const uint8_t sha256[32]);
/* Ends the watch, because the file is closed and its contents are in memory. */
void firn_host_watch_end(firn_host_watch *watch);
/* Notes that a read failed with this errno. */
void firn_host_watch_fail(firn_host_watch *watch, int error);
/* Returns true if no read has failed and the contents have not changed. If that is so after a read, and renewals is
 * what it was before, the bytes that were read are of the hashed contents: else the file may have had others for a
 * while. Reads the whole file after each change of its times. Prints no message. */
bool firn_host_watch_look(firn_host_watch *watch);
/* Returns true if something was wrong, and writes what, for a message that begins with the name of the file. */
bool firn_host_watch_fault(const firn_host_watch *watch, char *text, size_t size);

/* --- packed files (unpack.c) -------------------------------------------------------------------------------------- */

/* A member of a zip file: where its packed bytes lie, and what they must become. */
typedef struct firn_host_member {
    uint64_t offset, packed_bytes, bytes;
    uint32_t crc32;
    bool deflated; /* false: stored as it is */
} firn_host_member;

typedef struct firn_host_packed firn_host_packed;

/* Begins to unpack a gzip file from its beginning. The descriptor stays the caller's. NULL: it cannot be read. */
firn_host_packed *firn_host_unpack_begin(int descriptor);
/* Begins to unpack a member, whose packed bytes must lie in the file. As above. */
firn_host_packed *firn_host_unpack_member(int descriptor, const firn_host_member *member);
/* Unpacks at most `most` bytes, fewer only at the end. Returns their number, or -1 and sets *fault to what is wrong. */
int64_t firn_host_unpack(firn_host_packed *packed, void *bytes, uint32_t most, const char **fault);
void firn_host_unpack_end(firn_host_packed *packed); /* NULL is allowed */

/* --- data (data.c) ------------------------------------------------------------------------------------------------ */

enum { FIRN_HOST_STREAMS = 3 };

/* The extents of one record, without those of its samples. */
typedef struct firn_host_shape {
    uint32_t rank; /* 0: one number, or not known */
    uint64_t dims[8];
} firn_host_shape;

/* Whether the first row of a table has names of columns. */
typedef enum firn_host_header { FIRN_HOST_HEADER_UNKNOWN, FIRN_HOST_HEADER_YES, FIRN_HOST_HEADER_NO } firn_host_header;

typedef struct firn_host_file firn_host_file;
struct firn_host_wanted;
struct firn_host_stream;

/* Images as records: one file of all of them, and one of their labels. */
typedef struct firn_host_records {
    firn_host_file *images;
    firn_host_file *labels; /* the index of each image's class folder; NULL: the images are in no class folders */
} firn_host_records;

/* What a reader of images did with a file or a folder. */
typedef enum firn_host_images_result {
    FIRN_HOST_IMAGES_NONE, /* it is no image and no folder of images */
    FIRN_HOST_IMAGES_READ,
    FIRN_HOST_IMAGES_REFUSED /* after a message */
} firn_host_images_result;

/* Decodes an image, a folder of images or a folder of class folders of images. What it leaves out is listed in the
 * stream. If it returns READ the caller owns the records; else they are unset. */
typedef firn_host_images_result firn_host_images_reader(firn_host_records *records, struct firn_host_stream *stream,
                                                        const char *path, const struct firn_host_wanted *wanted);

/* Names of columns, in the order of the numbers of a record, or of classes, in that of theirs. */
typedef struct firn_host_names {
    char **list;    /* allocated, and so is each */
    uint32_t count; /* 0: there are none */
} firn_host_names;

void firn_host_names_free(firn_host_names *names);
/* Makes a copy; `to` has no names before. */
void firn_host_names_copy(firn_host_names *to, const firn_host_names *from);
/* Writes the first names, for a message. */
void firn_host_names_say(const firn_host_names *names, char *text, size_t size);

/* What a plan reads, and which parts of the files. */
typedef struct firn_host_wanted {
    bool records;    /* samples are records of arrays; false: windows of one text */
    bool only_looks; /* the files are to be described: numbers may be any, and streams of any lengths */
    uint32_t stream_count;
    firn_stream_info streams[FIRN_HOST_STREAMS];
    firn_host_shape shapes[FIRN_HOST_STREAMS]; /* of the records of each stream */
    const char *members[FIRN_HOST_STREAMS];    /* names of arrays in .npz files; NULL: the only one */
    const char *columns, *target;              /* lists of columns of tables, by name or number; NULL: all, none */
    /* The columns that are read of a table with a header where `columns` and `target` are NULL, by their names alone,
     * so that their order in the file does not count; NULL or none: all but the target, and none. A table without a
     * header is then refused. `columns` and `target` may choose these columns only, of a table with a header. */
    const firn_host_names *features, *targets;
    /* The names of the classes that the model was trained with, in their order: each label of a table whose target is
     * an integer must be one of them. NULL or none: texts of such a column are classes in natural order. */
    const firn_host_names *classes;
    firn_host_header header;
    bool evaluated; /* the files are those of --eval-data, --eval-labels and --eval-sample-weights, as messages call
                       them */
    bool shared;  /* the run reads --data and --eval-data; members, columns, target, header and resize hold for both */
    bool ignores; /* the plan ignores the label `ignored`, as which -100 is read */
    bool unclassed; /* `ignored` is the number of classes, so that no other number may be read as it */
    uint32_t ignored;
    firn_host_images_reader *read_images; /* firn_host_images_read (images/images.h); NULL: images are not read */
    uint32_t resize_width, resize_height; /* the size that all images are brought to; 0: they must have it */
} firn_host_wanted;

const char *firn_host_file_name(const firn_host_file *file);
const firn_data_layout *firn_host_file_layout(const firn_host_file *file);
/* Returns true if the file is no array and is named .bin, as raw tokens are. */
bool firn_host_file_is_named_bin(const firn_host_file *file);
/* Returns what the elements of a file of raw tokens are in the file, such as "uint16"; NULL: it is no such file. */
const char *firn_host_file_tokens(const firn_host_file *file);
/* Writes what a file is, such as ".npy of float64, big-endian". */
void firn_host_file_describe(const firn_host_file *file, char *text, size_t size);
/* SHA-256 of its contents, unpacked. */
const uint8_t *firn_host_file_sha256(const firn_host_file *file);

/* The numbers of a file, as they are in it. */
typedef struct firn_host_summary {
    bool real; /* false: integers */
    uint64_t numbers, nans, infinities;
    char least[64], most[64]; /* of the finite numbers; empty: there is none */
    uint32_t classes;         /* different numbers, if all are whole and less than 65,536 apart; else 0 */
    int64_t first;            /* the least of them */
    uint32_t span;            /* from the least to the greatest */
    uint64_t changes;         /* numbers that differ from the one before them, if there are classes */
    uint64_t *counts;         /* of each number in the span; allocated, NULL if there are no classes */
} firn_host_summary;

/* Reads all numbers. Returns false after a message if the file cannot be read. Free the summary whatever is returned.
 */
bool firn_host_file_summarise(const firn_host_file *file, firn_host_summary *summary);
void firn_host_summary_free(firn_host_summary *summary);
/* How many numbers of float64 of the file were rounded to float32. */
uint64_t firn_host_file_rounded(const firn_host_file *file);
/* Writes how many integers of a table are others as float32, where the first one is and what it becomes. Returns their
 * number; 0: nothing is written. */
uint64_t firn_host_file_rounded_integers(const firn_host_file *file, char *text, size_t size);
/* One decoded image: its path, and the SHA-256 of its bytes as a record. */
typedef struct firn_host_image {
    char *name;
    uint8_t sha256[32];
} firn_host_image;

/* What is known of a file of images, in the order of its records. */
typedef struct firn_host_image_list {
    firn_host_image *images;
    uint32_t count;
    char **classes;         /* the names of the class folders; class_count is 0 if there are none */
    uint64_t *class_images; /* how many images are in each */
    uint32_t class_count;
} firn_host_image_list;

/* NULL: the file has no images. */
const firn_host_image_list *firn_host_file_images(const firn_host_file *file);
/* NULL: the file is an array, or bytes of no known kind. */
const firn_file_kind *firn_host_file_kind(const firn_host_file *file);

/* Files of a stream that follow each other. */
typedef struct firn_host_range {
    uint32_t first, count;
} firn_host_range;

/* A stream made of files, each of which is a segment. */
/* What the name of a file that firnc tokens wrote beside another has behind that one's: in it are 64 hexadecimal digits
 * and a newline, which tell tokenizers apart. */
#define FIRN_HOST_TOKENIZER_NOTE ".tokenizer"

typedef struct firn_host_stream {
    firn_host_file **files;
    firn_segment *segments;
    uint64_t *starts; /* first element of each segment */
    uint32_t count;
    bool folder;             /* files were found in a folder */
    firn_host_range *ranges; /* of the files of each folder */
    uint32_t range_count;
    char **left; /* what was left out of folders: the path, and why */
    uint32_t left_count;
} firn_host_stream;

typedef struct firn_host_data {
    firn_source source;
    firn_stream streams[FIRN_HOST_STREAMS];
    firn_host_stream files[FIRN_HOST_STREAMS];
    char *names;                       /* of the columns of the first table; NULL: there is none */
    firn_host_names features, targets; /* names of the columns that are read of tables; none without a header */
    firn_host_names classes; /* of the labels: class folders, or texts of a column; none: labels are numbers alone */
    bool by_bytes;           /* the files of folders are in the order of the bytes of their names */
    uint8_t sha256[32]; /* SHA-256 of a list with one line for each file in order: "data ", "labels " or "weights ",
                           then in hexadecimal the SHA-256 of its contents (uncompressed), or of what its numbers
                           become if they are converted (runtime/DATA.md) */
} firn_host_data;

/* Opens the files of stream 0 and, if not NULL, those of labels as stream 1 and of weights as stream 2; weights require
 * labels, which columns of tables or class folders may be. A directory stands for the regular files in it, in natural
 * order, p9 before p10; hidden files, symbolic links and all else in it are left out and listed. Files that are not as
 * the plan reads them are refused, by their headers first: a compressed file (gzip) is unpacked into memory only if its
 * header is as wanted. Small files are copied into memory. If wanted->read_images is set, images and folders of images
 * of stream 0 are decoded into memory, and their class folders are stream 1. Computes the hash of the data. Returns
 * false after a message. Close the data whatever is returned. */
bool firn_host_data_open(firn_host_data *data, const firn_host_wanted *wanted, const char *const *paths,
                         uint32_t path_count, const char *labels, const char *weights);
/* Refuses data whose images have other class folders than those of `other`, after a message. Data without class folders
 * are not compared. Both are open. */
bool firn_host_data_same_classes(const firn_host_data *data, const firn_host_data *other);
/* Compares two names: numbers in them by their value if natural, else by bytes. Returns a number like strcmp. */
int firn_host_folder_order(const char *a, const char *b, bool natural);
/* Sorts the files of each folder, in natural order or, as firn did before, by the bytes of their names, and computes
 * the hash of the data in that order. Returns true if the order was another before. */
bool firn_host_data_sort(firn_host_data *data, bool natural);
/* Computes the hash of the data of one stream: that of the lines of its files alone. Returns false, without a message,
 * if it cannot be computed. */
bool firn_host_data_hash(const firn_host_data *data, uint32_t stream, uint8_t sha256[32]);
/* Computes the hash that the data would have if only the first streams, so many, were given. As above. */
bool firn_host_data_hash_first(const firn_host_data *data, uint32_t streams, uint8_t sha256[32]);
/* Returns true if no file has changed since it was opened. A read checks the file that it reads. Prints no message. */
bool firn_host_data_unchanged(firn_host_data *data);
/* Looks at one file only, chosen by `turn` among all in turn, so that a call costs the same with many files. */
bool firn_host_data_look(firn_host_data *data, uint64_t turn);
/* Returns the name of the file of this turn if it was written, or touched, and still has its contents; once for each
 * time that this was found. Else returns NULL. */
const char *firn_host_data_touched(firn_host_data *data, uint64_t turn);
/* After a read or firn_host_data_unchanged has failed: returns the name of the file that could not be read or has
 * changed and writes what is wrong with it into `text`. Returns NULL if there is none. */
const char *firn_host_data_fault(const firn_host_data *data, char *text, size_t size);
void firn_host_data_close(firn_host_data *data);
/* Returns the index of the file of a stream that has an element. */
uint32_t firn_host_data_file_of(const firn_host_stream *stream, uint64_t element);
/* Returns the number of elements in all files of a stream. */
uint64_t firn_host_data_elements(const firn_host_stream *stream);

/* --- the axes of records (axes.c) --------------------------------------------------------------------------------- */

/* Returns false if the records of an array have their axes in another order than `wanted`, or other extents, although
 * they have as many elements. Extents of 1 do not count, and flat records have the order that they are read in. */
bool firn_host_axes_fit(const firn_data_layout *layout, const firn_host_shape *wanted);
/* Writes how to make records of the wanted shape from those of an array. */
void firn_host_axes_mend(const firn_data_layout *layout, const firn_host_shape *wanted, char *text, size_t size);
/* Writes extents as Python does, between two brackets: (2, 3) or [2, 3]. Returns the text. */
const char *firn_host_dims_text(const uint64_t *dims, uint32_t rank, const char *brackets, char *text, size_t size);

/* --- messages about arrays (arrays.c); each that refuses returns false -------------------------------------------- */

/* Returns what to do with a file of this kind that was given as data. */
const char *firn_host_file_mend(const firn_file_kind *kind);
/* Refuses an array that has a fault. bytes: the length of the file. */
bool firn_host_refuse_array(const char *name, const firn_data_layout *layout, uint64_t bytes,
                            const firn_host_wanted *wanted, uint32_t stream);
/* Refuses a file whose elements or records are not those that the plan reads. */
bool firn_host_refuse_stream(const char *name, const firn_data_layout *layout, const firn_host_wanted *wanted,
                             uint32_t stream);
/* Refuses a file whose records have as many elements as the plan reads, in axes of another order. */
bool firn_host_refuse_axes(const char *name, const firn_data_layout *layout, const firn_host_wanted *wanted,
                           uint32_t stream);
/* Refuses a file that is no array, where the plan reads records. kind: NULL if it is not known. */
bool firn_host_refuse_raw(const char *name, const firn_data_layout *layout, const firn_file_kind *kind);
/* Refuses a table without targets, where the plan reads labels. */
bool firn_host_refuse_no_target(const char *name, const firn_host_wanted *wanted);
/* Refuses data without the stream. name: the first file of the data. */
bool firn_host_refuse_absent(const char *name, const firn_host_wanted *wanted, uint32_t stream);

#endif
