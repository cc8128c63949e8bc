/* Norm and clipping of gradients: the sums of squares of all gradients, their norm, and the factors that optimizers
 * apply to a gradient as they read it (plan/NUMERICS.md, "Finalise"). Gradients may have any real type; all else is
 * float32. Freestanding. */
#include "plan/generated/reader.h"
#include "plan/shapes/scratch.h"
#include "runtime/kernels/optimizers/magnitude.h"
#include "runtime/kernels/optimizers/optimizer.h"

_Static_assert((int)FIRN_SCRATCH_SUM_BLOCK == (int)FIRN_SUM_BLOCK, "the plan gives a number for each block of a sum");

/* --- sums of squares ---------------------------------------------------------------------------------------------- */

/* 1 / scale, which is an optional input; 1 without it. */
static float unscale_of(const firn_kernel_call *call, uint8_t input) {
    const firn_tensor *scale = firn_call_input(call, input);
    return scale != NULL ? 1.0f / firn_scalar(scale) : 1.0f;
}

/* What the elements of a gradient are multiplied by before they are squared: element g, unscaled and divided by
 * 2^exponent, is g * shrink * mantissa. */
typedef struct unit {
    float shrink, mantissa;
    int32_t exponent;
} unit;

typedef struct squared {
    const firn_tensor *gradient;
    unit unit;
} squared;

static void squares_terms(const void *settings, size_t block, float *terms, size_t count) {
    const squared *s = settings;
    const float shrink = s->unit.shrink, mantissa = s->unit.mantissa;
    const float *x = terms;
    if (firn_has_half_part(s->gradient->type))
        firn_block_widen(terms, s->gradient, block);
    else
        x = firn_block_of(s->gradient, block);
    for (size_t i = 0; i < count; i++) {
        const float g = x[i] * shrink * mantissa;
        terms[i] = g * g;
    }
}

/* partial[index] = sum of the squares of gradient / scale. Each task is one block of the sum. */
void firn_kernel_sum_of_squares(const firn_kernel_call *call) {
    const squared s = {.gradient = &call->inputs[FIRN_SUM_OF_SQUARES_IN_GRADIENT],
                       .unit = {1.0f, unscale_of(call, FIRN_SUM_OF_SQUARES_IN_SCALE), 0}};
    float *totals = call->outputs[FIRN_SUM_OF_SQUARES_OUT_SCRATCH].data;
    float *partial = call->outputs[FIRN_SUM_OF_SQUARES_OUT_PARTIAL].data;
    partial[call->integers[FIRN_SUM_OF_SQUARES_INDEX]] =
        firn_sum_terms(call, s.gradient->elements, totals, squares_terms, &s);
}

/* --- the largest magnitude ---------------------------------------------------------------------------------------- */

void firn_kernel_largest_magnitude(const firn_kernel_call *call) {
    float *partial = call->outputs[FIRN_LARGEST_MAGNITUDE_OUT_PARTIAL].data;
    partial[call->integers[FIRN_LARGEST_MAGNITUDE_INDEX]] =
        firn_largest_magnitude(call, &call->inputs[FIRN_LARGEST_MAGNITUDE_IN_GRADIENT],
                               call->outputs[FIRN_LARGEST_MAGNITUDE_OUT_SCRATCH].data);
}

void firn_kernel_gradient_magnitude(const firn_kernel_call *call) {
    const firn_tensor *partial = &call->inputs[FIRN_GRADIENT_MAGNITUDE_IN_PARTIAL];
    firn_set_scalar(&call->outputs[FIRN_GRADIENT_MAGNITUDE_OUT_MAGNITUDE],
                    firn_float_of_magnitude(firn_larger_magnitude(0, partial->data, partial->elements)));
}

/* --- sums of scaled squares --------------------------------------------------------------------------------------- */

/* magnitude: the largest of all gradients; shrink is a power of two that makes it at most 1. unscale: 1 / scale. */
static unit unit_of(float magnitude, float unscale) {
    int32_t scaling;
    const int32_t largest = firn_unit_exponent(magnitude);
    const float mantissa = firn_mantissa(unscale, &scaling);
    return (unit){firn_power(-largest), mantissa, largest + scaling};
}

void firn_kernel_sum_of_scaled_squares(const firn_kernel_call *call) {
    const float magnitude = firn_scalar(&call->inputs[FIRN_SUM_OF_SCALED_SQUARES_IN_MAGNITUDE]);
    const squared s = {.gradient = &call->inputs[FIRN_SUM_OF_SCALED_SQUARES_IN_GRADIENT],
                       .unit = unit_of(magnitude, unscale_of(call, FIRN_SUM_OF_SCALED_SQUARES_IN_SCALE))};
    float *totals = call->outputs[FIRN_SUM_OF_SCALED_SQUARES_OUT_SCRATCH].data;
    float *partial = call->outputs[FIRN_SUM_OF_SCALED_SQUARES_OUT_PARTIAL].data;
    partial[call->integers[FIRN_SUM_OF_SCALED_SQUARES_INDEX]] =
        firn_sum_terms(call, s.gradient->elements, totals, squares_terms, &s);
}

/* --- norm and factors --------------------------------------------------------------------------------------------- */

/* root = sqrt(sum of partial). Without a magnitude norm = root, and finite = norm < infinity, which is also false for
 * NaN. With a magnitude norm = root * m, and finite = magnitude * unscale < infinity. */
