/* Layer norm: statistics in float32, the affine part in the type that the attribute `affine` names. Freestanding. */
#include "runtime/kernels/blocks.h"

/* --- forward ------------------------------------------------------------------------------------------------------ */

static inline float square_term(float x, float mean) {
    return (x - mean) * (x - mean);
}

static void normalise_row(const firn_kernel_call *call, size_t row, float mean, float reciprocal) {
    const firn_tensor *x = &call->inputs[FIRN_LAYER_NORM_IN_X], *gain = &call->inputs[FIRN_LAYER_NORM_IN_GAIN],
                      *bias = &call->inputs[FIRN_LAYER_NORM_IN_BIAS];
    const uint8_t affine = (uint8_t)call->integers[FIRN_LAYER_NORM_AFFINE];
    const size_t width = firn_last_extent(x);
    float values[FIRN_BLOCK], gains[FIRN_BLOCK], biases[FIRN_BLOCK];
    for (size_t at = 0; at < width; at += FIRN_BLOCK) {
        size_t count = firn_row_widen(values, x, row, at);
        firn_row_widen(gains, gain, 0, at);
        firn_row_widen(biases, bias, 0, at);
        for (size_t i = 0; i < count; i++)
            values[i] = (values[i] - mean) * reciprocal;
        firn_block_round(affine, values, count);
        firn_block_round(affine, gains, count);
        firn_block_round(affine, biases, count);
        for (size_t i = 0; i < count; i++)
            values[i] = firn_fma(values[i], gains[i], biases[i]);
        firn_row_narrow(&call->outputs[FIRN_LAYER_NORM_OUT_Y], row, at, values, count);
    }
}

static void layer_norm_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *x = &call->inputs[FIRN_LAYER_NORM_IN_X];
    float *means = call->outputs[FIRN_LAYER_NORM_OUT_MEAN].data;
    float *reciprocals = call->outputs[FIRN_LAYER_NORM_OUT_RECIPROCAL].data;
    const float width = (float)firn_last_extent(x);
    for (size_t row = begin; row < end; row++) {
        means[row] = firn_canonical(firn_row_sum(x, row, 0.0f, firn_row_element) / width);
        const float variance = firn_row_sum(x, row, means[row], square_term) / width;
        reciprocals[row] = firn_canonical(1.0f / firn_sqrt(variance + call->reals[FIRN_LAYER_NORM_EPSILON]));
        normalise_row(call, row, means[row], reciprocals[row]);
    }
}

/* y = gain (x - mean) / sqrt(variance + epsilon) + bias */
void firn_kernel_layer_norm(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_LAYER_NORM_IN_X];
    firn_split(call, firn_rows(x), 8 * firn_last_extent(x), layer_norm_rows);
}

/* --- backward, input ---------------------------------------------------------------------------------------------- */

/* Computes a block of the row's normalised input and of its gradient dy * gain. */
static size_t widen_gradient(float *normal, float *gradient, const firn_kernel_call *call, size_t row, size_t at) {
    const float *means = call->inputs[FIRN_LAYER_NORM_BACKWARD_IN_MEAN].data,
                *reciprocals = call->inputs[FIRN_LAYER_NORM_BACKWARD_IN_RECIPROCAL].data;
    const float mean = means[row], reciprocal = reciprocals[row];
    float gains[FIRN_BLOCK];
    size_t count = firn_row_widen(gradient, &call->inputs[FIRN_LAYER_NORM_BACKWARD_IN_DY], row, at);
    firn_row_widen(normal, &call->inputs[FIRN_LAYER_NORM_BACKWARD_IN_X], row, at);
    firn_row_widen(gains, &call->inputs[FIRN_LAYER_NORM_BACKWARD_IN_GAIN], 0, at);
    firn_block_round((uint8_t)call->integers[FIRN_LAYER_NORM_BACKWARD_AFFINE], gains, count);
    for (size_t i = 0; i < count; i++) {
        normal[i] = (normal[i] - mean) * reciprocal;
        gradient[i] = gradient[i] * gains[i];
    }
    return count;
}

