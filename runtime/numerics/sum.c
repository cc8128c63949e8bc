/* Sums of floats in one fixed order: plan/NUMERICS.md, "Other sums". Freestanding. */
#include "runtime/numerics/numerics.h"

#include <string.h>

/* A lane holds a number only once an element was added to it. Until then it counts as +0, which changes no other
 * number when it is added: a lane begins at +0 and so never becomes -0. */
void firn_sum_begin(firn_sum *sum) {
    sum->total = 0;
    sum->filled = 0;
}

static void add_half(float *lanes, uint32_t half) {
    for (uint32_t i = 0; i < half; i++)
        lanes[i] += lanes[i + half];
}

/* Folds the first `count` lanes of one block by 32, 16, 8, 4, 2, 1; the others are +0. Overwrites the lanes. */
static float fold_some(float lanes[FIRN_SUM_LANES], uint32_t count) {
    for (uint32_t half = FIRN_SUM_LANES / 2; half > 0; half /= 2) {
        for (uint32_t i = half; i < count; i++)
            lanes[i - half] += lanes[i];
        count = count < half ? count : half;
    }
    return lanes[0];
}

/* The same for all lanes. It is not a loop, so that each addition can use whole vectors. */
static float fold(float lanes[FIRN_SUM_LANES]) {
    if (FIRN_SMALL)
        return fold_some(lanes, FIRN_SUM_LANES);
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
    sum->filled = 0;
}

void firn_sum_add(firn_sum *sum, float x) {
    float *lane = &sum->lanes[sum->filled % FIRN_SUM_LANES];
    *lane = (sum->filled < FIRN_SUM_LANES ? 0.0f : *lane) + x;
    sum->filled++;
    if (sum->filled == FIRN_SUM_BLOCK)
        close_block(sum);
}

/* Adds whole rounds of the lanes, within one block. Works on a copy of the lanes so that they are kept in registers. */
static void add_rounds(firn_sum *sum, const float *x, size_t rounds) {
    float lanes[FIRN_SUM_LANES];
    if (sum->filled == 0)
        memset(lanes, 0, sizeof lanes); /* +0 is all zero bits */
    else
        memcpy(lanes, sum->lanes, sizeof lanes);
    for (size_t round = 0; round < rounds; round++)
        for (uint32_t lane = 0; lane < FIRN_SUM_LANES; lane++)
            lanes[lane] += x[round * FIRN_SUM_LANES + lane];
    memcpy(sum->lanes, lanes, sizeof lanes);
    sum->filled += (uint32_t)(rounds * FIRN_SUM_LANES);
}

void firn_sum_add_many(firn_sum *sum, const float *x, size_t count) {
    size_t i = 0;
    while (!FIRN_SMALL && i < count && sum->filled % FIRN_SUM_LANES != 0)
        firn_sum_add(sum, x[i++]);
    while (!FIRN_SMALL && count - i >= FIRN_SUM_LANES) {
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
    const uint32_t filled = sum->filled < FIRN_SUM_LANES ? sum->filled : FIRN_SUM_LANES;
    memcpy(lanes, sum->lanes, filled * sizeof *lanes);
    return firn_canonical(sum->total + (filled < FIRN_SUM_LANES ? fold_some(lanes, filled) : fold(lanes)));
}
