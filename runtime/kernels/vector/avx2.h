/* The register type of AVX2 with FMA and F16C: eight floats. avx512.h describes the functions. Only vector.h may
 * include this file. */
#ifndef FIRN_KERNELS_VECTOR_AVX2_H
#define FIRN_KERNELS_VECTOR_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    FIRN_VECTOR = 8,
    FIRN_REGISTER_ROWS = 6, /* rows of the register tile (tile.h): twelve sums, and three registers for the factors */
    /* Of a product (product.c): the floats of the right factor that are packed at once, those of it that stay in the L2
     * cache beside the left factor, and the terms of a block. */
    FIRN_PACKED_FLOATS = 1024 * 1024,
    FIRN_NEAR_FLOATS = 96 * 1024,
    FIRN_PREFETCH_TERMS = 0,
    FIRN_PRODUCT_TERMS = 768
};

typedef __m256 firn_vector;
typedef uint32_t firn_words __attribute__((vector_size(32)));
typedef __m128i firn_vector_halves;
/* count allows a test for all lanes, which then need no mask. */
typedef struct firn_lanes {
    __m256i mask;
    size_t count;
} firn_lanes;
typedef firn_words firn_mask; /* each lane has all bits set or none */

static inline firn_lanes firn_first_lanes(size_t count) {
    const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const size_t here = count < FIRN_VECTOR ? count : FIRN_VECTOR;
    return (firn_lanes){_mm256_cmpgt_epi32(_mm256_set1_epi32((int)here), numbers), here};
}

static inline firn_vector firn_vector_fill(float x) {
    return _mm256_set1_ps(x);
}

static inline firn_vector firn_vector_load(const float *from) {
    return _mm256_loadu_ps(from);
}

static inline void firn_vector_store(float *to, firn_vector x) {
    _mm256_storeu_ps(to, x);
}

static inline void firn_vector_stream(float *to, firn_vector x) {
    _mm256_stream_ps(to, x);
}

static inline void firn_streams_end(void) {
    _mm_sfence();
}

static inline firn_vector firn_vector_load_some(firn_lanes lanes, const float *from) {
    if (lanes.count == FIRN_VECTOR)
        return _mm256_loadu_ps(from);
    return _mm256_maskload_ps(from, lanes.mask);
}

/* Stores in parts, because a store with a mask takes several times as long as one without. */
static inline void firn_vector_store_some(float *to, firn_lanes lanes, firn_vector x) {
    if (lanes.count == FIRN_VECTOR) {
        _mm256_storeu_ps(to, x);
        return;
    }
    __m128 rest = _mm256_castps256_ps128(x);
    if ((lanes.count & 4) != 0) {
        _mm_storeu_ps(to, rest);
        to += 4;
        rest = _mm256_extractf128_ps(x, 1);
    }
    if ((lanes.count & 2) != 0) {
        _mm_storel_pi((__m64 *)(void *)to, rest);
        to += 2;
        rest = _mm_movehl_ps(rest, rest);
    }
    if ((lanes.count & 1) != 0)
        _mm_store_ss(to, rest);
}

static inline firn_vector_halves firn_halves_load_some(firn_lanes lanes, const uint16_t *from) {
    firn_vector_halves halves = _mm_setzero_si128();
    if (lanes.count == FIRN_VECTOR)
        return _mm_loadu_si128((const __m128i *)(const void *)from);
    memcpy(&halves, from, lanes.count * sizeof *from);
    return halves;
}

static inline void firn_halves_store_some(uint16_t *to, firn_lanes lanes, firn_vector_halves x) {
    if (lanes.count == FIRN_VECTOR)
        _mm_storeu_si128((__m128i *)(void *)to, x);
    else
        memcpy(to, &x, lanes.count * sizeof *to);
}

static inline firn_vector firn_vector_add(firn_vector a, firn_vector b) {
    return _mm256_add_ps(a, b);
}

static inline firn_vector firn_vector_multiply(firn_vector a, firn_vector b) {
    return _mm256_mul_ps(a, b);
}

static inline firn_vector firn_vector_fma(firn_vector a, firn_vector b, firn_vector c) {
    return _mm256_fmadd_ps(a, b, c);
}

static inline firn_vector firn_vector_from_float16(firn_vector_halves halves) {
    return _mm256_cvtph_ps(halves);
}

