/* Attention and its gradient in vector registers: the same bits as runtime/kernels/attention.c, by construction. A lane
 * of a register belongs to one query, or to one element of a head, from the first term of a sum to the last, so every
 * sum is what one query alone would have computed: fma for each present term in ascending order, the 64 lanes of other
 * sums in theirs. A term that a causal mask takes away is never computed into a sum. */
#ifndef FIRN_KERNELS_VECTOR_ATTENTION_H
#define FIRN_KERNELS_VECTOR_ATTENTION_H

#include "runtime/kernels/kernels.h"

/* The kernels of the two ops, and the scratch of each. A call with so many steps, or heads so large, that not even one
 * block of keys fits into a slot beside the scores and columns of a block of queries goes to the portable kernel. */
void firn_vector_attention(const firn_kernel_call *call);
uint64_t firn_vector_attention_scratch(uint16_t op, const firn_kernel_call *call);
void firn_vector_attention_backward(const firn_kernel_call *call);
uint64_t firn_vector_attention_backward_scratch(uint16_t op, const firn_kernel_call *call);

#endif
