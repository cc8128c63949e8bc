/* Rounds two registers of floats to bfloat16 at once; a NaN becomes canonical. The conversion of AVX512_BF16 takes
 * subnormals for zeros and keeps the payload of a NaN, so it is used where no lane is either, which is nearly always.
 * Without it, the same by integers. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_ROUND_H
#define FIRN_KERNELS_VECTOR_ENGINE_ROUND_H

#include "runtime/kernels/vector/convert.h"

static inline void firn_round_and_store_each(uint16_t *to, firn_vector a, firn_vector b) {
    const firn_lanes all = firn_first_lanes(FIRN_VECTOR);
    firn_vector_narrow(to, FIRN_BFLOAT16, 0, all, firn_vector_canonical(a));
    firn_vector_narrow(to, FIRN_BFLOAT16, FIRN_VECTOR, all, firn_vector_canonical(b));
}

static inline firn_words firn_round_each_to_words(firn_vector low, firn_vector high) {
    return firn_words_or(firn_vector_to_bfloat16(firn_vector_canonical(low)),
                         firn_words_left(firn_vector_to_bfloat16(firn_vector_canonical(high)), 16));
}

#ifdef __AVX512BF16__

/* Whether the instruction rounds all lanes as plan/NUMERICS.md does. */
static inline bool firn_rounds_by_instruction(firn_vector a, firn_vector b) {
    enum { QUIET_NAN = 0x01, SUBNORMAL = 0x20, SIGNALING_NAN = 0x80, OTHERS = QUIET_NAN | SUBNORMAL | SIGNALING_NAN };
    return __builtin_expect(
        _kortestz_mask16_u8(_mm512_fpclass_ps_mask(a, OTHERS), _mm512_fpclass_ps_mask(b, OTHERS)) != 0, 1);
}

/* Stores the lanes of a and behind them those of b. */
static inline void firn_round_and_store(uint16_t *to, firn_vector a, firn_vector b) {
    if (firn_rounds_by_instruction(a, b))
        _mm512_storeu_si512(to, (__m512i)_mm512_cvtne2ps_pbh(b, a));
    else
        firn_round_and_store_each(to, a, b);
}

/* Returns words of the lanes of `low` and, in their upper halves, of `high`. */
static inline firn_words firn_round_to_words(firn_vector low, firn_vector high) {
    if (!firn_rounds_by_instruction(low, high))
        return firn_round_each_to_words(low, high);
    const __m512i places = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                            21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return (firn_words)_mm512_permutexvar_epi16(places, (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

#else

static inline void firn_round_and_store(uint16_t *to, firn_vector a, firn_vector b) {
    firn_round_and_store_each(to, a, b);
}

static inline firn_words firn_round_to_words(firn_vector low, firn_vector high) {
    return firn_round_each_to_words(low, high);
}

#endif

#endif
