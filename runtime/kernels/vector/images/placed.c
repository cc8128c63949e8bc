/* The register tile of flushed sums whose terms have places; see placed.h. A sum of even_odd_blocks needs two
 * accumulators. So that a tile is as high as one of float32 sums, a block is read twice: first the even terms are
 * added, then the odd ones, and the sums wait in memory meanwhile. A missing term adds (+0)(+0), which only turns a -0
 * into +0, so one addition of +0 is enough for all that are missing. `how`, `rows` and `vectors` are constants after
 * inlining. */
#include "runtime/kernels/vector/images/placed.h"

#include "plan/ops.h"
#include "runtime/kernels/vector/engine/flush.h"
#include "runtime/kernels/vector/heights.h"

typedef enum left_factors {
    ONE_LEFT,      /* for all columns */
    LEFT_BY_COLUMN /* that of column c lies c elements behind that of column 0 */
} left_factors;

/* Adds `terms` terms, every `step`-th from `first` on, to sums in registers. */
static inline __attribute__((always_inline)) void add_terms(const size_t rows, const firn_register_tile *t,
                                                            const firn_term_place *places, const left_factors how,
                                                            const size_t vectors, firn_vector (*sums)[2], size_t first,
                                                            const ptrdiff_t step, size_t terms) {
    const size_t row_step = t->left_row_step;
    const float *const left = t->left, *const right = t->right;
    const firn_term_place *place = places + first;
    for (size_t term = 0; term < terms; term++, place += step) {
        const float *own = left + place->left, *line_at = right + place->right;
        firn_vector line[2];
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            line[v] = firn_flush_factor(firn_vector_load(line_at + v * FIRN_VECTOR));
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row++) {
            firn_vector factor = firn_vector_zero();
            if (how == ONE_LEFT)
                factor = firn_flush_factor(firn_vector_fill(own[row * row_step]));
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++) {
                if (how == LEFT_BY_COLUMN)
                    factor = firn_flush_factor(firn_vector_load(own + row * row_step + v * FIRN_VECTOR));
                sums[row][v] = firn_flush_fma(factor, line[v], sums[row][v]);
            }
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

/* The sum of the even terms of a block, or of the odd ones. Where the block is the first of a sum, the zeros behind the
 * last term matter to no sum: that of the two halves is added to +0, and so is no -0. */
static inline __attribute__((always_inline)) void sum_half(const size_t rows, const firn_register_tile *t,
                                                           const firn_term_place *places, const left_factors how,
                                                           const size_t vectors, firn_vector (*sums)[2], size_t first,
                                                           size_t terms, bool is_first) {
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = firn_vector_zero();
    }
    add_terms(rows, t, places, how, vectors, sums, first, 2, terms);
    if (terms < FIRN_ENGINE_BLOCK / 2 && !is_first)
        add_zero(rows, vectors, sums);
}

/* Adds blocks of even_odd_blocks to sums that are whole registers in memory. */
static inline __attribute__((always_inline)) void add_blocks(const size_t rows, const firn_register_tile *t,
                                                             const size_t vectors, const firn_term_place *places,
                                                             const left_factors how) {
    if (rows > FIRN_REGISTER_ROWS)
        __builtin_unreachable();
    for (size_t term = 0; term < t->terms; term += FIRN_ENGINE_BLOCK) {
        const size_t rest = t->terms - term, terms = rest < FIRN_ENGINE_BLOCK ? rest : FIRN_ENGINE_BLOCK;
        const bool is_first = t->begins && term == 0;
        firn_vector even[FIRN_REGISTER_ROWS][2], odd[FIRN_REGISTER_ROWS][2];
        _Alignas(64) float evens[FIRN_REGISTER_ROWS][FIRN_REGISTER_COLUMNS];
        sum_half(rows, t, places, how, vectors, even, term, (terms + 1) / 2, is_first);
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row++) {
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++)
                firn_vector_store(evens[row] + v * FIRN_VECTOR, even[row][v]);
        }
        firn_engine_forget_stored();
        sum_half(rows, t, places, how, vectors, odd, term + 1, terms / 2, is_first);
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
static inline __attribute__((always_inline)) void add_pairs(const size_t rows, const firn_register_tile *t,
                                                            const size_t vectors, const firn_term_place *places,
                                                            const left_factors how) {
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
        add_terms(rows, t, places, how, vectors, sums, term + 1, -1, 2);
    if (t->terms % 2 != 0) {
        add_zero(rows, vectors, sums);
        add_terms(rows, t, places, how, vectors, sums, t->terms - 1, 1, 1);
    }
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            firn_vector_store(t->sums + row * t->sums_step + v * FIRN_VECTOR, sums[row][v]);
    }
}

