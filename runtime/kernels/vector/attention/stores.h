/* Stores finished sums of attention that lie as rows of `width` floats, or turned, as rows of a block's queries. */
#ifndef FIRN_KERNELS_VECTOR_ATTENTION_STORES_H
#define FIRN_KERNELS_VECTOR_ATTENTION_STORES_H

#include "runtime/kernels/vector/attention/work.h"

/* Stores factor * sums[row] for `rows` rows of a head of an output, starting with row `first`, rounded once.
 * Overwrites the sums. */
void firn_attention_store_rows(const firn_attention_head *h, firn_attention_heads out, size_t number, size_t first,
                               size_t rows, float *sums, float factor);

/* Stores factor * sums[element][query] for the queries of a block, rounded once. Overwrites the sums. */
void firn_attention_store_turned(const firn_attention_head *h, const firn_attention_block *b, firn_attention_heads out,
                                 float factor);

/* Stores scale dk_j and dv_j for the keys [begin, end), after all query heads have been added to their sums. */
void firn_attention_store_key_gradients(const firn_attention_head *h, size_t begin, size_t end);

#endif
