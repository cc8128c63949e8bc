/* What the products with chunked sums share: how the output is cut into rectangles, one to a piece of work, and how the
 * finished totals of one are stored. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_CUT_H
#define FIRN_KERNELS_VECTOR_CHUNKED_CUT_H

#include "runtime/kernels/linear.h"

typedef struct firn_chunked_cut {
    const firn_linear *linear;
    size_t rows, columns; /* of a rectangle; the last ones may be smaller */
    size_t across, pieces;
} firn_chunked_cut;

typedef struct firn_rectangle {
    size_t row, rows, column, columns;
} firn_rectangle;

/* Rectangles of `most` rows and columns, and smaller ones, down to `least`, where that leaves fewer than are wanted. No
 * cut shows in a result. */
firn_chunked_cut firn_chunked_cut_make(const firn_linear *linear, size_t wanted, size_t most_rows, size_t most_columns,
                                       size_t least_rows, size_t least_columns);

firn_rectangle firn_chunked_cut_piece(const firn_chunked_cut *cut, size_t piece);

/* Adds the bias to the totals, of (row, column) of the rectangle at row * step + column, and rounds once. */
void firn_chunked_store(const firn_linear *linear, const firn_rectangle *r, float *totals, size_t step);

#endif
