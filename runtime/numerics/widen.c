/* Converts runs of elements of any real type to float32 and back: plan/NUMERICS.md, "Half types". A kernel set may
 * replace this file by one that gives the same bits. Freestanding. */
#include "plan/ops.h"
#include "runtime/numerics/half_scalar.h"

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

#if FIRN_VECTORS

/* Branchless, so that the compiler vectorises the loops. */
static inline __attribute__((always_inline)) void widen_halves(float *out, const uint16_t *in, size_t count,
                                                               int mantissa, int bias) {
    for (size_t i = 0; i < count; i++)
        out[i] = firn_half_decode(in[i], mantissa, bias);
}

static inline __attribute__((always_inline)) void narrow_halves(uint16_t *out, const float *in, size_t count,
                                                                int mantissa, int bias) {
    for (size_t i = 0; i < count; i++)
        out[i] = (uint16_t)firn_half_encode(firn_half_round(in[i], mantissa, bias), mantissa, bias);
}

static void widen_bfloat16(float *out, const uint16_t *in, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = firn_bfloat16_decode(in[i]);
}

static void narrow_bfloat16(uint16_t *out, const float *in, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = (uint16_t)(firn_bits(firn_bfloat16_round(in[i])) >> 16);
}

#else

static inline __attribute__((always_inline)) void widen_halves(float *out, const uint16_t *in, size_t count,
                                                               int mantissa, int bias) {
    for (size_t i = 0; i < count; i++)
        out[i] = firn_widen_half(in[i], mantissa, bias);
}

static inline __attribute__((always_inline)) void narrow_halves(uint16_t *out, const float *in, size_t count,
                                                                int mantissa, int bias) {
    for (size_t i = 0; i < count; i++)
        out[i] = firn_narrow_half(in[i], mantissa, bias);
}

/* Adding 1 to the exponent sets the bit above it if it had only ones: infinity or NaN, which are looked at again. */
static void widen_bfloat16(float *out, const uint16_t *in, size_t count) {
    uint32_t special = 0;
    size_t i = firn_until_word(in);
    const size_t first = i;
    if (i > 0 && count > 0)
        out[0] = firn_widen_bfloat16(in[0]);
    const firn_two_halves *words = (const firn_two_halves *)(const void *)(in + i);
    for (; i + 4 <= count; i += 4, words += 2) {
        const uint32_t a = words[0], b = words[1];
        special |= ((a & 0x7fff7fffu) + 0x00800080u) | ((b & 0x7fff7fffu) + 0x00800080u);
        out[i] = firn_from_bits(a << 16), out[i + 1] = firn_from_bits(a & 0xffff0000u);
        out[i + 2] = firn_from_bits(b << 16), out[i + 3] = firn_from_bits(b & 0xffff0000u);
    }
    if ((special & 0x80008000u) != 0)
        i = first;
    for (; i < count; i++)
        out[i] = firn_widen_bfloat16(in[i]);
}

static void narrow_bfloat16(uint16_t *out, const float *in, size_t count) {
    firn_nan_watch watch = 0;
    size_t i = firn_until_word(out);
    const size_t first = i;
    if (i > 0 && count > 0)
        out[0] = firn_narrow_bfloat16(in[0]);
    firn_two_halves *words = (firn_two_halves *)(void *)(out + i);
    for (; i + 8 <= count; i += 8, words += 4) {
        const float *x = in + i;
        watch = firn_watch(firn_watch(firn_watch(firn_watch(watch, x[0]), x[1]), x[2]), x[3]);
        watch = firn_watch(firn_watch(firn_watch(firn_watch(watch, x[4]), x[5]), x[6]), x[7]);
        words[0] = firn_two_bfloat16(firn_bits(x[0]), firn_bits(x[1]));
        words[1] = firn_two_bfloat16(firn_bits(x[2]), firn_bits(x[3]));
        words[2] = firn_two_bfloat16(firn_bits(x[4]), firn_bits(x[5]));
        words[3] = firn_two_bfloat16(firn_bits(x[6]), firn_bits(x[7]));
    }
    if (firn_may_have_nan(watch))
        i = first;
    for (; i < count; i++)
        out[i] = firn_narrow_bfloat16(in[i]);
}

#endif

#if FIRN_CONVERTS_FLOAT16

/* Elements that do not lie in a whole word, at either end, are converted one by one. */
static void widen_float16(float *out, const uint16_t *in, size_t count) {
    firn_nan_watch watch = 0;
    size_t i = firn_until_word(in);
    if (i > 0 && count > 0)
        widen_halves(out, in, 1, FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
    const firn_two_float16_bits *pairs = (const firn_two_float16_bits *)(const void *)(in + i);
    for (; i + 4 <= count; i += 4, pairs += 2) {
        const float a = firn_lower_float16(pairs[0]), b = firn_upper_float16(pairs[0]),
                    c = firn_lower_float16(pairs[1]), d = firn_upper_float16(pairs[1]);
        watch = firn_watch(firn_watch(firn_watch(firn_watch(watch, a), b), c), d);
        out[i] = a, out[i + 1] = b, out[i + 2] = c, out[i + 3] = d;
    }
    if (firn_may_have_nan(watch))
        firn_canonical_many(out, i);
    if (i < count)
        widen_halves(out + i, in + i, count - i, FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
}

static void narrow_float16(uint16_t *out, const float *in, size_t count) {
    firn_nan_watch watch = 0;
    size_t i = firn_until_word(out);
    const size_t first = i;
    if (i > 0 && count > 0)
        narrow_halves(out, in, 1, FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
    firn_two_float16_bits *pairs = (firn_two_float16_bits *)(void *)(out + i);
    for (; i + 4 <= count; i += 4, pairs += 2) {
        const float a = in[i], b = in[i + 1], c = in[i + 2], d = in[i + 3];
        watch = firn_watch(firn_watch(firn_watch(firn_watch(watch, a), b), c), d);
        pairs[0] = firn_two_float16(a, b), pairs[1] = firn_two_float16(c, d);
    }
    if (firn_may_have_nan(watch))
        i = first;
    if (i < count)
        narrow_halves(out + i, in + i, count - i, FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
}

#else

static void widen_float16(float *out, const uint16_t *in, size_t count) {
    widen_halves(out, in, count, FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
}

static void narrow_float16(uint16_t *out, const float *in, size_t count) {
    narrow_halves(out, in, count, FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
}

#endif

void firn_widen(float *out, const void *data, uint8_t type, size_t from, size_t count) {
    const uint16_t *halves = data;
    const float *floats = data;
    switch (type) {
    case FIRN_FLOAT16:
        widen_float16(out, halves + from, count);
        break;
    case FIRN_BFLOAT16:
        widen_bfloat16(out, halves + from, count);
        break;
    case FIRN_CBFLOAT16:
        widen_halves(out, halves + from, count, FIRN_CBFLOAT16_MANTISSA, FIRN_CBFLOAT16_BIAS);
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
        narrow_float16(halves + from, in, count);
        break;
    case FIRN_BFLOAT16:
        narrow_bfloat16(halves + from, in, count);
        break;
    case FIRN_CBFLOAT16:
        narrow_halves(halves + from, in, count, FIRN_CBFLOAT16_MANTISSA, FIRN_CBFLOAT16_BIAS);
        break;
    default:
        copy_floats(floats + from, in, count);
        break;
    }
}