static inline firn_vector_halves firn_vector_to_float16(firn_vector x) {
    return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline firn_words firn_words_from_halves(firn_vector_halves halves) {
    return (firn_words)_mm256_cvtepu16_epi32(halves);
}

static inline firn_words firn_words_from_signed(firn_vector_halves halves) {
    return (firn_words)_mm256_cvtepi16_epi32(halves);
}

static inline firn_vector_halves firn_halves_from_words(firn_words words) {
    return _mm_packus_epi32(_mm256_castsi256_si128((__m256i)words), _mm256_extracti128_si256((__m256i)words, 1));
}

static inline firn_words firn_words_multiply_even(firn_words a, firn_words b) {
    return (firn_words)_mm256_mul_epu32((__m256i)a, (__m256i)b);
}

static inline firn_words firn_words_odd_to_even(firn_words x) {
    return (firn_words)_mm256_srli_epi64((__m256i)x, 32);
}

static inline firn_words firn_words_smaller(firn_words a, firn_words b) {
    return (firn_words)_mm256_min_epu32((__m256i)a, (__m256i)b);
}

static inline firn_words firn_words_larger(firn_words a, firn_words b) {
    return (firn_words)_mm256_max_epu32((__m256i)a, (__m256i)b);
}

static inline firn_words firn_words_if_equal(firn_words a, firn_words b, firn_words yes, firn_words no) {
    return (firn_words)_mm256_blendv_epi8((__m256i)no, (__m256i)yes, _mm256_cmpeq_epi32((__m256i)a, (__m256i)b));
}

static inline firn_words firn_words_if_nan(firn_vector x, firn_words yes, firn_words no) {
    const __m256 is_nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    return (firn_words)_mm256_blendv_ps((__m256)no, (__m256)yes, is_nan);
}

static inline firn_mask firn_mask_of(firn_lanes lanes) {
    return (firn_mask)lanes.mask;
}

static inline firn_mask firn_mask_from_bits(uint32_t bits) {
    const __m256i own = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return (firn_mask)_mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), own), own);
}

static inline uint32_t firn_mask_to_bits(firn_mask mask) {
    return (uint32_t)_mm256_movemask_ps((firn_vector)mask);
}

static inline firn_vector firn_vector_select(firn_mask mask, firn_vector yes, firn_vector no) {
    return _mm256_blendv_ps(no, yes, (firn_vector)mask);
}

static inline firn_vector firn_vector_keep(firn_mask mask, firn_vector x) {
    return (firn_vector)(mask & (firn_words)x);
}

static inline firn_mask firn_vector_is_nan(firn_vector x) {
    return (firn_mask)_mm256_cmp_ps(x, x, _CMP_UNORD_Q);
}

static inline firn_mask firn_vector_is_less(firn_vector a, firn_vector b) {
    return (firn_mask)_mm256_cmp_ps(a, b, _CMP_LT_OQ);
}

static inline firn_mask firn_vector_is_at_least(firn_vector a, firn_vector b) {
    return (firn_mask)_mm256_cmp_ps(a, b, _CMP_GE_OQ);
}

static inline firn_vector firn_vector_maximum(firn_vector a, firn_vector b) {
    return _mm256_max_ps(a, b);
}

static inline firn_vector firn_vector_minimum(firn_vector a, firn_vector b) {
    return _mm256_min_ps(a, b);
}

static inline float firn_vector_largest(firn_vector x) {
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

static inline firn_words firn_words_mix(uint32_t mask, firn_words yes, firn_words no) {
    return (yes & mask) | (no & ~mask);
}

/* Multiplies by two factors, each in range; the first product is exact. */
static inline firn_vector firn_vector_scale(firn_vector x, firn_vector n) {
    const firn_words exponent = (firn_words)_mm256_cvtps_epi32(n) + 254u, first = exponent >> 1;
    return x * (firn_vector)(first << 23) * (firn_vector)((exponent - first) << 23);
}

static inline firn_vector firn_pairs_low(firn_vector a, firn_vector b) {
    return _mm256_shuffle_ps(a, b, 0x44);
}

static inline firn_vector firn_pairs_high(firn_vector a, firn_vector b) {
    return _mm256_shuffle_ps(a, b, 0xee);
}

static inline __attribute__((always_inline)) void firn_vector_transpose(firn_vector v[FIRN_VECTOR]) {
    firn_vector squares[FIRN_VECTOR];
    FIRN_UNROLL
    for (size_t i = 0; i < 2; i++) {
        const firn_vector a = _mm256_unpacklo_ps(v[4 * i], v[4 * i + 1]);
        const firn_vector b = _mm256_unpackhi_ps(v[4 * i], v[4 * i + 1]);
        const firn_vector c = _mm256_unpacklo_ps(v[4 * i + 2], v[4 * i + 3]);
        const firn_vector d = _mm256_unpackhi_ps(v[4 * i + 2], v[4 * i + 3]);
        squares[4 * i] = firn_pairs_low(a, c);
        squares[4 * i + 1] = firn_pairs_high(a, c);
        squares[4 * i + 2] = firn_pairs_low(b, d);
        squares[4 * i + 3] = firn_pairs_high(b, d);
    }
    FIRN_UNROLL
    for (size_t j = 0; j < 4; j++) {
        v[j] = _mm256_permute2f128_ps(squares[j], squares[4 + j], 0x20);
        v[4 + j] = _mm256_permute2f128_ps(squares[j], squares[4 + j], 0x31);
    }
}

#endif
