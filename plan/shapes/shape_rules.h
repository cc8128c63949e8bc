/* What the shape rules are made of. Each op of plan/ops.def has one, in a file for its family: shapes_layers.c,
 * shapes_losses.c, shapes_training.c; the comment above a row of the table is what its rule checks. Kernels run blind
 * behind these rules, so a rule may not be looser than what its kernel can be given. Only those files include this one,
 * so its names need no prefix. Freestanding.
 *
 * Words of the table: "real" is float32 or a half type; N is all leading dimensions taken together, at least one; where
 * a tensor has an extent N alone, any dimensions whose product is N will do, and an output gets the leading dimensions
 * themselves. A real output may have any real type unless the row says which. */
#ifndef FIRN_PLAN_SHAPE_RULES_H
#define FIRN_PLAN_SHAPE_RULES_H

#include "plan/errors.h"
#include "plan/shapes/shapes.h"

/* --- shapes ----------------------------------------------------------------------------------------------------- */

static inline bool is_real(const firn_shape *shape) {
    return shape->type == FIRN_FLOAT32 || firn_type_is_half(shape->type);
}

/* Binary32 of any shape. */
static inline bool is_single(const firn_shape *shape) {
    return shape->type == FIRN_FLOAT32;
}

/* One dimension of that type and extent. */
static inline bool is_vector(const firn_shape *shape, uint8_t type, uint32_t extent) {
    return shape->type == type && shape->rank == 1 && shape->dims[0] == extent;
}

static inline uint32_t last_extent(const firn_shape *shape) {
    return shape->dims[shape->rank - 1];
}

/* The product of all extents but the last. Inputs are whole, so it cannot overflow. */
static inline uint64_t leading_elements(const firn_shape *shape) {
    uint64_t product = 1;
    for (uint8_t i = 0; i + 1 < shape->rank; i++)
        product *= shape->dims[i];
    return product;
}

static inline uint64_t all_elements(const firn_shape *shape) {
    return leading_elements(shape) * last_extent(shape);
}

/* a ends with the dimensions of b. */
static inline bool ends_with(const firn_shape *a, const firn_shape *b) {
    if (b->rank > a->rank)
        return false;
    for (uint8_t i = 0; i < b->rank; i++) {
        if (a->dims[a->rank - b->rank + i] != b->dims[i])
            return false;
    }
    return true;
}

static inline bool same_extents(const firn_shape *a, const firn_shape *b) {
    return a->rank == b->rank && ends_with(a, b);
}

/* x is real[N,C]. */
static inline bool is_rows(const firn_shape *shape) {
    return is_real(shape) && shape->rank >= 2;
}

/* mean and reciprocal, one of each for every row of x. */
static inline bool are_row_values(const firn_shape *values, uint8_t count, const firn_shape *x) {
    for (uint8_t i = 0; i < count; i++) {
        if (!is_single(&values[i]) || all_elements(&values[i]) != leading_elements(x))
            return false;
    }
    return true;
}

/* Fills an output with `rank` extents; those beyond are 0. */
static inline void set_extents(firn_shape *output, uint8_t rank, const uint32_t *dims) {
    for (uint8_t i = 0; i < FIRN_RANK_MAX; i++)
        output->dims[i] = i < rank ? dims[i] : 0;
    output->rank = rank;
}

static inline void set_like(firn_shape *output, const firn_shape *input) {
    set_extents(output, input->rank, input->dims);
}

static inline void set_one(firn_shape *output) {
    set_extents(output, 1, (const uint32_t[]){1});
}

/* The leading dimensions of the input, then `last`. */
static inline void set_last(firn_shape *output, const firn_shape *input, uint32_t last) {
    set_like(output, input);
    output->dims[input->rank - 1] = last;
}

/* The leading dimensions of the input, which has at least two. */
static inline void set_leading(firn_shape *output, const firn_shape *input) {
    set_extents(output, (uint8_t)(input->rank - 1), input->dims);
}

/* --- attributes ------------------------------------------------------------------------------------------------- */

static inline bool is_flag(int64_t value) {
    return value == 0 || value == 1;
}

/* An extent: what an unsigned 32-bit number can hold, from `least`. */
static inline bool is_word(int64_t value, int64_t least) {
    return value >= least && value <= (int64_t)UINT32_MAX;
}

static inline bool is_rng_id(int64_t value) {
    return value >= 0 && value < (int64_t)FIRN_RNG_ID_END;
}

static inline bool is_finite(float x) {
    return x - x == 0.0f;
}

static inline bool is_positive(float x) {
    return x > 0.0f && is_finite(x);
}

static inline bool is_not_negative(float x) {
    return x >= 0.0f && is_finite(x);
}

/* In [0, 1): a rate of dropout, a beta of Adam. NaN fails. */
static inline bool is_rate(float x) {
    return x >= 0.0f && x < 1.0f;
}

static inline bool is_real_type(int64_t value) {
    return value == FIRN_FLOAT32 || value == FIRN_FLOAT16 || value == FIRN_BFLOAT16 || value == FIRN_CBFLOAT16;
}

/* --- elementwise rules that several ops share ------------------------------------------------------------------- */

/* x:real -> y:real of the same extents. */
static inline int one_to_one(firn_op_signature *s) {
    if (!is_real(&s->inputs[0]) || !is_real(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], &s->inputs[0]);
    return FIRN_OK;
}

/* dy:real, x or y:real -> dx:real, all of the same extents. */
static inline int two_to_one(firn_op_signature *s) {
    if (!is_real(&s->inputs[0]) || !is_real(&s->inputs[1]) || !is_real(&s->outputs[0]) ||
        !same_extents(&s->inputs[0], &s->inputs[1]))
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], &s->inputs[0]);
    return FIRN_OK;
}

/* A float32 tensor changed in place, whatever its extents. */
static inline int change_single(firn_op_signature *s) {
    if (!is_single(&s->inputs[0]) || !is_single(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_like(&s->outputs[0], &s->inputs[0]);
    return FIRN_OK;
}

#endif
