/* The products of linear layers with chunked sums, on the tiles of chunked.h. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_PRODUCT_H
#define FIRN_KERNELS_VECTOR_CHUNKED_PRODUCT_H

#include "runtime/kernels/kernels.h"

/* The linear layer's three ops, with chunked sums and no others, and the scratch of each. */
uint64_t firn_chunked_scratch(uint16_t op, const firn_kernel_call *call);
void firn_chunked_linear(const firn_kernel_call *call);
void firn_chunked_linear_backward_input(const firn_kernel_call *call);
void firn_chunked_linear_backward_weight(const firn_kernel_call *call);

#endif
