/* Losses of rows of logits, and the op that starts the backward pass. Freestanding. */
#include "runtime/kernels/losses/losses.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/row_weights.h"
#include "runtime/numerics/elementary.h"

/* --- cross entropy of softmax ------------------------------------------------------------------------------------- */

static float row_maximum(const firn_tensor *logits, size_t row) {
    float x[FIRN_BLOCK], m = firn_row_load(logits, row, 0);
    for (size_t at = 0; at < firn_last_extent(logits); at += FIRN_BLOCK) {
        const size_t count = firn_row_widen(x, logits, row, at);
        m = firn_block_maximum(m, x, count);
    }
    return m;
}

static inline float exponential_term(float x, float maximum) {
    return firn_exp_inline(x - maximum);
}

static float row_sum(const firn_tensor *logits, size_t row, float maximum) {
    return firn_row_sum(logits, row, maximum, exponential_term);
}

_Static_assert(FIRN_CROSS_ENTROPY_WEIGHTED_IN_LOGITS == FIRN_CROSS_ENTROPY_IN_LOGITS &&
                   FIRN_CROSS_ENTROPY_WEIGHTED_OUT_ROW_MAX == FIRN_CROSS_ENTROPY_OUT_ROW_MAX &&
                   FIRN_CROSS_ENTROPY_WEIGHTED_OUT_ROW_SUM == FIRN_CROSS_ENTROPY_OUT_ROW_SUM,
               "cross_entropy_rows serves both ops");

/* Computes for every row its maximum and the sum of e^(logit - maximum). */
static void cross_entropy_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *logits = &call->inputs[FIRN_CROSS_ENTROPY_IN_LOGITS];
    float *maxima = call->outputs[FIRN_CROSS_ENTROPY_OUT_ROW_MAX].data;
    float *sums = call->outputs[FIRN_CROSS_ENTROPY_OUT_ROW_SUM].data;
    for (size_t row = begin; row < end; row++) {
        maxima[row] = row_maximum(logits, row);
        sums[row] = row_sum(logits, row, maxima[row]);
    }
}

/* loss = mean over rows of log(sum_v e^(l_v - max)) - (l_label - max) */
void firn_cross_entropy_mean(const firn_kernel_call *call) {
    const firn_tensor *logits = &call->inputs[FIRN_CROSS_ENTROPY_IN_LOGITS];
    const int32_t *labels = call->inputs[FIRN_CROSS_ENTROPY_IN_LABELS].data;
    const float *maxima = call->outputs[FIRN_CROSS_ENTROPY_OUT_ROW_MAX].data;
    const float *sums = call->outputs[FIRN_CROSS_ENTROPY_OUT_ROW_SUM].data;
    const size_t rows = firn_rows(logits);
    firn_sum loss;
    firn_sum_begin(&loss);
    for (size_t row = 0; row < rows; row++) {
        const float label = firn_row_load(logits, row, (size_t)labels[row]);
        firn_sum_add(&loss, firn_log(sums[row]) - (label - maxima[row]));
    }
    firn_set_scalar(&call->outputs[FIRN_CROSS_ENTROPY_OUT_LOSS], firn_sum_end(&loss) / (float)rows);
}

void firn_kernel_cross_entropy(const firn_kernel_call *call) {
    const firn_tensor *logits = &call->inputs[FIRN_CROSS_ENTROPY_IN_LOGITS];
    firn_split(call, firn_rows(logits), 16 * firn_last_extent(logits), cross_entropy_rows);
    firn_cross_entropy_mean(call);
}

/* The inputs of the gradients of both cross entropies. */
typedef struct softmax_gradient {
    const firn_tensor *logits, *dlogits;
    const float *maxima, *sums;
    firn_row_weights weights;
    float factor, smoothing;
} softmax_gradient;

/* dlogits = (softmax - smoothed onehot) weight factor */
static void softmax_gradient_rows(void *argument, size_t begin, size_t end) {
    const softmax_gradient *g = argument;
    const size_t width = firn_last_extent(g->logits);
    const float other = g->smoothing / (float)width;
    float x[FIRN_BLOCK];
    for (size_t row = begin; row < end; row++) {
        const size_t label = (size_t)g->weights.labels[row];
        const float maximum = g->maxima[row], sum = g->sums[row];
        const float weight = firn_row_weight(&g->weights, row), factor = weight * g->factor;
        for (size_t at = 0; at < width; at += FIRN_BLOCK) {
            const size_t count = firn_row_widen(x, g->logits, row, at);
            for (size_t i = 0; i < count; i++)
                x[i] = firn_exp_inline(x[i] - maximum) / sum - other;
            if (label >= at && label - at < count)
                x[label - at] -= 1.0f - g->smoothing;
            for (size_t i = 0; i < count; i++)
                x[i] = weight == 0.0f ? 0.0f : x[i] * factor;
            firn_row_narrow(g->dlogits, row, at, x, count);
        }
    }
}

