/* Functions of one number that only elementwise ops need: plan/NUMERICS.md, "Elementwise ops". They are made of those
 * of elementary.h. Freestanding. */
#ifndef FIRN_KERNELS_FUNCTIONS_H
#define FIRN_KERNELS_FUNCTIONS_H

#include "runtime/numerics/elementary.h"

/* From here on every float is a whole number. */
#define FIRN_WHOLE 0x1p23f

/* 2/sqrt(pi) e^(-x^2), the slope of erf. */
static inline float firn_erf_slope(float x) {
    return firn_exp_inline(-(x * x)) * 0x1.20dd76p+0f;
}

static inline float firn_sign(float x) {
    const float below = x < 0.0f ? -1.0f : x + 0.0f; /* +0, above 0 or NaN */
    return x > 0.0f ? 1.0f : below;
}

/* The nearest whole number, of two that are equally near the even one; a zero has the sign of x. */
static inline float firn_round_to_even(float x) {
    const float a = firn_absolute(x);
    return a < FIRN_WHOLE ? firn_with_sign((a + FIRN_WHOLE) - FIRN_WHOLE, x) : x;
}

/* The greatest whole number that is at most x; a zero has the sign of x. */
static inline float firn_floor(float x) {
    if (!(firn_absolute(x) < FIRN_WHOLE))
        return x;
    const float towards_zero = (float)(int32_t)x;
    return firn_with_sign(towards_zero > x ? towards_zero - 1.0f : towards_zero, x);
}

/* e^x - 1 for x of at most 0: with t = tanh(x / 2) it is 2 t / (1 - t), where nothing cancels. */
static inline float firn_exp_less_one(float x) {
    const float t = firn_tanh_inline(0.5f * x);
    return (t + t) / (1.0f - t);
}

/* x without its fraction, limited to the integers; NaN gives 0. */
static inline int32_t firn_truncated(float x) {
    if (x >= 0x1p31f)
        return INT32_MAX;
    if (x <= -0x1p31f)
        return INT32_MIN;
    return x == x ? (int32_t)x : 0;
}

#endif
