/* Declarations for losses that all kernel sets share. Freestanding. */
#ifndef FIRN_KERNELS_LOSSES_H
#define FIRN_KERNELS_LOSSES_H

#include "runtime/kernels/kernels.h"

/* Computes output 0 of cross_entropy. Outputs 1 and 2 must already hold the maximum and the sum of every row. */
void firn_cross_entropy_mean(const firn_kernel_call *call);

/* Computes cross_entropy_backward for rows that may be some of those of a batch: its mean was over the rows of `batch`.
 */
void firn_cross_entropy_gradient(const firn_kernel_call *call, const firn_tensor *batch);

#endif
