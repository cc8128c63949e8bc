/* The register tile of a product (vector/tile.h) with the sums of a matrix engine: those that the reductions
 * even_odd_blocks and pairs define in plan/NUMERICS.md, computed with fused multiply-adds of floats. Every sum is one
 * lane. Nothing here may depend on matrices, types or threads. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_TILE_H
#define FIRN_KERNELS_VECTOR_ENGINE_TILE_H

#include "runtime/kernels/vector/tile.h"

enum { FIRN_ENGINE_BLOCK = 32 }; /* terms of a block of even_odd_blocks; a multiple of the terms of a pair */

/* kind: FIRN_REDUCTION_EVEN_ODD_BLOCKS or FIRN_REDUCTION_PAIRS. All factors are values of bfloat16. The first term
 * begins a block, and only the last terms of a sum may end within one: the missing ones then take part as zeros.
 * There is one run of terms. The rest is as in vector/tile.h; the bias is added with subnormals. */
void firn_engine_tile_multiply(uint8_t kind, const firn_register_tile *tile);

/* The same within the mode of flush.h, for whole registers of columns and without a bias. */
void firn_engine_tile_add(uint8_t kind, const firn_register_tile *tile);

/* What was stored before is loaded again: no registers are left to keep it in, and compilers that try move other
 * values out of the inner loop's registers. */
static inline void firn_engine_forget_stored(void) {
    __asm__ volatile("" ::: "memory");
}

#endif
