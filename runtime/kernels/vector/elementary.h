/* Elementary functions on registers, except exp (exponential.h): the sequences of runtime/numerics/elementary.h,
 * operation by operation. The compiler's code for those is correct but slow, because it cannot combine a comparison and
 * a select into one instruction, vmaxps or vminps, which return their second operand if either is a NaN. A NaN stays a
 * NaN with any payload; the code that stores makes it canonical. The coefficients are those named in that header; none
 * may be written here. A function replaces each x of a group of at most FIRN_VECTOR_GROUP registers, whose count is a
 * constant after inlining, and does each step in all of them before the next (exponential.h). */
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

/* Evaluates a polynomial for each x; coefficients start with that of the highest power. */
static inline __attribute__((always_inline)) void firn_vector_polynomial(firn_vector *q, const firn_vector *x,
                                                                         size_t count, const float *c, size_t terms) {
    FIRN_EACH(i, count) q[i] = firn_vector_fill(c[0]);
    FIRN_UNROLL
    for (size_t k = 1; k < terms; k++)
        FIRN_EACH(i, count) q[i] = firn_vector_fma(q[i], x[i], firn_vector_fill(c[k]));
}

/* |magnitude| with the sign of x. A NaN stays a NaN. */
static inline firn_vector firn_vector_with_sign(firn_vector magnitude, firn_vector x) {
    return firn_vector_from_bits(firn_words_mix(FIRN_SIGN_BIT, firn_vector_bits(x), firn_vector_bits(magnitude)));
}

/* Returns `yes` if a < b, else `no`, also if either is a NaN. */
static inline firn_vector firn_vector_where_less(firn_vector a, float b, firn_vector yes, firn_vector no) {
    return firn_vector_select(firn_vector_is_less(a, firn_vector_fill(b)), yes, no);
}

static inline __attribute__((always_inline)) void firn_vector_tanh_group(firn_vector *x, size_t count) {
    const float c[] = {FIRN_TANH_7, FIRN_TANH_6, FIRN_TANH_5, FIRN_TANH_4,
                       FIRN_TANH_3, FIRN_TANH_2, FIRN_TANH_1, FIRN_TANH_0};
    const firn_vector one = firn_vector_fill(1.0f), two = firn_vector_fill(2.0f);
    firn_vector a[FIRN_VECTOR_GROUP], z[FIRN_VECTOR_GROUP], small[FIRN_VECTOR_GROUP], e[FIRN_VECTOR_GROUP];
    FIRN_EACH(i, count) a[i] = firn_vector_absolute(x[i]);
    FIRN_EACH(i, count) z[i] = firn_vector_multiply(a[i], a[i]);
    FIRN_EACH(i, count) e[i] = firn_vector_multiply(two, a[i]);
    firn_vector_polynomial(small, z, count, c, sizeof c / sizeof *c);
    FIRN_EACH(i, count) small[i] = firn_vector_fma(firn_vector_multiply(a[i], z[i]), small[i], a[i]);
    firn_vector_exp_group(e, count);
    FIRN_EACH(i, count) e[i] = firn_vector_divide(two, firn_vector_add(e[i], one));
    FIRN_EACH(i, count) e[i] = firn_vector_where_less(a[i], 1.0f, small[i], firn_vector_subtract(one, e[i]));
    FIRN_EACH(i, count) x[i] = firn_vector_with_sign(e[i], x[i]);
}

static inline __attribute__((always_inline)) void firn_vector_erf_group(firn_vector *x, size_t count) {
    const float near[] = {FIRN_ERF_NEAR_6, FIRN_ERF_NEAR_5, FIRN_ERF_NEAR_4, FIRN_ERF_NEAR_3,
                          FIRN_ERF_NEAR_2, FIRN_ERF_NEAR_1, FIRN_ERF_NEAR_0};
    const float far[] = {FIRN_ERF_FAR_6, FIRN_ERF_FAR_5, FIRN_ERF_FAR_4, FIRN_ERF_FAR_3,
                         FIRN_ERF_FAR_2, FIRN_ERF_FAR_1, FIRN_ERF_FAR_0};
    const firn_vector one = firn_vector_fill(1.0f), eighth = firn_vector_fill(-0.125f);
    firn_vector a[FIRN_VECTOR_GROUP], z[FIRN_VECTOR_GROUP], small[FIRN_VECTOR_GROUP], g[FIRN_VECTOR_GROUP];
    FIRN_EACH(i, count) a[i] = firn_vector_absolute(x[i]);
    FIRN_EACH(i, count) z[i] = firn_vector_multiply(a[i], a[i]);
    firn_vector_polynomial(small, z, count, near, sizeof near / sizeof *near);
    FIRN_EACH(i, count) small[i] = firn_vector_fma(a[i], small[i], a[i]);
    FIRN_EACH(i, count) z[i] = firn_vector_at_most(a[i], FIRN_ERF_MOST);
    firn_vector_polynomial(g, z, count, far, sizeof far / sizeof *far);
    FIRN_EACH(i, count) g[i] = firn_vector_negative(g[i]);
    firn_vector_exp_group(g, count);
    FIRN_EACH(i, count) g[i] = firn_vector_where_less(a[i], 1.0f, small[i], firn_vector_fma(g[i], eighth, one));
    FIRN_EACH(i, count) x[i] = firn_vector_with_sign(g[i], x[i]);
}

