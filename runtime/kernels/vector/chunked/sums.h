/* A rectangle of a product with chunked sums, to which terms are added run by run, in ascending order. A number that no
 * run has is a term that is absent for the whole rectangle: it is left out, and counts where chunks end (chunked.h).
 * Nothing here may know of layers, images or threads. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_SUMS_H
#define FIRN_KERNELS_VECTOR_CHUNKED_SUMS_H

#include <stdbool.h>

#include "runtime/kernels/product.h"
#include "runtime/kernels/vector/vector.h"

enum {
    FIRN_CHUNKED_ROWS = 128, /* at most; more of either would not be faster */
    FIRN_CHUNKED_COLUMNS = 256,
    FIRN_CHUNKED_HEIGHT = FIRN_VECTOR, /* rows and columns that are packed together */
    FIRN_CHUNKED_WIDTH = 2 * FIRN_VECTOR,
    FIRN_CHUNKED_DEPTH = 256,   /* terms that wait, at most */
    FIRN_CHUNKED_LEFT_GAP = 16, /* floats between rows of terms, so that they do not share cache sets */
    FIRN_CHUNKED_COST = 4       /* multiplications that take as long as one operation on an element (FIRN_GRAIN) */
};

/* Terms with successive numbers, and their factors from the first one on. */
typedef struct firn_chunked_terms {
    size_t number, terms;
    firn_matrix left, right; /* (row, term) and (term, column) */
    const size_t *places; /* row r of `left` begins at element first + places[r], not first + r * row_step; or NULL */
} firn_chunked_terms;

/* The right factor of a run that waits. */
typedef struct firn_chunked_right {
    firn_matrix matrix;
    size_t at, terms; /* its place among the terms that wait */
} firn_chunked_right;

/* Part of a slot. */
typedef struct firn_chunked_sums {
    firn_reduction reduction;
    size_t rows, columns;
    size_t terms; /* that wait */
    size_t last;  /* the number of the last term that was added, if there is one */
    bool in_rows; /* the left factor lies row by row, and not term by term in panels of FIRN_CHUNKED_HEIGHT rows */
    firn_chunked_right runs[FIRN_CHUNKED_DEPTH];
    size_t cuts[FIRN_CHUNKED_DEPTH]; /* the terms that wait in front of which chunks end, ascending */
    size_t run_count, cut_count;
    float left[FIRN_CHUNKED_ROWS * (FIRN_CHUNKED_DEPTH + FIRN_CHUNKED_LEFT_GAP)];
    float right[FIRN_CHUNKED_WIDTH * FIRN_CHUNKED_DEPTH];
    float sums[FIRN_CHUNKED_ROWS * FIRN_CHUNKED_COLUMNS];
    float totals[FIRN_CHUNKED_ROWS * FIRN_CHUNKED_COLUMNS]; /* (row, column) at row * FIRN_CHUNKED_COLUMNS + column */
} firn_chunked_sums;

/* Sums and totals begin at +0. The caller may then set the totals to something else. */
void firn_chunked_sums_begin(firn_chunked_sums *sums, const firn_reduction *reduction, size_t rows, size_t columns);

/* Adds a run with at least one term. All runs of a sum have their left factors in the same order in memory. What
 * `right` points to must stay until the end. */
void firn_chunked_sums_add(firn_chunked_sums *sums, const firn_chunked_terms *run);

/* Completes the totals, which may have NaNs with any payload. */
void firn_chunked_sums_end(firn_chunked_sums *sums);

#endif
