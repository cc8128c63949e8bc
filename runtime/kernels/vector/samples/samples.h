/* What the sampler computes for many elements or draws at once: FIRN_KERNEL_SCALE and FIRN_KERNEL_PERMUTE. */
#ifndef FIRN_KERNELS_VECTOR_SAMPLES_H
#define FIRN_KERNELS_VECTOR_SAMPLES_H

#include "runtime/kernels/kernels.h"

void firn_vector_scale_bytes(const firn_kernel_call *call);
void firn_vector_permute_numbers(const firn_kernel_call *call);

#endif
