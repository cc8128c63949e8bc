/* A vector of float16, the left factors of a term, and the operations that products need of them. Compiled for
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

static inline void firn_half_factors_store(firn_half_factor *to, firn_words halves) {
    vst1q_u16(to, firn_halves_from_words(halves));
}

/* Takes the lower half of each word, or the upper one. */
static inline void firn_half_factors_store_low(firn_half_factor *to, firn_words pairs) {
    firn_half_factors_store(to, firn_words_and(pairs, firn_words_fill(0xffffu)));
}

static inline void firn_half_factors_store_high(firn_half_factor *to, firn_words pairs) {
    firn_half_factors_store(to, firn_words_right(pairs, 16));
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

static inline firn_half_vector firn_half_vector_fill(firn_half_factor factor) {
    const float16x8_t each = vreinterpretq_f16_u16(vdupq_n_u16(factor));
    return (firn_half_vector){each, each};
}

static inline firn_half_vector firn_half_vector_fma_of(firn_half_vector a, firn_half_vector b, firn_half_vector c) {
    return (firn_half_vector){vfmaq_f16(c.low, a.low, b.low), vfmaq_f16(c.high, a.high, b.high)};
}

static inline firn_half_vector firn_half_vector_fma_some(uint32_t lanes, firn_half_vector a, firn_half_vector b,
                                                         firn_half_vector c) {
    static const uint16_t each[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    const uint16x8_t bits = vld1q_u16(each);
    const firn_half_vector sums = firn_half_vector_fma_of(a, b, c);
    return (firn_half_vector){vbslq_f16(vtstq_u16(vdupq_n_u16(lanes & 0xff), bits), sums.low, c.low),
                              vbslq_f16(vtstq_u16(vdupq_n_u16(lanes >> 8 & 0xff), bits), sums.high, c.high)};
}

static inline void firn_half_vector_add_to(float *totals, const uint16_t *sums, bool is_first) {
    const firn_half_vector x = firn_half_vector_load(sums);
    const firn_vector low = {vcvt_f32_f16(vget_low_f16(x.low)), vcvt_high_f32_f16(x.low)};
    const firn_vector high = {vcvt_f32_f16(vget_low_f16(x.high)), vcvt_high_f32_f16(x.high)};
    const firn_vector before_low = is_first ? firn_vector_zero() : firn_vector_load(totals);
    const firn_vector before_high = is_first ? firn_vector_zero() : firn_vector_load(totals + FIRN_VECTOR);
    firn_vector_store(totals, firn_vector_add(before_low, low));
    firn_vector_store(totals + FIRN_VECTOR, firn_vector_add(before_high, high));
}

#else

enum { FIRN_HALVES = 32 };
/* Each left factor is stored twice, in both halves of an integer: x86 broadcasts a 32-bit integer as part of the load,
 * but needs another instruction for 16 bits. */
typedef uint32_t firn_half_factor;
typedef const firn_half_factor *firn_half_factors;

/* Each word holds a half below 16 zeros. */
static inline void firn_half_factors_store(firn_half_factor *to, firn_words halves) {
    const firn_words twice = firn_words_or(halves, firn_words_left(halves, 16));
    memcpy(to, &twice, sizeof twice);
}

static inline void firn_half_factors_store_low(firn_half_factor *to, firn_words pairs) {
    const firn_words twice = firn_words_mix(0xffff0000u, firn_words_left(pairs, 16), pairs);
    memcpy(to, &twice, sizeof twice);
}

static inline void firn_half_factors_store_high(firn_half_factor *to, firn_words pairs) {
    const firn_words twice = firn_words_mix(0xffff0000u, pairs, firn_words_right(pairs, 16));
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

static inline firn_half_vector firn_half_vector_fill(firn_half_factor factor) {
    return _mm512_castsi512_ph(_mm512_set1_epi32((int)factor));
}

/* Computes a * b + c, rounded once, with subnormals, regardless of the control register. */
static inline firn_half_vector firn_half_vector_fma_of(firn_half_vector a, firn_half_vector b, firn_half_vector c) {
    return _mm512_fmadd_ph(a, b, c);
}

/* The same in lane i if bit i of `lanes` is set, else c. */
static inline firn_half_vector firn_half_vector_fma_some(uint32_t lanes, firn_half_vector a, firn_half_vector b,
                                                         firn_half_vector c) {
    return _mm512_mask3_fmadd_ph(a, b, c, lanes);
}

/* Computes a[row] * b + c, as above. */
static inline firn_half_vector firn_half_vector_fma(firn_half_factors a, size_t row, firn_half_vector b,
                                                    firn_half_vector c) {
    return firn_half_vector_fma_of(firn_half_vector_fill(a[row]), b, c);
}

/* totals[] += sums[] for FIRN_HALVES sums, in float32; the first sums are added to +0. The sums are in memory
 * because the conversion is one operation as part of a load, and three of a register's half. */
static inline void firn_half_vector_add_to(float *totals, const uint16_t *sums, bool is_first) {
    for (size_t i = 0; i < FIRN_HALVES; i += FIRN_VECTOR) {
        const firn_vector x = _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(sums + i)));
        firn_vector_store(totals + i, firn_vector_add(is_first ? firn_vector_zero() : firn_vector_load(totals + i), x));
    }
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

static inline firn_half_vector firn_half_vector_fill(firn_half_factor factor) {
    firn_half_vector x;
    for (size_t i = 0; i < FIRN_HALVES; i++)
        x.lanes[i] = (uint16_t)factor;
    return x;
}

static inline firn_half_vector firn_half_vector_fma_some(uint32_t lanes, firn_half_vector a, firn_half_vector b,
                                                         firn_half_vector c) {
    for (size_t i = 0; i < FIRN_HALVES; i++)
        if ((lanes >> i & 1) != 0)
            c.lanes[i] = firn_float16_from_float(firn_half_fma(FIRN_FLOAT16, firn_float16_to_float(a.lanes[i]),
                                                               firn_float16_to_float(b.lanes[i]),
                                                               firn_float16_to_float(c.lanes[i])));
    return c;
}

static inline firn_half_vector firn_half_vector_fma_of(firn_half_vector a, firn_half_vector b, firn_half_vector c) {
    return firn_half_vector_fma_some(~0u, a, b, c);
}

static inline firn_half_vector firn_half_vector_fma(firn_half_factors a, size_t row, firn_half_vector b,
                                                    firn_half_vector c) {
    return firn_half_vector_fma_of(firn_half_vector_fill(a[row]), b, c);
}

static inline void firn_half_vector_add_to(float *totals, const uint16_t *sums, bool is_first) {
    for (size_t i = 0; i < FIRN_HALVES; i++)
        totals[i] = (is_first ? 0.0f : totals[i]) + firn_float16_to_float(sums[i]);
}

#    endif

#endif

#endif
