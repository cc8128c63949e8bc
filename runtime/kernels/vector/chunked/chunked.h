/* A tile of a product with chunked sums: inside a chunk every sum is rounded to a half type after each term, and the
 * sums of the chunks are added in float32 (plan/NUMERICS.md, "Reductions"; runtime/kernels/product.c is the reference).
 * Every sum is one lane, which adds its own terms in ascending order. A rounded step is computed in binary32:
 *
 * 1. The exact a * b + c is rounded to odd. To do this it is rounded both down and up. If the two results differ they
 *    are neighbours, and the one whose last bit is set is chosen. If they agree the result is exact; if they are zeros
 *    of different sign, the result rounded up is chosen, +0. This holds for all operands: the largest float is itself
 *    odd, and among subnormals the grid is that of binary32.
 * 2. Rounding this result to nearest even, in a type with at most 22 bits, equals rounding the exact a * b + c.
 *
 * There are faster ways that notice where they would differ: for bfloat16 to round to nearest twice, for cbfloat16 with
 * AVX-512 a shorter second step (step.h).
 *
 * A sum that rounds to zero may lose its sign. This has no effect: adding a number other than zero to either zero gives
 * the same result, and a total begins at +0. Nothing here may depend on matrices, layers or threads. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_H
#define FIRN_KERNELS_VECTOR_CHUNKED_H

#include <stdbool.h>

#include "runtime/kernels/product.h"

/* Returns the largest magnitude of `lines` times `count` consecutive floats: infinity or a NaN if there is one. Returns
 * 0 if sums of that type do not depend on it. */
float firn_chunked_largest(uint8_t accumulator, const float *x, size_t lines, size_t step, size_t count);

/* Some terms of a tile. The caller keeps both arrays of sums between calls and sets them to +0 before the first. */
typedef struct firn_chunked_tile {
    uint8_t accumulator; /* the half type of the sums inside a chunk; both factors are values of this type */
    uint32_t chunk;
    const float *left;                    /* factor of (row, term) at row * left_row_step + term * left_term_step */
    size_t left_row_step, left_term_step; /* one of the two is 1 */
    const float *right;                   /* factor of (term, column) at term * right_step + column */
    size_t right_step;
    size_t rows, columns, terms;
    size_t first_term;  /* its index in the whole sum, from which chunks are counted */
    bool ends;          /* no terms follow, so the last chunk ends here */
    const size_t *cuts; /* not NULL: chunks end in front of these terms of the tile instead, which ascend from 1 on; */
    size_t cut_count;   /* the number of terms may be the last one, and no chunk has more terms than `chunk` */
    firn_terms present; /* row 0 of the tile has its diagonal at the term of this index */
    size_t diagonal;
    float *sums, *totals; /* of the current chunk and of earlier chunks; (row, column) at row * step + column */
    size_t step;
    float left_largest, right_largest; /* of both factors, or of more numbers; 0: the tile looks itself */
} firn_chunked_tile;

/* Adds the terms. Accesses nothing outside the given extents. A sum that is NaN may have any payload. */
void firn_chunked_tile_add(const firn_chunked_tile *tile);

#endif
