/* Operations of attention on scores, for a block of queries and a run of keys at a time: rows of FIRN_BLOCK_QUERIES
 * floats, one row for each key (plan/NUMERICS.md, "attention"). Scores become probabilities in place. No products may
 * be computed here. */
#ifndef FIRN_KERNELS_VECTOR_ATTENTION_SCORES_H
#define FIRN_KERNELS_VECTOR_ATTENTION_SCORES_H

#include "runtime/kernels/vector/attention/work.h"

/* Multiplies scores by the scale, adds the slope of the head times (key - query), adds the mask, and rounds as the
 * softmax requires. first: the key of the first row. */
void firn_scores_scale(const firn_attention_head *h, const firn_attention_block *b, size_t first, float *scores,
                       size_t rows);

/* Computes the maximum of the scores that each query sees, over all keys of the block; NaN if one of them is NaN. */
void firn_scores_maxima(const firn_attention_head *h, const firn_attention_block *b, const float *scores,
                        float maxima[FIRN_BLOCK_QUERIES]);

/* Replaces scores by e^(score - maximum). */
void firn_scores_exponentials(const firn_attention *a, float *scores, const float maxima[FIRN_BLOCK_QUERIES],
                              size_t rows);

/* Replaces exponentials by probabilities. */
void firn_scores_normalise(const firn_attention *a, float *x, const float sums[FIRN_BLOCK_QUERIES], size_t rows);

/* Replaces probabilities, or gradients, of keys that a query does not see by +0, as terms that a flushed sum needs. */
void firn_scores_clear_unseen(const firn_attention_head *h, const firn_attention_block *b, float *x);

/* --- sums over the keys that a query sees: plan/NUMERICS.md, "Other sums" ----------------------------------------- */

typedef struct firn_key_sum {
    float *lanes; /* [run keys][block queries] */
    _Alignas(64) float totals[FIRN_BLOCK_QUERIES];
} firn_key_sum;

firn_key_sum firn_key_sum_begin(const firn_attention_head *h);

/* Adds the terms of a run of keys, the first of which is a multiple of FIRN_RUN_KEYS: x[key][query], multiplied by
 * y[key][query] if y is not NULL. */
void firn_key_sum_add(firn_key_sum *sum, const firn_attention_head *h, const firn_attention_block *b, size_t first,
                      size_t rows, const float *x, const float *y);

void firn_key_sum_end(firn_key_sum *sum, float out[FIRN_BLOCK_QUERIES]);

/* --- dropout ------------------------------------------------------------------------------------------------------ */

/* Draws which probabilities of a run of keys are kept, and stores them as bits in the slot, from key `first` on. Draws
 * nothing if the rate is 0. */
const uint32_t *firn_scores_draw(const firn_attention_head *h, const firn_attention_block *b, size_t first,
                                 size_t rows);

/* Returns the bits that were drawn before. */
const uint32_t *firn_scores_drawn(const firn_attention_head *h, size_t first);

/* Multiplies kept probabilities by 1 / (1 - rate) and replaces the others by +0. */
void firn_scores_drop(const firn_attention *a, float *x, const uint32_t *kept, size_t rows);

#endif
