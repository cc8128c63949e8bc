/* The instructions of matrix engines in plain C, so that tests can check the kernels for them on a CPU without them. A
 * subnormal operand counts as zero of its sign; a result that is tiny after rounding becomes zero of its sign. Written
 * from what the instructions were observed to do, not from plan/NUMERICS.md or the portable kernels, with which the
 * tests compare it. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_MODEL_H
#define FIRN_KERNELS_VECTOR_ENGINE_MODEL_H

#include "runtime/numerics/half.h"
#include "runtime/numerics/numerics.h"

static inline float firn_model_flush(float x) {
    return (firn_bits(x) & FIRN_INFINITY_BITS) == 0 ? firn_from_bits(firn_bits(x) & FIRN_SIGN_BIT) : x;
}

/* The first factor of a word is in its lower half. */
static inline float firn_model_factor(uint32_t word, unsigned which) {
    return firn_model_flush(firn_from_bits(which == 0 ? word << 16 : word & 0xffff0000u));
}

/* a * b + c. A result that rounds to the smallest normal value is tiny if it would not without a limit of the
 * exponent: that is found out 2^60 times as large. */
static inline float firn_model_fma(float a, float b, float c) {
    const float result = firn_fma(a, b, firn_model_flush(c));
    const uint32_t smallest = 0x00800000u, larger = 0x1e800000u; /* 2^-126, 2^-66 */
    if ((firn_bits(result) & FIRN_MAGNITUDE_BITS) == smallest) {
        const float scale = firn_power_of_two(60);
        if ((firn_bits(firn_fma(a * scale, b, c * scale)) & FIRN_MAGNITUDE_BITS) < larger)
            return firn_from_bits(firn_bits(result) & FIRN_SIGN_BIT);
    }
    return firn_model_flush(result);
}

/* VDPBF16PS, for one sum and one pair of terms: the second term first. */
static inline float firn_model_pair(float sum, uint32_t left, uint32_t right) {
    sum = firn_model_fma(firn_model_factor(left, 1), firn_model_factor(right, 1), sum);
    return firn_model_fma(firn_model_factor(left, 0), firn_model_factor(right, 0), sum);
}

/* TDPBF16PS, for one sum and sixteen pairs of terms: the first terms of all pairs, and the second ones, in a sum each.
 * The words of the right factor are `step` apart. */
static inline float firn_model_block(float sum, const uint32_t *left, const uint32_t *right, size_t step) {
    float both[2] = {0.0f, 0.0f};
    for (size_t pair = 0; pair < 16; pair++)
        for (unsigned which = 0; which < 2; which++)
            both[which] = firn_model_fma(firn_model_factor(left[pair], which),
                                         firn_model_factor(right[pair * step], which), both[which]);
    return firn_model_flush(firn_model_flush(sum) + firn_model_flush(both[0] + both[1]));
}

#endif
