/* Convolutions of bfloat16 by the matrix engine of the set, and the gradients of their inputs and weights, only for the
 * reduction that the engine's instruction computes. Some are linear layers (images/pointwise.h), and some are emulated
 * (images/conv.h). x86 only. */
#ifndef FIRN_KERNELS_VECTOR_ENGINE_CONV_H
#define FIRN_KERNELS_VECTOR_ENGINE_CONV_H

#include "runtime/kernels/images/images.h"

/* With one channel in each group a tile would have one column in use, or one row, and each window would be gathered
 * again for each group. */
static inline bool firn_engine_conv_is_emulated(const firn_tensor *weight, int64_t groups) {
    return weight->dims[FIRN_WEIGHT_INPUTS] == 1 && weight->dims[FIRN_WEIGHT_OUTPUTS] == groups;
}

uint64_t firn_engine_conv_scratch(uint16_t op, const firn_kernel_call *call);
void firn_engine_conv(const firn_kernel_call *call);
void firn_engine_conv_backward_input(const firn_kernel_call *call);

uint64_t firn_engine_conv_backward_weight_scratch(uint16_t op, const firn_kernel_call *call);
void firn_engine_conv_backward_weight(const firn_kernel_call *call);

#endif
