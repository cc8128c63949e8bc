/* Conversion of tensors of any real type to registers of floats, and back. The results equal those of
 * runtime/numerics/half.h: widening is exact, narrowing rounds to nearest even and keeps subnormals, and a NaN stays a
 * NaN. Widening does not make a NaN's payload canonical, because no op depends on it; before narrowing, the caller has
 * made NaNs canonical. The type is a constant after inlining, so a loop is compiled for each type. */
#ifndef FIRN_KERNELS_VECTOR_CONVERT_H
#define FIRN_KERNELS_VECTOR_CONVERT_H

#include "plan/ops.h"
#include "runtime/kernels/vector/vector.h"
#include "runtime/numerics/half.h"

/* --- cbfloat16 ---------------------------------------------------------------------------------------------------- */

enum { FIRN_CBFLOAT16_DROP = 23 - FIRN_CBFLOAT16_MANTISSA };

/* The exponent bits, read as those of a float32, are too small by the difference of the biases. A multiplication
 * corrects this exactly, also for subnormals. */
static inline firn_vector firn_vector_from_cbfloat16(firn_vector_halves halves) {
    const uint32_t largest_exponent = (2 * FIRN_CBFLOAT16_BIAS + 1) << 23;
    const firn_words every_exponent = firn_words_fill(largest_exponent);
    const firn_words shifted = firn_words_and(firn_words_left(firn_words_from_signed(halves), FIRN_CBFLOAT16_DROP),
                                              firn_words_fill(FIRN_SIGN_BIT | largest_exponent | 0x7fffffu));
    const firn_words number = firn_vector_bits(firn_vector_multiply(
        firn_vector_from_bits(shifted), firn_vector_fill(firn_power_of_two(127 - FIRN_CBFLOAT16_BIAS))));
    return firn_vector_from_bits(firn_words_if_equal(firn_words_and(shifted, every_exponent), every_exponent,
                                                     firn_words_or(number, firn_words_fill(FIRN_INFINITY_BITS)),
                                                     number));
}

/* Adds a power of two whose last bit has the weight of the result's last bit, which rounds x to it. The sum minus that
 * power is the result's mantissa including its leading bit, which adds one to the exponent. The exponent is that of x,
 * or that of the subnormals. */
static inline firn_words firn_vector_to_cbfloat16(firn_vector x) {
    const uint32_t infinity = 0x7fffu >> FIRN_CBFLOAT16_MANTISSA << FIRN_CBFLOAT16_MANTISSA;
    const uint32_t least_exponent = (128 - FIRN_CBFLOAT16_BIAS) << 23, too_large = (129 + FIRN_CBFLOAT16_BIAS) << 23;
    const firn_words least = firn_words_fill(least_exponent);
    const firn_words magnitude =
        firn_words_smaller(firn_vector_bits(firn_vector_absolute(x)), firn_words_fill(too_large));
    const firn_words exponent =
        firn_words_larger(firn_words_and(magnitude, firn_words_fill(FIRN_INFINITY_BITS)), least);
    const firn_words power = firn_words_add(exponent, firn_words_fill(FIRN_CBFLOAT16_DROP << 23));
    const firn_vector rounded = firn_vector_add(firn_vector_from_bits(magnitude), firn_vector_from_bits(power));
    const firn_words mantissa = firn_words_subtract(firn_vector_bits(rounded), power);
    const firn_words finite =
        firn_words_add(firn_words_right(firn_words_subtract(exponent, least), FIRN_CBFLOAT16_DROP), mantissa);
    const firn_words sign = firn_words_and(firn_words_right(firn_vector_bits(x), 16), firn_words_fill(0x8000u));
    const firn_words number = firn_words_or(firn_words_smaller(finite, firn_words_fill(infinity)), sign);
    return firn_words_if_nan(x, firn_words_fill(infinity | 1u << (FIRN_CBFLOAT16_MANTISSA - 1)), number);
}

/* --- any type ----------------------------------------------------------------------------------------------------- */

/* Loads elements, starting with `index`. Unselected lanes are +0; their memory is not accessed. */
static inline __attribute__((always_inline)) firn_vector firn_vector_widen(const void *data, uint8_t type, size_t index,
                                                                           firn_lanes lanes) {
    if (type == FIRN_FLOAT32)
        return firn_vector_load_some(lanes, (const float *)data + index);
    const firn_vector_halves halves = firn_halves_load_some(lanes, (const uint16_t *)data + index);
    if (type == FIRN_FLOAT16)
        return firn_vector_from_float16(halves);
    return type == FIRN_BFLOAT16 ? firn_vector_from_bits(firn_words_left(firn_words_from_halves(halves), 16))
                                 : firn_vector_from_cbfloat16(halves);
}

