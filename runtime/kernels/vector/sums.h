/* The lanes of a sum in registers (plan/NUMERICS.md, "Other sums"): register v holds the lanes from v * FIRN_VECTOR on.
 * What is summed belongs to the callers. */
#ifndef FIRN_KERNELS_VECTOR_SUMS_H
#define FIRN_KERNELS_VECTOR_SUMS_H

#include "runtime/kernels/vector/vector.h"

enum { FIRN_SUM_VECTORS = FIRN_SUM_LANES / FIRN_VECTOR };

/* Folds the lanes of a block of a sum. */
static inline float firn_fold_lanes(firn_vector lanes[FIRN_SUM_VECTORS]) {
    float l[FIRN_VECTOR];
    FIRN_UNROLL
    for (size_t half = FIRN_SUM_VECTORS / 2; half > 0; half /= 2) {
        FIRN_UNROLL
        for (size_t v = 0; v < half; v++)
            lanes[v] = firn_vector_add(lanes[v], lanes[v + half]);
    }
    firn_vector_store(l, lanes[0]);
    for (size_t half = FIRN_VECTOR / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++)
            l[i] += l[i + half];
    return l[0];
}

#endif
