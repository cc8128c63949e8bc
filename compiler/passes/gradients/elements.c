/* Part of the autodiff pass: rules of the elementwise ops (gradients.h). An operand that was repeated gets the sum over
 * its repetitions. */
#include "compiler/passes/gradients/gradients.h"

/* -0 as the shift of affine leaves every product as it is, also a zero. */
static const float no_shift = -0.0f;

static firnc_value emit_unary(firnc_differentiation *d, uint16_t code, firnc_value x, uint8_t type) {
    return firnc_emit(d, code, &x, 1, NULL, NULL, &type);
}

static firnc_value emit_binary(firnc_differentiation *d, uint16_t code, firnc_value a, firnc_value b, uint8_t type) {
    return firnc_emit(d, code, (firnc_value[]){a, b}, 2, NULL, NULL, &type);
}

/* The product of a tensor of the extents of output 0 with one that may be repeated. */
static firnc_value emit_product(firnc_differentiation *d, firnc_value full, firnc_value x, uint8_t type) {
    const bool leading = firnc_ends_with(firnc_shape_of(d, full), firnc_shape_of(d, x));
    return emit_binary(d, leading ? FIRN_OP_multiply : FIRN_OP_broadcast_multiply, full, x, type);
}

static firnc_value emit_scaled(firnc_differentiation *d, firnc_value x, float scale, uint8_t type) {
    return firnc_emit(d, FIRN_OP_affine, &x, 1, NULL, (float[]){scale, no_shift}, &type);
}

bool firnc_gradient_zero(firnc_differentiation *d, firnc_value dy) {
    (void)d;
    (void)dy;
    return true;
}

bool firnc_gradient_broadcast_add(firnc_differentiation *d, firnc_value dy) {
    if (firnc_wanted(d, FIRN_BROADCAST_ADD_IN_A))
        firnc_contribute_sum(d, FIRN_BROADCAST_ADD_IN_A, dy);
    if (firnc_wanted(d, FIRN_BROADCAST_ADD_IN_B))
        firnc_contribute_sum(d, FIRN_BROADCAST_ADD_IN_B, dy);
    return true;
}

bool firnc_gradient_broadcast_multiply(firnc_differentiation *d, firnc_value dy) {
    enum { A = FIRN_BROADCAST_MULTIPLY_IN_A, B = FIRN_BROADCAST_MULTIPLY_IN_B };
    if (firnc_wanted(d, A))
        firnc_contribute_sum(d, A, emit_product(d, dy, firnc_input_of(d, B), firnc_type_of_terms(d, A)));
    if (firnc_wanted(d, B))
        firnc_contribute_sum(d, B, emit_product(d, dy, firnc_input_of(d, A), firnc_type_of_terms(d, B)));
    return true;
}

bool firnc_gradient_subtract(firnc_differentiation *d, firnc_value dy) {
    if (firnc_wanted(d, FIRN_SUBTRACT_IN_A))
        firnc_contribute_sum(d, FIRN_SUBTRACT_IN_A, dy);
    if (firnc_wanted(d, FIRN_SUBTRACT_IN_B))
        firnc_contribute_sum(d, FIRN_SUBTRACT_IN_B, emit_scaled(d, dy, -1, firnc_type_of_terms(d, FIRN_SUBTRACT_IN_B)));
    return true;
}

/* da = dy / b, db = -dy (y / b) */
bool firnc_gradient_divide(firnc_differentiation *d, firnc_value dy) {
    const firnc_value b = firnc_input_of(d, FIRN_DIVIDE_IN_B), y = d->node->outputs[FIRN_DIVIDE_OUT_Y];
    if (firnc_wanted(d, FIRN_DIVIDE_IN_A))
        firnc_contribute_sum(d, FIRN_DIVIDE_IN_A,
                             emit_binary(d, FIRN_OP_divide, dy, b, firnc_type_of_terms(d, FIRN_DIVIDE_IN_A)));
    if (firnc_wanted(d, FIRN_DIVIDE_IN_B)) {
        const firnc_value minus = emit_scaled(d, dy, -1, FIRN_FLOAT32);
        const firnc_value slope = emit_binary(d, FIRN_OP_divide, y, b, FIRN_FLOAT32);
        firnc_contribute_sum(d, FIRN_DIVIDE_IN_B,
                             emit_binary(d, FIRN_OP_multiply, minus, slope, firnc_type_of_terms(d, FIRN_DIVIDE_IN_B)));
    }
    return true;
}

