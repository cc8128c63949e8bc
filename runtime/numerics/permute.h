/* What the loops that draw have in common, for one value or for many in vector lanes: the constants of the random
 * numbers and of the permutation (plan/NUMERICS.md, "Random numbers"), and the walk along cycles. Only such loops
 * include this. Freestanding. */
#ifndef FIRN_NUMERICS_PERMUTE_H
#define FIRN_NUMERICS_PERMUTE_H

#include <stddef.h>
#include <stdint.h>

enum { FIRN_PHILOX_ROUNDS = 10, FIRN_FEISTEL_ROUNDS = 8 };

#define FIRN_PHILOX_FACTOR_0 0xd2511f53u
#define FIRN_PHILOX_FACTOR_1 0xcd9e8d57u
#define FIRN_PHILOX_STEP_0   0x9e3779b9u
#define FIRN_PHILOX_STEP_1   0xbb67ae85u
#define FIRN_FEISTEL_TAG     0xffffff00u /* in the place of rng_id; ids from here on are reserved for permutations */

/* Returns a number whose lowest `bits` bits are set, at most 32. */
static inline uint32_t firn_low_bits(uint32_t bits) {
    return (uint32_t)(((uint64_t)1 << bits) - 1);
}

/* Returns the bits of the values that the network permutes, whose numbers below count are those of the samples. */
static inline uint32_t firn_permuted_bits(uint64_t count) {
    return count == 1 ? 0 : 64u - (uint32_t)__builtin_clzll(count - 1);
}

typedef struct firn_walk {
    uint64_t seed, epoch, count;
    uint32_t bits;
} firn_walk;

static inline firn_walk firn_walk_of(uint64_t seed, uint64_t epoch, uint64_t count) {
    return (firn_walk){seed, epoch, count, firn_permuted_bits(count)};
}

/* Applies one pass of the network to the values of all lanes. */
typedef void (*firn_walk_pass)(const firn_walk *walk, uint64_t *values);

/* Replaces each index by the first value of its cycle that is below count. A lane whose cycle has ended takes the next
 * index. values and at have a place for each lane; values is zeroed. */
static inline __attribute__((always_inline)) void firn_walk_all(const firn_walk *walk, uint64_t *indices, size_t number,
                                                                size_t lanes, uint64_t *values, size_t *at,
                                                                firn_walk_pass pass) {
    size_t walking = 0, next = 0;
    do {
        for (; walking < lanes && next < number; next++) {
            values[walking] = indices[next];
            at[walking++] = next;
        }
        pass(walk, values);
        size_t left = 0; /* cycles that go on */
        for (size_t b = 0; b < walking; b++)
            if (values[b] < walk->count) {
                indices[at[b]] = values[b];
            } else {
                values[left] = values[b];
                at[left++] = at[b];
            }
        walking = left;
    } while (walking > 0 || next < number);
}

#endif