static void layer_norm_backward_row(const firn_kernel_call *call, size_t row) {
    const firn_tensor *dx = &call->outputs[FIRN_LAYER_NORM_BACKWARD_OUT_DX];
    const float *reciprocals = call->inputs[FIRN_LAYER_NORM_BACKWARD_IN_RECIPROCAL].data;
    const size_t width = firn_last_extent(dx);
    float normal[FIRN_BLOCK], gradient[FIRN_BLOCK];
    firn_sum gradients, projections;
    firn_sum_begin(&gradients);
    firn_sum_begin(&projections);
    for (size_t at = 0; at < width; at += FIRN_BLOCK) {
        size_t count = widen_gradient(normal, gradient, call, row, at);
        firn_sum_add_many(&gradients, gradient, count);
        for (size_t i = 0; i < count; i++)
            normal[i] = gradient[i] * normal[i];
        firn_sum_add_many(&projections, normal, count);
    }
    const float mean_gradient = firn_sum_end(&gradients) / (float)width;
    const float mean_projection = firn_sum_end(&projections) / (float)width;
    for (size_t at = 0; at < width; at += FIRN_BLOCK) {
        size_t count = widen_gradient(normal, gradient, call, row, at);
        for (size_t i = 0; i < count; i++)
            gradient[i] = reciprocals[row] * firn_fma(-normal[i], mean_projection, gradient[i] - mean_gradient);
        firn_row_narrow(dx, row, at, gradient, count);
    }
}

static void layer_norm_backward_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    for (size_t row = begin; row < end; row++)
        layer_norm_backward_row(call, row);
}

/* dx = (g - mean(g) - x_hat mean(g x_hat)) / deviation, g = dy gain */
void firn_kernel_layer_norm_backward(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_LAYER_NORM_BACKWARD_IN_X];
    firn_split(call, firn_rows(x), 16 * firn_last_extent(x), layer_norm_backward_rows);
}

/* --- backward, gain and bias -------------------------------------------------------------------------------------- */

static void affine_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *dy = &call->inputs[FIRN_LAYER_NORM_BACKWARD_AFFINE_IN_DY],
                      *x = &call->inputs[FIRN_LAYER_NORM_BACKWARD_AFFINE_IN_X];
    const firn_tensor *dgain = &call->outputs[FIRN_LAYER_NORM_BACKWARD_AFFINE_OUT_DGAIN];
    const firn_tensor *dbias = &call->outputs[FIRN_LAYER_NORM_BACKWARD_AFFINE_OUT_DBIAS];
    const float *means = call->inputs[FIRN_LAYER_NORM_BACKWARD_AFFINE_IN_MEAN].data;
    const float *reciprocals = call->inputs[FIRN_LAYER_NORM_BACKWARD_AFFINE_IN_RECIPROCAL].data;
    const uint8_t affine = (uint8_t)call->integers[FIRN_LAYER_NORM_BACKWARD_AFFINE_AFFINE];
    float gain_sums[FIRN_BLOCK], bias_sums[FIRN_BLOCK], gradient[FIRN_BLOCK], normal[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        const size_t at = block * FIRN_BLOCK, count = firn_block_elements(dgain->elements, block);
        for (size_t i = 0; i < count; i++)
            gain_sums[i] = bias_sums[i] = 0.0f;
        for (size_t row = 0; row < firn_rows(x); row++) {
            const float mean = means[row], reciprocal = reciprocals[row];
            firn_row_widen(gradient, dy, row, at);
            firn_row_widen(normal, x, row, at);
            for (size_t i = 0; i < count; i++)
                normal[i] = (normal[i] - mean) * reciprocal;
            firn_block_round(affine, normal, count);
            for (size_t i = 0; i < count; i++) {
                gain_sums[i] = firn_fma(gradient[i], normal[i], gain_sums[i]);
                bias_sums[i] += gradient[i];
            }
        }
        firn_narrow(dgain->data, dgain->type, at, gain_sums, count);
        firn_narrow(dbias->data, dbias->type, at, bias_sums, count);
    }
}

/* dgain = sum over rows of dy x_hat, dbias = sum over rows of dy */
void firn_kernel_layer_norm_backward_affine(const firn_kernel_call *call) {
    const size_t rows = firn_rows(&call->inputs[FIRN_LAYER_NORM_BACKWARD_AFFINE_IN_X]);
    firn_split(call, firn_blocks(call->outputs[FIRN_LAYER_NORM_BACKWARD_AFFINE_OUT_DGAIN].elements),
               4 * rows * FIRN_BLOCK, affine_blocks);
}
