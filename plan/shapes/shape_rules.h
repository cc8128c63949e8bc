/* What shape rules are made of. plan/ops.def says what each op accepts; infer.c checks the columns, and a rule of its
 * own checks and infers what they cannot say, after them: shapes_layers.c, shapes_losses.c, shapes_training.c. Kernels
 * run blind behind these rules, so a rule may not be looser than what its kernel can be given. Only the files of this
 * folder include this one, so its names need no prefix. Freestanding. */
#ifndef FIRN_PLAN_SHAPE_RULES_H
#define FIRN_PLAN_SHAPE_RULES_H

#include "plan/errors.h"
#include "plan/ops.h"
#include "plan/shapes/scratch.h"

/* A rule is called with counts, attributes and operands as the columns of its row want them. It returns FIRN_OK or
 * FIRN_ERROR_OP_OPERANDS, _OP_ATTRIBUTE or _OP_SHAPE and, on FIRN_OK, has filled rank and dims of the outputs that are
 * its own. The extents of an output may still be too many elements to count: infer.c looks. */
#define FIRN_OP(name, code, rule, ...) int firn_shape_##rule(firn_op_signature *signature);
#include "plan/ops.def"
#undef FIRN_OP

/* --- shapes ----------------------------------------------------------------------------------------------------- */

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

/* Fills an output with `rank` extents; those beyond are 0. */
static inline void set_extents(firn_shape *output, uint8_t rank, const uint32_t *dims) {
    for (uint8_t i = 0; i < FIRN_RANK_MAX; i++)
        output->dims[i] = i < rank ? dims[i] : 0;
    output->rank = rank;
}

static inline void set_like(firn_shape *output, const firn_shape *input) {
    set_extents(output, input->rank, input->dims);
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

/* One number for each block of the sum over all elements of x. Two extents, because one could not count the blocks of
 * the largest tensor. */
static inline void set_sums(firn_shape *scratch, const firn_shape *x) {
    uint64_t blocks = (all_elements(x) - 1) / FIRN_SCRATCH_SUM_BLOCK + 1;
    uint64_t row = blocks < FIRN_SCRATCH_SUM_ROW ? blocks : FIRN_SCRATCH_SUM_ROW;
    set_extents(scratch, 2, (const uint32_t[]){(uint32_t)((blocks - 1) / row + 1), (uint32_t)row});
}

/* --- attributes ------------------------------------------------------------------------------------------------- */

/* An extent: what an unsigned 32-bit number can hold, from `least`. */
static inline bool is_word(int64_t value, int64_t least) {
    return value >= least && value <= (int64_t)UINT32_MAX;
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

#endif
