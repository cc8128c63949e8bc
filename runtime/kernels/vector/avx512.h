/* The register type of AVX-512 (F, BW, VL, DQ) with F16C: sixteen floats. The comments here describe the functions for
 * every instruction set; each header defines the same functions. Only vector.h may include this file. */
#ifndef FIRN_KERNELS_VECTOR_AVX512_H
#define FIRN_KERNELS_VECTOR_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FIRN_VECTOR = 16,        /* floats in a register */
    FIRN_REGISTER_ROWS = 14, /* rows of the register tile (tile.h): 28 sums, and four registers for the factors */
    FIRN_PACKED_FLOATS = 192 * 1024,       /* of the right factor that a product packs at once (product.c) */
    FIRN_NEAR_FLOATS = FIRN_PACKED_FLOATS, /* of those, what stays in the L2 cache */
    FIRN_PREFETCH_TERMS = 8, /* between the term that a register tile multiplies and the one it prefetches; 0: none */
    FIRN_PRODUCT_TERMS = 512 /* in a block */
};

typedef __m512 firn_vector;
typedef uint32_t firn_words __attribute__((vector_size(64))); /* its lanes as integers, so that C operators apply */
typedef __m256i firn_vector_halves;
typedef __mmask16 firn_lanes; /* the first lanes of a register, or all of them */
typedef __mmask16 firn_mask;  /* any lanes */

/* Selects the first `count` lanes, or all if count is at least FIRN_VECTOR. */
static inline firn_lanes firn_first_lanes(size_t count) {
    return (firn_lanes)(count < FIRN_VECTOR ? (1u << count) - 1u : 0xffffu);
}

static inline firn_vector firn_vector_fill(float x) {
    return _mm512_set1_ps(x);
}

static inline firn_vector firn_vector_load(const float *from) {
    return _mm512_loadu_ps(from);
}

static inline void firn_vector_store(float *to, firn_vector x) {
    _mm512_storeu_ps(to, x);
}

/* Stores x past the caches, for an output that is larger than they are: the line it replaces is not read. `to` must be
 * a multiple of a register's bytes. firn_streams_end must follow the last one, in the same thread. */
static inline void firn_vector_stream(float *to, firn_vector x) {
    _mm512_stream_ps(to, x);
}

/* Makes what was stored past the caches visible to other threads before anything that is stored later. */
static inline void firn_streams_end(void) {
    _mm_sfence();
}

/* Unselected lanes are +0; their memory is not accessed. */
static inline firn_vector firn_vector_load_some(firn_lanes lanes, const float *from) {
    return _mm512_maskz_loadu_ps(lanes, from);
}

static inline void firn_vector_store_some(float *to, firn_lanes lanes, firn_vector x) {
    _mm512_mask_storeu_ps(to, lanes, x);
}

static inline firn_vector_halves firn_halves_load_some(firn_lanes lanes, const uint16_t *from) {
    return _mm256_maskz_loadu_epi16(lanes, from);
}

static inline void firn_halves_store_some(uint16_t *to, firn_lanes lanes, firn_vector_halves x) {
    _mm256_mask_storeu_epi16(to, lanes, x);
}

static inline firn_vector firn_vector_add(firn_vector a, firn_vector b) {
    return _mm512_add_ps(a, b);
}

static inline firn_vector firn_vector_multiply(firn_vector a, firn_vector b) {
    return _mm512_mul_ps(a, b);
}

/* a * b + c, rounded once. */
static inline firn_vector firn_vector_fma(firn_vector a, firn_vector b, firn_vector c) {
    return _mm512_fmadd_ps(a, b, c);
}

static inline firn_vector firn_vector_from_float16(firn_vector_halves halves) {
    return _mm512_cvtph_ps(halves);
}

