/* The loops of a register tile of flushed sums, for the files that compile them: tile.c and images/placed.c. A sum of
 * even_odd_blocks needs two accumulators. So that a tile is as high as one of float32 sums, a block is read twice:
 * first the even terms are added, then the odd ones, and the sums wait in memory meanwhile. A missing term adds
 * (+0)(+0), which only turns a -0 into +0, so one addition of +0 is enough for all that are missing. The loops run in
 * the mode of flush.h. `how` is a constant after inlining; `rows` and `vectors` are, too. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_FLUSHED_H
#define FIRN_KERNELS_VECTOR_ENGINE_FLUSHED_H

#include <stdbool.h>

#include "runtime/kernels/vector/engine/flush.h"
#include "runtime/kernels/vector/engine/tile.h"

/* Where the factors of a term lie, in floats behind those that the tile names. */
typedef struct firn_term_place {
    uint32_t left, right;
} firn_term_place;

typedef enum firn_terms_layout {
    FIRN_TERMS_APART,    /* equally far from each other */
    FIRN_TERMS_PLACED,   /* at places */
    FIRN_TERMS_BY_COLUMN /* at places, and the left factor of column c lies c elements behind that of column 0 */
} firn_terms_layout;

/* Adds `terms` terms, every `step`-th from `first` on, to sums in registers. */
static inline __attribute__((always_inline)) void
firn_flushed_add_terms(const size_t rows, const firn_register_tile *t, const firn_term_place *places,
                       const firn_terms_layout how, const size_t vectors, firn_vector (*sums)[2], size_t first,
                       const ptrdiff_t step, size_t terms) {
    const bool apart = how == FIRN_TERMS_APART;
    const size_t row_step = t->left_row_step;
    const ptrdiff_t left_step = step * t->left_term_step, right_step = step * (ptrdiff_t)t->right_step;
    const float *left = t->left + (apart ? (ptrdiff_t)first * t->left_term_step : 0);
    const float *right = t->right + (apart ? first * t->right_step : 0);
    const firn_term_place *place = apart ? NULL : places + first;
    for (size_t term = 0; term < terms; term++) {
        const float *own = apart ? left : left + place->left, *line_at = apart ? right : right + place->right;
        firn_vector line[2];
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            line[v] = firn_flush_factor(firn_vector_load(line_at + v * FIRN_VECTOR));
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row++) {
            firn_vector factor = firn_vector_zero();
            if (how != FIRN_TERMS_BY_COLUMN)
                factor = firn_flush_factor(firn_vector_fill(own[row * row_step]));
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++) {
                if (how == FIRN_TERMS_BY_COLUMN)
                    factor = firn_flush_factor(firn_vector_load(own + row * row_step + v * FIRN_VECTOR));
                sums[row][v] = firn_flush_fma(factor, line[v], sums[row][v]);
            }
        }
        if (apart) {
            left += left_step;
            right += right_step;
        } else {
            place += step;
        }
    }
}

static inline __attribute__((always_inline)) void firn_flushed_add_zero(const size_t rows, const size_t vectors,
                                                                        firn_vector (*sums)[2]) {
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = firn_flush_add(sums[row][v], firn_vector_zero());
    }
}

/* The sum of the even terms of a block, or of the odd ones. Where the block is the first of a sum, the zeros behind the
 * last term matter to no sum: that of the two halves is added to +0, and so is no -0. */
static inline __attribute__((always_inline)) void firn_flushed_sum_half(const size_t rows, const firn_register_tile *t,
                                                                        const firn_term_place *places,
                                                                        const firn_terms_layout how,
                                                                        const size_t vectors, firn_vector (*sums)[2],
                                                                        size_t first, size_t terms, bool is_first) {
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = firn_vector_zero();
    }
    firn_flushed_add_terms(rows, t, places, how, vectors, sums, first, 2, terms);
    if (terms < FIRN_ENGINE_BLOCK / 2 && !is_first)
        firn_flushed_add_zero(rows, vectors, sums);
}

/* Adds blocks of even_odd_blocks to sums that are whole registers in memory. */
static inline __attribute__((always_inline)) void
firn_flushed_add_blocks(const size_t rows, const firn_register_tile *t, const size_t vectors,
                        const firn_term_place *places, const firn_terms_layout how) {
    if (rows > FIRN_REGISTER_ROWS)
        __builtin_unreachable();
    for (size_t term = 0; term < t->terms; term += FIRN_ENGINE_BLOCK) {
        const size_t rest = t->terms - term, terms = rest < FIRN_ENGINE_BLOCK ? rest : FIRN_ENGINE_BLOCK;
        const bool is_first = t->begins && term == 0;
        firn_vector even[FIRN_REGISTER_ROWS][2], odd[FIRN_REGISTER_ROWS][2];
        _Alignas(64) float evens[FIRN_REGISTER_ROWS][FIRN_REGISTER_COLUMNS];
        firn_flushed_sum_half(rows, t, places, how, vectors, even, term, (terms + 1) / 2, is_first);
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row++) {
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++)
                firn_vector_store(evens[row] + v * FIRN_VECTOR, even[row][v]);
        }
        firn_engine_forget_stored();
        firn_flushed_sum_half(rows, t, places, how, vectors, odd, term + 1, terms / 2, is_first);
        firn_engine_forget_stored();
        float *sums = t->sums;
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row++, sums += t->sums_step) {
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++) {
                float *sum = sums + v * FIRN_VECTOR;
                const firn_vector both = firn_flush_add(firn_vector_load(evens[row] + v * FIRN_VECTOR), odd[row][v]);
                firn_vector_store(sum, firn_flush_add(is_first ? firn_vector_zero() : firn_vector_load(sum), both));
            }
        }
    }
}

/* Adds pairs to sums that are whole registers in memory. Within a pair the second term comes first. */
static inline __attribute__((always_inline)) void firn_flushed_add_pairs(const size_t rows, const firn_register_tile *t,
                                                                         const size_t vectors,
                                                                         const firn_term_place *places,
                                                                         const firn_terms_layout how) {
    if (rows > FIRN_REGISTER_ROWS)
        __builtin_unreachable();
    firn_vector sums[FIRN_REGISTER_ROWS][2];
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] =
                t->begins ? firn_vector_zero() : firn_vector_load(t->sums + row * t->sums_step + v * FIRN_VECTOR);
    }
    for (size_t term = 0; term + 1 < t->terms; term += 2)
        firn_flushed_add_terms(rows, t, places, how, vectors, sums, term + 1, -1, 2);
    if (t->terms % 2 != 0) {
        firn_flushed_add_zero(rows, vectors, sums);
        firn_flushed_add_terms(rows, t, places, how, vectors, sums, t->terms - 1, 1, 1);
    }
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            firn_vector_store(t->sums + row * t->sums_step + v * FIRN_VECTOR, sums[row][v]);
    }
}

#endif
