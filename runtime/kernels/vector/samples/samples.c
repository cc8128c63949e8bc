/* The sampler's kernels; see samples.h. Both compute in the calling thread: the sampler divides its work itself. */
#include "runtime/kernels/vector/samples/samples.h"

#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/elementary.h"
#include "runtime/numerics/permute.h"

/* --- bytes to numbers --------------------------------------------------------------------------------------------- */

void firn_vector_scale_bytes(const firn_kernel_call *call) {
    const firn_tensor *in = &call->inputs[FIRN_SCALE_IN_ELEMENTS], *out = &call->outputs[FIRN_SCALE_OUT_VALUES];
    const uint8_t *elements = in->data;
    float values[FIRN_BLOCK];
    for (size_t at = 0; at < out->elements; at += FIRN_BLOCK) {
        const size_t count = firn_smaller(FIRN_BLOCK, out->elements - at);
        firn_scale_bytes(elements + at, count, call->reals[FIRN_SCALE_SCALE], call->reals[FIRN_SCALE_SHIFT], values);
        firn_narrow(out->data, out->type, at, values, count);
    }
}

/* --- draws -------------------------------------------------------------------------------------------------------- */

/* A value takes two lanes, because its products have two words. Only even lanes count: the others have what products
 * leave there. */
enum { REGISTERS = FIRN_VECTOR_GROUP, PAIRS = FIRN_VECTOR / 2, LANES = REGISTERS * PAIRS };

/* Combines one half of all values with a keyed function of the other: word 0 of firn_philox. */
static inline __attribute__((always_inline)) void combine(const firn_walk *walk, uint32_t round, uint32_t mask,
                                                          const firn_words *from, firn_words *to) {
    const firn_words factor0 = firn_words_fill(FIRN_PHILOX_FACTOR_0), factor1 = firn_words_fill(FIRN_PHILOX_FACTOR_1);
    uint32_t key0 = (uint32_t)walk->seed, key1 = (uint32_t)(walk->seed >> 32);
    firn_words c0[REGISTERS], c1[REGISTERS], c2[REGISTERS], c3[REGISTERS];
    FIRN_EACH(r, REGISTERS) {
        c0[r] = from[r];
        c1[r] = firn_words_fill(FIRN_FEISTEL_TAG + round);
        c2[r] = firn_words_fill((uint32_t)walk->epoch);
        c3[r] = firn_words_fill((uint32_t)(walk->epoch >> 32));
    }
    for (int i = 0; i < FIRN_PHILOX_ROUNDS; i++, key0 += FIRN_PHILOX_STEP_0, key1 += FIRN_PHILOX_STEP_1) {
        const firn_words first = firn_words_fill(key0), second = firn_words_fill(key1);
        FIRN_EACH(r, REGISTERS) {
            const firn_words product0 = firn_words_multiply_even(factor0, c0[r]),
                             product1 = firn_words_multiply_even(factor1, c2[r]);
            c0[r] = firn_words_xor(firn_words_xor(firn_words_odd_to_even(product1), c1[r]), first);
            c2[r] = firn_words_xor(firn_words_xor(firn_words_odd_to_even(product0), c3[r]), second);
            c1[r] = product1;
            c3[r] = product0;
        }
    }
    FIRN_EACH(r, REGISTERS) to[r] = firn_words_xor(to[r], firn_words_and(c0[r], firn_words_fill(mask)));
}

/* One pass of the Feistel network. */
static void pass(const firn_walk *walk, uint64_t *values) {
    const uint32_t left_bits = walk->bits / 2, right_bits = walk->bits - left_bits;
    const uint32_t left_mask = firn_low_bits(left_bits), right_mask = firn_low_bits(right_bits);
    uint64_t halves[2][LANES];
    firn_words left[REGISTERS], right[REGISTERS];
    for (size_t i = 0; i < LANES; i++) {
        halves[0][i] = values[i] >> right_bits;
        halves[1][i] = values[i] & right_mask;
    }
    memcpy(left, halves[0], sizeof left);
    memcpy(right, halves[1], sizeof right);
    for (uint32_t round = 0; round < FIRN_FEISTEL_ROUNDS; round += 2) {
        combine(walk, round, right_mask, left, right);
        combine(walk, round + 1, left_mask, right, left);
    }
    memcpy(halves[0], left, sizeof left);
    memcpy(halves[1], right, sizeof right);
    for (size_t i = 0; i < LANES; i++)
        values[i] = (uint64_t)(uint32_t)halves[0][i] << right_bits | (uint32_t)halves[1][i];
}

void firn_vector_permute_numbers(const firn_kernel_call *call) {
    const firn_tensor *numbers = &call->outputs[FIRN_PERMUTE_OUT_NUMBERS];
    const firn_walk walk =
        firn_walk_of((uint64_t)call->integers[FIRN_PERMUTE_SEED], (uint64_t)call->integers[FIRN_PERMUTE_EPOCH],
                     (uint64_t)call->integers[FIRN_PERMUTE_COUNT]);
    uint64_t values[LANES] = {0};
    size_t at[LANES];
    firn_walk_all(&walk, numbers->data, numbers->elements, LANES, values, at, pass);
}
