/* Sizes of scratch outputs. They are part of the format, because shape rules check them and kernels use them. */
#ifndef FIRN_PLAN_SHAPES_SCRATCH_H
#define FIRN_PLAN_SHAPES_SCRATCH_H

/* The scratch of a sum that threads share has one element for each block of this many elements, in rows of at most
 * FIRN_SCRATCH_SUM_ROW. */
enum { FIRN_SCRATCH_SUM_BLOCK = 4096, FIRN_SCRATCH_SUM_ROW = 1 << 20 };

/* The scratch of a batch norm has sums of runs of this many rows. */
enum { FIRN_SCRATCH_RUN_ROWS = 128 };

#endif
