/* Own rules (plan/shapes/shape_rules.h) of the ops that move elements: views, slices, padding, repetition, gathers and
 * scatters, and cumulative sums. Freestanding. */
#include <string.h>

#include "plan/shapes/shape_rules.h"

/* Kernels move the elements of these types as they are. */
static bool may_be_moved(const firn_shape *shape) {
    return shape->type == FIRN_FLOAT32 || shape->type == FIRN_INT32 || firn_type_is_half(shape->type);
}

static bool is_axis(int64_t axis, const firn_shape *shape) {
    return axis >= 0 && axis < shape->rank;
}

/* Sets an output to the extents of the input, but another one along an axis. */
static void set_along(firn_shape *output, const firn_shape *input, int64_t axis, int64_t extent) {
    set_like(output, input);
    output->dims[axis] = (uint32_t)extent;
}

/* Sets an output to the extents that eight attributes give: as many as are not 0. */
static bool set_given(firn_shape *output, const int64_t *extents) {
    uint32_t rank = 0, dims[FIRN_RANK_MAX] = {0};
    for (uint32_t d = 0; d < FIRN_RANK_MAX; d++) {
        if (!is_word(extents[d], 0) || (extents[d] != 0 && d != rank))
            return false;
        if (extents[d] != 0)
            dims[rank++] = (uint32_t)extents[d];
    }
    firn_shape_set(output, rank, dims);
    return rank != 0;
}

/* --- reshape, transpose ----------------------------------------------------------------------------------------- */

