/* The step of a chunked sum with AVX2 instructions, which round as the control register says; see step.h, the only file
 * that may include this. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_STEP_AVX2_H
#define FIRN_KERNELS_VECTOR_CHUNKED_STEP_AVX2_H

enum { FIRN_STEP_IS_DIRECTED = 0 }; /* whether instructions encode the rounding direction */

/* Sets the rounding mode. Returns the previous mode, which firn_step_end restores. */
static inline unsigned firn_step_begin(void) {
    const unsigned mode = _mm_getcsr();
    _mm_setcsr((mode & ~(unsigned)_MM_ROUND_MASK) | _MM_ROUND_DOWN);
    return mode;
}

static inline void firn_step_end(unsigned mode) {
    _mm_setcsr(mode);
}

static inline firn_vector firn_step_down(firn_vector a, firn_vector b, firn_vector c) {
    return _mm256_fmadd_ps(a, b, c);
}

/* The empty asm hides from the compiler that this differs from the sum above only by its sign. */
static inline firn_vector firn_step_up(firn_vector a, firn_vector b, firn_vector c) {
    firn_vector negative = _mm256_fnmsub_ps(a, b, c);
    __asm__("" : "+x"(negative));
    return (firn_vector)((firn_words)negative ^ FIRN_SIGN_BIT);
}

/* The blend selects by the highest bit of each lane. */
static inline firn_vector firn_step_odd(firn_vector down, firn_vector up) {
    return _mm256_blendv_ps(up, down, (firn_vector)((firn_words)down << 31));
}

/* Rounds to nearest even by dropping `drop` bits: adds half a unit of the last bit kept, or just less if that bit is 0,
 * and clears the bits below. A carry propagates into the exponent and up to infinity. No carry occurs in a NaN: all
 * NaNs here come from widened values or from an invalid operation, so their dropped bits are 0. */
static inline firn_words firn_step_drop(firn_words bits, int drop) {
    const uint32_t just_less = (1u << (drop - 1)) - 1u;
    return (bits + just_less + (bits >> drop & 1u)) & ~0u << drop;
}

static inline firn_vector firn_step_round_bfloat16(firn_vector x) {
    return (firn_vector)firn_step_drop((firn_words)x, 16);
}

/* Sums of cbfloat16, and one factor of each term, are scaled so that the subnormals of cbfloat16 become those of
 * float32; bits can then be dropped in the same way for all values. The scale is a power of two, so scaling is
 * exact. */
enum { FIRN_STEP_SCALE = 127 - FIRN_CBFLOAT16_BIAS };

static inline bool firn_step_is_scaled(firn_step_kind kind) {
    return kind == FIRN_STEP_CBFLOAT16 || kind == FIRN_STEP_SMALL_CBFLOAT16;
}

static inline firn_vector firn_step_scale(firn_step_kind kind, firn_vector x) {
    return firn_step_is_scaled(kind) ? firn_vector_multiply(x, firn_vector_fill(firn_power_of_two(-FIRN_STEP_SCALE)))
                                     : x;
}

static inline firn_vector firn_step_unscale(firn_step_kind kind, firn_vector x) {
    return firn_step_is_scaled(kind) ? firn_vector_multiply(x, firn_vector_fill(firn_power_of_two(FIRN_STEP_SCALE)))
                                     : x;
}

static inline bool firn_step_asks_for_size(uint8_t type) {
    return type == FIRN_CBFLOAT16 || type == FIRN_BFLOAT16;
}

/* Works on scaled values. If the doubled bits exceed those of the largest value, the number becomes infinite; the
 * doubled bits of infinities and NaNs are negative as integers, so these remain. */
static inline firn_vector firn_step_round_cbfloat16(firn_step_kind kind, firn_vector x) {
    const uint32_t too_large = (uint32_t)(127 + FIRN_CBFLOAT16_BIAS + 1 - FIRN_STEP_SCALE) << 24;
    const firn_words bits = firn_step_drop((firn_words)x, 23 - FIRN_CBFLOAT16_MANTISSA);
    if (kind == FIRN_STEP_SMALL_CBFLOAT16)
        return (firn_vector)bits;
    const __m256i is_beyond = _mm256_cmpgt_epi32((__m256i)(bits + bits), _mm256_set1_epi32((int)(too_large - 1)));
    const firn_vector infinite = (firn_vector)bits * __builtin_inff();
    return _mm256_blendv_ps((firn_vector)bits, infinite, (firn_vector)is_beyond);
}

/* The CPU's conversion to float16 is that of NUMERICS.md, regardless of the control register. */
static inline firn_vector firn_step_round(firn_step_kind kind, firn_vector x) {
    if (kind == FIRN_STEP_FLOAT16)
        return firn_vector_from_float16(firn_vector_to_float16(x));
    return kind == FIRN_STEP_BFLOAT16 ? firn_step_round_bfloat16(x) : firn_step_round_cbfloat16(kind, x);
}

#endif
