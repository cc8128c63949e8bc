/* A register of 32 float16 and the four operations that native.c needs. Compiled for AVX-512-FP16, they are single
 * instructions. Compiled without, they compute what these instructions are defined to compute, in plain C with
 * runtime/numerics, so that tests can check everything but the instructions on a machine without them. x86 only. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_HALF_VECTOR_H
#define FIRN_KERNELS_VECTOR_CHUNKED_HALF_VECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "plan/ops.h"
#include "runtime/kernels/vector/vector.h"
#include "runtime/numerics/numerics.h"

enum { FIRN_HALVES = 32 };

#ifdef __AVX512FP16__

typedef __m512h firn_half_vector;

static inline firn_half_vector firn_half_vector_load(const uint16_t *from) {
    return _mm512_castsi512_ph(_mm512_loadu_si512(from));
}

static inline void firn_half_vector_store(uint16_t *to, firn_half_vector x) {
    _mm512_storeu_si512(to, _mm512_castph_si512(x));
}

/* Computes a * b + c, rounded once, with subnormals, regardless of the control register. The integer a holds the factor
 * twice, in both halves: CPUs broadcast a 32-bit integer as part of the load, but need another instruction for 16
 * bits. */
static inline firn_half_vector firn_half_vector_fma(uint32_t a, firn_half_vector b, firn_half_vector c) {
    return _mm512_fmadd_ph(_mm512_castsi512_ph(_mm512_set1_epi32((int)a)), b, c);
}

/* total[0 to 31] += x, in float32. */
static inline void firn_half_vector_add_to(float *total, firn_half_vector x) {
    const __m512i bits = _mm512_castph_si512(x);
    const firn_vector low = _mm512_cvtph_ps(_mm512_castsi512_si256(bits));
    const firn_vector high = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(bits, 1));
    firn_vector_store(total, firn_vector_add(firn_vector_load(total), low));
    firn_vector_store(total + FIRN_VECTOR, firn_vector_add(firn_vector_load(total + FIRN_VECTOR), high));
}

#else

typedef struct firn_half_vector {
    uint16_t lanes[FIRN_HALVES];
} firn_half_vector;

static inline firn_half_vector firn_half_vector_load(const uint16_t *from) {
    firn_half_vector x;
    memcpy(&x, from, sizeof x);
    return x;
}

static inline void firn_half_vector_store(uint16_t *to, firn_half_vector x) {
    memcpy(to, &x, sizeof x);
}

static inline firn_half_vector firn_half_vector_fma(uint32_t a, firn_half_vector b, firn_half_vector c) {
    const float factor = firn_float16_to_float((uint16_t)a);
    for (size_t i = 0; i < FIRN_HALVES; i++)
        c.lanes[i] = firn_float16_from_float(
            firn_half_fma(FIRN_FLOAT16, factor, firn_float16_to_float(b.lanes[i]), firn_float16_to_float(c.lanes[i])));
    return c;
}

static inline void firn_half_vector_add_to(float *total, firn_half_vector x) {
    for (size_t i = 0; i < FIRN_HALVES; i++)
        total[i] += firn_float16_to_float(x.lanes[i]);
}

#endif

#endif
