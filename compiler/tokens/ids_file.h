/* Files of token ids: raw little-endian integers, uint16 where the vocabulary has at most 65,536 tokens and else int32,
 * or the same behind the header of a NumPy array in a file whose name ends in .npy. The name "-" stands for standard
 * output or standard input, where ids are decimal numbers, as firn generate takes and prints them. A function that
 * fails returns false after one message. */
#ifndef FIRNC_TOKENS_IDS_FILE_H
#define FIRNC_TOKENS_IDS_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/base/files.h"
#include "compiler/tokens/bpe.h"

/* The name that stands for standard input or standard output. */
#define FIRNC_IDS_STREAM "-"

/* Returns true for FIRNC_IDS_STREAM. */
bool firnc_ids_is_stream(const char *name);

typedef struct firnc_ids_writer {
    firnc_output output; /* not begun if `numbers` */
    bool npy, numbers;   /* numbers: decimal, to standard output */
    uint32_t width;      /* bytes of an id */
    uint64_t count;      /* ids that were written */
} firnc_ids_writer;

/* The file gets its name at firnc_ids_write_end; until then firnc_output_abandon removes what there is. */
bool firnc_ids_write_begin(firnc_ids_writer *writer, const char *name, uint32_t vocabulary);
bool firnc_ids_write(firnc_ids_writer *writer, const firnc_ids *ids);
/* note: what says beside the ids by which tokenizer they were made; NULL: the ids were printed */
bool firnc_ids_write_end(firnc_ids_writer *writer, const firnc_file *note);

/* "uint16" or "int32" */
const char *firnc_ids_type(const firnc_ids_writer *writer);

enum { FIRNC_IDS_WORD_MAX = 20 };

typedef struct firnc_ids_reader {
    const char *name; /* for messages */
    int file;
    bool numbers; /* decimal, from standard input; count is then unknown */
    uint32_t width, vocabulary;
    uint64_t count, read; /* ids of the file, and those that were read */
    firnc_input_state before;
    char word[FIRNC_IDS_WORD_MAX + 1]; /* the beginning of a number whose end was not read yet */
    uint32_t length;                   /* of word */
} firnc_ids_reader;

/* Opens a file of any form. An array may also be of uint16. Numbers that are a file's text are refused unless the file
 * is standard input: as raw ids they would be others. */
bool firnc_ids_read_begin(firnc_ids_reader *reader, const char *name, uint32_t vocabulary);
/* Sets the next ids, which are below the vocabulary; none at the end of the file, which must not have changed by then.
 * Of standard input the ids are those that have come, at least one; none also if a signal came first. Before an id that
 * is refused, `ids` has those that precede it. */
bool firnc_ids_read(firnc_ids_reader *reader, firnc_ids *ids);
void firnc_ids_read_end(const firnc_ids_reader *reader);

#endif
