/* Packs factors for a matrix engine; see words.h. Registers hold words of several lanes, or several words of a lane,
 * whichever lie side by side in memory; a transposition makes one of the other. */
#include "runtime/kernels/vector/engine/words.h"

#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/convert.h"

static void store(uint32_t *to, firn_vector words) {
    memcpy(to, &words, sizeof words);
}

static firn_vector round_along(const firn_words_of *from, size_t word, size_t lane) {
    uint16_t terms[2 * FIRN_VECTOR] = {0};
    firn_vector words;
    if (2 * word < from->terms)
        firn_narrow(terms, FIRN_BFLOAT16, 0, from->floats + lane * from->lane_step + 2 * word,
                    firn_smaller(2 * FIRN_VECTOR, from->terms - 2 * word));
    memcpy(&words, terms, sizeof words);
    return words;
}

/* Returns a term of several lanes in the lower halves of words; a rounded float is one. */
static inline firn_words load_term(const firn_words_of *from, size_t term, size_t lane, firn_lanes lanes) {
    const size_t at = lane + term * from->term_step;
    if (from->floats != NULL)
        return firn_vector_to_bfloat16(firn_vector_canonical(firn_vector_load_some(lanes, from->floats + at)));
    return firn_words_from_halves(firn_halves_load_some(lanes, from->first + at));
}

/* Loads terms of a lane, at most two for each word of a register, which lie side by side. */
static inline firn_vector load_along(const firn_words_of *from, size_t word, size_t lane) {
    if (from->floats != NULL)
        return round_along(from, word, lane);
    const uint16_t *first = from->first + lane * from->lane_step + 2 * word;
    uint16_t terms[2 * FIRN_VECTOR] = {0};
    firn_vector words;
    if (2 * (word + FIRN_VECTOR) <= from->terms) {
        memcpy(&words, first, sizeof words);
        return words;
    }
    if (2 * word < from->terms)
        memcpy(terms, first, (from->terms - 2 * word) * sizeof *terms);
    memcpy(&words, terms, sizeof words);
    return words;
}

/* Loads a word of several lanes, which lie side by side from `first` and `second` on. NULL: a term of zeros. */
static inline firn_vector load_line(const uint16_t *first, const uint16_t *second, firn_lanes lanes) {
    firn_words words = firn_words_fill(0);
    if (first != NULL)
        words = firn_words_from_halves(firn_halves_load_some(lanes, first));
    if (second != NULL)
        words = firn_words_or(words, firn_words_left(firn_words_from_halves(firn_halves_load_some(lanes, second)), 16));
    return firn_vector_from_bits(words);
}

static inline firn_vector load_across(const firn_words_of *from, size_t word, size_t lane) {
    const firn_lanes lanes = firn_first_lanes(from->lanes - lane);
    if (2 * word >= from->terms)
        return firn_vector_zero();
    firn_words words = load_term(from, 2 * word, lane, lanes);
    if (2 * word + 1 < from->terms)
        words = firn_words_or(words, firn_words_left(load_term(from, 2 * word + 1, lane, lanes), 16));
    return firn_vector_from_bits(words);
}

void firn_words_pack_line(uint32_t *out, const uint16_t *first, const uint16_t *second, size_t lanes) {
    for (size_t lane = 0; lane < FIRN_WORD_COLUMNS; lane += FIRN_VECTOR) {
        const firn_lanes here = firn_first_lanes(lane < lanes ? lanes - lane : 0);
        const uint16_t *second_here = second != NULL ? second + lane : NULL;
        store(out + lane,
              lane < lanes ? load_line(first != NULL ? first + lane : NULL, second_here, here) : firn_vector_zero());
    }
}

void firn_words_pack_panel(uint32_t *out, const firn_words_of *from, size_t words) {
    if (from->lane_step == 1) {
        for (size_t word = 0; word < words; word++)
            for (size_t lane = 0; lane < FIRN_WORD_COLUMNS; lane += FIRN_VECTOR)
                store(out + word * FIRN_WORD_COLUMNS + lane,
                      lane < from->lanes ? load_across(from, word, lane) : firn_vector_zero());
        return;
    }
    for (size_t lane = 0; lane < FIRN_WORD_COLUMNS; lane += FIRN_VECTOR)
        for (size_t word = 0; word < words; word += FIRN_VECTOR) {
            firn_vector v[FIRN_VECTOR];
            FIRN_UNROLL
            for (size_t i = 0; i < FIRN_VECTOR; i++)
                v[i] = lane + i < from->lanes ? load_along(from, word, lane + i) : firn_vector_zero();
            firn_vector_transpose(v);
            FIRN_UNROLL
            for (size_t i = 0; i < FIRN_VECTOR; i++)
                if (word + i < words)
                    store(out + (word + i) * FIRN_WORD_COLUMNS + lane, v[i]);
        }
}

void firn_words_pack_rows(uint32_t *out, size_t out_step, const firn_words_of *from, size_t words) {
    if (from->term_step == 1) {
        for (size_t lane = 0; lane < from->lanes; lane++)
            for (size_t word = 0; word < words; word += FIRN_VECTOR)
                store(out + lane * out_step + word, load_along(from, word, lane));
        return;
    }
    for (size_t lane = 0; lane < from->lanes; lane += FIRN_VECTOR)
        for (size_t word = 0; word < words; word += FIRN_VECTOR) {
            firn_vector v[FIRN_VECTOR];
            FIRN_UNROLL
            for (size_t i = 0; i < FIRN_VECTOR; i++)
                v[i] = load_across(from, word + i, lane);
            firn_vector_transpose(v);
            FIRN_UNROLL
            for (size_t i = 0; i < FIRN_VECTOR; i++)
                if (lane + i < from->lanes)
                    store(out + (lane + i) * out_step + word, v[i]);
        }
}
