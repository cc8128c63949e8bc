/* Own rules (plan/shapes/shape_rules.h) of batch norm. Freestanding. */
#include "plan/shapes/shape_rules.h"

/* Runs of the rows of x; 0 if they do not fit an extent. */
static uint32_t runs_of(const firn_shape *x) {
    const uint64_t runs = (leading_elements(x) - 1) / FIRN_SCRATCH_RUN_ROWS + 1;
    return runs <= UINT32_MAX ? (uint32_t)runs : 0;
}

int firn_shape_batch_norm(firn_op_signature *s) {
    const firn_shape *x = &s->inputs[FIRN_BATCH_NORM_IN_X];
    const uint32_t runs = runs_of(x);
    if (runs == 0)
        return FIRN_ERROR_OP_SHAPE;
    firn_shape_set(&s->outputs[FIRN_BATCH_NORM_OUT_PARTIAL], 2, (const uint32_t[]){runs, last_extent(x)});
    return FIRN_OK;
}

/* Scratch for two sums of each column. */
static int set_pairs(firn_shape *partial, const firn_shape *x) {
    const uint32_t runs = runs_of(x);
    if (runs == 0)
        return FIRN_ERROR_OP_SHAPE;
    firn_shape_set(partial, 3, (const uint32_t[]){runs, 2, last_extent(x)});
    return FIRN_OK;
}

int firn_shape_batch_norm_backward(firn_op_signature *s) {
    return set_pairs(&s->outputs[FIRN_BATCH_NORM_BACKWARD_OUT_PARTIAL], &s->inputs[FIRN_BATCH_NORM_BACKWARD_IN_X]);
}

int firn_shape_batch_norm_fixed_backward(firn_op_signature *s) {
    return set_pairs(&s->outputs[FIRN_BATCH_NORM_FIXED_BACKWARD_OUT_PARTIAL],
                     &s->inputs[FIRN_BATCH_NORM_FIXED_BACKWARD_IN_X]);
}

/* One row has no variance of a sample. */
int firn_shape_running_statistics(firn_op_signature *s) {
    return s->integers[FIRN_RUNNING_STATISTICS_ROWS] >= 2 ? FIRN_OK : FIRN_ERROR_OP_ATTRIBUTE;
}
