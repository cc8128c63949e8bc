/* Loops over short arrays of floats that several kernels share: plan/NUMERICS.md, "Ops". Freestanding. */
#include "runtime/kernels/blocks.h"

#include "runtime/numerics/half.h"

enum { LANES = 16 };

float firn_block_maximum(float m, const float *x, size_t count) {
    float lanes[LANES];
    size_t i = 0;
    for (size_t lane = 0; lane < LANES; lane++)
        lanes[lane] = m;
    for (; count - i >= LANES; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            lanes[lane] = firn_maximum(lanes[lane], x[i + lane]);
    for (; i < count; i++)
        lanes[0] = firn_maximum(lanes[0], x[i]);
    for (size_t lane = 0; lane < LANES; lane++)
        m = firn_maximum(m, lanes[lane]);
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

void firn_block_dropout_factors(const firn_rng *rng, uint64_t first, float rate, float *factors, size_t count) {
    const float scale = 1.0f / (1.0f - rate);
    if (rate == 0.0f) { /* nothing is dropped: no need to draw */
        for (size_t i = 0; i < count; i++)
            factors[i] = 1.0f;
        return;
    }
    firn_random_uniform_many(factors, rng, first, count);
    for (size_t i = 0; i < count; i++)
        factors[i] = factors[i] >= rate ? scale : 0.0f;
}
