/* Packing for the AVX-512 product; see pack.h. The widening agrees with runtime/numerics/half.h: exact, and a NaN stays
 * one (its payload is never looked at: what is stored becomes canonical). */
#include "runtime/kernels/x86/pack.h"

#include <immintrin.h>

#include "runtime/numerics/half.h"

/* --- widening ----------------------------------------------------------------------------------------------------- */

/* A subnormal is its mantissa, as an integer, times the smallest value. */
static inline __m512 widen_cbfloat16(__m512i halves) {
    const int mantissa = FIRN_CBFLOAT16_MANTISSA, bias = FIRN_CBFLOAT16_BIAS;
    const __m512i infinity = _mm512_set1_epi32(0x7fff >> mantissa << mantissa);
    const __m512i magnitude = _mm512_and_si512(halves, _mm512_set1_epi32(0x7fff));
    const __m512i shifted = _mm512_slli_epi32(magnitude, (unsigned)(23 - mantissa));
    const __m512 tiny =
        _mm512_mul_ps(_mm512_cvtepi32_ps(magnitude), _mm512_set1_ps(firn_power_of_two(1 - bias - mantissa)));
    const __mmask16 is_tiny = _mm512_cmplt_epi32_mask(magnitude, _mm512_set1_epi32(1 << mantissa));
    const __mmask16 is_special = _mm512_cmpge_epi32_mask(magnitude, infinity);
    __m512i bits = _mm512_add_epi32(shifted, _mm512_set1_epi32((127 - bias) << 23));
    bits = _mm512_mask_mov_epi32(bits, is_tiny, _mm512_castps_si512(tiny));
    bits = _mm512_mask_or_epi32(bits, is_special, shifted, _mm512_set1_epi32(0x7f800000));
    const __m512i sign = _mm512_slli_epi32(_mm512_and_si512(halves, _mm512_set1_epi32(0x8000)), 16);
    return _mm512_castsi512_ps(_mm512_or_si512(bits, sign));
}

/* Elements index to index + 15, those outside the mask +0 and not touched. */
static inline __attribute__((always_inline)) __m512 load(const void *data, uint8_t type, size_t index, __mmask16 mask) {
    if (type == FIRN_FLOAT32)
        return _mm512_maskz_loadu_ps(mask, (const float *)data + index);
    const __m256i halves = _mm256_maskz_loadu_epi16(mask, (const uint16_t *)data + index);
    if (type == FIRN_FLOAT16)
        return _mm512_cvtph_ps(halves);
    if (type == FIRN_BFLOAT16)
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
    return widen_cbfloat16(_mm512_cvtepu16_epi32(halves));
}

/* --- the two directions ------------------------------------------------------------------------------------------- */

/* Lanes are neighbours in memory. */
static inline __attribute__((always_inline)) void pack_straight(float *out, size_t vectors, const void *data,
                                                                uint8_t type, size_t first, size_t step, size_t terms,
                                                                size_t lanes) {
    const __mmask16 low = firn_first_lanes(lanes);
    if (vectors == 1) {
        for (size_t term = 0; term < terms; term++)
            _mm512_storeu_ps(out + term * FIRN_VECTOR, load(data, type, first + term * step, low));
        return;
    }
    const __mmask16 high = lanes > FIRN_VECTOR ? firn_first_lanes(lanes - FIRN_VECTOR) : (__mmask16)0;
    for (size_t term = 0; term < terms; term++) {
        float *row = out + term * 2 * FIRN_VECTOR;
        _mm512_storeu_ps(row, load(data, type, first + term * step, low));
        _mm512_storeu_ps(row + FIRN_VECTOR, load(data, type, first + term * step + FIRN_VECTOR, high));
    }
}

static inline __m512 low_pairs(__m512 a, __m512 b) {
    return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}

static inline __m512 high_pairs(__m512 a, __m512 b) {
    return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}

