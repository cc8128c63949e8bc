/* Random numbers as a function of seed, id, step and element index: plan/NUMERICS.md, "Random numbers". No generator
 * state is kept. Freestanding. */
#include "runtime/numerics/numerics.h"

#include <string.h>

#include "runtime/numerics/elementary.h"
#include "runtime/numerics/permute.h"

/* Applies one round of Philox to the counter c. */
static inline void mix(uint32_t *c0, uint32_t *c1, uint32_t *c2, uint32_t *c3, uint32_t key0, uint32_t key1) {
    uint64_t product0 = (uint64_t)FIRN_PHILOX_FACTOR_0 * *c0, product1 = (uint64_t)FIRN_PHILOX_FACTOR_1 * *c2;
    *c0 = (uint32_t)(product1 >> 32) ^ *c1 ^ key0;
    *c2 = (uint32_t)(product0 >> 32) ^ *c3 ^ key1;
    *c1 = (uint32_t)product1;
    *c3 = (uint32_t)product0;
}

static inline void next_key(uint32_t *key0, uint32_t *key1) {
    *key0 += FIRN_PHILOX_STEP_0;
    *key1 += FIRN_PHILOX_STEP_1;
}

void firn_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t key0 = key[0], key1 = key[1];
    for (int round = 0; round < FIRN_PHILOX_ROUNDS; round++) {
        mix(&c0, &c1, &c2, &c3, key0, key1);
        next_key(&key0, &key1);
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* --- random numbers of elements --------------------------------------------------------------------------------- */

/* Computes the four words of the block that contains an element. */
static void draw_block(const firn_rng *rng, uint64_t element, uint32_t words[4]) {
    const uint32_t key[2] = {(uint32_t)rng->seed, (uint32_t)(rng->seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)(element / 4), rng->rng_id, (uint32_t)rng->global_step,
                                 (rng->micro_step & 0xffffu) | (uint32_t)(rng->global_step >> 32) << 16};
    firn_philox(counter, key, words);
}

/* Returns the upper 24 bits of a word, 0 to 2^24 - 1, exact as a float. */
static float upper_bits(uint32_t word) {
    return (float)(int32_t)(word >> 8);
}

uint32_t firn_random_bits(const firn_rng *rng, uint64_t element) {
    uint32_t words[4];
    draw_block(rng, element, words);
    return words[element % 4];
}

float firn_random_uniform(const firn_rng *rng, uint64_t element) {
    return upper_bits(firn_random_bits(rng, element)) * 0x1p-24f;
}

#define BLOCKS         16u
#define BLOCK_ELEMENTS 4u

/* One round of BLOCKS blocks. The arrays have a pointer each, because GCC 12 vectorises no other form of this loop. */
static void mix_blocks(uint32_t *restrict c0, uint32_t *restrict c1, uint32_t *restrict c2, uint32_t *restrict c3,
                       uint32_t key0, uint32_t key1) {
    for (uint32_t b = 0; b < BLOCKS; b++)
        mix(&c0[b], &c1[b], &c2[b], &c3[b], key0, key1);
}

/* Applies firn_philox to BLOCKS counters in vector lanes: words[w][b] is word w of block b. */
static void philox_blocks(uint64_t key, uint32_t words[BLOCK_ELEMENTS][BLOCKS]) {
    uint32_t key0 = (uint32_t)key, key1 = (uint32_t)(key >> 32);
    for (int round = 0; round < FIRN_PHILOX_ROUNDS; round++) {
        mix_blocks(words[0], words[1], words[2], words[3], key0, key1);
        next_key(&key0, &key1);
    }
}

/* Draws consecutive blocks, starting with that of `element`. */
static void draw_blocks(const firn_rng *rng, uint64_t element, uint32_t words[BLOCK_ELEMENTS][BLOCKS]) {
    for (uint32_t b = 0; b < BLOCKS; b++) {
        words[0][b] = (uint32_t)(element / BLOCK_ELEMENTS) + b;
        words[1][b] = rng->rng_id;
        words[2][b] = (uint32_t)rng->global_step;
        words[3][b] = (rng->micro_step & 0xffffu) | (uint32_t)(rng->global_step >> 32) << 16;
    }
    philox_blocks(rng->seed, words);
}

/* One block after the other. */
static void draw_each(float *out, const firn_rng *rng, uint64_t first, size_t count) {
    uint32_t words[BLOCK_ELEMENTS];
    for (size_t i = 0; i < count; i++) {
        const uint32_t word = (uint32_t)(first + i) % BLOCK_ELEMENTS;
        if (i == 0 || word == 0)
            draw_block(rng, first + i, words);
        out[i] = upper_bits(words[word]) * 0x1p-24f;
    }
}

void firn_random_uniform_many(float *out, const firn_rng *rng, uint64_t first, size_t count) {
    if (FIRN_SMALL) {
        draw_each(out, rng, first, count);
        return;
    }
    uint32_t words[BLOCK_ELEMENTS][BLOCKS];
    float drawn[BLOCKS * BLOCK_ELEMENTS];
    size_t skip = (size_t)(first % BLOCK_ELEMENTS); /* elements of the first block to skip */
    for (size_t done = 0; done < count; skip = 0) {
        draw_blocks(rng, first + done, words);
        for (uint32_t b = 0; b < BLOCKS; b++)
            for (uint32_t w = 0; w < BLOCK_ELEMENTS; w++)
                drawn[b * BLOCK_ELEMENTS + w] = upper_bits(words[w][b]) * 0x1p-24f;
        size_t have = (size_t)(BLOCKS * BLOCK_ELEMENTS) - skip, want = count - done;
        size_t take = want < have ? want : have;
        memcpy(out + done, drawn + skip, take * sizeof *out);
        done += take;
    }
}

/* Two consecutive elements share two words: the first word gives the radius, the second the angle. */
static inline float radius_of(uint32_t word) {
    float u = (upper_bits(word) + 1.0f) * 0x1p-24f; /* (0, 1] */
    return firn_sqrt(-2.0f * firn_log_inline(u));
}

static inline float turns_of(uint32_t word) {
    return upper_bits(word) * 0x1p-24f; /* [0, 1) */
}

float firn_random_normal(const firn_rng *rng, uint64_t element) {
    uint32_t words[4];
    draw_block(rng, element, words);
    uint32_t pair = (uint32_t)(element % 4) & 2u;
    float radius = radius_of(words[pair]), turns = turns_of(words[pair + 1]);
    return radius * (element % 2 == 0 ? firn_cos_turns(turns) : firn_sin_turns(turns));
}

void firn_random_normal_many(float *out, const firn_rng *rng, uint64_t first, size_t count) {
    uint32_t words[BLOCK_ELEMENTS][BLOCKS];
    float drawn[BLOCKS * BLOCK_ELEMENTS];
    size_t skip = (size_t)(first % BLOCK_ELEMENTS); /* elements of the first block to skip */
    for (size_t done = 0; done < count; skip = 0) {
        draw_blocks(rng, first + done, words);
        for (uint32_t pair = 0; pair < BLOCK_ELEMENTS; pair += 2)
            for (uint32_t b = 0; b < BLOCKS; b++) {
                float radius = radius_of(words[pair][b]), turns = turns_of(words[pair + 1][b]);
                drawn[b * BLOCK_ELEMENTS + pair] = radius * firn_sin_quarters(turns, 1);
                drawn[b * BLOCK_ELEMENTS + pair + 1] = radius * firn_sin_quarters(turns, 0);
            }
        size_t have = (size_t)(BLOCKS * BLOCK_ELEMENTS) - skip, want = count - done;
        size_t take = want < have ? want : have;
        memcpy(out + done, drawn + skip, take * sizeof *out);
        done += take;
    }
}

#define TRUNCATED_DRAWS 64u

void firn_random_truncated_many(float *out, const firn_rng *rng, uint64_t first, size_t count, firn_truncation from) {
    firn_random_normal_many(out, rng, first, count);
    for (size_t i = 0; i < count; i++) {
        firn_rng again = *rng;
        float x = firn_fma(from.deviation, out[i], from.mean);
        for (uint32_t draw = 1; draw < TRUNCATED_DRAWS && (x < from.low || x > from.high); draw++) {
            again.micro_step = draw;
            x = firn_fma(from.deviation, firn_random_normal(&again, first + i), from.mean);
        }
        out[i] = x < from.low ? from.low : x > from.high ? from.high : x;
    }
}

/* --- permutations ------------------------------------------------------------------------------------------------- */

/* Applies one pass of the Feistel network to a value in [0, 2^(left + right)). Each half in turn is combined with a
 * keyed function of the other. This is invertible, so the pass is a permutation. */
static uint64_t feistel(uint64_t seed, uint64_t epoch, uint32_t left_bits, uint32_t right_bits, uint64_t value) {
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t masks[2] = {firn_low_bits(left_bits), firn_low_bits(right_bits)};
    uint32_t halves[2] = {(uint32_t)(value >> right_bits), (uint32_t)value & masks[1]};
    for (uint32_t round = 0; round < FIRN_FEISTEL_ROUNDS; round++) {
        const uint32_t from = round % 2, to = 1 - from;
        const uint32_t counter[4] = {halves[from], FIRN_FEISTEL_TAG + round, (uint32_t)epoch, (uint32_t)(epoch >> 32)};
        uint32_t words[4];
        firn_philox(counter, key, words);
        halves[to] ^= words[0] & masks[to];
    }
    return (uint64_t)halves[0] << right_bits | halves[1];
}

uint64_t firn_permute(uint64_t seed, uint64_t epoch, uint64_t count, uint64_t index) {
    const uint32_t bits = firn_permuted_bits(count);
    /* Apply the network until the index is below count (cycle walking). The domain is less than twice count, so few
     * passes are needed. */
    do {
        index = feistel(seed, epoch, bits / 2, bits - bits / 2, index);
    } while (index >= count);
    return index;
}

/* Applies one pass of the Feistel network to BLOCKS values, in vector lanes. */
static void feistel_blocks(uint64_t seed, uint64_t epoch, uint32_t left_bits, uint32_t right_bits,
                           uint64_t values[BLOCKS]) {
    const uint32_t masks[2] = {firn_low_bits(left_bits), firn_low_bits(right_bits)};
    uint32_t halves[2][BLOCKS], words[BLOCK_ELEMENTS][BLOCKS];
    for (uint32_t b = 0; b < BLOCKS; b++) {
        halves[0][b] = (uint32_t)(values[b] >> right_bits);
        halves[1][b] = (uint32_t)values[b] & masks[1];
    }
    for (uint32_t round = 0; round < FIRN_FEISTEL_ROUNDS; round++) {
        const uint32_t from = round % 2, to = 1 - from;
        for (uint32_t b = 0; b < BLOCKS; b++) {
            words[0][b] = halves[from][b];
            words[1][b] = FIRN_FEISTEL_TAG + round;
            words[2][b] = (uint32_t)epoch;
            words[3][b] = (uint32_t)(epoch >> 32);
        }
        philox_blocks(seed, words);
        for (uint32_t b = 0; b < BLOCKS; b++)
            halves[to][b] ^= words[0][b] & masks[to];
    }
    for (uint32_t b = 0; b < BLOCKS; b++)
        values[b] = (uint64_t)halves[0][b] << right_bits | halves[1][b];
}

static void feistel_lanes(const firn_walk *walk, uint64_t *values) {
    feistel_blocks(walk->seed, walk->epoch, walk->bits / 2, walk->bits - walk->bits / 2, values);
}

void firn_permute_many(uint64_t seed, uint64_t epoch, uint64_t count, uint64_t *indices, size_t number) {
    const firn_walk walk = firn_walk_of(seed, epoch, count);
    uint64_t values[BLOCKS] = {0};
    size_t at[BLOCKS];
    firn_walk_all(&walk, indices, number, BLOCKS, values, at, feistel_lanes);
}
