/* The three products of a linear layer, described as matrices. Freestanding. */
#ifndef FIRN_KERNELS_LINEAR_H
#define FIRN_KERNELS_LINEAR_H

#include "runtime/kernels/product.h"

/* out = product + bias, rounded once. */
typedef struct firn_linear {
    firn_product product;
    const firn_tensor *bias; /* one value for each column; NULL: no bias */
    const firn_tensor *out;
} firn_linear;

/* Describes the product of a call of one of the ops of a linear layer. The result is written in place, because copying
 * the struct takes noticeable time for a small layer. The operands remain owned by the call. */
void firn_linear_of(firn_linear *job, uint16_t op, const firn_kernel_call *call);

#endif
