/* Convolutions of bfloat16 by the matrix engine of the set, and the gradients of their inputs and weights, only for the
 * reduction that the engine's instruction computes. Those of windows of one element may be linear layers, and those
 * with one channel in each group are emulated (images/conv.h), because a tile would have one column. x86 only. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_CONV_H
#define FIRN_KERNELS_VECTOR_ENGINE_CONV_H

#include "runtime/kernels/kernels.h"

uint64_t firn_engine_conv_scratch(uint16_t op, const firn_kernel_call *call);
void firn_engine_conv(const firn_kernel_call *call);
void firn_engine_conv_backward_input(const firn_kernel_call *call);

uint64_t firn_engine_conv_backward_weight_scratch(uint16_t op, const firn_kernel_call *call);
void firn_engine_conv_backward_weight(const firn_kernel_call *call);

#endif
