/* The shape rules, one for each op of plan/ops.def (shapes_layers.c, shapes_losses.c, shapes_training.c). Only
 * plan/ops.c calls them, through firn_op_infer, after it has checked that counts are the table's and that every input
 * is whole. */
#ifndef FIRN_PLAN_SHAPES_H
#define FIRN_PLAN_SHAPES_H

#include "plan/ops.h"

/* Rows of T floats that attention has as scratch for each head: a block of 16 queries at a time; backward keeps scores
 * and their gradient, and one number for each query. */
enum { FIRN_SCRATCH_ATTENTION = 16, FIRN_SCRATCH_ATTENTION_BACKWARD = 33 };
/* A sum that threads share has a number of scratch for each block of this many elements, in rows of at most so many. */
enum { FIRN_SCRATCH_SUM_BLOCK = 4096, FIRN_SCRATCH_SUM_ROW = 1 << 20 };

/* Each returns FIRN_OK or FIRN_ERROR_OP_ATTRIBUTE or _OP_SHAPE and, on FIRN_OK, has filled rank and dims of every
 * output. The extents of an output may still be too many elements to count: the caller looks. */
#define FIRN_OP(name, code, inputs_min, inputs_max, outputs, integers, reals, reductions, in_place, changes, indices,  \
                autocast, pol, gradient)                                                                               \
    int firn_shape_##name(firn_op_signature *signature);
#include "plan/ops.def"
#undef FIRN_OP

#endif
