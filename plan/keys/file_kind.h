/* Recognises what a file is by its first bytes, for messages of firnc and firn about a file that was given in place of
 * another. What to do instead depends on what was wanted, so that the mend is the caller's. Host only. */
#ifndef FIRN_PLAN_KEYS_FILE_KIND_H
#define FIRN_PLAN_KEYS_FILE_KIND_H

#include <stddef.h>
#include <stdint.h>

/* What a kind of file is for. */
typedef enum firn_file_use {
    FIRN_FILE_PACKED,    /* one file or several, compressed */
    FIRN_FILE_ZIP,       /* the same, and what torch.save and numpy.savez write */
    FIRN_FILE_NPY,       /* an array of numpy.save */
    FIRN_FILE_DOCUMENT,  /* text in a form that only a program reads */
    FIRN_FILE_ARRAYS,    /* numbers: images, arrays, tensors */
    FIRN_FILE_TOKENS,    /* numbers of a tokenizer */
    FIRN_FILE_WIDE_TEXT, /* text in units of two or four bytes */
    FIRN_FILE_QUANTIZED, /* weights that were rounded for inference */
    FIRN_FILE_PLAN,
    FIRN_FILE_CHECKPOINT, /* of firn */
    FIRN_FILE_KEY,        /* a key, signature or certificate in PEM */
    FIRN_FILE_PROGRAM,
} firn_file_use;

typedef struct firn_file_kind {
    const char *name; /* with its article, as "a plan" */
    firn_file_use use;
} firn_file_kind;

enum { FIRN_FILE_KIND_BYTES = 512 };

/* Recognises the first bytes of a file, FIRN_FILE_KIND_BYTES if there are as many. NULL: they are of no known kind. */
const firn_file_kind *firn_file_kind_of(const uint8_t *head, size_t count);

#endif
