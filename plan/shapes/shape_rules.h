/* Building blocks of the shape rules. plan/ops.def defines what each op accepts. infer.c checks the columns; then the
 * op's own rule checks and infers what the columns cannot express (the files
 * shapes_*.c). Kernels do not check their operands, so a rule may not accept anything that its kernel cannot
 * handle. Only the files of this folder may include this one, so its names have no prefix. Freestanding. */
#ifndef FIRN_PLAN_SHAPE_RULES_H
#define FIRN_PLAN_SHAPE_RULES_H

#include <stddef.h>

#include "plan/divide.h"
#include "plan/errors.h"
#include "plan/parts.h"
#include "plan/shapes/scratch.h"

/* A rule is called after counts, attributes and operands have passed the columns of its row. It returns FIRN_OK or
 * FIRN_ERROR_OP_OPERANDS, _OP_ATTRIBUTE or _OP_SHAPE. On FIRN_OK it has filled in rank and dims of the outputs of form
 * `own`. Their number of elements may still be too large; infer.c checks that. */

/* --- shapes ----------------------------------------------------------------------------------------------------- */

/* Whether an op has this input, which is optional. */
static inline bool has_input(const firn_op_signature *s, uint8_t input) {
    return input < s->input_count && s->inputs[input].rank > 0;
}

/* Whether a shape is float32, with any extents. */
static inline bool is_single(const firn_shape *shape) {
    return shape->type == FIRN_FLOAT32;
}

/* Whether a shape has one dimension of this extent, and this type. */
static inline bool is_vector(const firn_shape *shape, uint8_t type, uint32_t extent) {
    return shape->type == type && shape->rank == 1 && shape->dims[0] == extent;
}

static inline uint32_t last_extent(const firn_shape *shape) {
    return shape->dims[shape->rank - 1];
}

/* The product of the first `count` extents. Input shapes are valid, so it cannot overflow. */
uint64_t firn_shape_product(const firn_shape *shape, uint32_t count);

/* The elements of all dimensions, and of all but the last. */
static inline uint64_t all_elements(const firn_shape *shape) {
    return firn_shape_product(shape, shape->rank);
}

static inline uint64_t leading_elements(const firn_shape *shape) {
    return firn_shape_product(shape, shape->rank - 1u);
}

/* Whether the last dimensions of a are the dimensions of b. */
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

/* Sets an output to `rank` extents; the remaining dims are 0. */
void firn_shape_set(firn_shape *output, uint32_t rank, const uint32_t *dims);

static inline void set_like(firn_shape *output, const firn_shape *input) {
    firn_shape_set(output, input->rank, input->dims); /* NOLINT(clang-analyzer-core.NullDereference): as set_leading */
}

/* Sets an output to the leading dimensions of the input, then `last`. */
static inline void set_last(firn_shape *output, const firn_shape *input, uint32_t last) {
    set_like(output, input);
    output->dims[input->rank - 1] = last;
}

/* Sets an output to the leading dimensions of the input, whose rank is at least 2. The input is never NULL: the
 * generator of the table of ops refuses a row with an output of rows and no input of rows (op_rows.c). */
static inline void set_leading(firn_shape *output, const firn_shape *input) {
    firn_shape_set(output, input->rank - 1u, input->dims); /* NOLINT(clang-analyzer-core.NullDereference) */
}

/* Scratch of a sum: one element for each block of the sum over all elements of x. It has two dimensions, because the
 * number of blocks of the largest tensor does not fit one extent. */
static inline void set_sums(firn_shape *scratch, const firn_shape *x) {
    uint64_t blocks = (all_elements(x) - 1) / FIRN_SCRATCH_SUM_BLOCK + 1;
    uint64_t row = blocks < FIRN_SCRATCH_SUM_ROW ? blocks : FIRN_SCRATCH_SUM_ROW;
    firn_shape_set(scratch, 2, (const uint32_t[]){(uint32_t)(firn_divide(blocks - 1, row, NULL) + 1), (uint32_t)row});
}

/* --- attributes ------------------------------------------------------------------------------------------------- */

/* Whether a value is from `least` to the largest unsigned 32-bit number, as an extent must be. */
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
