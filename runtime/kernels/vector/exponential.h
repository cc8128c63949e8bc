/* exp on registers: the sequence of firn_exp_inline (runtime/numerics/elementary.h), step by step, with shortcuts that
 * give the same bits. Minimum and maximum limit the argument; both return their second operand if either is a NaN. 2^n
 * is applied as two factors on AVX2 and NEON, as in that sequence, and by one instruction on AVX-512, which rounds
 * once; this is equal because the first factor's product is exact. A NaN stays a NaN, but need not be canonical. */
#ifndef FIRN_KERNELS_VECTOR_EXPONENTIAL_H
#define FIRN_KERNELS_VECTOR_EXPONENTIAL_H

#include "runtime/kernels/vector/vector.h"
#include "runtime/numerics/elementary.h"

/* Registers for which an elementary function is computed at once, at most. Each operation of such a sequence waits for
 * the one before, longer than a CPU can look ahead for the next register's. Therefore each step is done in all
 * registers before the next step. */
enum { FIRN_VECTOR_GROUP = 4 };

/* Runs the statement behind it for each register of a group; count is a constant after inlining. */
#define FIRN_EACH(i, count) FIRN_UNROLL for (size_t i = 0; i < (count); i++)

/* Replaces each x by exp(x). */
static inline __attribute__((always_inline)) void firn_vector_exp_group(firn_vector *x, size_t count) {
    const firn_vector one = firn_vector_fill(1.0f), magic = firn_vector_fill(FIRN_ROUNDING_MAGIC);
    firn_vector n[FIRN_VECTOR_GROUP], high[FIRN_VECTOR_GROUP], low[FIRN_VECTOR_GROUP], r[FIRN_VECTOR_GROUP],
        q[FIRN_VECTOR_GROUP], sum[FIRN_VECTOR_GROUP], error[FIRN_VECTOR_GROUP];
    FIRN_EACH(i, count) x[i] = firn_vector_maximum(firn_vector_fill(FIRN_EXP_LEAST), x[i]);
    FIRN_EACH(i, count) x[i] = firn_vector_minimum(firn_vector_fill(FIRN_EXP_MOST), x[i]);
    FIRN_EACH(i, count) n[i] = firn_vector_fma(x[i], firn_vector_fill(FIRN_EXP_PER_LN2), magic);
    FIRN_EACH(i, count) n[i] = firn_vector_subtract(n[i], magic);
    FIRN_EACH(i, count) high[i] = firn_vector_fma(n[i], firn_vector_fill(-FIRN_EXP_LN2), x[i]);
    FIRN_EACH(i, count) low[i] = firn_vector_multiply(n[i], firn_vector_fill(-FIRN_EXP_LN2_REST));
    FIRN_EACH(i, count) r[i] = firn_vector_add(high[i], low[i]);
    FIRN_EACH(i, count) q[i] = firn_vector_fma(firn_vector_fill(FIRN_EXP_4), r[i], firn_vector_fill(FIRN_EXP_3));
    FIRN_EACH(i, count) sum[i] = firn_vector_add(one, high[i]);
    FIRN_EACH(i, count) q[i] = firn_vector_fma(q[i], r[i], firn_vector_fill(FIRN_EXP_2));
    FIRN_EACH(i, count) error[i] = firn_vector_subtract(one, sum[i]);
    FIRN_EACH(i, count) q[i] = firn_vector_fma(q[i], r[i], firn_vector_fill(FIRN_EXP_1));
    FIRN_EACH(i, count) error[i] = firn_vector_add(error[i], high[i]);
    FIRN_EACH(i, count) q[i] = firn_vector_fma(q[i], r[i], firn_vector_fill(FIRN_EXP_0));
    FIRN_EACH(i, count) error[i] = firn_vector_add(low[i], error[i]);
    FIRN_EACH(i, count) r[i] = firn_vector_multiply(r[i], r[i]);
    FIRN_EACH(i, count) q[i] = firn_vector_fma(r[i], q[i], error[i]);
    FIRN_EACH(i, count) q[i] = firn_vector_add(sum[i], q[i]);
    FIRN_EACH(i, count) x[i] = firn_vector_scale(q[i], n[i]);
}

static inline __attribute__((always_inline)) firn_vector firn_vector_exp(firn_vector x) {
    firn_vector_exp_group(&x, 1);
    return x;
}

#endif
