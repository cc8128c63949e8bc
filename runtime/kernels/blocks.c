/* Loops over short arrays of floats that several kernels share: plan/NUMERICS.md, "Ops". Freestanding. */
#include "runtime/kernels/blocks.h"

#include "runtime/numerics/half.h"

enum { LANES = 32 };

/* Returns the larger of two numbers; a NaN in b is ignored. */
static float larger(float a, float b) {
    return b > a ? b : a;
}

/* Returns the maximum of m and of whole rounds of lanes. Numbers and NaNs are tracked separately, so that the
 * comparison and the selection become one vector instruction. */
static float maximum_of_rounds(float m, const float *x, size_t rounds) {
    float lanes[LANES];
    uint32_t nan[LANES], any = m != m;
    for (size_t lane = 0; lane < LANES; lane++) {
        lanes[lane] = m;
        nan[lane] = 0;
    }
    for (size_t i = 0; i < rounds * LANES; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++) {
            lanes[lane] = larger(lanes[lane], x[i + lane]);
            nan[lane] |= x[i + lane] != x[i + lane];
        }
    for (size_t lane = 0; lane < LANES; lane++) {
        m = larger(m, lanes[lane]);
        any |= nan[lane];
    }
    return any != 0 ? firn_from_bits(FIRN_NAN_BITS) : m;
}

float firn_block_maximum(float m, const float *x, size_t count) {
    const size_t rounds = FIRN_SMALL ? 0 : count / LANES;
    if (rounds > 0)
        m = maximum_of_rounds(m, x, rounds);
    for (size_t i = rounds * LANES; i < count; i++)
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

void firn_block_dropout_factors(const firn_rng *rng, uint64_t first, float rate, float *factors, size_t count) {
    const float scale = 1.0f / (1.0f - rate);
    if (rate == 0.0f) { /* no element is dropped, so no number is drawn */
        for (size_t i = 0; i < count; i++)
            factors[i] = 1.0f;
        return;
    }
    firn_random_uniform_many(factors, rng, first, count);
    for (size_t i = 0; i < count; i++)
        factors[i] = factors[i] >= rate ? scale : 0.0f;
}
