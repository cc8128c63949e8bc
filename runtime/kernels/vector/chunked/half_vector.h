/* A vector of float16, the left factors of a term, and the operations that native.c needs of them. Compiled for
 * AVX-512-FP16 or for AArch64 with FEAT_FP16, each is one or two instructions. Compiled without, they compute what
 * these instructions are defined to compute, in plain C with runtime/numerics, so that tests can check everything but
 * the instructions on a machine without them. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_HALF_VECTOR_H
#define FIRN_KERNELS_VECTOR_CHUNKED_HALF_VECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "plan/ops.h"
#include "runtime/kernels/vector/vector.h"
#include "runtime/numerics/numerics.h"

#ifdef __ARM_FEATURE_FP16_VECTOR_ARITHMETIC

/* Two registers, as firn_vector has two, so that a register tile of the same height has 24 registers of sums. The left
 * factors of a term are one register, of which a multiply-add takes one lane. */
enum { FIRN_HALVES = 16 };
typedef struct firn_half_vector {
    float16x8_t low, high;
} firn_half_vector;
typedef uint16_t firn_half_factor;
typedef float16x8_t firn_half_factors;

static inline firn_half_vector firn_half_vector_load(const uint16_t *from) {
    return (firn_half_vector){vreinterpretq_f16_u16(vld1q_u16(from)), vreinterpretq_f16_u16(vld1q_u16(from + 8))};
}

static inline void firn_half_vector_store(uint16_t *to, firn_half_vector x) {
    vst1q_u16(to, vreinterpretq_u16_f16(x.low));
    vst1q_u16(to + 8, vreinterpretq_u16_f16(x.high));
}

static inline void firn_half_factors_store(firn_half_factor *to, firn_vector x) {
    vst1q_u16(to, firn_vector_to_float16(x));
}

static inline firn_half_factors firn_half_factors_load(const firn_half_factor *from) {
    return vreinterpretq_f16_u16(vld1q_u16(from));
}

/* The number of a lane must be a literal in the intrinsic function. */
static inline __attribute__((always_inline)) float16x8_t firn_neon_fma_lane(float16x8_t a, size_t lane, float16x8_t b,
                                                                            float16x8_t c) {
    switch (lane) {
    case 0:
        return vfmaq_laneq_f16(c, b, a, 0);
    case 1:
        return vfmaq_laneq_f16(c, b, a, 1);
    case 2:
        return vfmaq_laneq_f16(c, b, a, 2);
    case 3:
        return vfmaq_laneq_f16(c, b, a, 3);
    case 4:
        return vfmaq_laneq_f16(c, b, a, 4);
    case 5:
        return vfmaq_laneq_f16(c, b, a, 5);
    case 6:
        return vfmaq_laneq_f16(c, b, a, 6);
    default:
        return vfmaq_laneq_f16(c, b, a, 7);
    }
}

/* Rounds once. The runtime sets FPCR so that it rounds to nearest and keeps subnormals (FZ16 is 0). */
static inline __attribute__((always_inline)) firn_half_vector
firn_half_vector_fma(firn_half_factors a, size_t row, firn_half_vector b, firn_half_vector c) {
    return (firn_half_vector){firn_neon_fma_lane(a, row, b.low, c.low), firn_neon_fma_lane(a, row, b.high, c.high)};
}

static inline void firn_half_vector_add_to(float *total, firn_half_vector x) {
    const firn_vector low = {vcvt_f32_f16(vget_low_f16(x.low)), vcvt_high_f32_f16(x.low)};
    const firn_vector high = {vcvt_f32_f16(vget_low_f16(x.high)), vcvt_high_f32_f16(x.high)};
    firn_vector_store(total, firn_vector_add(firn_vector_load(total), low));
    firn_vector_store(total + FIRN_VECTOR, firn_vector_add(firn_vector_load(total + FIRN_VECTOR), high));
}

#else

enum { FIRN_HALVES = 32 };
/* Each left factor is stored twice, in both halves of an integer: x86 broadcasts a 32-bit integer as part of the load,
 * but needs another instruction for 16 bits. */
typedef uint32_t firn_half_factor;
typedef const firn_half_factor *firn_half_factors;

static inline void firn_half_factors_store(firn_half_factor *to, firn_vector x) {
    const firn_words halves = firn_words_from_halves(firn_vector_to_float16(x));
    const firn_words twice = firn_words_or(halves, firn_words_left(halves, 16));
    memcpy(to, &twice, sizeof twice);
}

static inline firn_half_factors firn_half_factors_load(const firn_half_factor *from) {
    return from;
}

#    ifdef __AVX512FP16__

typedef __m512h firn_half_vector;

static inline firn_half_vector firn_half_vector_load(const uint16_t *from) {
    return _mm512_castsi512_ph(_mm512_loadu_si512(from));
}

static inline void firn_half_vector_store(uint16_t *to, firn_half_vector x) {
    _mm512_storeu_si512(to, _mm512_castph_si512(x));
}

/* Computes a[row] * b + c, rounded once, with subnormals, regardless of the control register. */
static inline firn_half_vector firn_half_vector_fma(firn_half_factors a, size_t row, firn_half_vector b,
                                                    firn_half_vector c) {
    return _mm512_fmadd_ph(_mm512_castsi512_ph(_mm512_set1_epi32((int)a[row])), b, c);
}

/* total[0 to FIRN_HALVES - 1] += x, in float32. */
static inline void firn_half_vector_add_to(float *total, firn_half_vector x) {
    const __m512i bits = _mm512_castph_si512(x);
    const firn_vector low = _mm512_cvtph_ps(_mm512_castsi512_si256(bits));
    const firn_vector high = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(bits, 1));
    firn_vector_store(total, firn_vector_add(firn_vector_load(total), low));
    firn_vector_store(total + FIRN_VECTOR, firn_vector_add(firn_vector_load(total + FIRN_VECTOR), high));
}

#    else

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

static inline firn_half_vector firn_half_vector_fma(firn_half_factors a, size_t row, firn_half_vector b,
                                                    firn_half_vector c) {
    const float factor = firn_float16_to_float((uint16_t)a[row]);
    for (size_t i = 0; i < FIRN_HALVES; i++)
        c.lanes[i] = firn_float16_from_float(
            firn_half_fma(FIRN_FLOAT16, factor, firn_float16_to_float(b.lanes[i]), firn_float16_to_float(c.lanes[i])));
    return c;
}

static inline void firn_half_vector_add_to(float *total, firn_half_vector x) {
    for (size_t i = 0; i < FIRN_HALVES; i++)
        total[i] += firn_float16_to_float(x.lanes[i]);
}

#    endif

#endif

#endif
