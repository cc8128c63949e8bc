/* What the losses of all kernel sets share. Freestanding. */
#ifndef FIRN_KERNELS_LOSSES_H
#define FIRN_KERNELS_LOSSES_H

#include "runtime/kernels/kernels.h"

/* Output 0 of cross_entropy, once the maximum and the sum of every row are in outputs 1 and 2. */
void firn_cross_entropy_mean(const firn_kernel_call *call);

#endif
