/* Losses that compare each element of a prediction with its target: l1, huber and smooth L1, binary cross-entropy,
 * Kullback-Leibler divergence. Freestanding. */
#include "runtime/kernels/blocks.h"
#include "runtime/numerics/elementary.h"

/* --- l1 ----------------------------------------------------------------------------------------------------------- */

static void l1_terms(float *x, const float *target, size_t count) {
    for (size_t i = 0; i < count; i++)
        x[i] = firn_absolute(x[i] - target[i]);
}

/* The sign of the difference; 0 for no difference, NaN for NaN. */
static void l1_slopes(float *x, const float *target, size_t count) {
    for (size_t i = 0; i < count; i++) {
        float d = x[i] - target[i];
        float sign = (float)((int32_t)(d > 0.0f) - (int32_t)(d < 0.0f));
        x[i] = firn_select_float(d == d, sign, d);
    }
}

/* --- huber and smooth L1 ------------------------------------------------------------------------------------------ */

/* Form of huber_loss, attribute 0. */
enum { SMOOTH = 1 };

/* Half the square of the difference up to the threshold, a line beyond it. */
static void huber_terms(const firn_kernel_call *call, float *x, const float *target, size_t count) {
    const float threshold = call->reals[FIRN_HUBER_LOSS_THRESHOLD];
    const bool smooth = call->integers[FIRN_HUBER_LOSS_FORM] == SMOOTH;
    const float steepness = smooth ? 1.0f : threshold, scale = smooth ? threshold : 1.0f;
    for (size_t i = 0; i < count; i++) {
        float a = firn_absolute(x[i] - target[i]);
        float near = 0.5f * a * a / scale;
        float far = steepness * (a - 0.5f * threshold);
        x[i] = firn_select_float(a < threshold, near, far);
    }
}

static void huber_slopes(const firn_kernel_call *call, float *x, const float *target, size_t count) {
    const float threshold = call->reals[FIRN_HUBER_LOSS_THRESHOLD];
    const float scale = call->integers[FIRN_HUBER_LOSS_FORM] == SMOOTH ? threshold : 1.0f;
    for (size_t i = 0; i < count; i++)
        x[i] = firn_limit(x[i] - target[i], -threshold, threshold) / scale;
}

/* --- binary cross-entropy ----------------------------------------------------------------------------------------- */

/* softplus(x) - x target, in the order that keeps what is small: the difference of the large parts first. */
static void binary_terms(float *x, const float *target, size_t count) {
    for (size_t i = 0; i < count; i++) {
        float positive = firn_select_float(x[i] > 0.0f, x[i], 0.0f);
        x[i] = firn_fma(-x[i], target[i], positive) + firn_log_one_exp(x[i]);
    }
}

static void binary_slopes(float *x, const float *target, size_t count) {
    for (size_t i = 0; i < count; i++)
        x[i] = firn_sigmoid_inline(x[i]) - target[i];
}

/* --- Kullback-Leibler divergence ---------------------------------------------------------------------------------- */

/* p (log p - x), where p is the probability of the target; a probability of 0 adds nothing, whatever x is. */
static void divergence_terms(const firn_kernel_call *call, float *x, const float *target, size_t count) {
    const bool log_target = call->integers[FIRN_KL_DIVERGENCE_LOG_TARGET] != 0;
    for (size_t i = 0; i < count; i++) {
        float p = log_target ? firn_exp_inline(target[i]) : target[i];
        float log_p = log_target ? target[i] : firn_log_inline(target[i]);
        x[i] = firn_select_float(p == 0.0f, 0.0f, p * (log_p - x[i]));
    }
}

static void divergence_slopes(const firn_kernel_call *call, float *x, const float *target, size_t count) {
    const bool log_target = call->integers[FIRN_KL_DIVERGENCE_LOG_TARGET] != 0;
    for (size_t i = 0; i < count; i++)
        x[i] = -(log_target ? firn_exp_inline(target[i]) : target[i]);
}

/* --- the sum, and its gradient ------------------------------------------------------------------------------------ */

/* Which loss: a switch and not a pointer, because a call through a pointer in a kernel is a task to the check of the
 * stack (runtime/targets/stack.awk). */
