/* Packs the factors of a product for the register tile: widens them to float32 once, in a layout that the inner loop
 * reads sequentially. Lanes outside the matrix become zeros; their sums are computed but not stored. Terms are never
 * padded. A factor that is rounded as it is read (FIRN_ROUNDED_TO) is rounded here. */
#ifndef FIRN_KERNELS_VECTOR_PACK_H
#define FIRN_KERNELS_VECTOR_PACK_H

#include "runtime/kernels/product.h"
#include "runtime/kernels/vector/vector.h"

/* out[term][lane] with vectors * FIRN_VECTOR floats for each term, starting with element (term, lane) of the matrix.
 * vectors is 1 or 2; lanes is at most vectors * FIRN_VECTOR. */
void firn_vector_pack(float *out, size_t vectors, const firn_matrix *from, size_t first_term, size_t terms,
                      size_t first_lane, size_t lanes);

/* Packs whole panels, one behind the other: out[panel][term][lane] with 2 * FIRN_VECTOR floats for each term. */
void firn_vector_pack_panels(float *out, const firn_matrix *from, size_t first_term, size_t terms, size_t first_lane,
                             size_t panels);

/* out[strip][term][lane] with FIRN_VECTOR floats for each term. A strip has `height` lanes, at most FIRN_VECTOR; the
 * last one has the remaining lanes. The matrix's lanes must be consecutive in memory and at most row_step. Floats
 * beyond the height are undefined; for all terms but the last, lanes that were not requested may be read. At least one
 * term and one lane. */
void firn_vector_pack_strips(float *out, const firn_matrix *from, size_t first_term, size_t terms, size_t first_lane,
                             size_t height, size_t lanes);

/* out[row][term] with out_step floats for each row, starting with element (row, term) of the matrix, whose terms must
 * be consecutive in memory. */
void firn_vector_widen_rows(float *out, size_t out_step, const firn_matrix *from, size_t first_row, size_t rows,
                            size_t first_term, size_t terms);

/* Stores rows of sums, rounded once: row r begins at element index + r * step. NaNs in the sums must be canonical. */
void firn_vector_narrow_rows(void *data, uint8_t type, size_t index, size_t step, const float *sums, size_t sums_step,
                             size_t rows, size_t columns);

/* The same, transposed: (row, column) is stored at element index + column * step + row. sums[r] is row r, at most
 * FIRN_VECTOR rows; bias has a value for each row, or is NULL. */
void firn_vector_narrow_columns(void *data, uint8_t type, size_t index, size_t step, const float *const sums[],
                                size_t rows, size_t columns, const float *bias);

#endif
