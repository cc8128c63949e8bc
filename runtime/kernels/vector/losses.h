/* The softmax cross-entropy and its gradient in vector registers. They perform the operations of the portable kernels
 * in the same order, so the bits are the same. */
#ifndef FIRN_KERNELS_VECTOR_LOSSES_H
#define FIRN_KERNELS_VECTOR_LOSSES_H

#include "runtime/kernels/kernels.h"

void firn_vector_cross_entropy(const firn_kernel_call *call);
void firn_vector_cross_entropy_backward(const firn_kernel_call *call);

/* The loss of logits by blocks of rows, whose products are those of the call's set. */
void firn_vector_linear_cross_entropy(const firn_kernel_call *call);
uint64_t firn_vector_linear_cross_entropy_scratch(uint16_t op, const firn_kernel_call *call);

#endif