typedef enum loss_rule { L1, HUBER_FORMS, BINARY, DIVERGENCE } loss_rule;

static void to_terms(loss_rule rule, const firn_kernel_call *call, float *x, const float *target, size_t count) {
    switch (rule) {
    case L1:
        l1_terms(x, target, count);
        break;
    case HUBER_FORMS:
        huber_terms(call, x, target, count);
        break;
    case BINARY:
        binary_terms(x, target, count);
        break;
    case DIVERGENCE:
        divergence_terms(call, x, target, count);
        break;
    }
}

static void to_slopes(loss_rule rule, const firn_kernel_call *call, float *x, const float *target, size_t count) {
    switch (rule) {
    case L1:
        l1_slopes(x, target, count);
        break;
    case HUBER_FORMS:
        huber_slopes(call, x, target, count);
        break;
    case BINARY:
        binary_slopes(x, target, count);
        break;
    case DIVERGENCE:
        divergence_slopes(call, x, target, count);
        break;
    }
}

/* What the sum is divided by. */
static float divisor_of(loss_rule rule, const firn_kernel_call *call, const firn_tensor *prediction) {
    bool batch_mean = rule == DIVERGENCE && call->integers[FIRN_KL_DIVERGENCE_BATCH_MEAN] != 0;
    return (float)(batch_mean ? prediction->dims[0] : prediction->elements);
}

/* loss = sum of the terms / divisor */
static void sum_terms(const firn_kernel_call *call, loss_rule rule) {
    const firn_tensor *prediction = &call->inputs[0];
    float x[FIRN_BLOCK], target[FIRN_BLOCK];
    firn_sum loss;
    firn_sum_begin(&loss);
    for (size_t block = 0; block < firn_blocks(prediction->elements); block++) {
        size_t count = firn_block_widen(x, prediction, block);
        firn_block_widen(target, &call->inputs[1], block);
        to_terms(rule, call, x, target, count);
        firn_sum_add_many(&loss, x, count);
    }
    firn_set_scalar(&call->outputs[0], firn_sum_end(&loss) / divisor_of(rule, call, prediction));
}

typedef struct gradient {
    const firn_kernel_call *call;
    loss_rule rule;
    float factor;
} gradient;

static void gradient_blocks(void *argument, size_t begin, size_t end) {
    const gradient *g = argument;
    const firn_kernel_call *call = g->call;
    float x[FIRN_BLOCK], target[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count = firn_block_widen(x, &call->inputs[1], block);
        firn_block_widen(target, &call->inputs[2], block);
        to_slopes(g->rule, call, x, target, count);
        for (size_t i = 0; i < count; i++)
            x[i] *= g->factor;
        firn_block_narrow(&call->outputs[0], block, x, count);
    }
}

/* dprediction = slope * (dloss / divisor) */
static void run_gradient(const firn_kernel_call *call, loss_rule rule) {
    gradient g = {call, rule, firn_scalar(&call->inputs[0]) / divisor_of(rule, call, &call->inputs[1])};
    firn_parallel_run(&call->parallel, firn_blocks(call->outputs[0].elements), UINT64_C(8) * FIRN_BLOCK,
                      gradient_blocks, &g);
}

void firn_kernel_l1_loss(const firn_kernel_call *call) {
    sum_terms(call, L1);
}

void firn_kernel_l1_loss_backward(const firn_kernel_call *call) {
    run_gradient(call, L1);
}

void firn_kernel_huber_loss(const firn_kernel_call *call) {
    sum_terms(call, HUBER_FORMS);
}

void firn_kernel_huber_loss_backward(const firn_kernel_call *call) {
    run_gradient(call, HUBER_FORMS);
}

void firn_kernel_binary_cross_entropy(const firn_kernel_call *call) {
    sum_terms(call, BINARY);
}

void firn_kernel_binary_cross_entropy_backward(const firn_kernel_call *call) {
    run_gradient(call, BINARY);
}

void firn_kernel_kl_divergence(const firn_kernel_call *call) {
    sum_terms(call, DIVERGENCE);
}

void firn_kernel_kl_divergence_backward(const firn_kernel_call *call) {
    run_gradient(call, DIVERGENCE);
}
