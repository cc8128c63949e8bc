/* Packing for the AVX-512 product: a panel of 16 or 32 lanes (rows of the left factor, columns of the right one) is
 * widened to float32 and laid out term by term, so that the inner loop reads straight on. Lanes that the matrix does
 * not have become zeros: their sums are computed and never stored. Terms are never padded. x86 with AVX-512 only. */
#ifndef FIRN_KERNELS_X86_PACK_H
#define FIRN_KERNELS_X86_PACK_H

#include "runtime/kernels/product.h"
#include "runtime/kernels/x86/vector.h"

/* out[term][lane], vectors * 16 floats to a term, from element (term, lane) of the matrix; lanes <= vectors * 16. */
void firn_vector_pack(float *out, size_t vectors, const firn_matrix *from, size_t first_term, size_t terms,
                      size_t first_lane, size_t lanes);

#endif
