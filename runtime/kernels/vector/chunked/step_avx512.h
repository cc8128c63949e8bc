/* The step of a chunked sum with the instructions of AVX-512, which have the direction of rounding in them. Included by
 * step.h alone, which says what a step is. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_STEP_AVX512_H
#define FIRN_KERNELS_VECTOR_CHUNKED_STEP_AVX512_H

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

/* The upper half of a float: half a unit is added to the bits, just less than that where the last bit kept is 0, and
 * what is below is dropped. The carry goes on into the exponent and to infinity. The lower half of a NaN is 0 here,
 * since all NaNs come from widened ones or from an invalid operation, so that none is carried away. */
static inline firn_vector firn_step_round_bfloat16(firn_vector x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __mmask16 is_odd = _mm512_test_epi32_mask(bits, firn_step_every(0x10000));
    __m512i sum = _mm512_add_epi32(bits, firn_step_every(0x7fff));
    sum = _mm512_mask_add_epi32(sum, is_odd, bits, firn_step_every(0x8000));
    return _mm512_castsi512_ps(_mm512_and_si512(sum, firn_step_every(0xffff0000)));
}

/* Nothing is saved here by knowing it. */
static inline bool firn_step_asks_for_size(uint8_t type) {
    (void)type;
    return false;
}

/* Sums of cbfloat16 are worked on as they are. */
static inline firn_vector firn_step_scale(firn_step_kind kind, firn_vector x) {
    (void)kind;
    return x;
}

static inline firn_vector firn_step_unscale(firn_step_kind kind, firn_vector x) {
    (void)kind;
    return x;
}

/* A number is added whose last bit is the last one to keep, 1.5 times 2^23 of those, and taken away again. It grows
 * with the exponent of x, from the smallest normal value on. Where x is infinite it overflows to a small one, which
 * does no harm. Values beyond the largest are then driven to infinity and back. */
static inline firn_vector firn_step_round_cbfloat16(firn_step_kind kind, firn_vector x) {
    (void)kind;
    const uint32_t smallest_normal = (uint32_t)(127 - FIRN_CBFLOAT16_BIAS + 1) << 23;
    const uint32_t magic = (uint32_t)(23 - FIRN_CBFLOAT16_MANTISSA) << 23 | 1u << 22;
    const int to_infinity = 127 - FIRN_CBFLOAT16_BIAS;
    __m512i unit = _mm512_and_si512(_mm512_castps_si512(x), firn_step_every(FIRN_INFINITY_BITS));
    unit = _mm512_add_epi32(_mm512_max_epu32(unit, firn_step_every(smallest_normal)), firn_step_every(magic));
    const firn_vector added = _mm512_castsi512_ps(unit);
    const firn_vector rounded = _mm512_sub_ps(_mm512_add_ps(x, added), added);
    const firn_vector raised = _mm512_mul_ps(rounded, firn_vector_fill(firn_power_of_two(to_infinity)));
    return _mm512_mul_ps(raised, firn_vector_fill(firn_power_of_two(-to_infinity)));
}

#endif
