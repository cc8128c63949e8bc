/* Conversions of the half types for cores without vectors: the same results as half.h in fewer instructions. Most
 * elements are normal numbers, which take a few integer operations; the others are left to half.h. */
#ifndef FIRN_NUMERICS_HALF_SCALAR_H
#define FIRN_NUMERICS_HALF_SCALAR_H

#include "runtime/numerics/half.h"

/* Keeps the case that it stands in apart: the compiler would otherwise compute every case and choose among the
 * results. */
static inline void firn_case_apart(void) {
    __asm__ volatile("");
}

static inline float firn_widen_half(uint16_t half, int mantissa, int bias) {
    const uint32_t magnitude = half & 0x7fffu, least = 1u << mantissa, infinity = 0x7fffu >> mantissa << mantissa;
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
#ifdef __FP_FAST_FMAF
    /* One multiplication serves zero, subnormal and normal numbers; it is exact. */
    (void)least;
    if (__builtin_expect(magnitude < infinity, 1))
        return firn_from_bits(sign | magnitude << (23 - mantissa)) * firn_power_of_two(127 - bias);
#else
    if (__builtin_expect(magnitude - least < infinity - least, 1))
        return firn_from_bits(sign | ((magnitude << (23 - mantissa)) + ((uint32_t)(127 - bias) << 23)));
    if (magnitude == 0)
        return firn_from_bits(sign);
#endif
    return mantissa == FIRN_FLOAT16_MANTISSA ? firn_float16_to_float(half) : firn_cbfloat16_to_float(half);
}

static inline uint16_t firn_narrow_half(float x, int mantissa, int bias) {
    const int drop = 23 - mantissa;
    const uint32_t magnitude = firn_bits(x) & FIRN_MAGNITUDE_BITS, sign = firn_bits(x) >> 16 & 0x8000u;
    /* The numbers whose nearest value is normal and finite; `above` already rounds to infinity. */
    const uint32_t least = (uint32_t)(128 - bias) << 23, above = ((uint32_t)(bias + 128) << 23) - (1u << (drop - 1));
    if (__builtin_expect(magnitude - least < above - least, 1)) {
        const uint32_t rounded = magnitude - ((uint32_t)(127 - bias) << 23) + (1u << (drop - 1)) - 1u;
        return (uint16_t)(sign | (rounded + (magnitude >> drop & 1u)) >> drop);
    }
    if (magnitude == 0)
        return (uint16_t)sign;
    if (magnitude < least) { /* adding a number whose last bit is the smallest value rounds to it */
        firn_case_apart();
        const float magic = firn_power_of_two(1 - bias + drop);
        return (uint16_t)(sign | (firn_bits(firn_from_bits(magnitude) + magic) - firn_bits(magic)));
    }
    return mantissa == FIRN_FLOAT16_MANTISSA ? firn_float16_from_float(x) : firn_cbfloat16_from_float(x);
}

static inline float firn_widen_bfloat16(uint16_t half) {
    return (half & 0x7fffu) > 0x7f80u ? firn_from_bits(FIRN_NAN_BITS) : firn_from_bits((uint32_t)half << 16);
}

/* The upper half of the result is the bfloat16 nearest to a number; the lower half is meaningless. */
static inline uint32_t firn_bfloat16_rounded(uint32_t bits) {
    return bits + 0x7fffu + (bits >> 16 & 1u);
}

static inline uint16_t firn_narrow_bfloat16(float x) {
    const uint32_t bits = firn_bits(x);
    if (bits << 1 > FIRN_INFINITY_BITS << 1)
        return FIRN_NAN_BITS >> 16;
    return (uint16_t)(firn_bfloat16_rounded(bits) >> 16);
}

/* --- two elements at once ----------------------------------------------------------------------------------------- */

/* Two elements of an array in one word, the first in the lower half. */
typedef uint32_t __attribute__((may_alias)) firn_two_halves;

/* Returns the elements in front of the first whole word of an array: 0 or 1. */
static inline size_t firn_until_word(const uint16_t *elements) {
    return (uintptr_t)elements % sizeof(firn_two_halves) / sizeof *elements;
}

/* Arm cores with a floating-point unit that has fused multiply-adds (VFPv4 and later) also convert float16. With the
 * control word of runtime/float_environment.h they round to nearest even, keep subnormals and overflow to infinity;
 * only a NaN may need to be made canonical. */
#if defined(__arm__) && defined(__ARM_FEATURE_FMA) && !FIRN_VECTORS
#    define FIRN_CONVERTS_FLOAT16 1
#else
#    define FIRN_CONVERTS_FLOAT16 0
#endif

/* Two numbers, of which neither is NaN, as two bfloat16. */
static inline firn_two_halves firn_two_bfloat16(uint32_t lower, uint32_t upper) {
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)
    /* The carry of each shift is the last bit that stays, which the addition needs to round to even. */
    uint32_t unused;
    __asm__("lsrs %2, %0, #17\n\tadc %0, %0, %3\n\t"
            "lsrs %2, %1, #17\n\tadc %1, %1, %3\n\t"
            "pkhtb %0, %1, %0, asr #16"
            : "+&r"(lower), "+&r"(upper), "=&r"(unused)
            : "r"(0x7fffu)
            : "cc");
    return lower;
#else
    return firn_bfloat16_rounded(lower) >> 16 | (firn_bfloat16_rounded(upper) & 0xffff0000u);
#endif
}

#if FIRN_CONVERTS_FLOAT16

/* Two float16 in one register. may_alias, because they lie in memory as two elements. */
typedef float __attribute__((may_alias)) firn_two_float16_bits;

static inline float firn_lower_float16(float bits) {
    float x;
    __asm__("vcvtb.f32.f16 %0, %1" : "=t"(x) : "t"(bits));
    return x;
}

static inline float firn_upper_float16(float bits) {
    float x;
    __asm__("vcvtt.f32.f16 %0, %1" : "=t"(x) : "t"(bits));
    return x;
}

/* Widens eight elements that begin with a whole word; each load and store takes one instruction, which compilers do not
 * find. */
static inline void firn_widen_eight_float16(float *out, const uint16_t *in) {
    __asm__("vldmia %[in], {s0-s3}\n\t"
            "vcvtb.f32.f16 s4, s0\n\tvcvtt.f32.f16 s5, s0\n\tvcvtb.f32.f16 s6, s1\n\tvcvtt.f32.f16 s7, s1\n\t"
            "vcvtb.f32.f16 s8, s2\n\tvcvtt.f32.f16 s9, s2\n\tvcvtb.f32.f16 s10, s3\n\tvcvtt.f32.f16 s11, s3\n\t"
            "vstmia %[out], {s4-s11}"
            :
            : [in] "r"(in), [out] "r"(out)
            : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "memory");
}

static inline float firn_two_float16(float lower, float upper) {
    float bits;
    __asm__("vcvtb.f16.f32 %0, %1\n\tvcvtt.f16.f32 %0, %2" : "=&t"(bits) : "t"(lower), "t"(upper));
    return bits;
}

#endif

#endif
