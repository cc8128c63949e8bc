/* Attention and its gradient in vector registers, with the same bits as runtime/kernels/attention.c. A register lane
 * belongs to one query, or to one element of a head, for the whole length of a sum, so every sum has the order that its
 * descriptor demands for one query alone, and other sums have their 64 lanes. A term that the causal mask excludes is
 * left out; in flushed sums it takes part as +0 where a block has another term (plan/NUMERICS.md, "Reductions"). */
#ifndef FIRN_KERNELS_VECTOR_ATTENTION_H
#define FIRN_KERNELS_VECTOR_ATTENTION_H

#include "runtime/kernels/attention.h"

/* The kernels of the two ops, and the scratch of each. If the steps are so many, or the heads so large, that a slot
 * cannot hold one block of keys besides the scores and columns of a block of queries, the call is passed to the
 * portable kernel. */
void firn_vector_attention(const firn_kernel_call *call);
uint64_t firn_vector_attention_scratch(uint16_t op, const firn_kernel_call *call);
void firn_vector_attention_backward(const firn_kernel_call *call);
uint64_t firn_vector_attention_backward_scratch(uint16_t op, const firn_kernel_call *call);

/* The same for separate queries, keys and values. A causal mask that is no triangle of a square is the portable
 * kernel's, too. */
void firn_vector_cross_attention(const firn_kernel_call *call);
uint64_t firn_vector_cross_attention_scratch(uint16_t op, const firn_kernel_call *call);
void firn_vector_cross_attention_backward(const firn_kernel_call *call);
uint64_t firn_vector_cross_attention_backward_scratch(uint16_t op, const firn_kernel_call *call);

/* Computes all queries of a call of cached_attention in blocks, and stores their keys and values in the cache. Not for
 * flushed sums. Returns false, and has done nothing, if the portable kernel must execute the call: it is larger than a
 * slot, or the cache has no room for its tokens. */
bool firn_attention_over_cache(const firn_cached_attention *c);
uint64_t firn_attention_over_cache_scratch(const firn_cached_attention *c);

/* The same, one query after the other, for every kind of sum: flushed sums add zeros behind the last key that a query
 * sees, and other queries see keys there. Returns false, and has done nothing, if the call is larger than a slot. */
bool firn_attention_by_query(firn_cached_attention *c);
uint64_t firn_attention_by_query_scratch(const firn_cached_attention *c);

#endif
