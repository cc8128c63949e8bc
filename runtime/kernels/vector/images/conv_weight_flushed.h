/* The gradient of a convolution's weight in flushed sums (plan/NUMERICS.md, "Reductions"), in vectors. */
#ifndef FIRN_KERNELS_VECTOR_IMAGES_CONV_WEIGHT_FLUSHED_H
#define FIRN_KERNELS_VECTOR_IMAGES_CONV_WEIGHT_FLUSHED_H

#include "runtime/kernels/kernels.h"

void firn_vector_conv_weight_flushed(const firn_kernel_call *call);
uint64_t firn_vector_conv_weight_flushed_scratch(const firn_kernel_call *call);

#endif
