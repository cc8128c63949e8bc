/* Merges words (compiler/tokens/bpe.h). A heap holds the pairs of neighbours by rank and place, so that a word of n
 * symbols takes n log n steps; pairs that no longer exist when they are taken are passed over. */
#include "compiler/tokens/bpe.h"

#include <stdio.h>
#include <string.h>

#include "compiler/base/text.h"
#include "compiler/tokens/bytes.h"
#include "compiler/tokens/unicode.h"
#include "compiler/tokens/word_cache.h"

#define NONE       UINT32_MAX
#define NO_JOIN    UINT64_MAX
#define MIXER      UINT64_C(0x9e3779b97f4a7c15)
#define PAIR(a, b) ((uint64_t)(a) << 32 | (b))

void firnc_ids_add(firnc_ids *to, uint32_t id) {
    to->ids = firnc_grown(to->ids, to->count, &to->capacity, sizeof *to->ids);
    to->ids[to->count++] = id;
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

static uint64_t slots_for(uint64_t count) {
    uint64_t slots = 64;
    while (slots < 2 * count)
        slots *= 2;
    return slots;
}

static uint64_t place_of(uint64_t pair, uint64_t mask) {
    const uint64_t mixed = pair * MIXER;
    return (mixed ^ mixed >> 32) & mask;
}

/* The slot of a pair, or the empty one where it belongs. */
static firnc_merge *find_merge(const firnc_bpe *bpe, uint32_t left, uint32_t right) {
    for (uint64_t at = place_of(PAIR(left, right), bpe->merge_mask);; at = (at + 1) & bpe->merge_mask) {
        firnc_merge *merge = &bpe->merges[at];
        if (merge->left == FIRNC_NO_TOKEN || (merge->left == left && merge->right == right))
            return merge;
    }
}

static uint64_t *find_join(const firnc_bpe *bpe, uint32_t before, uint32_t after) {
    const uint64_t pair = PAIR(before, after);
    for (uint64_t at = place_of(pair, bpe->join_mask);; at = (at + 1) & bpe->join_mask)
        if (bpe->joins[at] == NO_JOIN || bpe->joins[at] == pair)
            return &bpe->joins[at];
}

/* The token of a text that words may become. */
static uint32_t find_token(const firnc_bpe *bpe, const uint8_t *text, size_t length) {
    const uint32_t id = firnc_vocabulary_find(&bpe->vocabulary, text, length);
    return id == FIRNC_NO_TOKEN || bpe->vocabulary.tokens[id].hidden ? FIRNC_NO_TOKEN : id;
}

static uint32_t find_byte(firnc_bpe *bpe, uint8_t byte) {
    char text[8];
    bpe->byte_characters[byte] = firnc_byte_character(byte);
    const uint32_t length = bpe->byte_level ? firnc_utf8_write(bpe->byte_characters[byte], (uint8_t *)text)
                                            : (uint32_t)snprintf(text, sizeof text, "<0x%02X>", (unsigned)byte);
    return find_token(bpe, (const uint8_t *)text, length);
}

uint32_t firnc_bpe_begin(firnc_bpe *bpe, uint32_t merge_count) {
    const uint64_t slots = slots_for(merge_count);
    bpe->merge_mask = bpe->join_mask = slots - 1;
    bpe->merges = firnc_allocate(slots * sizeof *bpe->merges);
    bpe->joins = firnc_allocate(slots * sizeof *bpe->joins);
    memset(bpe->merges, 0xFF, slots * sizeof *bpe->merges);
    memset(bpe->joins, 0xFF, slots * sizeof *bpe->joins);
    bpe->cache = firnc_word_cache_make();
    bpe->written = firnc_allocate(UINT64_C(2) * FIRNC_TOKEN_BYTES_MAX);
    uint32_t missing = 256;
    for (uint32_t byte = 256; byte-- > 0;) {
        bpe->byte_ids[byte] = find_byte(bpe, (uint8_t)byte);
        if ((bpe->byte_level || bpe->byte_fallback) && bpe->byte_ids[byte] == FIRNC_NO_TOKEN)
            missing = byte;
    }
    return missing;
}

bool firnc_bpe_add_merge(firnc_bpe *bpe, uint32_t left, uint32_t right, uint32_t rank) {
    const firnc_token *first = &bpe->vocabulary.tokens[left], *second = &bpe->vocabulary.tokens[right];
    const size_t length = (size_t)first->length + second->length;
    if (length > FIRNC_TOKEN_BYTES_MAX)
        return false;
    memcpy(bpe->written, first->text, first->length);
    memcpy(bpe->written + first->length, second->text, second->length);
    const uint32_t result = find_token(bpe, bpe->written, length);
    if (result == FIRNC_NO_TOKEN)
        return false;
    *find_merge(bpe, left, right) = (firnc_merge){left, right, rank, result};
    uint32_t size;
    const uint32_t before = firnc_utf8_read_back(first->text, first->length, &size);
    const uint32_t after = firnc_utf8_read(second->text, second->length, &size);
    *find_join(bpe, before, after) = PAIR(before, after);
    return true;
}

/* --- gaps --------------------------------------------------------------------------------------------------------- */

/* Whether a character becomes `unknown`, which may be fused with that of its neighbour. */
static bool is_unknown(const firnc_bpe *bpe, uint32_t code) {
    uint8_t text[FIRNC_UTF8_MAX];
    return find_token(bpe, text, firnc_utf8_write(code, text)) == FIRNC_NO_TOKEN;
}

/* Reads a character, or in byte_level that of a byte. */
static uint32_t read_unit(const firnc_bpe *bpe, const uint8_t *text, size_t length, uint32_t *size) {
    *size = 1;
    return bpe->byte_level ? bpe->byte_characters[*text] : firnc_utf8_read(text, length, size);
}

static bool may_join(const firnc_bpe *bpe, uint32_t before, uint32_t after) {
    return *find_join(bpe, before, after) != NO_JOIN ||
           (bpe->fuse_unknown && is_unknown(bpe, before) && is_unknown(bpe, after));
}

size_t firnc_bpe_last_gap(const firnc_bpe *bpe, const uint8_t *text, size_t length, uint32_t space) {
    uint32_t size = 0, after = 0;
    for (size_t at = length; at > 0; at -= size) {
        const uint32_t code = firnc_utf8_read_back(text, at, &size);
        const uint32_t last = bpe->byte_level ? bpe->byte_characters[text[at - 1]] : code == ' ' ? space : code;
        if (at < length && !may_join(bpe, last, after))
            return at;
        after = bpe->byte_level ? bpe->byte_characters[text[at - size]] : last;
    }
    return 0;
}

/* The length of the part of a word up to its first gap, or its end. */
static size_t part_length(const firnc_bpe *bpe, const uint8_t *word, size_t length) {
    uint32_t size;
    uint32_t before = read_unit(bpe, word, length, &size);
    for (size_t at = size; at < length; at += size) {
        const uint32_t after = read_unit(bpe, word + at, length - at, &size);
        if (!may_join(bpe, before, after))
            return at;
        before = after;
    }
    return length;
}

/* --- merging ------------------------------------------------------------------------------------------------------ */

static void heap_push(firnc_bpe *bpe, uint64_t key) {
    bpe->heap = firnc_grown(bpe->heap, bpe->heap_count, &bpe->heap_capacity, sizeof *bpe->heap);
    uint32_t at = bpe->heap_count++;
    for (; at > 0 && bpe->heap[(at - 1) / 2] > key; at = (at - 1) / 2)
        bpe->heap[at] = bpe->heap[(at - 1) / 2];
    bpe->heap[at] = key;
}

static uint64_t heap_pop(firnc_bpe *bpe) {
    const uint64_t least = bpe->heap[0], key = bpe->heap[--bpe->heap_count];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < bpe->heap_count; at = child) {
        if (child + 1 < bpe->heap_count && bpe->heap[child + 1] < bpe->heap[child])
            child++;
        if (bpe->heap[child] >= key)
            break;
        bpe->heap[at] = bpe->heap[child];
    }
    bpe->heap[at] = key;
    return least;
}

