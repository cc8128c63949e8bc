/* The float32 product in vectors: the same sums as runtime/kernels/product.h, term by term, and therefore the same
 * bits. Every output is one lane of one register, to which fma(left, right, sum) is applied for each term in ascending
 * order; between blocks of terms the sums are stored as float32, which is exact. The factors may have any real type and
 * either direction in memory; no tensor is transposed or widened as a whole. */
#ifndef FIRN_KERNELS_VECTOR_PRODUCT_H
#define FIRN_KERNELS_VECTOR_PRODUCT_H

#include "runtime/kernels/linear.h"

/* The three ops of a linear layer, only for sums in float32, and their scratch: the panels, the widened rows and the
 * waiting sums of one piece, for the call's number of threads. */
uint64_t firn_vector_linear_scratch(uint16_t op, const firn_kernel_call *call);
void firn_vector_linear(const firn_kernel_call *call);
void firn_vector_linear_backward_input(const firn_kernel_call *call);
void firn_vector_linear_backward_weight(const firn_kernel_call *call);
void firn_vector_linear_backward_weight_rows(const firn_kernel_call *call);
void firn_vector_add_weight(const firn_kernel_call *call); /* FIRN_KERNEL_ADD_WEIGHT */

/* The same for products of batches. */
uint64_t firn_vector_matmul_scratch(uint16_t op, const firn_kernel_call *call);
void firn_vector_matmul(const firn_kernel_call *call);

#endif
