/* What attention does to scores, of a block of queries and a run of keys at a time: rows of FIRN_BLOCK_QUERIES floats,
 * one row for each key (plan/NUMERICS.md, "attention"). Scores become probabilities in place. Knows no products. */
#ifndef FIRN_KERNELS_VECTOR_ATTENTION_SCORES_H
#define FIRN_KERNELS_VECTOR_ATTENTION_SCORES_H

#include "runtime/kernels/vector/attention/work.h"

/* Scores as the softmax takes them. */
void firn_scores_scale(const firn_attention *a, float *scores, size_t rows);

/* The largest of the scores that each query sees, NaN where one of them is; of all keys of the block. */
void firn_scores_maxima(const firn_attention_head *h, const firn_attention_block *b, const float *scores,
                        float maxima[FIRN_BLOCK_QUERIES]);

/* e^(score - maximum) */
void firn_scores_exponentials(const firn_attention *a, float *scores, const float maxima[FIRN_BLOCK_QUERIES],
                              size_t rows);

/* Exponentials to probabilities. */
void firn_scores_normalise(const firn_attention *a, float *x, const float sums[FIRN_BLOCK_QUERIES], size_t rows);

/* --- sums over the keys that a query sees: plan/NUMERICS.md, "Other sums" ----------------------------------------- */

typedef struct firn_key_sum {
    float *lanes; /* [run keys][block queries] */
    _Alignas(64) float totals[FIRN_BLOCK_QUERIES];
} firn_key_sum;

firn_key_sum firn_key_sum_begin(const firn_attention_head *h);

/* The terms of a run of keys, whose first is a multiple of FIRN_RUN_KEYS: x[key][query], times y[key][query] where that
 * is given. */
void firn_key_sum_add(firn_key_sum *sum, const firn_attention_head *h, const firn_attention_block *b, size_t first,
                      size_t rows, const float *x, const float *y);

void firn_key_sum_end(firn_key_sum *sum, float out[FIRN_BLOCK_QUERIES]);

/* --- dropout ------------------------------------------------------------------------------------------------------ */

/* Which probabilities of a run of keys are kept: bits in the slot, from key `first` on. Nothing is drawn at rate 0. */
const uint32_t *firn_scores_draw(const firn_attention_head *h, const firn_attention_block *b, size_t first,
                                 size_t rows);

/* Those that were drawn before. */
const uint32_t *firn_scores_drawn(const firn_attention_head *h, size_t first);

/* What is kept times 1 / (1 - rate), +0 for the rest. */
void firn_scores_drop(const firn_attention *a, float *x, const uint32_t *kept, size_t rows);

#endif
