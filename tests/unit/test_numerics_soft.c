/* Tests the fused multiply-add and the square root on integers (runtime/numerics/soft.c) against those of the C library
 * of this machine, which round once. Operands are random in the places where errors hide: sums that cancel, lie
 * half-way between two floats or just beside, underflow or overflow. FIRN_TEST_EXHAUSTIVE=1 in the environment takes
 * 10^8 cases instead of 4 * 10^6, and every float instead of every 1,009th for the square root. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/numerics/numerics.h"
#include "tests/unit/support_share.h"
#include "tests/unit/support_test.h"

/* xorshift64* (Vigna). */
static uint64_t random_bits(void) {
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1du >> 16;
}

/* The number of bits that are not at one end of the mantissa is random, so that zeros and ones are frequent. */
static uint32_t random_mantissa(void) {
    const uint64_t r = random_bits();
    const uint32_t kept = (uint32_t)(r >> 40) % 24u;
    const uint32_t mantissa = (uint32_t)r & 0x7fffffu;
    switch (r >> 32 & 3u) {
    case 0:
        return mantissa;
    case 1:
        return mantissa >> kept;
    case 2:
        return mantissa << kept & 0x7fffffu;
    default:
        return ~(mantissa >> kept) & 0x7fffffu;
    }
}

static float with_exponent(int exponent) {
    const uint32_t biased = exponent < 0 ? 0 : exponent > 255 ? 255 : (uint32_t)exponent;
    return firn_from_bits((uint32_t)(random_bits() & 1u) << 31 | biased << 23 | random_mantissa());
}

static int random_below(uint32_t count) {
    return (int)(random_bits() % count);
}

static void compare_fma(float a, float b, float c) {
    const float expected = firn_canonical(fmaf(a, b, c)), got = firn_canonical(firn_fma_exact(a, b, c));
    if (firn_bits(expected) == firn_bits(got))
        return;
    fail_msg("fma(0x%08x, 0x%08x, 0x%08x) is 0x%08x, not 0x%08x", firn_bits(a), firn_bits(b), firn_bits(c),
             firn_bits(got), firn_bits(expected));
}

/* The product's exponent is about -30 to 300: from far below the subnormals to an overflow that c may prevent. */
static void compare_near(void) {
    const int a_exponent = random_below(256);
    const int product = random_below(330) - 30;
    const float a = with_exponent(a_exponent), b = with_exponent(product + 127 - a_exponent);
    const float p = a * b;
    float c;
    switch (random_bits() & 7u) {
    case 0: /* anything */
        c = with_exponent(random_below(256));
        break;
    case 1: /* cancels all but the error of the product, or nearly */
    case 2:
        c = firn_from_bits((firn_bits(p) ^ 0x80000000u) + (uint32_t)(random_below(5) - 2));
        break;
    case 3: /* the product is about half of the last bit of c */
        c = with_exponent(product + 23 + random_below(4));
        break;
    default: /* from a product that only decides the rounding to an addend that does */
        c = with_exponent(product + random_below(121) - 60);
    }
    compare_fma(a, b, c);
}

TEST(test_fma_rounds_once) {
    const uint32_t cases = support_is_exhaustive() ? 100000000u / support_every() : 4000000u;
    for (unsigned skipped = 0; skipped < support_from() * 13; skipped++)
        random_bits();
    for (uint32_t i = 0; i < cases; i++)
        compare_near();
}

/* Every combination of special values, of the ends of each range, and of their signs. */
TEST(test_fma_of_special_values) {
    static const uint32_t values[] = {
        0,          1,          2,          3,          0x00400000, 0x007fffff, 0x00800000, 0x00800001, 0x00ffffff,
        0x01000000, 0x0c000000, 0x1f800000, 0x20000000, 0x33800000, 0x34000000, 0x3effffff, 0x3f000000, 0x3f000001,
        0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fffffff, 0x40000000, 0x4b000000, 0x5f000000, 0x5f800000, 0x7effffff,
        0x7f000000, 0x7f7ffffe, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fbfffff, 0x7fc00000, 0x7fffffff};
    enum { VALUES = sizeof values / sizeof values[0] };
    for (uint32_t a = 0; a < 2 * VALUES; a++)
        for (uint32_t b = 0; b < 2 * VALUES; b++)
            for (uint32_t c = 0; c < 2 * VALUES; c++)
                compare_fma(firn_from_bits(values[a / 2] | a << 31), firn_from_bits(values[b / 2] | b << 31),
                            firn_from_bits(values[c / 2] | c << 31));
}

/* The exact sum lies 2^-46 of the product beside the middle of two floats: binary64 cannot hold it. */
TEST(test_fma_that_binary64_rounds_twice) {
    const float a = 8384513.0f, b = 8392705.0f; /* a b = 2^46 + 1 */
    assert_true(firn_fma_exact(a, b, 0x1p70f) == 0x1.000002p70f);
    assert_true((float)((double)a * (double)b + 0x1p70) == 0x1p70f);
}

TEST(test_square_root) {
    const uint64_t step = support_is_exhaustive() ? support_every() : 1009;
    for (uint64_t bits = support_from(); bits <= UINT32_MAX; bits += step) {
        const float x = firn_from_bits((uint32_t)bits);
        const float expected = firn_canonical(sqrtf(x)), got = firn_sqrt_exact(x);
        if (firn_bits(expected) != firn_bits(got))
            fail_msg("sqrt(0x%08x) is 0x%08x, not 0x%08x", (uint32_t)bits, firn_bits(got), firn_bits(expected));
    }
}

TEST(test_square_root_of_special_values) {
    static const uint32_t values[] = {0,          1,          0x007fffff, 0x00800000, 0x3f7fffff,
                                      0x3f800000, 0x3f800001, 0x407fffff, 0x7f7fffff, 0x7f800000,
                                      0x7f800001, 0x7fc00000, 0x7fffffff};
    for (uint32_t i = 0; i < 2 * sizeof values / sizeof values[0]; i++) {
        const float x = firn_from_bits(values[i / 2] | i << 31);
        assert_int_equal(firn_bits(firn_sqrt_exact(x)), firn_bits(firn_canonical(sqrtf(x))));
    }
}