/* Enters the pair of a symbol and the next one, if it has a rank. */
static void offer(firnc_bpe *bpe, uint32_t at) {
    const firnc_symbol *symbol = &bpe->symbols[at];
    if (symbol->next == NONE)
        return;
    const firnc_merge *merge = find_merge(bpe, symbol->id, bpe->symbols[symbol->next].id);
    if (merge->left != FIRNC_NO_TOKEN)
        heap_push(bpe, PAIR(merge->rank, at));
}

/* Merges the symbol with the next one, if their pair still has the rank with which it was entered. */
static void merge_at(firnc_bpe *bpe, uint32_t at, uint32_t rank) {
    firnc_symbol *symbol = &bpe->symbols[at];
    if (symbol->id == FIRNC_NO_TOKEN || symbol->next == NONE)
        return;
    firnc_symbol *next = &bpe->symbols[symbol->next];
    const firnc_merge *merge = find_merge(bpe, symbol->id, next->id);
    if (merge->left == FIRNC_NO_TOKEN || merge->rank != rank)
        return;
    symbol->id = merge->result;
    symbol->next = next->next;
    next->id = FIRNC_NO_TOKEN;
    if (symbol->next != NONE)
        bpe->symbols[symbol->next].previous = at;
    if (symbol->previous != NONE)
        offer(bpe, symbol->previous);
    offer(bpe, at);
}

