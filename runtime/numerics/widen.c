/* Converts runs of elements of any real type to float32 and back: plan/NUMERICS.md, "Half types". A kernel set may
 * replace this file by one that gives the same bits. Freestanding. */
#include "plan/ops.h"
#include "runtime/numerics/half.h"

void firn_widen(float *out, const void *data, uint8_t type, size_t from, size_t count) {
    const uint16_t *halves = data;
    const float *floats = data;
    switch (type) {
    case FIRN_FLOAT16:
        for (size_t i = 0; i < count; i++)
            out[i] = firn_half_decode(halves[from + i], FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
        break;
    case FIRN_BFLOAT16:
        for (size_t i = 0; i < count; i++)
            out[i] = firn_bfloat16_decode(halves[from + i]);
        break;
    case FIRN_CBFLOAT16:
        for (size_t i = 0; i < count; i++)
            out[i] = firn_half_decode(halves[from + i], FIRN_CBFLOAT16_MANTISSA, FIRN_CBFLOAT16_BIAS);
        break;
    default:
        for (size_t i = 0; i < count; i++)
            out[i] = firn_canonical(floats[from + i]);
        break;
    }
}

void firn_narrow(void *data, uint8_t type, size_t from, const float *in, size_t count) {
    uint16_t *halves = data;
    float *floats = data;
    switch (type) {
    case FIRN_FLOAT16:
        for (size_t i = 0; i < count; i++)
            halves[from + i] =
                (uint16_t)firn_half_encode(firn_float16_round(in[i]), FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
        break;
    case FIRN_BFLOAT16:
        for (size_t i = 0; i < count; i++)
            halves[from + i] = (uint16_t)(firn_bits(firn_bfloat16_round(in[i])) >> 16);
        break;
    case FIRN_CBFLOAT16:
        for (size_t i = 0; i < count; i++)
            halves[from + i] =
                (uint16_t)firn_half_encode(firn_cbfloat16_round(in[i]), FIRN_CBFLOAT16_MANTISSA, FIRN_CBFLOAT16_BIAS);
        break;
    default:
        for (size_t i = 0; i < count; i++)
            floats[from + i] = firn_canonical(in[i]);
        break;
    }
}
