/* The products of linear layers with chunked sums, computed with the tiles of chunked.h. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_PRODUCT_H
#define FIRN_KERNELS_VECTOR_CHUNKED_PRODUCT_H

#include "runtime/kernels/kernels.h"

/* The three ops of a linear layer, only for chunked sums, and their scratch. */
uint64_t firn_chunked_scratch(uint16_t op, const firn_kernel_call *call);
void firn_chunked_linear(const firn_kernel_call *call);
void firn_chunked_linear_backward_input(const firn_kernel_call *call);
void firn_chunked_linear_backward_weight(const firn_kernel_call *call);
void firn_chunked_linear_backward_weight_rows(const firn_kernel_call *call);
void firn_chunked_add_weight(const firn_kernel_call *call); /* FIRN_KERNEL_ADD_WEIGHT */
void firn_chunked_matmul(const firn_kernel_call *call);

#endif
