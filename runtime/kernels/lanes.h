/* Eight floats side by side, for loops that compilers turn into vector instructions. Freestanding. */
#ifndef FIRN_KERNELS_LANES_H
#define FIRN_KERNELS_LANES_H

#include <string.h>

#include "runtime/numerics/numerics.h"

/* One register on targets that have such registers. Always passed by address, because the convention for passing
 * vectors by value depends on the target's options. */
enum { FIRN_LANES = 8 };
typedef float firn_lanes __attribute__((vector_size(32)));

static inline void firn_lanes_load(firn_lanes *out, const float *x) {
    memcpy(out, x, sizeof *out);
}

/* sum = a * b + sum in every lane, fused. */
static inline void firn_lanes_multiply_add(firn_lanes *sum, float a, const firn_lanes *b) {
    for (int i = 0; i < FIRN_LANES; i++)
        (*sum)[i] = firn_fma(a, (*b)[i], (*sum)[i]);
}

#endif
