/* Activations in vector registers. They perform the operations of the portable kernels in the same order, so the bits
 * are the same, and call the portable kernels if the operands have different types. */
#ifndef FIRN_KERNELS_VECTOR_ELEMENTWISE_H
#define FIRN_KERNELS_VECTOR_ELEMENTWISE_H

#include "runtime/kernels/kernels.h"

void firn_vector_gelu(const firn_kernel_call *call);
void firn_vector_gelu_backward(const firn_kernel_call *call);
void firn_vector_tanh(const firn_kernel_call *call);

#endif
