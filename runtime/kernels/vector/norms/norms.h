/* Norms and sums over rows in vector registers, with the same bits as the portable kernels: a lane belongs to one lane
 * of a sum over a row (plan/NUMERICS.md, "Other sums"), or to one column whose rows are added in order. */
#ifndef FIRN_KERNELS_VECTOR_NORMS_H
#define FIRN_KERNELS_VECTOR_NORMS_H

#include "runtime/kernels/kernels.h"

/* Where the affine part is computed neither in float32 nor in the type of the rows, or where operands have different
 * types, the call is passed to the portable kernel. */
void firn_vector_layer_norm(const firn_kernel_call *call);
void firn_vector_layer_norm_backward(const firn_kernel_call *call);
uint64_t firn_vector_layer_norm_scratch(uint16_t op, const firn_kernel_call *call); /* of these two */
void firn_vector_layer_norm_backward_affine(const firn_kernel_call *call);

void firn_vector_batch_norm(const firn_kernel_call *call);
void firn_vector_batch_norm_backward(const firn_kernel_call *call);

void firn_vector_sum_leading(const firn_kernel_call *call);

#endif
