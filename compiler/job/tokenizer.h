/* The identity of a tokenizer, by which a plan and its data are compared: the SHA-256 of its tokenizer.json or, of a
 * pair of files, that of the SHA-256 of vocab.json and that of merges.txt. firnc tokens notes it beside each file of
 * ids, because raw ids have no place for it. A function that fails returns false after one message. */
#ifndef FIRNC_JOB_TOKENIZER_H
#define FIRNC_JOB_TOKENIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/base/files.h"

enum { FIRNC_IDENTITY_BYTES = 32 };

/* What the name of a note has behind that of the ids. */
#define FIRNC_TOKENIZER_NOTE ".tokenizer"

/* merges: NULL for a tokenizer.json. */
bool firnc_tokenizer_identity(const char *tokenizer, const char *merges, uint8_t identity[FIRNC_IDENTITY_BYTES]);

const char *firnc_tokenizer_note_name(const char *ids);
bool firnc_tokenizer_is_note(const char *name);
/* The note to write beside a file of ids. */
firnc_file firnc_tokenizer_note(const char *ids, const uint8_t identity[FIRNC_IDENTITY_BYTES]);
bool firnc_tokenizer_note_read(const char *name, uint8_t identity[FIRNC_IDENTITY_BYTES]);

#endif
