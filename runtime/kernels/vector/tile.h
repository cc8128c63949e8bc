/* A register tile of a product in float32: up to 14 rows by 32 columns of sums (AVX-512) or 6 by 16 (AVX2) that stay in
 * registers for all terms. Every sum is one lane, to which fma(left, right, sum) is applied for each term in ascending
 * order, as runtime/kernels/product.h specifies; the bits are therefore the same. Unfinished sums are stored as
 * float32, which is exact. Nothing here may depend on matrices, types or threads. */
#ifndef FIRN_KERNELS_VECTOR_TILE_H
#define FIRN_KERNELS_VECTOR_TILE_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/kernels/vector/vector.h"

enum { FIRN_REGISTER_COLUMNS = 2 * FIRN_VECTOR };

/* The terms come in runs, one behind the other; those of a run are equally far apart in memory, and so are the runs. */
typedef struct firn_register_tile {
    const float *left; /* factor of (row, term) at row * left_row_step + run * left_run_step + term * left_term_step */
    size_t left_row_step;
    ptrdiff_t left_run_step, left_term_step;
    const float *right; /* factor of (term, column) at run * right_run_step + term * right_step + column */
    size_t right_run_step, right_step;
    size_t rows, columns; /* at least 1; at most FIRN_REGISTER_ROWS and FIRN_REGISTER_COLUMNS */
    size_t runs, terms;   /* terms: of a run */
    bool begins;          /* the sums begin at +0 instead of the stored values */
    const float *bias;    /* `columns` values to add at the end, or NULL */
    float *sums;          /* of (row, column) at row * sums_step + column */
    size_t sums_step;
} firn_register_tile;

/* Memory operands need no alignment. The right factor is read up to a multiple of FIRN_VECTOR columns, whatever these
 * contain; nothing else outside the given extents is accessed. NaNs are stored as the canonical one. */
void firn_register_tile_multiply(const firn_register_tile *tile);

/* The same with a left factor for each column: that of column c lies c elements behind that of column 0. Nothing
 * outside the given extents is accessed. */
void firn_register_tile_multiply_columns(const firn_register_tile *tile);

#endif
