/* The arithmetic of Firn: half types, elementary functions, sums, random numbers. plan/NUMERICS.md is the
 * specification, section by section in the order of this file. Nothing here may depend on a tensor, an op or a plan.
 * Freestanding: no libm (on x86 fmaf, see firn_fma), no errno, no allocation, no global state.
 *
 * Every function gives the same bits on every target, compiler and optimisation level, provided that binary32
 * arithmetic rounds to nearest even, keeps subnormals and is not contracted (-ffp-contract=off). */
#ifndef FIRN_NUMERICS_H
#define FIRN_NUMERICS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __FAST_MATH__
#    error                                                                                                             \
        "relaxed arithmetic gives other bits: compile without -ffast-math and -Ofast, or with -fno-fast-math after them"
#endif
#if __FLT_EVAL_METHOD__ != 0
#    error "arithmetic wider than binary32 gives other bits: on 32-bit x86 compile with -msse2 -mfpmath=sse"
#endif

/* 1: the machine computes with many floats in one instruction, and loops are written for a compiler that uses it. Tests
 * compile some files also in the other form. */
#ifndef FIRN_VECTORS
#    if defined(__SSE2__) || defined(__ARM_NEON) || defined(__riscv_vector)
#        define FIRN_VECTORS 1
#    else
#        define FIRN_VECTORS 0
#    endif
#endif

/* 1: compiled for size. Loops that are written twice, once for speed, take their short form, which gives the same
 * bits. */
#ifdef __OPTIMIZE_SIZE__
#    define FIRN_SMALL 1
#else
#    define FIRN_SMALL 0
#endif

/* 1: loops over elements are written out several elements at a time, which a core without vectors gains from; not where
 * size counts. */
#if FIRN_VECTORS == 0 && FIRN_SMALL == 0
#    define FIRN_WRITTEN_OUT 1
#else
#    define FIRN_WRITTEN_OUT 0
#endif

/* 1: an Arm core with scalar fused multiply-adds, which loads and stores many floats with one instruction. */
#if FIRN_WRITTEN_OUT && defined(__arm__) && defined(__ARM_FEATURE_FMA)
#    define FIRN_ARM_SCALAR_FMA 1
#else
#    define FIRN_ARM_SCALAR_FMA 0
#endif

/* --- bits ------------------------------------------------------------------------------------------------------- */

#define FIRN_NAN_BITS      0x7fc00000u
#define FIRN_INFINITY_BITS 0x7f800000u /* +infinity */

