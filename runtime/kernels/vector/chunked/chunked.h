/* A tile of a product with chunked sums: inside a chunk every sum is rounded to a half type after each term, and the
 * sums of the chunks are added in float32 (plan/NUMERICS.md, "Reductions"; runtime/kernels/product.c is the meaning).
 * Every sum is one lane, which sees its own terms in ascending order. A rounded step is done in binary32:
 *
 * 1. The exact a * b + c is rounded to odd: once down and once up. Two results that differ are neighbours, of which one
 *    has its last bit set: that one. Two that do not are exact; where they are zeros of both signs it is the upper one,
 *    +0. Beyond the largest float that is odd itself, and among the subnormals the grid is as fine as binary32 has it,
 *    so that this holds for all operands.
 * 2. Rounding that to nearest even in a type with at most 22 bits is rounding a * b + c.
 *
 * A sum that rounds to zero may lose its sign. That cannot be seen: whatever is added to either zero gives the same,
 * but for zeros again, and a total begins at +0. Knows nothing of matrices, layers or threads. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_H
#define FIRN_KERNELS_VECTOR_CHUNKED_H

#include <stdbool.h>

#include "runtime/kernels/product.h"

/* Some terms of a tile. Both sums are kept by the caller from one call to the next; they begin at +0. */
typedef struct firn_chunked_tile {
    uint8_t accumulator; /* the half type of the sums inside a chunk, whose values both factors are */
    uint32_t chunk;
    const float *left;                    /* factor of (row, term) at row * left_row_step + term * left_term_step */
    size_t left_row_step, left_term_step; /* one of them is 1 */
    const float *right;                   /* factor of (term, column) at term * right_step + column */
    size_t right_step;
    size_t rows, columns, terms;
    size_t first_term;  /* its index in the whole sum: chunks are counted from there */
    bool ends;          /* no terms follow, so the last chunk ends here */
    firn_terms present; /* row 0 of the tile has its diagonal at the term of this index */
    size_t diagonal;
    float *sums, *totals; /* of the chunk and of the chunks before it: of (row, column) at row * step + column */
    size_t step;
} firn_chunked_tile;

/* Adds the terms. Nothing outside the given extents is touched; a NaN in a sum may be any. */
void firn_chunked_tile_add(const firn_chunked_tile *tile);

#endif
