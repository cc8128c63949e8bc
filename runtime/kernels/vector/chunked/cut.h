/* What the products with chunked sums share: the division of the output into rectangles, one for each piece of work,
 * what a rectangle's totals begin with, and how they are stored (native.c stores its own, tile by tile). */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_CUT_H
#define FIRN_KERNELS_VECTOR_CHUNKED_CUT_H

#include "runtime/kernels/linear.h"
#include "runtime/kernels/vector/pieces.h"

typedef struct firn_chunked_cut {
    const firn_linear *linear;
    size_t rows, columns; /* extents; the last rectangles may be smaller */
    size_t across, pieces;
    bool continues; /* totals continue from what the output, float32, has */
} firn_chunked_cut;

typedef struct firn_rectangle {
    size_t row, rows, column, columns;
} firn_rectangle;

/* The division that a kernel prefers. */
typedef struct firn_chunked_way {
    size_t slot_bytes;                /* scratch of a piece */
    size_t rows, columns;             /* of a rectangle, at most */
    size_t least_rows, least_columns; /* at least, if larger rectangles would give too few pieces */
    size_t pieces;                    /* wanted for each thread */
    uint64_t cost; /* multiplications that take as long as one operation on an element (FIRN_GRAIN) */
} firn_chunked_way;

/* Runs body, whose argument is a firn_chunked_cut, for each rectangle of a linear layer's op. The division does not
 * affect the result. */
void firn_chunked_run(uint16_t op, const firn_kernel_call *call, const firn_chunked_way *way, firn_piece_body body);

/* The same for the products of a matmul. */
void firn_chunked_run_matmul(const firn_kernel_call *call, const firn_chunked_way *way, firn_piece_body body);

firn_rectangle firn_chunked_cut_piece(const firn_chunked_cut *cut, size_t piece);

/* Sets the totals to what the sums of a rectangle begin with, laid out as below. cleared: columns of a row that become
 * 0 unless they begin with something else; at least those of the rectangle. */
void firn_chunked_begin(const firn_chunked_cut *cut, const firn_rectangle *r, float *totals, size_t step,
                        size_t cleared);

/* Adds the bias to the totals and stores them, rounded once. The total of (row, column) of the rectangle is at row *
 * step + column. */
void firn_chunked_store(const firn_linear *linear, const firn_rectangle *r, float *totals, size_t step);

#endif
