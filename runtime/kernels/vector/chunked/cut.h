/* What the products with chunked sums share: how the output is cut into rectangles, one to a piece of work, and how the
 * finished totals of one are stored. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_CUT_H
#define FIRN_KERNELS_VECTOR_CHUNKED_CUT_H

#include "runtime/kernels/linear.h"
#include "runtime/kernels/vector/pieces.h"

typedef struct firn_chunked_cut {
    const firn_linear *linear;
    size_t rows, columns; /* of a rectangle; the last ones may be smaller */
    size_t across, pieces;
} firn_chunked_cut;

typedef struct firn_rectangle {
    size_t row, rows, column, columns;
} firn_rectangle;

/* How a kernel wants it. */
typedef struct firn_chunked_way {
    size_t rows, columns;             /* of a rectangle, at most */
    size_t least_rows, least_columns; /* and at least, where there would be fewer pieces than are wanted */
    size_t pieces;                    /* wanted for each thread */
    uint64_t cost; /* multiplications that take the time of one operation on an element (FIRN_GRAIN) */
} firn_chunked_way;

/* Runs body, whose argument is a firn_chunked_cut, for the rectangles of a linear layer's op. No cut shows in a result.
 */
void firn_chunked_run(uint16_t op, const firn_kernel_call *call, const firn_chunked_way *way, firn_piece_body body);

firn_rectangle firn_chunked_cut_piece(const firn_chunked_cut *cut, size_t piece);

/* Adds the bias to the totals, of (row, column) of the rectangle at row * step + column, and rounds once. */
void firn_chunked_store(const firn_linear *linear, const firn_rectangle *r, float *totals, size_t step);

#endif
