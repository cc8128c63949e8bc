/* Sizes of scratch outputs. They are part of the format, because shape rules check them and kernels use them. */
#ifndef FIRN_PLAN_SHAPES_SCRATCH_H
#define FIRN_PLAN_SHAPES_SCRATCH_H

/* Attention's scratch for each head, in rows of T floats: a block of 16 queries at a time. The backward op keeps the
 * scores, their gradient, and one number for each query. */
enum { FIRN_SCRATCH_ATTENTION = 16, FIRN_SCRATCH_ATTENTION_BACKWARD = 33 };
/* The scratch of a sum that threads share has one element for each block of this many elements, in rows of at most
 * FIRN_SCRATCH_SUM_ROW. */
enum { FIRN_SCRATCH_SUM_BLOCK = 4096, FIRN_SCRATCH_SUM_ROW = 1 << 20 };

#endif
