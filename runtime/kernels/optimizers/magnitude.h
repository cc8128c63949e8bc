/* The largest magnitude of a tensor, and powers of two near it, by which the terms of a sum of squares are divided so
 * that no square overflows or vanishes (plan/NUMERICS.md, "Finalise"). Freestanding. */
#ifndef FIRN_KERNELS_OPTIMIZERS_MAGNITUDE_H
#define FIRN_KERNELS_OPTIMIZERS_MAGNITUDE_H

#include "runtime/kernels/blocks.h"

enum { FIRN_EXPONENT_LEAST = -126, FIRN_EXPONENT_MOST = 128 }; /* of firn_unit_exponent */

/* Returns 2^n, for n from -149 to 127. */
float firn_power(int32_t n);

/* Returns x * 2^n, rounded once. */
float firn_times_power(float x, int32_t n);

/* Returns w with x = w * 2^exponent and 1 <= |w| < 2; x itself with exponent 0 if x is zero, infinite or NaN. */
float firn_mantissa(float x, int32_t *exponent);

/* Returns k of the least power of two 2^k that is at least `magnitude`, but at least FIRN_EXPONENT_LEAST; and
 * FIRN_EXPONENT_MOST if the magnitude is infinite or NaN. */
int32_t firn_unit_exponent(float magnitude);

/* Returns the larger of `most` and the magnitudes of `count` elements. Magnitudes are compared as bits, in which a NaN
 * is the largest. */
uint32_t firn_larger_magnitude(uint32_t most, const float *x, size_t count);

/* Returns such a magnitude as a number. */
float firn_float_of_magnitude(uint32_t magnitude);

/* Returns the largest magnitude of a tensor of any real type, or NaN if an element is NaN. scratch must have room for
 * one float for each FIRN_SUM_BLOCK elements. */
float firn_largest_magnitude(const firn_kernel_call *call, const firn_tensor *x, float *scratch);

#endif
