/* Packs float16 factors; see half_pack.h. Where terms are consecutive in memory, two of them are exchanged as one
 * 32-bit word: half as many shuffles as for floats, and no conversions. The words of columns 0, 2, 4 ... and those of
 * columns 1, 3, 5 ... are exchanged apart, so that a term of both together is one mix of two registers. Floats are
 * rounded a few lanes and terms at a time, and then packed like the others. */
#include "runtime/kernels/vector/chunked/half_pack.h"

#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/vector.h"

enum {
    PAIRED = 2 * FIRN_VECTOR, /* terms of a square of pairs */
    LANES = 2 * FIRN_VECTOR   /* columns that are packed together */
};

/* Lanes whose terms are consecutive in memory: lane l begins at from + l * step. */
typedef struct lanes {
    const uint16_t *from;
    size_t step, count;
} lanes;

/* --- pairs of terms ----------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) firn_vector load_pairs(const uint16_t *from, const size_t terms) {
    float pairs[FIRN_VECTOR] = {0};
    memcpy(pairs, from, terms * sizeof *from);
    return firn_vector_load(pairs);
}

/* Loads up to PAIRED terms of the lanes first, first + every, first + 2 every ... and exchanges lanes and pairs of
 * terms: word l of pairs[i] has the terms 2i and 2i + 1 of lane first + l every. */
