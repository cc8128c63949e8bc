/* Attention over the keys and values of a session in vectors, with the bits of runtime/kernels/attention.c. */
#ifndef FIRN_KERNELS_VECTOR_TOKEN_ATTENTION_H
#define FIRN_KERNELS_VECTOR_TOKEN_ATTENTION_H

#include "runtime/kernels/kernels.h"

/* The kernel of cached_attention, and its scratch. The portable kernel computes calls that are larger than a slot, and,
 * unless the sums are flushed or the tokens few, tokens that the cache has no room for. */
void firn_vector_cached_attention(const firn_kernel_call *call);
uint64_t firn_vector_cached_attention_scratch(uint16_t op, const firn_kernel_call *call);

#endif
