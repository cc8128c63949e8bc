/* Activations, sums and casts in vector registers. They perform the operations of the portable kernels in the same
 * order, so the bits are the same, and call the portable kernels if the operands have types for which there is no loop
 * here: several, but for a cast from or to float32. */
#ifndef FIRN_KERNELS_VECTOR_ELEMENTWISE_H
#define FIRN_KERNELS_VECTOR_ELEMENTWISE_H

#include "runtime/kernels/kernels.h"

void firn_vector_gelu(const firn_kernel_call *call);
void firn_vector_gelu_backward(const firn_kernel_call *call);
void firn_vector_tanh(const firn_kernel_call *call);
void firn_vector_relu(const firn_kernel_call *call);
void firn_vector_relu_backward(const firn_kernel_call *call);
void firn_vector_add_elements(const firn_kernel_call *call);
void firn_vector_cast(const firn_kernel_call *call);

#endif
