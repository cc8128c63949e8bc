/* The normal form NFC (Unicode Standard Annex 15): decompose, put marks in order, compose. Only characters that stand
 * beside one which joins or changes take this way; all others are copied. */
#include <stdlib.h>
#include <string.h>

#include "compiler/tokens/unicode.h"

/* Hangul syllables are computed: LV = first + (consonant * VOWELS + vowel) * TAILS, LVT = LV + tail. */
enum {
    SYLLABLES = 0xAC00,
    SYLLABLE_COUNT = 11172,
    CONSONANTS = 0x1100,
    VOWELS = 0x1161,
    TAILS = 0x11A7, /* one before the first tail */
    CONSONANT_COUNT = 19,
    VOWEL_COUNT = 21,
    TAIL_COUNT = 28
};

/* An item of firnc_nfc is a character: class << 56 | place << 24 | code. Sorting keeps the order within a class. */
#define CODE(item)  ((uint32_t)((item)&0xFFFFFF))
#define ORDER(item) ((uint32_t)((item) >> 56))

static uint32_t order_of(uint32_t code) {
    uint32_t low = 0, high = firnc_unicode_orders_count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (code > firnc_unicode_orders[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    const bool found = low < firnc_unicode_orders_count && code >= firnc_unicode_orders[low].first;
    return found ? firnc_unicode_orders[low].value : 0;
}

static void push(firnc_nfc *to, uint32_t code) {
    to->items = firnc_grown(to->items, to->count, &to->capacity, sizeof *to->items);
    to->items[to->count] = (uint64_t)order_of(code) << 56 | (uint64_t)to->count << 24 | code;
    to->count++;
}

static int by_code(const void *key, const void *row) {
    const uint32_t code = *(const uint32_t *)key, other = ((const firnc_unicode_triple *)row)->one;
    return code < other ? -1 : code > other;
}

/* Appends the full canonical decomposition. */
static void decompose(firnc_nfc *to, uint32_t code) {
    if (code >= SYLLABLES && code < SYLLABLES + SYLLABLE_COUNT) {
        const uint32_t place = code - SYLLABLES;
        push(to, CONSONANTS + place / (VOWEL_COUNT * TAIL_COUNT));
        push(to, VOWELS + place / TAIL_COUNT % VOWEL_COUNT);
        if (place % TAIL_COUNT != 0)
            push(to, TAILS + place % TAIL_COUNT);
        return;
    }
    const firnc_unicode_triple *row = bsearch(&code, firnc_unicode_decompositions, firnc_unicode_decompositions_count,
                                              sizeof *firnc_unicode_decompositions, by_code);
    if (row == NULL) {
        push(to, code);
        return;
    }
    decompose(to, row->two);
    if (row->three != 0)
        decompose(to, row->three);
}

static int by_value(const void *a, const void *b) {
    const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return one < other ? -1 : one > other;
}

/* Sorts each run of characters with a combining class other than 0. */
static void put_in_order(firnc_nfc *text) {
    for (uint32_t i = 0; i < text->count;) {
        uint32_t end = i;
        while (end < text->count && ORDER(text->items[end]) != 0)
            end++;
        if (end - i > 1)
            qsort(text->items + i, end - i, sizeof *text->items, by_value);
        i = end + 1;
    }
}

static int by_parts(const void *key, const void *row) {
    const firnc_unicode_triple *one = key, *other = row;
    if (one->one != other->one)
        return one->one < other->one ? -1 : 1;
    return one->two < other->two ? -1 : one->two > other->two;
}

/* The character that two characters compose to; 0 if they do not. */
static uint32_t composed(uint32_t first, uint32_t second) {
    if (first - CONSONANTS < CONSONANT_COUNT && second - VOWELS < VOWEL_COUNT)
        return SYLLABLES + ((first - CONSONANTS) * VOWEL_COUNT + (second - VOWELS)) * TAIL_COUNT;
    if (first - SYLLABLES < SYLLABLE_COUNT && (first - SYLLABLES) % TAIL_COUNT == 0 &&
        second - TAILS - 1 < TAIL_COUNT - 1)
        return first + (second - TAILS);
    const firnc_unicode_triple key = {first, second, 0};
    const firnc_unicode_triple *row = bsearch(&key, firnc_unicode_compositions, firnc_unicode_compositions_count,
                                              sizeof *firnc_unicode_compositions, by_parts);
    return row != NULL ? row->three : 0;
}

/* Composes in place. A character joins the last starter unless one between them has an equal or higher class. */
static void compose(firnc_nfc *text) {
    uint32_t kept = 0, starter = UINT32_MAX, last_order = 0;
    for (uint32_t i = 0; i < text->count; i++) {
        const uint32_t code = CODE(text->items[i]), order = ORDER(text->items[i]);
        const bool adjacent = starter != UINT32_MAX && starter + 1 == kept;
        const bool reachable = starter != UINT32_MAX && (adjacent || last_order < order);
        const uint32_t together = reachable ? composed(CODE(text->items[starter]), code) : 0;
        if (together != 0) {
            text->items[starter] = together;
            continue;
        }
        if (order == 0)
            starter = kept;
        last_order = order;
        text->items[kept++] = text->items[i];
    }
    text->count = kept;
}

static void add_character(firnc_growing_text *to, uint32_t code) {
    uint8_t bytes[FIRNC_UTF8_MAX];
    firnc_text_add(to, bytes, firnc_utf8_write(code, bytes));
}

/* Normalises the characters from `text` to the next one that begins anew; returns their bytes. */
static size_t add_cluster(firnc_growing_text *to, const uint8_t *text, size_t count, firnc_nfc *scratch) {
    const uint8_t *table = firnc_unicode_table();
    uint32_t length;
    size_t at = 0;
    scratch->count = 0;
    do {
        decompose(scratch, firnc_utf8_read(text + at, count - at, &length));
        at += length;
    } while (at < count && (table[firnc_utf8_read(text + at, count - at, &length)] & FIRNC_JOINS) != 0);
    put_in_order(scratch);
    compose(scratch);
    for (uint32_t i = 0; i < scratch->count; i++)
        add_character(to, CODE(scratch->items[i]));
    return at;
}

void firnc_nfc_add(firnc_growing_text *to, const uint8_t *text, size_t count, firnc_nfc *scratch) {
    const uint8_t *table = firnc_unicode_table();
    size_t copied = 0, before = 0; /* text from `copied` on is not written yet; `before`: the last character's place */
    uint32_t length;
    for (size_t at = 0; at < count;) {
        const uint8_t bits = table[firnc_utf8_read(text + at, count - at, &length)];
        if ((bits & (FIRNC_JOINS | FIRNC_CHANGES)) == 0) {
            before = at;
            at += length;
            continue;
        }
        const size_t begin = (bits & FIRNC_JOINS) != 0 ? before : at;
        firnc_text_add(to, text + copied, begin - copied);
        at = begin + add_cluster(to, text + begin, count - begin, scratch);
        copied = before = at;
    }
    firnc_text_add(to, text + copied, count - copied);
}
