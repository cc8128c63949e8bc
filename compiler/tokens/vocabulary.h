/* The tokens of a vocabulary by id, and their ids by text. */
#ifndef FIRNC_TOKENS_VOCABULARY_H
#define FIRNC_TOKENS_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A longer token is refused: words longer than this need no look into the vocabulary. */
enum { FIRNC_TOKEN_BYTES_MAX = 4096 };
#define FIRNC_NO_TOKEN UINT32_MAX

typedef struct firnc_token {
    const uint8_t *text; /* as the file writes it, UTF-8; NULL for an id that has no token yet */
    uint32_t length;     /* in bytes */
    bool added;          /* of added_tokens: decoded as it is written */
    bool hidden;         /* only of added_tokens: words do not become it */
} firnc_token;

typedef struct firnc_vocabulary {
    firnc_token *tokens; /* by id */
    uint32_t count;
    uint32_t *slots; /* a hash table of ids by text; FIRNC_NO_TOKEN: empty */
    uint64_t mask;
} firnc_vocabulary;

/* Makes an empty vocabulary with room for `count` tokens, at least 1, whose ids are 0 to count - 1. */
void firnc_vocabulary_begin(firnc_vocabulary *vocabulary, uint32_t count);

/* Adds a token whose id is below `count` and has none yet, and whose text is new. */
void firnc_vocabulary_add(firnc_vocabulary *vocabulary, uint32_t id, const firnc_token *token);

/* The id of a text, or FIRNC_NO_TOKEN. */
uint32_t firnc_vocabulary_find(const firnc_vocabulary *vocabulary, const uint8_t *text, size_t length);

/* A hash of bytes for tables in memory; no file has it. */
uint64_t firnc_bytes_hash(const uint8_t *bytes, size_t count);

#endif
