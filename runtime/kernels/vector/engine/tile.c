/* The register tile with the sums of a matrix engine; see tile.h. A sum of even_odd_blocks needs two accumulators. So
 * that a tile is as high as one of float32 sums, a block is read twice: first the even terms are added, then the odd
 * ones, and the sums wait in memory meanwhile. A missing term adds (+0)(+0), which only turns a -0 into +0, so one
 * addition of +0 is enough for all that are missing. */
#include "runtime/kernels/vector/engine/tile.h"

#include <stdbool.h>

#include "plan/ops.h"
#include "runtime/kernels/vector/engine/flush.h"
#include "runtime/kernels/vector/heights.h"

/* Adds `terms` terms, every `step`-th from `first` on, to sums in registers. */
static inline __attribute__((always_inline)) void add_terms(const size_t rows, const firn_register_tile *t,
                                                            const size_t vectors, firn_vector (*sums)[2], size_t first,
                                                            ptrdiff_t step, size_t terms) {
    const size_t row_step = t->left_row_step;
    const ptrdiff_t left_step = step * t->left_term_step, right_step = step * (ptrdiff_t)t->right_step;
    const float *left = t->left + (ptrdiff_t)first * t->left_term_step, *right = t->right + first * t->right_step;
    for (size_t term = 0; term < terms; term++, left += left_step, right += right_step) {
        firn_vector line[2];
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            line[v] = firn_flush_factor(firn_vector_load(right + v * FIRN_VECTOR));
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row++) {
            const firn_vector factor = firn_flush_factor(firn_vector_fill(left[row * row_step]));
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++)
                sums[row][v] = firn_flush_fma(factor, line[v], sums[row][v]);
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

/* The sum of the even terms of a block, or of the odd ones. */
static inline __attribute__((always_inline)) void sum_half(const size_t rows, const firn_register_tile *t,
                                                           const size_t vectors, firn_vector (*sums)[2], size_t first,
                                                           size_t terms) {
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = firn_vector_zero();
    }
    add_terms(rows, t, vectors, sums, first, 2, terms);
    if (terms < FIRN_ENGINE_BLOCK / 2)
        add_zero(rows, vectors, sums);
}

/* The sums of these two are whole registers in memory. */
static inline __attribute__((always_inline)) void add_blocks(const size_t rows, const firn_register_tile *t,
                                                             const size_t vectors) {
    if (rows > FIRN_REGISTER_ROWS)
        __builtin_unreachable();
    for (size_t term = 0; term < t->terms; term += FIRN_ENGINE_BLOCK) {
        const size_t rest = t->terms - term, terms = rest < FIRN_ENGINE_BLOCK ? rest : FIRN_ENGINE_BLOCK;
        firn_vector even[FIRN_REGISTER_ROWS][2], odd[FIRN_REGISTER_ROWS][2];
        _Alignas(64) float evens[FIRN_REGISTER_ROWS][FIRN_REGISTER_COLUMNS];
        sum_half(rows, t, vectors, even, term, (terms + 1) / 2);
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row++) {
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++)
                firn_vector_store(evens[row] + v * FIRN_VECTOR, even[row][v]);
        }
        firn_engine_forget_stored();
        sum_half(rows, t, vectors, odd, term + 1, terms / 2);
        firn_engine_forget_stored();
        float *sums = t->sums;
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row++, sums += t->sums_step) {
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++) {
                float *sum = sums + v * FIRN_VECTOR;
                const firn_vector both = firn_flush_add(firn_vector_load(evens[row] + v * FIRN_VECTOR), odd[row][v]);
                firn_vector_store(sum, firn_flush_add(firn_vector_load(sum), both));
            }
        }
    }
}

