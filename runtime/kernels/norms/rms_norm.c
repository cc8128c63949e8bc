/* RMS norm: the mean square in float32, the product with the gain in the type that the attribute `affine` names. No
 * mean is subtracted and nothing is added. Freestanding. */
#include "runtime/kernels/blocks.h"

/* --- forward ------------------------------------------------------------------------------------------------------ */

static inline float square(float x, float unused) {
    (void)unused;
    return x * x;
}

static void normalise_row(const firn_kernel_call *call, size_t row, float reciprocal) {
    const firn_tensor *x = &call->inputs[FIRN_RMS_NORM_IN_X], *gain = &call->inputs[FIRN_RMS_NORM_IN_GAIN];
    const uint8_t affine = (uint8_t)call->integers[FIRN_RMS_NORM_AFFINE];
    const size_t width = firn_last_extent(x);
    float values[FIRN_BLOCK], gains[FIRN_BLOCK];
    for (size_t at = 0; at < width; at += FIRN_BLOCK) {
        const size_t count = firn_row_widen(values, x, row, at);
        firn_row_widen(gains, gain, 0, at);
        for (size_t i = 0; i < count; i++)
            values[i] = values[i] * reciprocal;
        firn_block_round(affine, values, count);
        firn_block_round(affine, gains, count);
        for (size_t i = 0; i < count; i++)
            values[i] = values[i] * gains[i];
        firn_row_narrow(&call->outputs[FIRN_RMS_NORM_OUT_Y], row, at, values, count);
    }
}

static void rms_norm_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *x = &call->inputs[FIRN_RMS_NORM_IN_X];
    float *reciprocals = call->outputs[FIRN_RMS_NORM_OUT_RECIPROCAL].data;
    const float width = (float)firn_last_extent(x);
    for (size_t row = begin; row < end; row++) {
        const float mean_square = firn_row_sum(x, row, 0.0f, square) / width;
        reciprocals[row] = firn_canonical(1.0f / firn_sqrt(mean_square + call->reals[FIRN_RMS_NORM_EPSILON]));
        normalise_row(call, row, reciprocals[row]);
    }
}

/* y = gain x / sqrt(mean(x x) + epsilon) */
void firn_kernel_rms_norm(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_RMS_NORM_IN_X];
    firn_split(call, firn_rows(x), 6 * firn_last_extent(x), rms_norm_rows);
}

/* --- backward, input ---------------------------------------------------------------------------------------------- */

/* Computes a block of the row's normalised input and of its gradient dy * gain. */
static size_t widen_gradient(float *normal, float *gradient, const firn_kernel_call *call, size_t row, size_t at) {
    const float *reciprocals = call->inputs[FIRN_RMS_NORM_BACKWARD_IN_RECIPROCAL].data;
    const float reciprocal = reciprocals[row];
    float gains[FIRN_BLOCK];
    const size_t count = firn_row_widen(gradient, &call->inputs[FIRN_RMS_NORM_BACKWARD_IN_DY], row, at);
    firn_row_widen(normal, &call->inputs[FIRN_RMS_NORM_BACKWARD_IN_X], row, at);
    firn_row_widen(gains, &call->inputs[FIRN_RMS_NORM_BACKWARD_IN_GAIN], 0, at);
    firn_block_round((uint8_t)call->integers[FIRN_RMS_NORM_BACKWARD_AFFINE], gains, count);
    for (size_t i = 0; i < count; i++) {
        normal[i] = normal[i] * reciprocal;
        gradient[i] = gradient[i] * gains[i];
    }
    return count;
}

static void rms_norm_backward_row(const firn_kernel_call *call, size_t row) {
    const firn_tensor *dx = &call->outputs[FIRN_RMS_NORM_BACKWARD_OUT_DX];
    const float *reciprocals = call->inputs[FIRN_RMS_NORM_BACKWARD_IN_RECIPROCAL].data;
    const size_t width = firn_last_extent(dx);
    float normal[FIRN_BLOCK], gradient[FIRN_BLOCK];
    firn_sum projections;
    firn_sum_begin(&projections);
    for (size_t at = 0; at < width; at += FIRN_BLOCK) {
        const size_t count = widen_gradient(normal, gradient, call, row, at);
        for (size_t i = 0; i < count; i++)
            normal[i] = gradient[i] * normal[i];
        firn_sum_add_many(&projections, normal, count);
    }
    const float mean_projection = firn_sum_end(&projections) / (float)width;
    for (size_t at = 0; at < width; at += FIRN_BLOCK) {
        const size_t count = widen_gradient(normal, gradient, call, row, at);
        for (size_t i = 0; i < count; i++)
            gradient[i] = reciprocals[row] * firn_fma(-normal[i], mean_projection, gradient[i]);
        firn_row_narrow(dx, row, at, gradient, count);
    }
}

static void rms_norm_backward_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    for (size_t row = begin; row < end; row++)
        rms_norm_backward_row(call, row);
}

/* dx = (g - x_hat mean(g x_hat)) / root mean square, g = dy gain */
void firn_kernel_rms_norm_backward(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_RMS_NORM_BACKWARD_IN_X];
    firn_split(call, firn_rows(x), 12 * firn_last_extent(x), rms_norm_backward_rows);
}

/* --- backward, gain ----------------------------------------------------------------------------------------------- */

static void gain_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *dy = &call->inputs[FIRN_RMS_NORM_BACKWARD_GAIN_IN_DY],
                      *x = &call->inputs[FIRN_RMS_NORM_BACKWARD_GAIN_IN_X];
    const firn_tensor *dgain = &call->outputs[FIRN_RMS_NORM_BACKWARD_GAIN_OUT_DGAIN];
    const float *reciprocals = call->inputs[FIRN_RMS_NORM_BACKWARD_GAIN_IN_RECIPROCAL].data;
    const uint8_t affine = (uint8_t)call->integers[FIRN_RMS_NORM_BACKWARD_GAIN_AFFINE];
    float sums[FIRN_BLOCK], gradient[FIRN_BLOCK], normal[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        const size_t at = block * FIRN_BLOCK, count = firn_block_elements(dgain->elements, block);
        for (size_t i = 0; i < count; i++)
            sums[i] = 0.0f;
        for (size_t row = 0; row < firn_rows(x); row++) {
            const float reciprocal = reciprocals[row];
            firn_row_widen(gradient, dy, row, at);
            firn_row_widen(normal, x, row, at);
            for (size_t i = 0; i < count; i++)
                normal[i] = normal[i] * reciprocal;
            firn_block_round(affine, normal, count);
            for (size_t i = 0; i < count; i++)
                sums[i] = firn_fma(gradient[i], normal[i], sums[i]);
        }
        firn_narrow(dgain->data, dgain->type, at, sums, count);
    }
}

/* dgain = sum over rows of dy x_hat */
void firn_kernel_rms_norm_backward_gain(const firn_kernel_call *call) {
    const size_t rows = firn_rows(&call->inputs[FIRN_RMS_NORM_BACKWARD_GAIN_IN_X]);
    firn_split(call, firn_blocks(call->outputs[FIRN_RMS_NORM_BACKWARD_GAIN_OUT_DGAIN].elements), 3 * rows * FIRN_BLOCK,
               gain_blocks);
}
