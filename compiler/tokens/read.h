/* What the readers of a tokenizer's files share (compiler/tokens/tokenizer.h has their entry). A function that fails
 * returns false after one message. */
#ifndef FIRNC_TOKENS_READ_H
#define FIRNC_TOKENS_READ_H

#include <cjson/cJSON.h>

#include "compiler/tokens/tokenizer.h"

/* Reads a file that is one JSON object in UTF-8; the caller deletes it. NULL after one message. */
cJSON *firnc_tokens_json(const char *name);

/* Reads the tokens of a vocabulary: a mapping of texts to ids. `more`: how many may be added. */
bool firnc_tokens_read_vocabulary(firnc_tokenizer *tokenizer, const char *path, const cJSON *vocabulary, uint32_t more);

/* Checks that ids have no hole, once all tokens are there. */
bool firnc_tokens_check_ids(firnc_tokenizer *tokenizer);

/* Prepares the BPE for `count` merges: checks the tokens of bytes. */
bool firnc_tokens_begin_merges(firnc_tokenizer *tokenizer, uint32_t count);

/* Adds a merge. `place` names it in messages: "merges.txt:3", "tokenizer.json: model.merges[2]". */
bool firnc_tokens_add_merge(firnc_tokenizer *tokenizer, const char *place, const char *left, size_t left_length,
                            const char *right, size_t right_length, uint32_t rank);

/* Reads the normalizer and the pre_tokenizer of a tokenizer.json; NULL for none. */
bool firnc_tokens_read_normalizer(firnc_tokenizer *tokenizer, const cJSON *normalizer);
bool firnc_tokens_read_cuts(firnc_tokenizer *tokenizer, const cJSON *pre_tokenizer);

#endif
