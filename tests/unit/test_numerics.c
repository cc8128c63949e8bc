/* Tests the numerics against golden values of the independent model (tests/golden/numerics_model.py): all halves, the
 * sum and the permutation against their definitions, special values, and a checksum that every build must give. Errors
 * in ulp are measured in test_numerics_ulp.c.
 *
 * FIRN_TEST_EXHAUSTIVE=1 in the environment rounds all 2^32 floats to every half type instead of a sample. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/ops.h"
#include "runtime/numerics/half.h"
#include "tests/unit/numerics_sweep.h"
#include "tests/unit/support_share.h"
#include "tests/unit/support_test.h"

/* --- golden values ------------------------------------------------------------------------------------------------ */

enum { float16 = FIRN_FLOAT16, bfloat16 = FIRN_BFLOAT16, cbfloat16 = FIRN_CBFLOAT16 };

typedef struct half_case {
    uint8_t type;
    uint32_t a, b, c, expected;
} half_case;

typedef struct function_case {
    const char *name;
    float (*function)(float);
    uint32_t x, expected;
} function_case;

typedef struct sum_case {
    uint32_t count, expected;
} sum_case;

typedef struct random_case {
    firn_rng rng;
    uint64_t element;
    uint32_t bits, uniform, normal;
} random_case;

typedef struct truncated_case {
    firn_rng rng;
    uint64_t element;
    uint32_t from[4]; /* mean, deviation, low, high */
    uint32_t expected;
} truncated_case;

typedef struct permute_case {
    uint64_t seed, epoch, count, index, expected;
} permute_case;

#define ROUND(type, x, expected)
#define FMA(type, a, b, c, expected)
#define FUNCTION(name, x, expected)
#define SUM(count, expected)
#define RANDOM(seed, rng_id, step, micro, element, bits, uniform, normal)
#define TRUNCATED(seed, rng_id, element, mean, deviation, low, high, expected)
#define PERMUTE(seed, epoch, count, index, expected)

#undef ROUND
#define ROUND(type, x, expected) {type, x, 0, 0, expected},
static const half_case round_cases[] = {
#include "tests/golden/numerics.def"
};
#undef ROUND
#define ROUND(type, x, expected)

#undef FMA
#define FMA(type, a, b, c, expected) {type, a, b, c, expected},
static const half_case fma_cases[] = {
#include "tests/golden/numerics.def"
};
#undef FMA
#define FMA(type, a, b, c, expected)

#undef FUNCTION
#define FUNCTION(name, x, expected) {#name, firn_##name, x, expected},
static const function_case function_cases[] = {
#include "tests/golden/numerics.def"
};
#undef FUNCTION
#define FUNCTION(name, x, expected)

#undef SUM
#define SUM(count, expected) {count, expected},
static const sum_case sum_cases[] = {
#include "tests/golden/numerics.def"
};
#undef SUM
#define SUM(count, expected)

#undef RANDOM
#define RANDOM(seed, rng_id, step, micro, element, bits, uniform, normal)                                              \
    {{seed, rng_id, step, micro}, element, bits, uniform, normal},
static const random_case random_cases[] = {
#include "tests/golden/numerics.def"
};
#undef RANDOM
#define RANDOM(seed, rng_id, step, micro, element, bits, uniform, normal)

#undef TRUNCATED
#define TRUNCATED(seed, rng_id, element, mean, deviation, low, high, expected)                                         \
    {{seed, rng_id, 0, 0}, element, {mean, deviation, low, high}, expected},
static const truncated_case truncated_cases[] = {
#include "tests/golden/numerics.def"
};
#undef TRUNCATED
#define TRUNCATED(seed, rng_id, element, mean, deviation, low, high, expected)