static void add_symbol(firnc_bpe *bpe, uint32_t *count, uint32_t id) {
    bpe->symbols = firnc_grown(bpe->symbols, *count, &bpe->symbol_capacity, sizeof *bpe->symbols);
    bpe->symbols[*count] = (firnc_symbol){.id = id, .previous = *count == 0 ? NONE : *count - 1, .next = NONE};
    if (*count > 0)
        bpe->symbols[*count - 1].next = *count;
    (*count)++;
}

/* Adds the symbols of a character of `size` bytes that has no token. False if there are none. */
static bool add_unknown(firnc_bpe *bpe, uint32_t *count, const uint8_t *text, uint32_t size, uint32_t code,
                        bool after_unknown) {
    if (bpe->byte_fallback) {
        for (uint32_t i = 0; i < size; i++)
            add_symbol(bpe, count, bpe->byte_ids[text[i]]);
        return true;
    }
    if (bpe->unknown == FIRNC_NO_TOKEN) {
        bpe->lost = code;
        return false;
    }
    if (!after_unknown || !bpe->fuse_unknown)
        add_symbol(bpe, count, bpe->unknown);
    return true;
}

/* Cuts a part of a word into symbols. */
static bool cut(firnc_bpe *bpe, const uint8_t *part, size_t length, uint32_t *count) {
    bool after_unknown = false;
    uint32_t size;
    *count = 0;
    for (size_t at = 0; at < length; at += size) {
        const uint32_t code = read_unit(bpe, part + at, length - at, &size);
        const uint32_t id = bpe->byte_level ? bpe->byte_ids[part[at]] : find_token(bpe, part + at, size);
        const bool unknown = id == FIRNC_NO_TOKEN;
        if (!unknown)
            add_symbol(bpe, count, id);
        else if (!add_unknown(bpe, count, part + at, size, code, after_unknown))
            return false;
        after_unknown = unknown;
    }
    return true;
}

static bool merge_part(firnc_bpe *bpe, const uint8_t *part, size_t length, firnc_ids *ids) {
    uint32_t count;
    if (!cut(bpe, part, length, &count))
        return false;
    bpe->heap_count = 0;
    for (uint32_t at = 0; at < count; at++)
        offer(bpe, at);
    while (bpe->heap_count > 0) {
        const uint64_t best = heap_pop(bpe);
        merge_at(bpe, (uint32_t)best, (uint32_t)(best >> 32));
    }
    for (uint32_t at = 0; at < count; at++)
        if (bpe->symbols[at].id != FIRNC_NO_TOKEN)
            firnc_ids_add(ids, bpe->symbols[at].id);
    return true;
}

/* --- words -------------------------------------------------------------------------------------------------------- */

/* The token that a whole word is, as ignore_merges asks first; or FIRNC_NO_TOKEN. */
static uint32_t whole_token(const firnc_bpe *bpe, const uint8_t *word, size_t length) {
    if (length > FIRNC_TOKEN_BYTES_MAX)
        return FIRNC_NO_TOKEN;
    if (!bpe->byte_level)
        return find_token(bpe, word, length);
    size_t written = 0;
    for (size_t i = 0; i < length; i++)
        written += firnc_utf8_write(bpe->byte_characters[word[i]], bpe->written + written);
    return find_token(bpe, bpe->written, written);
}

/* Encodes without the cache; gaps divide a long word. */
static bool encode_fresh(firnc_bpe *bpe, const uint8_t *word, size_t length, bool whole, firnc_ids *ids) {
    const uint32_t token = bpe->ignore_merges && whole ? whole_token(bpe, word, length) : FIRNC_NO_TOKEN;
    if (token != FIRNC_NO_TOKEN) {
        firnc_ids_add(ids, token);
        return true;
    }
    if (length <= FIRNC_CACHED_WORD_MAX)
        return merge_part(bpe, word, length, ids);
    for (size_t at = 0, part; at < length; at += part) {
        part = part_length(bpe, word + at, length - at);
        const bool good = part <= FIRNC_CACHED_WORD_MAX && !bpe->ignore_merges
                              ? firnc_bpe_encode(bpe, word + at, part, false, ids)
                              : merge_part(bpe, word + at, part, ids);
        if (!good)
            return false;
    }
    return true;
}

bool firnc_bpe_encode(firnc_bpe *bpe, const uint8_t *word, size_t length, bool whole, firnc_ids *ids) {
    const bool remembered = length <= FIRNC_CACHED_WORD_MAX && (whole || !bpe->ignore_merges);
    const uint32_t *known, first = ids->count;
    uint32_t count;
    if (!remembered)
        return encode_fresh(bpe, word, length, whole, ids);
    if (firnc_word_cache_find(bpe->cache, word, length, &known, &count)) {
        for (uint32_t i = 0; i < count; i++)
            firnc_ids_add(ids, known[i]);
        return true;
    }
    if (!encode_fresh(bpe, word, length, whole, ids))
        return false;
    firnc_word_cache_add(bpe->cache, word, length, ids->ids + first, ids->count - first);
    return true;
}
