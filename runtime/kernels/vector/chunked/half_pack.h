/* Packs float16 factors for native.c and half_attention.c as they are, not by way of float32. The matrices are of type
 * float16; columns may also be of floats that are rounded to it. At least one term and one lane; no memory outside the
 * matrix is read. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_HALF_PACK_H
#define FIRN_KERNELS_VECTOR_CHUNKED_HALF_PACK_H

#include "runtime/kernels/product.h"
#include "runtime/kernels/vector/chunked/half_vector.h"

/* Packs strips of `height` lanes, at most FIRN_VECTOR, each `step` factors behind the one before: strip[term][lane]
 * with FIRN_VECTOR factors for each term, starting with element (term, lane) of the matrix. Lanes beyond the last
 * become zeros; those of a strip beyond its height are not used. */
void firn_half_pack_rows(firn_half_factor *out, size_t height, size_t step, const firn_matrix *from, size_t first_term,
                         size_t terms, size_t first_lane, size_t lane_count);

/* Packs right factors as panels of `width` columns, a multiple of 2 FIRN_VECTOR, each `step` halves behind the one
 * before: panel[term][column]. The last is filled with zeros up to a multiple of 2 FIRN_VECTOR. */
void firn_half_pack_columns(uint16_t *out, size_t width, size_t step, const firn_matrix *from, size_t first_term,
                            size_t terms, size_t first_column, size_t columns);

#endif