static inline __attribute__((always_inline)) void load_square(firn_vector pairs[FIRN_VECTOR], const lanes *of,
                                                              const size_t first, const size_t every, size_t term,
                                                              const size_t terms) {
    static const uint16_t zeros[PAIRED];
    FIRN_UNROLL
    for (size_t i = 0; i < FIRN_VECTOR; i++) {
        const size_t lane = first + i * every;
        pairs[i] = load_pairs(lane < of->count ? of->from + lane * of->step + term : zeros, terms);
    }
    firn_vector_transpose(pairs);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* Reads a term of all strips before the next one, because it lies on other cache lines. */
static void pack_straight_rows(firn_half_factor *out, size_t height, size_t step, const firn_matrix *from,
                               const uint16_t *data, size_t terms, size_t lane_count) {
    for (size_t term = 0; term < terms; term++, data += from->row_step)
        for (size_t lane = 0, strip = 0; lane < lane_count; lane += height, strip += step)
            firn_half_factors_store(
                out + strip + term * FIRN_VECTOR,
                firn_words_from_halves(firn_halves_load_some(firn_first_lanes(lane_count - lane), data + lane)));
}

static inline __attribute__((always_inline)) void pack_square_of_rows(firn_half_factor *out, const lanes *of,
                                                                      size_t term, const size_t terms) {
    firn_vector pairs[FIRN_VECTOR];
    load_square(pairs, of, 0, 1, term, terms);
    out += term * FIRN_VECTOR;
    FIRN_UNROLL
    for (size_t i = 0; i < FIRN_VECTOR; i++) {
        const firn_words words = firn_vector_bits(pairs[i]);
        if (2 * i < terms)
            firn_half_factors_store_low(out + 2 * i * FIRN_VECTOR, words);
        if (2 * i + 1 < terms)
            firn_half_factors_store_high(out + (2 * i + 1) * FIRN_VECTOR, words);
    }
}

static void pack_turned_rows(firn_half_factor *out, const lanes *of, size_t terms) {
    const size_t whole = terms - terms % PAIRED;
    for (size_t term = 0; term < whole; term += PAIRED)
        pack_square_of_rows(out, of, term, PAIRED);
    if (whole < terms)
        pack_square_of_rows(out, of, whole, terms - whole);
}

void firn_half_pack_rows(firn_half_factor *out, size_t height, size_t step, const firn_matrix *from, size_t first_term,
                         size_t terms, size_t first_lane, size_t lane_count) {
    const uint16_t *data =
        (const uint16_t *)from->data + from->first + first_term * from->row_step + first_lane * from->column_step;
    if (from->column_step == 1) {
        pack_straight_rows(out, height, step, from, data, terms, lane_count);
        return;
    }
    for (size_t lane = 0; lane < lane_count; lane += height, out += step) {
        const lanes of = {data + lane * from->column_step, from->column_step, firn_smaller(height, lane_count - lane)};
        pack_turned_rows(out, &of, terms);
    }
}

/* --- columns ------------------------------------------------------------------------------------------------------ */

static inline void copy_lanes(uint16_t *to, const uint16_t *from, size_t columns) {
    uint16_t line[LANES] = {0};
    if (columns >= LANES) {
        memcpy(to, from, sizeof line);
        return;
    }
    memcpy(line, from, columns * sizeof *line);
    memcpy(to, line, sizeof line);
}

/* Reads a term of all panels before the next one, because it lies on other cache lines. */
static void pack_straight_columns(uint16_t *out, size_t width, size_t step, const uint16_t *from, size_t from_step,
                                  size_t terms, size_t columns) {
    for (size_t term = 0; term < terms; term++, from += from_step)
        for (size_t panel = 0; panel * width < columns; panel++) {
            const size_t first = panel * width, end = firn_smaller(first + width, columns);
            for (size_t column = first; column < end; column += LANES)
                copy_lanes(out + panel * step + term * width + column - first, from + column, end - column);
        }
}

static inline void store_words(uint16_t *out, firn_words words) {
    memcpy(out, &words, sizeof words);
}

static inline __attribute__((always_inline)) void pack_square_of_columns(uint16_t *out, size_t width, const lanes *of,
                                                                         size_t term, const size_t terms) {
    firn_vector even[FIRN_VECTOR], odd[FIRN_VECTOR];
    load_square(even, of, 0, 2, term, terms);
    load_square(odd, of, 1, 2, term, terms);
    out += term * width;
    FIRN_UNROLL
    for (size_t i = 0; i < FIRN_VECTOR; i++) {
        const firn_words left = firn_vector_bits(even[i]), right = firn_vector_bits(odd[i]);
        if (2 * i < terms)
            store_words(out + 2 * i * width, firn_words_mix(0xffff0000u, firn_words_left(right, 16), left));
        if (2 * i + 1 < terms)
            store_words(out + (2 * i + 1) * width, firn_words_mix(0xffff0000u, right, firn_words_right(left, 16)));
    }
}

static void pack_turned_columns(uint16_t *out, size_t width, const lanes *of, size_t terms) {
    const size_t whole = terms - terms % PAIRED;
    for (size_t term = 0; term < whole; term += PAIRED)
        pack_square_of_columns(out, width, of, term, PAIRED);
    if (whole < terms)
        pack_square_of_columns(out, width, of, whole, terms - whole);
}

/* Rounds floats to columns: one term of all lanes, or some terms of each, whichever lie side by side. */
static void round_columns(uint16_t *out, size_t width, const firn_matrix *from, const float *data, size_t terms,
                          size_t columns) {
    const size_t most = from->column_step == 1 ? 1 : PAIRED;
    for (size_t term = 0; term < terms; term += most) {
        uint16_t halves[LANES][PAIRED];
        uint16_t *to = out + term * width;
        if (most == 1) {
            firn_narrow(halves[0], FIRN_FLOAT16, 0, data + term * from->row_step, columns);
            copy_lanes(to, halves[0], columns);
            continue;
        }
        const size_t here = firn_smaller(PAIRED, terms - term);
        for (size_t lane = 0; lane < columns; lane++)
            firn_narrow(halves[lane], FIRN_FLOAT16, 0, data + lane * from->column_step + term, here);
        pack_turned_columns(to, width, &(lanes){halves[0], PAIRED, columns}, here);
    }
}

/* Packs at most LANES columns. */
static void pack_some_columns(uint16_t *out, size_t width, const firn_matrix *from, size_t first, size_t terms,
                              size_t columns) {
    const lanes of = {(const uint16_t *)from->data + first, from->column_step, columns};
    if (from->type >= FIRN_ROUNDED_TO)
        round_columns(out, width, from, (const float *)from->data + first, terms, columns);
    else
        pack_turned_columns(out, width, &of, terms);
}

void firn_half_pack_columns(uint16_t *out, size_t width, size_t step, const firn_matrix *from, size_t first_term,
                            size_t terms, size_t first_column, size_t columns) {
    const size_t first = from->first + first_term * from->row_step + first_column * from->column_step;
    if (from->type < FIRN_ROUNDED_TO && from->column_step == 1) {
        pack_straight_columns(out, width, step, (const uint16_t *)from->data + first, from->row_step, terms, columns);
        return;
    }
    for (size_t column = 0; column < columns; column += LANES)
        pack_some_columns(out + column / width * step + column % width, width, from, first + column * from->column_step,
                          terms, firn_smaller(LANES, columns - column));
}