/* Rows become columns: first inside the 4 x 4 squares, then the squares change places. */
static inline __attribute__((always_inline)) void transpose(__m512 v[FIRN_VECTOR]) {
    __m512 squares[FIRN_VECTOR];
    FIRN_UNROLL
    for (size_t i = 0; i < 4; i++) {
        const __m512 a = _mm512_unpacklo_ps(v[4 * i], v[4 * i + 1]), b = _mm512_unpackhi_ps(v[4 * i], v[4 * i + 1]);
        const __m512 c = _mm512_unpacklo_ps(v[4 * i + 2], v[4 * i + 3]);
        const __m512 d = _mm512_unpackhi_ps(v[4 * i + 2], v[4 * i + 3]);
        squares[4 * i] = low_pairs(a, c);
        squares[4 * i + 1] = high_pairs(a, c);
        squares[4 * i + 2] = low_pairs(b, d);
        squares[4 * i + 3] = high_pairs(b, d);
    }
    FIRN_UNROLL
    for (size_t j = 0; j < 4; j++) {
        const __m512 a = _mm512_shuffle_f32x4(squares[j], squares[4 + j], 0x88);
        const __m512 b = _mm512_shuffle_f32x4(squares[j], squares[4 + j], 0xdd);
        const __m512 c = _mm512_shuffle_f32x4(squares[8 + j], squares[12 + j], 0x88);
        const __m512 d = _mm512_shuffle_f32x4(squares[8 + j], squares[12 + j], 0xdd);
        v[j] = _mm512_shuffle_f32x4(a, c, 0x88);
        v[4 + j] = _mm512_shuffle_f32x4(b, d, 0x88);
        v[8 + j] = _mm512_shuffle_f32x4(a, c, 0xdd);
        v[12 + j] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
}

/* Terms are neighbours in memory. */
static inline __attribute__((always_inline)) void pack_transposed(float *out, size_t vectors, const void *data,
                                                                  uint8_t type, size_t first, size_t step, size_t terms,
                                                                  size_t lanes) {
    const size_t width = vectors * FIRN_VECTOR;
    for (size_t lane = 0; lane < width; lane += FIRN_VECTOR) {
        const size_t here = lanes > lane ? lanes - lane : 0;
        for (size_t term = 0; term < terms; term += FIRN_VECTOR) {
            const __mmask16 mask = firn_first_lanes(terms - term);
            __m512 v[FIRN_VECTOR];
            FIRN_UNROLL
            for (size_t i = 0; i < FIRN_VECTOR; i++)
                v[i] = i < here ? load(data, type, first + (lane + i) * step + term, mask) : _mm512_setzero_ps();
            transpose(v);
            float *block = out + term * width + lane;
            FIRN_UNROLL
            for (size_t i = 0; i < FIRN_VECTOR; i++)
                if (i < terms - term)
                    _mm512_storeu_ps(block + i * width, v[i]);
        }
    }
}

static inline __attribute__((always_inline)) void pack(float *out, size_t vectors, const firn_matrix *from,
                                                       uint8_t type, size_t first, size_t terms, size_t lanes) {
    if (from->column_step == 1)
        pack_straight(out, vectors, from->data, type, first, from->row_step, terms, lanes);
    else
        pack_transposed(out, vectors, from->data, type, first, from->column_step, terms, lanes);
}

void firn_vector_pack(float *out, size_t vectors, const firn_matrix *from, size_t first_term, size_t terms,
                      size_t first_lane, size_t lanes) {
    const size_t first = from->first + first_term * from->row_step + first_lane * from->column_step;
    switch (from->type) {
    case FIRN_FLOAT16:
        pack(out, vectors, from, FIRN_FLOAT16, first, terms, lanes);
        break;
    case FIRN_BFLOAT16:
        pack(out, vectors, from, FIRN_BFLOAT16, first, terms, lanes);
        break;
    case FIRN_CBFLOAT16:
        pack(out, vectors, from, FIRN_CBFLOAT16, first, terms, lanes);
        break;
    default:
        pack(out, vectors, from, FIRN_FLOAT32, first, terms, lanes);
        break;
    }
}
