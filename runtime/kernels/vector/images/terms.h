/* Which elements of a convolution's windows have a term, and the terms of flushed sums (plan/NUMERICS.md,
 * "Reductions"): a block of which an output has a term is whole, with +0 for the factors outside of the image, and a
 * block of which it has none is left out. Nothing here may compute a sum. */
#ifndef FIRN_KERNELS_VECTOR_IMAGES_TERMS_H
#define FIRN_KERNELS_VECTOR_IMAGES_TERMS_H

#include <stddef.h>
#include <stdint.h>

/* The elements of a window along one dimension that have a term, and where they lie in the other image. */
typedef struct firn_steps {
    size_t first, step, count; /* elements of the window */
    size_t at;                 /* of the first one */
    ptrdiff_t at_step;
} firn_steps;

/* The elements of a window, of rows times columns elements with `terms` terms each. */
typedef struct firn_window_terms {
    firn_steps rows, columns;
    size_t all_rows, all_columns;
    size_t terms;
} firn_window_terms;

/* Terms that follow each other. */
typedef struct firn_term_run {
    size_t first, count;
} firn_term_run;

/* Finds the runs of blocks that have a term, ascending, and returns their number: at most that of the elements. block:
 * the terms of a block. */
size_t firn_window_runs(const firn_window_terms *window, size_t block, firn_term_run *runs);

#endif