/* Contributes the share of an operand that is the result where it is above the other. */
static void contribute_share(firnc_differentiation *d, uint8_t operand, firnc_value dy, uint8_t larger,
                             uint8_t smaller) {
    const firnc_value inputs[] = {[FIRN_LARGER_SHARE_IN_DY] = dy,
                                  [FIRN_LARGER_SHARE_IN_A] = firnc_input_of(d, larger),
                                  [FIRN_LARGER_SHARE_IN_B] = firnc_input_of(d, smaller)};
    const uint8_t type = firnc_type_of_terms(d, operand);
    if (firnc_wanted(d, operand))
        firnc_contribute_sum(d, operand, firnc_emit(d, FIRN_OP_larger_share, inputs, 3, NULL, NULL, &type));
}

bool firnc_gradient_maximum(firnc_differentiation *d, firnc_value dy) {
    contribute_share(d, FIRN_MAXIMUM_IN_A, dy, FIRN_MAXIMUM_IN_A, FIRN_MAXIMUM_IN_B);
    contribute_share(d, FIRN_MAXIMUM_IN_B, dy, FIRN_MAXIMUM_IN_B, FIRN_MAXIMUM_IN_A);
    return true;
}

/* a has its share where b is above it. */
bool firnc_gradient_minimum(firnc_differentiation *d, firnc_value dy) {
    contribute_share(d, FIRN_MINIMUM_IN_A, dy, FIRN_MINIMUM_IN_B, FIRN_MINIMUM_IN_A);
    contribute_share(d, FIRN_MINIMUM_IN_B, dy, FIRN_MINIMUM_IN_A, FIRN_MINIMUM_IN_B);
    return true;
}

/* The gradient of an operand is dy where it was selected, else 0. */
bool firnc_gradient_select(firnc_differentiation *d, firnc_value dy) {
    const firnc_value condition = firnc_input_of(d, FIRN_SELECT_IN_CONDITION);
    if (firnc_wanted(d, FIRN_SELECT_IN_A)) {
        const uint8_t type = firnc_type_of_terms(d, FIRN_SELECT_IN_A);
        firnc_contribute_sum(d, FIRN_SELECT_IN_A,
                             firnc_emit(d, FIRN_OP_select, (firnc_value[]){condition, dy}, 2, NULL, NULL, &type));
    }
    if (firnc_wanted(d, FIRN_SELECT_IN_B)) {
        const uint8_t type = firnc_type_of_terms(d, FIRN_SELECT_IN_B);
        firnc_contribute_sum(
            d, FIRN_SELECT_IN_B,
            firnc_emit(d, FIRN_OP_select, (firnc_value[]){condition, FIRNC_NONE, dy}, 3, NULL, NULL, &type));
    }
    return true;
}

/* da by an op of its own; db = dy y log(a), where the logarithm is limited, so that 0 at a = 0 and b > 0 is the product
 * of 0 and a number. */
bool firnc_gradient_power(firnc_differentiation *d, firnc_value dy) {
    const firnc_value a = firnc_input_of(d, FIRN_POWER_IN_A), b = firnc_input_of(d, FIRN_POWER_IN_B);
    if (firnc_wanted(d, FIRN_POWER_IN_A)) {
        const uint8_t type = firnc_type_of_terms(d, FIRN_POWER_IN_A);
        const firnc_value inputs[] = {
            [FIRN_POWER_BACKWARD_IN_DY] = dy, [FIRN_POWER_BACKWARD_IN_A] = a, [FIRN_POWER_BACKWARD_IN_B] = b};
        firnc_contribute_sum(d, FIRN_POWER_IN_A, firnc_emit(d, FIRN_OP_power_backward, inputs, 3, NULL, NULL, &type));
    }
    if (firnc_wanted(d, FIRN_POWER_IN_B)) {
        const float limits[] = {[FIRN_CLIP_LOW] = -0x1p7f, [FIRN_CLIP_HIGH] = 0x1p7f};
        const uint8_t single = FIRN_FLOAT32;
        const firnc_value logarithm = emit_unary(d, FIRN_OP_log, a, FIRN_FLOAT32);
        const firnc_value limited = firnc_emit(d, FIRN_OP_clip, &logarithm, 1, NULL, limits, &single);
        const firnc_value product =
            emit_binary(d, FIRN_OP_multiply, dy, d->node->outputs[FIRN_POWER_OUT_Y], FIRN_FLOAT32);
        firnc_contribute_sum(d, FIRN_POWER_IN_B,
                             emit_product(d, product, limited, firnc_type_of_terms(d, FIRN_POWER_IN_B)));
    }
    return true;
}

bool firnc_gradient_exp(firnc_differentiation *d, firnc_value dy) {
    const uint8_t type = firnc_type_of_gradient(d, firnc_input_of(d, FIRN_EXP_IN_X));
    firnc_contribute(d, FIRN_EXP_IN_X, emit_binary(d, FIRN_OP_multiply, dy, d->node->outputs[FIRN_EXP_OUT_Y], type));
    return true;
}

