/* The float32 product with AVX-512: the same sums as runtime/kernels/product.h, term by term, hence the same bits.
 * Every output is one lane of one register, to which fma(left, right, sum) is done for each term in ascending order;
 * between blocks of terms the sums are kept as float32, which rounds nothing. x86 with AVX-512 only. */
#ifndef FIRN_KERNELS_X86_PRODUCT_H
#define FIRN_KERNELS_X86_PRODUCT_H

#include <stdbool.h>

#include "runtime/kernels/linear.h"

/* Whether the product is of the kind that this file computes: all terms, float32 sums. */
bool firn_avx512_can_multiply(const firn_product *product);

/* Computes and stores the whole of it, split among threads. */
void firn_avx512_multiply(const firn_linear *linear, const firn_parallel *parallel);

#endif
