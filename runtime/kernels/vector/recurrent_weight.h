/* The gradient of a recurrent weight as that of a linear layer over the steps but the first, to which that of the first
 * is added. Whose layers these are is the argument, so that the sets of matrix engines have it, too; no sum of products
 * may be computed here. */
#ifndef FIRN_KERNELS_VECTOR_RECURRENT_WEIGHT_H
#define FIRN_KERNELS_VECTOR_RECURRENT_WEIGHT_H

#include "runtime/kernels/kernels.h"

/* The kernels of linear_backward_weight and linear_backward_weight_rows, and their scratch. */
typedef struct firn_weight_products {
    firn_kernel_scratch scratch;
    firn_kernel backward_weight, backward_weight_rows;
} firn_weight_products;

uint64_t firn_recurrent_weight_scratch(const firn_weight_products *products, const firn_kernel_call *call);
void firn_recurrent_weight(const firn_weight_products *products, const firn_kernel_call *call);

#endif