#undef PERMUTE
#define PERMUTE(seed, epoch, count, index, expected) {seed, epoch, count, index, expected},
static const permute_case permute_cases[] = {
#include "tests/golden/numerics.def"
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static float widened(uint8_t type, uint32_t half) {
    uint16_t bits = (uint16_t)half;
    return firn_load(&bits, type, 0);
}

static uint32_t narrowed(uint8_t type, float x) {
    uint16_t half = 0;
    firn_store(&half, type, 0, x);
    return half;
}

TEST(test_rounding_matches_the_model) {
    for (size_t i = 0; i < COUNT(round_cases); i++)
        assert_int_equal(narrowed(round_cases[i].type, firn_from_bits(round_cases[i].a)), round_cases[i].expected);
}

TEST(test_half_fma_matches_the_model) {
    uint32_t wrong = 0;
    for (size_t i = 0; i < COUNT(fma_cases); i++) {
        const half_case *at = &fma_cases[i];
        float y = firn_half_fma(at->type, widened(at->type, at->a), widened(at->type, at->b), widened(at->type, at->c));
        /* The result is a value of the type: narrowing and widening gives it back. */
        uint32_t half = narrowed(at->type, y);
        if (half == at->expected && firn_bits(widened(at->type, half)) == firn_bits(y))
            continue;
        wrong++;
        print_error("%s: 0x%04x * 0x%04x + 0x%04x = 0x%04x, not 0x%04x\n", firn_type_name(at->type), at->a, at->b,
                    at->c, half, at->expected);
    }
    assert_int_equal(wrong, 0);
}

TEST(test_functions_match_the_model) {
    uint32_t wrong = 0;
    for (size_t i = 0; i < COUNT(function_cases); i++) {
        const function_case *at = &function_cases[i];
        uint32_t bits = firn_bits(at->function(firn_from_bits(at->x)));
        if (bits == at->expected)
            continue;
        wrong++;
        print_error("%s(0x%08x) = 0x%08x, not 0x%08x\n", at->name, at->x, bits, at->expected);
    }
    assert_int_equal(wrong, 0);
}

/* --- half types --------------------------------------------------------------------------------------------------- */

typedef struct format {
    uint8_t type;
    int mantissa, bias;
    uint16_t infinity, nan;
} format;

static const format formats[] = {{FIRN_FLOAT16, 10, 15, 0x7c00, 0x7e00},
                                 {FIRN_BFLOAT16, 7, 127, 0x7f80, 0x7fc0},
                                 {FIRN_CBFLOAT16, 9, 31, 0x7e00, 0x7f00}};

/* The value of a finite half according to its definition. */
static double value_of(const format *format, uint32_t half) {
    uint32_t magnitude = half & 0x7fffu;
    int exponent = (int)(magnitude >> format->mantissa);
    double mantissa = (double)(magnitude & ((1u << format->mantissa) - 1u));
    if (exponent > 0)
        mantissa += (double)(1u << format->mantissa);
    double value = ldexp(mantissa, (exponent > 0 ? exponent : 1) - format->bias - format->mantissa);
    return (half & 0x8000u) != 0 ? -value : value;
}

TEST(test_every_half_widens_and_comes_back) {
    for (size_t f = 0; f < COUNT(formats); f++) {
        for (uint32_t half = 0; half <= 0xffffu; half++) {
            const format *format = &formats[f];
            uint32_t magnitude = half & 0x7fffu;
            float x = widened(format->type, half);
            if (magnitude > format->infinity) {
                assert_int_equal(firn_bits(x), FIRN_NAN_BITS);
                assert_int_equal(narrowed(format->type, x), format->nan);
                continue;
            }
            if (magnitude == format->infinity)
                assert_int_equal(firn_bits(x), 0x7f800000u | (half & 0x8000u) << 16);
            else
                assert_true((double)x == value_of(format, half));
            assert_int_equal(firn_bits(x) >> 31, half >> 15);
            assert_int_equal(narrowed(format->type, x), half);
        }
    }
}

/* Tests three values between every two neighbours: just below the midpoint, the midpoint (rounds to even), and just
 * above it. */
TEST(test_every_tie_goes_to_even) {
    for (size_t f = 0; f < COUNT(formats); f++) {
        const format *format = &formats[f];
        for (uint32_t half = 0; half < format->infinity; half++) {
            /* For the largest half, the value above is the one that would follow if there were no infinity. */
            double low = value_of(format, half), high = value_of(format, half + 1);
            double middle =
                half + 1 == format->infinity ? low + (low - value_of(format, half - 1)) / 2 : (low + high) / 2;
            uint32_t even = half + (half & 1u), bits = firn_bits((float)middle);
            assert_true((double)firn_from_bits(bits) == middle);
            for (uint32_t sign = 0; sign <= 1; sign++) {
                float below = firn_from_bits((bits - 1) | sign << 31), above = firn_from_bits((bits + 1) | sign << 31);
                assert_int_equal(narrowed(format->type, below), half | sign << 15);
                assert_int_equal(narrowed(format->type, firn_from_bits(bits | sign << 31)), even | sign << 15);
                assert_int_equal(narrowed(format->type, above), (half + 1) | sign << 15);
            }
        }
    }
}

/* Rounds to nearest even with integers only, by another method than half.h: first the whole number of units, then the
 * remainder. x is 0, a normal binary64, infinity or NaN. */
static uint32_t slow_narrow(const format *format, double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t sign = (uint32_t)(bits >> 63) << 15;
    if (x != x)
        return format->nan;
    if (x == 0)
        return sign;
    int exponent = (int)(bits >> 52 & 0x7ffu) - 1023, least = 1 - format->bias;
    uint64_t mantissa = (bits & 0xfffffffffffffu) | 0x10000000000000u;
    int shift = 52 - format->mantissa + (exponent < least ? least - exponent : 0);
    if (exponent > format->bias)
        return sign | format->infinity;
    if (shift > 60)
        return sign;
    uint64_t half = (uint64_t)1 << (shift - 1), rest = mantissa & (2 * half - 1), whole = mantissa >> shift;
    whole += (uint64_t)(rest > half || (rest == half && (whole & 1u) != 0));
    uint64_t field = exponent < least ? 0 : (uint64_t)(exponent + format->bias - 1);
    return sign | (uint32_t)((field << format->mantissa) + whole);
}

TEST(test_floats_narrow_to_the_nearest) {
    enum { BATCH = 4096 };
    const uint64_t step = support_is_exhaustive() ? support_every() : 1009;
    float in[BATCH];
    uint16_t out[BATCH];
    for (size_t f = 0; f < COUNT(formats); f++) {
        for (uint64_t first = support_from(); first <= UINT32_MAX; first += BATCH * step) {
            for (uint32_t i = 0; i < BATCH; i++)
                in[i] = firn_from_bits((uint32_t)(first + i * step));
            firn_narrow(out, formats[f].type, 0, in, BATCH);
            for (uint32_t i = 0; i < BATCH; i++) {
                uint32_t expected = slow_narrow(&formats[f], (double)in[i]);
                if (out[i] == expected)
                    continue;
                print_error("%s: 0x%08x narrows to 0x%04x, not 0x%04x\n", firn_type_name(formats[f].type),
                            firn_bits(in[i]), out[i], expected);
                fail();
            }
        }
    }
}

/* Every conversion function must give the same result, at any offset and length. */
TEST(test_conversions_agree) {
    enum { MOST = 67 };
    float floats[MOST + 3], wide[MOST];
    uint16_t halves[MOST + 3];
    for (uint32_t i = 0; i < MOST + 3; i++)
        floats[i] = firn_from_bits(i * 2654435761u + 0x3f000000u);
    floats[5] = firn_from_bits(0xffc12345u);
    for (size_t from = 0; from < 3; from++) {
        for (size_t count = 0; count <= MOST; count++) {
            for (size_t f = 0; f < COUNT(formats); f++) {
                uint8_t type = formats[f].type;
                memset(halves, 0xa5, sizeof halves);
                firn_narrow(halves, type, from, floats, count);
                firn_widen(wide, halves, type, from, count);
                for (size_t i = 0; i < count; i++) {
                    assert_int_equal(halves[from + i], narrowed(type, floats[i]));
                    assert_int_equal(firn_bits(wide[i]), firn_bits(firn_round_to(type, floats[i])));
                    assert_int_equal(firn_bits(wide[i]), firn_bits(firn_load(halves, type, from + i)));
                }
                for (size_t i = 0; i < MOST + 3; i++)
                    if (i < from || i >= from + count)
                        assert_int_equal(halves[i], 0xa5a5);
            }
        }
    }
    assert_int_equal(firn_float16_from_float(1.0f), 0x3c00);
    assert_int_equal(firn_bfloat16_from_float(1.0f), 0x3f80);
    assert_int_equal(firn_cbfloat16_from_float(1.0f), 0x3e00);
    assert_int_equal(firn_bits(firn_float16_to_float(0x3c01)), 0x3f802000u);
    assert_int_equal(firn_bits(firn_bfloat16_to_float(0x3f81)), 0x3f810000u);
    assert_int_equal(firn_bits(firn_cbfloat16_to_float(0x3e01)), 0x3f804000u);
}

TEST(test_float32_is_stored_canonical) {
    float stored[4] = {0.0f, 0.0f, 0.0f, 0.0f}, loaded[2];
    const float in[2] = {firn_from_bits(0xff800001u), -0.0f};
    firn_narrow(stored, FIRN_FLOAT32, 1, in, 2);
    assert_int_equal(firn_bits(stored[1]), FIRN_NAN_BITS);
    assert_int_equal(firn_bits(stored[2]), 0x80000000u);
    stored[1] = firn_from_bits(0xffffffffu);
    firn_widen(loaded, stored, FIRN_FLOAT32, 1, 2);
    assert_int_equal(firn_bits(loaded[0]), FIRN_NAN_BITS);
    assert_int_equal(firn_bits(loaded[1]), 0x80000000u);
    assert_int_equal(firn_bits(firn_round_to(FIRN_FLOAT32, firn_from_bits(0x7f812345u))), FIRN_NAN_BITS);
}

/* a*b + c by way of binary64, whose exponent range holds every product of halves: the same rounding to odd, 29 bits
 * further down. Checks millions of triples, where the model's golden file has thousands. */
static uint32_t double_fma(const format *format, float a, float b, float c) {
    double p = (double)a * (double)b, sum = p + (double)c;
    double c_part = sum - p, error = (p - (sum - c_part)) + ((double)c - c_part);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if ((error < 0 || error > 0) && (bits & 1u) == 0)
        bits = (error < 0) == (sum < 0) ? bits + 1 : bits - 1;
    memcpy(&sum, &bits, sizeof bits);
    return slow_narrow(format, sum);
}

TEST(test_half_fma_matches_binary64) {
    for (size_t f = 0; f < COUNT(formats); f++) {
        const format *format = &formats[f];
        for (uint32_t i = 0; i < 600000; i++) {
            const uint32_t counter[4] = {i, 0, 0, 0}, key[2] = {(uint32_t)f, 0};
            uint32_t words[4];
            firn_philox(counter, key, words);
            float a = widened(format->type, words[0]), b = widened(format->type, words[1]);
            float c = widened(format->type, words[2]);
            if (i % 3 == 0) /* close to the product in magnitude, so that both affect the sum */
                c = firn_round_to(format->type, a * b * (float)(int32_t)(words[3] % 4096u) * 0x1p-10f);
            uint32_t half = narrowed(format->type, firn_half_fma(format->type, a, b, c));
            uint32_t expected = double_fma(format, a, b, c);
            if (half == expected)
                continue;
            print_error("%s: %a * %a + %a = 0x%04x, not 0x%04x\n", firn_type_name(format->type), (double)a, (double)b,
                        (double)c, half, expected);
            fail();
        }
    }
}

/* Cases in which a binary32 fma followed by a rounding is wrong, because the first rounding produces a tie. */
TEST(test_half_fma_rounds_once) {
    static const struct {
        uint8_t type;
        float a, b, c;
        uint32_t half;
    } cases[] = {{FIRN_FLOAT16, 0x1.3b4p-12f, 0x1.9fcp+0f, 0x1.f4cp+0f, 0x3fd3},
                 {FIRN_FLOAT16, 0x1.9b4p-12f, 0x1.3ecp+0f, 0x1.5a8p+0f, 0x3d6b},
                 {FIRN_BFLOAT16, 0x1.1p+0f, 0x1.1p+0f, 0x1p-30f, 0x3f91},
                 {FIRN_BFLOAT16, -0x1.1p+0f, 0x1.1p+0f, -0x1p-60f, 0xbf91},
                 {FIRN_CBFLOAT16, 0x1.02p-11f, 0x1.fcp+0f, 0x1.f68p+0f, 0x3fed},
                 {FIRN_CBFLOAT16, 0x1.16p-11f, 0x1.d78p+0f, 0x1.1bp+0f, 0x3e37}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        float y = firn_half_fma(cases[i].type, cases[i].a, cases[i].b, cases[i].c);
        assert_int_equal(narrowed(cases[i].type, y), cases[i].half);
        float fused = firn_fma(cases[i].a, cases[i].b, cases[i].c);
        assert_int_not_equal(narrowed(cases[i].type, fused), cases[i].half);
    }
}

TEST(test_maximum) {
    float nan = firn_from_bits(0xff812345u);
    assert_true(firn_maximum(1.0f, 2.0f) == 2.0f && firn_maximum(2.0f, 1.0f) == 2.0f);
    assert_int_equal(firn_bits(firn_canonical(firn_maximum(nan, 1.0f))), FIRN_NAN_BITS);
    assert_int_equal(firn_bits(firn_canonical(firn_maximum(1.0f, nan))), FIRN_NAN_BITS);
    assert_int_equal(firn_bits(firn_canonical(firn_maximum(nan, nan))), FIRN_NAN_BITS);
    assert_int_equal(firn_bits(firn_maximum(0.0f, -0.0f)), 0x80000000u);
    assert_int_equal(firn_bits(firn_maximum(-0.0f, 0.0f)), 0u);
    assert_true(firn_maximum(-INFINITY, -1.0f) == -1.0f);
}

/* --- special values of the functions ------------------------------------------------------------------------------ */

TEST(test_special_values) {
    const uint32_t plus = 0x7f800000u, minus = 0xff800000u, negative_zero = 0x80000000u, one = 0x3f800000u;
    static const struct {
        float (*function)(float);
        uint32_t x, y;
    } cases[] = {{firn_exp, plus, plus},
                 {firn_exp, minus, 0},
                 {firn_exp, 0, one},
                 {firn_exp, negative_zero, one},
                 {firn_exp, 1, one},
                 {firn_exp, 0x7f7fffffu, plus},
                 {firn_exp, 0xff7fffffu, 0},
                 {firn_log, plus, plus},
                 {firn_log, minus, FIRN_NAN_BITS},
                 {firn_log, 0, minus},
                 {firn_log, negative_zero, minus},
                 {firn_log, 0x80000001u, FIRN_NAN_BITS},
                 {firn_log, one, 0},
                 {firn_log, 0xbf800000u, FIRN_NAN_BITS},
                 {firn_tanh, plus, one},
                 {firn_tanh, minus, one | negative_zero},
                 {firn_tanh, 0, 0},
                 {firn_tanh, negative_zero, negative_zero},
                 {firn_tanh, 1, 1},
                 {firn_erf, plus, one},
                 {firn_erf, minus, one | negative_zero},
                 {firn_erf, 0, 0},
                 {firn_erf, negative_zero, negative_zero},
                 {firn_gelu, plus, plus},
                 {firn_gelu, minus, 0},
                 {firn_gelu, 0, 0},
                 {firn_gelu_slope, plus, one},
                 {firn_gelu_slope, minus, 0},
                 {firn_gelu_slope, 0, 0x3f000000u},
                 {firn_gelu_tanh, plus, plus},
                 {firn_gelu_tanh, minus, negative_zero},
                 {firn_gelu_tanh, 0, 0},
                 {firn_gelu_tanh_slope, plus, one},
                 {firn_gelu_tanh_slope, minus, 0},
                 {firn_gelu_tanh_slope, 0, 0x3f000000u},
                 {firn_atan, plus, 0x3fc90fdbu},
                 {firn_atan, minus, 0xbfc90fdbu},
                 {firn_atan, 0, 0},
                 {firn_atan, negative_zero, negative_zero},
                 {firn_log_one_plus, plus, plus},
                 {firn_log_one_plus, minus, FIRN_NAN_BITS},
                 {firn_log_one_plus, 0, 0},
                 {firn_log_one_plus, 1, 1},
                 {firn_log_one_plus, 0xbf800000u, minus},
                 {firn_log_one_plus, 0xbf800001u, FIRN_NAN_BITS},
                 {firn_sin_turns, 0, 0},
                 {firn_sin_turns, 0x3e800000u, one},
                 {firn_sin_turns, 0x3f000000u, 0},
                 {firn_sin_turns, 0x3f400000u, one | negative_zero},
                 {firn_sin_turns, one, 0},
                 {firn_sin_turns, plus, FIRN_NAN_BITS},
                 {firn_sin_turns, 0x3f800001u, FIRN_NAN_BITS},
                 {firn_cos_turns, 0, one},
                 {firn_cos_turns, 0x3e800000u, 0},
                 {firn_cos_turns, 0x3f000000u, one | negative_zero},
                 {firn_cos_turns, 0x3f400000u, 0},
                 {firn_cos_turns, one, one},
                 {firn_cos_turns, 0x80000001u, FIRN_NAN_BITS}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(firn_bits(cases[i].function(firn_from_bits(cases[i].x))), cases[i].y);
        assert_int_equal(firn_bits(cases[i].function(firn_from_bits(0xff812345u))), FIRN_NAN_BITS);
        assert_int_equal(firn_bits(cases[i].function(firn_from_bits(0x7fc00000u))), FIRN_NAN_BITS);
    }
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

/* The model's list, of mixed signs and magnitudes. */
static float list_element(uint32_t i) {
    uint32_t word = i * 2654435761u;
    return firn_from_bits((word & 0x807fffffu) | (112u + (word >> 24) % 20u) << 23);
}

TEST(test_sums_match_the_model) {
    float list[10000];
    for (uint32_t i = 0; i < 10000; i++)
        list[i] = list_element(i);
    for (size_t i = 0; i < COUNT(sum_cases); i++) {
        firn_sum sum;
        firn_sum_begin(&sum);
        for (uint32_t j = 0; j < sum_cases[i].count; j++)
            firn_sum_add(&sum, list[j]);
        assert_int_equal(firn_bits(firn_sum_end(&sum)), sum_cases[i].expected);
        /* Sums in pieces of various sizes. */
        for (size_t piece = 1; piece < 5000; piece = piece * 3 + 1) {
            firn_sum_begin(&sum);
            for (size_t j = 0; j < sum_cases[i].count; j += piece) {
                size_t left = sum_cases[i].count - j;
                firn_sum_add_many(&sum, list + j, left < piece ? left : piece);
            }
            assert_int_equal(firn_bits(firn_sum_end(&sum)), sum_cases[i].expected);
        }
    }
}

TEST(test_sum_of_nan_is_canonical) {
    firn_sum sum;
    firn_sum_begin(&sum);
    firn_sum_add(&sum, firn_from_bits(0xff800001u));
    assert_int_equal(firn_bits(firn_sum_end(&sum)), FIRN_NAN_BITS);
}

/* --- random numbers ----------------------------------------------------------------------------------------------- */

/* The known answers published by the authors of Philox. */
TEST(test_philox_known_answers) {
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } cases[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}},
                 {{0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu},
                  {0xffffffffu, 0xffffffffu},
                  {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}},
                 {{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
                  {0xa4093822u, 0x299f31d0u},
                  {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint32_t out[4];
        firn_philox(cases[i].counter, cases[i].key, out);
        assert_memory_equal(out, cases[i].out, sizeof out);
    }
}

TEST(test_random_numbers_match_the_model) {
    for (size_t i = 0; i < COUNT(random_cases); i++) {
        const random_case *at = &random_cases[i];
        assert_int_equal(firn_random_bits(&at->rng, at->element), at->bits);
        assert_int_equal(firn_bits(firn_random_uniform(&at->rng, at->element)), at->uniform);
        assert_int_equal(firn_bits(firn_random_normal(&at->rng, at->element)), at->normal);
    }
}

/* Generates many numbers at once, from any element, across blocks and across the overflow of the counter's word. */
TEST(test_many_random_numbers_are_the_same) {
    const firn_rng rng = {.seed = 77, .rng_id = 5, .global_step = 0x123456789au, .micro_step = 9};
    const uint64_t firsts[] = {0, 1, 2, 3, 63, 1000, ((uint64_t)1 << 34) - 70};
    float many[200], normals[200];
    for (size_t f = 0; f < COUNT(firsts); f++) {
        for (size_t count = 0; count <= 200; count += 1 + count / 9) {
            many[count % 200] = normals[count % 200] = -1.0f;
            firn_random_uniform_many(many, &rng, firsts[f], count);
            for (size_t i = 0; i < count; i++)
                assert_int_equal(firn_bits(many[i]), firn_bits(firn_random_uniform(&rng, firsts[f] + i)));
            firn_random_normal_many(normals, &rng, firsts[f], count);
            for (size_t i = 0; i < count; i++)
                assert_int_equal(firn_bits(normals[i]), firn_bits(firn_random_normal(&rng, firsts[f] + i)));
            if (count < 200)
                assert_true(many[count] == -1.0f && normals[count] == -1.0f);
        }
    }
}

TEST(test_truncated_numbers_match_the_model) {
    for (size_t i = 0; i < COUNT(truncated_cases); i++) {
        const truncated_case *at = &truncated_cases[i];
        float x;
        firn_random_truncated_many(&x, &at->rng, at->element, 1,
                                   (firn_truncation){firn_from_bits(at->from[0]), firn_from_bits(at->from[1]),
                                                     firn_from_bits(at->from[2]), firn_from_bits(at->from[3])});
        assert_int_equal(firn_bits(x), at->expected);
    }
}

/* An element is the same wherever the elements around it begin and end; without bounds it is the normal number. */
TEST(test_truncated_numbers_are_those_of_their_elements) {
    enum { DRAWN = 333 };
    const firn_rng rng = {.seed = 78, .rng_id = 6};
    const firn_truncation narrow = {0.25f, 1, 0, 0.5f}, wide = {0.25f, 0.5f, -3, 3.5f};
    float all[DRAWN], some[DRAWN];
    firn_random_truncated_many(all, &rng, 0, DRAWN, narrow);
    uint32_t redrawn = 0;
    for (uint32_t i = 0; i < DRAWN; i++) {
        const float first = firn_fma(1, firn_random_normal(&rng, i), 0.25f);
        assert_true(all[i] >= 0 && all[i] <= 0.5f);
        redrawn += firn_bits(all[i]) != firn_bits(first);
        assert_int_equal(firn_bits(all[i]) != firn_bits(first), first < 0 || first > 0.5f);
    }
    assert_in_range(redrawn, DRAWN / 2, DRAWN - 1);
    for (uint32_t first = 0; first < DRAWN; first += 41) {
        firn_random_truncated_many(some, &rng, first, DRAWN - first, narrow);
        assert_memory_equal(some, all + first, (DRAWN - first) * sizeof some[0]);
    }
    firn_random_truncated_many(some, &rng, 0, DRAWN, wide);
    for (uint32_t i = 0; i < DRAWN; i++)
        assert_int_equal(firn_bits(some[i]), firn_bits(firn_fma(0.5f, firn_random_normal(&rng, i), 0.25f)));
}

TEST(test_random_numbers_are_spread) {
    enum { DRAWS = 200000 };
    const firn_rng rng = {.seed = 1, .rng_id = 2, .global_step = 3, .micro_step = 0};
    double uniform = 0, normal = 0, square = 0, fourth = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        double u = (double)firn_random_uniform(&rng, i), n = (double)firn_random_normal(&rng, i);
        assert_true(u >= 0 && u < 1);
        assert_true(fabs(n) < 5.8);
        uniform += u;
        normal += n;
        square += n * n;
        fourth += n * n * n * n;
    }
    assert_true(fabs(uniform / DRAWS - 0.5) < 0.003);
    assert_true(fabs(normal / DRAWS) < 0.01);
    assert_true(fabs(square / DRAWS - 1) < 0.015);
    assert_true(fabs(fourth / DRAWS - 3) < 0.12);
}

TEST(test_permutations_match_the_model) {
    for (size_t i = 0; i < COUNT(permute_cases); i++) {
        const permute_case *at = &permute_cases[i];
        assert_true(firn_permute(at->seed, at->epoch, at->count, at->index) == at->expected);
    }
}

static void check_permutation(uint64_t seed, uint64_t epoch, uint64_t count) {
    static bool taken[70000];
    memset(taken, 0, sizeof taken);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t image = firn_permute(seed, epoch, count, i);
        assert_true(image < count);
        assert_false(taken[image]);
        taken[image] = true;
    }
}

