/* Gradients of the ops that move elements (compiler/passes/gradients/gradients.h). */
#include "compiler/passes/gradients/gradients.h"

/* Adds an op whose result has the type of dy, and contributes it. */
static void contribute_of(firnc_differentiation *d, uint8_t operand, uint16_t code, const firnc_value *inputs,
                          uint8_t input_count, const int64_t *integers) {
    const uint8_t type = firnc_shape_of(d, inputs[0])->type;
    firnc_contribute(d, operand, firnc_emit(d, code, inputs, input_count, integers, NULL, &type));
}

bool firnc_gradient_reshape(firnc_differentiation *d, firnc_value dy) {
    int64_t integers[FIRN_RANK_MAX];
    firnc_extents_of(d, FIRN_RESHAPE_IN_X, integers);
    contribute_of(d, FIRN_RESHAPE_IN_X, FIRN_OP_reshape, &dy, 1, integers);
    return true;
}

bool firnc_gradient_transpose(firnc_differentiation *d, firnc_value dy) {
    int64_t back = 0;
    for (uint8_t i = 0; i < firnc_shape_of(d, dy)->rank; i++)
        back |= (int64_t)i << 4 * (d->node->integers[FIRN_TRANSPOSE_ORDER] >> 4 * i & 15);
    contribute_of(d, FIRN_TRANSPOSE_IN_X, FIRN_OP_transpose, &dy, 1, &back);
    return true;
}

bool firnc_gradient_slice(firnc_differentiation *d, firnc_value dy) {
    const int64_t *given = d->node->integers, axis = given[FIRN_SLICE_AXIS];
    const int64_t integers[] = {[FIRN_SLICE_BACKWARD_AXIS] = axis,
                                [FIRN_SLICE_BACKWARD_FIRST] = given[FIRN_SLICE_FIRST],
                                [FIRN_SLICE_BACKWARD_STEP] = given[FIRN_SLICE_STEP],
                                [FIRN_SLICE_BACKWARD_EXTENT] =
                                    firnc_shape_of(d, d->node->inputs[FIRN_SLICE_IN_X])->dims[axis]};
    contribute_of(d, FIRN_SLICE_IN_X, FIRN_OP_slice_backward, &dy, 1, integers);
    return true;
}

/* Contributes the part of dy along an axis that has the extent of the input. */
static void contribute_part(firnc_differentiation *d, uint8_t operand, firnc_value dy, int64_t axis, int64_t first) {
    const int64_t integers[] = {[FIRN_SLICE_AXIS] = axis,
                                [FIRN_SLICE_FIRST] = first,
                                [FIRN_SLICE_STEP] = 1,
                                [FIRN_SLICE_COUNT] = firnc_shape_of(d, d->node->inputs[operand])->dims[axis]};
    contribute_of(d, operand, FIRN_OP_slice, &dy, 1, integers);
}

bool firnc_gradient_pad(firnc_differentiation *d, firnc_value dy) {
    contribute_part(d, FIRN_PAD_IN_X, dy, d->node->integers[FIRN_PAD_AXIS], d->node->integers[FIRN_PAD_BEFORE]);
    return true;
}

bool firnc_gradient_concat(firnc_differentiation *d, firnc_value dy) {
    const int64_t axis = d->node->integers[FIRN_CONCAT_AXIS];
    int64_t first = 0;
    for (uint8_t i = 0; i < d->node->input_count; i++) {
        if (firnc_wanted(d, i))
            contribute_part(d, i, dy, axis, first);
        first += firnc_shape_of(d, d->node->inputs[i])->dims[axis];
    }
    return true;
}

bool firnc_gradient_expand(firnc_differentiation *d, firnc_value dy) {
    firnc_contribute_sum(d, FIRN_EXPAND_IN_X, dy);
    return true;
}

