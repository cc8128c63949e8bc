/* A register of floats and the few things that the kernels of this folder do with one. A header for each instruction
 * set defines them (avx512.h, where each is described, and avx2.h); the set that this file is compiled for is chosen
 * here, and what needs no instruction of its own follows. Nothing here may round where the scalar operation of the same
 * name would not. */
#ifndef FIRN_KERNELS_VECTOR_VECTOR_H
#define FIRN_KERNELS_VECTOR_VECTOR_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/numerics/half.h"
#include "runtime/numerics/numerics.h"

/* Before a loop whose count is known once it is inlined: it must be unrolled, so that its array lies in registers. */
#ifdef __clang__
#    define FIRN_UNROLL _Pragma("clang loop unroll(full)")
#else
#    define FIRN_UNROLL _Pragma("GCC unroll 16")
#endif

#ifdef __AVX512F__
#    include "runtime/kernels/vector/avx512.h"
#else
#    include "runtime/kernels/vector/avx2.h"
#endif

/* Asks for the line of an address. The address may be no one's. */
static inline void firn_prefetch_near(const void *address) {
    __builtin_prefetch(address, 0, 3);
}

static inline firn_vector firn_vector_zero(void) {
    return firn_vector_fill(0.0f);
}

/* |x|, of a NaN too. */
static inline firn_vector firn_vector_absolute(firn_vector x) {
    return (firn_vector)((firn_words)x & FIRN_MAGNITUDE_BITS);
}

static inline firn_words firn_words_fill(uint32_t word) {
    return word - (firn_words){0};
}

static inline firn_vector firn_vector_canonical(firn_vector x) {
    return (firn_vector)firn_words_if_nan(x, firn_words_fill(FIRN_NAN_BITS), (firn_words)x);
}

#endif
