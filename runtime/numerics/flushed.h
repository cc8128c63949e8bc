/* The arithmetic of matrix engines for bfloat16: plan/NUMERICS.md, "Reductions", flushed sums. A result that is tiny
 * after rounding is a zero of its sign. Engines do so by themselves; here it takes neither a control word nor an
 * instruction for it. Freestanding. */
#ifndef FIRN_NUMERICS_FLUSHED_H
#define FIRN_NUMERICS_FLUSHED_H

#include "runtime/numerics/half.h"

/* The terms of a block of each kind. */
enum { FIRN_EVEN_ODD_TERMS = 32, FIRN_PAIR_TERMS = 2 };

#define FIRN_SMALLEST_NORMAL_BITS 0x00800000u /* 2^-126 */

/* Returns a zero of its sign in place of a subnormal number. */
static inline float firn_flushed(float x) {
    const uint32_t bits = firn_bits(x);
    return (bits & FIRN_MAGNITUDE_BITS) < FIRN_SMALLEST_NORMAL_BITS ? firn_from_bits(bits & FIRN_SIGN_BIT) : x;
}

/* Returns a + b. No sum of two floats that is tiny is rounded, so the result decides. */
static inline float firn_flushed_sum(float a, float b) {
    return firn_flushed(a + b);
}

/* Returns 1 for a result that may have to be flushed: neither a zero nor above 2^-126. */
static inline uint32_t firn_may_be_tiny(float r) {
    return (uint32_t)((firn_bits(r) & FIRN_MAGNITUDE_BITS) - 1u < FIRN_SMALLEST_NORMAL_BITS);
}

/* Returns a*b + c. What was rounded to 2^-126 was tiny if it is below that with the 24 bits of a normal number, which
 * a larger exponent leaves it. Where a * 2^60 overflows the result was exact, and nothing compares less. */
static inline float firn_flushed_fma(float a, float b, float c) {
    const float r = firn_fma(a, b, c);
    if (firn_may_be_tiny(r) == 0)
        return r;
    const uint32_t bits = firn_bits(r);
    if ((bits & FIRN_MAGNITUDE_BITS) == FIRN_SMALLEST_NORMAL_BITS) {
        const uint32_t t = firn_bits(firn_fma(a * 0x1p60f, b, c * 0x1p60f)) & FIRN_MAGNITUDE_BITS;
        if (t >= (uint32_t)(127 - 66) << 23)
            return r;
    }
    return firn_from_bits(bits & FIRN_SIGN_BIT);
}

/* Adds one term to each of `count` sums: sums[i] = left * right[i] + sums[i], or with left factors of their own. With
 * vectors count is a multiple of FIRN_FLUSHED_LANES. */
enum { FIRN_FLUSHED_LANES = 16 };
void firn_flushed_multiply_add_lanes(float *sums, const float *left, const float *right, size_t count);
void firn_flushed_multiply_add(float *sums, float left, const float *right, size_t count);

/* Adds the sums of the even and the odd terms of a block to the sums, and makes both +0. */
void firn_flushed_close(float *sums, float *even, float *odd, size_t count);

/* Reads `count` factors that lie `step` elements apart, bfloat16 or floats that are rounded to it, as floats that lie
 * out_step apart: a subnormal is a zero of its sign. */
void firn_flushed_factors(float *out, size_t out_step, const void *data, uint8_t type, size_t first, size_t step,
                          size_t count);

#endif
