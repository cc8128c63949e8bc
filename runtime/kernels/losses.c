/* Losses and where the backward pass begins. Freestanding. */
#include "runtime/kernels/losses.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/row_weights.h"
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

/* The sum of the logits less their maximum. */
static float row_distance(const firn_tensor *logits, size_t row, float maximum) {
    const size_t width = firn_last_extent(logits);
    float x[FIRN_BLOCK];
    firn_sum sum;
    firn_sum_begin(&sum);
    for (size_t at = 0; at < width; at += FIRN_BLOCK) {
        size_t count = firn_smaller(FIRN_BLOCK, width - at);
        firn_widen(x, logits->data, logits->type, row * width + at, count);
        for (size_t i = 0; i < count; i++)
            x[i] -= maximum;
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
void firn_cross_entropy_mean(const firn_kernel_call *call) {
    const firn_tensor *logits = &call->inputs[0];
    const int32_t *labels = call->inputs[1].data;
    const float *maxima = call->outputs[1].data, *sums = call->outputs[2].data;
    const size_t rows = firn_rows(logits), width = firn_last_extent(logits);
    firn_sum loss;
    firn_sum_begin(&loss);
    for (size_t row = 0; row < rows; row++) {
        float label = firn_load(logits->data, logits->type, row * width + (size_t)labels[row]);
        firn_sum_add(&loss, firn_log(sums[row]) - (label - maxima[row]));
    }
    firn_set_scalar(&call->outputs[0], firn_sum_end(&loss) / (float)rows);
}

void firn_kernel_cross_entropy(const firn_kernel_call *call) {
    const firn_tensor *logits = &call->inputs[0];
    firn_split(call, firn_rows(logits), 16 * firn_last_extent(logits), cross_entropy_rows);
    firn_cross_entropy_mean(call);
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

/* --- weighted cross entropy --------------------------------------------------------------------------------------- */

/* How cross_entropy_weighted divides, attribute 1. */
enum { WEIGHTED_MEAN = 0, BATCH_SIZE = 1 };

/* log(sum_v e^(l_v - max)) - the logit of the label less the maximum, of which label_smoothing is spread over all. */
static void row_loss_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *logits = &call->inputs[0];
    const int32_t *labels = call->inputs[1].data;
    const float *maxima = call->outputs[1].data, *sums = call->outputs[2].data;
    float *losses = call->outputs[3].data;
    const float smoothing = call->reals[FIRN_CROSS_ENTROPY_WEIGHTED_LABEL_SMOOTHING];
    const size_t width = firn_last_extent(logits);
    for (size_t row = begin; row < end; row++) {
        float score = firn_load(logits->data, logits->type, row * width + (size_t)labels[row]) - maxima[row];
        if (smoothing != 0.0f)
            score =
                firn_fma(smoothing, row_distance(logits, row, maxima[row]) / (float)width, (1.0f - smoothing) * score);
        losses[row] = firn_canonical(firn_log(sums[row]) - score);
    }
}

void firn_kernel_cross_entropy_weighted(const firn_kernel_call *call) {
    const firn_tensor *logits = &call->inputs[0];
    const float *losses = call->outputs[3].data;
    const size_t rows = firn_rows(logits), width = firn_last_extent(logits);
    const firn_row_weights weights =
        firn_row_weights_of(call, 1, 2, call->integers[FIRN_CROSS_ENTROPY_WEIGHTED_IGNORE_INDEX]);
    firn_sum loss, total;
    firn_split(call, rows, 16 * width, cross_entropy_rows);
    firn_split(call, rows, 4 * width, row_loss_rows);
    firn_sum_begin(&loss);
    firn_sum_begin(&total);
    for (size_t row = 0; row < rows; row++) {
        float weight = firn_row_weight(&weights, row);
        firn_sum_add(&loss, weight == 0.0f ? 0.0f : weight * losses[row]);
        firn_sum_add(&total, weight);
    }
    float divisor = call->integers[FIRN_CROSS_ENTROPY_WEIGHTED_SCALING] == BATCH_SIZE ? (float)logits->dims[0]
                                                                                      : firn_sum_end(&total);
    float share = divisor == 0.0f ? 0.0f : call->reals[FIRN_CROSS_ENTROPY_WEIGHTED_FACTOR] / divisor;
    firn_set_scalar(&call->outputs[0], firn_sum_end(&loss) * share);
    firn_set_scalar(&call->outputs[4], divisor);
}

static void weighted_backward_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *logits = &call->inputs[1], *dlogits = &call->outputs[0];
    const int32_t *labels = call->inputs[2].data;
    const float *maxima = call->inputs[3].data, *sums = call->inputs[4].data;
    const size_t width = firn_last_extent(logits);
    const float smoothing = call->reals[FIRN_CROSS_ENTROPY_WEIGHTED_LABEL_SMOOTHING];
    const float divisor = firn_scalar(&call->inputs[5]);
    const float share = divisor == 0.0f ? 0.0f : call->reals[FIRN_CROSS_ENTROPY_WEIGHTED_FACTOR] / divisor;
    const float factor = firn_scalar(&call->inputs[0]) * share, other = smoothing / (float)width;
    const firn_row_weights weights =
        firn_row_weights_of(call, 2, 6, call->integers[FIRN_CROSS_ENTROPY_WEIGHTED_IGNORE_INDEX]);
    float x[FIRN_BLOCK];
    for (size_t row = begin; row < end; row++) {
        const size_t label = (size_t)labels[row];
        const float weight = firn_row_weight(&weights, row), row_factor = weight * factor;
        for (size_t at = 0; at < width; at += FIRN_BLOCK) {
            size_t count = firn_smaller(FIRN_BLOCK, width - at);
            firn_widen(x, logits->data, logits->type, row * width + at, count);
            for (size_t i = 0; i < count; i++)
                x[i] = firn_exp_inline(x[i] - maxima[row]) / sums[row] - other;
            if (label >= at && label - at < count)
                x[label - at] -= 1.0f - smoothing;
            for (size_t i = 0; i < count; i++)
                x[i] = weight == 0.0f ? 0.0f : x[i] * row_factor;
            firn_narrow(dlogits->data, dlogits->type, row * width + at, x, count);
        }
    }
}

/* dlogits = (softmax - smoothed onehot) weight dloss factor / divisor */
void firn_kernel_cross_entropy_weighted_backward(const firn_kernel_call *call) {
    firn_split(call, firn_rows(&call->inputs[1]), 16 * firn_last_extent(&call->inputs[1]), weighted_backward_rows);
}

/* --- the logarithm of softmax, and its loss ----------------------------------------------------------------------- */

static void log_softmax_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *logits = &call->inputs[0], *y = &call->outputs[0];
    const size_t width = firn_last_extent(logits);
    float x[FIRN_BLOCK];
    for (size_t row = begin; row < end; row++) {
        const float maximum = row_maximum(logits, row), log_sum = firn_log(row_sum(logits, row, maximum));
        for (size_t at = 0; at < width; at += FIRN_BLOCK) {
            size_t count = firn_smaller(FIRN_BLOCK, width - at);
            firn_widen(x, logits->data, logits->type, row * width + at, count);
            for (size_t i = 0; i < count; i++)
                x[i] = (x[i] - maximum) - log_sum;
            firn_narrow(y->data, y->type, row * width + at, x, count);
        }
    }
}

