/* The half types as inline functions, for loops that the compiler must be able to vectorise. The functions declared in
 * numerics.h only call these. There are no branches on data and no tables; a select is done with a mask.
 *
 * A half type is described by its mantissa bits and its bias: float16 10, 15; cbfloat16 9, 31; bfloat16 7, 127. */
#ifndef FIRN_NUMERICS_HALF_H
#define FIRN_NUMERICS_HALF_H

#include "runtime/numerics/numerics.h"

#define FIRN_MAGNITUDE_BITS 0x7fffffffu
#define FIRN_SIGN_BIT       0x80000000u

enum { FIRN_FLOAT16_MANTISSA = 10, FIRN_FLOAT16_BIAS = 15, FIRN_CBFLOAT16_MANTISSA = 9 };

/* Returns `yes` if condition is 1, `no` if it is 0. Uses a mask because ?: may become a branch, which prevents a loop
 * from being vectorised. */
static inline uint32_t firn_select(uint32_t condition, uint32_t yes, uint32_t no) {
    return no ^ ((no ^ yes) & (0u - condition));
}

/* Without vectors ?: is the shorter one, in a register of floats. */
static inline float firn_select_float(uint32_t condition, float yes, float no) {
    if (FIRN_VECTORS == 0)
        return condition != 0 ? yes : no;
    return firn_from_bits(firn_select(condition, firn_bits(yes), firn_bits(no)));
}

/* 2^exponent, -126 <= exponent <= 127. */
static inline float firn_power_of_two(int exponent) {
    return firn_from_bits((uint32_t)(exponent + 127) << 23);
}

/* Returns the value of a float16 or cbfloat16. A subnormal is its mantissa, as an integer, times the smallest value. */
static inline float firn_half_decode(uint32_t half, int mantissa, int bias) {
    const uint32_t infinity = 0x7fffu >> mantissa << mantissa;
    uint32_t magnitude = half & 0x7fffu;
    uint32_t normal = (magnitude << (23 - mantissa)) + ((uint32_t)(127 - bias) << 23);
    uint32_t subnormal = firn_bits((float)(int32_t)magnitude * firn_power_of_two(1 - bias - mantissa));
    uint32_t finite = firn_select(magnitude < 1u << mantissa, subnormal, normal);
    uint32_t number = firn_select(magnitude == infinity, FIRN_INFINITY_BITS, finite) | (half & 0x8000u) << 16;
    return firn_from_bits(firn_select(magnitude > infinity, FIRN_NAN_BITS, number));
}

/* Rounds x to the nearest value of a half type, returned as a float. Normal values: the dropped bits are rounded in
 * integer arithmetic. Subnormal values: adding and subtracting a power of two whose last bit is the smallest subnormal
 * rounds x to it. */
static inline float firn_half_round(float x, int mantissa, int bias) {
    const int drop = 23 - mantissa;
    const float magic = firn_power_of_two(1 - bias + drop);
    uint32_t magnitude = firn_bits(x) & FIRN_MAGNITUDE_BITS;
    uint32_t half_way = (1u << (drop - 1)) - 1u + (magnitude >> drop & 1u);
    uint32_t normal = (magnitude + half_way) >> drop << drop;
    uint32_t subnormal = firn_bits((firn_from_bits(magnitude) + magic) - magic);
    uint32_t finite = firn_select(magnitude < (uint32_t)(128 - bias) << 23, subnormal, normal);
    uint32_t number = firn_select(finite >= (uint32_t)(bias + 128) << 23, FIRN_INFINITY_BITS, finite);
    uint32_t bits = number | (firn_bits(x) & FIRN_SIGN_BIT);
    return firn_from_bits(firn_select(magnitude > FIRN_INFINITY_BITS, FIRN_NAN_BITS, bits));
}