/* Within a pair the second term comes first. */
static inline __attribute__((always_inline)) void add_pairs(const size_t rows, const firn_register_tile *t,
                                                            const size_t vectors) {
    if (rows > FIRN_REGISTER_ROWS)
        __builtin_unreachable();
    firn_vector sums[FIRN_REGISTER_ROWS][2];
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = firn_vector_load(t->sums + row * t->sums_step + v * FIRN_VECTOR);
    }
    for (size_t term = 0; term + 1 < t->terms; term += 2)
        add_terms(rows, t, vectors, sums, term + 1, -1, 2);
    if (t->terms % 2 != 0) {
        add_zero(rows, vectors, sums);
        add_terms(rows, t, vectors, sums, t->terms - 1, 1, 1);
    }
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            firn_vector_store(t->sums + row * t->sums_step + v * FIRN_VECTOR, sums[row][v]);
    }
}

/* --- in the mode that flushes ------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void add_blocks_narrow(const firn_register_tile *t) {
    switch (t->rows) { FIRN_HEIGHT_CASES(add_blocks, t, 1) }
}

static __attribute__((noinline)) void add_blocks_wide(const firn_register_tile *t) {
    switch (t->rows) { FIRN_HEIGHT_CASES(add_blocks, t, 2) }
}

static __attribute__((noinline)) void add_pairs_narrow(const firn_register_tile *t) {
    switch (t->rows) { FIRN_HEIGHT_CASES(add_pairs, t, 1) }
}

static __attribute__((noinline)) void add_pairs_wide(const firn_register_tile *t) {
    switch (t->rows) { FIRN_HEIGHT_CASES(add_pairs, t, 2) }
}

static void begin_sums(const firn_register_tile *t) {
    for (size_t row = 0; row < t->rows; row++)
        for (size_t column = 0; column < t->columns; column += FIRN_VECTOR)
            firn_vector_store(t->sums + row * t->sums_step + column, firn_vector_zero());
}

void firn_engine_tile_add(uint8_t kind, const firn_register_tile *tile) {
    const bool is_wide = tile->columns > FIRN_VECTOR;
    if (tile->begins)
        begin_sums(tile);
    if (kind == FIRN_REDUCTION_EVEN_ODD_BLOCKS)
        (is_wide ? add_blocks_wide : add_blocks_narrow)(tile);
    else
        (is_wide ? add_pairs_wide : add_pairs_narrow)(tile);
}

/* --- a tile of any width ------------------------------------------------------------------------------------------ */

static void load(const firn_register_tile *t, const firn_register_tile *whole) {
    for (size_t row = 0; row < t->rows; row++)
        for (size_t column = 0; column < t->columns; column += FIRN_VECTOR)
            firn_vector_store(
                whole->sums + row * whole->sums_step + column,
                firn_vector_load_some(firn_first_lanes(t->columns - column), t->sums + row * t->sums_step + column));
}

/* Adds the bias and stores the sums, which may be there already. */
static void store(const firn_register_tile *t, const firn_register_tile *whole) {
    for (size_t column = 0; column < t->columns; column += FIRN_VECTOR) {
        const firn_lanes lanes = firn_first_lanes(t->columns - column);
        const firn_vector bias = t->bias != NULL ? firn_vector_load_some(lanes, t->bias + column) : firn_vector_zero();
        for (size_t row = 0; row < t->rows; row++) {
            const firn_vector sum = firn_vector_load(whole->sums + row * whole->sums_step + column);
            firn_vector_store_some(t->sums + row * t->sums_step + column, lanes,
                                   firn_vector_canonical(t->bias != NULL ? firn_vector_add(sum, bias) : sum));
        }
    }
}

void firn_engine_tile_multiply(uint8_t kind, const firn_register_tile *tile) {
    _Alignas(64) float own[FIRN_REGISTER_ROWS][FIRN_REGISTER_COLUMNS];
    firn_register_tile whole = *tile;
    if (tile->columns % FIRN_VECTOR != 0) {
        whole.sums = own[0];
        whole.sums_step = FIRN_REGISTER_COLUMNS;
        if (!tile->begins)
            load(tile, &whole);
    }
    const unsigned mode = firn_flush_begin();
    firn_engine_tile_add(kind, &whole);
    firn_flush_end(mode);
    store(tile, &whole);
}
