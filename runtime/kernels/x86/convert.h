/* Registers of floats from tensors of any real type, and back. It agrees with runtime/numerics/half.h: widening is
 * exact, narrowing rounds to nearest even and keeps subnormals, and a NaN stays one. A NaN's payload is not made
 * canonical on the way in (nobody looks at it); on the way out the caller has done that. The type is known once these
 * are inlined: a loop is compiled for each. x86 only. */
#ifndef FIRN_KERNELS_X86_CONVERT_H
#define FIRN_KERNELS_X86_CONVERT_H

#include "plan/ops.h"
#include "runtime/kernels/x86/vector.h"
#include "runtime/numerics/half.h"

/* The lanes of a register as integers, for operators; a comparison gives all ones or zero. */
typedef uint32_t firn_words __attribute__((vector_size(4 * FIRN_VECTOR)));

static inline __attribute__((always_inline)) firn_words firn_words_select(firn_words condition, firn_words yes,
                                                                          firn_words no) {
    return no ^ ((no ^ yes) & condition);
}

/* --- cbfloat16 ---------------------------------------------------------------------------------------------------- */

/* A subnormal is its mantissa, as an integer, times the smallest value: firn_half_decode. */
static inline __attribute__((always_inline)) firn_vector firn_vector_from_cbfloat16(firn_words halves) {
    const int mantissa = FIRN_CBFLOAT16_MANTISSA, bias = FIRN_CBFLOAT16_BIAS;
    const firn_words magnitude = halves & 0x7fffu, shifted = magnitude << (23 - mantissa);
    const firn_vector tiny = firn_vector_multiply(firn_vector_from_integers((firn_vector_bits)magnitude),
                                                  firn_vector_fill(firn_power_of_two(1 - bias - mantissa)));
    const firn_words normal = shifted + ((uint32_t)(127 - bias) << 23);
    const firn_words finite = firn_words_select((firn_words)(magnitude < (1u << mantissa)), (firn_words)tiny, normal);
    const firn_words special = shifted | FIRN_INFINITY_BITS;
    const firn_words number =
        firn_words_select((firn_words)(magnitude >= (0x7fffu >> mantissa << mantissa)), special, finite);
    return (firn_vector)(number | (halves & 0x8000u) << 16);
}

/* Above the subnormals the dropped bits are rounded in the integer; among them adding a power of two whose last bit is
 * the smallest subnormal does it: firn_half_round and firn_half_encode in one. */
static inline __attribute__((always_inline)) firn_words firn_vector_to_cbfloat16(firn_vector x) {
    const int mantissa = FIRN_CBFLOAT16_MANTISSA, bias = FIRN_CBFLOAT16_BIAS, drop = 23 - mantissa;
    const uint32_t infinity = 0x7fffu >> mantissa << mantissa;
    const float magic = firn_power_of_two(1 - bias + drop);
    const firn_words bits = (firn_words)x, magnitude = bits & FIRN_MAGNITUDE_BITS;
    const firn_words rounded = magnitude + ((1u << (drop - 1)) - 1u) + (magnitude >> drop & 1u);
    const firn_words normal = (rounded - ((uint32_t)(127 - bias) << 23)) >> drop;
    const firn_words tiny =
        (firn_words)firn_vector_add((firn_vector)magnitude, firn_vector_fill(magic)) - firn_bits(magic);
    const firn_words finite = firn_words_select((firn_words)(magnitude < (uint32_t)(128 - bias) << 23), tiny, normal);
    const firn_words overflows = (firn_words)(rounded >= (uint32_t)(bias + 128) << 23);
    const firn_words number = firn_words_select(overflows, infinity - (firn_words){0}, finite);
    const firn_words nan = (infinity | 1u << (mantissa - 1)) - (firn_words){0};
    return firn_words_select((firn_words)(magnitude > FIRN_INFINITY_BITS), nan, number | (bits >> 16 & 0x8000u));
}

/* --- any type ----------------------------------------------------------------------------------------------------- */

/* Elements from index on. Lanes that are left out are +0, and their memory is not touched. */
static inline __attribute__((always_inline)) firn_vector firn_vector_widen(const void *data, uint8_t type, size_t index,
                                                                           firn_lanes lanes) {
    if (type == FIRN_FLOAT32)
        return firn_vector_load_some(lanes, (const float *)data + index);
    const firn_vector_halves halves = firn_halves_load_some(lanes, (const uint16_t *)data + index);
    if (type == FIRN_FLOAT16)
        return firn_vector_from_float16(halves);
    const firn_words words = (firn_words)firn_bits_from_halves(halves);
    return type == FIRN_BFLOAT16 ? (firn_vector)(words << 16) : firn_vector_from_cbfloat16(words);
}

/* Stores x, whose NaNs are canonical, rounded to the type. */
static inline __attribute__((always_inline)) void firn_vector_narrow(void *data, uint8_t type, size_t index,
                                                                     firn_lanes lanes, firn_vector x) {
    if (type == FIRN_FLOAT32) {
        firn_vector_store_some((float *)data + index, lanes, x);
        return;
    }
    firn_vector_halves halves;
    const firn_words bits = (firn_words)x;
    if (type == FIRN_FLOAT16)
        halves = firn_vector_to_float16(x);
    else if (type == FIRN_BFLOAT16)
        halves = firn_halves_from_bits((firn_vector_bits)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16));
    else
        halves = firn_halves_from_bits((firn_vector_bits)firn_vector_to_cbfloat16(x));
    firn_halves_store_some((uint16_t *)data + index, lanes, halves);
}

#endif
