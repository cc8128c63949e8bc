/* The matrix product of linear layers and attention. It computes one tile of out[row][column] = sum over terms
 * ascending of left[row][term] * right[term][column], as its reduction descriptor specifies. Tiles are independent, so
 * any number of threads may compute them in any order. Nothing here may depend on a particular layer. Freestanding. */
#ifndef FIRN_KERNELS_PRODUCT_H
#define FIRN_KERNELS_PRODUCT_H

#include <stdbool.h>

#include "runtime/kernels/kernels.h"
#include "runtime/numerics/numerics.h"

enum { FIRN_TILE_ROWS = 16, FIRN_TILE_COLUMNS = 16 };

/* Added to a half type: the elements are float32, and each is rounded to that type as it is read, as the op cast rounds
 * it. Only a right factor of a product whose left factor has that type may be so: the weight of a layer. */
enum { FIRN_ROUNDED_TO = 0x80 };

/* Element (row, column) of a matrix is element first + row * row_step + column * column_step of data. One of the steps
 * is 1. */
typedef struct firn_matrix {
    const void *data;
    uint8_t type; /* float32, a half type, or FIRN_ROUNDED_TO + a half type */
    size_t first, row_step, column_step;
} firn_matrix;

static inline firn_matrix firn_transposed(firn_matrix m) {
    return (firn_matrix){m.data, m.type, m.first, m.column_step, m.row_step};
}

/* The terms that a row has. Absent terms are left out of its sum; only flushed sums add some of them as zeros
 * (plan/NUMERICS.md, "Reductions"). */
typedef enum firn_terms {
    FIRN_TERMS_ALL,
    FIRN_TERMS_UP_TO_DIAGONAL, /* row r: 0 to diagonal + r */
    FIRN_TERMS_FROM_DIAGONAL   /* row r: from diagonal + r */
} firn_terms;

typedef struct firn_product {
    firn_matrix left, right;
    size_t rows, columns, terms;
    firn_terms present;
    size_t diagonal;
    firn_reduction reduction;
} firn_product;

typedef struct firn_tile {
    size_t row, column;   /* position in the product: multiples of the tile's extents */
    size_t rows, columns; /* extents of the part that lies inside the product */
    float values[FIRN_TILE_ROWS][FIRN_TILE_COLUMNS];
} firn_tile;

/* Returns the number of tiles of a product; they are numbered row by row. */
size_t firn_product_tiles(const firn_product *product);

/* Computes one tile. The values are complete sums, not yet rounded to the output type. */
void firn_product_tile(const firn_product *product, size_t number, firn_tile *tile);

/* The same for sums that continue from a product-shaped array of floats. All terms are present. */
void firn_product_tile_from(const firn_product *product, size_t number, const float *sums, firn_tile *tile);

/* Returns true if the product can be computed in rows without tiles: a core without vectors, float32 factors, and all
 * terms summed in float32. */
bool firn_product_is_direct(const firn_product *product);

/* Computes the rows [4 four, 4 four + 4), or as many as there are, straight into a product-shaped array of floats. The
 * sums are complete, but a NaN among them need not be canonical: the returned watch says whether there may be one. */
firn_nan_watch firn_product_rows(const firn_product *product, size_t four, float *out);

#endif
