/* Fused multiply-add and square root on integers, for cores that have no instruction for them: a C library may round
 * twice (picolibc's fmaf does). plan/NUMERICS.md, "Arithmetic". Round to nearest even, subnormals kept, NaN canonical.
 * Whether a core needs them is decided in numerics.h alone. Freestanding. */
#include <stdbool.h>

#include "runtime/numerics/numerics.h"

#define SIGN_BIT      0x80000000u
#define IMPLIED_BIT   0x00800000u
#define MANTISSA_BITS 0x007fffffu

enum { EXPONENT_SPECIAL = 255, BIAS = 127 };

/* A finite number other than zero: significand * 2^exponent, 2^23 <= significand < 2^24. */
typedef struct number {
    uint32_t significand;
    int32_t exponent;
} number;

static bool is_zero(uint32_t bits) {
    return bits << 1 == 0;
}

/* Returns true for infinity and NaN. */
static bool is_special(uint32_t bits) {
    return (bits >> 23 & 0xffu) == EXPONENT_SPECIAL;
}

static inline number decode(uint32_t bits) {
    const int32_t exponent = (int32_t)(bits >> 23 & 0xffu);
    const uint32_t mantissa = bits & MANTISSA_BITS;
    if (exponent != 0)
        return (number){mantissa | IMPLIED_BIT, exponent - BIAS - 23};
    const int32_t shift = __builtin_clz(mantissa) - 8;
    return (number){mantissa << shift, 1 - BIAS - 23 - shift};
}

/* Shifts right; if any bit that is shifted out is 1, the last bit of the result is 1, too. */
static inline uint64_t shift_to_odd(uint64_t x, int32_t count) {
    if (count == 0)
        return x;
    if (count >= 64)
        return x != 0;
    return x >> count | (x << (64 - count) != 0);
}

/* Rounds sum * 2^exponent, sum > 0, to nearest even, and adds the sign. The last bit of the sum may stand for any bits
 * below it. */
static inline float round_sum(uint64_t sum, int32_t exponent, uint32_t sign) {
    const int32_t zeros = __builtin_clzll(sum);
    int32_t biased = exponent - zeros + 63 + BIAS;
    sum <<= zeros;
    if (biased >= EXPONENT_SPECIAL)
        return firn_from_bits(sign | FIRN_INFINITY_BITS);
    if (biased < 1) {
        sum = shift_to_odd(sum, 1 - biased);
        biased = 1;
    }
    const uint32_t kept = (uint32_t)(sum >> 40);
    const uint64_t dropped = sum << 24, half = (uint64_t)1 << 63;
    const uint32_t up = dropped > half || (dropped == half && (kept & 1u) != 0);
    /* The implied bit of a normal number adds 1 to the exponent, and so does a carry, which may lead to infinity. */
    return firn_from_bits(sign | (((uint32_t)(biased - 1) << 23) + kept + up));
}

float firn_fma_exact(float a, float b, float c) {
    const uint32_t a_bits = firn_bits(a), b_bits = firn_bits(b), c_bits = firn_bits(c);
    if (is_special(a_bits) || is_special(b_bits))
        return firn_canonical(a * b + c);
    if (is_special(c_bits))
        return firn_canonical(c);
    if (is_zero(a_bits) || is_zero(b_bits))
        return a * b + c; /* exact */
    if (is_zero(c_bits))
        return a * b;
    const number x = decode(a_bits), y = decode(b_bits), z = decode(c_bits);
    const uint32_t product_sign = (a_bits ^ b_bits) & SIGN_BIT;
    uint32_t sign = c_bits & SIGN_BIT;
    /* Both below 2^62, so that their sum has 63 bits, and at least 2^60. The last 14 bits of one and 38 bits of the
     * other are zeros: where a shift drops bits, the other is more than 2^12 times larger, and the last bit of the sum
     * is far below the last one that is kept. */
    uint64_t product = (uint64_t)x.significand * y.significand << 14, addend = (uint64_t)z.significand << 38;
    int32_t exponent = x.exponent + y.exponent - 14;
    const int32_t above = exponent - (z.exponent - 38);
    if (above >= 0) {
        addend = shift_to_odd(addend, above);
    } else {
        product = shift_to_odd(product, -above);
        exponent -= above;
    }
    if (sign == product_sign)
        return round_sum(product + addend, exponent, sign);
    if (product == addend)
        return 0.0f;
    if (product > addend)
        sign = product_sign;
    return round_sum(product > addend ? product - addend : addend - product, exponent, sign);
}

/* One bit of the root in each turn: 24 and one for rounding. The root of a float is never half-way between two floats,
 * because it would have 25 bits, its square 49, and the last of them would be 1. */
float firn_sqrt_exact(float x) {
    const uint32_t bits = firn_bits(x);
    if (is_zero(bits) || bits == FIRN_INFINITY_BITS)
        return x;
    if (is_special(bits) || (bits & SIGN_BIT) != 0)
        return firn_from_bits(FIRN_NAN_BITS);
    number radicand = decode(bits);
    if ((radicand.exponent & 1) == 0) {
        radicand.significand <<= 1;
        radicand.exponent--;
    }
    /* x = significand 2^25 * 2^(exponent - 25), whose exponent is even; the first product has 49 or 50 bits. */
    uint64_t left = (uint64_t)radicand.significand << (25 + 14);
    uint32_t root = 0, rest = 0;
    for (int32_t i = 0; i < 25; i++) {
        rest = rest << 2 | (uint32_t)(left >> 62);
        left <<= 2;
        const uint32_t trial = root << 2 | 1u;
        root <<= 1;
        if (rest >= trial) {
            rest -= trial;
            root |= 1u;
        }
    }
    const uint32_t exponent = (uint32_t)((radicand.exponent - 25) / 2 + 24 + BIAS);
    return firn_from_bits(((exponent - 1u) << 23) + ((root + 1u) >> 1));
}