/* --- one left factor for all columns ------------------------------------------------------------------------------ */

static __attribute__((noinline)) void add_blocks_narrow(const firn_register_tile *t, const firn_term_place *places) {
    switch (t->rows) { FIRN_HEIGHT_CASES(add_blocks, t, 1, places, ONE_LEFT) }
}

static __attribute__((noinline)) void add_blocks_wide(const firn_register_tile *t, const firn_term_place *places) {
    switch (t->rows) { FIRN_HEIGHT_CASES(add_blocks, t, 2, places, ONE_LEFT) }
}

static __attribute__((noinline)) void add_pairs_narrow(const firn_register_tile *t, const firn_term_place *places) {
    switch (t->rows) { FIRN_HEIGHT_CASES(add_pairs, t, 1, places, ONE_LEFT) }
}

static __attribute__((noinline)) void add_pairs_wide(const firn_register_tile *t, const firn_term_place *places) {
    switch (t->rows) { FIRN_HEIGHT_CASES(add_pairs, t, 2, places, ONE_LEFT) }
}

void firn_placed_add(uint8_t kind, const firn_register_tile *tile, const firn_term_place *places) {
    const bool is_wide = tile->columns > FIRN_VECTOR;
    if (kind == FIRN_REDUCTION_EVEN_ODD_BLOCKS)
        (is_wide ? add_blocks_wide : add_blocks_narrow)(tile, places);
    else
        (is_wide ? add_pairs_wide : add_pairs_narrow)(tile, places);
}

/* --- a left factor for each column -------------------------------------------------------------------------------- */

static __attribute__((noinline)) void add_blocks_columns_narrow(const firn_register_tile *t,
                                                                const firn_term_place *places) {
    switch (t->rows) { FIRN_HEIGHT_CASES(add_blocks, t, 1, places, LEFT_BY_COLUMN) }
}

static __attribute__((noinline)) void add_blocks_columns_wide(const firn_register_tile *t,
                                                              const firn_term_place *places) {
    switch (t->rows) { FIRN_HEIGHT_CASES(add_blocks, t, 2, places, LEFT_BY_COLUMN) }
}

static __attribute__((noinline)) void add_pairs_columns_narrow(const firn_register_tile *t,
                                                               const firn_term_place *places) {
    switch (t->rows) { FIRN_HEIGHT_CASES(add_pairs, t, 1, places, LEFT_BY_COLUMN) }
}

static __attribute__((noinline)) void add_pairs_columns_wide(const firn_register_tile *t,
                                                             const firn_term_place *places) {
    switch (t->rows) { FIRN_HEIGHT_CASES(add_pairs, t, 2, places, LEFT_BY_COLUMN) }
}

void firn_placed_add_columns(uint8_t kind, const firn_register_tile *tile, const firn_term_place *places) {
    const bool is_wide = tile->columns > FIRN_VECTOR;
    if (kind == FIRN_REDUCTION_EVEN_ODD_BLOCKS)
        (is_wide ? add_blocks_columns_wide : add_blocks_columns_narrow)(tile, places);
    else
        (is_wide ? add_pairs_columns_wide : add_pairs_columns_narrow)(tile, places);
}