TEST(test_permutations_are_bijective) {
    for (uint64_t count = 1; count <= 260; count++) {
        check_permutation(0, 0, count);
        check_permutation(0xfedcba9876543210u, 12345678901u, count);
    }
    check_permutation(3, 4, 65535);
    check_permutation(3, 4, 65536);
    check_permutation(3, 4, 65537);
}

/* Fewer indices than lanes, and more; in some orders a cycle is walked several times. */
TEST(test_many_are_permuted_as_one) {
    uint64_t many[100];
    for (uint64_t count = 1; count < 140; count += 3)
        for (size_t number = 1; number <= COUNT(many); number += 11) {
            for (size_t i = 0; i < number; i++)
                many[i] = i * 5 % count;
            firn_permute_many(0xfedcba9876543210u, 12345678901u + count, count, many, number);
            for (size_t i = 0; i < number; i++)
                assert_true(many[i] == firn_permute(0xfedcba9876543210u, 12345678901u + count, count, i * 5 % count));
        }
    uint64_t large = ((uint64_t)1 << 40) + 12345;
    firn_permute_many(7, 1, large + 1, &large, 1);
    assert_true(large == firn_permute(7, 1, ((uint64_t)1 << 40) + 12346, ((uint64_t)1 << 40) + 12345));
}

/* Another epoch or seed gives another order, and no order is the identity. */
TEST(test_permutations_differ) {
    const uint64_t count = 1000;
    uint32_t same_epoch = 0, same_seed = 0, fixed = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t image = firn_permute(1, 0, count, i);
        same_epoch += image == firn_permute(1, 1, count, i);
        same_seed += image == firn_permute(2, 0, count, i);
        fixed += image == i;
    }
    assert_true(same_epoch < 10 && same_seed < 10 && fixed < 10);
}

/* --- the same bits everywhere ------------------------------------------------------------------------------------- */

TEST(test_checksum) {
    uint64_t small = firn_numerics_sweep(1), full = firn_numerics_sweep(FIRN_SWEEP_FULL);
    print_message("numerics checksum %016llx, full %016llx\n", (unsigned long long)small, (unsigned long long)full);
    assert_true(small == FIRN_SWEEP_CHECKSUM);
    assert_true(full == FIRN_SWEEP_FULL_CHECKSUM);
}
