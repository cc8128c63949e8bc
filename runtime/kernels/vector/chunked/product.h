/* The products of linear layers with chunked sums, on the tiles of chunked.h. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_PRODUCT_H
#define FIRN_KERNELS_VECTOR_CHUNKED_PRODUCT_H

#include "runtime/kernels/kernels.h"

/* The linear layer's three ops. Sums of another kind are left to runtime/kernels/vector/product.h. */
void firn_chunked_linear(const firn_kernel_call *call);
void firn_chunked_linear_backward_input(const firn_kernel_call *call);
void firn_chunked_linear_backward_weight(const firn_kernel_call *call);

#endif
