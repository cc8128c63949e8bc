/* The products of a matmul: one for each batch, described like that of a linear layer without a bias. Freestanding. */
#ifndef FIRN_KERNELS_REDUCE_MATMUL_H
#define FIRN_KERNELS_REDUCE_MATMUL_H

#include "runtime/kernels/linear.h"

typedef struct firn_matmul {
    firn_product product; /* of the first batch */
    size_t batches;
    size_t left_elements, right_elements, out_elements; /* of a batch */
    const firn_tensor *out;
} firn_matmul;

/* Describes a call. The operands remain owned by it. */
void firn_matmul_of(firn_matmul *matmul, const firn_kernel_call *call);

/* Describes the product of one batch; its output is placed in *out, to which *linear points. */
void firn_matmul_batch(const firn_matmul *matmul, size_t batch, firn_linear *linear, firn_tensor *out);

#endif
