/* Flushing of results that are tiny after rounding, as the reductions of matrix engines define it (plan/NUMERICS.md,
 * "Reductions"): the control register of x86 does just this for every operation between firn_flush_begin and
 * firn_flush_end, and it takes a subnormal operand as zero of its sign. Compilers do not model the control register.
 * Therefore the code between the two calls must be a function that is not inlined and that reads and writes its sums in
 * memory, and it must contain no operation on numbers whose subnormals count. x86 only. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_FLUSH_H
#define FIRN_KERNELS_VECTOR_ENGINE_FLUSH_H

#include <immintrin.h>

enum { FIRN_FLUSH_OPERANDS = 0x0040, FIRN_FLUSH_RESULTS = 0x8000 };

/* Returns the previous mode, which firn_flush_end restores. */
static inline unsigned firn_flush_begin(void) {
    const unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | FIRN_FLUSH_OPERANDS | FIRN_FLUSH_RESULTS);
    return mode;
}

static inline void firn_flush_end(unsigned mode) {
    _mm_setcsr(mode);
}

#endif