static inline uint32_t firn_bits(float x) {
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float firn_from_bits(uint32_t bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

/* Replaces any NaN by the canonical one. Every NaN that is stored is canonical. */
static inline float firn_canonical(float x) {
    return x == x ? x : firn_from_bits(FIRN_NAN_BITS);
}

/* Watches many numbers for a NaN with as few instructions as the machine allows, so that a loop need not make each
 * result canonical. It begins at 0. A core with a fused multiply-add and no vectors adds products, which are finite
 * unless a number is NaN, infinite or huge; elsewhere the comparison is one that a compiler vectorises. */
#if defined(__FP_FAST_FMAF) && FIRN_VECTORS == 0
typedef float firn_nan_watch;

static inline firn_nan_watch firn_watch(firn_nan_watch watch, float x) {
    return __builtin_fmaf(x, 0.0f, watch);
}

static inline firn_nan_watch firn_watch_two(firn_nan_watch watch, float a, float b) {
    return __builtin_fmaf(a, b, watch);
}

/* Watches two numbers also for infinity. */
static inline firn_nan_watch firn_watch_finite(firn_nan_watch watch, float a, float b) {
    return firn_watch_two(watch, a, b);
}

/* Returns false only if none of the numbers is NaN. */
static inline int firn_may_have_nan(firn_nan_watch watch) {
    return !(watch - watch == 0);
}
#else
typedef uint32_t firn_nan_watch;

static inline firn_nan_watch firn_watch(firn_nan_watch watch, float x) {
    return watch | (uint32_t)((firn_bits(x) & 0x7fffffffu) > FIRN_INFINITY_BITS);
}

static inline firn_nan_watch firn_watch_two(firn_nan_watch watch, float a, float b) {
    return firn_watch(firn_watch(watch, a), b);
}

static inline firn_nan_watch firn_watch_finite(firn_nan_watch watch, float a, float b) {
    const uint32_t first = firn_bits(a) & 0x7fffffffu, second = firn_bits(b) & 0x7fffffffu;
    return watch | (uint32_t)(first >= FIRN_INFINITY_BITS) | (uint32_t)(second >= FIRN_INFINITY_BITS);
}

static inline int firn_may_have_nan(firn_nan_watch watch) {
    return watch != 0;
}
#endif

static inline firn_nan_watch firn_watch_four(firn_nan_watch watch, float a, float b, float c, float d) {
    return firn_watch_two(firn_watch_two(watch, a, b), c, d);
}

/* Watches eight numbers that are adjacent. Arm cores load them with one instruction, which compilers do not find. */
static inline firn_nan_watch firn_watch_eight(firn_nan_watch watch, const float *x) {
#if FIRN_ARM_SCALAR_FMA
    __asm__("vldmia %[x], {s0-s7}\n\tvfma.f32 %[watch], s0, s1\n\tvfma.f32 %[watch], s2, s3\n\t"
            "vfma.f32 %[watch], s4, s5\n\tvfma.f32 %[watch], s6, s7"
            : [watch] "+t"(watch)
            : [x] "r"(x)
            : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "memory");
    return watch;
#else
    return firn_watch_four(firn_watch_four(watch, x[0], x[1], x[2], x[3]), x[4], x[5], x[6], x[7]);
#endif
}

/* Makes every element canonical. */
void firn_canonical_many(float *x, size_t count);

/* Returns a > b ? a : b, and NaN if either is NaN. */
static inline float firn_maximum(float a, float b) {
    float larger = a > b ? a : b; /* b if b is NaN */
    return a == a ? larger : a;
}

/* --- half types ------------------------------------------------------------------------------------------------- */

#define FIRN_CBFLOAT16_BIAS 31 /* assumed: the bias of cbfloat16 is not published */

/* Convert exactly. NaN becomes the canonical NaN. */
float firn_float16_to_float(uint16_t half);
float firn_bfloat16_to_float(uint16_t half);
float firn_cbfloat16_to_float(uint16_t half);

/* Round to nearest even and keep subnormals; a value out of range becomes infinity, NaN becomes 0x7e00, 0x7fc0, 0x7f00
 * (quiet, positive). */
uint16_t firn_float16_from_float(float x);
uint16_t firn_bfloat16_from_float(float x);
uint16_t firn_cbfloat16_from_float(float x);

/* Read element i of an array of `type` (firn_type: float32 or a half type) as a float; write one, rounded, with a
 * canonical NaN. Both contain a switch on the type: use firn_widen and firn_narrow in loops. */
float firn_load(const void *data, uint8_t type, size_t i);
void firn_store(void *data, uint8_t type, size_t i, float x);

/* Convert `count` elements of `type`, starting with index `from`, to floats and back. */
void firn_widen(float *out, const void *data, uint8_t type, size_t from, size_t count);
void firn_narrow(void *data, uint8_t type, size_t from, const float *in, size_t count);

/* Converts `rows` runs of `count` elements to floats: the runs begin `step` elements apart and their results `out_step`
 * floats apart. A NaN stays NaN, but need not become canonical. */
void firn_widen_rows(float *out, size_t out_step, const void *data, uint8_t type, size_t from, size_t step, size_t rows,
                     size_t count);

/* Rounds x to the nearest value of `type`. float32: only makes a NaN canonical. */
float firn_round_to(uint8_t type, float x);

/* Computes a*b + c with one rounding to a half type; a, b and c must be values of that type. */
float firn_half_fma(uint8_t type, float a, float b, float c);

/* --- elementary functions, float to float -------------------------------------------------------------------------
 * Bounds in ulp are in NUMERICS.md. Special values: as IEEE 754 recommends; NaN in, canonical NaN out. */
float firn_exp(float x);
float firn_log(float x);
float firn_tanh(float x);
float firn_erf(float x);
float firn_sin_turns(float turns); /* sin(2 pi t), 0 <= t <= 1, for the normal initialiser */
float firn_cos_turns(float turns);
float firn_gelu(float x);       /* x/2 (1 + erf(x/sqrt 2)) */
float firn_gelu_slope(float x); /* its derivative */
float firn_gelu_tanh(float x);  /* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
float firn_gelu_tanh_slope(float x);
float firn_sin(float x); /* radians, any magnitude */
float firn_cos(float x);
float firn_rsqrt(float x);   /* 1 / sqrt(x) */
float firn_sigmoid(float x); /* 1 / (1 + e^-x) */
float firn_silu(float x);    /* x sigmoid(x) */
float firn_silu_slope(float x);
float firn_softplus(float x); /* log(1 + e^x), whose slope is the sigmoid */
float firn_atan(float x);
float firn_log_one_plus(float x); /* log(1 + x), accurate also near 0 */

/* On integers, for cores without an instruction: a*b + c with one rounding, and the square root. Embedded C libraries
 * may round twice. */
float firn_fma_exact(float a, float b, float c);
float firn_sqrt_exact(float x);

/* Where errno counts, compilers call the C library beside the instruction; no firmware needs it. */
static inline float firn_sqrt(float x) {
#if defined(__SSE__) || defined(__aarch64__) ||                                                                        \
    (defined(__NO_MATH_ERRNO__) && ((defined(__ARM_FP) && (__ARM_FP & 4)) || defined(__riscv_flen)))
    return __builtin_sqrtf(x);
#else
    return firn_sqrt_exact(x);
#endif
}

/* On x86 without the instruction this calls the C library of a workstation, which rounds once and is faster. */
static inline float firn_fma(float a, float b, float c) {
#if defined(__FP_FAST_FMAF) || defined(__ARM_FEATURE_FMA) || defined(__riscv_flen) || defined(__SSE__)
    return __builtin_fmaf(a, b, c);
#else
    return firn_fma_exact(a, b, c);
#endif
}

/* Computes fma(element, scale, shift). If the shift is 0 only the product rounds, so a multiplication gives the same
 * bits and saves a call on hosts where fma is a function. Scale and shift are finite, as the schema demands, so no
 * result is a NaN, also where one overflows. The loops are left to the compiler, which vectorises them. */
static inline void firn_scale_bytes(const uint8_t *elements, size_t count, float scale, float shift,
                                    float *restrict out) {
    if (shift == 0)
        for (size_t i = 0; i < count; i++)
            out[i] = (float)elements[i] * scale + shift;
    else
        for (size_t i = 0; i < count; i++)
            out[i] = firn_fma((float)elements[i], scale, shift);
}

/* --- other sums ---------------------------------------------------------------------------------------------------
 * Blocks of 4,096 elements; inside a block 64 lanes (element i to lane i mod 64, ascending) that begin at +0, folded
 * 32, 16, 8, 4, 2, 1 (lane[i] += lane[i + half]); block totals are added in order to a total that begins at +0. */

#define FIRN_SUM_BLOCK 4096
#define FIRN_SUM_LANES 64

typedef struct firn_sum {
    float lanes[FIRN_SUM_LANES];
    float total;
    uint32_t filled; /* elements in the current block */
} firn_sum;

void firn_sum_begin(firn_sum *sum);
void firn_sum_add(firn_sum *sum, float x);
void firn_sum_add_many(firn_sum *sum, const float *x, size_t count); /* equivalent to adding them one by one */
float firn_sum_end(const firn_sum *sum);

/* --- random numbers ---------------------------------------------------------------------------------------------- */

/* Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011). */
void firn_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* The position at which random numbers are drawn. The element index completes it. */
typedef struct firn_rng {
    uint64_t seed;
    uint32_t rng_id;
    uint64_t global_step;
    uint32_t micro_step;
} firn_rng;

/* Returns the 32 random bits of one element: word (element mod 4) of block element / 4. */
uint32_t firn_random_bits(const firn_rng *rng, uint64_t element);
/* Uniform in [0, 1), a multiple of 2^-24. */
float firn_random_uniform(const firn_rng *rng, uint64_t element);
/* The same for `count` elements, starting with `first`. */
void firn_random_uniform_many(float *out, const firn_rng *rng, uint64_t first, size_t count);
/* Normal with mean 0 and standard deviation 1 (Box-Muller; NUMERICS.md). */
float firn_random_normal(const firn_rng *rng, uint64_t element);
/* The same for `count` consecutive elements. */
void firn_random_normal_many(float *out, const firn_rng *rng, uint64_t first, size_t count);

/* A normal distribution of which only [low, high] is left; low < high. */
typedef struct firn_truncation {
    float mean, deviation, low, high;
} firn_truncation;
/* `count` consecutive elements of it: the first of 64 draws that lies within, else the last one, limited (NUMERICS.md,
 * "Initialisers"). The micro-step of rng is 0. */
void firn_random_truncated_many(float *out, const firn_rng *rng, uint64_t first, size_t count, firn_truncation from);

/* Returns the image of index under a permutation of [0, count) that depends only on seed and epoch. count >= 1, index <
 * count. */
uint64_t firn_permute(uint64_t seed, uint64_t epoch, uint64_t count, uint64_t index);

/* Replaces each of `number` indices by its image, in vector lanes. */
void firn_permute_many(uint64_t seed, uint64_t epoch, uint64_t count, uint64_t *indices, size_t number);

#endif
