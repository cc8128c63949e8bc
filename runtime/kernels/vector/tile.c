/* The register tile; see tile.h. One loop is compiled for each height and for one and two registers of columns, so that
 * the sums stay in registers. */
#include "runtime/kernels/vector/tile.h"

#include "runtime/kernels/vector/heights.h"

/* A NaN among unfinished sums may be made canonical; it remains a NaN. by_column: each column has a left factor of its
 * own. */
static inline __attribute__((always_inline)) void multiply(const size_t rows, const firn_register_tile *t,
                                                           const size_t vectors, const bool by_column) {
    if (rows > FIRN_REGISTER_ROWS)
        __builtin_unreachable();
    firn_vector sums[FIRN_REGISTER_ROWS][2];
    const firn_lanes lanes[2] = {firn_first_lanes(t->columns),
                                 firn_first_lanes(vectors == 2 ? t->columns - FIRN_VECTOR : 0)};
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            sums[row][v] = t->begins ? firn_vector_zero()
                                     : firn_vector_load_some(lanes[v], t->sums + row * t->sums_step + v * FIRN_VECTOR);
    }
    const size_t row_step = t->left_row_step, right_step = t->right_step;
    const ptrdiff_t term_step = t->left_term_step;
    for (size_t run = 0; run < t->runs; run++) {
        const float *left = t->left + (ptrdiff_t)run * t->left_run_step, *right = t->right + run * t->right_run_step;
        for (size_t term = 0; term < t->terms; term++, left += term_step, right += right_step) {
            firn_vector line[2];
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++)
                line[v] = by_column ? firn_vector_load_some(lanes[v], right + v * FIRN_VECTOR)
                                    : firn_vector_load(right + v * FIRN_VECTOR);
            FIRN_UNROLL
            for (size_t row = 0; row < rows; row++) {
                const firn_vector factor = by_column ? firn_vector_zero() : firn_vector_fill(left[row * row_step]);
                FIRN_UNROLL
                for (size_t v = 0; v < vectors; v++) {
                    const firn_vector own =
                        by_column ? firn_vector_load_some(lanes[v], left + row * row_step + v * FIRN_VECTOR) : factor;
                    sums[row][v] = firn_vector_fma(own, line[v], sums[row][v]);
                }
            }
        }
    }
    if (t->bias != NULL) {
        const float *bias = t->bias;
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++) {
            const firn_vector line = firn_vector_load_some(lanes[v], bias + v * FIRN_VECTOR);
            FIRN_UNROLL
            for (size_t row = 0; row < rows; row++)
                sums[row][v] = firn_vector_add(sums[row][v], line);
        }
    }
    float *out = t->sums;
    const size_t out_step = t->sums_step;
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++, out += out_step) {
        FIRN_UNROLL
        for (size_t v = 0; v < vectors; v++)
            firn_vector_store_some(out + v * FIRN_VECTOR, lanes[v], firn_vector_canonical(sums[row][v]));
    }
}

static void multiply_narrow(const firn_register_tile *t) {
    switch (t->rows) { FIRN_HEIGHT_CASES(multiply, t, 1, false) }
}

static void multiply_wide(const firn_register_tile *t) {
    switch (t->rows) { FIRN_HEIGHT_CASES(multiply, t, 2, false) }
}

void firn_register_tile_multiply(const firn_register_tile *tile) {
    if (tile->columns > FIRN_VECTOR)
        multiply_wide(tile);
    else
        multiply_narrow(tile);
}

static void multiply_columns_narrow(const firn_register_tile *t) {
    switch (t->rows) { FIRN_HEIGHT_CASES(multiply, t, 1, true) }
}

static void multiply_columns_wide(const firn_register_tile *t) {
    switch (t->rows) { FIRN_HEIGHT_CASES(multiply, t, 2, true) }
}

void firn_register_tile_multiply_columns(const firn_register_tile *tile) {
    if (tile->columns > FIRN_VECTOR)
        multiply_columns_wide(tile);
    else
        multiply_columns_narrow(tile);
}
