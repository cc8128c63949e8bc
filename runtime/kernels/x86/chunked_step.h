/* One step of a chunked sum in each lane, sum = round16(left * right + sum), in the pieces that chunked.c puts side by
 * side for several sums: the product and sum rounded down and up, of these the one that is odd, and that rounded to the
 * half type. Why that is right is said in chunked.h. x86 only.
 *
 * AVX-512 has the direction in the instruction. AVX2 has it in the control register: between firn_step_begin and
 * firn_step_end all is rounded down, and up is the negative of what the negative is down. Compilers know nothing of
 * that register. So what is done between the two is a call of a function that is not inlined and takes and leaves its
 * sums in memory, and that function must not round anything but by what is written here. */
#ifndef FIRN_KERNELS_X86_CHUNKED_STEP_H
#define FIRN_KERNELS_X86_CHUNKED_STEP_H

#include <stdbool.h>

#include "plan/ops.h"
#include "runtime/kernels/x86/vector.h"
#include "runtime/numerics/half.h"

/* What a step rounds to. The last is for sums that are known to stay below the largest value, which saves a third. */
typedef enum firn_step_kind {
    FIRN_STEP_FLOAT16,
    FIRN_STEP_BFLOAT16,
    FIRN_STEP_CBFLOAT16,
    FIRN_STEP_SMALL_CBFLOAT16
} firn_step_kind;

/* The conversion of the CPU is that of NUMERICS.md, whatever the control register says. */
static inline firn_vector firn_step_round_float16(firn_vector x) {
    return firn_vector_from_float16(firn_vector_to_float16(x));
}

#ifdef __AVX512F__

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

#else

/* Returns what firn_step_end takes. */
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

/* The compiler is not to see that this is a sign away from the sum above. */
static inline firn_vector firn_step_up(firn_vector a, firn_vector b, firn_vector c) {
    firn_vector negative = _mm256_fnmsub_ps(a, b, c);
    __asm__("" : "+x"(negative));
    return (firn_vector)((firn_words)negative ^ FIRN_SIGN_BIT);
}

/* The selection looks at the highest bit. */
static inline firn_vector firn_step_odd(firn_vector down, firn_vector up) {
    return _mm256_blendv_ps(up, down, (firn_vector)((firn_words)down << 31));
}

/* `drop` bits of a float: half a unit is added to the bits, just less than that where the last bit kept is 0, and what
 * is below is dropped. The carry goes on into the exponent and to infinity. What is dropped of a NaN is 0 here, since
 * all NaNs come from widened ones or from an invalid operation, so that none is carried away. */
static inline firn_words firn_step_drop(firn_words bits, int drop) {
    const uint32_t just_less = (1u << (drop - 1)) - 1u;
    return (bits + just_less + (bits >> drop & 1u)) & ~0u << drop;
}

static inline firn_vector firn_step_round_bfloat16(firn_vector x) {
    return (firn_vector)firn_step_drop((firn_words)x, 16);
}

/* Sums of cbfloat16, and one factor of each term, are worked on at a scale where its subnormals are those of float32:
 * then bits are dropped of any value alike. The scale is a power of two and changes no value. */
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
    return type == FIRN_CBFLOAT16;
}

/* At that scale. Where the doubled bits are beyond those of the largest value, the number becomes infinite; infinities
 * and NaNs are negative there, and stay. */
static inline firn_vector firn_step_round_cbfloat16(firn_step_kind kind, firn_vector x) {
    const uint32_t too_large = (uint32_t)(127 + FIRN_CBFLOAT16_BIAS + 1 - FIRN_STEP_SCALE) << 24;
    const firn_words bits = firn_step_drop((firn_words)x, 23 - FIRN_CBFLOAT16_MANTISSA);
    if (kind == FIRN_STEP_SMALL_CBFLOAT16)
        return (firn_vector)bits;
    const __m256i is_beyond = _mm256_cmpgt_epi32((__m256i)(bits + bits), _mm256_set1_epi32((int)(too_large - 1)));
    const firn_vector infinite = (firn_vector)bits * __builtin_inff();
    return _mm256_blendv_ps((firn_vector)bits, infinite, (firn_vector)is_beyond);
}

#endif

static inline firn_vector firn_step_round(firn_step_kind kind, firn_vector x) {
    if (kind == FIRN_STEP_FLOAT16)
        return firn_step_round_float16(x);
    return kind == FIRN_STEP_BFLOAT16 ? firn_step_round_bfloat16(x) : firn_step_round_cbfloat16(kind, x);
}

#endif
