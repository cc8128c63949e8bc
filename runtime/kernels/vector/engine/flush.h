/* Operations of the sums of matrix engines (plan/NUMERICS.md, "Reductions"): results that are tiny after rounding
 * become zeros of their sign, and a subnormal operand counts as one. The control register of x86 does just this for
 * every operation between firn_flush_begin and firn_flush_end. Compilers do not model it. Therefore the code between
 * the two calls must be functions that are not inlined and that read and write their sums in memory, and it must
 * contain no operation on numbers whose subnormals count. Other CPUs judge before rounding, or not at all: there the
 * mode is nothing, and each operation flushes by itself. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_FLUSH_H
#define FIRN_KERNELS_VECTOR_ENGINE_FLUSH_H

#include "runtime/kernels/vector/vector.h"

#ifdef __SSE__

/* Returns the previous mode, which firn_flush_end restores. */
static inline unsigned firn_flush_begin(void) {
    enum { OPERANDS = 0x0040, RESULTS = 0x8000 };
    const unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | OPERANDS | RESULTS);
    return mode;
}

static inline void firn_flush_end(unsigned mode) {
    _mm_setcsr(mode);
}

static inline firn_vector firn_flush_factor(firn_vector x) {
    return x;
}

static inline firn_vector firn_flush_add(firn_vector a, firn_vector b) {
    return firn_vector_add(a, b);
}

static inline firn_vector firn_flush_fma(firn_vector a, firn_vector b, firn_vector c) {
    return firn_vector_fma(a, b, c);
}

#else

static inline unsigned firn_flush_begin(void) {
    return 0;
}

static inline void firn_flush_end(unsigned mode) {
    (void)mode;
}

/* A factor, of which the operations below expect that it is not subnormal. What is tiny times +0 is a zero of its sign.
 */
static inline firn_vector firn_flush_factor(firn_vector x) {
    const firn_mask is_tiny = firn_vector_is_less(firn_vector_absolute(x), firn_vector_fill(firn_power_of_two(-126)));
    return firn_vector_select(is_tiny, firn_vector_multiply(x, firn_vector_zero()), x);
}

/* A sum that is tiny is exact. */
static inline firn_vector firn_flush_add(firn_vector a, firn_vector b) {
    return firn_flush_factor(firn_vector_add(a, b));
}

/* What was rounded to 2^-126 was tiny if it is below that where exponents have room, 2^60 times as large. */
static inline firn_vector firn_flush_fma(firn_vector a, firn_vector b, firn_vector c) {
    const firn_vector r = firn_vector_fma(a, b, c), above = firn_vector_fill(firn_power_of_two(-126) * 1.5f);
    const firn_mask is_small = firn_vector_is_less(firn_vector_absolute(r), above);
    if (firn_mask_to_bits(is_small) == 0)
        return r;
    const firn_vector scale = firn_vector_fill(firn_power_of_two(60)), flushed = firn_flush_factor(r);
    const firn_vector t = firn_vector_fma(firn_vector_multiply(a, scale), b, firn_vector_multiply(c, scale));
    const firn_mask was_tiny = firn_vector_is_less(firn_vector_absolute(t), firn_vector_fill(firn_power_of_two(-66)));
    const firn_vector zero = firn_vector_multiply(r, firn_vector_zero());
    return firn_vector_select(is_small, firn_vector_select(was_tiny, zero, flushed), flushed);
}

#endif

#endif
