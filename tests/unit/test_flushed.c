/* Tests the arithmetic of flushed sums (runtime/numerics/flushed.h) against exact integers: results at both sides of
 * 2^-126, signs of zeros, overflow, infinities and NaN; in the form for vectors and in the one for cores without a
 * fused multiply-add; on x86 also against the hardware, which flushes by its control word. FIRN_TEST_EXHAUSTIVE=1 in
 * the environment takes 10^8 cases instead of 10^6. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "plan/ops.h"
#include "runtime/numerics/flushed.h"
#include "tests/unit/support_share.h"
#include "tests/unit/support_test.h"

#ifdef __x86_64__
#    include <immintrin.h>
#endif

/* The form without vectors and on integers, which the build compiles for this machine under another name. */
void firn_flushed_multiply_add_scalar(float *sums, float left, const float *right, size_t count);
void firn_flushed_multiply_add_lanes_scalar(float *sums, const float *left, const float *right, size_t count);
void firn_flushed_close_scalar(float *sums, float *even, float *odd, size_t count);

static uint32_t cases(void) {
    return support_is_exhaustive() ? 100000000u / support_every() : 1000000u;
}

/* xorshift64* (Vigna). */
static uint32_t random_bits(void) {
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)(state * 0x2545f4914f6cdd1du >> 32);
}

/* --- the model: integers in units of 2^-300, wide enough for any product of two floats ---------------------------- */

enum { WORDS = 20, UNIT = 300 };

typedef struct wide {
    uint32_t words[WORDS]; /* the lowest first, in two's complement */
} wide;

static bool is_negative(const wide *x) {
    return x->words[WORDS - 1] >> 31 != 0;
}

