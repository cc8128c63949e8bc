/* The register tile of attention with the sums of a matrix engine; see attention_tile.h. Blocks of 32 terms are those
 * of queries and keys that attention works in, so all rows of a tile have the same of them. Pairs at the diagonal are
 * added one by one, to the rows that have one of their terms, while the sums stay in registers. How both kinds are
 * computed, engine/tile.c says; the height is a constant here. */
#include "runtime/kernels/vector/engine/attention_tile.h"

#include "plan/ops.h"
#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/engine/flush.h"
#include "runtime/kernels/vector/engine/tile.h"

enum { ROWS = FIRN_ATTENTION_TILE_ROWS, VECTORS = FIRN_ATTENTION_TILE_VECTORS };

_Static_assert(ROWS % 2 == 0, "whole pairs of rows");

typedef firn_vector tile_sums[ROWS][VECTORS];

/* Adds one term to the rows [first, end). */
static inline __attribute__((always_inline)) void add_term(tile_sums sums, const size_t vectors,
                                                           const firn_attention_tile *t, const float *left,
                                                           const float *right, const size_t first, const size_t end) {
    firn_vector line[VECTORS];
    FIRN_UNROLL
    for (size_t v = 0; v < vectors; v++)
        line[v] = firn_flush_factor(firn_vector_load(right + v * FIRN_VECTOR));
    FIRN_UNROLL
    for (size_t row = first; row < end; row++) {
        const firn_vector factor = firn_flush_factor(firn_vector_fill(left[row * t->left_row_step]));
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = firn_flush_fma(factor, line[v], sums[row][v]);
    }
}

static inline __attribute__((always_inline)) void add_zero(tile_sums sums, const size_t vectors, const size_t first,
                                                           const size_t end) {
    FIRN_UNROLL
    for (size_t row = first; row < end; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = firn_flush_add(sums[row][v], firn_vector_zero());
    }
}

static inline __attribute__((always_inline)) void load(tile_sums sums, const size_t vectors,
                                                       const firn_attention_tile *t) {
    FIRN_UNROLL
    for (size_t row = 0; row < ROWS; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] =
                t->begins ? firn_vector_zero() : firn_vector_load(t->sums + row * t->sums_step + v * FIRN_VECTOR);
    }
}

static inline __attribute__((always_inline)) void store(tile_sums sums, const size_t vectors, float *to, size_t step) {
    FIRN_UNROLL
    for (size_t row = 0; row < ROWS; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            firn_vector_store(to + row * step + v * FIRN_VECTOR, sums[row][v]);
    }
}

/* --- pairs -------------------------------------------------------------------------------------------------------- */

/* Adds the pair that begins with a term, to the rows [first, end). The second term comes first; +0 is in its place if
 * `rest`, the number of terms from there on, is 1. */
static inline __attribute__((always_inline)) void add_pair(tile_sums sums, const size_t vectors,
                                                           const firn_attention_tile *t, size_t term, size_t rest,
                                                           const size_t first, const size_t end) {
    const float *left = t->left + term * t->left_term_step, *right = t->right + term * t->right_step;
    if (rest > 1)
        add_term(sums, vectors, t, left + t->left_term_step, right + t->right_step, first, end);
    else
        add_zero(sums, vectors, first, end);
    add_term(sums, vectors, t, left, right, first, end);
}

/* Adds the pairs of the terms [begin, end) to all rows. */
static inline __attribute__((always_inline)) void add_whole(tile_sums sums, const size_t vectors,
                                                            const firn_attention_tile *t, size_t begin, size_t end) {
    const size_t left_step = t->left_term_step, right_step = t->right_step;
    const float *left = t->left + begin * left_step, *right = t->right + begin * right_step;
    size_t term = begin;
    for (; term + 1 < end; term += 2, left += 2 * left_step, right += 2 * right_step) {
        add_term(sums, vectors, t, left + left_step, right + right_step, 0, ROWS);
        add_term(sums, vectors, t, left, right, 0, ROWS);
    }
    if (term < end)
        add_pair(sums, vectors, t, term, 1, 0, ROWS);
}

