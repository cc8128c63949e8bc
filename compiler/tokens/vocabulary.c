/* A vocabulary in memory (compiler/tokens/vocabulary.h). What a file says is checked by its reader. */
#include "compiler/tokens/vocabulary.h"

#include <string.h>

#include "compiler/base/text.h"

/* FNV-1a, whose upper half is folded into the lower one, because tables use the lowest bits. */
uint64_t firnc_bytes_hash(const uint8_t *bytes, size_t count) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

void firnc_vocabulary_begin(firnc_vocabulary *vocabulary, uint32_t count) {
    uint64_t slots = 64;
    while (slots < 2 * (uint64_t)count)
        slots *= 2;
    *vocabulary = (firnc_vocabulary){.tokens = firnc_allocate(count * sizeof *vocabulary->tokens),
                                     .count = count,
                                     .slots = firnc_allocate(slots * sizeof *vocabulary->slots),
                                     .mask = slots - 1};
    memset(vocabulary->slots, 0xFF, slots * sizeof *vocabulary->slots);
}

/* The slot that has a text, or the empty one where it belongs. */
static uint32_t *find_slot(const firnc_vocabulary *vocabulary, const uint8_t *text, size_t length) {
    for (uint64_t at = firnc_bytes_hash(text, length) & vocabulary->mask;; at = (at + 1) & vocabulary->mask) {
        uint32_t *slot = &vocabulary->slots[at];
        const firnc_token *token = *slot == FIRNC_NO_TOKEN ? NULL : &vocabulary->tokens[*slot];
        if (token == NULL || (token->length == length && memcmp(token->text, text, length) == 0))
            return slot;
    }
}

void firnc_vocabulary_add(firnc_vocabulary *vocabulary, uint32_t id, const firnc_token *token) {
    vocabulary->tokens[id] = *token;
    *find_slot(vocabulary, token->text, token->length) = id;
}

uint32_t firnc_vocabulary_find(const firnc_vocabulary *vocabulary, const uint8_t *text, size_t length) {
    return *find_slot(vocabulary, text, length);
}
