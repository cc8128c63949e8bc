/* The register tile of attention: what some terms add to a few rows by one or two registers of columns of a product, of
 * which a causal mask may take terms away, in float32 or in chunks. runtime/kernels/vector/tile.h has the one of linear
 * layers, which knows no mask; where rows lack some terms this one goes on in its registers, without storing the sums
 * before and after. Knows nothing of heads, types in memory or threads. */
#ifndef FIRN_KERNELS_VECTOR_ATTENTION_TILE_H
#define FIRN_KERNELS_VECTOR_ATTENTION_TILE_H

#include <stdbool.h>

#include "runtime/kernels/product.h"
#include "runtime/kernels/vector/vector.h"

enum {
    FIRN_ATTENTION_ROWS = FIRN_VECTOR / 2, /* half of the registers that there are hide the latency of a sum */
    FIRN_ATTENTION_VECTORS = 2,
    FIRN_ATTENTION_COLUMNS = FIRN_ATTENTION_VECTORS * FIRN_VECTOR
};

/* Terms have an index in the whole sum; row r has those up to index diagonal + r, or from it on, or all. */
typedef struct firn_attention_tile {
    const firn_reduction *reduction;
    const float *left; /* factor of (row, term) at row * left_row_step + term * left_term_step */
    size_t left_row_step, left_term_step;
    const float *right; /* factor of (term, column) at term * right_step + column */
    size_t right_step;
    size_t columns; /* at most FIRN_ATTENTION_COLUMNS; there are always FIRN_ATTENTION_ROWS rows */
    size_t first_term, terms;
    firn_terms present;
    size_t diagonal;   /* index of the term where row 0 ends or begins: see below; not used where all are present */
    bool begins, ends; /* the sums begin at +0, else they go on from what is stored; no terms follow */
    float *sums;       /* of (row, column) at row * sums_step + column */
    float *chunk_sums; /* likewise, of the chunk that is not at its end; zeros where none is */
    size_t sums_step;
} firn_attention_tile;

/* first_term <= diagonal, unless all terms are present: the terms may not begin behind the diagonal of row 0. Nothing
 * checks it. Columns are read and stored up to a multiple of FIRN_VECTOR. A NaN in a sum may be any. */
void firn_attention_tile_add(const firn_attention_tile *tile);

#endif