static void run_softmax_gradient(const firn_kernel_call *call, softmax_gradient *g) {
    firn_parallel_run(&call->parallel, firn_rows(g->logits), 16 * (uint64_t)firn_last_extent(g->logits),
                      softmax_gradient_rows, g);
}

/* dlogits = (softmax - onehot) dloss / N */
static inline __attribute__((always_inline)) void cross_entropy_gradient(const firn_kernel_call *call,
                                                                         const firn_tensor *batch) {
    const firn_tensor *logits = &call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_LOGITS];
    softmax_gradient g = {
        .logits = logits,
        .dlogits = &call->outputs[FIRN_CROSS_ENTROPY_BACKWARD_OUT_DLOGITS],
        .maxima = call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_ROW_MAX].data,
        .sums = call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_ROW_SUM].data,
        .weights = {.labels = call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_LABELS].data, .ignored = -1},
        .factor = firn_scalar(&call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_DLOSS]) / (float)firn_rows(batch),
    };
    run_softmax_gradient(call, &g);
}

void firn_cross_entropy_gradient(const firn_kernel_call *call, const firn_tensor *batch) {
    cross_entropy_gradient(call, batch);
}

void firn_kernel_cross_entropy_backward(const firn_kernel_call *call) {
    cross_entropy_gradient(call, &call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_LOGITS]);
}

/* --- weighted cross entropy --------------------------------------------------------------------------------------- */

enum { BATCH_SIZE = 1 }; /* scaling of cross_entropy_weighted; 0: by the sum of the weights */

static inline float distance_term(float x, float maximum) {
    return x - maximum;
}

/* Computes the loss of each row: log(sum_v e^(l_v - max)) - score. The score is l_label - max, or 0 if the label is no
 * class because it is ignored. Of it the fraction label_smoothing is replaced by the mean of l_v - max over all
 * classes. */
static void row_loss_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *logits = &call->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_IN_LOGITS];
    const int32_t *labels = call->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_IN_LABELS].data;
    const float *maxima = call->outputs[FIRN_CROSS_ENTROPY_WEIGHTED_OUT_ROW_MAX].data;
    const float *sums = call->outputs[FIRN_CROSS_ENTROPY_WEIGHTED_OUT_ROW_SUM].data;
    float *losses = call->outputs[FIRN_CROSS_ENTROPY_WEIGHTED_OUT_ROW_LOSS].data;
    const float smoothing = call->reals[FIRN_CROSS_ENTROPY_WEIGHTED_LABEL_SMOOTHING];
    const size_t width = firn_last_extent(logits);
    for (size_t row = begin; row < end; row++) {
        const size_t label = (size_t)labels[row];
        float score = label < width ? firn_row_load(logits, row, label) - maxima[row] : 0.0f;
        if (smoothing != 0.0f) {
            const float all = firn_row_sum(logits, row, maxima[row], distance_term);
            score = firn_fma(smoothing, all / (float)width, (1.0f - smoothing) * score);
        }
        losses[row] = firn_canonical(firn_log(sums[row]) - score);
    }
}

void firn_kernel_cross_entropy_weighted(const firn_kernel_call *call) {
    const firn_tensor *logits = &call->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_IN_LOGITS];
    const float *losses = call->outputs[FIRN_CROSS_ENTROPY_WEIGHTED_OUT_ROW_LOSS].data;
    const size_t rows = firn_rows(logits), width = firn_last_extent(logits);
    const firn_row_weights weights =
        firn_row_weights_of(call, FIRN_CROSS_ENTROPY_WEIGHTED_IN_LABELS, FIRN_CROSS_ENTROPY_WEIGHTED_IN_WEIGHTS,
                            call->integers[FIRN_CROSS_ENTROPY_WEIGHTED_IGNORE_INDEX]);
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
    const firn_tensor *given = firn_call_input(call, FIRN_CROSS_ENTROPY_WEIGHTED_IN_BATCH_DIVISOR);
    float divisor = call->integers[FIRN_CROSS_ENTROPY_WEIGHTED_SCALING] == BATCH_SIZE ? (float)logits->dims[0]
                                                                                      : firn_sum_end(&total);
    if (given != NULL)
        divisor = firn_scalar(given);
    float share = divisor == 0.0f ? 0.0f : call->reals[FIRN_CROSS_ENTROPY_WEIGHTED_FACTOR] / divisor;
    firn_set_scalar(&call->outputs[FIRN_CROSS_ENTROPY_WEIGHTED_OUT_LOSS], firn_sum_end(&loss) * share);
    firn_set_scalar(&call->outputs[FIRN_CROSS_ENTROPY_WEIGHTED_OUT_DIVISOR], divisor);
}

