/* The division of a product into pieces of rows by columns, for a matrix engine. It does not affect the result. Nothing
 * here may depend on where factors lie. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_DIVISION_H
#define FIRN_KERNELS_VECTOR_ENGINE_DIVISION_H

#include <stddef.h>

/* What is to be divided: `products` products of the same extents. */
typedef struct firn_engine_whole {
    size_t products, rows, columns;
    /* Of a piece, before rows are rounded up to whole tiles. most_columns is a multiple of FIRN_WORD_COLUMNS. */
    size_t most_rows, most_columns;
    /* Multiplications that take as long as packing one term of a row, or of a column. Every piece packs its own. */
    size_t row_packing, column_packing;
} firn_engine_whole;

typedef struct firn_engine_division {
    size_t rows, columns; /* of a piece: multiples of those of a tile; the last piece may have fewer */
    size_t row_pieces, column_pieces;
} firn_engine_division;

/* Finds pieces that keep so many threads busy. */
firn_engine_division firn_engine_divide(const firn_engine_whole *whole, size_t threads);

#endif
