/* The step of a chunked sum with AVX-512 instructions, which encode the rounding direction. step.h describes a step; no
 * other file may include this. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_STEP_AVX512_H
#define FIRN_KERNELS_VECTOR_CHUNKED_STEP_AVX512_H

enum { FIRN_STEP_IS_DIRECTED = 1 }; /* whether instructions encode the rounding direction */

static inline unsigned firn_step_begin(void) {
    return 0;
}

static inline void firn_step_end(unsigned mode) {
    (void)mode;
}

static inline __m512i firn_step_every(uint32_t x) {
    return _mm512_set1_epi32((int)x);
}

static inline firn_vector firn_step_down(firn_vector a, firn_vector b, firn_vector c) {
    return _mm512_fmadd_round_ps(a, b, c, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

static inline firn_vector firn_step_up(firn_vector a, firn_vector b, firn_vector c) {
    return _mm512_fmadd_round_ps(a, b, c, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}

static inline firn_vector firn_step_odd(firn_vector down, firn_vector up) {
    const __mmask16 is_odd = _mm512_test_epi32_mask(_mm512_castps_si512(down), firn_step_every(1));
    return _mm512_mask_mov_ps(up, is_odd, down);
}

/* Rounds to the upper half of a float, to nearest even: adds half a unit of the last bit kept, or just less if that bit
 * is 0, and clears the bits below. A carry propagates into the exponent and up to infinity. No carry occurs in a NaN:
 * all NaNs here come from widened values or from an invalid operation, so their lower half is 0. */
static inline firn_vector firn_step_round_bfloat16(firn_vector x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __mmask16 is_odd = _mm512_test_epi32_mask(bits, firn_step_every(0x10000));
    __m512i sum = _mm512_add_epi32(bits, firn_step_every(0x7fff));
    sum = _mm512_mask_add_epi32(sum, is_odd, bits, firn_step_every(0x8000));
    return _mm512_castsi512_ps(_mm512_and_si512(sum, firn_step_every(0xffff0000)));
}

static inline bool firn_step_asks_for_size(uint8_t type) {
    return type == FIRN_CBFLOAT16 || type == FIRN_BFLOAT16;
}

/* Sums of cbfloat16 need no scaling here. */
static inline firn_vector firn_step_scale(firn_step_kind kind, firn_vector x) {
    (void)kind;
    return x;
}

static inline firn_vector firn_step_unscale(firn_step_kind kind, firn_vector x) {
    (void)kind;
    return x;
}

/* Rounds by adding and subtracting a number whose last bit is the last bit to keep: 1.5 times 2^23 such units. It is
 * proportional to the power of two in x, but at least that of the smallest normal value. If x is infinite the addend
 * overflows to a small number, which is harmless. Two multiplications then turn values beyond the largest into
 * infinity, if there can be any. */
static inline firn_vector firn_step_round_cbfloat16(firn_step_kind kind, firn_vector x) {
    const uint32_t smallest_normal = (uint32_t)(127 - FIRN_CBFLOAT16_BIAS + 1) << 23;
    const uint32_t magic = (uint32_t)(23 - FIRN_CBFLOAT16_MANTISSA) << 23 | 1u << 22;
    const int to_infinity = 127 - FIRN_CBFLOAT16_BIAS;
    __m512i unit = _mm512_and_si512(_mm512_castps_si512(x), firn_step_every(FIRN_INFINITY_BITS));
    unit = _mm512_add_epi32(_mm512_max_epu32(unit, firn_step_every(smallest_normal)), firn_step_every(magic));
    const firn_vector added = _mm512_castsi512_ps(unit);
    const firn_vector rounded = _mm512_sub_ps(_mm512_add_ps(x, added), added);
    if (kind == FIRN_STEP_SMALL_CBFLOAT16)
        return rounded;
    const firn_vector raised = _mm512_mul_ps(rounded, firn_vector_fill(firn_power_of_two(to_infinity)));
    return _mm512_mul_ps(raised, firn_vector_fill(firn_power_of_two(-to_infinity)));
}

/* The CPU's conversion to float16 is that of NUMERICS.md, regardless of the control register. */
static inline firn_vector firn_step_round(firn_step_kind kind, firn_vector x) {
    if (kind == FIRN_STEP_FLOAT16)
        return firn_vector_from_float16(firn_vector_to_float16(x));
    return kind == FIRN_STEP_BFLOAT16 ? firn_step_round_bfloat16(x) : firn_step_round_cbfloat16(kind, x);
}

#endif