/* Contributes what a gather adds up in float32, for x. */
static void contribute_gathered(firnc_differentiation *d, uint16_t code, firnc_value dy) {
    const int64_t axis = d->node->integers[FIRN_GATHER_AXIS];
    const int64_t integers[] = {[FIRN_GATHER_BACKWARD_AXIS] = axis,
                                [FIRN_GATHER_BACKWARD_EXTENT] =
                                    firnc_shape_of(d, d->node->inputs[FIRN_GATHER_IN_X])->dims[axis]};
    const firnc_value inputs[] = {
        [FIRN_GATHER_BACKWARD_IN_DY] = dy, [FIRN_GATHER_BACKWARD_IN_IDS] = d->node->inputs[FIRN_GATHER_IN_IDS]};
    const uint8_t type = FIRN_FLOAT32;
    firnc_contribute(d, FIRN_GATHER_IN_X, firnc_emit(d, code, inputs, 2, integers, NULL, &type));
}

bool firnc_gradient_gather(firnc_differentiation *d, firnc_value dy) {
    contribute_gathered(d, FIRN_OP_gather_backward, firnc_gradient_of_rows(d, dy));
    return true;
}

_Static_assert((int)FIRN_GATHER_AXIS == (int)FIRN_GATHER_ELEMENTS_AXIS &&
                   (int)FIRN_GATHER_IN_X == (int)FIRN_GATHER_ELEMENTS_IN_X &&
                   (int)FIRN_GATHER_IN_IDS == (int)FIRN_GATHER_ELEMENTS_IN_IDS &&
                   (int)FIRN_GATHER_BACKWARD_AXIS == (int)FIRN_GATHER_ELEMENTS_BACKWARD_AXIS &&
                   (int)FIRN_GATHER_BACKWARD_EXTENT == (int)FIRN_GATHER_ELEMENTS_BACKWARD_EXTENT &&
                   (int)FIRN_GATHER_BACKWARD_IN_DY == (int)FIRN_GATHER_ELEMENTS_BACKWARD_IN_DY &&
                   (int)FIRN_GATHER_BACKWARD_IN_IDS == (int)FIRN_GATHER_ELEMENTS_BACKWARD_IN_IDS,
               "one rule for both");

bool firnc_gradient_gather_elements(firnc_differentiation *d, firnc_value dy) {
    contribute_gathered(d, FIRN_OP_gather_elements_backward, dy);
    return true;
}

bool firnc_gradient_scatter_nd(firnc_differentiation *d, firnc_value dy) {
    const firnc_value inputs[] = {dy, d->node->inputs[FIRN_SCATTER_ND_IN_IDS]};
    const bool add = d->node->integers[FIRN_SCATTER_ND_ADD] == 1;
    const uint8_t type = firnc_shape_of(d, dy)->type;
    if (add && firnc_wanted(d, FIRN_SCATTER_ND_IN_DATA))
        firnc_contribute(d, FIRN_SCATTER_ND_IN_DATA, dy);
    if (add && firnc_wanted(d, FIRN_SCATTER_ND_IN_UPDATES))
        contribute_of(d, FIRN_SCATTER_ND_IN_UPDATES, FIRN_OP_scatter_nd_backward_updates, inputs, 2, NULL);
    if (!add)
        firnc_apply_backward(d, FIRN_OP_scatter_nd_backward, dy, &type);
    return true;
}

/* Each element counts in the sums behind it, so its gradient is the sum from the other end. */
bool firnc_gradient_cumulative_sum(firnc_differentiation *d, firnc_value dy) {
    const int64_t *given = d->node->integers;
    const int64_t integers[] = {[FIRN_CUMULATIVE_SUM_AXIS] = given[FIRN_CUMULATIVE_SUM_AXIS],
                                [FIRN_CUMULATIVE_SUM_EXCLUSIVE] = given[FIRN_CUMULATIVE_SUM_EXCLUSIVE],
                                [FIRN_CUMULATIVE_SUM_REVERSE] = given[FIRN_CUMULATIVE_SUM_REVERSE] == 0};
    contribute_of(d, FIRN_CUMULATIVE_SUM_IN_X, FIRN_OP_cumulative_sum, &dy, 1, integers);
    return true;
}
