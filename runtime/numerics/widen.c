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

#if FIRN_VECTORS

/* Branchless, so that the compiler vectorises the loops. */
static void widen_halves(float *out, const uint16_t *in, size_t count, int mantissa, int bias) {
    for (size_t i = 0; i < count; i++)
        out[i] = firn_half_decode(in[i], mantissa, bias);
}

static void narrow_halves(uint16_t *out, const float *in, size_t count, int mantissa, int bias) {
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

/* One element at a time: most are normal numbers, which take a few integer operations. */
static inline float widen_one(uint16_t half, int mantissa, int bias) {
    const uint32_t magnitude = half & 0x7fffu, least = 1u << mantissa, infinity = 0x7fffu >> mantissa << mantissa;
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    if (magnitude - least < infinity - least)
        return firn_from_bits(sign | ((magnitude << (23 - mantissa)) + ((uint32_t)(127 - bias) << 23)));
    return magnitude == 0 ? firn_from_bits(sign) : firn_half_decode(half, mantissa, bias);
}

static inline uint16_t narrow_one(float x, int mantissa, int bias) {
    const int drop = 23 - mantissa;
    const uint32_t magnitude = firn_bits(x) & FIRN_MAGNITUDE_BITS, sign = firn_bits(x) >> 16 & 0x8000u;
    const uint32_t least = (uint32_t)(128 - bias) << 23, most = (uint32_t)(bias + 128) << 23;
    const uint32_t rounded = magnitude + (1u << (drop - 1)) - 1u + (magnitude >> drop & 1u);
    if (magnitude >= least && rounded < most)
        return (uint16_t)(sign | (rounded - ((uint32_t)(127 - bias) << 23)) >> drop);
    return magnitude == 0 ? (uint16_t)sign
                          : (uint16_t)firn_half_encode(firn_half_round(x, mantissa, bias), mantissa, bias);
}

static inline float widen_one_bfloat16(uint16_t half) {
    return (half & 0x7fffu) > 0x7f80u ? firn_from_bits(FIRN_NAN_BITS) : firn_from_bits((uint32_t)half << 16);
}

static inline uint16_t narrow_one_bfloat16(float x) {
    const uint32_t bits = firn_bits(x);
    if (bits << 1 > FIRN_INFINITY_BITS << 1)
        return FIRN_NAN_BITS >> 16;
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static void widen_halves(float *out, const uint16_t *in, size_t count, int mantissa, int bias) {
    for (size_t i = 0; i < count; i++)
        out[i] = widen_one(in[i], mantissa, bias);
}

static void narrow_halves(uint16_t *out, const float *in, size_t count, int mantissa, int bias) {
    for (size_t i = 0; i < count; i++)
        out[i] = narrow_one(in[i], mantissa, bias);
}

static void widen_bfloat16(float *out, const uint16_t *in, size_t count) {
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        const float a = widen_one_bfloat16(in[i]), b = widen_one_bfloat16(in[i + 1]);
        const float c = widen_one_bfloat16(in[i + 2]), d = widen_one_bfloat16(in[i + 3]);
        out[i] = a, out[i + 1] = b, out[i + 2] = c, out[i + 3] = d;
    }
    for (; i < count; i++)
        out[i] = widen_one_bfloat16(in[i]);
}

static void narrow_bfloat16(uint16_t *out, const float *in, size_t count) {
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        const uint16_t a = narrow_one_bfloat16(in[i]), b = narrow_one_bfloat16(in[i + 1]);
        const uint16_t c = narrow_one_bfloat16(in[i + 2]), d = narrow_one_bfloat16(in[i + 3]);
        out[i] = a, out[i + 1] = b, out[i + 2] = c, out[i + 3] = d;
    }
    for (; i < count; i++)
        out[i] = narrow_one_bfloat16(in[i]);
}

#endif

/* Arm cores with a floating-point unit that has fused multiply-adds (VFPv4 and later) also convert float16. With the
 * control word of runtime/float_environment.h they round to nearest even, keep subnormals and overflow to infinity;
 * only a NaN may need to be made canonical. */
#if defined(__arm__) && defined(__ARM_FEATURE_FMA) && !FIRN_VECTORS
#    define HAS_FLOAT16 1
#else
#    define HAS_FLOAT16 0
#endif

#if HAS_FLOAT16

/* Two float16 in one register. may_alias, because they lie in memory as two elements. */
typedef float __attribute__((may_alias)) pair;

static inline float lower_half(float bits) {
    float x;
    __asm__("vcvtb.f32.f16 %0, %1" : "=t"(x) : "t"(bits));
    return x;
}

static inline float upper_half(float bits) {
    float x;
    __asm__("vcvtt.f32.f16 %0, %1" : "=t"(x) : "t"(bits));
    return x;
}

static inline float two_halves(float lower, float upper) {
    float bits;
    __asm__("vcvtb.f16.f32 %0, %1\n\tvcvtt.f16.f32 %0, %2" : "=&t"(bits) : "t"(lower), "t"(upper));
    return bits;
}

/* Elements that do not lie in a whole word, at either end, are converted one by one. */
static void widen_float16(float *out, const uint16_t *in, size_t count) {
    firn_nan_watch watch = 0;
    size_t i = (uintptr_t)in % sizeof(pair) / sizeof *in;
    if (i > 0 && count > 0)
        widen_halves(out, in, 1, FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
    const pair *pairs = (const pair *)(const void *)(in + i);
    for (; i + 4 <= count; i += 4, pairs += 2) {
        const float a = lower_half(pairs[0]), b = upper_half(pairs[0]), c = lower_half(pairs[1]),
                    d = upper_half(pairs[1]);
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
    size_t i = (uintptr_t)out % sizeof(pair) / sizeof *out;
    const size_t first = i;
    if (i > 0 && count > 0)
        narrow_halves(out, in, 1, FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
    pair *pairs = (pair *)(void *)(out + i);
    for (; i + 4 <= count; i += 4, pairs += 2) {
        const float a = in[i], b = in[i + 1], c = in[i + 2], d = in[i + 3];
        watch = firn_watch(firn_watch(firn_watch(firn_watch(watch, a), b), c), d);
        pairs[0] = two_halves(a, b), pairs[1] = two_halves(c, d);
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
