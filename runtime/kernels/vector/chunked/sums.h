/* A rectangle of a product with chunked sums, to which terms are added run by run, in ascending order. A number that no
 * run has is a term that is absent for the whole rectangle: it is left out, and counts where chunks end (chunked.h).
 * Nothing here may know of layers, images or threads. */
#ifndef FIRN_KERNELS_VECTOR_CHUNKED_SUMS_H
#define FIRN_KERNELS_VECTOR_CHUNKED_SUMS_H

#include <stdbool.h>

#include "runtime/kernels/product.h"
#include "runtime/kernels/vector/vector.h"

enum {
    FIRN_CHUNKED_ROWS = 64, /* at most; more of either would not be faster */
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

/* Terms that wait: `terms` of them from place `at` on. */
typedef struct firn_chunked_part {
    firn_matrix right; /* of a run */
    size_t at, terms;
    size_t number; /* of a stretch: that of the first term */
    bool ends;     /* of a stretch: its last chunk ends with it */
} firn_chunked_part;

/* Part of a slot. */
typedef struct firn_chunked_sums {
    firn_reduction reduction;
    size_t rows, columns;
    size_t terms; /* that wait */
    bool in_rows; /* the left factor lies row by row, and not term by term in panels of FIRN_CHUNKED_HEIGHT rows */
    /* The waiting terms twice: as runs, and as stretches of successive numbers, of which each may have many runs. */
    firn_chunked_part runs[FIRN_CHUNKED_DEPTH], stretches[FIRN_CHUNKED_DEPTH];
    size_t run_count, stretch_count;
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
