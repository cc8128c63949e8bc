/* Sizes of the scratch that ops have as outputs: they are part of the format, as shape rules check them and kernels use
 * them. */
#ifndef FIRN_PLAN_SHAPES_SCRATCH_H
#define FIRN_PLAN_SHAPES_SCRATCH_H

/* Rows of T floats that attention has as scratch for each head: a block of 16 queries at a time; backward keeps scores
 * and their gradient, and one number for each query. */
enum { FIRN_SCRATCH_ATTENTION = 16, FIRN_SCRATCH_ATTENTION_BACKWARD = 33 };
/* A sum that threads share has a number of scratch for each block of this many elements, in rows of at most so many. */
enum { FIRN_SCRATCH_SUM_BLOCK = 4096, FIRN_SCRATCH_SUM_ROW = 1 << 20 };

#endif
