/* The register tile; see tile.h. One loop is compiled for each height and for one and two registers of columns, so that
 * the sums stay in registers. */
#include "runtime/kernels/vector/tile.h"

#include "runtime/kernels/vector/heights.h"

/* In a high tile the left factors of three rows have one pointer: x86 addresses the second and the third by it, the
 * step and twice the step. With an offset for each row, there would be too few registers, and each term would load some
 * of them. A tile of few rows has one pointer and an offset for each. */
enum {
    FEW_ROWS = 8,
    GROUP = FIRN_REGISTER_ROWS > FEW_ROWS ? 3 : FIRN_REGISTER_ROWS,
    GROUPS = (FIRN_REGISTER_ROWS + GROUP - 1) / GROUP
};

static inline __attribute__((always_inline)) void begin_groups(const float *groups[GROUPS], const size_t rows,
                                                               const float *left, size_t row_step) {
    FIRN_UNROLL
    for (size_t group = 0; group * GROUP < rows; group++) {
        groups[group] = left + group * GROUP * row_step;
        __asm__("" : "+r"(groups[group])); /* clang would compute each row's pointer from the last one's */
    }
}

/* Prefetches the right factor of a later term, which a packed panel larger than the L1 cache brings from L2. For few
 * rows that would cost more than it saves. The address may lie behind the last term. */
static inline __attribute__((always_inline)) void prefetch_right(const size_t rows, const size_t vectors,
                                                                 const float *right, size_t right_step) {
    if (FIRN_PREFETCH_TERMS == 0 || 2 * rows < FIRN_REGISTER_ROWS)
        return;
    FIRN_UNROLL
    for (size_t v = 0; v < vectors; v++)
        firn_prefetch_near(right + FIRN_PREFETCH_TERMS * right_step + v * FIRN_VECTOR);
}

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
    const float *groups[GROUPS];
    for (size_t run = 0; run < t->runs; run++) {
        const float *right = t->right + run * t->right_run_step;
        begin_groups(groups, rows, t->left + (ptrdiff_t)run * t->left_run_step, row_step);
        for (size_t term = 0; term < t->terms; term++, right += right_step) {
            firn_vector line[2];
            prefetch_right(rows, by_column ? 0 : vectors, right, right_step);
            FIRN_UNROLL
            for (size_t v = 0; v < vectors; v++)
                line[v] = by_column ? firn_vector_load_some(lanes[v], right + v * FIRN_VECTOR)
                                    : firn_vector_load(right + v * FIRN_VECTOR);
            FIRN_UNROLL
            for (size_t row = 0; row < rows; row++) {
                const float *from = groups[row / GROUP] + row % GROUP * row_step;
                const firn_vector factor = by_column ? firn_vector_zero() : firn_vector_fill(*from);
                FIRN_UNROLL
                for (size_t v = 0; v < vectors; v++) {
                    const firn_vector own =
                        by_column ? firn_vector_load_some(lanes[v], from + v * FIRN_VECTOR) : factor;
                    sums[row][v] = firn_vector_fma(own, line[v], sums[row][v]);
                }
            }
            FIRN_UNROLL
            for (size_t group = 0; group * GROUP < rows; group++)
                groups[group] += term_step;
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
