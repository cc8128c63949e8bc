/* What a product of one row does with its other factor: elements are loaded, transposed and prefetched in the order of
 * memory. row.c walks the weight of a linear layer so, heads.c the keys and values of a session. Sums belong to these
 * files; the functions here only add terms, in ascending order. */
#ifndef FIRN_KERNELS_VECTOR_TOKEN_WALK_H
#define FIRN_KERNELS_VECTOR_TOKEN_WALK_H

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/convert.h"

enum {
    FIRN_LINE = 64,   /* bytes of a cache line */
    FIRN_TURNED = 16, /* columns that are transposed together: enough independent sums to hide most of an fma */
    FIRN_TURNED_VECTORS = FIRN_TURNED / FIRN_VECTOR
};

/* --- the factor --------------------------------------------------------------------------------------------------- */

/* Loads elements; with `rounds` they are float32, and rounded to the type. Unselected lanes are +0. */
static inline __attribute__((always_inline)) firn_vector firn_factor_load(uint8_t type, bool rounds, const void *data,
                                                                          size_t index, firn_lanes lanes) {
    return rounds ? firn_vector_round(type, firn_vector_widen(data, FIRN_FLOAT32, index, lanes))
                  : firn_vector_widen(data, type, index, lanes);
}

static inline __attribute__((always_inline)) size_t firn_factor_bytes(uint8_t type, bool rounds) {
    return rounds || type == FIRN_FLOAT32 ? sizeof(float) : sizeof(uint16_t);
}

/* --- prefetching -------------------------------------------------------------------------------------------------- */

/* Segments of memory whose lines are prefetched one after the other. */
typedef struct firn_lines {
    const uint8_t *segment;
    size_t at, bytes; /* in the segment, and of each segment */
    size_t step;      /* bytes from one segment to the next */
} firn_lines;

static inline void firn_lines_next(firn_lines *lines) {
    lines->at += FIRN_LINE;
    if (lines->at < lines->bytes)
        return;
    lines->at = 0;
    lines->segment += lines->step;
}

static inline void firn_lines_prefetch(firn_lines *lines, bool far) {
    if (far)
        firn_prefetch_far(lines->segment + lines->at);
    else
        firn_prefetch_near(lines->segment + lines->at);
    firn_lines_next(lines);
}

/* --- columns whose terms are consecutive -------------------------------------------------------------------------- */

/* At most FIRN_TURNED columns of a factor; term 0 of the first one is element `index`. */
typedef struct firn_turned {
    const void *data;
    size_t index, column_step, columns;
} firn_turned;

/* Loads a square from column `first` and term `term` on, and transposes it: register t then has term t of each column.
 * Columns that do not exist, and terms that `terms` does not select, are +0. */
static inline __attribute__((always_inline)) void firn_turned_load(uint8_t type, bool rounds, const firn_turned *from,
                                                                   size_t first, size_t term, firn_lanes terms,
                                                                   firn_vector square[FIRN_VECTOR]) {
    const size_t index = from->index + first * from->column_step + term;
    FIRN_UNROLL
    for (size_t i = 0; i < FIRN_VECTOR; i++)
        square[i] = first + i < from->columns
                        ? firn_factor_load(type, rounds, from->data, index + i * from->column_step, terms)
                        : firn_vector_zero();
    firn_vector_transpose(square);
}

/* Adds a register of terms, from `term` on, to the sums of FIRN_TURNED columns. row: the other factors of the terms. */
static inline __attribute__((always_inline)) void firn_turned_add_whole(uint8_t type, bool rounds,
                                                                        const firn_turned *from, size_t term,
                                                                        const float *row,
                                                                        firn_vector sums[FIRN_TURNED_VECTORS]) {
    firn_turned whole = *from;
    whole.columns = FIRN_TURNED;
    firn_vector squares[FIRN_TURNED_VECTORS][FIRN_VECTOR];
    FIRN_UNROLL
    for (size_t v = 0; v < FIRN_TURNED_VECTORS; v++)
        firn_turned_load(type, rounds, &whole, v * FIRN_VECTOR, term, firn_first_lanes(FIRN_VECTOR), squares[v]);
    FIRN_UNROLL
    for (size_t i = 0; i < FIRN_VECTOR; i++) {
        const firn_vector factor = firn_vector_fill(row[i]);
        FIRN_UNROLL
        for (size_t v = 0; v < FIRN_TURNED_VECTORS; v++)
            sums[v] = firn_vector_fma(factor, squares[v][i], sums[v]);
    }
}

/* Adds at most a register of terms to the sums of the columns that exist. */
static inline __attribute__((always_inline)) void firn_turned_add_some(uint8_t type, bool rounds,
                                                                       const firn_turned *from, size_t term,
                                                                       size_t terms, const float *row,
                                                                       firn_vector sums[FIRN_TURNED_VECTORS]) {
    firn_vector square[FIRN_VECTOR];
    for (size_t v = 0; v < FIRN_TURNED_VECTORS && v * FIRN_VECTOR < from->columns; v++) {
        firn_turned_load(type, rounds, from, v * FIRN_VECTOR, term, firn_first_lanes(terms), square);
        for (size_t i = 0; i < terms; i++)
            sums[v] = firn_vector_fma(firn_vector_fill(row[i]), square[i], sums[v]);
    }
}

static inline __attribute__((always_inline)) void firn_turned_store(const firn_turned *from, float *to,
                                                                    const firn_vector sums[FIRN_TURNED_VECTORS]) {
    FIRN_UNROLL
    for (size_t v = 0; v < FIRN_TURNED_VECTORS; v++) {
        const size_t before = v * FIRN_VECTOR;
        if (before < from->columns)
            firn_vector_store_some(to + before, firn_first_lanes(from->columns - before), sums[v]);
    }
}

#endif
