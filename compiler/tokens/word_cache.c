/* The memory of words (compiler/tokens/word_cache.h): a hash table whose entries point into two arrays that are filled
 * from the front. */
#include "compiler/tokens/word_cache.h"

#include <string.h>

#include "compiler/base/text.h"
#include "compiler/tokens/vocabulary.h"

enum { SLOTS = 1 << 14, WORDS_MAX = SLOTS / 2 };

typedef struct entry {
    uint32_t word, ids; /* offsets */
    uint32_t length;    /* of the word; 0: the slot is empty */
    uint32_t count;
} entry;

struct firnc_word_cache {
    entry slots[SLOTS];
    uint8_t words[WORDS_MAX * FIRNC_CACHED_WORD_MAX];
    uint32_t ids[WORDS_MAX * FIRNC_CACHED_WORD_MAX];
    uint32_t word_count, words_used, ids_used;
};

firnc_word_cache *firnc_word_cache_make(void) {
    return firnc_allocate(sizeof(firnc_word_cache));
}

/* The slot of the word, or the empty one where it belongs. */
static uint64_t find_slot(const firnc_word_cache *cache, const uint8_t *word, size_t length) {
    for (uint64_t at = firnc_bytes_hash(word, length) % SLOTS;; at = (at + 1) % SLOTS) {
        const entry *slot = &cache->slots[at];
        if (slot->length == 0 || (slot->length == length && memcmp(cache->words + slot->word, word, length) == 0))
            return at;
    }
}

bool firnc_word_cache_find(const firnc_word_cache *cache, const uint8_t *word, size_t length, const uint32_t **ids,
                           uint32_t *count) {
    const entry *slot = &cache->slots[find_slot(cache, word, length)];
    *ids = cache->ids + slot->ids;
    *count = slot->count;
    return slot->length != 0;
}

void firnc_word_cache_add(firnc_word_cache *cache, const uint8_t *word, size_t length, const uint32_t *ids,
                          uint32_t count) {
    if (length == 0 || length > FIRNC_CACHED_WORD_MAX || count > length)
        return;
    if (cache->word_count == WORDS_MAX) {
        memset(cache->slots, 0, sizeof cache->slots);
        cache->word_count = cache->words_used = cache->ids_used = 0;
    }
    cache->slots[find_slot(cache, word, length)] = (entry){cache->words_used, cache->ids_used, (uint32_t)length, count};
    memcpy(cache->words + cache->words_used, word, length);
    memcpy(cache->ids + cache->ids_used, ids, count * sizeof *ids);
    cache->words_used += (uint32_t)length;
    cache->ids_used += count;
    cache->word_count++;
}
