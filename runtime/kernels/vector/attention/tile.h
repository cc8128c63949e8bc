/* The register tile of attention: adds some terms to the sums of a few rows by one or two registers of columns of a
 * product, in float32, in chunks or as a matrix engine sums them. The causal mask may exclude terms. The tile of linear
 * layers, runtime/kernels/vector/tile.h, has no mask; this one handles rows with fewer terms without storing the sums
 * in between. Nothing here may depend on heads, types in memory or threads. */
#ifndef FIRN_KERNELS_VECTOR_ATTENTION_TILE_H
#define FIRN_KERNELS_VECTOR_ATTENTION_TILE_H

#include <stdbool.h>

#include "runtime/kernels/product.h"
#include "runtime/kernels/vector/vector.h"

enum {
    FIRN_ATTENTION_TILE_ROWS = FIRN_VECTOR / 2, /* half of the registers suffice to hide the latency of a sum */
    FIRN_ATTENTION_TILE_VECTORS = 2,
    FIRN_ATTENTION_TILE_COLUMNS = FIRN_ATTENTION_TILE_VECTORS * FIRN_VECTOR
};

/* Terms are numbered within the whole sum. Row r has the terms up to index diagonal + r, or those from it on, or
 * all. */
typedef struct firn_attention_tile {
    const firn_reduction *reduction;
    const float *left; /* factor of (row, term) at row * left_row_step + term * left_term_step */
    size_t left_row_step, left_term_step;
    const float *right; /* factor of (term, column) at term * right_step + column */
    size_t right_step;
    size_t columns; /* at most FIRN_ATTENTION_TILE_COLUMNS; there are always FIRN_ATTENTION_TILE_ROWS rows */
    size_t first_term, terms;
    firn_terms present;
    size_t diagonal;   /* index of the last or first term of row 0; not used if all are present */
    bool begins, ends; /* the sums begin at +0 instead of the stored values; no terms follow */
    float *sums;       /* of (row, column) at row * sums_step + column */
    float *chunk_sums; /* likewise, of the unfinished chunk; zeros if there is none */
    size_t sums_step;
} firn_attention_tile;

/* Adds the terms of a tile. Flushed sums demand more (engine/attention_tile.h). Unless all terms are present,
 * first_term <= diagonal must hold: the terms may not begin after the diagonal of row 0. This is not checked. Columns
 * are read and stored up to a multiple of FIRN_VECTOR. A sum that is NaN may have any payload. */
void firn_attention_tile_add(const firn_attention_tile *tile);

/* Must be called before and after the tiles of a product, with nothing else computed between; end takes what begin
 * returned. */
unsigned firn_attention_tiles_begin(const firn_reduction *reduction);
void firn_attention_tiles_end(const firn_reduction *reduction, unsigned mode);

#endif
