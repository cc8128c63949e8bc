/* Pools of images in vectors, with the same bits as runtime/kernels/images/pool.c: a lane is a channel. */
#ifndef FIRN_KERNELS_VECTOR_IMAGES_POOL_H
#define FIRN_KERNELS_VECTOR_IMAGES_POOL_H

#include "runtime/kernels/kernels.h"

/* Passes images of mixed types, and windows of more elements than a float counts, to the portable kernel. */
void firn_vector_max_pool_backward(const firn_kernel_call *call);
uint64_t firn_vector_max_pool_backward_scratch(uint16_t op, const firn_kernel_call *call);

#endif
