/* Packs factors for a matrix engine; see words.h. Registers hold words of several lanes, or several words of a lane,
 * whichever lie side by side in memory; a transposition makes one of the other. */
#include "runtime/kernels/vector/engine/words.h"

#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/engine/round.h"

/* How many terms before their use memory is fetched: for panels of rows, for panels of columns, for rows. */
enum { ACROSS_AHEAD = 2, ALONG_AHEAD = 64, ROWS_AHEAD = 2 * FIRN_VECTOR };

static void store(uint32_t *to, firn_vector words) {
    memcpy(to, &words, sizeof words);
}

/* Returns a term of several lanes in the lower halves of words. */
static inline firn_words load_term(const firn_words_of *from, size_t term, size_t lane, firn_lanes lanes) {
    return firn_words_from_halves(firn_halves_load_some(lanes, from->first + lane + term * from->term_step));
}

static inline firn_vector load_float(const firn_words_of *from, size_t term, size_t lane, firn_lanes lanes) {
    return firn_vector_load_some(lanes, from->floats + lane + term * from->term_step);
}

/* Terms that lie a row apart are on pages of their own: no processor foresees that they will be read. */
static inline void fetch(const firn_words_of *from, size_t term, size_t lane) {
    const size_t at = lane + term * from->term_step;
    if (from->floats != NULL) {
        firn_prefetch_near(from->floats + at);
        firn_prefetch_near(from->floats + at + from->term_step);
    } else {
        firn_prefetch_near(from->first + at);
        firn_prefetch_near(from->first + at + from->term_step);
    }
}

