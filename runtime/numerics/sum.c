/* Sums of floats in one fixed order: plan/NUMERICS.md, "Other sums". Freestanding. */
#include "runtime/numerics/numerics.h"

#include <string.h>

void firn_sum_begin(firn_sum *sum) {
    memset(sum, 0, sizeof *sum); /* +0 is all zero bits */
}

static void add_half(float *lanes, uint32_t half) {
    for (uint32_t i = 0; i < half; i++)
        lanes[i] += lanes[i + half];
}

/* Folds the lanes of one block by 32, 16, 8, 4, 2, 1. It is not a loop, so that each addition can use whole vectors.
 * Overwrites the lanes. */
static float fold(float lanes[FIRN_SUM_LANES]) {
    add_half(lanes, 32);
    add_half(lanes, 16);
    add_half(lanes, 8);
    add_half(lanes, 4);
    add_half(lanes, 2);
    return lanes[0] + lanes[1];
}

_Static_assert(FIRN_SUM_LANES == 64, "fold halves them");

static void close_block(firn_sum *sum) {
    sum->total += fold(sum->lanes);
    memset(sum->lanes, 0, sizeof sum->lanes);
    sum->filled = 0;
}

void firn_sum_add(firn_sum *sum, float x) {
    sum->lanes[sum->filled % FIRN_SUM_LANES] += x;
    sum->filled++;
    if (sum->filled == FIRN_SUM_BLOCK)
        close_block(sum);
}

/* Adds whole rounds of the lanes, within one block. Works on a copy of the lanes so that they are kept in registers. */
static void add_rounds(firn_sum *sum, const float *x, size_t rounds) {
    float lanes[FIRN_SUM_LANES];
    memcpy(lanes, sum->lanes, sizeof lanes);
    for (size_t round = 0; round < rounds; round++)
        for (uint32_t lane = 0; lane < FIRN_SUM_LANES; lane++)
            lanes[lane] += x[round * FIRN_SUM_LANES + lane];
    memcpy(sum->lanes, lanes, sizeof lanes);
    sum->filled += (uint32_t)(rounds * FIRN_SUM_LANES);
}

void firn_sum_add_many(firn_sum *sum, const float *x, size_t count) {
    size_t i = 0;
    while (i < count && sum->filled % FIRN_SUM_LANES != 0)
        firn_sum_add(sum, x[i++]);
    while (count - i >= FIRN_SUM_LANES) {
        const size_t here = (count - i) / FIRN_SUM_LANES, left = (FIRN_SUM_BLOCK - sum->filled) / FIRN_SUM_LANES;
        const size_t rounds = here < left ? here : left;
        add_rounds(sum, x + i, rounds);
        i += rounds * FIRN_SUM_LANES;
        if (sum->filled == FIRN_SUM_BLOCK)
            close_block(sum);
    }
    while (i < count)
        firn_sum_add(sum, x[i++]);
}

float firn_sum_end(const firn_sum *sum) {
    float lanes[FIRN_SUM_LANES];
    if (sum->filled == 0)
        return firn_canonical(sum->total);
    memcpy(lanes, sum->lanes, sizeof lanes);
    return firn_canonical(sum->total + fold(lanes));
}
