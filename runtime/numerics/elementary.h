/* The elementary functions as inline functions, for loops that the compiler must be able to vectorise. The functions
 * declared in numerics.h only call these. Each is one fixed sequence of binary32 operations, with selects in place of
 * branches; plan/NUMERICS.md, "Elementary functions", lists the same sequences and their error bounds. The coefficients
 * come from tests/golden/fit_elementary.py. */
#ifndef FIRN_NUMERICS_ELEMENTARY_H
#define FIRN_NUMERICS_ELEMENTARY_H

#include "runtime/numerics/half.h"

/* Adding this to x, |x| < 2^21, rounds x to an integer, which is then in the low bits of the sum. */
#define FIRN_ROUNDING_MAGIC 0x1.8p23f

static inline float firn_absolute(float x) {
    return firn_from_bits(firn_bits(x) & FIRN_MAGNITUDE_BITS);
}

/* |magnitude| with the sign of x. */
static inline float firn_with_sign(float magnitude, float x) {
    return firn_from_bits((firn_bits(magnitude) & FIRN_MAGNITUDE_BITS) | (firn_bits(x) & FIRN_SIGN_BIT));
}

/* Limits x to [low, high]. A NaN stays NaN. */
static inline float firn_limit(float x, float low, float high) {
    float above = firn_select_float(x < low, low, x);
    return firn_select_float(above > high, high, above);
}

/* The same as firn_canonical, without a branch. */
static inline float firn_quiet(float x) {
    return firn_select_float(x == x, x, firn_from_bits(FIRN_NAN_BITS));
}

/* Returns the value at x of the polynomial with these coefficients, the highest power first. A build for size calls it
 * instead of the same operations written out. */
float firn_polynomial(const float *coefficients, uint32_t count, float x);

/* Constants of exp. Vector code uses them in the same sequence. */
#define FIRN_EXP_LEAST    -105.0f
#define FIRN_EXP_MOST     89.0f
#define FIRN_EXP_PER_LN2  0x1.715476p+0f
#define FIRN_EXP_LN2      0x1.62e43p-1f
#define FIRN_EXP_LN2_REST -0x1.05c61p-29f
#define FIRN_EXP_0        0x1.fffffcp-2f
#define FIRN_EXP_1        0x1.555492p-3f
#define FIRN_EXP_2        0x1.5558b6p-5f
#define FIRN_EXP_3        0x1.1239a4p-7f
#define FIRN_EXP_4        0x1.6a473p-10f

/* x = n ln 2 + r, |r| <= ln 2 / 2; e^x = 2^n (1 + r + r^2 q(r)). 2^n is applied as two factors, each in range, so that
 * the last product rounds a subnormal result or overflows. The result is constant outside [-105, 89]. */
static inline float firn_exp_inline(float x) {
    float inside = firn_limit(x, FIRN_EXP_LEAST, FIRN_EXP_MOST);
    float shifted = firn_fma(inside, FIRN_EXP_PER_LN2, FIRN_ROUNDING_MAGIC);
    float n = shifted - FIRN_ROUNDING_MAGIC;
    float high = firn_fma(n, -FIRN_EXP_LN2, inside); /* exact */
    float low = n * -FIRN_EXP_LN2_REST;
    float r = high + low;
#if FIRN_SMALL
    static const float coefficients[] = {FIRN_EXP_4, FIRN_EXP_3, FIRN_EXP_2, FIRN_EXP_1, FIRN_EXP_0};
    float q = firn_polynomial(coefficients, sizeof coefficients / sizeof *coefficients, r);
#else
    float q = FIRN_EXP_4;
    q = firn_fma(q, r, FIRN_EXP_3);
    q = firn_fma(q, r, FIRN_EXP_2);
    q = firn_fma(q, r, FIRN_EXP_1);
    q = firn_fma(q, r, FIRN_EXP_0);
#endif
    float sum = 1.0f + high;
    float error = (1.0f - sum) + high;
    float y = sum + firn_fma(r * r, q, low + error);
    uint32_t exponent = firn_bits(shifted) - firn_bits(FIRN_ROUNDING_MAGIC) + 254u; /* n + 254, 102 to 382 */
    uint32_t first = exponent >> 1;
    float scaled = y * firn_from_bits(first << 23) * firn_from_bits((exponent - first) << 23);
    return firn_quiet(scaled);
}