/* Rounds to nearest even by adding half a unit of the last bit kept, or just less if that bit is 0. The result is in
 * the upper half of each word; the lower half is undefined. */
static inline firn_words firn_vector_to_bfloat16_above(firn_vector x) {
    const firn_words bits = firn_vector_bits(x);
    const firn_words last = firn_words_and(firn_words_right(bits, 16), firn_words_fill(1u));
    return firn_words_add(firn_words_add(bits, firn_words_fill(0x7fffu)), last);
}

static inline firn_words firn_vector_to_bfloat16(firn_vector x) {
    return firn_words_right(firn_vector_to_bfloat16_above(x), 16);
}

/* Stores x, rounded to the type. NaNs in x must be canonical. */
static inline __attribute__((always_inline)) void firn_vector_narrow(void *data, uint8_t type, size_t index,
                                                                     firn_lanes lanes, firn_vector x) {
    if (type == FIRN_FLOAT32) {
        firn_vector_store_some((float *)data + index, lanes, x);
        return;
    }
    firn_vector_halves halves;
    if (type == FIRN_FLOAT16)
        halves = firn_vector_to_float16(x);
    else if (type == FIRN_BFLOAT16)
        halves = firn_halves_from_words(firn_vector_to_bfloat16(x));
    else
        halves = firn_halves_from_words(firn_vector_to_cbfloat16(x));
    firn_halves_store_some((uint16_t *)data + index, lanes, halves);
}

/* --- bfloat16 in pairs -------------------------------------------------------------------------------------------- */

/* Two registers take 2 FIRN_VECTOR elements of bfloat16 in another order, those with even numbers first, which needs no
 * instruction that moves elements between lanes. It suits a loop whose elements are independent. */
static inline void firn_pairs_widen(const uint16_t *from, firn_vector x[2]) {
    firn_words pairs;
    __builtin_memcpy(&pairs, from, sizeof pairs);
    x[0] = firn_vector_from_bits(firn_words_left(pairs, 16));
    x[1] = firn_vector_from_bits(firn_words_and(pairs, firn_words_fill(0xffff0000u)));
}

static inline void firn_pairs_store(uint16_t *to, firn_words even_above, firn_words odd_above) {
    const firn_words pairs = firn_words_mix(0xffff0000u, odd_above, firn_words_right(even_above, 16));
    __builtin_memcpy(to, &pairs, sizeof pairs);
}

/* NaNs must be canonical. */
static inline void firn_pairs_narrow(uint16_t *to, const firn_vector x[2]) {
    firn_pairs_store(to, firn_vector_to_bfloat16_above(x[0]), firn_vector_to_bfloat16_above(x[1]));
}

/* The same for values of bfloat16, which need no rounding. */
static inline void firn_pairs_narrow_exact(uint16_t *to, const firn_vector x[2]) {
    firn_pairs_store(to, firn_vector_bits(x[0]), firn_vector_bits(x[1]));
}

/* Returns x rounded to a value of the type. A NaN becomes canonical unless the type is float32. */
static inline __attribute__((always_inline)) firn_vector firn_vector_round(uint8_t type, firn_vector x) {
    if (type == FIRN_FLOAT32)
        return x;
    if (type == FIRN_FLOAT16)
        return firn_vector_from_float16(firn_vector_to_float16(firn_vector_canonical(x)));
    if (type == FIRN_BFLOAT16)
        return firn_vector_from_bits(firn_words_left(firn_vector_to_bfloat16(firn_vector_canonical(x)), 16));
    return firn_vector_from_cbfloat16(firn_halves_from_words(firn_vector_to_cbfloat16(firn_vector_canonical(x))));
}

/* --- a loop for each type ----------------------------------------------------------------------------------------- */

typedef void (*firn_type_body)(uint8_t type, const void *arguments);

/* Calls body with the type as a constant. If body is always inlined, a loop is compiled for each type. */
static inline __attribute__((always_inline)) void firn_for_type(uint8_t type, firn_type_body body,
                                                                const void *arguments) {
    switch (type) {
    case FIRN_FLOAT32:
        body(FIRN_FLOAT32, arguments);
        break;
    case FIRN_FLOAT16:
        body(FIRN_FLOAT16, arguments);
        break;
    case FIRN_BFLOAT16:
        body(FIRN_BFLOAT16, arguments);
        break;
    case FIRN_CBFLOAT16:
        body(FIRN_CBFLOAT16, arguments);
        break;
    default:
        __builtin_trap();
    }
}

#endif
