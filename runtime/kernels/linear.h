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

/* What the call of one of the three ops asks for. The operands stay the call's. */
firn_linear firn_linear_forward(const firn_kernel_call *call);
firn_linear firn_linear_backward_input(const firn_kernel_call *call);
firn_linear firn_linear_backward_weight(const firn_kernel_call *call);

#endif
