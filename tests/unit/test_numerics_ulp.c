/* Measures the errors of the elementary functions against the binary64 functions of the C library, whose own errors are
 * negligible in comparison. The limits are those stated in plan/NUMERICS.md.
 *
 * By default the test uses a sample of floats. FIRN_TEST_EXHAUSTIVE=1 in the environment tests every float (some
 * minutes); the table in NUMERICS.md was measured that way. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/numerics/numerics.h"
#include "tests/unit/support_share.h"
#include "tests/unit/support_test.h"

/* --- the exact functions ------------------------------------------------------------------------------------------ */

static const double pi = 3.14159265358979323846, root_half = 0.70710678118654752440;

static double exact_exp(double x) {
    return exp(x);
}

static double exact_log(double x) {
    return log(x);
}

static double exact_tanh(double x) {
    return tanh(x);
}

static double exact_erf(double x) {
    return erf(x);
}

/* Removes whole quarter turns exactly first, so that exact zeros stay zeros. */
static double sine_of_quarters(double t, double quarters) {
    double nearest = floor(4 * t + 0.5), rest = 2 * pi * (t - nearest / 4), turn = fmod(nearest + quarters, 4);
    double size = fmod(turn, 2) == 0 ? sin(rest) : cos(rest);
    return turn < 2 ? size : -size;
}

static double exact_sin_turns(double t) {
    return sine_of_quarters(t, 0);
}

static double exact_cos_turns(double t) {
    return sine_of_quarters(t, 1);
}

static double exact_gelu(double x) {
    return 0.5 * x * erfc(-x * root_half);
}

static double exact_gelu_slope(double x) {
    return 0.5 * erfc(-x * root_half) + x * exp(-0.5 * x * x) / sqrt(2 * pi);
}

static double tanh_argument(double x) {
    return sqrt(2 / pi) * (x + 0.044715 * x * x * x);
}

static double exact_gelu_tanh(double x) {
    return x / (1 + exp(-2 * tanh_argument(x)));
}

