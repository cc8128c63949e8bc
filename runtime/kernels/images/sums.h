/* Sums of products whose terms are not the same for all outputs, as convolutions have them: a tile of outputs, rows by
 * lanes, to which runs of terms are added in ascending order. A run belongs to the rows that have its terms; the others
 * leave it out. Nothing here knows of images. Freestanding. */
#ifndef FIRN_KERNELS_IMAGES_SUMS_H
#define FIRN_KERNELS_IMAGES_SUMS_H

#include <stdbool.h>

#include "runtime/kernels/kernels.h"
#include "runtime/numerics/numerics.h"

enum { FIRN_SUMS_ROWS = FIRN_VECTORS ? 8 : 4, FIRN_SUMS_LANES = 16 };

/* In place of left_first: the row lacks the terms of the run. In place of right_first, where sums are flushed: the
 * right factor is not there, so all rows lack them. */
#define FIRN_NO_TERMS SIZE_MAX

/* Terms k to k + count - 1. Term t of row r is the product of the left factor's element left_first[r] + t * left_step
 * and, for lane l, the right factor's element right_first + t * right_step + l * right_lane_step. With own_lanes lane l
 * has a left factor of its own, which lies l elements behind that of lane 0. */
typedef struct firn_run {
    const firn_tensor *left, *right;
    size_t k, count;
    size_t left_first[FIRN_SUMS_ROWS], left_step;
    size_t right_first, right_step, right_lane_step;
    bool own_lanes;
} firn_run;

typedef struct firn_sums {
    firn_reduction reduction;
    size_t rows, lanes; /* at most FIRN_SUMS_ROWS and FIRN_SUMS_LANES */
    size_t chunk;       /* chunked: the chunk of the terms in part[0]; flushed: the terms of the block so far */
    float values[FIRN_SUMS_ROWS][FIRN_SUMS_LANES];
    float part[2][FIRN_SUMS_ROWS][FIRN_SUMS_LANES]; /* flushed: even and odd terms */
    bool present[FIRN_SUMS_ROWS];                   /* flushed: the row has a term of the block */
    bool own_lanes;                                 /* flushed: those of the runs */
} firn_sums;

/* Returns true if runs must have every term, from k = 0 on, those too that no row has. */
static inline bool firn_sums_take_all(const firn_sums *sums) {
    return firn_reduction_is_flushed(sums->reduction.kind);
}

void firn_sums_begin(firn_sums *sums, const firn_reduction *reduction, size_t rows, size_t lanes);

/* Adds the terms of a run; k must ascend from run to run. */
void firn_sums_add(firn_sums *sums, const firn_run *run);

/* Completes `values`, which are not yet rounded to the output type. */
void firn_sums_end(firn_sums *sums);

#endif