void firn_kernel_log_softmax(const firn_kernel_call *call) {
    firn_split(call, firn_rows(&call->inputs[0]), 16 * firn_last_extent(&call->inputs[0]), log_softmax_rows);
}

static void log_softmax_backward_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *dy = &call->inputs[0], *y = &call->inputs[1], *dx = &call->outputs[0];
    const size_t width = firn_last_extent(dy);
    float d[FIRN_BLOCK], x[FIRN_BLOCK];
    for (size_t row = begin; row < end; row++) {
        firn_sum sum;
        firn_sum_begin(&sum);
        for (size_t at = 0; at < width; at += FIRN_BLOCK) {
            size_t count = firn_smaller(FIRN_BLOCK, width - at);
            firn_widen(d, dy->data, dy->type, row * width + at, count);
            firn_sum_add_many(&sum, d, count);
        }
        const float total = firn_sum_end(&sum);
        for (size_t at = 0; at < width; at += FIRN_BLOCK) {
            size_t count = firn_smaller(FIRN_BLOCK, width - at);
            firn_widen(d, dy->data, dy->type, row * width + at, count);
            firn_widen(x, y->data, y->type, row * width + at, count);
            for (size_t i = 0; i < count; i++)
                d[i] = firn_fma(-firn_exp_inline(x[i]), total, d[i]);
            firn_narrow(dx->data, dx->type, row * width + at, d, count);
        }
    }
}

/* dx = dy - softmax * the sum of dy */
void firn_kernel_log_softmax_backward(const firn_kernel_call *call) {
    firn_split(call, firn_rows(&call->inputs[0]), 16 * firn_last_extent(&call->inputs[0]), log_softmax_backward_rows);
}

/* loss = mean over rows of minus the logarithm at the label */
void firn_kernel_nll_loss(const firn_kernel_call *call) {
    const firn_tensor *logarithms = &call->inputs[0];
    const int32_t *labels = call->inputs[1].data;
    const size_t rows = firn_rows(logarithms), width = firn_last_extent(logarithms);
    firn_sum loss;
    firn_sum_begin(&loss);
    for (size_t row = 0; row < rows; row++)
        firn_sum_add(&loss, -firn_load(logarithms->data, logarithms->type, row * width + (size_t)labels[row]));
    firn_set_scalar(&call->outputs[0], firn_sum_end(&loss) / (float)rows);
}

static void nll_loss_backward_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *dx = &call->outputs[0];
    const int32_t *labels = call->inputs[2].data;
    const size_t width = firn_last_extent(dx);
    const float slope = -(firn_scalar(&call->inputs[0]) / (float)firn_rows(dx)), zeros[FIRN_BLOCK] = {0};
    for (size_t row = begin; row < end; row++) {
        for (size_t at = 0; at < width; at += FIRN_BLOCK)
            firn_narrow(dx->data, dx->type, row * width + at, zeros, firn_smaller(FIRN_BLOCK, width - at));
        firn_store(dx->data, dx->type, row * width + (size_t)labels[row], slope);
    }
}

void firn_kernel_nll_loss_backward(const firn_kernel_call *call) {
    firn_split(call, firn_rows(&call->outputs[0]), firn_last_extent(&call->outputs[0]), nll_loss_backward_rows);
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
