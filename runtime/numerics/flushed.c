/* Rows of flushed sums (flushed.h). Freestanding. */
#include "runtime/numerics/flushed.h"

#include "plan/ops.h"

/* Nearly always no result is tiny, which a compiler finds out for all lanes at once. left_step: 0 or 1. */
static inline __attribute__((always_inline)) void add_lanes(float *sums, const float *left, size_t left_step,
                                                            const float *right) {
    float results[FIRN_FLUSHED_LANES];
    uint32_t tiny = 0;
    for (size_t i = 0; i < FIRN_FLUSHED_LANES; i++) {
        results[i] = firn_fma(left[i * left_step], right[i], sums[i]);
        tiny |= firn_may_be_tiny(results[i]);
    }
    for (size_t i = 0; i < FIRN_FLUSHED_LANES && tiny != 0; i++)
        results[i] = firn_flushed_fma(left[i * left_step], right[i], sums[i]);
    __builtin_memcpy(sums, results, sizeof results);
}

void firn_flushed_multiply_add_lanes(float *sums, const float *left, const float *right, size_t count) {
    if (FIRN_VECTORS != 0)
        for (size_t i = 0; i < count; i += FIRN_FLUSHED_LANES)
            add_lanes(sums + i, left + i, 1, right + i);
    else
        for (size_t i = 0; i < count; i++)
            sums[i] = firn_flushed_fma(left[i], right[i], sums[i]);
}

void firn_flushed_multiply_add(float *sums, float left, const float *right, size_t count) {
    if (FIRN_VECTORS != 0)
        for (size_t i = 0; i < count; i += FIRN_FLUSHED_LANES)
            add_lanes(sums + i, &left, 0, right + i);
    else
        for (size_t i = 0; i < count; i++)
            sums[i] = firn_flushed_fma(left, right[i], sums[i]);
}

void firn_flushed_close(float *sums, float *even, float *odd, size_t count) {
    for (size_t i = 0; i < count; i++) {
        sums[i] = firn_flushed_sum(sums[i], firn_flushed_sum(even[i], odd[i]));
        even[i] = odd[i] = 0.0f;
    }
}

void firn_flushed_factors(float *out, size_t out_step, const void *data, uint8_t type, size_t first, size_t step,
                          size_t count) {
    for (size_t i = 0; i < count; i++) {
        const size_t at = first + i * step;
        out[i * out_step] =
            firn_flushed(type == FIRN_BFLOAT16 ? firn_from_bits((uint32_t)((const uint16_t *)data)[at] << 16)
                                               : firn_bfloat16_round(((const float *)data)[at]));
    }
}