/* Returns the bits of a value of a half type. x must be such a value: a result of firn_half_round. */
static inline uint32_t firn_half_encode(float x, int mantissa, int bias) {
    const uint32_t infinity = 0x7fffu >> mantissa << mantissa;
    const float magic = firn_power_of_two(1 - bias + 23 - mantissa);
    uint32_t magnitude = firn_bits(x) & FIRN_MAGNITUDE_BITS;
    uint32_t normal = (magnitude - ((uint32_t)(127 - bias) << 23)) >> (23 - mantissa);
    uint32_t subnormal = firn_bits(firn_from_bits(magnitude) + magic) - firn_bits(magic);
    uint32_t finite = firn_select(magnitude < (uint32_t)(128 - bias) << 23, subnormal, normal);
    uint32_t number = firn_select(magnitude >= FIRN_INFINITY_BITS, infinity, finite);
    uint32_t half = number | (firn_bits(x) >> 16 & 0x8000u);
    return firn_select(magnitude > FIRN_INFINITY_BITS, infinity | 1u << (mantissa - 1), half);
}

/* A bfloat16 is the upper half of a float, also for subnormals. */
static inline float firn_bfloat16_decode(uint32_t half) {
    return firn_canonical(firn_from_bits(half << 16));
}

static inline float firn_bfloat16_round(float x) {
    uint32_t bits = firn_bits(x);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
    return firn_from_bits(firn_select((bits & FIRN_MAGNITUDE_BITS) > FIRN_INFINITY_BITS, FIRN_NAN_BITS, rounded));
}

static inline float firn_float16_round(float x) {
    return firn_half_round(x, FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
}

static inline float firn_cbfloat16_round(float x) {
    return firn_half_round(x, FIRN_CBFLOAT16_MANTISSA, FIRN_CBFLOAT16_BIAS);
}

/* Returns p + c rounded to odd: the exact sum if it is a float, else the neighbouring float whose last bit is set.
 * Rounding the result to a format with at least two bits less equals rounding the exact sum. The error of a sum is a
 * float and is computed with TwoSum (Knuth). If the sum is not finite the error is NaN and the sum is returned
 * unchanged. */
static inline float firn_add_to_odd(float p, float c) {
    float sum = p + c;
    float c_part = sum - p;
    float p_part = sum - c_part;
    float error = (p - p_part) + (c - c_part);
    uint32_t bits = firn_bits(sum);
    uint32_t inexact = (uint32_t)(error < 0.0f) | (uint32_t)(error > 0.0f);
    uint32_t away = (firn_bits(error) ^ bits) >> 31; /* 1: the error points towards zero, so the magnitude decreases */
    return firn_from_bits(bits + (inexact & ~bits) * (1u - 2u * away));
}

/* The product of two float16 or cbfloat16 values is exact in binary32: it has 22 or 20 bits and an exponent far inside
 * the range. */
static inline float firn_float16_fma_inline(float a, float b, float c) {
    return firn_float16_round(firn_add_to_odd(a * b, c));
}

static inline float firn_cbfloat16_fma_inline(float a, float b, float c) {
    return firn_cbfloat16_round(firn_add_to_odd(a * b, c));
}

/* Returns 1 if firn_bfloat16_fma_plain may be used. A product of two bfloat16 values has 16 bits, so it is exact in
 * binary32 if it is finite and at least 2^-117, or zero because a factor is zero. A smaller product cannot change the
 * result if c is a bfloat16 of at least 2^-90. A loop can make this check for a whole row first and then be
 * vectorised. */
static inline uint32_t firn_bfloat16_is_plain(float a, float b, float c) {
    const uint32_t least_product = (uint32_t)(127 - 117) << 23, least_c = (uint32_t)(127 - 90) << 23;
    uint32_t magnitude = firn_bits(a * b) & FIRN_MAGNITUDE_BITS;
    uint32_t c_magnitude = firn_bits(c) & FIRN_MAGNITUDE_BITS;
    uint32_t zero = (uint32_t)(a == 0.0f) | (uint32_t)(b == 0.0f);
    uint32_t enough = zero | (uint32_t)(magnitude >= least_product) | (uint32_t)(c_magnitude >= least_c);
    return enough & (uint32_t)(magnitude < FIRN_INFINITY_BITS);
}

static inline float firn_bfloat16_fma_plain(float a, float b, float c) {
    return firn_bfloat16_round(firn_add_to_odd(a * b, c));
}

/* Handles the remaining products, which must be scaled first: half.c. */
float firn_bfloat16_fma_scaled(float a, float b, float c);

static inline float firn_bfloat16_fma_inline(float a, float b, float c) {
    return firn_bfloat16_is_plain(a, b, c) != 0 ? firn_bfloat16_fma_plain(a, b, c) : firn_bfloat16_fma_scaled(a, b, c);
}

#endif