void firn_kernel_gradient_norm(const firn_kernel_call *call) {
    const firn_tensor *partial = &call->inputs[FIRN_GRADIENT_NORM_IN_PARTIAL];
    const firn_tensor *magnitude = firn_call_input(call, FIRN_GRADIENT_NORM_IN_MAGNITUDE);
    int32_t *finite = call->outputs[FIRN_GRADIENT_NORM_OUT_FINITE].data;
    firn_sum sum;
    firn_sum_begin(&sum);
    firn_sum_add_many(&sum, partial->data, partial->elements);
    const float root = firn_sqrt(firn_sum_end(&sum));
    float norm = root, largest = root;
    if (magnitude != NULL) {
        const float unscale = unscale_of(call, FIRN_GRADIENT_NORM_IN_SCALE);
        norm = firn_times_power(root, unit_of(firn_scalar(magnitude), unscale).exponent);
        largest = firn_scalar(magnitude) * unscale;
        firn_set_scalar(&call->outputs[FIRN_GRADIENT_NORM_OUT_ROOT], root);
    }
    firn_set_scalar(&call->outputs[FIRN_GRADIENT_NORM_OUT_NORM], norm);
    *finite = largest < firn_from_bits(FIRN_INFINITY_BITS);
}

/* Clips by a norm that may be beyond the range of float32: root * 2^exponent. Optimizers multiply a gradient by unscale
 * and then by clip. clip becomes limit / norm if that is at most 1. A power of two, 2^moved, goes from unscale to clip
 * if clip would be subnormal or an unscaled gradient infinite without it. */
static void clip_by_root(float *factors, float limit, float norm, float root, int32_t exponent) {
    enum { EPSILON_VANISHES = 64 }; /* of a norm of 2^64 or more, 1e-6 changes nothing */
    int32_t limit_exponent, norm_exponent;
    const bool has_epsilon = norm < firn_power(EPSILON_VANISHES);
    const float limit_mantissa = firn_mantissa(limit, &limit_exponent);
    const float norm_mantissa = firn_mantissa(has_epsilon ? norm + 1e-6f : root, &norm_exponent);
    const float quotient = limit_mantissa / norm_mantissa;
    const int32_t power = limit_exponent - norm_exponent - (has_epsilon ? 0 : exponent);
    if (power > 0 || (power == 0 && quotient > 1.0f)) /* limit / norm, which is quotient * 2^power, is above 1 */
        return;
    const int32_t for_clip = FIRN_EXPONENT_LEAST + 1 - power, for_gradients = exponent + FIRN_EXPONENT_LEAST;
    int32_t moved = for_clip > for_gradients ? for_clip : for_gradients;
    moved = moved < 0 ? 0 : moved;
    factors[FIRN_FACTOR_CLIP] = firn_canonical(firn_times_power(quotient, power + moved));
    factors[FIRN_FACTOR_UNSCALE] = firn_canonical(firn_times_power(factors[FIRN_FACTOR_UNSCALE], -moved));
}

/* The input scale exists only with loss scaling, the input norm only with clipping by norm. */
void firn_kernel_gradient_factors(const firn_kernel_call *call) {
    const firn_tensor *norm = firn_call_input(call, FIRN_GRADIENT_FACTORS_IN_NORM);
    const firn_tensor *root = firn_call_input(call, FIRN_GRADIENT_FACTORS_IN_ROOT);
    const int64_t clipping = call->integers[FIRN_GRADIENT_FACTORS_CLIPPING];
    const float limit = call->reals[FIRN_GRADIENT_FACTORS_LIMIT], infinity = firn_from_bits(FIRN_INFINITY_BITS);
    const float unscale = unscale_of(call, FIRN_GRADIENT_FACTORS_IN_SCALE);
    float *factors = call->outputs[FIRN_GRADIENT_FACTORS_OUT_FACTORS].data;
    factors[FIRN_FACTOR_UNSCALE] = firn_canonical(unscale);
    factors[FIRN_FACTOR_CLIP] = 1.0f;
    factors[FIRN_FACTOR_LIMIT] = clipping == FIRN_FB_CLIPPING_VALUE ? limit : infinity;
    if (root != NULL && firn_scalar(root) < infinity) {
        const float magnitude = firn_scalar(&call->inputs[FIRN_GRADIENT_FACTORS_IN_MAGNITUDE]);
        clip_by_root(factors, limit, firn_scalar(norm), firn_scalar(root), unit_of(magnitude, unscale).exponent);
    } else if (norm != NULL) {
        float coefficient = limit / (firn_scalar(norm) + 1e-6f);
        factors[FIRN_FACTOR_CLIP] = coefficient > 1.0f ? 1.0f : firn_canonical(coefficient);
    }
}

void firn_kernel_decay_factors(const firn_kernel_call *call) {
    const firn_tensor *before = firn_call_input(call, FIRN_DECAY_FACTORS_IN_FACTORS);
    const float *given = before != NULL ? before->data : NULL;
    float *factors = call->outputs[FIRN_DECAY_FACTORS_OUT_ALL_FACTORS].data;
    factors[FIRN_FACTOR_UNSCALE] = given == NULL ? 1.0f : given[FIRN_FACTOR_UNSCALE];
    factors[FIRN_FACTOR_CLIP] = given == NULL ? 1.0f : given[FIRN_FACTOR_CLIP];
    factors[FIRN_FACTOR_LIMIT] = given == NULL ? firn_from_bits(FIRN_INFINITY_BITS) : given[FIRN_FACTOR_LIMIT];
    factors[FIRN_FACTOR_DECAY] = firn_scalar(&call->inputs[FIRN_DECAY_FACTORS_IN_WEIGHT_DECAY]);
}