static inline firn_vector_halves firn_vector_to_float16(firn_vector x) {
    return _mm512_maskz_cvtps_ph(0xffff, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline firn_words firn_words_from_halves(firn_vector_halves halves) {
    return (firn_words)_mm512_cvtepu16_epi32(halves);
}

/* Converts each 16-bit lane to 32 bits, with sign extension. */
static inline firn_words firn_words_from_signed(firn_vector_halves halves) {
    return (firn_words)_mm512_cvtepi16_epi32(halves);
}

/* Takes the lower 16 bits of each lane; the upper ones must be 0. */
static inline firn_vector_halves firn_halves_from_words(firn_words words) {
    return _mm512_cvtepi32_epi16((__m512i)words);
}

/* Multiplies the words of even lanes. A product takes the place of two lanes, its lower word first. */
static inline firn_words firn_words_multiply_even(firn_words a, firn_words b) {
    return (firn_words)_mm512_mul_epu32((__m512i)a, (__m512i)b);
}

/* Moves each odd lane to the even one before it. */
static inline firn_words firn_words_odd_to_even(firn_words x) {
    return (firn_words)_mm512_srli_epi64((__m512i)x, 32);
}

static inline firn_words firn_words_smaller(firn_words a, firn_words b) {
    return (firn_words)_mm512_min_epu32((__m512i)a, (__m512i)b);
}

static inline firn_words firn_words_larger(firn_words a, firn_words b) {
    return (firn_words)_mm512_max_epu32((__m512i)a, (__m512i)b);
}

/* Returns `yes` in lanes where a and b are equal, else `no`. */
static inline firn_words firn_words_if_equal(firn_words a, firn_words b, firn_words yes, firn_words no) {
    return (firn_words)_mm512_mask_mov_epi32((__m512i)no, _mm512_cmpeq_epi32_mask((__m512i)a, (__m512i)b),
                                             (__m512i)yes);
}

/* Returns `yes` in lanes where x is a NaN, else `no`. */
static inline firn_words firn_words_if_nan(firn_vector x, firn_words yes, firn_words no) {
    return (firn_words)_mm512_mask_mov_epi32((__m512i)no, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), (__m512i)yes);
}

static inline firn_mask firn_mask_of(firn_lanes lanes) {
    return lanes;
}

/* Selects lane i if bit i is set; bits beyond the lanes are ignored. */
static inline firn_mask firn_mask_from_bits(uint32_t bits) {
    return (firn_mask)bits;
}

static inline uint32_t firn_mask_to_bits(firn_mask mask) {
    return mask;
}

static inline firn_vector firn_vector_select(firn_mask mask, firn_vector yes, firn_vector no) {
    return _mm512_mask_blend_ps(mask, no, yes);
}

/* Unselected lanes become +0. */
static inline firn_vector firn_vector_keep(firn_mask mask, firn_vector x) {
    return _mm512_maskz_mov_ps(mask, x);
}

static inline firn_mask firn_vector_is_nan(firn_vector x) {
    return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
}

/* a < b; false if either is a NaN. */
static inline firn_mask firn_vector_is_less(firn_vector a, firn_vector b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}

/* a >= b; false if either is a NaN. */
static inline firn_mask firn_vector_is_at_least(firn_vector a, firn_vector b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ);
}

/* Returns b if either is a NaN, or if both are zeros. */
static inline firn_vector firn_vector_maximum(firn_vector a, firn_vector b) {
    return _mm512_max_ps(a, b);
}

static inline firn_vector firn_vector_minimum(firn_vector a, firn_vector b) {
    return _mm512_min_ps(a, b);
}

/* Returns the maximum of all lanes, none of which may be a NaN. */
static inline float firn_vector_largest(firn_vector x) {
    return _mm512_reduce_max_ps(x);
}

/* Takes the bits of `yes` that are set in the mask, and the others from `no`. */
static inline firn_words firn_words_mix(uint32_t mask, firn_words yes, firn_words no) {
    return (firn_words)_mm512_ternarylogic_epi32(_mm512_set1_epi32((int)mask), (__m512i)yes, (__m512i)no, 0xca);
}

/* Returns x 2^n, rounded once. Either 1/2 <= |x| <= 2 and n is an integer from -152 to 129, or both are NaN. */
static inline firn_vector firn_vector_scale(firn_vector x, firn_vector n) {
    return _mm512_scalef_ps(x, n);
}

static inline firn_vector firn_pairs_low(firn_vector a, firn_vector b) {
    return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}

static inline firn_vector firn_pairs_high(firn_vector a, firn_vector b) {
    return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}

/* Transposes the matrix: first within 4 x 4 squares, then the squares among each other. */
static inline __attribute__((always_inline)) void firn_vector_transpose(firn_vector v[FIRN_VECTOR]) {
    firn_vector squares[FIRN_VECTOR];
    FIRN_UNROLL
    for (size_t i = 0; i < 4; i++) {
        const firn_vector a = _mm512_unpacklo_ps(v[4 * i], v[4 * i + 1]);
        const firn_vector b = _mm512_unpackhi_ps(v[4 * i], v[4 * i + 1]);
        const firn_vector c = _mm512_unpacklo_ps(v[4 * i + 2], v[4 * i + 3]);
        const firn_vector d = _mm512_unpackhi_ps(v[4 * i + 2], v[4 * i + 3]);
        squares[4 * i] = firn_pairs_low(a, c);
        squares[4 * i + 1] = firn_pairs_high(a, c);
        squares[4 * i + 2] = firn_pairs_low(b, d);
        squares[4 * i + 3] = firn_pairs_high(b, d);
    }
    FIRN_UNROLL
    for (size_t j = 0; j < 4; j++) {
        const firn_vector a = _mm512_shuffle_f32x4(squares[j], squares[4 + j], 0x88);
        const firn_vector b = _mm512_shuffle_f32x4(squares[j], squares[4 + j], 0xdd);
        const firn_vector c = _mm512_shuffle_f32x4(squares[8 + j], squares[12 + j], 0x88);
        const firn_vector d = _mm512_shuffle_f32x4(squares[8 + j], squares[12 + j], 0xdd);
        v[j] = _mm512_shuffle_f32x4(a, c, 0x88);
        v[4 + j] = _mm512_shuffle_f32x4(b, d, 0x88);
        v[8 + j] = _mm512_shuffle_f32x4(a, c, 0xdd);
        v[12 + j] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
}

#endif
