/* The product of one row with a weight: the linear layers of a text that is decoded token by token. Every element of
 * the weight is used once, so the time is that of reading it. Same sums as runtime/kernels/vector/product.h, so same
 * bits. */
#ifndef FIRN_KERNELS_VECTOR_TOKEN_ROW_H
#define FIRN_KERNELS_VECTOR_TOKEN_ROW_H

#include "runtime/kernels/linear.h"

/* Returns true for a forward product of one row with sums in float32, of factors of any real type. */
bool firn_row_is_alone(uint16_t op, const firn_linear *linear);

/* Computes such a product. A thread needs a slot of so many bytes. */
void firn_row_multiply(const firn_kernel_call *call, const firn_linear *linear);
uint64_t firn_row_scratch(const firn_linear *linear);

#endif
