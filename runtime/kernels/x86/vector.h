/* A register of floats and the few things that the kernels of this folder do with one, so that a source can be compiled
 * for AVX-512 and for AVX2 with FMA. Nothing here may round where the scalar operation of the same name would not. x86
 * only. */
#ifndef FIRN_KERNELS_X86_VECTOR_H
#define FIRN_KERNELS_X86_VECTOR_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/numerics/numerics.h"

/* Before a loop whose count is known once it is inlined: it must be unrolled, so that its array lies in registers. */
#ifdef __clang__
#    define FIRN_UNROLL _Pragma("clang loop unroll(full)")
#else
#    define FIRN_UNROLL _Pragma("GCC unroll 16")
#endif

enum { FIRN_VECTOR = 16 }; /* floats of a register */

typedef __m512 firn_vector;
typedef __mmask16 firn_lanes; /* some lanes of a register */

/* The first `count` lanes; all from 16 on. */
static inline firn_lanes firn_first_lanes(size_t count) {
    return count < FIRN_VECTOR ? (firn_lanes)((1u << count) - 1u) : (firn_lanes)0xffff;
}

static inline firn_vector firn_vector_zero(void) {
    return _mm512_setzero_ps();
}

static inline firn_vector firn_vector_fill(float x) {
    return _mm512_set1_ps(x);
}

static inline firn_vector firn_vector_load(const float *from) {
    return _mm512_loadu_ps(from);
}

/* Lanes outside the mask are +0, and their memory is not touched. */
static inline firn_vector firn_vector_load_some(firn_lanes lanes, const float *from) {
    return _mm512_maskz_loadu_ps(lanes, from);
}

static inline void firn_vector_store(float *to, firn_vector x) {
    _mm512_storeu_ps(to, x);
}

static inline void firn_vector_store_some(float *to, firn_lanes lanes, firn_vector x) {
    _mm512_mask_storeu_ps(to, lanes, x);
}

static inline firn_vector firn_vector_add(firn_vector a, firn_vector b) {
    return _mm512_add_ps(a, b);
}

/* a * b + c, rounded once. */
static inline firn_vector firn_vector_fma(firn_vector a, firn_vector b, firn_vector c) {
    return _mm512_fmadd_ps(a, b, c);
}

static inline firn_vector firn_vector_canonical(firn_vector x) {
    const firn_lanes is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_mask_mov_ps(x, is_nan, _mm512_castsi512_ps(_mm512_set1_epi32((int)FIRN_NAN_BITS)));
}

#endif
