/* The register tile of flushed sums with a left factor for each column; see channels.h. As in the tile of
 * vector/engine, a block of even_odd_blocks is read twice, and its even sums wait in memory meanwhile. */
#include "runtime/kernels/vector/images/channels.h"

#include "plan/ops.h"
#include "runtime/kernels/vector/engine/flush.h"
#include "runtime/kernels/vector/engine/tile.h"
#include "runtime/kernels/vector/heights.h"

enum { WIDTH = FIRN_REGISTER_COLUMNS };

/* Adds `terms` terms, every `step`-th from `first` on, to sums in registers. */
static inline __attribute__((always_inline)) void add_terms(const size_t rows, const firn_channels_tile *t,
                                                            const size_t vectors, firn_vector (*sums)[2], size_t first,
                                                            ptrdiff_t step, size_t terms) {
    const firn_channel_term *left = t->left + first;
    const float *right = t->right + first * WIDTH;
    for (size_t term = 0; term < terms; term++, left += step, right += step * WIDTH) {
        firn_vector line[2];
        const float *own = left->left + t->left_first;
        const size_t row_step = left->row_step;
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            line[v] = firn_flush_factor(firn_vector_load(right + v * FIRN_VECTOR));
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row++, own += row_step) {
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++)
                sums[row][v] =
                    firn_flush_fma(firn_flush_factor(firn_vector_load(own + v * FIRN_VECTOR)), line[v], sums[row][v]);
        }
    }
}

static inline __attribute__((always_inline)) void add_zero(const size_t rows, const size_t vectors,
                                                           firn_vector (*sums)[2]) {
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = firn_flush_add(sums[row][v], firn_vector_zero());
    }
}

/* The sum of the even terms of a block, or of the odd ones. Where the block is the first, the zeros behind the last
 * term matter to no sum: that of the two sums is added to +0, and so is no -0. */
static inline __attribute__((always_inline)) void sum_half(const size_t rows, const firn_channels_tile *t,
                                                           const size_t vectors, firn_vector (*sums)[2], size_t first,
                                                           size_t terms, bool is_first) {
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = firn_vector_zero();
    }
    add_terms(rows, t, vectors, sums, first, 2, terms);
    if (terms < FIRN_ENGINE_BLOCK / 2 && !is_first)
        add_zero(rows, vectors, sums);
}

static inline __attribute__((always_inline)) void add_blocks(const size_t rows, const firn_channels_tile *t,
                                                             const size_t vectors) {
    if (rows > FIRN_REGISTER_ROWS)
        __builtin_unreachable();
    for (size_t term = 0; term < t->count; term += FIRN_ENGINE_BLOCK) {
        const size_t rest = t->count - term, terms = rest < FIRN_ENGINE_BLOCK ? rest : FIRN_ENGINE_BLOCK;
        const bool is_first = t->begins && term == 0;
        firn_vector even[FIRN_REGISTER_ROWS][2], odd[FIRN_REGISTER_ROWS][2];
        _Alignas(64) float evens[FIRN_REGISTER_ROWS][WIDTH];
        sum_half(rows, t, vectors, even, term, (terms + 1) / 2, is_first);
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row++) {
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++)
                firn_vector_store(evens[row] + v * FIRN_VECTOR, even[row][v]);
        }
        firn_engine_forget_stored();
        sum_half(rows, t, vectors, odd, term + 1, terms / 2, is_first);
        firn_engine_forget_stored();
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row++) {
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++) {
                float *sum = t->sums + row * WIDTH + v * FIRN_VECTOR;
                const firn_vector both = firn_flush_add(firn_vector_load(evens[row] + v * FIRN_VECTOR), odd[row][v]);
                firn_vector_store(sum, firn_flush_add(is_first ? firn_vector_zero() : firn_vector_load(sum), both));
            }
        }
    }
}

/* Within a pair the second term comes first. */
static inline __attribute__((always_inline)) void add_pairs(const size_t rows, const firn_channels_tile *t,
                                                            const size_t vectors) {
    if (rows > FIRN_REGISTER_ROWS)
        __builtin_unreachable();
    firn_vector sums[FIRN_REGISTER_ROWS][2];
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = t->begins ? firn_vector_zero() : firn_vector_load(t->sums + row * WIDTH + v * FIRN_VECTOR);
    }
    for (size_t term = 0; term + 1 < t->count; term += 2)
        add_terms(rows, t, vectors, sums, term + 1, -1, 2);
    if (t->count % 2 != 0) {
        add_zero(rows, vectors, sums);
        add_terms(rows, t, vectors, sums, t->count - 1, 1, 1);
    }
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            firn_vector_store(t->sums + row * WIDTH + v * FIRN_VECTOR, sums[row][v]);
    }
}

/* --- in the mode that flushes ------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void add_blocks_narrow(const firn_channels_tile *t) {
    switch (t->rows) { FIRN_HEIGHT_CASES(add_blocks, t, 1) }
}

static __attribute__((noinline)) void add_blocks_wide(const firn_channels_tile *t) {
    switch (t->rows) { FIRN_HEIGHT_CASES(add_blocks, t, 2) }
}

static __attribute__((noinline)) void add_pairs_narrow(const firn_channels_tile *t) {
    switch (t->rows) { FIRN_HEIGHT_CASES(add_pairs, t, 1) }
}

static __attribute__((noinline)) void add_pairs_wide(const firn_channels_tile *t) {
    switch (t->rows) { FIRN_HEIGHT_CASES(add_pairs, t, 2) }
}

void firn_channels_add(uint8_t kind, const firn_channels_tile *tile) {
    const bool is_wide = tile->columns > FIRN_VECTOR;
    const unsigned mode = firn_flush_begin();
    if (kind == FIRN_REDUCTION_EVEN_ODD_BLOCKS)
        (is_wide ? add_blocks_wide : add_blocks_narrow)(tile);
    else
        (is_wide ? add_pairs_wide : add_pairs_narrow)(tile);
    firn_flush_end(mode);
}

void firn_channels_end(const firn_channels_tile *tile, const float *bias) {
    for (size_t column = 0; column < tile->columns; column += FIRN_VECTOR) {
        const firn_vector line = bias != NULL ? firn_vector_load(bias + column) : firn_vector_zero();
        for (size_t row = 0; row < tile->rows; row++) {
            float *sum = tile->sums + row * WIDTH + column;
            const firn_vector x = firn_vector_load(sum);
            firn_vector_store(sum, firn_vector_canonical(bias != NULL ? firn_vector_add(x, line) : x));
        }
    }
}
