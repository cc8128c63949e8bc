/* The register type of AArch64 with NEON: eight floats in two registers, so that the register tile (tile.h) keeps 24
 * registers of sums and has eight left for the factors, and so that elementwise loops have two independent chains.
 * avx512.h and operators.h describe the functions. Only vector.h may include this file.
 *
 * The instructions of FEAT_BF16 are not used. BFDOT and BFMMLA add two products to each other before they add to the
 * sum. Without FPCR.EBF they round each time to odd. With it (FEAT_EBF16) they round to nearest: that is
 * even_odd_blocks with blocks of 2, which no plan has, but for products below 2^-126, which it flushes and they do not.
 * BFMLALB and BFMLALT are fused multiply-adds of bfloat16 in float32 and would give the bits of F32, on no more lanes
 * than FMLA. BFCVT rounds as we do but for NaN, and saves a few instructions for an element that is stored. Rounding
 * follows FPCR (runtime/float_environment.h); so does the conversion to float16, other than on x86. */
#ifndef FIRN_KERNELS_VECTOR_NEON_H
#define FIRN_KERNELS_VECTOR_NEON_H

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    FIRN_VECTOR = 8,
    FIRN_REGISTER_ROWS = 6, /* rows of the register tile (tile.h): 24 registers of sums, four and one for the factors */
    FIRN_PACKED_FLOATS = 192 * 1024, /* fit into an L2 cache of 1 MB; many boards have no L3 cache */
    FIRN_NEAR_FLOATS = FIRN_PACKED_FLOATS,
    FIRN_PREFETCH_TERMS = 0,
    FIRN_PRODUCT_TERMS = 512
};

typedef struct firn_vector {
    float32x4_t low, high;
} firn_vector;
typedef struct firn_words {
    uint32x4_t low, high;
} firn_words;
typedef uint16x8_t firn_vector_halves;
/* The number of lanes is enough to load and store them. */
typedef struct firn_lanes {
    size_t count;
} firn_lanes;
typedef struct firn_mask {
    uint32x4_t low, high; /* each lane has all bits set or none */
} firn_mask;

static inline firn_lanes firn_first_lanes(size_t count) {
    return (firn_lanes){count < FIRN_VECTOR ? count : FIRN_VECTOR};
}

static inline firn_vector firn_vector_fill(float x) {
    return (firn_vector){vdupq_n_f32(x), vdupq_n_f32(x)};
}

static inline firn_vector firn_vector_load(const float *from) {
    return (firn_vector){vld1q_f32(from), vld1q_f32(from + 4)};
}

static inline void firn_vector_store(float *to, firn_vector x) {
    vst1q_f32(to, x.low);
    vst1q_f32(to + 4, x.high);
}

/* A core finds out by itself that whole lines are replaced, and does not read them. */
static inline void firn_vector_stream(float *to, firn_vector x) {
    firn_vector_store(to, x);
}

static inline void firn_streams_end(void) {}

/* Loads the first `count` of four floats, 0 to 3; the others are +0. */
static inline float32x4_t firn_neon_load_below_four(const float *from, size_t count) {
    const float32x2_t none = vdup_n_f32(0.0f);
    if ((count & 2) == 0)
        return vcombine_f32((count & 1) != 0 ? vld1_lane_f32(from, none, 0) : none, none);
    return vcombine_f32(vld1_f32(from), (count & 1) != 0 ? vld1_lane_f32(from + 2, none, 0) : none);
}

static inline firn_vector firn_vector_load_some(firn_lanes lanes, const float *from) {
    if (lanes.count == FIRN_VECTOR)
        return firn_vector_load(from);
    if ((lanes.count & 4) != 0)
        return (firn_vector){vld1q_f32(from), firn_neon_load_below_four(from + 4, lanes.count & 3)};
    return (firn_vector){firn_neon_load_below_four(from, lanes.count), vdupq_n_f32(0.0f)};
}

static inline void firn_vector_store_some(float *to, firn_lanes lanes, firn_vector x) {
    if (lanes.count == FIRN_VECTOR) {
        firn_vector_store(to, x);
        return;
    }
    float32x4_t rest = x.low;
    if ((lanes.count & 4) != 0) {
        vst1q_f32(to, rest);
        to += 4;
        rest = x.high;
    }
    float32x2_t pair = vget_low_f32(rest);
    if ((lanes.count & 2) != 0) {
        vst1_f32(to, pair);
        to += 2;
        pair = vget_high_f32(rest);
    }
    if ((lanes.count & 1) != 0)
        vst1_lane_f32(to, pair, 0);
}