/* erf(x / sqrt(2)) */
static inline __attribute__((always_inline)) void firn_vector_normal_erf(firn_vector *erf, const firn_vector *x,
                                                                         size_t count) {
    FIRN_EACH(i, count) erf[i] = firn_vector_multiply(x[i], firn_vector_fill(FIRN_SQRT_HALF));
    firn_vector_erf_group(erf, count);
}

static inline __attribute__((always_inline)) void firn_vector_gelu_erf(firn_vector *x, size_t count) {
    firn_vector erf[FIRN_VECTOR_GROUP];
    FIRN_EACH(i, count) x[i] = firn_vector_at_least(x[i], -FIRN_GELU_MOST);
    firn_vector_normal_erf(erf, x, count);
    FIRN_EACH(i, count) x[i] = firn_vector_multiply(firn_vector_fill(0.5f), x[i]);
    FIRN_EACH(i, count) x[i] = firn_vector_fma(x[i], erf[i], x[i]);
}

static inline __attribute__((always_inline)) void firn_vector_gelu_erf_slope(firn_vector *x, size_t count) {
    const firn_vector half = firn_vector_fill(0.5f), peak = firn_vector_fill(FIRN_NORMAL_PEAK);
    firn_vector density[FIRN_VECTOR_GROUP], erf[FIRN_VECTOR_GROUP];
    FIRN_EACH(i, count) x[i] = firn_vector_at_most(firn_vector_at_least(x[i], -FIRN_GELU_MOST), FIRN_GELU_MOST);
    FIRN_EACH(i, count)
    density[i] = firn_vector_multiply(firn_vector_multiply(firn_vector_fill(-0.5f), x[i]), x[i]);
    firn_vector_exp_group(density, count);
    FIRN_EACH(i, count) density[i] = firn_vector_multiply(density[i], peak);
    firn_vector_normal_erf(erf, x, count);
    FIRN_EACH(i, count) erf[i] = firn_vector_fma(half, erf[i], half);
    FIRN_EACH(i, count) x[i] = firn_vector_fma(x[i], density[i], erf[i]);
}

static inline firn_vector firn_vector_gelu_tanh_exponent(firn_vector x) {
    const firn_vector factor = firn_vector_fma(firn_vector_multiply(x, x), firn_vector_fill(-FIRN_GELU_TANH_3),
                                               firn_vector_fill(-FIRN_GELU_TANH_1));
    return firn_vector_multiply(x, factor);
}

static inline __attribute__((always_inline)) void firn_vector_gelu_tanh(firn_vector *x, size_t count) {
    firn_vector e[FIRN_VECTOR_GROUP];
    FIRN_EACH(i, count) x[i] = firn_vector_at_least(x[i], -FIRN_GELU_MOST);
    FIRN_EACH(i, count) e[i] = firn_vector_gelu_tanh_exponent(x[i]);
    firn_vector_exp_group(e, count);
    FIRN_EACH(i, count) x[i] = firn_vector_divide(x[i], firn_vector_add(firn_vector_fill(1.0f), e[i]));
}

static inline __attribute__((always_inline)) void firn_vector_gelu_tanh_slope(firn_vector *x, size_t count) {
    const firn_vector one = firn_vector_fill(1.0f);
    firn_vector e[FIRN_VECTOR_GROUP], larger[FIRN_VECTOR_GROUP], inner[FIRN_VECTOR_GROUP];
    FIRN_EACH(i, count) x[i] = firn_vector_at_most(firn_vector_at_least(x[i], -FIRN_GELU_MOST), FIRN_GELU_MOST);
    FIRN_EACH(i, count)
    e[i] = firn_vector_negative(firn_vector_absolute(firn_vector_gelu_tanh_exponent(x[i])));
    firn_vector_exp_group(e, count);
    FIRN_EACH(i, count) larger[i] = firn_vector_divide(one, firn_vector_add(one, e[i]));
    FIRN_EACH(i, count)
    inner[i] = firn_vector_fma(firn_vector_multiply(x[i], x[i]), firn_vector_fill(FIRN_GELU_TANH_SLOPE_2),
                               firn_vector_fill(FIRN_GELU_TANH_1));
    FIRN_EACH(i, count) e[i] = firn_vector_multiply(e[i], larger[i]); /* the smaller of the two */
    FIRN_EACH(i, count) {
        const firn_vector s = firn_vector_where_less(x[i], 0.0f, e[i], larger[i]);
        const firn_vector slope = firn_vector_multiply(x[i], firn_vector_multiply(larger[i], e[i]));
        x[i] = firn_vector_fma(slope, inner[i], s);
    }
}

#endif
