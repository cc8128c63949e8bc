/* Converts runs of elements of any real type to float32 and back: plan/NUMERICS.md, "Half types". A kernel set may
 * replace this file by one that gives the same bits. Freestanding. */
#include "plan/ops.h"
#include "runtime/numerics/half.h"

/* Most numbers are no NaN, so they are only copied; `watch` says whether they must be looked at one by one. */
static void copy_floats(float *restrict out, const float *restrict in, size_t count) {
    firn_nan_watch watch = 0;
    size_t i = 0;
    for (; !FIRN_VECTORS && i + 4 <= count; i += 4) {
        const float a = in[i], b = in[i + 1], c = in[i + 2], d = in[i + 3];
        watch = firn_watch(firn_watch(firn_watch(firn_watch(watch, a), b), c), d);
        out[i] = a, out[i + 1] = b, out[i + 2] = c, out[i + 3] = d;
    }
    for (; i < count; i++) {
        watch = firn_watch(watch, in[i]);
        out[i] = in[i];
    }
    if (firn_may_have_nan(watch))
        firn_canonical_many(out, count);
}

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
        copy_floats(out, floats + from, count);
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
        copy_floats(floats + from, in, count);
        break;
    }
}