/* Loads terms of a lane, at most two for each word of a register, which lie side by side. */
static inline firn_vector load_along(const firn_words_of *from, size_t word, size_t lane) {
    const uint16_t *first = from->first + lane * from->lane_step + 2 * word;
    firn_vector words;
    if (2 * (word + FIRN_VECTOR) <= from->terms) {
        memcpy(&words, first, sizeof words);
    } else {
        uint16_t terms[2 * FIRN_VECTOR] = {0};
        if (2 * word < from->terms)
            memcpy(terms, first, (from->terms - 2 * word) * sizeof *terms);
        memcpy(&words, terms, sizeof words);
    }
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

static inline firn_vector load_across(const firn_words_of *from, size_t word, size_t lane, size_t ahead) {
    const firn_lanes lanes = firn_first_lanes(from->lanes - lane);
    if (2 * word >= from->terms)
        return firn_vector_zero();
    fetch(from, 2 * word + ahead, lane);
    if (2 * word + 1 >= from->terms)
        return firn_vector_from_bits(
            from->floats != NULL ? firn_round_to_words(load_float(from, 2 * word, lane, lanes), firn_vector_zero())
                                 : load_term(from, 2 * word, lane, lanes));
    if (from->floats != NULL)
        return firn_vector_from_bits(
            firn_round_to_words(load_float(from, 2 * word, lane, lanes), load_float(from, 2 * word + 1, lane, lanes)));
    return firn_vector_from_bits(firn_words_or(load_term(from, 2 * word, lane, lanes),
                                               firn_words_left(load_term(from, 2 * word + 1, lane, lanes), 16)));
}

void firn_words_pack_line(uint32_t *out, const uint16_t *first, const uint16_t *second, size_t lanes) {
    for (size_t lane = 0; lane < FIRN_WORD_COLUMNS; lane += FIRN_VECTOR) {
        const firn_lanes here = firn_first_lanes(lane < lanes ? lanes - lane : 0);
        const uint16_t *second_here = second != NULL ? second + lane : NULL;
        store(out + lane,
              lane < lanes ? load_line(first != NULL ? first + lane : NULL, second_here, here) : firn_vector_zero());
    }
}

/* A word of all lanes at a time: these are read from beginning to end. */
static void pack_across(uint32_t *out, const firn_words_of *from, size_t words, size_t panels) {
    for (size_t word = 0; word < words; word++)
        for (size_t lane = 0; lane < panels * FIRN_WORD_COLUMNS; lane += FIRN_VECTOR)
            store(out + (lane / FIRN_WORD_COLUMNS * words + word) * FIRN_WORD_COLUMNS + lane % FIRN_WORD_COLUMNS,
                  lane < from->lanes ? load_across(from, word, lane, ACROSS_AHEAD) : firn_vector_zero());
}

/* One register of lanes of a panel. */
static void pack_along(uint32_t *out, const firn_words_of *from, size_t words, size_t lane) {
    for (size_t word = 0; word < words; word += FIRN_VECTOR) {
        firn_vector v[FIRN_VECTOR];
        FIRN_UNROLL
        for (size_t i = 0; i < FIRN_VECTOR; i++)
            v[i] = lane + i < from->lanes ? load_along(from, word, lane + i) : firn_vector_zero();
        firn_vector_transpose(v);
        FIRN_UNROLL
        for (size_t i = 0; i < FIRN_VECTOR; i++)
            if (word + i < words)
                store(out + (word + i) * FIRN_WORD_COLUMNS, v[i]);
    }
}

/* The same of floats, which fill half as many words of a register. */
static void pack_floats_along(uint32_t *out, const firn_words_of *from, size_t words, size_t lane) {
    enum { WORDS = FIRN_VECTOR / 2 };
    for (size_t word = 0; word < words; word += WORDS) {
        const size_t term = 2 * word;
        const firn_lanes terms = firn_first_lanes(term < from->terms ? from->terms - term : 0);
        const float *first = from->floats + lane * from->lane_step + term;
        firn_vector v[FIRN_VECTOR];
        FIRN_UNROLL
        for (size_t i = 0; i < FIRN_VECTOR; i++)
            v[i] = lane + i < from->lanes && term < from->terms
                       ? firn_vector_load_some(terms, first + i * from->lane_step)
                       : firn_vector_zero();
        FIRN_UNROLL
        for (size_t i = 0; i < FIRN_VECTOR; i++)
            firn_prefetch_near(first + i * from->lane_step + ALONG_AHEAD);
        firn_vector_transpose(v);
        FIRN_UNROLL
        for (size_t i = 0; i < WORDS; i++) {
            if (word + i < words)
                store(out + (word + i) * FIRN_WORD_COLUMNS,
                      firn_vector_from_bits(firn_round_to_words(v[2 * i], v[2 * i + 1])));
        }
    }
}

void firn_words_pack_panel(uint32_t *out, const firn_words_of *from, size_t words) {
    const size_t panels = firn_ceiling(from->lanes, FIRN_WORD_COLUMNS);
    if (from->lane_step == 1) {
        pack_across(out, from, words, panels);
        return;
    }
    for (size_t lane = 0; lane < panels * FIRN_WORD_COLUMNS; lane += FIRN_VECTOR) {
        uint32_t *to = out + lane / FIRN_WORD_COLUMNS * words * FIRN_WORD_COLUMNS + lane % FIRN_WORD_COLUMNS;
        if (from->floats != NULL)
            pack_floats_along(to, from, words, lane);
        else
            pack_along(to, from, words, lane);
    }
}

void firn_words_pack_rows(uint32_t *out, size_t out_step, const firn_words_of *from, size_t words) {
    if (from->term_step == 1) {
        for (size_t lane = 0; lane < from->lanes; lane++)
            for (size_t word = 0; word < words; word += FIRN_VECTOR) {
                firn_prefetch_near(from->first + (lane + 1) * from->lane_step + 2 * word);
                store(out + lane * out_step + word, load_along(from, word, lane));
            }
        return;
    }
    for (size_t word = 0; word < words; word += FIRN_VECTOR)
        for (size_t lane = 0; lane < from->lanes; lane += FIRN_VECTOR) {
            firn_vector v[FIRN_VECTOR];
            FIRN_UNROLL
            for (size_t i = 0; i < FIRN_VECTOR; i++)
                v[i] = load_across(from, word + i, lane, ROWS_AHEAD);
            firn_vector_transpose(v);
            FIRN_UNROLL
            for (size_t i = 0; i < FIRN_VECTOR; i++)
                if (lane + i < from->lanes)
                    store(out + (lane + i) * out_step + word, v[i]);
        }
}