bool firnc_gradient_log(firnc_differentiation *d, firnc_value dy) {
    const firnc_value x = firnc_input_of(d, FIRN_LOG_IN_X);
    firnc_contribute(d, FIRN_LOG_IN_X, emit_binary(d, FIRN_OP_divide, dy, x, firnc_type_of_gradient(d, x)));
    return true;
}

/* dy / (2 y) */
bool firnc_gradient_sqrt(firnc_differentiation *d, firnc_value dy) {
    const uint8_t type = firnc_type_of_gradient(d, firnc_input_of(d, FIRN_SQRT_IN_X));
    const firnc_value twice = emit_scaled(d, d->node->outputs[FIRN_SQRT_OUT_Y], 2, FIRN_FLOAT32);
    firnc_contribute(d, FIRN_SQRT_IN_X, emit_binary(d, FIRN_OP_divide, dy, twice, type));
    return true;
}

/* -(dy y) y */
bool firnc_gradient_reciprocal(firnc_differentiation *d, firnc_value dy) {
    const firnc_value y = d->node->outputs[FIRN_RECIPROCAL_OUT_Y];
    const firnc_value once = emit_binary(d, FIRN_OP_multiply, dy, y, FIRN_FLOAT32);
    const firnc_value twice = emit_binary(d, FIRN_OP_multiply, once, y, FIRN_FLOAT32);
    firnc_contribute(d, FIRN_RECIPROCAL_IN_X,
                     emit_scaled(d, twice, -1, firnc_type_of_gradient(d, firnc_input_of(d, FIRN_RECIPROCAL_IN_X))));
    return true;
}

/* dy cos(x) */
bool firnc_gradient_sin(firnc_differentiation *d, firnc_value dy) {
    const firnc_value x = firnc_input_of(d, FIRN_SIN_IN_X);
    const firnc_value slope = emit_unary(d, FIRN_OP_cos, x, FIRN_FLOAT32);
    firnc_contribute(d, FIRN_SIN_IN_X, emit_binary(d, FIRN_OP_multiply, dy, slope, firnc_type_of_gradient(d, x)));
    return true;
}

/* -dy sin(x) */
bool firnc_gradient_cos(firnc_differentiation *d, firnc_value dy) {
    const firnc_value x = firnc_input_of(d, FIRN_COS_IN_X);
    const firnc_value slope = emit_scaled(d, emit_unary(d, FIRN_OP_sin, x, FIRN_FLOAT32), -1, FIRN_FLOAT32);
    firnc_contribute(d, FIRN_COS_IN_X, emit_binary(d, FIRN_OP_multiply, dy, slope, firnc_type_of_gradient(d, x)));
    return true;
}

/* dy / (1 + x x) */
bool firnc_gradient_atan(firnc_differentiation *d, firnc_value dy) {
    const firnc_value x = firnc_input_of(d, FIRN_ATAN_IN_X);
    const firnc_value square = emit_binary(d, FIRN_OP_multiply, x, x, FIRN_FLOAT32);
    const firnc_value divisor =
        firnc_emit(d, FIRN_OP_affine, &square, 1, NULL, (float[]){1, 1}, &(uint8_t){FIRN_FLOAT32});
    firnc_contribute(d, FIRN_ATAN_IN_X, emit_binary(d, FIRN_OP_divide, dy, divisor, firnc_type_of_gradient(d, x)));
    return true;
}

/* dy / (1 + x) */
bool firnc_gradient_log_one_plus(firnc_differentiation *d, firnc_value dy) {
    const firnc_value x = firnc_input_of(d, FIRN_LOG_ONE_PLUS_IN_X);
    const firnc_value divisor = firnc_emit(d, FIRN_OP_affine, &x, 1, NULL, (float[]){1, 1}, &(uint8_t){FIRN_FLOAT32});
    firnc_contribute(d, FIRN_LOG_ONE_PLUS_IN_X,
                     emit_binary(d, FIRN_OP_divide, dy, divisor, firnc_type_of_gradient(d, x)));
    return true;
}

bool firnc_gradient_abs(firnc_differentiation *d, firnc_value dy) {
    const firnc_value x = firnc_input_of(d, FIRN_ABS_IN_X);
    const firnc_value sign = emit_unary(d, FIRN_OP_sign, x, firnc_shape_of(d, x)->type);
    firnc_contribute(d, FIRN_ABS_IN_X, emit_binary(d, FIRN_OP_multiply, dy, sign, firnc_type_of_gradient(d, x)));
    return true;
}

bool firnc_gradient_affine(firnc_differentiation *d, firnc_value dy) {
    const uint8_t type = firnc_type_of_gradient(d, firnc_input_of(d, FIRN_AFFINE_IN_X));
    firnc_contribute(d, FIRN_AFFINE_IN_X, emit_scaled(d, dy, d->node->reals[FIRN_AFFINE_SCALE], type));
    return true;
}
