/* The register tile of attention with float16 sums inside chunks: like attention/tile.h, with factors that stay halves.
 * The causal mask may leave out terms. Nothing here may depend on heads or threads. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_HALF_TILE_H
#define FIRN_KERNELS_VECTOR_CHUNKED_HALF_TILE_H

#include <stdbool.h>

#include "runtime/kernels/vector/chunked/half_vector.h"

enum {
    FIRN_HALF_TILE_ROWS = FIRN_VECTOR,    /* of a tile with one register of columns */
    FIRN_HALF_TILE_LOW = FIRN_VECTOR / 2, /* rows of a tile with two */
    FIRN_HALF_TILE_COLUMNS = 2 * FIRN_HALVES
};

/* The terms of a tile that its sums have. */
typedef enum firn_half_terms {
    FIRN_HALF_TERMS_ALL,
    FIRN_HALF_TERMS_UP_TO_COLUMN, /* column c: up to term diagonal + c */
    FIRN_HALF_TERMS_FROM_ROW      /* row r: from term diagonal + r on */
} firn_half_terms;

typedef struct firn_half_tile {
    const firn_half_factor *left; /* factor of (row, term) at row * left_row_step + term * left_term_step */
    size_t left_row_step, left_term_step;
    const uint16_t *right; /* factor of (term, column) at term * right_step + column */
    size_t right_step;
    size_t chunk, first_term, terms; /* first_term: its number in the whole sum, of which chunks are counted */
    bool begins, ends;               /* the sums begin with these terms; no terms follow */
    firn_half_terms present;
    ptrdiff_t diagonal; /* relative to the first term */
    uint16_t *sums;     /* of the unfinished chunk; (row, column) at row * step + column */
    float *totals;      /* of the chunks before, likewise */
    size_t step;
} firn_half_tile;

/* Adds the terms to FIRN_HALF_TILE_ROWS rows of FIRN_HALVES columns. */
void firn_half_tile_add(const firn_half_tile *tile);

/* Adds the terms to FIRN_HALF_TILE_LOW rows of FIRN_HALF_TILE_COLUMNS columns. */
void firn_half_tile_add_wide(const firn_half_tile *tile);

/* The same to FIRN_HALF_TILE_LOW rows of FIRN_HALVES columns. */
void firn_half_tile_add_low(const firn_half_tile *tile);

#endif