static inline firn_vector_halves firn_halves_load_some(firn_lanes lanes, const uint16_t *from) {
    firn_vector_halves halves = vdupq_n_u16(0);
    if (lanes.count == FIRN_VECTOR)
        return vld1q_u16(from);
    memcpy(&halves, from, lanes.count * sizeof *from);
    return halves;
}

static inline void firn_halves_store_some(uint16_t *to, firn_lanes lanes, firn_vector_halves x) {
    if (lanes.count == FIRN_VECTOR)
        vst1q_u16(to, x);
    else
        memcpy(to, &x, lanes.count * sizeof *to);
}

static inline firn_vector firn_vector_add(firn_vector a, firn_vector b) {
    return (firn_vector){vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)};
}

static inline firn_vector firn_vector_subtract(firn_vector a, firn_vector b) {
    return (firn_vector){vsubq_f32(a.low, b.low), vsubq_f32(a.high, b.high)};
}

static inline firn_vector firn_vector_multiply(firn_vector a, firn_vector b) {
    return (firn_vector){vmulq_f32(a.low, b.low), vmulq_f32(a.high, b.high)};
}

static inline firn_vector firn_vector_divide(firn_vector a, firn_vector b) {
    return (firn_vector){vdivq_f32(a.low, b.low), vdivq_f32(a.high, b.high)};
}

static inline firn_vector firn_vector_negative(firn_vector x) {
    return (firn_vector){vnegq_f32(x.low), vnegq_f32(x.high)};
}

static inline firn_vector firn_vector_fma(firn_vector a, firn_vector b, firn_vector c) {
    return (firn_vector){vfmaq_f32(c.low, a.low, b.low), vfmaq_f32(c.high, a.high, b.high)};
}

static inline firn_words firn_vector_bits(firn_vector x) {
    return (firn_words){vreinterpretq_u32_f32(x.low), vreinterpretq_u32_f32(x.high)};
}

static inline firn_vector firn_vector_from_bits(firn_words bits) {
    return (firn_vector){vreinterpretq_f32_u32(bits.low), vreinterpretq_f32_u32(bits.high)};
}

static inline firn_vector firn_vector_from_float16(firn_vector_halves halves) {
    const float16x8_t x = vreinterpretq_f16_u16(halves);
    return (firn_vector){vcvt_f32_f16(vget_low_f16(x)), vcvt_high_f32_f16(x)};
}

static inline firn_vector_halves firn_vector_to_float16(firn_vector x) {
    return vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(x.low), x.high));
}

static inline firn_words firn_words_from_halves(firn_vector_halves halves) {
    return (firn_words){vmovl_u16(vget_low_u16(halves)), vmovl_high_u16(halves)};
}

static inline firn_words firn_words_from_signed(firn_vector_halves halves) {
    const int16x8_t x = vreinterpretq_s16_u16(halves);
    return (firn_words){vreinterpretq_u32_s32(vmovl_s16(vget_low_s16(x))), vreinterpretq_u32_s32(vmovl_high_s16(x))};
}

static inline firn_vector_halves firn_halves_from_words(firn_words words) {
    return vmovn_high_u32(vmovn_u32(words.low), words.high);
}

static inline firn_words firn_words_fill(uint32_t word) {
    return (firn_words){vdupq_n_u32(word), vdupq_n_u32(word)};
}

static inline firn_words firn_words_add(firn_words a, firn_words b) {
    return (firn_words){vaddq_u32(a.low, b.low), vaddq_u32(a.high, b.high)};
}

static inline firn_words firn_words_subtract(firn_words a, firn_words b) {
    return (firn_words){vsubq_u32(a.low, b.low), vsubq_u32(a.high, b.high)};
}

static inline firn_words firn_words_and(firn_words a, firn_words b) {
    return (firn_words){vandq_u32(a.low, b.low), vandq_u32(a.high, b.high)};
}

static inline firn_words firn_words_xor(firn_words a, firn_words b) {
    return (firn_words){veorq_u32(a.low, b.low), veorq_u32(a.high, b.high)};
}

