/* One file of data, for the readers of this folder. The programs see a file only through host.h. */
#ifndef FIRN_HOST_DATA_FILE_H
#define FIRN_HOST_DATA_FILE_H

#include <dirent.h>

#include "plan/container.h"
#include "runtime/targets/host/host.h"
#include "runtime/targets/host/numbers.h"

/* What a file is, as people name it. */
typedef enum firn_host_form {
    FIRN_HOST_FORM_BYTES,
    FIRN_HOST_FORM_NPY,
    FIRN_HOST_FORM_NPZ,
    FIRN_HOST_FORM_IDX,
    FIRN_HOST_FORM_TABLE,
    FIRN_HOST_FORM_TOKENS, /* numbers of a tokenizer, and nothing else */
    FIRN_HOST_FORM_IMAGES, /* decoded images, or the indices of their class folders */
} firn_host_form;

/* Integers of a table that become other numbers as float32. */
typedef struct firn_host_rounded {
    uint64_t count;
    char first[240]; /* where the first one is, and what it becomes */
} firn_host_rounded;

struct firn_host_file {
    char *name;
    int descriptor;           /* -1 if the contents are in memory */
    uint8_t *memory;          /* unpacked contents, or those of a small file */
    uint64_t space;           /* bytes of that memory */
    firn_host_packed *packed; /* NULL: nothing is left to unpack */
    uint64_t packed_bytes;    /* of the packed contents */
    bool gzip, reordered;     /* the file was packed with gzip; the array was in Fortran order */
    bool shared;              /* as in firn_host_wanted */
    bool archived;            /* the contents are an array of a .npz file */
    firn_host_watch watch;
    firn_data_file file;     /* the contents, unpacked */
    firn_data_layout layout; /* of the contents; its element is `element` */
    firn_host_form form;
    firn_host_conversion how;    /* from the contents to what is read */
    bool unplanned;              /* no plan says what its numbers become */
    bool tokens;                 /* the plan reads a text of tokens or bytes, not records */
    bool converted;              /* the numbers are read by way of `how`; else the contents are the elements */
    bool hashed_as_rows;         /* the data hash takes what is read, in place of the contents */
    bool replaced;               /* the contents were made by firn (a table, images, C order); sha256 stays that of the
                                  * file */
    uint8_t sha256[32];          /* of the file's contents, unpacked */
    uint8_t digest[32];          /* of the line of the data hash */
    uint64_t rounded;            /* numbers that are others as float32 */
    firn_host_rounded integers;  /* of a table */
    firn_host_image_list images; /* no image: count is 0 */
    firn_host_names classes;     /* of the labels of a table, which are their indices; none: the labels are numbers */
};

/* --- contents (data_file.c) --------------------------------------------------------------------------------------- */

/* Opens a file of a stream; one that is packed has its first 64 KiB unpacked, and a .npz file its array that is wanted.
 * Returns NULL after a message. */
firn_host_file *firn_host_file_open(const char *path, bool follow, const firn_host_wanted *wanted, uint32_t stream);
void firn_host_file_close(firn_host_file *file);
/* Unpacks until there are `most` bytes, or all that there are: then packed is NULL. */
bool firn_host_file_unpack(firn_host_file *file, uint64_t most);
/* Makes a file without contents that has the name of another. */
firn_host_file *firn_host_file_make(const char *name);
/* Gives the file other contents, which it owns from then on. */
void firn_host_file_replace(firn_host_file *file, uint8_t *memory, uint64_t bytes);
/* Stores the SHA-256 of the contents in `digest`, gives it to the watch and, unless the contents were replaced, keeps
 * it as the file's sha256. False after a message. */
bool firn_host_file_hash(firn_host_file *file, uint8_t digest[FIRN_HASH_BYTES]);
/* Copies the contents of a hashed file into memory if they are not more than *room, which they then take. */
bool firn_host_file_keep(firn_host_file *file, uint64_t *room);
/* True if the name is longer than `ending`, such as ".csv", and ends with it. */
bool firn_host_file_has_ending(const firn_host_file *file, const char *ending);
/* Says that a file could not be read, or has changed. Returns false. */
bool firn_host_file_refuse_read(const firn_host_file *file);
/* Returns true if so many bytes fit into the memory of this machine; else false, after a message that says what takes
 * more than there is, and how to mend it. */
