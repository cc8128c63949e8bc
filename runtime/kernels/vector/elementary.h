/* Elementary functions on registers, except exp (exponential.h): the sequences of runtime/numerics/elementary.h,
 * operation by operation. The compiler's code for those is correct but slow, because it cannot combine a comparison and
 * a select into one instruction, vmaxps or vminps, which return their second operand if either is a NaN. A NaN stays a
 * NaN with any payload; the code that stores makes it canonical. The coefficients are those named in that header; none
 * may be written here. */
#ifndef FIRN_KERNELS_VECTOR_ELEMENTARY_H
#define FIRN_KERNELS_VECTOR_ELEMENTARY_H

#include "runtime/kernels/vector/exponential.h"
#include "runtime/numerics/elementary.h"

/* Limit x from below or above. A NaN stays a NaN. */
static inline firn_vector firn_vector_at_least(firn_vector x, float low) {
    return firn_vector_maximum(firn_vector_fill(low), x);
}

static inline firn_vector firn_vector_at_most(firn_vector x, float high) {
    return firn_vector_minimum(firn_vector_fill(high), x);
}

/* Evaluates a polynomial; coefficients start with that of the highest power. */
static inline __attribute__((always_inline)) firn_vector firn_vector_polynomial(firn_vector x, const float *c,
                                                                                size_t count) {
    firn_vector q = firn_vector_fill(c[0]);
    FIRN_UNROLL
    for (size_t i = 1; i < count; i++)
        q = firn_vector_fma(q, x, firn_vector_fill(c[i]));
    return q;
}

/* |magnitude| with the sign of x. A NaN stays a NaN. */
static inline firn_vector firn_vector_with_sign(firn_vector magnitude, firn_vector x) {
    return firn_vector_from_bits(firn_words_mix(FIRN_SIGN_BIT, firn_vector_bits(x), firn_vector_bits(magnitude)));
}

/* Returns `yes` if a < b, else `no`, also if either is a NaN. */
static inline firn_vector firn_vector_where_less(firn_vector a, float b, firn_vector yes, firn_vector no) {
    return firn_vector_select(firn_vector_is_less(a, firn_vector_fill(b)), yes, no);
}

static inline firn_vector firn_vector_tanh_of(firn_vector x) {
    const float c[] = {FIRN_TANH_7, FIRN_TANH_6, FIRN_TANH_5, FIRN_TANH_4,
                       FIRN_TANH_3, FIRN_TANH_2, FIRN_TANH_1, FIRN_TANH_0};
    const firn_vector one = firn_vector_fill(1.0f), two = firn_vector_fill(2.0f);
    const firn_vector a = firn_vector_absolute(x), z = firn_vector_multiply(a, a);
    const firn_vector small =
        firn_vector_fma(firn_vector_multiply(a, z), firn_vector_polynomial(z, c, sizeof c / sizeof *c), a);
    const firn_vector e = firn_vector_exp(firn_vector_multiply(two, a));
    const firn_vector large = firn_vector_subtract(one, firn_vector_divide(two, firn_vector_add(e, one)));
    return firn_vector_with_sign(firn_vector_where_less(a, 1.0f, small, large), x);
}

static inline firn_vector firn_vector_erf(firn_vector x) {
    const float near[] = {FIRN_ERF_NEAR_6, FIRN_ERF_NEAR_5, FIRN_ERF_NEAR_4, FIRN_ERF_NEAR_3,
                          FIRN_ERF_NEAR_2, FIRN_ERF_NEAR_1, FIRN_ERF_NEAR_0};
    const float far[] = {FIRN_ERF_FAR_6, FIRN_ERF_FAR_5, FIRN_ERF_FAR_4, FIRN_ERF_FAR_3,
                         FIRN_ERF_FAR_2, FIRN_ERF_FAR_1, FIRN_ERF_FAR_0};
    const firn_vector a = firn_vector_absolute(x);
    const firn_vector small =
        firn_vector_fma(a, firn_vector_polynomial(firn_vector_multiply(a, a), near, sizeof near / sizeof *near), a);
    const firn_vector g = firn_vector_polynomial(firn_vector_at_most(a, FIRN_ERF_MOST), far, sizeof far / sizeof *far);
    const firn_vector large =
        firn_vector_fma(firn_vector_exp(firn_vector_negative(g)), firn_vector_fill(-0.125f), firn_vector_fill(1.0f));
    return firn_vector_with_sign(firn_vector_where_less(a, 1.0f, small, large), x);
}

static inline firn_vector firn_vector_gelu_erf(firn_vector x) {
    const firn_vector inside = firn_vector_at_least(x, -FIRN_GELU_MOST),
                      h = firn_vector_multiply(firn_vector_fill(0.5f), inside);
    return firn_vector_fma(h, firn_vector_erf(firn_vector_multiply(inside, firn_vector_fill(FIRN_SQRT_HALF))), h);
}

static inline firn_vector firn_vector_gelu_erf_slope(firn_vector x) {
    const firn_vector half = firn_vector_fill(0.5f);
    const firn_vector inside = firn_vector_at_most(firn_vector_at_least(x, -FIRN_GELU_MOST), FIRN_GELU_MOST);
    const firn_vector exponent = firn_vector_multiply(firn_vector_multiply(firn_vector_fill(-0.5f), inside), inside);
    const firn_vector density = firn_vector_multiply(firn_vector_exp(exponent), firn_vector_fill(FIRN_NORMAL_PEAK));
    const firn_vector erf = firn_vector_erf(firn_vector_multiply(inside, firn_vector_fill(FIRN_SQRT_HALF)));
    return firn_vector_fma(inside, density, firn_vector_fma(half, erf, half));
}

static inline firn_vector firn_vector_gelu_tanh_exponent(firn_vector x) {
    const firn_vector factor = firn_vector_fma(firn_vector_multiply(x, x), firn_vector_fill(-FIRN_GELU_TANH_3),
                                               firn_vector_fill(-FIRN_GELU_TANH_1));
    return firn_vector_multiply(x, factor);
}

static inline firn_vector firn_vector_gelu_tanh(firn_vector x) {
    const firn_vector inside = firn_vector_at_least(x, -FIRN_GELU_MOST);
    const firn_vector e = firn_vector_exp(firn_vector_gelu_tanh_exponent(inside));
    return firn_vector_divide(inside, firn_vector_add(firn_vector_fill(1.0f), e));
}

static inline firn_vector firn_vector_gelu_tanh_slope(firn_vector x) {
    const firn_vector one = firn_vector_fill(1.0f);
    const firn_vector inside = firn_vector_at_most(firn_vector_at_least(x, -FIRN_GELU_MOST), FIRN_GELU_MOST);
    const firn_vector exponent = firn_vector_absolute(firn_vector_gelu_tanh_exponent(inside));
    const firn_vector e = firn_vector_exp(firn_vector_negative(exponent));
    const firn_vector larger = firn_vector_divide(one, firn_vector_add(one, e));
    const firn_vector smaller = firn_vector_multiply(e, larger);
    const firn_vector inner =
        firn_vector_fma(firn_vector_multiply(inside, inside), firn_vector_fill(FIRN_GELU_TANH_SLOPE_2),
                        firn_vector_fill(FIRN_GELU_TANH_1));
    const firn_vector s = firn_vector_where_less(inside, 0.0f, smaller, larger);
    return firn_vector_fma(firn_vector_multiply(inside, firn_vector_multiply(larger, smaller)), inner, s);
}

#endif
