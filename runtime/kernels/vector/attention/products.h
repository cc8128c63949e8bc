/* The five products of attention, for a block of queries at a time. Their factors are packed into the slot; their
 * results are stored with one rounding. Implemented three times: by products.c for every kind of sum, with factors
 * widened to float32, by engine/attention_products.c for the instructions of a matrix engine, and by
 * chunked/half_attention.c for float16 sums in chunks. A set has one of them. */
#ifndef FIRN_KERNELS_VECTOR_ATTENTION_PRODUCTS_H
#define FIRN_KERNELS_VECTOR_ATTENTION_PRODUCTS_H

#include "runtime/kernels/vector/attention/work.h"

/* Must be called before and after the products of a piece, in its thread. */
void firn_attention_products_begin(void);
void firn_attention_products_end(void);

/* scores[key][query] = q_i . k_j, with descriptor 0. */
void firn_attention_multiply_scores(firn_attention_head *h, const firn_attention_block *b);

/* gradients[key][query] = dy_i . v_j, with descriptor 1. */
void firn_attention_multiply_gradients(firn_attention_head *h, const firn_attention_block *b);

/* Stores y_i = sum_j P_ij v_j, with P in the scores and descriptor 1. */
void firn_attention_store_outputs(firn_attention_head *h, const firn_attention_block *b);

/* Stores dq_i = scale sum_j dS_ij k_j, with dS in the gradients and descriptor 2. */
void firn_attention_store_query_gradients(firn_attention_head *h, const firn_attention_block *b);

/* dk_j = sum_i dS_ij q_i, with descriptor 2;  dv_j = sum_i P_ij dy_i, with descriptor 1. Both are added to the sums of
 * the keys, whose first row is key h->origin. */
void firn_attention_add_key_gradients(const firn_attention_head *h, const firn_attention_block *b, float *key_sums,
                                      float *value_sums);

#endif
