/* Activations in vector registers. They give the bits of the portable kernels, whose operations they do in the same
 * order, and hand to them what they have no loop for: operands of several types. */
#ifndef FIRN_KERNELS_VECTOR_ELEMENTWISE_H
#define FIRN_KERNELS_VECTOR_ELEMENTWISE_H

#include "runtime/kernels/kernels.h"

void firn_vector_gelu(const firn_kernel_call *call);
void firn_vector_gelu_backward(const firn_kernel_call *call);
void firn_vector_tanh(const firn_kernel_call *call);

#endif
