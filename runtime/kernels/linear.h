/* The three products of a linear layer: which matrix is which. Freestanding. */
#ifndef FIRN_KERNELS_LINEAR_H
#define FIRN_KERNELS_LINEAR_H

#include "runtime/kernels/product.h"

/* out = product + bias, rounded once */
typedef struct firn_linear {
    firn_product product;
    const firn_tensor *bias; /* one value for each column, or NULL */
    const firn_tensor *out;
} firn_linear;

/* What a call of one of the three ops asks for, written where it is wanted: to a small layer, copies are waits that
 * show. The operands stay the call's. */
void firn_linear_of(firn_linear *job, uint16_t op, const firn_kernel_call *call);

#endif
