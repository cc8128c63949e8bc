/* Packs float16 factors; see half_pack.h. Where terms are consecutive in memory, two of them are exchanged as one
 * 32-bit word: half as many shuffles as for floats, and no conversions. Floats are rounded a few lanes and terms at a
 * time, and then packed like the others. */
#include "runtime/kernels/vector/chunked/half_pack.h"

#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/vector.h"

enum { PAIRED = 2 * FIRN_VECTOR }; /* terms of a square of pairs */

/* Where a term of FIRN_VECTOR lanes goes: one of the two pointers is NULL. */
typedef struct place {
    firn_half_factor *factors;
    uint16_t *halves;
    size_t width; /* elements from term to term */
} place;

/* Each word holds a half below 16 zeros. */
static inline __attribute__((always_inline)) void put_words(const place *to, const bool is_left, size_t term,
                                                            firn_words words) {
    if (is_left)
        firn_half_factors_store(to->factors + term * to->width, words);
    else
        firn_halves_store_some(to->halves + term * to->width, firn_first_lanes(FIRN_VECTOR),
                               firn_halves_from_words(words));
}

/* --- lanes that are consecutive in memory ------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void
pack_straight(const place *to, const bool is_left, const uint16_t *from, size_t step, size_t terms, firn_lanes lanes) {
    for (size_t term = 0; term < terms; term++, from += step) {
        const firn_vector_halves halves = firn_halves_load_some(lanes, from);
        if (is_left)
            firn_half_factors_store(to->factors + term * to->width, firn_words_from_halves(halves));
        else
            firn_halves_store_some(to->halves + term * to->width, firn_first_lanes(FIRN_VECTOR), halves);
    }
}

/* --- terms that are consecutive in memory ------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) firn_vector load_pairs(const uint16_t *from, const size_t terms) {
    float pairs[FIRN_VECTOR] = {0};
    memcpy(pairs, from, terms * sizeof *from);
    return firn_vector_load(pairs);
}

/* Packs up to PAIRED terms. */
static inline __attribute__((always_inline)) void pack_square(const place *to, const bool is_left, const uint16_t *from,
                                                              size_t step, size_t term, const size_t terms,
                                                              size_t lanes) {
    static const uint16_t zeros[PAIRED];
    const firn_words low = firn_words_fill(0xffffu);
    firn_vector pairs[FIRN_VECTOR];
    FIRN_UNROLL
    for (size_t lane = 0; lane < FIRN_VECTOR; lane++)
        pairs[lane] = load_pairs(lane < lanes ? from + lane * step + term : zeros, terms);
    firn_vector_transpose(pairs);
    FIRN_UNROLL
    for (size_t i = 0; i < FIRN_VECTOR; i++) {
        const firn_words words = firn_vector_bits(pairs[i]);
        if (2 * i < terms)
            put_words(to, is_left, term + 2 * i, firn_words_and(words, low));
        if (2 * i + 1 < terms)
            put_words(to, is_left, term + 2 * i + 1, firn_words_right(words, 16));
    }
}

static inline __attribute__((always_inline)) void
pack_transposed(const place *to, const bool is_left, const uint16_t *from, size_t step, size_t terms, size_t lanes) {
    const size_t whole = terms - terms % PAIRED;
    for (size_t term = 0; term < whole; term += PAIRED)
        pack_square(to, is_left, from, step, term, PAIRED, lanes);
    if (whole < terms)
        pack_square(to, is_left, from, step, whole, terms - whole, lanes);
}

/* --- either ------------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void pack(const place *to, const bool is_left, const firn_matrix *from,
                                                       size_t first_term, size_t terms, size_t first_lane,
                                                       size_t lanes) {
    const uint16_t *data =
        (const uint16_t *)from->data + from->first + first_term * from->row_step + first_lane * from->column_step;
    if (from->column_step == 1)
        pack_straight(to, is_left, data, from->row_step, terms, firn_first_lanes(lanes));
    else
        pack_transposed(to, is_left, data, from->column_step, terms, lanes);
}

/* Rounds floats to columns: one term of all lanes, or some terms of each, whichever lie side by side. */
static void round_columns(const place *to, const firn_matrix *from, size_t first_term, size_t terms, size_t first_lane,
                          size_t lanes) {
    const float *data =
        (const float *)from->data + from->first + first_term * from->row_step + first_lane * from->column_step;
    const size_t most = from->column_step == 1 ? 1 : PAIRED;
    for (size_t term = 0; term < terms; term += most) {
        uint16_t halves[FIRN_VECTOR][PAIRED];
        const place part = {.halves = to->halves + term * to->width, .width = to->width};
        if (most == 1) {
            firn_narrow(halves[0], FIRN_FLOAT16, 0, data + term * from->row_step, lanes);
            pack_straight(&part, false, halves[0], 0, 1, firn_first_lanes(lanes));
            continue;
        }
        const size_t here = firn_smaller(PAIRED, terms - term);
        for (size_t lane = 0; lane < lanes; lane++)
            firn_narrow(halves[lane], FIRN_FLOAT16, 0, data + lane * from->column_step + term, here);
        pack_transposed(&part, false, halves[0], PAIRED, here, lanes);
    }
}

void firn_half_pack_rows(firn_half_factor *out, const firn_matrix *from, size_t first_term, size_t terms,
                         size_t first_lane, size_t lanes) {
    const place to = {.factors = out, .width = FIRN_VECTOR};
    pack(&to, true, from, first_term, terms, first_lane, lanes);
}

void firn_half_pack_columns(uint16_t *out, size_t width, const firn_matrix *from, size_t first_term, size_t terms,
                            size_t first_lane, size_t lanes) {
    const place to = {.halves = out, .width = width};
    if (from->type >= FIRN_ROUNDED_TO)
        round_columns(&to, from, first_term, terms, first_lane, lanes);
    else
        pack(&to, false, from, first_term, terms, first_lane, lanes);
}
