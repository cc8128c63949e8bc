/* The register tile of attention (vector/attention/tile.h) with the sums of a matrix engine. Terms that a row lacks but
 * that lie in a block with one that it has take part, so their left factors must be +0. It runs within the mode of
 * flush.h, which is set for many tiles at a time. Nothing here may depend on heads, types in memory or threads. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_ATTENTION_TILE_H
#define FIRN_KERNELS_VECTOR_ENGINE_ATTENTION_TILE_H

#include "runtime/kernels/vector/attention/tile.h"

/* All factors are values of bfloat16. The first term is a multiple of FIRN_ENGINE_BLOCK, and every block of so many
 * terms has one that each row has; rows whose diagonals share a pair of terms begin at an even row. */
void firn_engine_attention_tile_add(const firn_attention_tile *tile);

#endif