int firn_shape_reshape(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[FIRN_RESHAPE_IN_X];
    firn_shape *y = &s->outputs[FIRN_RESHAPE_OUT_Y];
    uint64_t elements;
    if (!set_given(y, &s->integers[FIRN_RESHAPE_D0]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return may_be_moved(x) && firn_shape_elements(y, &elements) && elements == all_elements(x) ? FIRN_OK
                                                                                               : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_transpose(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[FIRN_TRANSPOSE_IN_X];
    const int64_t order = s->integers[FIRN_TRANSPOSE_ORDER];
    uint32_t dims[FIRN_RANK_MAX], seen = 0;
    if (order < 0 || order >> 4 * x->rank != 0)
        return FIRN_ERROR_OP_ATTRIBUTE;
    for (uint32_t d = 0; d < x->rank; d++) {
        const uint32_t from = (uint32_t)(order >> 4 * d) & 15;
        if (from >= x->rank || (seen >> from & 1) != 0)
            return FIRN_ERROR_OP_ATTRIBUTE;
        seen |= 1u << from;
        dims[d] = x->dims[from];
    }
    firn_shape_set(&s->outputs[FIRN_TRANSPOSE_OUT_Y], x->rank, dims);
    return may_be_moved(x) ? FIRN_OK : FIRN_ERROR_OP_SHAPE;
}

/* --- slice, pad ------------------------------------------------------------------------------------------------- */

_Static_assert((int)FIRN_SLICE_AXIS == (int)FIRN_SLICE_BACKWARD_AXIS &&
                   (int)FIRN_SLICE_FIRST == (int)FIRN_SLICE_BACKWARD_FIRST &&
                   (int)FIRN_SLICE_STEP == (int)FIRN_SLICE_BACKWARD_STEP,
               "both directions say alike what a slice takes");

/* Whether a slice of `count` elements lies within an extent. The step is limited so that no product overflows. */
static bool is_slice_of(const firn_op_signature *s, int64_t count, uint32_t extent) {
    const int64_t first = s->integers[FIRN_SLICE_FIRST], step = s->integers[FIRN_SLICE_STEP];
    if (!is_word(count, 1) || first < 0 || first >= extent || step == 0 || step < -INT32_MAX || step > INT32_MAX)
        return false;
    const int64_t last = first + (count - 1) * step;
    return last >= 0 && last < extent;
}

int firn_shape_slice(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[FIRN_SLICE_IN_X];
    const int64_t axis = s->integers[FIRN_SLICE_AXIS], count = s->integers[FIRN_SLICE_COUNT];
    if (!is_axis(axis, x) || !is_slice_of(s, count, x->dims[axis]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    set_along(&s->outputs[FIRN_SLICE_OUT_Y], x, axis, count);
    return may_be_moved(x) ? FIRN_OK : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_slice_backward(firn_op_signature *s) {
    const firn_shape *dy = &s->inputs[FIRN_SLICE_BACKWARD_IN_DY];
    const int64_t axis = s->integers[FIRN_SLICE_BACKWARD_AXIS], extent = s->integers[FIRN_SLICE_BACKWARD_EXTENT];
    if (!is_axis(axis, dy) || !is_slice_of(s, dy->dims[axis], (uint32_t)extent))
        return FIRN_ERROR_OP_ATTRIBUTE;
    set_along(&s->outputs[FIRN_SLICE_BACKWARD_OUT_DX], dy, axis, extent);
    return FIRN_OK;
}

int firn_shape_pad(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[FIRN_PAD_IN_X];
    const int64_t axis = s->integers[FIRN_PAD_AXIS];
    const int64_t before = s->integers[FIRN_PAD_BEFORE], after = s->integers[FIRN_PAD_AFTER];
    if (!is_axis(axis, x) || !is_word(before, 0) || !is_word(after, 0))
        return FIRN_ERROR_OP_ATTRIBUTE;
    const int64_t extent = before + x->dims[axis] + after;
    if (!is_word(extent, 1))
        return FIRN_ERROR_OP_SHAPE;
    set_along(&s->outputs[FIRN_PAD_OUT_Y], x, axis, extent);
    return FIRN_OK;
}

/* --- expand ----------------------------------------------------------------------------------------------------- */

/* Whether the extents of `small` are those of the last dimensions of `large`, or 1. */
static bool expands_to(const firn_shape *small, const firn_shape *large) {
    if (small->rank > large->rank)
        return false;
    for (uint8_t d = 0; d < small->rank; d++) {
        if (small->dims[d] != 1 && small->dims[d] != large->dims[large->rank - small->rank + d])
            return false;
    }
    return true;
}

int firn_shape_expand(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[FIRN_EXPAND_IN_X];
    if (!set_given(&s->outputs[FIRN_EXPAND_OUT_Y], &s->integers[FIRN_EXPAND_D0]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return may_be_moved(x) && expands_to(x, &s->outputs[FIRN_EXPAND_OUT_Y]) ? FIRN_OK : FIRN_ERROR_OP_SHAPE;
}

/* --- gather ----------------------------------------------------------------------------------------------------- */

/* Extents for an output: the first `kept` of `before`, all of `middle` (NULL: none), and those of `after` from `rest`
 * on.
 */
typedef struct joined {
    const firn_shape *before, *middle, *after;
    uint32_t kept, rest;
} joined;

/* Sets an output to them, or to [1] if there are none. */
static bool set_joined(firn_shape *output, const joined *j) {
    const uint32_t middle = j->middle != NULL ? j->middle->rank : 0, tail = j->after->rank - j->rest;
    const uint32_t rank = j->kept + middle + tail;
    if (rank > FIRN_RANK_MAX)
        return false;
    firn_shape_set(output, j->kept, j->before->dims);
    if (middle > 0)
        memcpy(output->dims + j->kept, j->middle->dims, middle * sizeof output->dims[0]);
    memcpy(output->dims + j->kept + middle, j->after->dims + j->rest, tail * sizeof output->dims[0]);
    if (rank == 0)
        output->dims[0] = 1;
    output->rank = (uint8_t)(rank == 0 ? 1 : rank);
    return true;
}

int firn_shape_gather(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[FIRN_GATHER_IN_X], *ids = &s->inputs[FIRN_GATHER_IN_IDS];
    const int64_t axis = s->integers[FIRN_GATHER_AXIS];
    if (!is_axis(axis, x))
        return FIRN_ERROR_OP_ATTRIBUTE;
    const joined extents = {x, ids, x, (uint32_t)axis, (uint32_t)axis + 1};
    return may_be_moved(x) && set_joined(&s->outputs[FIRN_GATHER_OUT_Y], &extents) ? FIRN_OK : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_gather_backward(firn_op_signature *s) {
    const firn_shape *dy = &s->inputs[FIRN_GATHER_BACKWARD_IN_DY], *ids = &s->inputs[FIRN_GATHER_BACKWARD_IN_IDS];
    const int64_t axis = s->integers[FIRN_GATHER_BACKWARD_AXIS];
    const firn_shape extent = {.rank = 1, .dims = {(uint32_t)s->integers[FIRN_GATHER_BACKWARD_EXTENT]}};
    if (axis < 0 || axis > dy->rank - ids->rank)
        return FIRN_ERROR_OP_ATTRIBUTE;
    for (uint32_t d = 0; d < ids->rank; d++) {
        if (dy->dims[axis + d] != ids->dims[d])
            return FIRN_ERROR_OP_SHAPE;
    }
    const joined extents = {dy, &extent, dy, (uint32_t)axis, (uint32_t)axis + ids->rank};
    return set_joined(&s->outputs[FIRN_GATHER_BACKWARD_OUT_DX], &extents) ? FIRN_OK : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_gather_elements(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[FIRN_GATHER_ELEMENTS_IN_X], *ids = &s->inputs[FIRN_GATHER_ELEMENTS_IN_IDS];
    const int64_t axis = s->integers[FIRN_GATHER_ELEMENTS_AXIS];
    firn_shape along;
    if (!is_axis(axis, x))
        return FIRN_ERROR_OP_ATTRIBUTE;
    set_along(&along, x, axis, ids->dims[axis]);
    set_like(&s->outputs[FIRN_GATHER_ELEMENTS_OUT_Y], ids);
    return may_be_moved(x) && same_extents(ids, &along) ? FIRN_OK : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_gather_elements_backward(firn_op_signature *s) {
    const firn_shape *dy = &s->inputs[FIRN_GATHER_ELEMENTS_BACKWARD_IN_DY];
    const int64_t axis = s->integers[FIRN_GATHER_ELEMENTS_BACKWARD_AXIS];
    if (!is_axis(axis, dy))
        return FIRN_ERROR_OP_ATTRIBUTE;
    set_along(&s->outputs[FIRN_GATHER_ELEMENTS_BACKWARD_OUT_DX], dy, axis,
              s->integers[FIRN_GATHER_ELEMENTS_BACKWARD_EXTENT]);
    return FIRN_OK;
}

/* --- scatter ---------------------------------------------------------------------------------------------------- */

/* The extents of what the rows of ids:[...,K] name in data: those of ids but the last, then those of data behind its
 * first K. */
static bool set_named(firn_shape *named, const firn_shape *data, const firn_shape *ids) {
    const uint32_t width = last_extent(ids);
    const joined extents = {ids, NULL, data, ids->rank - 1u, width};
    return width <= data->rank && set_joined(named, &extents);
}

int firn_shape_scatter_nd(firn_op_signature *s) {
    const firn_shape *data = &s->inputs[FIRN_SCATTER_ND_IN_DATA];
    firn_shape named;
    if (!may_be_moved(data) || (s->integers[FIRN_SCATTER_ND_ADD] == 1 && data->type == FIRN_INT32) ||
        !set_named(&named, data, &s->inputs[FIRN_SCATTER_ND_IN_IDS]) ||
        !same_extents(&s->inputs[FIRN_SCATTER_ND_IN_UPDATES], &named))
        return FIRN_ERROR_OP_SHAPE;
    return FIRN_OK;
}

int firn_shape_scatter_nd_backward(firn_op_signature *s) {
    return set_named(&s->outputs[FIRN_SCATTER_ND_BACKWARD_OUT_DUPDATES], &s->inputs[FIRN_SCATTER_ND_BACKWARD_IN_DY],
                     &s->inputs[FIRN_SCATTER_ND_BACKWARD_IN_IDS])
               ? FIRN_OK
               : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_scatter_nd_backward_updates(firn_op_signature *s) {
    return set_named(&s->outputs[FIRN_SCATTER_ND_BACKWARD_UPDATES_OUT_DUPDATES],
                     &s->inputs[FIRN_SCATTER_ND_BACKWARD_UPDATES_IN_DY],
                     &s->inputs[FIRN_SCATTER_ND_BACKWARD_UPDATES_IN_IDS])
               ? FIRN_OK
               : FIRN_ERROR_OP_SHAPE;
}

/* --- cumulative sum --------------------------------------------------------------------------------------------- */

int firn_shape_cumulative_sum(firn_op_signature *s) {
    return is_axis(s->integers[FIRN_CUMULATIVE_SUM_AXIS], &s->inputs[FIRN_CUMULATIVE_SUM_IN_X])
               ? FIRN_OK
               : FIRN_ERROR_OP_ATTRIBUTE;
}
