/* Convolutions with chunked sums, computed with the rectangles of sums.h: the same terms in the same order as
 * runtime/kernels/images/conv.c. Those with one input and one output in each group are left to that. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_CONV_H
#define FIRN_KERNELS_VECTOR_CHUNKED_CONV_H

#include "runtime/kernels/kernels.h"

/* The three ops, only for chunked sums, and their scratch. */
uint64_t firn_chunked_conv_scratch(uint16_t op, const firn_kernel_call *call);
void firn_chunked_conv(const firn_kernel_call *call);
void firn_chunked_conv_backward_input(const firn_kernel_call *call);
uint64_t firn_chunked_conv_weight_scratch(uint16_t op, const firn_kernel_call *call);
void firn_chunked_conv_backward_weight(const firn_kernel_call *call);

#endif
