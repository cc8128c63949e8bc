/* The loops of each half type (runtime/numerics/half_parts.h): plan/NUMERICS.md, "Half types". A type is reached only
 * through its part. Freestanding. */
#include "runtime/numerics/half_parts.h"

#include "runtime/numerics/half.h"

/* --- float16 */

static void float16_widen(float *out, const uint16_t *in, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = firn_half_decode(in[i], FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
}

static void float16_narrow(uint16_t *out, const float *in, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = (uint16_t)firn_half_encode(firn_float16_round(in[i]), FIRN_FLOAT16_MANTISSA, FIRN_FLOAT16_BIAS);
}

static void float16_multiply_add(float *sums, float left, const float *right, size_t count) {
    for (size_t i = 0; i < count; i++)
        sums[i] = firn_float16_fma_inline(left, right[i], sums[i]);
}

const firn_half_part firn_half_part_float16 = {float16_widen, float16_narrow, float16_multiply_add};

/* --- bfloat16 */

static void bfloat16_widen(float *out, const uint16_t *in, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = firn_bfloat16_decode(in[i]);
}

static void bfloat16_narrow(uint16_t *out, const float *in, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = (uint16_t)(firn_bits(firn_bfloat16_round(in[i])) >> 16);
}

static void bfloat16_multiply_add(float *sums, float left, const float *right, size_t count) {
    for (size_t i = 0; i < count; i++)
        sums[i] = firn_bfloat16_fma_inline(left, right[i], sums[i]);
}

const firn_half_part firn_half_part_bfloat16 = {bfloat16_widen, bfloat16_narrow, bfloat16_multiply_add};

/* --- cbfloat16 */

static void cbfloat16_widen(float *out, const uint16_t *in, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = firn_half_decode(in[i], FIRN_CBFLOAT16_MANTISSA, FIRN_CBFLOAT16_BIAS);
}

static void cbfloat16_narrow(uint16_t *out, const float *in, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = (uint16_t)firn_half_encode(firn_cbfloat16_round(in[i]), FIRN_CBFLOAT16_MANTISSA, FIRN_CBFLOAT16_BIAS);
}

static void cbfloat16_multiply_add(float *sums, float left, const float *right, size_t count) {
    for (size_t i = 0; i < count; i++)
        sums[i] = firn_cbfloat16_fma_inline(left, right[i], sums[i]);
}

const firn_half_part firn_half_part_cbfloat16 = {cbfloat16_widen, cbfloat16_narrow, cbfloat16_multiply_add};