static inline firn_words firn_words_or(firn_words a, firn_words b) {
    return (firn_words){vorrq_u32(a.low, b.low), vorrq_u32(a.high, b.high)};
}

/* C operators, because the intrinsic functions want a literal constant. */
static inline firn_words firn_words_left(firn_words x, int by) {
    return (firn_words){x.low << by, x.high << by};
}

static inline firn_words firn_words_right(firn_words x, int by) {
    return (firn_words){x.low >> by, x.high >> by};
}

static inline uint32x4_t firn_neon_multiply_even(uint32x4_t a, uint32x4_t b) {
    return vreinterpretq_u32_u64(vmull_u32(vmovn_u64(vreinterpretq_u64_u32(a)), vmovn_u64(vreinterpretq_u64_u32(b))));
}

static inline firn_words firn_words_multiply_even(firn_words a, firn_words b) {
    return (firn_words){firn_neon_multiply_even(a.low, b.low), firn_neon_multiply_even(a.high, b.high)};
}

static inline firn_words firn_words_odd_to_even(firn_words x) {
    return (firn_words){vreinterpretq_u32_u64(vshrq_n_u64(vreinterpretq_u64_u32(x.low), 32)),
                        vreinterpretq_u32_u64(vshrq_n_u64(vreinterpretq_u64_u32(x.high), 32))};
}

static inline firn_words firn_words_smaller(firn_words a, firn_words b) {
    return (firn_words){vminq_u32(a.low, b.low), vminq_u32(a.high, b.high)};
}

static inline firn_words firn_words_larger(firn_words a, firn_words b) {
    return (firn_words){vmaxq_u32(a.low, b.low), vmaxq_u32(a.high, b.high)};
}

static inline firn_words firn_neon_choose(firn_mask mask, firn_words yes, firn_words no) {
    return (firn_words){vbslq_u32(mask.low, yes.low, no.low), vbslq_u32(mask.high, yes.high, no.high)};
}

static inline firn_words firn_words_if_equal(firn_words a, firn_words b, firn_words yes, firn_words no) {
    return firn_neon_choose((firn_mask){vceqq_u32(a.low, b.low), vceqq_u32(a.high, b.high)}, yes, no);
}

static inline firn_words firn_words_if_nan(firn_vector x, firn_words yes, firn_words no) {
    return firn_neon_choose((firn_mask){vceqq_f32(x.low, x.low), vceqq_f32(x.high, x.high)}, no, yes);
}

static inline firn_mask firn_mask_of(firn_lanes lanes) {
    static const uint32_t numbers[FIRN_VECTOR] = {0, 1, 2, 3, 4, 5, 6, 7};
    const uint32x4_t count = vdupq_n_u32((uint32_t)lanes.count);
    return (firn_mask){vcltq_u32(vld1q_u32(numbers), count), vcltq_u32(vld1q_u32(numbers + 4), count)};
}

/* The bit of each lane in a mask of bits. */
static inline firn_mask firn_neon_own_bits(void) {
    static const uint32_t own[FIRN_VECTOR] = {1, 2, 4, 8, 16, 32, 64, 128};
    return (firn_mask){vld1q_u32(own), vld1q_u32(own + 4)};
}

static inline firn_mask firn_mask_from_bits(uint32_t bits) {
    const firn_mask own = firn_neon_own_bits();
    return (firn_mask){vtstq_u32(vdupq_n_u32(bits), own.low), vtstq_u32(vdupq_n_u32(bits), own.high)};
}

static inline uint32_t firn_mask_to_bits(firn_mask mask) {
    const firn_mask own = firn_neon_own_bits();
    return vaddvq_u32(vorrq_u32(vandq_u32(mask.low, own.low), vandq_u32(mask.high, own.high)));
}

static inline firn_mask firn_mask_and(firn_mask a, firn_mask b) {
    return (firn_mask){vandq_u32(a.low, b.low), vandq_u32(a.high, b.high)};
}

static inline firn_mask firn_mask_or(firn_mask a, firn_mask b) {
    return (firn_mask){vorrq_u32(a.low, b.low), vorrq_u32(a.high, b.high)};
}

static inline firn_vector firn_vector_select(firn_mask mask, firn_vector yes, firn_vector no) {
    return (firn_vector){vbslq_f32(mask.low, yes.low, no.low), vbslq_f32(mask.high, yes.high, no.high)};
}

