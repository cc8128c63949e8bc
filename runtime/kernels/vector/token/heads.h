/* The two products of one query of every head with the rows of a cache. A row holds the keys of all heads and then
 * their values; each product walks the rows once for all heads of a piece, so that memory is read in long runs. The
 * sums of a head have the order of plan/NUMERICS.md, as if the head were alone. */
#ifndef FIRN_KERNELS_VECTOR_TOKEN_HEADS_H
#define FIRN_KERNELS_VECTOR_TOKEN_HEADS_H

#include "runtime/kernels/attention.h"

/* Query heads that one thread computes, and the floats that it works with: D for each of its heads in `queries` and
 * `sums`, and in `scores` a row of a->stride floats, of which the first a->keys are used. */
typedef struct firn_heads {
    const firn_attention *a;
    size_t first, count;
    float *queries, *sums, *scores;
} firn_heads;

/* Computes scores[h][key] = q_h . k_key for the keys that the query sees. A NaN may have any payload. */
void firn_heads_multiply_keys(const firn_heads *heads);

/* Computes sums[h] = sum over these keys of scores[h][key] * v_key. A NaN may have any payload. */
void firn_heads_multiply_values(const firn_heads *heads);

#endif
