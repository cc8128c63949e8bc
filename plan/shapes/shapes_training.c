/* The shape rules (plan/shapes/shape_rules.h) of what stands behind the gradients: their norm and clipping, optimizers,
 * counters, loss scale. Freestanding. */
#include "plan/shapes/shape_rules.h"

/* --- gradients: scaling, norm, clipping ------------------------------------------------------------------------- */

int firn_shape_loss_seed(firn_op_signature *s) {
    if (!is_positive(s->reals[FIRN_LOSS_SEED_FACTOR]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if ((s->input_count > 0 && !is_vector(&s->inputs[0], FIRN_FLOAT32, 1)) || !is_single(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_one(&s->outputs[0]);
    return FIRN_OK;
}

int firn_shape_accumulate(firn_op_signature *s) {
    if (!is_real(&s->inputs[1]) || !same_extents(&s->inputs[0], &s->inputs[1]))
        return FIRN_ERROR_OP_SHAPE;
    return change_single(s);
}

/* One number for each block of the sum over all elements of x. Two extents, because one could not count the blocks of
 * the largest tensor. */
static void set_sum_scratch(firn_shape *scratch, const firn_shape *x) {
    uint64_t blocks = (all_elements(x) - 1) / FIRN_SCRATCH_SUM_BLOCK + 1;
    uint64_t row = blocks < FIRN_SCRATCH_SUM_ROW ? blocks : FIRN_SCRATCH_SUM_ROW;
    set_extents(scratch, 2, (const uint32_t[]){(uint32_t)((blocks - 1) / row + 1), (uint32_t)row});
}

int firn_shape_sum_of_squares(firn_op_signature *s) {
    const firn_shape *gradient = &s->inputs[0], *partial = &s->inputs[1];
    if (!is_real(gradient) || !is_single(partial) || partial->rank != 1 || !is_single(&s->outputs[0]) ||
        !is_single(&s->outputs[1]) || (s->input_count > 2 && !is_vector(&s->inputs[2], FIRN_FLOAT32, 1)))
        return FIRN_ERROR_OP_SHAPE;
    if (s->integers[FIRN_SUM_OF_SQUARES_INDEX] < 0 ||
        s->integers[FIRN_SUM_OF_SQUARES_INDEX] >= (int64_t)partial->dims[0])
        return FIRN_ERROR_OP_ATTRIBUTE;
    set_like(&s->outputs[0], partial);
    set_sum_scratch(&s->outputs[1], gradient);
    return FIRN_OK;
}

int firn_shape_gradient_norm(firn_op_signature *s) {
    if (!is_single(&s->inputs[0]) || s->inputs[0].rank != 1 || !is_single(&s->outputs[0]) ||
        s->outputs[1].type != FIRN_INT32)
        return FIRN_ERROR_OP_SHAPE;
    set_one(&s->outputs[0]);
    set_one(&s->outputs[1]);
    return FIRN_OK;
}

int firn_shape_gradient_factors(firn_op_signature *s) {
    int64_t scaled = s->integers[FIRN_GRADIENT_FACTORS_SCALED], clipping = s->integers[FIRN_GRADIENT_FACTORS_CLIPPING];
    float limit = s->reals[FIRN_GRADIENT_FACTORS_LIMIT];
    if (!is_flag(scaled) || clipping < FIRN_CLIPPING_NONE || clipping > FIRN_CLIPPING_VALUE ||
        !(clipping == FIRN_CLIPPING_NONE ? limit == 0.0f : is_positive(limit)))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (s->input_count != scaled + (clipping == FIRN_CLIPPING_NORM))
        return FIRN_ERROR_OP_OPERANDS;
    for (uint8_t i = 0; i < s->input_count; i++) {
        if (!is_vector(&s->inputs[i], FIRN_FLOAT32, 1))
            return FIRN_ERROR_OP_SHAPE;
    }
    if (!is_single(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_extents(&s->outputs[0], 1, (const uint32_t[]){FIRN_FACTORS});
    return FIRN_OK;
}

int firn_shape_decay_factors(firn_op_signature *s) {
    if (!is_vector(&s->inputs[0], FIRN_FLOAT32, 1) ||
        (s->input_count > 1 && !is_vector(&s->inputs[1], FIRN_FLOAT32, FIRN_FACTORS)) || !is_single(&s->outputs[0]))
        return FIRN_ERROR_OP_SHAPE;
    set_extents(&s->outputs[0], 1, (const uint32_t[]){FIRN_FACTORS_AND_DECAY});
    return FIRN_OK;
}

/* --- optimizers, counters, loss scale --------------------------------------------------------------------------- */

/* count float32 tensors with the extents of the first, the parameter. */
static bool are_like_parameter(const firn_shape *tensors, const firn_shape *parameter, uint8_t count) {
    for (uint8_t i = 0; i < count; i++) {
        if (!is_single(&tensors[i]) || !same_extents(&tensors[i], parameter))
            return false;
    }
    return true;
}

/* What every optimizer is given first and last: parameter:float32[...], gradient:real of the same extents, and, as the
 * input of that position, factors:float32[3] or [4], or nothing. */
static bool is_update(const firn_op_signature *s, uint8_t factors) {
    const firn_shape *parameter = &s->inputs[0], *gradient = &s->inputs[1];
    return is_single(parameter) && is_real(gradient) && same_extents(gradient, parameter) &&
           (s->input_count <= factors || is_vector(&s->inputs[factors], FIRN_FLOAT32, FIRN_FACTORS) ||
            is_vector(&s->inputs[factors], FIRN_FLOAT32, FIRN_FACTORS_AND_DECAY));
}

/* The attribute weight_decay: 0 where the factors bring one. */
static bool is_decay(const firn_op_signature *s, uint8_t factors, float decay) {
    bool brought = s->input_count > factors && is_vector(&s->inputs[factors], FIRN_FLOAT32, FIRN_FACTORS_AND_DECAY);
    return brought ? decay == 0.0f : is_not_negative(decay);
}

/* The outputs are float32 and take the extents of the parameter. */
static int change_parameter(firn_op_signature *s) {
    for (uint8_t i = 0; i < s->output_count; i++) {
        if (!is_single(&s->outputs[i]))
            return FIRN_ERROR_OP_SHAPE;
        set_like(&s->outputs[i], &s->inputs[0]);
    }
    return FIRN_OK;
}

int firn_shape_adamw(firn_op_signature *s) {
    if (!is_flag(s->integers[FIRN_ADAMW_CORRECT_BIAS]) || !is_rate(s->reals[FIRN_ADAMW_BETA1]) ||
        !is_rate(s->reals[FIRN_ADAMW_BETA2]) || !is_positive(s->reals[FIRN_ADAMW_EPSILON]) ||
        !is_decay(s, 7, s->reals[FIRN_ADAMW_WEIGHT_DECAY]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_update(s, 7) || !are_like_parameter(&s->inputs[2], &s->inputs[0], 2) ||
        !is_vector(&s->inputs[4], FIRN_FLOAT32, 1) || !is_vector(&s->inputs[5], FIRN_FLOAT32, 1) ||
        !is_vector(&s->inputs[6], FIRN_FLOAT32, 1))
        return FIRN_ERROR_OP_SHAPE;
    return change_parameter(s);
}

int firn_shape_sgd(firn_op_signature *s) {
    if (!is_flag(s->integers[FIRN_SGD_MAXIMIZE]) || !is_decay(s, 3, s->reals[FIRN_SGD_WEIGHT_DECAY]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_update(s, 3) || !is_vector(&s->inputs[2], FIRN_FLOAT32, 1))
        return FIRN_ERROR_OP_SHAPE;
    return change_parameter(s);
}

int firn_shape_sgd_momentum(firn_op_signature *s) {
    if (!is_flag(s->integers[FIRN_SGD_MOMENTUM_NESTEROV]) || !is_flag(s->integers[FIRN_SGD_MOMENTUM_MAXIMIZE]) ||
        !is_not_negative(s->reals[FIRN_SGD_MOMENTUM_MOMENTUM]) || !is_finite(s->reals[FIRN_SGD_MOMENTUM_DAMPENING]) ||
        !is_decay(s, 4, s->reals[FIRN_SGD_MOMENTUM_WEIGHT_DECAY]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_update(s, 4) || !is_vector(&s->inputs[2], FIRN_FLOAT32, 1) ||
        !are_like_parameter(&s->inputs[3], &s->inputs[0], 1))
        return FIRN_ERROR_OP_SHAPE;
    return change_parameter(s);
}

/* The inputs of an optimizer: parameter, gradient, so many tensors like the parameter, the learning rate, the counter
 * of steps where it is `counted`, and factors or nothing. */
static bool is_update_of(const firn_op_signature *s, uint8_t tensors, bool counted) {
    const uint8_t rate = (uint8_t)(2 + tensors);
    return is_update(s, (uint8_t)(rate + 1 + counted)) && are_like_parameter(&s->inputs[2], &s->inputs[0], tensors) &&
           is_vector(&s->inputs[rate], FIRN_FLOAT32, 1) && (!counted || is_vector(&s->inputs[rate + 1], FIRN_INT64, 1));
}

/* The first outputs are the parameter and the tensors like it, the last `scratch` are scratch of sums over it. */
static int change_with_scratch(firn_op_signature *s, uint8_t scratch) {
    int error = change_parameter(s);
    for (uint8_t i = (uint8_t)(s->output_count - scratch); i < s->output_count; i++)
        set_sum_scratch(&s->outputs[i], &s->inputs[0]);
    return error;
}

static bool has_adam_attributes(const firn_op_signature *s, uint8_t factors) {
    return is_rate(s->reals[FIRN_ADAM_BETA1]) && is_rate(s->reals[FIRN_ADAM_BETA2]) &&
           is_positive(s->reals[FIRN_ADAM_EPSILON]) && is_decay(s, factors, s->reals[FIRN_ADAM_WEIGHT_DECAY]);
}

int firn_shape_adam(firn_op_signature *s) {
    if (!has_adam_attributes(s, 6))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, 2, true) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_adam_amsgrad(firn_op_signature *s) {
    if (!has_adam_attributes(s, 7) || !is_flag(s->integers[FIRN_AMSGRAD_DECOUPLED]) ||
        !is_flag(s->integers[FIRN_AMSGRAD_CORRECT_BIAS]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, 3, true) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_radam(firn_op_signature *s) {
    return firn_shape_adam(s);
}

int firn_shape_nadam(firn_op_signature *s) {
    if (!has_adam_attributes(s, 7) || !is_not_negative(s->reals[FIRN_NADAM_MOMENTUM_DECAY]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_update(s, 7) || !are_like_parameter(&s->inputs[2], &s->inputs[0], 2) ||
        !is_vector(&s->inputs[4], FIRN_FLOAT32, 1) || !is_vector(&s->inputs[5], FIRN_FLOAT32, 1) ||
        !is_vector(&s->inputs[6], FIRN_INT64, 1))
        return FIRN_ERROR_OP_SHAPE;
    int error = change_parameter(s);
    set_one(&s->outputs[3]);
    return error;
}

int firn_shape_adamax(firn_op_signature *s) {
    if (!is_flag(s->integers[FIRN_UPDATE_MAXIMIZE]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return firn_shape_adam(s);
}

int firn_shape_lamb(firn_op_signature *s) {
    if (!has_adam_attributes(s, 5) || !is_flag(s->integers[FIRN_LAMB_ADAM]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, 2, false) ? change_with_scratch(s, 2) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_lion(firn_op_signature *s) {
    if (!is_rate(s->reals[FIRN_LION_BETA1]) || !is_rate(s->reals[FIRN_LION_BETA2]) ||
        !is_decay(s, 4, s->reals[FIRN_LION_WEIGHT_DECAY]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, 1, false) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

/* One of the four, with so many tensors. */
static int rmsprop(firn_op_signature *s, uint8_t tensors) {
    if (!is_rate(s->reals[FIRN_RMSPROP_ALPHA]) || !is_positive(s->reals[FIRN_RMSPROP_EPSILON]) ||
        !is_decay(s, (uint8_t)(3 + tensors), s->reals[FIRN_RMSPROP_WEIGHT_DECAY]) ||
        (s->real_count > FIRN_RMSPROP_MOMENTUM && !is_not_negative(s->reals[FIRN_RMSPROP_MOMENTUM])))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, tensors, false) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_rmsprop(firn_op_signature *s) {
    return rmsprop(s, 1);
}

int firn_shape_rmsprop_momentum(firn_op_signature *s) {
    return rmsprop(s, 2);
}

int firn_shape_rmsprop_centered(firn_op_signature *s) {
    return rmsprop(s, 2);
}

int firn_shape_rmsprop_centered_momentum(firn_op_signature *s) {
    return rmsprop(s, 3);
}

int firn_shape_rprop(firn_op_signature *s) {
    const float minus = s->reals[FIRN_RPROP_ETA_MINUS], plus = s->reals[FIRN_RPROP_ETA_PLUS],
                smallest = s->reals[FIRN_RPROP_SMALLEST], largest = s->reals[FIRN_RPROP_LARGEST];
    if (!is_positive(minus) || minus >= 1.0f || !is_positive(plus) || plus <= 1.0f || !is_not_negative(smallest) ||
        !is_positive(largest) || smallest > largest)
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, 2, true) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_adagrad(firn_op_signature *s) {
    if (!is_flag(s->integers[FIRN_UPDATE_MAXIMIZE]) || !is_not_negative(s->reals[FIRN_ADAGRAD_LR_DECAY]) ||
        !is_positive(s->reals[FIRN_ADAGRAD_EPSILON]) || !is_decay(s, 5, s->reals[FIRN_ADAGRAD_WEIGHT_DECAY]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, 1, true) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_adadelta(firn_op_signature *s) {
    if (!is_flag(s->integers[FIRN_UPDATE_MAXIMIZE]) || !is_rate(s->reals[FIRN_ADADELTA_RHO]) ||
        !is_positive(s->reals[FIRN_ADADELTA_EPSILON]) || !is_decay(s, 5, s->reals[FIRN_ADADELTA_WEIGHT_DECAY]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, 2, false) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_asgd(firn_op_signature *s) {
    if (!is_flag(s->integers[FIRN_UPDATE_MAXIMIZE]) || !is_not_negative(s->reals[FIRN_ASGD_LAMBD]) ||
        !is_not_negative(s->reals[FIRN_ASGD_ALPHA]) || !is_not_negative(s->reals[FIRN_ASGD_T0]) ||
        !is_decay(s, 5, s->reals[FIRN_ASGD_WEIGHT_DECAY]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, 1, true) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

/* The exponent of the step is below 0, so that the first step takes the whole of its square. */
static bool has_adafactor_attributes(const firn_op_signature *s, uint8_t factors) {
    const float exponent = s->reals[FIRN_ADAFACTOR_DECAY_RATE];
    return is_flag(s->integers[FIRN_ADAFACTOR_SCALE_PARAMETER]) && is_positive(s->reals[FIRN_ADAFACTOR_EPSILON1]) &&
           is_not_negative(s->reals[FIRN_ADAFACTOR_EPSILON2]) && is_positive(s->reals[FIRN_ADAFACTOR_CLIP]) &&
           exponent < 0.0f && is_finite(exponent) && is_decay(s, factors, s->reals[FIRN_ADAFACTOR_WEIGHT_DECAY]);
}

int firn_shape_adafactor(firn_op_signature *s) {
    if (!has_adafactor_attributes(s, 5))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update_of(s, 1, true) ? change_with_scratch(s, 1) : FIRN_ERROR_OP_SHAPE;
}

/* The extents of a parameter without one of its last two: the last for rows, the one before it for columns. */
static firn_shape without_extent(const firn_shape *parameter, uint8_t from_end) {
    firn_shape shape = {.type = FIRN_FLOAT32, .rank = (uint8_t)(parameter->rank - 1)};
    for (uint8_t i = 0; i < shape.rank; i++)
        shape.dims[i] = parameter->dims[i + (i >= parameter->rank - from_end)];
    return shape;
}

int firn_shape_adafactor_factored(firn_op_signature *s) {
    if (!has_adafactor_attributes(s, 6))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_update(s, 6) || s->inputs[0].rank < 2 || !is_vector(&s->inputs[4], FIRN_FLOAT32, 1) ||
        !is_vector(&s->inputs[5], FIRN_INT64, 1))
        return FIRN_ERROR_OP_SHAPE;
    const firn_shape rows = without_extent(&s->inputs[0], 1), columns = without_extent(&s->inputs[0], 2);
    if (!are_like_parameter(&s->inputs[2], &rows, 1) || !are_like_parameter(&s->inputs[3], &columns, 1))
        return FIRN_ERROR_OP_SHAPE;
    int error = change_parameter(s);
    set_like(&s->outputs[1], &rows);
    set_like(&s->outputs[2], &columns);
    set_sum_scratch(&s->outputs[3], &s->inputs[0]);
    set_like(&s->outputs[4], &rows);
    set_like(&s->outputs[5], &columns);
    return error;
}

int firn_shape_muon_direction(firn_op_signature *s) {
    if (!is_flag(s->integers[FIRN_MUON_NESTEROV]) || !is_rate(s->reals[FIRN_MUON_MOMENTUM]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_update(s, 2) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_unit_norm(firn_op_signature *s) {
    if (!is_positive(s->reals[FIRN_UNIT_NORM_EPSILON]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_single(&s->inputs[0]) ? change_with_scratch(s, 1) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_weighted_sum(firn_op_signature *s) {
    if (!is_finite(s->reals[FIRN_WEIGHTED_SUM_A]) || !is_finite(s->reals[FIRN_WEIGHTED_SUM_B]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return are_like_parameter(s->inputs, &s->inputs[0], 2) ? change_parameter(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_muon_step(firn_op_signature *s) {
    if (!is_positive(s->reals[FIRN_MUON_STEP_SCALE]) || !is_decay(s, 3, s->reals[FIRN_MUON_STEP_WEIGHT_DECAY]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!are_like_parameter(s->inputs, &s->inputs[0], 2) || !is_vector(&s->inputs[2], FIRN_FLOAT32, 1) ||
        (s->input_count > 3 && !is_vector(&s->inputs[3], FIRN_FLOAT32, FIRN_FACTORS_AND_DECAY)))
        return FIRN_ERROR_OP_SHAPE;
    return change_parameter(s);
}

int firn_shape_multiply(firn_op_signature *s) {
    if (!is_finite(s->reals[FIRN_MULTIPLY_FACTOR]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    return is_vector(&s->inputs[0], FIRN_FLOAT32, 1) ? change_single(s) : FIRN_ERROR_OP_SHAPE;
}

int firn_shape_count(firn_op_signature *s) {
    if (s->integers[FIRN_COUNT_STEP] < 1 || s->integers[FIRN_COUNT_STEP] > INT32_MAX)
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!is_vector(&s->inputs[0], FIRN_INT64, 1) || s->outputs[0].type != FIRN_INT64)
        return FIRN_ERROR_OP_SHAPE;
    set_one(&s->outputs[0]);
    return FIRN_OK;
}

/* Checks each of count shapes for one element of the type given for it. */
static bool are_ones(const firn_shape *shapes, const uint8_t *types, uint8_t count) {
    for (uint8_t i = 0; i < count; i++) {
        if (!is_vector(&shapes[i], types[i], 1))
            return false;
    }
    return true;
}

int firn_shape_loss_scale_update(firn_op_signature *s) {
    static const uint8_t inputs[] = {FIRN_INT32, FIRN_FLOAT32, FIRN_INT64, FIRN_INT64, FIRN_INT64};
    static const uint8_t outputs[] = {FIRN_FLOAT32, FIRN_INT64, FIRN_INT64, FIRN_INT64, FIRN_INT32};
    if (s->integers[FIRN_LOSS_SCALE_STEPS_PER_INCREASE] < 1 || !is_positive(s->reals[FIRN_LOSS_SCALE_MINIMUM]) ||
        !is_finite(s->reals[FIRN_LOSS_SCALE_MAXIMUM]) ||
        s->reals[FIRN_LOSS_SCALE_MAXIMUM] < s->reals[FIRN_LOSS_SCALE_MINIMUM] ||
        !is_not_negative(s->reals[FIRN_LOSS_SCALE_OVERFLOW_TOLERANCE]))
        return FIRN_ERROR_OP_ATTRIBUTE;
    if (!are_ones(s->inputs, inputs, 5))
        return FIRN_ERROR_OP_SHAPE;
    for (uint8_t i = 0; i < 5; i++) {
        if (s->outputs[i].type != outputs[i])
            return FIRN_ERROR_OP_SHAPE;
        set_one(&s->outputs[i]);
    }
    return FIRN_OK;
}