static inline firn_vector firn_vector_keep(firn_mask mask, firn_vector x) {
    return firn_vector_from_bits(firn_words_and((firn_words){mask.low, mask.high}, firn_vector_bits(x)));
}

static inline firn_mask firn_vector_is_nan(firn_vector x) {
    return (firn_mask){vmvnq_u32(vceqq_f32(x.low, x.low)), vmvnq_u32(vceqq_f32(x.high, x.high))};
}

static inline firn_mask firn_vector_is_less(firn_vector a, firn_vector b) {
    return (firn_mask){vcltq_f32(a.low, b.low), vcltq_f32(a.high, b.high)};
}

static inline firn_mask firn_vector_is_at_least(firn_vector a, firn_vector b) {
    return (firn_mask){vcgeq_f32(a.low, b.low), vcgeq_f32(a.high, b.high)};
}

/* FMAX and FMIN return a NaN if either operand is one, so these take two instructions. */
static inline firn_vector firn_vector_maximum(firn_vector a, firn_vector b) {
    return firn_vector_select(firn_vector_is_less(b, a), a, b);
}

static inline firn_vector firn_vector_minimum(firn_vector a, firn_vector b) {
    return firn_vector_select(firn_vector_is_less(a, b), a, b);
}

static inline float firn_vector_largest(firn_vector x) {
    return vmaxvq_f32(vmaxq_f32(x.low, x.high));
}

static inline firn_words firn_words_mix(uint32_t mask, firn_words yes, firn_words no) {
    return firn_neon_choose((firn_mask){vdupq_n_u32(mask), vdupq_n_u32(mask)}, yes, no);
}

/* Multiplies by two factors, each in range; the first product is exact. */
static inline float32x4_t firn_neon_scale(float32x4_t x, float32x4_t n) {
    const uint32x4_t exponent = vaddq_u32(vreinterpretq_u32_s32(vcvtnq_s32_f32(n)), vdupq_n_u32(254));
    const uint32x4_t first = vshrq_n_u32(exponent, 1), second = vsubq_u32(exponent, first);
    x = vmulq_f32(x, vreinterpretq_f32_u32(vshlq_n_u32(first, 23)));
    return vmulq_f32(x, vreinterpretq_f32_u32(vshlq_n_u32(second, 23)));
}

static inline firn_vector firn_vector_scale(firn_vector x, firn_vector n) {
    return (firn_vector){firn_neon_scale(x.low, n.low), firn_neon_scale(x.high, n.high)};
}

/* The first or the second pairs of floats of both. */
static inline float32x4_t firn_neon_pairs_low(float32x4_t a, float32x4_t b) {
    return vcombine_f32(vget_low_f32(a), vget_low_f32(b));
}

static inline float32x4_t firn_neon_pairs_high(float32x4_t a, float32x4_t b) {
    return vcombine_f32(vget_high_f32(a), vget_high_f32(b));
}

static inline __attribute__((always_inline)) void firn_neon_transpose_four(float32x4_t v[4]) {
    const float32x4_t a = vtrn1q_f32(v[0], v[1]), b = vtrn2q_f32(v[0], v[1]);
    const float32x4_t c = vtrn1q_f32(v[2], v[3]), d = vtrn2q_f32(v[2], v[3]);
    v[0] = firn_neon_pairs_low(a, c);
    v[1] = firn_neon_pairs_low(b, d);
    v[2] = firn_neon_pairs_high(a, c);
    v[3] = firn_neon_pairs_high(b, d);
}

/* Transposes the four squares of 4 x 4, and exchanges two of them. */
static inline __attribute__((always_inline)) void firn_vector_transpose(firn_vector v[FIRN_VECTOR]) {
    float32x4_t above[8], below[8]; /* rows 0 to 3 and 4 to 7: their low squares, then their high ones */
    FIRN_UNROLL
    for (size_t i = 0; i < 4; i++) {
        above[i] = v[i].low;
        above[4 + i] = v[i].high;
        below[i] = v[4 + i].low;
        below[4 + i] = v[4 + i].high;
    }
    firn_neon_transpose_four(above);
    firn_neon_transpose_four(above + 4);
    firn_neon_transpose_four(below);
    firn_neon_transpose_four(below + 4);
    FIRN_UNROLL
    for (size_t i = 0; i < FIRN_VECTOR; i++)
        v[i] = (firn_vector){above[i], below[i]};
}

#endif