/* dlogits = (softmax - smoothed onehot) weight dloss factor / divisor */
void firn_kernel_cross_entropy_weighted_backward(const firn_kernel_call *call) {
    const float divisor = firn_scalar(&call->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IN_DIVISOR]);
    const float share = divisor == 0.0f ? 0.0f : call->reals[FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_FACTOR] / divisor;
    softmax_gradient g = {
        .logits = &call->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IN_LOGITS],
        .dlogits = &call->outputs[FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_OUT_DLOGITS],
        .maxima = call->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IN_ROW_MAX].data,
        .sums = call->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IN_ROW_SUM].data,
        .weights = firn_row_weights_of(call, FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IN_LABELS,
                                       FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IN_WEIGHTS,
                                       call->integers[FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IGNORE_INDEX]),
        .factor = firn_scalar(&call->inputs[FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IN_DLOSS]) * share,
        .smoothing = call->reals[FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_LABEL_SMOOTHING],
    };
    run_softmax_gradient(call, &g);
}

/* --- the logarithm of softmax, and its loss ----------------------------------------------------------------------- */

static void log_softmax_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *logits = &call->inputs[FIRN_LOG_SOFTMAX_IN_X];
    float x[FIRN_BLOCK];
    for (size_t row = begin; row < end; row++) {
        const float maximum = row_maximum(logits, row), log_sum = firn_log(row_sum(logits, row, maximum));
        for (size_t at = 0; at < firn_last_extent(logits); at += FIRN_BLOCK) {
            const size_t count = firn_row_widen(x, logits, row, at);
            for (size_t i = 0; i < count; i++)
                x[i] = (x[i] - maximum) - log_sum;
            firn_row_narrow(&call->outputs[FIRN_LOG_SOFTMAX_OUT_Y], row, at, x, count);
        }
    }
}

void firn_kernel_log_softmax(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_LOG_SOFTMAX_IN_X];
    firn_split(call, firn_rows(x), 16 * firn_last_extent(x), log_softmax_rows);
}

static void softmax_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *logits = &call->inputs[FIRN_SOFTMAX_IN_X];
    float x[FIRN_BLOCK];
    for (size_t row = begin; row < end; row++) {
        const float maximum = row_maximum(logits, row), sum = row_sum(logits, row, maximum);
        for (size_t at = 0; at < firn_last_extent(logits); at += FIRN_BLOCK) {
            const size_t count = firn_row_widen(x, logits, row, at);
            for (size_t i = 0; i < count; i++)
                x[i] = exponential_term(x[i], maximum) / sum;
            firn_row_narrow(&call->outputs[FIRN_SOFTMAX_OUT_Y], row, at, x, count);
        }
    }
}

void firn_kernel_softmax(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_SOFTMAX_IN_X];
    firn_split(call, firn_rows(x), 16 * firn_last_extent(x), softmax_rows);
}

static void softmax_backward_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *dy = &call->inputs[FIRN_SOFTMAX_BACKWARD_IN_DY], *y = &call->inputs[FIRN_SOFTMAX_BACKWARD_IN_Y];
    float d[FIRN_BLOCK], p[FIRN_BLOCK];
    for (size_t row = begin; row < end; row++) {
        firn_sum projection;
        firn_sum_begin(&projection);
        for (size_t at = 0; at < firn_last_extent(dy); at += FIRN_BLOCK) {
            const size_t count = firn_row_widen(d, dy, row, at);
            firn_row_widen(p, y, row, at);
            for (size_t i = 0; i < count; i++)
                d[i] = d[i] * p[i];
            firn_sum_add_many(&projection, d, count);
        }
        const float total = firn_sum_end(&projection);
        for (size_t at = 0; at < firn_last_extent(dy); at += FIRN_BLOCK) {
            const size_t count = firn_row_widen(d, dy, row, at);
            firn_row_widen(p, y, row, at);
            for (size_t i = 0; i < count; i++)
                d[i] = p[i] * (d[i] - total);
            firn_row_narrow(&call->outputs[FIRN_SOFTMAX_BACKWARD_OUT_DX], row, at, d, count);
        }
    }
}

