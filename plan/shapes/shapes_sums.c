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
    firn_shape sum; /* one after the other: the stack of firn_open is deepest here */
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
    set_reduced(&sum, dx, axes, true);
    if (same_extents(dy, &sum))
        return FIRN_OK;
    set_reduced(&sum, dx, axes, false);
    return same_extents(dy, &sum) ? FIRN_OK : FIRN_ERROR_OP_SHAPE;
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

int firn_shape_top_k(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[FIRN_TOP_K_IN_X];
    firn_shape *y = &s->outputs[FIRN_TOP_K_OUT_Y];
    const uint8_t last = (uint8_t)(x->rank - 1);
    if (s->integers[FIRN_TOP_K_COUNT] > x->dims[last])
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (x->dims[last] > INT32_MAX)
        return FIRN_ERROR_OP_SHAPE;
    firn_shape_set(y, x->rank, x->dims);
    y->dims[last] = (uint32_t)s->integers[FIRN_TOP_K_COUNT];
    return FIRN_OK;
}

/* --- attention of separate queries, keys and values -------------------------------------------------------------- */

#define AS_FORWARD(NAME) ((int)FIRN_CROSS_ATTENTION_BACKWARD_##NAME == (int)FIRN_CROSS_ATTENTION_##NAME)
_Static_assert(AS_FORWARD(HEADS) && AS_FORWARD(KV_HEADS) && AS_FORWARD(HALF_SOFTMAX) && AS_FORWARD(ROWS),
               "both directions have the same attributes");

/* The operands that both directions have. */
typedef struct cross_inputs {
    const firn_shape *query, *key, *value;
    uint8_t mask, slopes; /* positions */
} cross_inputs;

/* Whether a mask, if the op has one, is [B or 1, heads or 1, T, S]. */
static bool is_mask(const firn_op_signature *s, const cross_inputs *in, uint32_t heads) {
    const firn_shape *mask = &s->inputs[in->mask];
    if (!has_input(s, in->mask))
        return true;
    return mask->rank == 4 && (mask->dims[0] == in->query->dims[0] || mask->dims[0] == 1) &&
           (mask->dims[1] == heads || mask->dims[1] == 1) && mask->dims[2] == in->query->dims[1] &&
           mask->dims[3] == in->key->dims[1];
}

/* Checks what both directions have in common; sets the number of query heads. */
static int check_cross(const firn_op_signature *s, const cross_inputs *in, uint32_t *heads) {
    const int64_t query_heads = s->integers[FIRN_CROSS_ATTENTION_HEADS];
    const int64_t key_heads = s->integers[FIRN_CROSS_ATTENTION_KV_HEADS];
    if (key_heads < 1 || key_heads > query_heads || query_heads % key_heads != 0)
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (s->integers[FIRN_CROSS_ATTENTION_HALF_SOFTMAX] == 1 && !firn_type_is_half(in->query->type))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (in->query->rank != 3 || in->key->rank != 3 || !same_extents(in->key, in->value) ||
        in->key->dims[0] != in->query->dims[0] || in->query->dims[2] % query_heads != 0 ||
        in->key->dims[2] % key_heads != 0 || in->query->dims[2] / query_heads != in->key->dims[2] / key_heads)
        return FIRN_ERROR_OP_SHAPE;
    *heads = (uint32_t)query_heads;
    const bool has_slopes = has_input(s, in->slopes);
    if (!is_mask(s, in, *heads) || (has_slopes && !is_vector(&s->inputs[in->slopes], FIRN_FLOAT32, *heads)))
        return FIRN_ERROR_OP_SHAPE;
    return FIRN_OK;
}

int firn_shape_cross_attention(firn_op_signature *s) {
    const cross_inputs in = {&s->inputs[FIRN_CROSS_ATTENTION_IN_QUERY], &s->inputs[FIRN_CROSS_ATTENTION_IN_KEY],
                             &s->inputs[FIRN_CROSS_ATTENTION_IN_VALUE], FIRN_CROSS_ATTENTION_IN_MASK,
                             FIRN_CROSS_ATTENTION_IN_SLOPES};
    uint32_t heads = 0;
    const int error = check_cross(s, &in, &heads);
    if (error != FIRN_OK)
        return error;
    const uint32_t batch = in.query->dims[0], rows[] = {batch, heads, in.query->dims[1]};
    const uint32_t scratch[] = {batch, heads, (uint32_t)s->integers[FIRN_CROSS_ATTENTION_ROWS], in.key->dims[1]};
    set_like(&s->outputs[FIRN_CROSS_ATTENTION_OUT_Y], in.query);
    firn_shape_set(&s->outputs[FIRN_CROSS_ATTENTION_OUT_ROW_MAX], 3, rows);
    firn_shape_set(&s->outputs[FIRN_CROSS_ATTENTION_OUT_ROW_SUM], 3, rows);
    firn_shape_set(&s->outputs[FIRN_CROSS_ATTENTION_OUT_SCRATCH], 4, scratch);
    return FIRN_OK;
}

int firn_shape_cross_attention_backward(firn_op_signature *s) {
    const cross_inputs in = {&s->inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_QUERY],
                             &s->inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_KEY],
                             &s->inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_VALUE], FIRN_CROSS_ATTENTION_BACKWARD_IN_MASK,
                             FIRN_CROSS_ATTENTION_BACKWARD_IN_SLOPES};
    uint32_t heads = 0;
    const int error = check_cross(s, &in, &heads);
    if (error != FIRN_OK)
        return error;
    const uint32_t batch = in.query->dims[0], queries = in.query->dims[1], keys = in.key->dims[1];
    const firn_shape rows = {.rank = 3, .dims = {batch, heads, queries}};
    if (!same_extents(&s->inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_DY], in.query) ||
        !same_extents(&s->inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_ROW_MAX], &rows) ||
        !same_extents(&s->inputs[FIRN_CROSS_ATTENTION_BACKWARD_IN_ROW_SUM], &rows))
        return FIRN_ERROR_OP_SHAPE;
    const uint32_t scratch[] = {batch, heads, 2 * (uint32_t)s->integers[FIRN_CROSS_ATTENTION_BACKWARD_ROWS] + 1,
                                keys > queries ? keys : queries};
    firn_shape_set(&s->outputs[FIRN_CROSS_ATTENTION_BACKWARD_OUT_SCRATCH], 4, scratch);
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
