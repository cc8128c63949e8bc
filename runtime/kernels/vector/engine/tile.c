/* The register tile with the sums of a matrix engine; see tile.h. A sum of even_odd_blocks needs two accumulators, so a
 * tile as high as one of float32 sums goes through all of its terms twice, for one half of its rows and then for the
 * other. The sum of the blocks before waits in memory while a block is added. A missing term adds (+0)(+0), which only
 * turns a -0 into +0, so one addition of +0 is enough for all that are missing. */
#include "runtime/kernels/vector/engine/tile.h"

#include <stdbool.h>

#include "plan/ops.h"
#include "runtime/kernels/vector/engine/flush.h"
#include "runtime/kernels/vector/heights.h"

enum { WIDE_ROWS = FIRN_REGISTER_ROWS / 2 }; /* of two registers of columns, with two accumulators */

/* Adds a term, whose factors are those of row 0 and of column 0, to sums in registers. */
static inline __attribute__((always_inline)) void add_term(const size_t rows, const size_t vectors,
                                                           firn_vector (*sums)[2], const float *left, size_t row_step,
                                                           const float *right) {
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

static inline __attribute__((always_inline)) void add_zero(const size_t rows, const size_t vectors,
                                                           firn_vector (*sums)[2]) {
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = firn_flush_add(sums[row][v], firn_vector_zero());
    }
}

static inline __attribute__((always_inline)) void add_sums(const size_t rows, const size_t vectors,
                                                           firn_vector (*sums)[2], firn_vector (*others)[2]) {
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = firn_flush_add(sums[row][v], others[row][v]);
    }
}

static inline __attribute__((always_inline)) void add_to_memory(const size_t rows, const size_t vectors,
                                                                firn_vector (*sums)[2], float *to, size_t step,
                                                                const bool are_last) {
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++, to += step) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++) {
            const firn_vector sum = firn_flush_add(firn_vector_load(to + v * FIRN_VECTOR), sums[row][v]);
            firn_vector_store(to + v * FIRN_VECTOR, are_last ? firn_vector_canonical(sum) : sum);
        }
    }
}

/* Where the last block lacks a term, it lacks an odd one; even terms need no +0 then. The sums of this and of add_pairs
 * are whole registers in memory. */
static inline __attribute__((always_inline)) void add_blocks(const size_t rows, const firn_register_tile *t,
                                                             const size_t vectors, size_t first_row) {
    if (rows > FIRN_REGISTER_ROWS || (vectors == 2 && rows > WIDE_ROWS))
        __builtin_unreachable();
    const size_t row_step = t->left_row_step, right_step = t->right_step, sums_step = t->sums_step;
    const ptrdiff_t left_step = t->left_term_step;
    const float *left = t->left + first_row * row_step, *right = t->right;
    float *const sums = t->sums + first_row * sums_step;
    for (size_t rest = t->terms, terms; rest != 0; rest -= terms) {
        firn_vector even[FIRN_REGISTER_ROWS][2], odd[FIRN_REGISTER_ROWS][2];
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row++) {
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++)
                even[row][v] = odd[row][v] = firn_vector_zero();
        }
        terms = rest < FIRN_ENGINE_BLOCK ? rest : FIRN_ENGINE_BLOCK;
        for (size_t pair = 0; pair < terms / 2; pair++, left += 2 * left_step, right += 2 * right_step) {
            add_term(rows, vectors, even, left, row_step, right);
            add_term(rows, vectors, odd, left + left_step, row_step, right + right_step);
        }
        if (terms % 2 != 0)
            add_term(rows, vectors, even, left, row_step, right);
        if (terms < FIRN_ENGINE_BLOCK)
            add_zero(rows, vectors, odd);
        add_sums(rows, vectors, even, odd);
        if (rest == terms)
            add_to_memory(rows, vectors, even, sums, sums_step, true);
        else
            add_to_memory(rows, vectors, even, sums, sums_step, false);
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
    const size_t row_step = t->left_row_step, right_step = t->right_step;
    const ptrdiff_t left_step = t->left_term_step;
    const float *left = t->left, *right = t->right;
    for (size_t pair = 0; pair < t->terms / 2; pair++, left += 2 * left_step, right += 2 * right_step) {
        add_term(rows, vectors, sums, left + left_step, row_step, right + right_step);
        add_term(rows, vectors, sums, left, row_step, right);
    }
    if (t->terms % 2 != 0) {
        add_zero(rows, vectors, sums);
        add_term(rows, vectors, sums, left, row_step, right);
    }
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            firn_vector_store(t->sums + row * t->sums_step + v * FIRN_VECTOR, firn_vector_canonical(sums[row][v]));
    }
}

/* --- in the mode that flushes ------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void add_blocks_narrow(const firn_register_tile *t) {
    switch (t->rows) { FIRN_HEIGHT_CASES(add_blocks, t, 1, 0) }
}

static __attribute__((noinline)) void add_blocks_wide(const firn_register_tile *t, size_t first, size_t rows) {
    switch (rows) { FIRN_HEIGHT_CASES(add_blocks, t, 2, first) }
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
    if (kind == FIRN_REDUCTION_PAIRS) {
        (is_wide ? add_pairs_wide : add_pairs_narrow)(tile);
    } else if (!is_wide) {
        add_blocks_narrow(tile);
    } else {
        const size_t first = tile->rows > WIDE_ROWS ? (tile->rows + 1) / 2 : tile->rows;
        add_blocks_wide(tile, 0, first);
        if (tile->rows > first)
            add_blocks_wide(tile, first, tile->rows - first);
    }
}

/* --- a tile of any width ------------------------------------------------------------------------------------------ */

static void load(const firn_register_tile *t, const firn_register_tile *whole) {
    for (size_t row = 0; row < t->rows; row++)
        for (size_t column = 0; column < t->columns; column += FIRN_VECTOR)
            firn_vector_store(
                whole->sums + row * whole->sums_step + column,
                firn_vector_load_some(firn_first_lanes(t->columns - column), t->sums + row * t->sums_step + column));
}

/* Stores the sums with the bias; they may be there already. */
static void store(const firn_register_tile *t, const firn_register_tile *whole) {
    for (size_t column = 0; column < t->columns; column += FIRN_VECTOR) {
        const firn_lanes lanes = firn_first_lanes(t->columns - column);
        const firn_vector bias = t->bias != NULL ? firn_vector_load_some(lanes, t->bias + column) : firn_vector_zero();
        for (size_t row = 0; row < t->rows; row++) {
            const firn_vector sum = firn_vector_load(whole->sums + row * whole->sums_step + column);
            firn_vector_store_some(t->sums + row * t->sums_step + column, lanes,
                                   t->bias != NULL ? firn_vector_canonical(firn_vector_add(sum, bias)) : sum);
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
    if (whole.sums != tile->sums || tile->bias != NULL)
        store(tile, &whole);
}
