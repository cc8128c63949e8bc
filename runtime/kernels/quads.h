/* Sums of products in scalar registers, four by four: the inner loops of the matrix product of a core without vectors.
 * Nothing here knows of tiles, types or reductions. Freestanding. */
#ifndef FIRN_KERNELS_QUADS_H
#define FIRN_KERNELS_QUADS_H

#include <stdbool.h>

#include "runtime/numerics/numerics.h"

/* A part of a factor, as floats. A lane is a row of the left factor or a column of the right one. */
typedef struct firn_strip {
    const float *at; /* first lane, first term */
    size_t lane_step, term_step;
} firn_strip;

/* Strips of both factors that have the same terms. */
typedef struct firn_quads {
    firn_strip left, right;
    size_t terms;
} firn_quads;

/* Adds all terms, in ascending order, to the sums of at most four rows and any number of columns; with `begins` to
 * zeros in place of what the sums were. Rows of sums lie `step` apart. The returned watch covers all results. */
firn_nan_watch firn_quads_add(const firn_quads *quads, size_t rows, size_t columns, float *sums, size_t step,
                              bool begins);

#endif
