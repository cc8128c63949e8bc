/* The step of a chunked sum with NEON instructions, which round as the control register says, also when they convert to
 * float16; see step.h, the only file that may include this. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_STEP_NEON_H
#define FIRN_KERNELS_VECTOR_CHUNKED_STEP_NEON_H

enum { FIRN_STEP_IS_DIRECTED = 0 }; /* whether instructions encode the rounding direction */

/* Sets the rounding mode. Returns the previous mode, which firn_step_end restores. */
static inline unsigned firn_step_begin(void) {
    const uint64_t every_mode = 3u << 22, down = 2u << 22;
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    __asm__ volatile("msr fpcr, %0" : : "r"((mode & ~every_mode) | down) : "memory");
    return (unsigned)mode;
}

static inline void firn_step_end(unsigned mode) {
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)mode) : "memory");
}

static inline firn_vector firn_step_down(firn_vector a, firn_vector b, firn_vector c) {
    return firn_vector_fma(a, b, c);
}

/* The empty asm hides from the compiler that this differs from the sum above only by its sign. */
static inline float32x4_t firn_step_neon_up(float32x4_t a, float32x4_t b, float32x4_t c) {
    float32x4_t negative = vfmsq_f32(vnegq_f32(c), a, b);
    __asm__("" : "+w"(negative));
    return vnegq_f32(negative);
}

static inline firn_vector firn_step_up(firn_vector a, firn_vector b, firn_vector c) {
    return (firn_vector){firn_step_neon_up(a.low, b.low, c.low), firn_step_neon_up(a.high, b.high, c.high)};
}

static inline firn_vector firn_step_odd(firn_vector down, firn_vector up) {
    const firn_words bits = firn_vector_bits(down), last = firn_words_fill(1u);
    const firn_mask is_odd = {vtstq_u32(bits.low, last.low), vtstq_u32(bits.high, last.high)};
    return firn_vector_select(is_odd, down, up);
}

/* Rounds to nearest even by dropping `drop` bits: adds half a unit of the last bit kept, or just less if that bit is 0,
 * and clears the bits below. A carry propagates into the exponent and up to infinity. No carry occurs in a NaN: all
 * NaNs here come from widened values or from an invalid operation, so their dropped bits are 0. */
static inline firn_vector firn_step_drop(firn_vector x, int drop) {
    const firn_words bits = firn_vector_bits(x), just_less = firn_words_fill((1u << (drop - 1)) - 1u);
    const firn_words last = firn_words_and(firn_words_right(bits, drop), firn_words_fill(1u));
    const firn_words sum = firn_words_add(firn_words_add(bits, just_less), last);
    return firn_vector_from_bits(firn_words_and(sum, firn_words_fill(~0u << drop)));
}

/* Sums of float16 and cbfloat16, and one factor of each term, are scaled so that the subnormals of the half type become
 * those of float32; bits can then be dropped in the same way for all values. The scale is a power of two, so scaling is
 * exact. */
static inline int firn_step_bias(firn_step_kind kind) {
    return kind == FIRN_STEP_FLOAT16 ? FIRN_FLOAT16_BIAS : FIRN_CBFLOAT16_BIAS;
}

static inline firn_vector firn_step_scale(firn_step_kind kind, firn_vector x) {
    if (kind == FIRN_STEP_BFLOAT16)
        return x;
    return firn_vector_multiply(x, firn_vector_fill(firn_power_of_two(firn_step_bias(kind) - 127)));
}

static inline firn_vector firn_step_unscale(firn_step_kind kind, firn_vector x) {
    if (kind == FIRN_STEP_BFLOAT16)
        return x;
    return firn_vector_multiply(x, firn_vector_fill(firn_power_of_two(127 - firn_step_bias(kind))));
}

static inline bool firn_step_asks_for_size(uint8_t type) {
    return type == FIRN_CBFLOAT16 || type == FIRN_BFLOAT16;
}

/* Works on scaled values, whose largest is below 2^(2 bias - 126). If the doubled bits exceed those of the largest
 * value, the number becomes infinite; the doubled bits of infinities and NaNs are negative as integers, so these
 * remain. */
static inline firn_vector firn_step_limit(firn_step_kind kind, firn_vector x) {
    const int32x4_t largest = vdupq_n_s32((2 * firn_step_bias(kind) + 1) * (1 << 24) - 1);
    const firn_words bits = firn_vector_bits(x), doubled = firn_words_add(bits, bits);
    const firn_mask is_beyond = {vcgtq_s32(vreinterpretq_s32_u32(doubled.low), largest),
                                 vcgtq_s32(vreinterpretq_s32_u32(doubled.high), largest)};
    return firn_vector_select(is_beyond, firn_vector_multiply(x, firn_vector_fill(__builtin_inff())), x);
}

static inline firn_vector firn_step_round(firn_step_kind kind, firn_vector x) {
    if (kind == FIRN_STEP_BFLOAT16)
        return firn_step_drop(x, 16);
    if (kind == FIRN_STEP_FLOAT16)
        return firn_step_limit(kind, firn_step_drop(x, 23 - FIRN_FLOAT16_MANTISSA));
    const firn_vector rounded = firn_step_drop(x, 23 - FIRN_CBFLOAT16_MANTISSA);
    return kind == FIRN_STEP_SMALL_CBFLOAT16 ? rounded : firn_step_limit(kind, rounded);
}

#endif