bool firn_host_file_fits(const firn_host_file *file, uint64_t bytes, const char *what, const char *mend);

/* --- folders (folder.c) ------------------------------------------------------------------------------------------- */

/* Returns the names of the files in a folder that are read, in their natural order, and notes what is left out, by
 * path. folder: its path, with a slash. The caller frees each name and the list. *count is 0 after a message. */
char **firn_host_folder_list(firn_host_stream *stream, const char *path, const char *folder, size_t *count);

/* Returns the name of the next entry of an open folder but . and .., valid until the next call. NULL: there is none,
 * and errno is 0, or says why the rest cannot be read. */
const char *firn_host_folder_next(DIR *folder);
/* Sorts what is left out, from index `first` on, by the bytes of its path. */
void firn_host_folder_sort_left(firn_host_stream *stream, uint32_t first);
/* Lists something in a folder as left out. why: such as " (hidden)". */
void firn_host_folder_leave_out(firn_host_stream *stream, const char *folder, const char *name, const char *why);
/* Returns why an entry of an open folder is left out, such as " (hidden)", or NULL if it is a file that is read. */
const char *firn_host_folder_why_left_out(const char *entry, int folder);

/* --- what a file is (forms.c) ------------------------------------------------------------------------------------- */

/* Finds out what a file is from what is there of it, and compares it with what the plan reads from a stream: nothing,
 * if the stream has no record_elements. A table only gets its form. */
bool firn_host_file_look(firn_host_file *file, const firn_host_wanted *wanted, uint32_t stream);
/* Compares a file, whose layout is known, with what the plan reads, and says how its numbers are read. */
bool firn_host_file_compare(firn_host_file *file, const firn_host_wanted *wanted, uint32_t stream);
/* Unpacks what is left of a file that was looked at, and makes it ready to be read. */
bool firn_host_file_finish(firn_host_file *file, const firn_host_wanted *wanted, uint32_t stream);

/* --- .npz (archive.c) --------------------------------------------------------------------------------------------- */

/* Returns true if the file begins like a zip file. */
bool firn_host_archive_is(const firn_host_file *file);
/* Finds an array in a zip file by its name, without .npy or with it, or the only one. Returns false after a message. */
bool firn_host_archive_find(const firn_host_file *file, const char *name, firn_host_member *member);

/* --- raw tokens (tokens.c) ---------------------------------------------------------------------------------------- */

/* Returns true if the file is named as raw tokens are. */
bool firn_host_tokens_named(const firn_host_file *file);
/* Returns true if it is so named, or has a header of llm.c. */
bool firn_host_tokens_are(const firn_host_file *file);
/* Returns true if it has a header of llm.c. */
bool firn_host_tokens_have_header(const firn_host_file *file);
/* Finds out how wide the tokens of a file are that is unpacked, and makes its layout that of an array. Returns false
 * after a message, if they are no tokens of the plan. */
bool firn_host_tokens_look(firn_host_file *file, const firn_stream_info *info);

/* --- elements (elements.c) ---------------------------------------------------------------------------------------- */

enum { FIRN_HOST_PIECE_NUMBERS = 4096, FIRN_HOST_NUMBER_BYTES_MOST = 8 };

/* Consecutive numbers of a file, as they are in the contents. */
typedef struct firn_host_piece {
    uint64_t first; /* element of the file */
    uint32_t count;
    uint8_t numbers[FIRN_HOST_PIECE_NUMBERS * FIRN_HOST_NUMBER_BYTES_MOST];
} firn_host_piece;

/* Reads the numbers that follow those of the piece; begin with {0}. Returns false at the end, where `first` is the
 * number of elements, and after a message if they cannot be read. */
bool firn_host_file_next_piece(const firn_host_file *file, firn_host_piece *piece);
/* Reads elements as the plan takes them. Returns FIRN_OK or SOURCE. */
int firn_host_file_read(const firn_host_file *file, uint64_t first, uint32_t count, void *elements);
/* Converts all numbers, and hashes what they become with their type and extents. Refuses the first that does not
 * fit. Sets file->rounded. `digest` is written only if file->hashed_as_rows. */
bool firn_host_file_hash_rows(firn_host_file *file, uint32_t stream, uint8_t digest[FIRN_HASH_BYTES]);
/* Brings the elements of a file in Fortran order into C order, in memory. */
bool firn_host_file_reorder(firn_host_file *file);

#endif