/* dx = y (dy - the sum of dy y) */
void firn_kernel_softmax_backward(const firn_kernel_call *call) {
    const firn_tensor *dy = &call->inputs[FIRN_SOFTMAX_BACKWARD_IN_DY];
    firn_split(call, firn_rows(dy), 8 * (uint64_t)firn_last_extent(dy), softmax_backward_rows);
}

static void log_softmax_backward_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *dy = &call->inputs[FIRN_LOG_SOFTMAX_BACKWARD_IN_DY];
    float d[FIRN_BLOCK], y[FIRN_BLOCK];
    for (size_t row = begin; row < end; row++) {
        const float total = firn_row_sum(dy, row, 0.0f, firn_row_element);
        for (size_t at = 0; at < firn_last_extent(dy); at += FIRN_BLOCK) {
            const size_t count = firn_row_widen(d, dy, row, at);
            firn_row_widen(y, &call->inputs[FIRN_LOG_SOFTMAX_BACKWARD_IN_Y], row, at);
            for (size_t i = 0; i < count; i++)
                d[i] = firn_fma(-firn_exp_inline(y[i]), total, d[i]);
            firn_row_narrow(&call->outputs[FIRN_LOG_SOFTMAX_BACKWARD_OUT_DX], row, at, d, count);
        }
    }
}

/* dx = dy - softmax * the sum of dy */
void firn_kernel_log_softmax_backward(const firn_kernel_call *call) {
    const firn_tensor *dy = &call->inputs[FIRN_LOG_SOFTMAX_BACKWARD_IN_DY];
    firn_split(call, firn_rows(dy), 16 * firn_last_extent(dy), log_softmax_backward_rows);
}

/* loss = mean over rows of minus the logarithm at the label */
void firn_kernel_nll_loss(const firn_kernel_call *call) {
    const firn_tensor *logarithms = &call->inputs[FIRN_NLL_LOSS_IN_LOG_PROBABILITIES];
    const int32_t *labels = call->inputs[FIRN_NLL_LOSS_IN_LABELS].data;
    const size_t rows = firn_rows(logarithms);
    firn_sum loss;
    firn_sum_begin(&loss);
    for (size_t row = 0; row < rows; row++)
        firn_sum_add(&loss, -firn_row_load(logarithms, row, (size_t)labels[row]));
    firn_set_scalar(&call->outputs[FIRN_NLL_LOSS_OUT_LOSS], firn_sum_end(&loss) / (float)rows);
}

static void nll_loss_backward_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *dx = &call->outputs[FIRN_NLL_LOSS_BACKWARD_OUT_DLOG_PROBABILITIES];
    const int32_t *labels = call->inputs[FIRN_NLL_LOSS_BACKWARD_IN_LABELS].data;
    const size_t width = firn_last_extent(dx);
    const float dloss = firn_scalar(&call->inputs[FIRN_NLL_LOSS_BACKWARD_IN_DLOSS]);
    const float slope = -(dloss / (float)firn_rows(dx)), zeros[FIRN_BLOCK] = {0};
    for (size_t row = begin; row < end; row++) {
        for (size_t at = 0; at < width; at += FIRN_BLOCK)
            firn_row_narrow(dx, row, at, zeros, firn_smaller(FIRN_BLOCK, width - at));
        firn_store(dx->data, dx->type, row * width + (size_t)labels[row], slope);
    }
}

void firn_kernel_nll_loss_backward(const firn_kernel_call *call) {
    const firn_tensor *dx = &call->outputs[FIRN_NLL_LOSS_BACKWARD_OUT_DLOG_PROBABILITIES];
    firn_split(call, firn_rows(dx), firn_last_extent(dx), nll_loss_backward_rows);
}

/* --- the seed of the backward pass -------------------------------------------------------------------------------- */

void firn_kernel_loss_seed(const firn_kernel_call *call) {
    const firn_tensor *given = firn_call_input(call, FIRN_LOSS_SEED_IN_SCALE);
    const float scale = given != NULL ? firn_scalar(given) : 1.0f;
    firn_set_scalar(&call->outputs[FIRN_LOSS_SEED_OUT_DLOSS], call->reals[FIRN_LOSS_SEED_FACTOR] * scale);
}