static double exact_gelu_tanh_slope(double x) {
    double t = tanh(tanh_argument(x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * sqrt(2 / pi) * (1 + 3 * 0.044715 * x * x);
}

static double exact_rsqrt(double x) {
    return 1 / sqrt(x);
}

static double exact_sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static double exact_silu(double x) {
    return x / (1 + exp(-x));
}

static double exact_silu_slope(double x) {
    double s = 1 / (1 + exp(-x));
    return s + x * s * (1 / (1 + exp(x)));
}

static double exact_softplus(double x) {
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

/* --- the unit of an error ----------------------------------------------------------------------------------------- */

/* The spacing of floats at the exact value. */
static double ulp(double x, double exact) {
    (void)x;
    int exponent;
    (void)frexp(exact, &exponent);
    return ldexp(1, exponent - 24 < -149 ? -149 : exponent - 24);
}

/* The spacing of floats at the argument. It is the unit for a gelu, which scales its argument: a large negative
 * argument gives a small result. */
static double ulp_of_argument(double x, double exact) {
    (void)exact;
    return ulp(x, x);
}

static double of_one(double x, double exact) {
    (void)x;
    (void)exact;
    return 0x1p-24;
}

typedef struct measured {
    const char *name;
    float (*function)(float);
    double (*exact)(double);
    double (*unit)(double, double);
    float low, high; /* the measured domain */
    float least;     /* below this magnitude the function is a constant or a multiple of x, so a sample is enough */
    double limit;
} measured;

#define LARGEST 0x1.fffffep+127f

static const measured functions[] = {
    {"exp", firn_exp, exact_exp, ulp, -104.0f, 88.5f, 0x1p-26f, 0.78},
    {"log", firn_log, exact_log, ulp, 0x1p-149f, LARGEST, 0x1p-149f, 0.83},
    {"tanh", firn_tanh, exact_tanh, ulp, -16.0f, 16.0f, 0x1p-14f, 0.96},
    {"erf", firn_erf, exact_erf, ulp, -16.0f, 16.0f, 0x1p-14f, 0.99},
    {"sin_turns", firn_sin_turns, exact_sin_turns, ulp, 0.0f, 1.0f, 0x1p-26f, 0.95},
    {"cos_turns", firn_cos_turns, exact_cos_turns, ulp, 0.0f, 1.0f, 0x1p-26f, 0.88},
    {"gelu", firn_gelu, exact_gelu, ulp_of_argument, -LARGEST, 16.0f, 0x1p-20f, 1.02},
    {"gelu_slope", firn_gelu_slope, exact_gelu_slope, of_one, -LARGEST, LARGEST, 0x1p-20f, 2.4},
    {"gelu_tanh", firn_gelu_tanh, exact_gelu_tanh, ulp_of_argument, -LARGEST, 16.0f, 0x1p-20f, 1.7},
    {"sin", firn_sin, sin, ulp, -LARGEST, LARGEST, 0x1p-12f, 1.02},
    {"cos", firn_cos, cos, ulp, -LARGEST, LARGEST, 0x1p-12f, 1.01},
    {"atan", firn_atan, atan, ulp, -LARGEST, LARGEST, 0x1p-14f, 1.35},
    {"log_one_plus", firn_log_one_plus, log1p, ulp, -0x1.fffffep-1f, LARGEST, 0x1p-24f, 1.44},
    {"rsqrt", firn_rsqrt, exact_rsqrt, ulp, 0x1p-149f, LARGEST, 0x1p-149f, 0.51},
    {"sigmoid", firn_sigmoid, exact_sigmoid, ulp, -104.0f, 104.0f, 0x1p-24f, 2.9},
    {"silu", firn_silu, exact_silu, ulp, -87.0f, 104.0f, 0x1p-24f, 3.6},
    {"silu_slope", firn_silu_slope, exact_silu_slope, of_one, -LARGEST, LARGEST, 0x1p-20f, 3.3},
    {"softplus", firn_softplus, exact_softplus, ulp, -104.0f, 104.0f, 0x1p-24f, 2.1},
    {"gelu_tanh_slope", firn_gelu_tanh_slope, exact_gelu_tanh_slope, of_one, -LARGEST, LARGEST, 0x1p-20f, 3.6},
};

typedef struct worst {
    double error;
    float at;
} worst;

/* Measures the largest error among the floats whose bits are from `begin` to `end`. */
static void measure(const measured *function, uint32_t begin, uint32_t end, uint32_t step, worst *worst) {
    for (uint64_t bits = begin + support_from(); bits <= end; bits += step) {
        float x = firn_from_bits((uint32_t)bits);
        double exact = function->exact((double)x);
        double error = fabs((double)function->function(x) - exact) / function->unit((double)x, exact);
        if (!(error <= worst->error)) {
            worst->error = error == error ? error : (double)INFINITY;
            worst->at = x;
        }
    }
}

/* Measures one sign, up to a magnitude. */
static void measure_side(const measured *function, uint32_t sign, float most, uint32_t step, worst *worst) {
    const uint32_t sample = 4001, dense = firn_bits(function->least);
    if (firn_bits(most) < dense)
        return;
    measure(function, sign + 1, sign + dense, sample, worst);
    /* From 32 on, the gelu forms are constant or the identity. */
    float end = function->unit == ulp || most < 32.0f ? most : 32.0f;
    measure(function, sign + dense, sign + firn_bits(end), step, worst);
    measure(function, sign + firn_bits(end), sign + firn_bits(most), sample, worst);
}

TEST(test_errors_stay_within_the_limits) {
    const uint32_t step = support_is_exhaustive() ? support_every() : 997;
    uint32_t beyond = 0;
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        const measured *at = &functions[f];
        worst worst = {0, 0};
        measure_side(at, 0, at->high, step, &worst);
        if (at->low < 0)
            measure_side(at, 0x80000000u, -at->low, step, &worst);
        print_message("%-16s %.4f at %a\n", at->name, worst.error, (double)worst.at);
        beyond += !(worst.error <= at->limit);
    }
    assert_int_equal(beyond, 0);
}

/* exp must overflow and underflow at the right arguments. */
TEST(test_ends_of_exp) {
    for (uint32_t bits = firn_bits(88.5f); bits <= firn_bits(110.0f); bits += 3) {
        double exact = exp((double)firn_from_bits(bits));
        float y = firn_exp(firn_from_bits(bits)), tiny = firn_exp(-firn_from_bits(bits));
        assert_true(exact < 0x1.ffffffp+127 ? fabs((double)y - exact) <= 0x1p+104 : y == (float)INFINITY);
        assert_true(fabs((double)tiny - exp(-(double)firn_from_bits(bits))) <= 0x1p-149 * 0.77);
    }
}
