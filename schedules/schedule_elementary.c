/* Elementary functions of the schedules (schedule_elementary.h). Every constant is written as the quotient or the
 * hexadecimal number in NUMERICS.md. Code here may not call the C library, and products and sums may not be contracted
 * to fma. */
#include "schedules/schedule_elementary.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LN2_HIGH    0x1.62e42feep-1       /* the first 32 bits of log 2, so that products with exponents are exact */
#define LN2_LOW     0x1.a39ef35793c76p-33 /* log 2 - LN2_HIGH */
#define PER_LN2     0x1.71547652b82fep+0  /* 1 / log 2 */
#define HALF_PI     0x1.921fb54442d18p+0  /* pi / 2 */
#define PER_HALF_PI 0x1.45f306dc9c883p-1  /* 2 / pi */

static uint64_t bits_of(double x) {
    uint64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits) {
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^n for -1022 <= n <= 1023 */
static double two_to(int32_t n) {
    return from_bits((uint64_t)(1023 + n) << 52);
}

/* Horner's rule, highest power first. */
static double series(const double *coefficients, size_t count, double x) {
    double sum = coefficients[0];
    for (size_t i = 1; i < count; i++)
        sum = sum * x + coefficients[i];
    return sum;
}

double firn_schedule_floor(double x) {
    const double whole_from = 4503599627370496.0; /* 2^52 */
    if (!(x > -whole_from && x < whole_from))
        return x;
    double whole = (double)(int64_t)x;
    return whole > x ? whole - 1.0 : whole;
}

/* x = n log 2 + r with |r| <= log(2)/2. The series of exp(r) goes to the 14th power; its next term is below 2^-62. */
double firn_schedule_exp(double x) {
    static const double coefficients[] = {
        1.0 / 87178291200.0,
        1.0 / 6227020800.0,
        1.0 / 479001600.0,
        1.0 / 39916800.0,
        1.0 / 3628800.0,
        1.0 / 362880.0,
        1.0 / 40320.0,
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        1.0 / 2.0,
        1.0,
        1.0,
    };
    if (x != x)
        return x;
    if (x < -708.0)
        return 0.0;
    if (x > 709.0)
        return __builtin_inf();
    double n = firn_schedule_floor(x * PER_LN2 + 0.5);
    double r = (x - n * LN2_HIGH) - n * LN2_LOW;
    return series(coefficients, sizeof coefficients / sizeof coefficients[0], r) * two_to((int32_t)n);
}

/* x = 2^k m with m from sqrt(1/2) to sqrt(2); log m = 2 atanh(s) with s = (m - 1)/(m + 1), |s| < 0.172. The series goes
 * to the 23rd power; its next term is below 2^-66 of the result. */
double firn_schedule_log(double x) {
    static const double coefficients[] = {
        1.0 / 23.0, 1.0 / 21.0, 1.0 / 19.0, 1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0,
        1.0 / 11.0, 1.0 / 9.0,  1.0 / 7.0,  1.0 / 5.0,  1.0 / 3.0,
    };
    if (!(x > 0.0))
        return x == 0.0 ? -__builtin_inf() : __builtin_nan("");
    if (x > 0x1.fffffffffffffp+1023)
        return x;
    bool small = x < 0x1p-1022;
    uint64_t bits = bits_of(small ? x * 0x1p54 : x);
    int32_t exponent = (int32_t)(bits >> 52) - (small ? 1077 : 1023);
    double m = from_bits((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
    if (m > 0x1.6a09e667f3bcdp+0) {
        m = m * 0.5;
        exponent++;
    }
    double k = (double)exponent, s = (m - 1.0) / (m + 1.0), square = s * s;
    double sum = series(coefficients, sizeof coefficients / sizeof coefficients[0], square);
    double twice = s + s;
    return k * LN2_HIGH + (twice + (twice * square * sum + k * LN2_LOW));
}

/* Heron's method. The first guess halves the exponent and has a relative error of 3.5%; the following ones have 6e-4,
 * 2e-7 and 2e-14, and then it has converged. */
double firn_schedule_square_root(double x) {
    if (x != x || x < 0.0)
        return __builtin_nan("");
    if (x < 0x1p-1022)
        return 0.0;
    if (x > 0x1.fffffffffffffp+1023)
        return x;
    double root = from_bits((bits_of(x) >> 1) + 0x1ff7a3bea91d9b1bu);
    for (uint32_t i = 0; i < 5; i++)
        root = 0.5 * (root + x / root);
    return root;
}

/* x^n by repeated squaring; exact if the result is. */
static double whole_power(double x, uint32_t n) {
    double product = 1.0;
    for (; n > 0; n >>= 1) {
        if ((n & 1) != 0)
            product = product * x;
        x = x * x;
    }
    return product;
}

double firn_schedule_power(double x, double y) {
    bool whole = firn_schedule_floor(y) == y;
    if (whole && y >= 0.0 && y <= 64.0)
        return whole_power(x, (uint32_t)y);
    if (x != x || y != y || (x < 0.0 && !whole))
        return __builtin_nan("");
    if (x == 0.0)
        return y < 0.0 ? __builtin_inf() : 0.0;
    bool odd = firn_schedule_floor(y * 0.5) != y * 0.5;
    double size = firn_schedule_exp(y * firn_schedule_log(x < 0.0 ? -x : x));
    return x < 0.0 && odd ? -size : size;
}

/* The series goes to the 17th power; its next term is below 2^-63 of the result. */
double firn_schedule_sine_of_quarter(double y) {
    static const double coefficients[] = {
        1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0,
        1.0 / 362880.0,          -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0,
    };
    double angle = y * HALF_PI;
    double square = angle * angle;
    return angle + angle * square * series(coefficients, sizeof coefficients / sizeof coefficients[0], square);
}

/* sin(pi/2 * y) for 0 <= y <= 1. The upper half is 1 - 2 sin^2 of half the complementary angle. */
static double sine_of_quarter_turn(double y) {
    if (y <= 0.5)
        return firn_schedule_sine_of_quarter(y);
    double sine = firn_schedule_sine_of_quarter((1.0 - y) * 0.5);
    return 1.0 - 2.0 * (sine * sine);
}

/* sin(|x| + quarters * pi/2) */
static double sine_of(double x, uint32_t quarters) {
    double turns = (x < 0.0 ? -x : x) * PER_HALF_PI;
    if (!(turns < 0x1p52))
        return __builtin_nan("");
    double whole = firn_schedule_floor(turns), rest = turns - whole;
    uint32_t quarter = ((uint32_t)(whole - 4.0 * firn_schedule_floor(whole * 0.25)) + quarters) & 3;
    double sine = sine_of_quarter_turn((quarter & 1) != 0 ? 1.0 - rest : rest);
    return (quarter & 2) != 0 ? -sine : sine;
}

double firn_schedule_sine(double x) {
    return x < 0.0 ? -sine_of(x, 0) : sine_of(x, 0);
}

double firn_schedule_cosine(double x) {
    return sine_of(x, 1);
}
