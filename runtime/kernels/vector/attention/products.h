/* The five products of attention, of a block of queries at a time: what they read is packed into the slot, widened to
 * float32, and what they give is stored rounded once. */
#ifndef FIRN_KERNELS_VECTOR_ATTENTION_PRODUCTS_H
#define FIRN_KERNELS_VECTOR_ATTENTION_PRODUCTS_H

#include "runtime/kernels/vector/attention/work.h"

/* scores[key][query] = q_i . k_j; by descriptor 0. */
void firn_attention_multiply_scores(firn_attention_head *h, const firn_attention_block *b);

/* gradients[key][query] = dy_i . v_j; by descriptor 1. */
void firn_attention_multiply_gradients(firn_attention_head *h, const firn_attention_block *b);

/* y_i = sum_j P_ij v_j, with P in the scores; by descriptor 1. Stored. */
void firn_attention_store_outputs(firn_attention_head *h, const firn_attention_block *b);

/* dq_i = scale sum_j dS_ij k_j, with dS in the gradients; by descriptor 2. Stored. */
void firn_attention_store_query_gradients(firn_attention_head *h, const firn_attention_block *b);

/* dk_j = sum_i dS_ij q_i, by descriptor 2;  dv_j = sum_i P_ij dy_i, by descriptor 1. Added to the sums of the keys,
 * which are rows from key h->origin on. */
void firn_attention_add_key_gradients(const firn_attention_head *h, const firn_attention_block *b, float *key_sums,
                                      float *value_sums);

/* The sums of the keys [begin, end) that all query heads have been added to: scale dk_j and dv_j. Stored. */
void firn_attention_store_key_gradients(const firn_attention_head *h, size_t begin, size_t end);

#endif
