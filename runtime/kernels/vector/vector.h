/* The register type of the kernels in this folder, and its operations. A header for each instruction set defines them:
 * avx512.h and operators.h, which describe each, avx2.h, and neon.h for AArch64. This file selects the header for the
 * instruction set it is compiled for, and defines the operations that need no special instruction. No operation may
 * round differently from the scalar operation of the same name. Kernels use no C operator on a register, because some
 * register types are structures. */
#ifndef FIRN_KERNELS_VECTOR_VECTOR_H
#define FIRN_KERNELS_VECTOR_VECTOR_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/numerics/half.h"
#include "runtime/numerics/numerics.h"

/* Placed before a loop whose count is a constant after inlining: it must be unrolled, so that its array is kept in
 * registers. */
#ifdef __clang__
#    define FIRN_UNROLL _Pragma("clang loop unroll(full)")
#else
#    define FIRN_UNROLL _Pragma("GCC unroll 16")
#endif

#if defined(__aarch64__)
#    include "runtime/kernels/vector/neon.h"
#elif defined(__AVX512F__)
#    include "runtime/kernels/vector/avx512.h"
#else
#    include "runtime/kernels/vector/avx2.h"
#endif
#ifndef __aarch64__
#    include "runtime/kernels/vector/operators.h"
#endif

/* Prefetches the cache line of an address, which need not be valid. */
static inline void firn_prefetch_near(const void *address) {
    __builtin_prefetch(address, 0, 3);
}

/* The same into the L2 cache. */
static inline void firn_prefetch_far(const void *address) {
    __builtin_prefetch(address, 0, 2);
}

static inline firn_vector firn_vector_zero(void) {
    return firn_vector_fill(0.0f);
}

/* |x|, also of a NaN. */
static inline firn_vector firn_vector_absolute(firn_vector x) {
    return firn_vector_from_bits(firn_words_and(firn_vector_bits(x), firn_words_fill(FIRN_MAGNITUDE_BITS)));
}

static inline firn_vector firn_vector_canonical(firn_vector x) {
    return firn_vector_from_bits(firn_words_if_nan(x, firn_words_fill(FIRN_NAN_BITS), firn_vector_bits(x)));
}

#endif
