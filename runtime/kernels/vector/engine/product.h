/* Products of bfloat16 in words of two terms, by the matrix engine of the set: linear layers, their gradients and
 * products of batches, only for the reduction that the engine's instruction computes. x86 only. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_PRODUCT_H
#define FIRN_KERNELS_VECTOR_ENGINE_PRODUCT_H

#include "runtime/kernels/kernels.h"

uint64_t firn_engine_linear_scratch(uint16_t op, const firn_kernel_call *call);
void firn_engine_linear(const firn_kernel_call *call);
void firn_engine_linear_backward_input(const firn_kernel_call *call);
void firn_engine_linear_backward_weight(const firn_kernel_call *call);
void firn_engine_linear_backward_weight_rows(const firn_kernel_call *call);
void firn_engine_add_weight(const firn_kernel_call *call); /* FIRN_KERNEL_ADD_WEIGHT */

uint64_t firn_engine_matmul_scratch(uint16_t op, const firn_kernel_call *call);
void firn_engine_matmul(const firn_kernel_call *call);

#endif
