/* The register tile of flushed sums (plan/NUMERICS.md, "Reductions") for factors that are read where they lie in an
 * image: each term has places of its own. Every sum is one lane. Nothing here may know of images or threads. */
#ifndef FIRN_KERNELS_VECTOR_IMAGES_PLACED_H
#define FIRN_KERNELS_VECTOR_IMAGES_PLACED_H

#include "runtime/kernels/vector/engine/tile.h"

/* Where the factors of a term lie, in floats behind those that the tile names. */
typedef struct firn_term_place {
    uint32_t left, right;
} firn_term_place;

/* Adds terms to the tile, which is as in engine/tile.h but for the steps from term to term: places has the factors of
 * each. kind: FIRN_REDUCTION_EVEN_ODD_BLOCKS or FIRN_REDUCTION_PAIRS. Called within the mode of engine/flush.h.
 * Factors, which are values of bfloat16, are read and sums written in whole registers, whatever the columns beyond the
 * last one contain. NaNs have any payload, and there is no bias. */
void firn_placed_add(uint8_t kind, const firn_register_tile *tile, const firn_term_place *places);

/* The same with a left factor for each column: that of column c lies c elements behind that of column 0. */
void firn_placed_add_columns(uint8_t kind, const firn_register_tile *tile, const firn_term_place *places);

#endif
