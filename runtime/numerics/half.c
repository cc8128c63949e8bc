/* The half types as ordinary functions: plan/NUMERICS.md, "Half types". Freestanding. The arithmetic is in half.h,
 * except for the rare case of a bfloat16 product that needs scaling. */
#include "runtime/numerics/half.h"
#include "plan/ops.h"

float firn_float16_to_float(uint16_t half) {
    return firn_half_decode(half, FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
}

float firn_bfloat16_to_float(uint16_t half) {
    return firn_bfloat16_decode(half);
}

float firn_cbfloat16_to_float(uint16_t half) {
    return firn_half_decode(half, FIRN_CBFLOAT16_MANTISSA, FIRN_CBFLOAT16_BIAS);
}

uint16_t firn_float16_from_float(float x) {
    return (uint16_t)firn_half_encode(firn_float16_round(x), FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
}

uint16_t firn_bfloat16_from_float(float x) {
    return (uint16_t)(firn_bits(firn_bfloat16_round(x)) >> 16);
}

uint16_t firn_cbfloat16_from_float(float x) {
    return (uint16_t)firn_half_encode(firn_cbfloat16_round(x), FIRN_CBFLOAT16_MANTISSA, FIRN_CBFLOAT16_BIAS);
}

void firn_canonical_many(float *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        x[i] = firn_canonical(x[i]);
}

float firn_load(const void *data, uint8_t type, size_t i) {
    float x;
    firn_widen(&x, data, type, i, 1);
    return x;
}

void firn_store(void *data, uint8_t type, size_t i, float x) {
    firn_narrow(data, type, i, &x, 1);
}

float firn_round_to(uint8_t type, float x) {
    switch (type) {
    case FIRN_FLOAT16:
        return firn_float16_round(x);
    case FIRN_BFLOAT16:
        return firn_bfloat16_round(x);
    case FIRN_CBFLOAT16:
        return firn_cbfloat16_round(x);
    default:
        return firn_canonical(x);
    }
}

/* Handles products that are not exact in binary32. In both cases the operands are scaled exactly, by a power of two,
 * and the scaled sum is rounded to odd. tiny: |ab| < 2^-117 and |c| < 2^-90. Scaled by 2^117, the last bit of ab is at
 * least 2^-149 and the sum is below 2^28. Subnormal results are multiples of 2^-133, which is scaled to 2^-16: the last
 * bit of 2^7. huge: ab exceeds the range of binary32, but ab + c may not. Scaled by 2^-4, the last bit of c is at least
 * 2^-137. If the scaled product overflows too, the result overflows for every c. The scale is applied to the smaller
 * factor (tiny) or the larger one (huge), so that the scaled factor is in range. */
float firn_bfloat16_fma_scaled(float a, float b, float c) {
    const float smallest_normal = firn_power_of_two(-126 + 117), magic = firn_power_of_two(7);
    uint32_t a_magnitude = firn_bits(a) & FIRN_MAGNITUDE_BITS, b_magnitude = firn_bits(b) & FIRN_MAGNITUDE_BITS;
    uint32_t c_magnitude = firn_bits(c) & FIRN_MAGNITUDE_BITS;
    float smaller = a_magnitude < b_magnitude ? a : b, larger = a_magnitude < b_magnitude ? b : a;
    if ((firn_bits(larger) & FIRN_MAGNITUDE_BITS) >= FIRN_INFINITY_BITS)
        return firn_canonical(a * b + c);
    if (c_magnitude >= FIRN_INFINITY_BITS)
        return firn_canonical(c);
    if ((firn_bits(a * b) & FIRN_MAGNITUDE_BITS) == FIRN_INFINITY_BITS) {
        float sum = firn_add_to_odd(larger * 0x1p-4f * smaller, c * 0x1p-4f);
        return firn_bfloat16_round(sum * 0x1p4f);
    }
    float sum = firn_add_to_odd(smaller * 0x1p117f * larger, c * 0x1p117f);
    uint32_t magnitude = firn_bits(sum) & FIRN_MAGNITUDE_BITS;
    float subnormal = (firn_from_bits(magnitude) + magic) - magic;
    float normal = firn_bfloat16_round(firn_from_bits(magnitude));
    float rounded = (firn_from_bits(magnitude) < smallest_normal ? subnormal : normal) * 0x1p-117f;
    return firn_from_bits(firn_bits(rounded) | (firn_bits(sum) & FIRN_SIGN_BIT));
}

float firn_half_fma(uint8_t type, float a, float b, float c) {
    switch (type) {
    case FIRN_FLOAT16:
        return firn_float16_fma_inline(a, b, c);
    case FIRN_BFLOAT16:
        return firn_bfloat16_fma_inline(a, b, c);
    default:
        return firn_cbfloat16_fma_inline(a, b, c);
    }
}
