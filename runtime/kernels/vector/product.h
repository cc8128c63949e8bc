/* The float32 product in vectors: the same sums as runtime/kernels/product.h, term by term, hence the same bits. Every
 * output is one lane of one register, to which fma(left, right, sum) is done for each term in ascending order; between
 * blocks of terms the sums are kept as float32, which rounds nothing. Factors lie where they are, in either direction,
 * in any real type: no transposed or widened copy of a tensor is made. */
#ifndef FIRN_KERNELS_VECTOR_PRODUCT_H
#define FIRN_KERNELS_VECTOR_PRODUCT_H

#include "runtime/kernels/linear.h"

/* The linear layer's three ops, with sums in float32 and no others, and the scratch of each: the panels, the widened
 * rows and the waiting sums of one piece, as the call's threads cut the product. */
uint64_t firn_vector_linear_scratch(uint16_t op, const firn_kernel_call *call);
void firn_vector_linear(const firn_kernel_call *call);
void firn_vector_linear_backward_input(const firn_kernel_call *call);
void firn_vector_linear_backward_weight(const firn_kernel_call *call);

#endif
