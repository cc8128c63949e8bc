/* exp on registers: the sequence of firn_exp_inline (runtime/numerics/elementary.h), step by step, with shortcuts that
 * give the same bits. Minimum and maximum limit the argument; both return their second operand if either is a NaN. 2^n
 * is applied as two factors on AVX2 and NEON, as in that sequence, and by one instruction on AVX-512, which rounds
 * once; this is equal because the first factor's product is exact. A NaN stays a NaN, but need not be canonical. */
#ifndef FIRN_KERNELS_VECTOR_EXPONENTIAL_H
#define FIRN_KERNELS_VECTOR_EXPONENTIAL_H

#include "runtime/kernels/vector/vector.h"
#include "runtime/numerics/elementary.h"

static inline __attribute__((always_inline)) firn_vector firn_vector_exp(firn_vector x) {
    const firn_vector one = firn_vector_fill(1.0f), magic = firn_vector_fill(FIRN_ROUNDING_MAGIC);
    firn_vector inside = firn_vector_maximum(firn_vector_fill(FIRN_EXP_LEAST), x);
    inside = firn_vector_minimum(firn_vector_fill(FIRN_EXP_MOST), inside);
    const firn_vector n =
        firn_vector_subtract(firn_vector_fma(inside, firn_vector_fill(FIRN_EXP_PER_LN2), magic), magic);
    const firn_vector high = firn_vector_fma(n, firn_vector_fill(-FIRN_EXP_LN2), inside);
    const firn_vector low = firn_vector_multiply(n, firn_vector_fill(-FIRN_EXP_LN2_REST));
    const firn_vector r = firn_vector_add(high, low);
    firn_vector q = firn_vector_fill(FIRN_EXP_4);
    q = firn_vector_fma(q, r, firn_vector_fill(FIRN_EXP_3));
    q = firn_vector_fma(q, r, firn_vector_fill(FIRN_EXP_2));
    q = firn_vector_fma(q, r, firn_vector_fill(FIRN_EXP_1));
    q = firn_vector_fma(q, r, firn_vector_fill(FIRN_EXP_0));
    const firn_vector sum = firn_vector_add(one, high);
    const firn_vector error = firn_vector_add(firn_vector_subtract(one, sum), high);
    const firn_vector small = firn_vector_fma(firn_vector_multiply(r, r), q, firn_vector_add(low, error));
    return firn_vector_scale(firn_vector_add(sum, small), n);
}

#endif