static void negate(wide *x) {
    uint64_t carry = 1;
    for (int i = 0; i < WORDS; i++) {
        carry += (uint32_t)~x->words[i];
        x->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static void add(wide *x, const wide *y) {
    uint64_t carry = 0;
    for (int i = 0; i < WORDS; i++) {
        carry += (uint64_t)x->words[i] + y->words[i];
        x->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static uint32_t mantissa_of(float x) {
    return (firn_bits(x) & 0x7fffffu) | (uint32_t)((firn_bits(x) << 1 >> 24) != 0) << 23;
}

/* The power of two of the last bit. */
static int exponent_of(float x) {
    const int biased = (int)(firn_bits(x) << 1 >> 24);
    return (biased == 0 ? 1 : biased) - 150;
}

/* Returns significand * 2^exponent, negated or not. */
static wide wide_of(uint64_t significand, int exponent, bool negative) {
    wide x = {{0}};
    const int at = exponent + UNIT;
    for (int i = 0; i < 64; i++)
        if ((significand >> i & 1u) != 0)
            x.words[(at + i) / 32] |= 1u << (at + i) % 32;
    if (negative)
        negate(&x);
    return x;
}

static bool bit_of(const wide *x, int i) {
    return i >= 0 && (x->words[i / 32] >> i % 32 & 1u) != 0;
}

/* Rounds a magnitude that is not 0 to 24 bits, whatever its exponent is, to nearest even; then what is below 2^-126 is
 * +0, and what is too large infinite. */
static float round_wide(const wide *x) {
    int top = 32 * WORDS - 1;
    while (!bit_of(x, top))
        top--;
    uint32_t kept = 0;
    for (int i = 0; i < 24; i++)
        kept = kept << 1 | bit_of(x, top - i);
    bool rest = false;
    for (int i = top - 25; i >= 0; i--)
        rest = rest || bit_of(x, i);
    kept += bit_of(x, top - 24) && (rest || (kept & 1u) != 0);
    int exponent = top - UNIT; /* of the first bit */
    if (kept >> 24 != 0) {
        kept >>= 1;
        exponent++;
    }
    if (exponent < -126)
        return 0.0f;
    return exponent > 127 ? firn_from_bits(FIRN_INFINITY_BITS)
                          : firn_from_bits(((uint32_t)(exponent + 126) << 23) + kept);
}

/* Returns a*b + c. What is not finite, and zeros, are as IEEE 754 has them, with no rounding that matters. */
static float model(float a, float b, float c) {
    if (!(a - a == 0 && b - b == 0 && c - c == 0))
        return firn_canonical(firn_fma_exact(a, b, c));
    wide x = wide_of((uint64_t)mantissa_of(a) * mantissa_of(b), exponent_of(a) + exponent_of(b),
                     ((firn_bits(a) ^ firn_bits(b)) & FIRN_SIGN_BIT) != 0);
    const wide y = wide_of(mantissa_of(c), exponent_of(c), (firn_bits(c) & FIRN_SIGN_BIT) != 0);
    const wide zero = {{0}};
    add(&x, &y);
    if (memcmp(&x, &zero, sizeof x) == 0) {
        const uint32_t of_product = (firn_bits(a) ^ firn_bits(b)) & FIRN_SIGN_BIT, of_c = firn_bits(c) & FIRN_SIGN_BIT;
        return firn_from_bits(of_product & of_c);
    }
    const bool negative = is_negative(&x);
    if (negative)
        negate(&x);
    return firn_from_bits(firn_bits(round_wide(&x)) | (negative ? FIRN_SIGN_BIT : 0));
}

/* --- the hardware ------------------------------------------------------------------------------------------------- */

#ifdef __x86_64__
static bool has_hardware(void) {
    return __builtin_cpu_supports("fma");
}

static __attribute__((target("fma"), noinline)) float hardware(float a, float b, float c) {
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040); /* FTZ and DAZ */
    __m128 r;
    __asm__ volatile("vmovaps %1, %0\n\tvfmadd213ss %3, %2, %0"
                     : "=&x"(r)
                     : "x"(_mm_set_ss(a)), "x"(_mm_set_ss(b)), "x"(_mm_set_ss(c)));
    _mm_setcsr(before);
    return _mm_cvtss_f32(r);
}
#else
static bool has_hardware(void) {
    return false;
}

static float hardware(float a, float b, float c) {
    return model(a, b, c);
}
#endif

/* --- one term ----------------------------------------------------------------------------------------------------- */

static bool same(float a, float b) {
    return firn_bits(firn_canonical(a)) == firn_bits(firn_canonical(b));
}

static void check_term(float a, float b, float c) {
    const float expected = model(a, b, c);
    float row[FIRN_FLUSHED_LANES] = {0}, factors[FIRN_FLUSHED_LANES] = {0}, scalar = c;
    row[5] = c;
    factors[5] = b;
    firn_flushed_multiply_add(row, a, factors, FIRN_FLUSHED_LANES);
    firn_flushed_multiply_add_scalar(&scalar, a, &b, 1);
    float lanes[FIRN_FLUSHED_LANES] = {0}, lefts[FIRN_FLUSHED_LANES] = {0}, own = c;
    lanes[5] = c;
    lefts[5] = a;
    firn_flushed_multiply_add_lanes(lanes, lefts, factors, FIRN_FLUSHED_LANES);
    firn_flushed_multiply_add_lanes_scalar(&own, &a, &b, 1);
    if (same(expected, firn_flushed_fma(a, b, c)) && same(expected, row[5]) && same(expected, scalar) &&
        same(expected, lanes[5]) && same(expected, own) && (!has_hardware() || same(expected, hardware(a, b, c))))
        return;
    fail_msg("0x%08x * 0x%08x + 0x%08x is 0x%08x, but 0x%08x, 0x%08x, 0x%08x, 0x%08x", firn_bits(a), firn_bits(b),
             firn_bits(c), firn_bits(expected), firn_bits(firn_flushed_fma(a, b, c)), firn_bits(row[5]),
             firn_bits(scalar), firn_bits(hardware(a, b, c)));
}

/* Returns a number whose last 16 bits are zeros, so a bfloat16, with a mantissa that is often at an end of its range.
 */
static float factor_with(int exponent) {
    static const uint32_t mantissas[] = {0, 0, 1, 0x7f, 0x40, 0x2a};
    const uint32_t r = random_bits(), mantissa = r % 8 < 6 ? mantissas[r % 8] : r >> 8 & 0x7fu;
    if (exponent < -126 || exponent > 127)
        return firn_from_bits(r & FIRN_SIGN_BIT);
    return firn_from_bits((r & FIRN_SIGN_BIT) | (uint32_t)(exponent + 127) << 23 | mantissa << 16);
}

static int random_between(int least, int most) {
    return least + (int)(random_bits() % (uint32_t)(most - least + 1));
}

/* The sums that a 2^-126 lies between, with the smallest products that tell. */
TEST(results_at_the_smallest_normal) {
    static const struct {
        float a, b, c, expected;
    } exact[] = {
        {0x1p-63f, 0x1p-63f, 0.0f, 0x1p-126f},
        {0x1p-63f, 0x1p-63f, -0.0f, 0x1p-126f},
        {0x1p-63f, -0x1p-64f, 0.0f, -0.0f},
        {0x1p-63f, 0x1p-64f, -0.0f, 0.0f},
        {-0x1p-100f, 0x1p-100f, 0x1p-126f, 0x1p-126f},   /* far below half of the last bit */
        {-0x1p-100f, 0x1p-51f, 0x1p-126f, 0x1p-126f},    /* 2^-126 - 2^-151: half-way, to even */
        {-0x1.02p-100f, 0x1p-51f, 0x1p-126f, 0.0f},      /* just below */
        {-0x1.fep-101f, 0x1p-51f, 0x1p-126f, 0x1p-126f}, /* just above */
        {-0x1p-100f, 0x1p-50f, 0x1p-126f, 0.0f},         /* 2^-126 - 2^-150: kept subnormals make it 2^-126 */
        {0x1p-100f, 0x1p-51f, -0x1p-126f, -0x1p-126f},
        {0x1.02p-100f, 0x1p-51f, -0x1p-126f, -0.0f},
        {0x1.fep-70f, 0x1.02p-57f, 0.0f, 0x1.00fep-126f},
        {0x1.fep-70f, 0x1.00p-57f, 0.0f, 0.0f},
        {0x1p100f, -0x1p-126f, 0x1p-26f, 0.0f},
        {0x1p100f, 0x1p-126f, -0x1p-26f, 0.0f},
        {0x1p127f, 0x1p-126f, 0x1p1f, 0x1p2f},
    };
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++) {
        assert_int_equal(firn_bits(model(exact[i].a, exact[i].b, exact[i].c)), firn_bits(exact[i].expected));
        check_term(exact[i].a, exact[i].b, exact[i].c);
    }
}

TEST(results_near_the_smallest_normal) {
    for (uint32_t i = 0; i < cases(); i++) {
        const int of_product = random_between(-178, -124), of_a = random_between(-126, 0);
        const float a = factor_with(of_a), b = factor_with(of_product - of_a);
        float c = firn_from_bits(FIRN_SMALLEST_NORMAL_BITS + random_bits() % 4u);
        if (i % 4 == 1)
            c = firn_flushed(-(a * b + firn_from_bits(random_bits() % 0x01000000u)));
        if (i % 4 == 2)
            c = firn_from_bits(FIRN_SMALLEST_NORMAL_BITS + random_bits() % 0x02000000u);
        check_term(a, b, random_bits() % 2 != 0 ? c : -c);
    }
}

TEST(results_of_all_sizes) {
    for (uint32_t i = 0; i < cases(); i++) {
        const int of_a = random_between(-126, 127), of_product = random_between(-150, 140);
        const float a = factor_with(of_a), b = factor_with(of_product - of_a);
        float c = firn_flushed(firn_from_bits(random_bits()));
        if (i % 2 != 0 && of_product > -100 && of_product < 100)
            c = firn_flushed(firn_from_bits((firn_bits(a * b) ^ FIRN_SIGN_BIT) + random_bits() % 3u));
        check_term(a, b, c);
    }
}

TEST(special_values) {
    static const uint32_t values[] = {0x00000000, 0x00800000, 0x00810000, 0x3f800000, 0x1f800000,
                                      0x20000000, 0x5f800000, 0x7f000000, 0x7f7f0000, 0x7f800000,
                                      0x7f810000, 0x7fc00000, 0x7fff0000};
    enum { VALUES = sizeof values / sizeof values[0] };
    for (uint32_t a = 0; a < 2 * VALUES; a++)
        for (uint32_t b = 0; b < 2 * VALUES; b++)
            for (uint32_t c = 0; c < 2 * VALUES; c++)
                check_term(firn_from_bits(values[a / 2] | a << 31), firn_from_bits(values[b / 2] | b << 31),
                           firn_from_bits(values[c / 2] | c << 31));
}

/* --- sums and factors --------------------------------------------------------------------------------------------- */

TEST(sums_of_two) {
    for (uint32_t i = 0; i < cases(); i++) {
        const float a = firn_flushed(firn_from_bits(random_bits() % (i % 2 != 0 ? 0x02000000u : UINT32_MAX)));
        float b = firn_flushed(firn_from_bits(random_bits() % (i % 2 != 0 ? 0x02000000u : UINT32_MAX)));
        b = random_bits() % 2 != 0 ? -b : b;
        assert_true(same(model(1.0f, a, b), firn_flushed_sum(a, b)));
    }
}

TEST(blocks_are_closed) {
    float sums[3] = {0x1p-126f, -0.0f, 1.0f}, even[3] = {-0x1.8p-126f, -0.0f, 2.0f}, odd[3] = {0x1p-126f, -0.0f, 4.0f};
    firn_flushed_close(sums, even, odd, 3); /* t of the first is -2^-127, flushed to -0 */
    assert_int_equal(firn_bits(sums[0]), firn_bits(0x1p-126f));
    assert_int_equal(firn_bits(sums[1]), FIRN_SIGN_BIT);
    assert_int_equal(firn_bits(sums[2]), firn_bits(7.0f));
    for (int i = 0; i < 3; i++)
        assert_int_equal(firn_bits(even[i]) | firn_bits(odd[i]), 0);
    sums[0] = 0x1.8p-126f;
    even[0] = -0x1p-126f;
    firn_flushed_close_scalar(sums, even, odd, 1);
    assert_int_equal(firn_bits(sums[0]), 0);
}

TEST(factors_are_flushed) {
    static uint16_t halves[2 * 0x10000];
    static float floats[0x10000], out[2 * 0x10000];
    for (uint32_t i = 0; i < 0x10000; i++) {
        halves[2 * i] = (uint16_t)i;
        floats[i] = firn_from_bits(i << 16);
    }
    firn_flushed_factors(out, 2, halves, FIRN_BFLOAT16, 0, 2, 0x10000);
    firn_flushed_factors(out + 1, 2, floats, FIRN_FLOAT32, 0, 1, 0x10000);
    for (uint32_t i = 0; i < 0x10000; i++) {
        const uint32_t expected = (i & 0x7f80u) == 0 ? (i & 0x8000u) << 16 : i << 16;
        assert_true(same(firn_from_bits(expected), out[2 * i]) && same(firn_from_bits(expected), out[2 * i + 1]));
    }
    const float rounded[] = {0x1.01p0f, 0x1.03p0f, -0x1.fep-127f, -0x1.fcp-127f}; /* ties, and at 2^-126 */
    firn_flushed_factors(out, 1, rounded, FIRN_FLOAT32, 0, 1, 4);
    assert_true(out[0] == 1.0f && out[1] == 0x1.04p0f && out[2] == -0x1p-126f);
    assert_int_equal(firn_bits(out[3]), FIRN_SIGN_BIT);
    firn_flushed_factors(out, 1, halves, FIRN_BFLOAT16, 6, 4, 3);
    assert_int_equal(firn_bits(out[2]) | firn_bits(out[1]), 0);
    firn_flushed_factors(out, 1, halves, FIRN_BFLOAT16, 2 * 0x3f80, 0x80 * 2, 3);
    assert_true(out[0] == 1.0f && out[1] == 2.0f && out[2] == 4.0f);
}