/* Adds the pairs at the diagonals of the rows. Rows 2p and 2p + 1 share their pair p. */
static inline __attribute__((always_inline)) void add_edge(tile_sums sums, const size_t vectors,
                                                           const firn_attention_tile *t, size_t begin, size_t end,
                                                           const bool up_to) {
    FIRN_UNROLL
    for (size_t pair = 0; pair < ROWS; pair += 2) {
        if (begin + pair < end)
            add_pair(sums, vectors, t, begin + pair, end - begin - pair, up_to ? pair : 0, up_to ? ROWS : pair + 2);
    }
}

static inline __attribute__((always_inline)) void add_pairs(const firn_attention_tile *t, const size_t vectors) {
    tile_sums sums;
    load(sums, vectors, t);
    if (t->present == FIRN_TERMS_ALL) {
        add_whole(sums, vectors, t, 0, t->terms);
    } else {
        const size_t edge = firn_smaller(t->diagonal - t->first_term, t->terms),
                     behind = firn_smaller(edge + ROWS, t->terms);
        if (t->present == FIRN_TERMS_UP_TO_DIAGONAL) {
            add_whole(sums, vectors, t, 0, edge);
            add_edge(sums, vectors, t, edge, behind, true);
        } else {
            add_edge(sums, vectors, t, edge, behind, false);
            add_whole(sums, vectors, t, behind, t->terms);
        }
    }
    store(sums, vectors, t->sums, t->sums_step);
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* The sum of the even terms of a block, or of the odd ones. */
static inline __attribute__((always_inline)) void sum_half(tile_sums sums, const size_t vectors,
                                                           const firn_attention_tile *t, size_t first, size_t terms) {
    const size_t left_step = 2 * t->left_term_step, right_step = 2 * t->right_step;
    const float *left = t->left + first * t->left_term_step, *right = t->right + first * t->right_step;
    FIRN_UNROLL
    for (size_t row = 0; row < ROWS; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = firn_vector_zero();
    }
    for (size_t term = 0; term < terms; term++, left += left_step, right += right_step)
        add_term(sums, vectors, t, left, right, 0, ROWS);
    if (terms < FIRN_ENGINE_BLOCK / 2)
        add_zero(sums, vectors, 0, ROWS);
}

static inline __attribute__((always_inline)) void add_blocks(const firn_attention_tile *t, const size_t vectors) {
    for (size_t term = 0; term < t->terms; term += FIRN_ENGINE_BLOCK) {
        const size_t terms = firn_smaller(FIRN_ENGINE_BLOCK, t->terms - term);
        const bool begins = t->begins && term == 0;
        tile_sums even, odd;
        _Alignas(64) float evens[ROWS][VECTORS * FIRN_VECTOR];
        sum_half(even, vectors, t, term, (terms + 1) / 2);
        store(even, vectors, evens[0], (size_t)VECTORS * FIRN_VECTOR);
        firn_engine_forget_stored();
        sum_half(odd, vectors, t, term + 1, terms / 2);
        firn_engine_forget_stored();
        FIRN_UNROLL
        for (size_t row = 0; row < ROWS; row++) {
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++) {
                float *sum = t->sums + row * t->sums_step + v * FIRN_VECTOR;
                const firn_vector both = firn_flush_add(firn_vector_load(evens[row] + v * FIRN_VECTOR), odd[row][v]);
                firn_vector_store(sum, firn_flush_add(begins ? firn_vector_zero() : firn_vector_load(sum), both));
            }
        }
    }
}

/* --- in the mode that flushes ------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void add_blocks_narrow(const firn_attention_tile *t) {
    add_blocks(t, 1);
}

static __attribute__((noinline)) void add_blocks_wide(const firn_attention_tile *t) {
    add_blocks(t, VECTORS);
}

static __attribute__((noinline)) void add_pairs_narrow(const firn_attention_tile *t) {
    add_pairs(t, 1);
}

static __attribute__((noinline)) void add_pairs_wide(const firn_attention_tile *t) {
    add_pairs(t, VECTORS);
}

void firn_engine_attention_tile_add(const firn_attention_tile *tile) {
    const bool is_wide = tile->columns > FIRN_VECTOR;
    if (tile->reduction->kind == FIRN_REDUCTION_EVEN_ODD_BLOCKS)
        (is_wide ? add_blocks_wide : add_blocks_narrow)(tile);
    else
        (is_wide ? add_pairs_wide : add_pairs_narrow)(tile);
}
