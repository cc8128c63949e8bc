/* Own rules (plan/shapes/shape_rules.h) of elementwise ops whose operands are repeated as NumPy repeats them.
 * Freestanding. */
#include "plan/shapes/shape_rules.h"

/* Repeats y, or x along y, until both have the same extents. False if they differ where neither is 1. */
static bool repeat(firn_shape *y, const firn_shape *x) {
    while (y->rank < x->rank) {
        for (uint8_t d = y->rank; d > 0; d--)
            y->dims[d] = y->dims[d - 1];
        y->dims[0] = 1;
        y->rank++;
    }
    for (uint8_t i = 0; i < x->rank; i++) {
        uint32_t *extent = &y->dims[y->rank - 1 - i];
        const uint32_t other = x->dims[x->rank - 1 - i];
        if (*extent != other && *extent != 1 && other != 1)
            return false;
        if (*extent == 1)
            *extent = other;
    }
    return true;
}

/* Output 0 has the extents to which all inputs are repeated. */
int firn_shape_elementwise(firn_op_signature *s) {
    firn_shape *y = &s->outputs[0];
    firn_shape_set(y, 1, (const uint32_t[]){1});
    for (uint8_t i = 0; i < s->input_count; i++) {
        if (has_input(s, i) && !repeat(y, &s->inputs[i]))
            return FIRN_ERROR_OP_SHAPE;
    }
    return FIRN_OK;
}

int firn_shape_select(firn_op_signature *s) {
    if (!has_input(s, FIRN_SELECT_IN_A) && !has_input(s, FIRN_SELECT_IN_B))
        return FIRN_ERROR_OP_OPERANDS;
    return firn_shape_elementwise(s);
}

/* Whether x can be repeated to the extents of y. */
static bool repeats_to(const firn_shape *x, const firn_shape *y) {
    if (x->rank > y->rank)
        return false;
    for (uint8_t i = 0; i < x->rank; i++) {
        const uint32_t extent = x->dims[x->rank - 1 - i];
        if (extent != 1 && extent != y->dims[y->rank - 1 - i])
            return false;
    }
    return true;
}

/* Every other input is repeated to the extents of the first, which the output has. */
int firn_shape_repeated(firn_op_signature *s) {
    for (uint8_t i = 1; i < s->input_count; i++) {
        if (!repeats_to(&s->inputs[i], &s->inputs[0]))
            return FIRN_ERROR_OP_SHAPE;
    }
    return FIRN_OK;
}

int firn_shape_sum_to(firn_op_signature *s) {
    firn_shape *y = &s->outputs[FIRN_SUM_TO_OUT_Y];
    uint32_t rank = 0, dims[FIRN_RANK_MAX];
    for (; rank < FIRN_RANK_MAX && s->integers[rank] != 0; rank++) {
        if (!is_word(s->integers[rank], 1))
            return FIRN_ERROR_OP_ATTRIBUTE;
        dims[rank] = (uint32_t)s->integers[rank];
    }
    for (uint32_t i = rank; i < FIRN_RANK_MAX; i++) {
        if (s->integers[i] != 0)
            return FIRN_ERROR_OP_ATTRIBUTE;
    }
    if (rank == 0)
        return FIRN_ERROR_OP_ATTRIBUTE;
    firn_shape_set(y, rank, dims);
    return repeats_to(y, &s->inputs[FIRN_SUM_TO_IN_X]) ? FIRN_OK : FIRN_ERROR_OP_SHAPE;
}
