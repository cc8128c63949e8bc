/* The softmax cross-entropy and its gradient in vector registers. They give the bits of the portable kernels, whose
 * operations they do in the same order, and hand to them what they have no loop for: logits of a half type. */
#ifndef FIRN_KERNELS_VECTOR_LOSSES_H
#define FIRN_KERNELS_VECTOR_LOSSES_H

#include "runtime/kernels/kernels.h"

void firn_vector_cross_entropy(const firn_kernel_call *call);
void firn_vector_cross_entropy_backward(const firn_kernel_call *call);

#endif
