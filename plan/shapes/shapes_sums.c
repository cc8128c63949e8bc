/* Own rules (plan/shapes/shape_rules.h) of sums, maxima and their places along dimensions, and of products of batches.
 * Freestanding. */
#include "plan/shapes/shape_rules.h"

/* --- along dimensions ------------------------------------------------------------------------------------------- */

_Static_assert((int)FIRN_REDUCE_SUM_IN_X == (int)FIRN_REDUCE_MAX_IN_X &&
                   (int)FIRN_REDUCE_SUM_OUT_Y == (int)FIRN_REDUCE_MAX_OUT_Y &&
                   (int)FIRN_REDUCE_SUM_AXES == (int)FIRN_REDUCE_MAX_AXES &&
                   (int)FIRN_REDUCE_SUM_KEEP == (int)FIRN_REDUCE_MAX_KEEP &&
                   (int)FIRN_REDUCE_SUM_AXES == (int)FIRN_REDUCE_MAX_BACKWARD_AXES &&
                   (int)FIRN_REDUCE_SUM_KEEP == (int)FIRN_REDUCE_MAX_BACKWARD_KEEP,
               "one rule for both, and the attributes of their gradients");

/* Adds a dimension to a shape. */
static void append(firn_shape *shape, uint32_t extent) {
    shape->dims[shape->rank++] = extent;
}

/* A shape without dimensions is [1]. */
static void complete(firn_shape *shape) {
    if (shape->rank == 0)
        append(shape, 1);
}

/* Whether axes names at least one dimension of x, and none that x does not have. */
static bool are_axes(int64_t axes, const firn_shape *x) {
    return axes >= 1 && axes < (int64_t)1 << x->rank;
}

/* Sets y to x with an extent of 1 in the dimensions of axes, or without these. */
static void set_reduced(firn_shape *y, const firn_shape *x, int64_t axes, bool keep) {
    firn_shape_set(y, 0, x->dims);
    for (uint8_t d = 0; d < x->rank; d++) {
        const bool reduced = (axes >> d & 1) != 0;
        if (!reduced || keep)
            append(y, reduced ? 1 : x->dims[d]);
    }
    complete(y);
}

int firn_shape_reduce(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[FIRN_REDUCE_SUM_IN_X];
    if (!are_axes(s->integers[FIRN_REDUCE_SUM_AXES], x))
        return FIRN_ERROR_OP_ATTRIBUTE;
    set_reduced(&s->outputs[FIRN_REDUCE_SUM_OUT_Y], x, s->integers[FIRN_REDUCE_SUM_AXES],
                s->integers[FIRN_REDUCE_SUM_KEEP] == 1);
    return FIRN_OK;
}

/* dy has the extents of the sum, either with those that were summed or without them. */
int firn_shape_reduce_sum_backward(firn_op_signature *s) {
    const firn_shape *dy = &s->inputs[FIRN_REDUCE_SUM_BACKWARD_IN_DY];
    firn_shape *dx = &s->outputs[FIRN_REDUCE_SUM_BACKWARD_OUT_DX];
    firn_shape kept, gone;
    int64_t axes = 0;
    firn_shape_set(dx, 0, dy->dims);
    for (uint8_t d = 0; d < FIRN_RANK_MAX; d++) {
        const int64_t extent = s->integers[FIRN_REDUCE_SUM_BACKWARD_D0 + d];
        if (extent == 0)
            continue;
        if (dx->rank != d || extent < -(int64_t)UINT32_MAX || extent > (int64_t)UINT32_MAX)
            return FIRN_ERROR_OP_ATTRIBUTE;
        axes |= (int64_t)(extent < 0) << d;
        append(dx, (uint32_t)(extent < 0 ? -extent : extent));
    }
    if (axes == 0)
        return FIRN_ERROR_OP_ATTRIBUTE;
    set_reduced(&kept, dx, axes, true);
    set_reduced(&gone, dx, axes, false);
    return same_extents(dy, &kept) || same_extents(dy, &gone) ? FIRN_OK : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_reduce_max_backward(firn_op_signature *s) {
    const firn_shape *dy = &s->inputs[FIRN_REDUCE_MAX_BACKWARD_IN_DY], *x = &s->inputs[FIRN_REDUCE_MAX_BACKWARD_IN_X];
    firn_shape y;
    if (!are_axes(s->integers[FIRN_REDUCE_MAX_BACKWARD_AXES], x))
        return FIRN_ERROR_OP_ATTRIBUTE;
    set_reduced(&y, x, s->integers[FIRN_REDUCE_MAX_BACKWARD_AXES], s->integers[FIRN_REDUCE_MAX_BACKWARD_KEEP] == 1);
    return same_extents(dy, &y) && same_extents(&s->inputs[FIRN_REDUCE_MAX_BACKWARD_IN_Y], &y) ? FIRN_OK
                                                                                               : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_arg_max(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[FIRN_ARG_MAX_IN_X];
    const int64_t axis = s->integers[FIRN_ARG_MAX_AXIS];
    if (axis < 0 || axis >= x->rank)
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (x->dims[axis] > INT32_MAX)
        return FIRN_ERROR_OP_SHAPE;
    set_reduced(&s->outputs[FIRN_ARG_MAX_OUT_Y], x, (int64_t)1 << axis, false);
    return FIRN_OK;
}

/* --- products of batches ---------------------------------------------------------------------------------------- */

int firn_shape_matmul(firn_op_signature *s) {
    const firn_shape *a = &s->inputs[FIRN_MATMUL_IN_A], *b = &s->inputs[FIRN_MATMUL_IN_B];
    const bool turned_a = s->integers[FIRN_MATMUL_TRANSPOSE_A] == 1,
               turned_b = s->integers[FIRN_MATMUL_TRANSPOSE_B] == 1;
    if (a->rank < 2 || b->rank != a->rank)
        return FIRN_ERROR_OP_SHAPE;
    for (uint8_t d = 0; d + 2 < a->rank; d++) {
        if (a->dims[d] != b->dims[d])
            return FIRN_ERROR_OP_SHAPE;
    }
    const uint32_t *last_a = &a->dims[a->rank - 2], *last_b = &b->dims[b->rank - 2];
    if (last_a[turned_a ? 0 : 1] != last_b[turned_b ? 1 : 0])
        return FIRN_ERROR_OP_SHAPE;
    firn_shape *y = &s->outputs[FIRN_MATMUL_OUT_Y];
    set_like(y, a);
    y->dims[y->rank - 2] = last_a[turned_a ? 1 : 0];
    y->dims[y->rank - 1] = last_b[turned_b ? 0 : 1];
    return FIRN_OK;
}
