/* Own rules (plan/shapes/shape_rules.h) of the ops that follow the backward pass: norm and clipping of the gradients,
 * optimizers, loss scale. Freestanding. */
#include "plan/generated/reader.h"
#include "plan/shapes/shape_rules.h"

/* --- gradients: norm, clipping ---------------------------------------------------------------------------------- */

/* The levels of the tree below its top, which is `total`: as many as the number of the last micro-batch has bits behind
 * its highest one. Without any there is no tensor for them. */
int firn_shape_accumulate_tree(firn_op_signature *s) {
    const firn_shape *total = &s->inputs[FIRN_ACCUMULATE_TREE_IN_TOTAL];
    const bool lower = has_input(s, FIRN_ACCUMULATE_TREE_IN_LOWER);
    uint32_t levels = 0;
    if (s->integers[FIRN_ACCUMULATE_TREE_MICRO_BATCHES] < 2)
        return FIRN_ERROR_OP_ATTRIBUTE;
    for (int64_t last = s->integers[FIRN_ACCUMULATE_TREE_MICRO_BATCHES] - 1; last > 1; last >>= 1)
        levels++;
    if (lower != (levels != 0) || lower != (s->output_count > FIRN_ACCUMULATE_TREE_OUT_LOWER))
        return FIRN_ERROR_OP_OPERANDS;
    if (!lower)
        return FIRN_OK;
    firn_shape wanted = *total;
    if (total->dims[0] > UINT32_MAX / levels)
        return FIRN_ERROR_OP_SHAPE;
    wanted.dims[0] *= levels;
    return same_extents(&s->inputs[FIRN_ACCUMULATE_TREE_IN_LOWER], &wanted) ? FIRN_OK : FIRN_ERROR_OP_SHAPE;
}

/* Operands and attributes that the ops which fill an element of `partial` share are at the same positions. */
#define AS_SQUARES(OP)                                                                                                 \
    ((int)FIRN_##OP##_INDEX == (int)FIRN_SUM_OF_SQUARES_INDEX &&                                                       \
     (int)FIRN_##OP##_IN_PARTIAL == (int)FIRN_SUM_OF_SQUARES_IN_PARTIAL)
_Static_assert(AS_SQUARES(LARGEST_MAGNITUDE) && AS_SQUARES(SUM_OF_SCALED_SQUARES), "one rule checks all three");

int firn_shape_sum_of_squares(firn_op_signature *s) {
    int64_t index = s->integers[FIRN_SUM_OF_SQUARES_INDEX];
    return index >= 0 && index < (int64_t)s->inputs[FIRN_SUM_OF_SQUARES_IN_PARTIAL].dims[0] ? FIRN_OK
                                                                                            : FIRN_ERROR_OP_ATTRIBUTE;
}

/* The output root is there if and only if the input magnitude is; only then there may be a scale. */
int firn_shape_gradient_norm(firn_op_signature *s) {
    const bool scaled = has_input(s, FIRN_GRADIENT_NORM_IN_MAGNITUDE);
    return scaled == (s->output_count > FIRN_GRADIENT_NORM_OUT_ROOT) &&
                   (scaled || !has_input(s, FIRN_GRADIENT_NORM_IN_SCALE))
               ? FIRN_OK
               : FIRN_ERROR_OP_OPERANDS;
}

/* There is a norm if and only if it clips. Root and magnitude come together, and only with a norm. */
int firn_shape_gradient_factors(firn_op_signature *s) {
    int64_t clipping = s->integers[FIRN_GRADIENT_FACTORS_CLIPPING];
    float limit = s->reals[FIRN_GRADIENT_FACTORS_LIMIT];
    const bool norm = has_input(s, FIRN_GRADIENT_FACTORS_IN_NORM), root = has_input(s, FIRN_GRADIENT_FACTORS_IN_ROOT);
    if (clipping < FIRN_FB_CLIPPING_NONE || clipping > FIRN_FB_CLIPPING_VALUE ||
        !(clipping == FIRN_FB_CLIPPING_NONE ? limit == 0.0f : is_positive(limit)))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return norm == (clipping == FIRN_FB_CLIPPING_NORM) && root == has_input(s, FIRN_GRADIENT_FACTORS_IN_MAGNITUDE) &&
                   (norm || !root)
               ? FIRN_OK
               : FIRN_ERROR_OP_OPERANDS;
}

/* --- optimizers, loss scale ------------------------------------------------------------------------------------- */

int firn_shape_rprop(firn_op_signature *s) {
    return s->reals[FIRN_RPROP_ETA_MINUS] < 1.0f && s->reals[FIRN_RPROP_ETA_PLUS] > 1.0f &&
                   s->reals[FIRN_RPROP_SMALLEST] <= s->reals[FIRN_RPROP_LARGEST]
               ? FIRN_OK
               : FIRN_ERROR_OP_ATTRIBUTE;
}

/* The exponent must be below 0, so that in the first step the new square has its full weight. */
static int check_exponent(float exponent) {
    return exponent < 0.0f && is_finite(exponent) ? FIRN_OK : FIRN_ERROR_OP_ATTRIBUTE;
}

int firn_shape_adafactor(firn_op_signature *s) {
    return check_exponent(s->reals[FIRN_ADAFACTOR_DECAY_RATE]);
}

/* Whether x has the extents of a parameter without the last (from_end 1) or the last but one (from_end 2). */
static bool lacks_extent(const firn_shape *x, const firn_shape *parameter, uint8_t from_end) {
    firn_shape shape = {.rank = (uint8_t)(parameter->rank - 1)};
    for (uint8_t i = 0; i < shape.rank; i++)
        shape.dims[i] = parameter->dims[i + (i >= parameter->rank - from_end)];
    return same_extents(x, &shape);
}

int firn_shape_adafactor_factored(firn_op_signature *s) {
    const firn_shape *parameter = &s->inputs[FIRN_ADAFACTOR_FACTORED_IN_PARAMETER];
    if (parameter->rank < 2 || !lacks_extent(&s->inputs[FIRN_ADAFACTOR_FACTORED_IN_EXP_AVG_SQ_ROW], parameter, 1) ||
        !lacks_extent(&s->inputs[FIRN_ADAFACTOR_FACTORED_IN_EXP_AVG_SQ_COL], parameter, 2))
        return FIRN_ERROR_OP_SHAPE;
    return check_exponent(s->reals[FIRN_ADAFACTOR_FACTORED_DECAY_RATE]);
}

int firn_shape_loss_scale_update(firn_op_signature *s) {
    return s->reals[FIRN_LOSS_SCALE_UPDATE_MINIMUM] <= s->reals[FIRN_LOSS_SCALE_UPDATE_MAXIMUM]
               ? FIRN_OK
               : FIRN_ERROR_OP_ATTRIBUTE;
}
