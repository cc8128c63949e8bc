/* Losses and where the backward pass begins. Freestanding. */
#include "runtime/kernels/blocks.h"
#include "runtime/numerics/elementary.h"

/* --- cross entropy of softmax ------------------------------------------------------------------------------------- */

static float row_maximum(const firn_tensor *logits, size_t row) {
    const size_t width = firn_last_extent(logits);
    float x[FIRN_BLOCK], m = firn_load(logits->data, logits->type, row * width);
    for (size_t at = 0; at < width; at += FIRN_BLOCK) {
        size_t count = firn_smaller(FIRN_BLOCK, width - at);
        firn_widen(x, logits->data, logits->type, row * width + at, count);
        m = firn_block_maximum(m, x, count);
    }
    return m;
}

static float row_sum(const firn_tensor *logits, size_t row, float maximum) {
    const size_t width = firn_last_extent(logits);
    float x[FIRN_BLOCK];
    firn_sum sum;
    firn_sum_begin(&sum);
    for (size_t at = 0; at < width; at += FIRN_BLOCK) {
        size_t count = firn_smaller(FIRN_BLOCK, width - at);
        firn_widen(x, logits->data, logits->type, row * width + at, count);
        for (size_t i = 0; i < count; i++)
            x[i] = firn_exp_inline(x[i] - maximum);
        firn_sum_add_many(&sum, x, count);
    }
    return firn_sum_end(&sum);
}

static void cross_entropy_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    float *maxima = call->outputs[1].data, *sums = call->outputs[2].data;
    for (size_t row = begin; row < end; row++) {
        maxima[row] = row_maximum(&call->inputs[0], row);
        sums[row] = row_sum(&call->inputs[0], row, maxima[row]);
    }
}

/* loss = mean over rows of log(sum_v e^(l_v - max)) - (l_label - max) */
void firn_kernel_cross_entropy(const firn_kernel_call *call) {
    const firn_tensor *logits = &call->inputs[0];
    const int32_t *labels = call->inputs[1].data;
    const float *maxima = call->outputs[1].data, *sums = call->outputs[2].data;
    const size_t rows = firn_rows(logits), width = firn_last_extent(logits);
    firn_sum loss;
    firn_split(call, rows, 16 * width, cross_entropy_rows);
    firn_sum_begin(&loss);
    for (size_t row = 0; row < rows; row++) {
        float label = firn_load(logits->data, logits->type, row * width + (size_t)labels[row]);
        firn_sum_add(&loss, firn_log(sums[row]) - (label - maxima[row]));
    }
    firn_set_scalar(&call->outputs[0], firn_sum_end(&loss) / (float)rows);
}

static void cross_entropy_backward_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *logits = &call->inputs[1], *dlogits = &call->outputs[0];
    const int32_t *labels = call->inputs[2].data;
    const float *maxima = call->inputs[3].data, *sums = call->inputs[4].data;
    const size_t width = firn_last_extent(logits);
    const float factor = firn_scalar(&call->inputs[0]) / (float)firn_rows(logits);
    float x[FIRN_BLOCK];
    for (size_t row = begin; row < end; row++) {
        const size_t label = (size_t)labels[row];
        const float maximum = maxima[row], sum = sums[row];
        for (size_t at = 0; at < width; at += FIRN_BLOCK) {
            size_t count = firn_smaller(FIRN_BLOCK, width - at);
            firn_widen(x, logits->data, logits->type, row * width + at, count);
            for (size_t i = 0; i < count; i++)
                x[i] = firn_exp_inline(x[i] - maximum) / sum;
            if (label >= at && label - at < count)
                x[label - at] -= 1.0f;
            for (size_t i = 0; i < count; i++)
                x[i] *= factor;
            firn_narrow(dlogits->data, dlogits->type, row * width + at, x, count);
        }
    }
}

/* dlogits = (softmax - onehot) dloss / N */
void firn_kernel_cross_entropy_backward(const firn_kernel_call *call) {
    const firn_tensor *logits = &call->inputs[1];
    firn_split(call, firn_rows(logits), 16 * firn_last_extent(logits), cross_entropy_backward_rows);
}

/* --- mean squared error ------------------------------------------------------------------------------------------- */

/* A block of prediction - target; returns its elements. */
static size_t widen_difference(float *x, const firn_tensor *prediction, const firn_tensor *target, size_t block) {
    size_t count = firn_block_elements(prediction->elements, block);
    float t[FIRN_BLOCK];
    firn_widen(x, prediction->data, prediction->type, block * FIRN_BLOCK, count);
    firn_widen(t, target->data, target->type, block * FIRN_BLOCK, count);
    for (size_t i = 0; i < count; i++)
        x[i] -= t[i];
    return count;
}

/* loss = mean of (prediction - target)^2 */
void firn_kernel_mean_squared_error(const firn_kernel_call *call) {
    const firn_tensor *prediction = &call->inputs[0];
    float x[FIRN_BLOCK];
    firn_sum loss;
    firn_sum_begin(&loss);
    for (size_t block = 0; block < firn_blocks(prediction->elements); block++) {
        size_t count = widen_difference(x, prediction, &call->inputs[1], block);
        for (size_t i = 0; i < count; i++)
            x[i] *= x[i];
        firn_sum_add_many(&loss, x, count);
    }
    firn_set_scalar(&call->outputs[0], firn_sum_end(&loss) / (float)prediction->elements);
}

static void mean_squared_error_backward_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *prediction = &call->inputs[1], *dprediction = &call->outputs[0];
    const float factor = 2.0f * firn_scalar(&call->inputs[0]) / (float)prediction->elements;
    float x[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count = widen_difference(x, prediction, &call->inputs[2], block);
        for (size_t i = 0; i < count; i++)
            x[i] *= factor;
        firn_narrow(dprediction->data, dprediction->type, block * FIRN_BLOCK, x, count);
    }
}

/* dprediction = (prediction - target) 2 dloss / elements */
void firn_kernel_mean_squared_error_backward(const firn_kernel_call *call) {
    firn_split_blocks(call, mean_squared_error_backward_blocks);
}

/* --- the seed of the backward pass -------------------------------------------------------------------------------- */

void firn_kernel_loss_seed(const firn_kernel_call *call) {
    float scale = call->input_count > 0 ? firn_scalar(&call->inputs[0]) : 1.0f;
    firn_set_scalar(&call->outputs[0], call->reals[FIRN_LOSS_SEED_FACTOR] * scale);
}
