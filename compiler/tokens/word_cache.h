/* Remembers the ids of short words, because texts repeat them. Its size is fixed; when it is full, it starts again. */
#ifndef FIRNC_TOKENS_WORD_CACHE_H
#define FIRNC_TOKENS_WORD_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FIRNC_CACHED_WORD_MAX = 48 }; /* bytes; a longer word is not remembered */

typedef struct firnc_word_cache firnc_word_cache;

firnc_word_cache *firnc_word_cache_make(void);

/* Sets the ids of a word; they are valid until the next call of firnc_word_cache_add. */
bool firnc_word_cache_find(const firnc_word_cache *cache, const uint8_t *word, size_t length, const uint32_t **ids,
                           uint32_t *count);

/* Adds a word that is not there. A word with more ids than bytes is not remembered. */
void firnc_word_cache_add(firnc_word_cache *cache, const uint8_t *word, size_t length, const uint32_t *ids,
                          uint32_t count);

#endif
