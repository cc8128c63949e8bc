/* The loss of logits by blocks of rows, for all kernel sets: the order of its parts, which are kernels of other ops.
 * Freestanding. */
#ifndef FIRN_KERNELS_LINEAR_CROSS_ENTROPY_H
#define FIRN_KERNELS_LINEAR_CROSS_ENTROPY_H

#include "runtime/kernels/kernels.h"

/* The kernels that compute a block. */
typedef struct firn_logit_kernels {
    firn_kernel linear, backward_input, backward_weight, add_weight;
    firn_kernel cross_entropy;
    void (*gradient)(const firn_kernel_call *call, const firn_tensor *batch); /* firn_cross_entropy_gradient */
} firn_logit_kernels;

void firn_linear_cross_entropy(const firn_kernel_call *call, const firn_logit_kernels *kernels);

/* A product of a block, as the call of its own op. Not to be copied: it points into itself. */
typedef struct firn_logit_product {
    firn_kernel_call call;
    firn_tensor operands[3];
    uint32_t x_dims[2], logits_dims[2];
} firn_logit_product;

/* Fills in the call of linear, linear_backward_input, linear_backward_weight or FIRN_KERNEL_ADD_WEIGHT for the block
 * that begins with a row. */
void firn_logit_product_of(firn_logit_product *product, uint16_t op, const firn_kernel_call *call, size_t first);

#endif
