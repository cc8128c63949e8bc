/* Widens rows of a matrix for a product: plan/NUMERICS.md, "Half types". Unlike firn_widen it leaves a NaN as it is,
 * because what a product makes of it becomes canonical when it is stored. Freestanding. */
#include "plan/ops.h"
#include "runtime/numerics/half_scalar.h"

static inline void widen_bfloat16(float *out, const uint16_t *in, size_t count) {
    size_t i = firn_until_word(in);
    if (i > 0 && count > 0)
        out[0] = firn_from_bits((uint32_t)in[0] << 16);
    const firn_two_halves *words = (const firn_two_halves *)(const void *)(in + i);
    for (; i + 4 <= count; i += 4, words += 2) {
        const uint32_t first = words[0], second = words[1];
        out[i] = firn_from_bits(first << 16), out[i + 1] = firn_from_bits(first & 0xffff0000u);
        out[i + 2] = firn_from_bits(second << 16), out[i + 3] = firn_from_bits(second & 0xffff0000u);
    }
    for (; i < count; i++)
        out[i] = firn_from_bits((uint32_t)in[i] << 16);
}

static inline void widen_float16(float *out, const uint16_t *in, size_t count) {
    size_t i = 0;
#if FIRN_CONVERTS_FLOAT16
    i = firn_until_word(in);
    if (i > 0 && count > 0)
        out[0] = firn_widen_half(in[0], FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
    const firn_two_float16_bits *words = (const firn_two_float16_bits *)(const void *)(in + i);
    for (; i + 4 <= count; i += 4, words += 2) {
        const float first = words[0], second = words[1];
        out[i] = firn_lower_float16(first), out[i + 1] = firn_upper_float16(first);
        out[i + 2] = firn_lower_float16(second), out[i + 3] = firn_upper_float16(second);
    }
#endif
    for (; i < count; i++)
        out[i] = firn_widen_half(in[i], FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
}

void firn_widen_rows(float *out, size_t out_step, const void *data, uint8_t type, size_t from, size_t step, size_t rows,
                     size_t count) {
    const uint16_t *in = (const uint16_t *)data + from;
    switch (FIRN_VECTORS != 0 ? FIRN_FLOAT32 : type) { /* with vectors firn_widen is the fast one */
    case FIRN_FLOAT16:
        for (; rows > 0; rows--, out += out_step, in += step)
            widen_float16(out, in, count);
        break;
    case FIRN_BFLOAT16:
        for (; rows > 0; rows--, out += out_step, in += step)
            widen_bfloat16(out, in, count);
        break;
    default:
        for (; rows > 0; rows--, out += out_step, from += step)
            firn_widen(out, data, type, from, count);
        break;
    }
}
