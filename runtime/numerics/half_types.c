/* The loops of each half type (runtime/numerics/half_parts.h): plan/NUMERICS.md, "Half types". A type is reached only
 * through its part. Freestanding. */
#include "runtime/numerics/half_parts.h"
#include "runtime/numerics/half_scalar.h"

/* --- conversions of canonical values ------------------------------------------------------------------------------ */

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
        watch = firn_watch_eight(watch, x);
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
        watch = firn_watch_four(watch, a, b, c, d);
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
        watch = firn_watch_four(watch, a, b, c, d);
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

/* --- conversions for a product, which leave a NaN as it is -------------------------------------------------------- */

static inline void widen_bfloat16_row(float *out, const uint16_t *in, size_t count) {
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

#if !FIRN_CONVERTS_FLOAT16 && FIRN_WRITTEN_OUT && defined(__FP_FAST_FMAF)
/* Widens the float16 in the upper half of a word, which is neither infinite nor NaN. The shift copies the sign over the
 * bits that the mask clears. */
static inline float upper_float16(uint32_t word) {
    return firn_from_bits((uint32_t)((int32_t)word >> 3) & 0x8fffe000u) * firn_power_of_two(127 - FIRN_FLOAT16_BIAS);
}
#endif

static inline void widen_float16_row(float *out, const uint16_t *in, size_t count) {
    size_t i = 0;
#if FIRN_CONVERTS_FLOAT16
    i = firn_until_word(in);
    if (i > 0 && count > 0)
        out[0] = firn_widen_half(in[0], FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
    for (; i + 8 <= count; i += 8)
        firn_widen_eight_float16(out + i, in + i);
#elif FIRN_WRITTEN_OUT && defined(__FP_FAST_FMAF)
    uint32_t special = 0; /* adding 1 to an exponent of only ones sets the bit above it */
    const size_t groups = firn_until_word(in) == 0 ? count / 4 * 4 : 0;
    const firn_two_halves *words = (const firn_two_halves *)(const void *)in;
    for (; i < groups; i += 4, words += 2) {
        const uint32_t first = words[0], second = words[1];
        special |= ((first & 0x7fff7fffu) + 0x04000400u) | ((second & 0x7fff7fffu) + 0x04000400u);
        out[i] = upper_float16(first << 16), out[i + 1] = upper_float16(first);
        out[i + 2] = upper_float16(second << 16), out[i + 3] = upper_float16(second);
    }
    if ((special & 0x80008000u) != 0)
        i = 0;
#endif
    for (; i < count; i++)
        out[i] = firn_widen_half(in[i], FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
}

/* --- the parts ---------------------------------------------------------------------------------------------------- */

static void float16_widen_rows(float *out, size_t out_step, const uint16_t *in, size_t step, size_t rows,
                               size_t count) {
    for (; rows > 0; rows--, out += out_step, in += step)
        widen_float16_row(out, in, count);
}

static void float16_multiply_add(float *sums, float left, const float *right, size_t count) {
    for (size_t i = 0; i < count; i++)
        sums[i] = firn_float16_fma_inline(left, right[i], sums[i]);
}

const firn_half_part firn_half_part_float16 = {widen_float16, narrow_float16,
                                               FIRN_WRITTEN_OUT ? float16_widen_rows : NULL, float16_multiply_add};

/* Returns true if every row is made of groups of eight elements that begin at a whole word. */
static inline int has_groups_only(const uint16_t *in, size_t step, size_t count) {
    return FIRN_WRITTEN_OUT && firn_until_word(in) == 0 && step % 2 == 0 && count % 8 == 0;
}

static void bfloat16_widen_groups(float *out, size_t out_step, const uint16_t *in, size_t step, size_t rows,
                                  size_t count) {
    for (; rows > 0; rows--, out += out_step, in += step) {
        const firn_two_halves *words = (const firn_two_halves *)(const void *)in;
        float *to = out;
        for (const float *end = out + count; to != end; to += 8, words += 4) {
            const uint32_t first = words[0], second = words[1], third = words[2], fourth = words[3];
            to[0] = firn_from_bits(first << 16), to[1] = firn_from_bits(first & 0xffff0000u);
            to[2] = firn_from_bits(second << 16), to[3] = firn_from_bits(second & 0xffff0000u);
            to[4] = firn_from_bits(third << 16), to[5] = firn_from_bits(third & 0xffff0000u);
            to[6] = firn_from_bits(fourth << 16), to[7] = firn_from_bits(fourth & 0xffff0000u);
        }
    }
}

static void bfloat16_widen_rows(float *out, size_t out_step, const uint16_t *in, size_t step, size_t rows,
                                size_t count) {
    if (has_groups_only(in, step, count)) {
        bfloat16_widen_groups(out, out_step, in, step, rows, count);
        return;
    }
    for (; rows > 0; rows--, out += out_step, in += step)
        widen_bfloat16_row(out, in, count);
}

static void bfloat16_multiply_add(float *sums, float left, const float *right, size_t count) {
    for (size_t i = 0; i < count; i++)
        sums[i] = firn_bfloat16_fma_inline(left, right[i], sums[i]);
}

const firn_half_part firn_half_part_bfloat16 = {widen_bfloat16, narrow_bfloat16,
                                                FIRN_WRITTEN_OUT ? bfloat16_widen_rows : NULL, bfloat16_multiply_add};

static void widen_cbfloat16(float *out, const uint16_t *in, size_t count) {
    widen_halves(out, in, count, FIRN_CBFLOAT16_MANTISSA, FIRN_CBFLOAT16_BIAS);
}

static void narrow_cbfloat16(uint16_t *out, const float *in, size_t count) {
    narrow_halves(out, in, count, FIRN_CBFLOAT16_MANTISSA, FIRN_CBFLOAT16_BIAS);
}

static void cbfloat16_widen_rows(float *out, size_t out_step, const uint16_t *in, size_t step, size_t rows,
                                 size_t count) {
    for (; rows > 0; rows--, out += out_step, in += step)
        widen_cbfloat16(out, in, count);
}

static void cbfloat16_multiply_add(float *sums, float left, const float *right, size_t count) {
    for (size_t i = 0; i < count; i++)
        sums[i] = firn_cbfloat16_fma_inline(left, right[i], sums[i]);
}

const firn_half_part firn_half_part_cbfloat16 = {
    widen_cbfloat16, narrow_cbfloat16, FIRN_WRITTEN_OUT ? cbfloat16_widen_rows : NULL, cbfloat16_multiply_add};