/* Constants of log. */
#define FIRN_LOG_0 -0x1p-1f
#define FIRN_LOG_1 0x1.555548p-2f
#define FIRN_LOG_2 -0x1.000006p-2f
#define FIRN_LOG_3 0x1.99a478p-3f
#define FIRN_LOG_4 -0x1.555c4cp-3f
#define FIRN_LOG_5 0x1.233b7p-3f
#define FIRN_LOG_6 -0x1.fc26fcp-4f
#define FIRN_LOG_7 0x1.e6c174p-4f
#define FIRN_LOG_8 -0x1.de0ed4p-4f
#define FIRN_LOG_9 0x1.148028p-4f

/* x = 2^k m, sqrt(1/2) <= m < sqrt 2, f = m - 1; log x = k ln 2 + f + f^2 q(f). The product of k and the first 16 bits
 * of ln 2 is exact; the rounding error of its sum with f is kept and added to the small terms first. */
static inline float firn_log_inline(float x) {
    uint32_t subnormal = x < 0x1p-126f;
    float normal = firn_select_float(subnormal, x * 0x1p23f, x);
    uint32_t shifted = firn_bits(normal) + (0x3f800000u - 0x3f3504f3u);
    float k = (float)(int32_t)((shifted >> 23) - 127u - 23u * subnormal);
    float f = firn_from_bits((shifted & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
#if FIRN_SMALL
    static const float coefficients[] = {FIRN_LOG_9, FIRN_LOG_8, FIRN_LOG_7, FIRN_LOG_6, FIRN_LOG_5,
                                         FIRN_LOG_4, FIRN_LOG_3, FIRN_LOG_2, FIRN_LOG_1, FIRN_LOG_0};
    float q = firn_polynomial(coefficients, sizeof coefficients / sizeof *coefficients, f);
#else
    float q = FIRN_LOG_9;
    q = firn_fma(q, f, FIRN_LOG_8);
    q = firn_fma(q, f, FIRN_LOG_7);
    q = firn_fma(q, f, FIRN_LOG_6);
    q = firn_fma(q, f, FIRN_LOG_5);
    q = firn_fma(q, f, FIRN_LOG_4);
    q = firn_fma(q, f, FIRN_LOG_3);
    q = firn_fma(q, f, FIRN_LOG_2);
    q = firn_fma(q, f, FIRN_LOG_1);
    q = firn_fma(q, f, FIRN_LOG_0);
#endif
    float large = k * 0x1.62e4p-1f;
    float sum = large + f;
    float error = (large - sum) + f;
    float small = firn_fma(f * f, q, firn_fma(k, 0x1.7f7d1cp-20f, error));
    float finite = sum + small;
    float infinity = firn_from_bits(FIRN_INFINITY_BITS);
    float positive = firn_select_float(x < infinity, finite, infinity);
    float number = firn_select_float(x > 0.0f, positive, -infinity);
    return firn_select_float(x >= 0.0f, number, firn_from_bits(FIRN_NAN_BITS));
}

/* Constants of tanh, erf and gelu. Vector code uses them in the same sequence. */
#define FIRN_TANH_0            -0x1.555552p-2f
#define FIRN_TANH_1            0x1.11103cp-3f
#define FIRN_TANH_2            -0x1.b9f6dap-5f
#define FIRN_TANH_3            0x1.64c044p-6f
#define FIRN_TANH_4            -0x1.18db64p-7f
#define FIRN_TANH_5            0x1.8f862cp-9f
#define FIRN_TANH_6            -0x1.ae8cbap-11f
#define FIRN_TANH_7            0x1.e76c16p-14f
#define FIRN_ERF_NEAR_0        0x1.06eba8p-3f
#define FIRN_ERF_NEAR_1        -0x1.81273ep-2f
#define FIRN_ERF_NEAR_2        0x1.ce2ce6p-4f
#define FIRN_ERF_NEAR_3        -0x1.b7f71ap-6f
#define FIRN_ERF_NEAR_4        0x1.53f224p-8f
#define FIRN_ERF_NEAR_5        -0x1.a3515ep-11f
#define FIRN_ERF_NEAR_6        0x1.4771fep-14f
#define FIRN_ERF_FAR_0         -0x1.0a1f8ep+1f
#define FIRN_ERF_FAR_1         0x1.2085bcp+0f
#define FIRN_ERF_FAR_2         0x1.46c564p-1f
#define FIRN_ERF_FAR_3         0x1.a60b62p-4f
#define FIRN_ERF_FAR_4         -0x1.6543dap-6f
#define FIRN_ERF_FAR_5         0x1.815088p-9f
#define FIRN_ERF_FAR_6         -0x1.853404p-13f
#define FIRN_ERF_MOST          4.0f /* erf is 1 from here on */
#define FIRN_GELU_MOST         16.0f
#define FIRN_SQRT_HALF         0x1.6a09e6p-1f
#define FIRN_NORMAL_PEAK       0x1.988454p-2f /* 1 / sqrt(2 pi) */
#define FIRN_GELU_TANH_1       0x1.988454p+0f
#define FIRN_GELU_TANH_3       0x1.2444f2p-4f
#define FIRN_GELU_TANH_SLOPE_2 0x1.b6676cp-3f

/* Odd. For |x| < 1: x + x^3 q(x^2), else 1 - 2 / (e^2x + 1). */
static inline float firn_tanh_inline(float x) {
    float a = firn_absolute(x);
    float z = a * a;
    float q = FIRN_TANH_7;
    q = firn_fma(q, z, FIRN_TANH_6);
    q = firn_fma(q, z, FIRN_TANH_5);
    q = firn_fma(q, z, FIRN_TANH_4);
    q = firn_fma(q, z, FIRN_TANH_3);
    q = firn_fma(q, z, FIRN_TANH_2);
    q = firn_fma(q, z, FIRN_TANH_1);
    q = firn_fma(q, z, FIRN_TANH_0);
    float small = firn_fma(a * z, q, a);
    float large = 1.0f - 2.0f / (firn_exp_inline(2.0f * a) + 1.0f);
    return firn_quiet(firn_with_sign(firn_select_float(a < 1.0f, small, large), x));
}

/* Odd. For |x| < 1: x + x q(x^2), else 1 - e^-g(x) / 8, where g approximates -log(8 (1 - erf x)) up to 4; above 4, erf
 * is 1. The factor 8 keeps g small, and therefore accurate, where 1 - erf x is large. */
static inline float firn_erf_inline(float x) {
    float a = firn_absolute(x);
    float z = a * a;
    float q = FIRN_ERF_NEAR_6;
    q = firn_fma(q, z, FIRN_ERF_NEAR_5);
    q = firn_fma(q, z, FIRN_ERF_NEAR_4);
    q = firn_fma(q, z, FIRN_ERF_NEAR_3);
    q = firn_fma(q, z, FIRN_ERF_NEAR_2);
    q = firn_fma(q, z, FIRN_ERF_NEAR_1);
    q = firn_fma(q, z, FIRN_ERF_NEAR_0);
    float small = firn_fma(a, q, a);
    float t = firn_select_float(a > FIRN_ERF_MOST, FIRN_ERF_MOST, a);
    float g = FIRN_ERF_FAR_6;
    g = firn_fma(g, t, FIRN_ERF_FAR_5);
    g = firn_fma(g, t, FIRN_ERF_FAR_4);
    g = firn_fma(g, t, FIRN_ERF_FAR_3);
    g = firn_fma(g, t, FIRN_ERF_FAR_2);
    g = firn_fma(g, t, FIRN_ERF_FAR_1);
    g = firn_fma(g, t, FIRN_ERF_FAR_0);
    float large = firn_fma(firn_exp_inline(-g), -0.125f, 1.0f);
    return firn_quiet(firn_with_sign(firn_select_float(a < 1.0f, small, large), x));
}

/* sin(2 pi t + quarter pi/2), 0 <= t <= 1; NaN outside. t = n/4 + r, |r| <= 1/8; a zero is +0. */
static inline float firn_sin_quarters(float turns, uint32_t quarter) {
    float shifted = firn_fma(turns, 4.0f, FIRN_ROUNDING_MAGIC);
    float r = firn_fma(shifted - FIRN_ROUNDING_MAGIC, -0.25f, turns);
    float z = r * r;
    float s = 0x1.443a98p+5f;
    s = firn_fma(s, z, -0x1.32adaap+6f);
    s = firn_fma(s, z, 0x1.466b78p+6f);
    s = firn_fma(s, z, -0x1.4abbcep+5f);
    float sine = firn_fma(r, 0x1.921fb6p+2f, r * firn_fma(s, z, -0x1.777a5cp-23f));
    float c = 0x1.d4f49p+5f;
    c = firn_fma(c, z, -0x1.55b2b2p+6f);
    c = firn_fma(c, z, 0x1.03c1bp+6f);
    c = firn_fma(c, z, -0x1.3bd3ccp+4f);
    float cosine = firn_fma(c, z, 1.0f);
    uint32_t quadrant = firn_bits(shifted) + quarter;
    float value = firn_select_float(quadrant & 1u, cosine, sine);
    float signed_value = firn_from_bits(firn_bits(value) ^ (quadrant & 2u) << 30) + 0.0f;
    uint32_t inside = (uint32_t)(turns >= 0.0f) & (uint32_t)(turns <= 1.0f);
    return firn_select_float(inside, signed_value, firn_from_bits(FIRN_NAN_BITS));
}

/* |x| / (2 pi) as a fraction in units of 2^-64, for 2^-10 <= |x| < infinity. |x| is m 2^e with a 24-bit m. The bits of
 * 1/(2 pi) that contribute whole turns are skipped, and the next 96 bits suffice: no float except zero is closer to a
 * multiple of a quarter turn than 2^-33. */
static inline uint64_t firn_turns(float x) {
    /* 1/(2 pi), after 64 zero bits for negative e */
    static const uint32_t digits[] = {0,           0,           0x28be60dbu, 0x9391054au, 0x7f09d5f4u,
                                      0x7d4d3770u, 0x36d8a566u, 0x4f10e410u, 0x7f9458eau};
    uint32_t magnitude = firn_bits(x) & FIRN_MAGNITUDE_BITS;
    uint32_t first = 64 + (magnitude >> 23) - 150; /* bit e + 1 after the binary point */
    const uint32_t *at = digits + first / 32;
    uint32_t shift = first % 32;
    uint64_t m = (magnitude & 0x7fffffu) | 0x800000u;
    uint32_t high = (uint32_t)(((uint64_t)at[0] << 32 | at[1]) << shift >> 32);
    uint32_t middle = (uint32_t)(((uint64_t)at[1] << 32 | at[2]) << shift >> 32);
    uint32_t low = (uint32_t)(((uint64_t)at[2] << 32 | at[3]) << shift >> 32);
    uint64_t tail = m * middle + (m * low >> 32);
    return (m * high << 32) + tail;
}

/* sin(|x| + quarter pi/2), 2^-10 <= |x| < infinity. The fraction of a turn is split into three exact floats, which are
 * added into a rounded sum and its error; the rest is as in firn_sin_quarters. */
static inline float firn_sin_reduced(float x, uint32_t quarter) {
    uint64_t fraction = firn_turns(x);
    uint64_t nearest = (fraction + ((uint64_t)1 << 61)) >> 62;
    uint64_t rest = fraction - (nearest << 62);
    uint32_t negative = (uint32_t)(rest >> 63);
    uint64_t size = negative != 0 ? 0 - rest : rest;
    float first = (float)(int32_t)(size >> 38) * 0x1p-26f;
    float second = (float)(int32_t)(size >> 14 & 0xffffffu) * 0x1p-50f;
    float third = (float)(int32_t)(size & 0x3fffu) * 0x1p-64f;
    float sum = first + second;
    float error = ((first - sum) + second) + third;
    float r = firn_select_float(negative, -sum, sum);
    float low = firn_select_float(negative, -error, error);
    float z = firn_fma(r, low + low, r * r);
    float s = 0x1.443a98p+5f;
    s = firn_fma(s, z, -0x1.32adaap+6f);
    s = firn_fma(s, z, 0x1.466b78p+6f);
    s = firn_fma(s, z, -0x1.4abbcep+5f);
    float small = firn_fma(r, firn_fma(s, z, -0x1.777a5cp-23f), low * 0x1.921fb6p+2f);
    float sine = firn_fma(r, 0x1.921fb6p+2f, small);
    float c = 0x1.d4f49p+5f;
    c = firn_fma(c, z, -0x1.55b2b2p+6f);
    c = firn_fma(c, z, 0x1.03c1bp+6f);
    c = firn_fma(c, z, -0x1.3bd3ccp+4f);
    float cosine = firn_fma(c, z, 1.0f);
    uint32_t quadrant = (uint32_t)nearest + quarter;
    float value = firn_select_float(quadrant & 1u, cosine, sine);
    return firn_from_bits(firn_bits(value) ^ (quadrant & 2u) << 30);
}

/* sin x and cos x in radians, for every float. These two functions branch, because kernels need only few values. */
static inline float firn_sin_inline(float x) {
    float a = firn_absolute(x);
    if (!(a < firn_from_bits(FIRN_INFINITY_BITS)))
        return firn_from_bits(FIRN_NAN_BITS);
    float y = a < 0x1p-10f ? firn_fma(a * (a * a), -0x1.555556p-3f, a) : firn_sin_reduced(a, 0);
    return firn_bits(x) >> 31 != 0 ? -y : y;
}

static inline float firn_cos_inline(float x) {
    float a = firn_absolute(x);
    if (!(a < firn_from_bits(FIRN_INFINITY_BITS)))
        return firn_from_bits(FIRN_NAN_BITS);
    return a < 0x1p-10f ? firn_fma(a * a, -0.5f, 1.0f) : firn_sin_reduced(a, 1);
}

/* Odd. For |x| <= 1: x + x^3 q(x^2); above, pi/2 less that of 1 / |x|. */
static inline float firn_atan_inline(float x) {
    float a = firn_absolute(x);
    uint32_t large = a > 1.0f;
    float t = firn_select_float(large, 1.0f / a, a);
    float z = t * t;
    float q = -0x1.d4ad48p-10f;
    q = firn_fma(q, z, 0x1.64cd1ap-7f);
    q = firn_fma(q, z, -0x1.fe05c6p-6f);
    q = firn_fma(q, z, 0x1.da62fep-5f);
    q = firn_fma(q, z, -0x1.58164ep-4f);
    q = firn_fma(q, z, 0x1.c08f98p-4f);
    q = firn_fma(q, z, -0x1.2420b8p-3f);
    q = firn_fma(q, z, 0x1.9991e6p-3f);
    q = firn_fma(q, z, -0x1.55553ep-2f);
    float angle = firn_fma(t * z, q, t);
    float rest = 0x1.921fb6p+0f - (angle + 0x1.777a5cp-25f);
    return firn_quiet(firn_with_sign(firn_select_float(large, rest, angle), x));
}

/* 1 / sqrt(x), then one Newton step in which the error of x y^2 is computed exactly. */
static inline float firn_rsqrt_inline(float x) {
    float y = 1.0f / firn_sqrt(x);
    float t = x * y;
    float error = firn_fma(x, y, -t);
    float rest = firn_fma(-error, y, firn_fma(-t, y, 1.0f));
    float better = firn_fma(0.5f * y, rest, y);
    uint32_t inside = (uint32_t)(x > 0.0f) & (uint32_t)(x < firn_from_bits(FIRN_INFINITY_BITS));
    return firn_quiet(firn_select_float(inside, better, y));
}

/* 1 / (1 + e^-|x|), given e = e^-|x|. The sigmoid of a negative x is e times this value, which avoids cancellation. */
static inline float firn_sigmoid_larger(float e) {
    return 1.0f / (1.0f + e);
}

static inline float firn_sigmoid_inline(float x) {
    float e = firn_exp_inline(-firn_absolute(x));
    float larger = firn_sigmoid_larger(e);
    return firn_quiet(firn_select_float(x < 0.0f, e * larger, larger));
}

/* log(1 + e^-|x|). The rounding error of 1 + e is computed exactly and added back. */
static inline float firn_log_one_exp(float x) {
    float e = firn_exp_inline(-firn_absolute(x));
    float sum = 1.0f + e;
    float error = e - (sum - 1.0f);
    return firn_log_inline(sum) + error / sum;
}

/* log(1 + x). The rounding error of 1 + x is computed exactly and added back, unless 1 + x is 0, infinite or negative.
 */
static inline float firn_log_one_plus_inline(float x) {
    float sum = 1.0f + x;
    float part = sum - 1.0f;
    float error = (1.0f - (sum - part)) + (x - part);
    float y = firn_log_inline(sum);
    uint32_t inside = (uint32_t)(sum > 0.0f) & (uint32_t)(sum < firn_from_bits(FIRN_INFINITY_BITS));
    return firn_quiet(firn_select_float(inside, y + error / sum, y));
}

/* log(1 + e^x) */
static inline float firn_softplus_inline(float x) {
    return firn_quiet(firn_select_float(x > 0.0f, x, 0.0f) + firn_log_one_exp(x));
}

/* x / (1 + e^-x). The result is -0 below -105. */
static inline float firn_silu_inline(float x) {
    float inside = firn_select_float(x < -105.0f, -105.0f, x);
    return firn_quiet(inside * firn_sigmoid_inline(inside));
}

/* With s = sigmoid x: s + x s (1 - s). The result is constant outside [-105, 105]. */
static inline float firn_silu_slope_inline(float x) {
    float inside = firn_limit(x, -105.0f, 105.0f);
    float e = firn_exp_inline(-firn_absolute(inside));
    float larger = firn_sigmoid_larger(e);
    float smaller = e * larger;
    float s = firn_select_float(inside < 0.0f, smaller, larger);
    return firn_quiet(firn_fma(inside, larger * smaller, s));
}

/* The next four functions treat x below -16 as -16; the slopes also treat x above 16 as 16. The results are constant
 * there, and this excludes 0 * infinity and infinity / infinity. */
static inline float firn_gelu_inline(float x) {
    float inside = firn_select_float(x < -FIRN_GELU_MOST, -FIRN_GELU_MOST, x);
    float h = 0.5f * inside;
    return firn_quiet(firn_fma(h, firn_erf_inline(inside * FIRN_SQRT_HALF), h));
}

static inline float firn_gelu_slope_inline(float x) {
    float inside = firn_limit(x, -FIRN_GELU_MOST, FIRN_GELU_MOST);
    float density = firn_exp_inline(-0.5f * inside * inside) * FIRN_NORMAL_PEAK;
    float integral = firn_fma(0.5f, firn_erf_inline(inside * FIRN_SQRT_HALF), 0.5f);
    return firn_quiet(firn_fma(inside, density, integral));
}

/* The exponent -2u in x/2 (1 + tanh u) = x / (1 + e^-2u), where u = sqrt(2/pi) (x + 0.044715 x^3). */
static inline float firn_gelu_tanh_exponent(float x) {
    return x * firn_fma(x * x, -FIRN_GELU_TANH_3, -FIRN_GELU_TANH_1);
}

static inline float firn_gelu_tanh_inline(float x) {
    float inside = firn_select_float(x < -FIRN_GELU_MOST, -FIRN_GELU_MOST, x);
    return firn_quiet(inside / (1.0f + firn_exp_inline(firn_gelu_tanh_exponent(inside))));
}

/* With s = 1 / (1 + e^-2u): s + x s (1 - s) 2u'. The smaller of s and 1 - s is computed from e^-2|u|, which avoids
 * cancellation. */
static inline float firn_gelu_tanh_slope_inline(float x) {
    float inside = firn_limit(x, -FIRN_GELU_MOST, FIRN_GELU_MOST);
    float e = firn_exp_inline(-firn_absolute(firn_gelu_tanh_exponent(inside)));
    float larger = 1.0f / (1.0f + e);
    float smaller = e * larger;
    float inner = firn_fma(inside * inside, FIRN_GELU_TANH_SLOPE_2, FIRN_GELU_TANH_1);
    float s = firn_select_float(inside < 0.0f, smaller, larger);
    return firn_quiet(firn_fma(inside * (larger * smaller), inner, s));
}

#endif
