/* Loops over short arrays of floats that several kernels share: plan/NUMERICS.md, "Ops". Freestanding. */
#include "runtime/kernels/blocks.h"

#include "runtime/numerics/half.h"

float firn_block_maximum(float m, const float *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        m = firn_maximum(m, x[i]);
    return firn_canonical(m + 0.0f);
}

void firn_block_round(uint8_t type, float *x, size_t count) {
    switch (type) {
    case FIRN_FLOAT16:
        for (size_t i = 0; i < count; i++)
            x[i] = firn_float16_round(x[i]);
        break;
    case FIRN_BFLOAT16:
        for (size_t i = 0; i < count; i++)
            x[i] = firn_bfloat16_round(x[i]);
        break;
    case FIRN_CBFLOAT16:
        for (size_t i = 0; i < count; i++)
            x[i] = firn_cbfloat16_round(x[i]);
        break;
    default:
        break;
    }
}

void firn_block_dropout_factors(const firn_rng *rng, uint64_t first, uint64_t step, float rate, float *factors,
                                size_t count) {
    const float scale = 1.0f / (1.0f - rate);
    for (size_t i = 0; i < count; i++)
        factors[i] = firn_random_uniform(rng, first + i * step) >= rate ? scale : 0.0f;
}
