/* Byte-pair encoding: a word is cut into symbols, and the pair of neighbours with the lowest rank is merged until no
 * pair has a rank. Knows no file and no pattern; read_model.c fills it and encode.c gives it words. */
#ifndef FIRNC_TOKENS_BPE_H
#define FIRNC_TOKENS_BPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler/tokens/vocabulary.h"

/* Ids that grow. Initialise it to {0}. */
typedef struct firnc_ids {
    uint32_t *ids;
    uint32_t count, capacity;
} firnc_ids;

void firnc_ids_add(firnc_ids *to, uint32_t id);

typedef struct firnc_merge {
    uint32_t left, right; /* FIRNC_NO_TOKEN: the slot is empty */
    uint32_t rank, result;
} firnc_merge;

typedef struct firnc_symbol {
    uint32_t id;             /* FIRNC_NO_TOKEN: merged into the symbol before it */
    uint32_t previous, next; /* UINT32_MAX: none */
} firnc_symbol;

typedef struct firnc_word_cache firnc_word_cache;

typedef struct firnc_bpe {
    firnc_vocabulary vocabulary;
    bool byte_level;    /* words are bytes, and a token writes a byte as one of ByteLevel's characters */
    bool byte_fallback; /* a character without a token becomes the tokens <0x00> to <0xFF> of its bytes */
    bool fuse_unknown;  /* neighbours without a token become one `unknown` */
    bool ignore_merges; /* a word that is a token becomes that token */
    uint32_t unknown;   /* the token of a character that has none; FIRNC_NO_TOKEN: there is none */

    uint32_t byte_ids[256], byte_characters[256];
    firnc_merge *merges; /* a hash table by left and right */
    uint64_t merge_mask;
    uint64_t *joins; /* a hash table of the pairs of characters over which merges go */
    uint64_t join_mask;
    firnc_word_cache *cache;

    firnc_symbol *symbols; /* scratch, as are the heap and the text */
    uint32_t symbol_capacity;
    uint64_t *heap;
    uint32_t heap_count, heap_capacity;
    uint8_t *written;

    uint32_t lost; /* the character for which firnc_bpe_encode returned false */
} firnc_bpe;

/* Prepares for `merge_count` merges. The vocabulary and the settings above byte_ids are set. Returns the first byte
 * without a token of its own where byte_level or byte_fallback is set, or 256. */
uint32_t firnc_bpe_begin(firnc_bpe *bpe, uint32_t merge_count);

/* Adds the merge of two tokens. A later one replaces an equal one, as in the reference. False if the vocabulary lacks
 * their concatenation. */
bool firnc_bpe_add_merge(firnc_bpe *bpe, uint32_t left, uint32_t right, uint32_t rank);

/* Returns the largest offset above 0 at which no merge joins the characters on both sides, so that both parts may be
 * encoded alone; 0: there is none. `space` is the character that a space will be, ' ' if it stays one. */
size_t firnc_bpe_last_gap(const firnc_bpe *bpe, const uint8_t *text, size_t length, uint32_t space);

/* Appends the ids of a word of at least one byte. whole: it is all of a word, and no part of one between gaps. False
 * if a character has no token and there is no `unknown`: it is then in `lost`. */
bool firnc_bpe_encode(firnc_bpe *bpe, const uint8_t *word, size_t length, bool whole, firnc_ids *ids);

#endif
