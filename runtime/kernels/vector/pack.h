/* Factors of a product made ready for the register tile: widened to float32 once, and laid out so that the inner loop
 * reads straight on. Lanes that the matrix does not have become zeros: their sums are computed and never stored. Terms
 * are never padded. */
#ifndef FIRN_KERNELS_VECTOR_PACK_H
#define FIRN_KERNELS_VECTOR_PACK_H

#include "runtime/kernels/product.h"
#include "runtime/kernels/vector/vector.h"

/* out[term][lane], vectors * FIRN_VECTOR floats to a term, from element (term, lane) of the matrix; vectors is 1 or 2,
 * lanes at most vectors * FIRN_VECTOR. */
void firn_vector_pack(float *out, size_t vectors, const firn_matrix *from, size_t first_term, size_t terms,
                      size_t first_lane, size_t lanes);

/* out[strip][term][lane], FIRN_VECTOR floats to a term: strips of `height` lanes, at most FIRN_VECTOR, the last of what
 * is left. The matrix's lanes are neighbours, and no more of them than its row_step. Floats beyond the height are
 * anything: of all terms but the last one, lanes that were not asked for may be read. At least one term and one lane.
 */
void firn_vector_pack_strips(float *out, const firn_matrix *from, size_t first_term, size_t terms, size_t first_lane,
                             size_t height, size_t lanes);

/* out[row][term], out_step floats to a row, from element (row, term) of the matrix, whose terms are neighbours. */
void firn_vector_widen_rows(float *out, size_t out_step, const firn_matrix *from, size_t first_row, size_t rows,
                            size_t first_term, size_t terms);

/* Elements from index on become the rows of sums, whose NaNs are canonical, rounded once: row r at index + r * step. */
void firn_vector_narrow_rows(void *data, uint8_t type, size_t index, size_t step, const float *sums, size_t sums_step,
                             size_t rows, size_t columns);

/* The same the other way: the element of (row, column) is at index + column * step + row. sums[r] is row r, of at most
 * FIRN_VECTOR; bias has a value for each row, or is NULL. */
void firn_vector_narrow_columns(void *data, uint8_t type, size_t index, size_t step, const float *const sums[],
                                size_t rows, size_t columns, const float *bias);

#endif
