/* Which elements of a convolution's windows have a term, and the terms of flushed sums (plan/NUMERICS.md,
 * "Reductions"): a block of which an output has a term is whole, with +0 for the factors outside of the image, and a
 * block of which it has none is left out. Rows of factors are gathered with these zeros. Nothing here may compute a
 * sum. */
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

/* Terms that lie side by side in memory: `from` elements behind the first term of the window that is there. */
typedef struct firn_term_copy {
    size_t to, count;
    ptrdiff_t from;
} firn_term_copy;

/* Finds the copies that gather the terms of a window, ascending, and returns their number: at most that of the
 * elements. line_step and step: from an element to the one below it and to that beside it. */
size_t firn_window_copies(const firn_window_terms *window, ptrdiff_t line_step, ptrdiff_t step, firn_term_copy *copies);

/* Sets the terms beside the copies to +0, in the blocks that have a term. */
void firn_window_zeros(float *out, const firn_window_terms *window, size_t block, const firn_term_copy *copies,
                       size_t count);

/* Gathers the terms of a window as floats. from: bfloat16, at the first term that is there. Writes nothing else. */
void firn_window_gather(float *out, const firn_term_copy *copies, size_t count, const uint16_t *from);

#endif
