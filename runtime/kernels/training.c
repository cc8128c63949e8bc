/* From gradients to the next parameters: sums over micro-batches, loss scale, clipping, optimizers, counters. All
 * tensors are float32 but gradients, which may be of any real type. Freestanding. */
#include "runtime/kernels/blocks.h"

static uint64_t counter(const firn_tensor *tensor) {
    const uint64_t *value = tensor->data;
    return *value;
}

static void set_counter(const firn_tensor *tensor, uint64_t x) {
    uint64_t *value = tensor->data;
    *value = x;
}

/* --- micro-batches and loss scale --------------------------------------------------------------------------------- */

static void accumulate_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    float total[FIRN_BLOCK], gradient[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count = firn_block_widen(gradient, &call->inputs[1], block);
        if (call->micro_step > 0) {
            firn_block_widen(total, &call->inputs[0], block);
            for (size_t i = 0; i < count; i++)
                gradient[i] = total[i] + gradient[i];
        }
        firn_block_narrow(&call->outputs[0], block, gradient, count);
    }
}

/* total = gradient in the first micro-batch, total + gradient in the others */
void firn_kernel_accumulate(const firn_kernel_call *call) {
    firn_split_blocks(call, accumulate_blocks);
}

static void multiply_tensor(const firn_kernel_call *call, float factor) {
    float x[FIRN_BLOCK];
    for (size_t block = 0; block < firn_blocks(call->outputs[0].elements); block++) {
        size_t count = firn_block_widen(x, &call->inputs[0], block);
        for (size_t i = 0; i < count; i++)
            x[i] *= factor;
        firn_block_narrow(&call->outputs[0], block, x, count);
    }
}

void firn_kernel_unscale(const firn_kernel_call *call) {
    multiply_tensor(call, 1.0f / firn_scalar(&call->inputs[1]));
}

void firn_kernel_multiply(const firn_kernel_call *call) {
    multiply_tensor(call, call->reals[FIRN_MULTIPLY_FACTOR]);
}

/* --- norm and clipping -------------------------------------------------------------------------------------------- */

void firn_kernel_sum_of_squares(const firn_kernel_call *call) {
    const firn_tensor *gradient = &call->inputs[0];
    float *partial = call->outputs[0].data;
    float x[FIRN_BLOCK];
    firn_sum sum;
    firn_sum_begin(&sum);
    for (size_t block = 0; block < firn_blocks(gradient->elements); block++) {
        size_t count = firn_block_widen(x, gradient, block);
        for (size_t i = 0; i < count; i++)
            x[i] *= x[i];
        firn_sum_add_many(&sum, x, count);
    }
    partial[call->integers[FIRN_SUM_OF_SQUARES_INDEX]] = firn_sum_end(&sum);
}

/* norm = sqrt(sum of partial), finite = norm < infinity: no for NaN too */
void firn_kernel_gradient_norm(const firn_kernel_call *call) {
    const firn_tensor *partial = &call->inputs[0];
    int32_t *finite = call->outputs[1].data;
    firn_sum sum;
    firn_sum_begin(&sum);
    firn_sum_add_many(&sum, partial->data, partial->elements);
    float norm = firn_sqrt(firn_sum_end(&sum));
    firn_set_scalar(&call->outputs[0], norm);
    *finite = norm < firn_from_bits(0x7f800000u);
}

void firn_kernel_clip_coefficient(const firn_kernel_call *call) {
    float coefficient = call->reals[FIRN_CLIP_LIMIT] / (firn_scalar(&call->inputs[0]) + 1e-6f);
    firn_set_scalar(&call->outputs[0], coefficient > 1.0f ? 1.0f : coefficient);
}

void firn_kernel_scale_by(const firn_kernel_call *call) {
    multiply_tensor(call, firn_scalar(&call->inputs[1]));
}

void firn_kernel_clip_value(const firn_kernel_call *call) {
    const firn_tensor *gradient = &call->inputs[0];
    const float limit = call->reals[FIRN_CLIP_LIMIT];
    float x[FIRN_BLOCK];
    for (size_t block = 0; block < firn_blocks(gradient->elements); block++) {
        size_t count = firn_block_widen(x, gradient, block);
        for (size_t i = 0; i < count; i++) {
            float below = x[i] > limit ? limit : x[i];
            x[i] = below < -limit ? -limit : below;
        }
        firn_block_narrow(&call->outputs[0], block, x, count);
    }
}

/* --- optimizers --------------------------------------------------------------------------------------------------- */

/* sqrt(1 - beta2^t) / (1 - beta1^t), or 1 */
static float adamw_correction(const firn_kernel_call *call) {
    const bool correct_bias = call->integers[FIRN_ADAMW_CORRECT_BIAS] != 0;
    const float beta1_power = firn_scalar(&call->inputs[5]), beta2_power = firn_scalar(&call->inputs[6]);
    return correct_bias ? firn_sqrt(1.0f - beta2_power) / (1.0f - beta1_power) : 1.0f;
}

/* m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;  u = m / (sqrt(v) + epsilon) correction;
 * p = p - rate (u + decay p) */
static void adamw_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const float beta1 = call->reals[FIRN_ADAMW_BETA1], beta2 = call->reals[FIRN_ADAMW_BETA2],
                epsilon = call->reals[FIRN_ADAMW_EPSILON], decay = call->reals[FIRN_ADAMW_WEIGHT_DECAY];
    const float rate = firn_scalar(&call->inputs[4]), correction = adamw_correction(call);
    float p[FIRN_BLOCK], g[FIRN_BLOCK], m[FIRN_BLOCK], v[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count = firn_block_widen(p, &call->inputs[0], block);
        firn_block_widen(g, &call->inputs[1], block);
        firn_block_widen(m, &call->inputs[2], block);
        firn_block_widen(v, &call->inputs[3], block);
        for (size_t i = 0; i < count; i++) {
            m[i] = firn_fma(1.0f - beta1, g[i], beta1 * m[i]);
            v[i] = firn_fma(1.0f - beta2, g[i] * g[i], beta2 * v[i]);
            float u = m[i] / (firn_sqrt(v[i]) + epsilon) * correction;
            p[i] = firn_fma(-rate, firn_fma(decay, p[i], u), p[i]);
        }
        firn_block_narrow(&call->outputs[0], block, p, count);
        firn_block_narrow(&call->outputs[1], block, m, count);
        firn_block_narrow(&call->outputs[2], block, v, count);
    }
}

void firn_kernel_adamw(const firn_kernel_call *call) {
    firn_split_blocks(call, adamw_blocks);
}

/* A block of the gradient that SGD follows: with its sign turned to maximize, then decay * parameter added. */
static void widen_direction(float *g, const float *p, const firn_tensor *gradient, size_t block, bool maximize,
                            float decay) {
    size_t count = firn_block_widen(g, gradient, block);
    for (size_t i = 0; i < count; i++)
        g[i] = firn_fma(decay, p[i], maximize ? -g[i] : g[i]);
}

/* p = p - rate (g + decay p) */
static void sgd_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const float rate = firn_scalar(&call->inputs[2]);
    float p[FIRN_BLOCK], g[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count = firn_block_widen(p, &call->inputs[0], block);
        widen_direction(g, p, &call->inputs[1], block, call->integers[FIRN_SGD_MAXIMIZE] != 0,
                        call->reals[FIRN_SGD_WEIGHT_DECAY]);
        for (size_t i = 0; i < count; i++)
            p[i] = firn_fma(-rate, g[i], p[i]);
        firn_block_narrow(&call->outputs[0], block, p, count);
    }
}

void firn_kernel_sgd(const firn_kernel_call *call) {
    firn_split_blocks(call, sgd_blocks);
}

/* g = g + decay p;  b = momentum b + (1 - dampening) g;  p = p - rate (nesterov ? g + momentum b : b) */
static void sgd_momentum_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const bool nesterov = call->integers[FIRN_SGD_MOMENTUM_NESTEROV] != 0;
    const float momentum = call->reals[FIRN_SGD_MOMENTUM_MOMENTUM],
                fresh = 1.0f - call->reals[FIRN_SGD_MOMENTUM_DAMPENING], rate = firn_scalar(&call->inputs[2]);
    float p[FIRN_BLOCK], g[FIRN_BLOCK], b[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count = firn_block_widen(p, &call->inputs[0], block);
        firn_block_widen(b, &call->inputs[3], block);
        widen_direction(g, p, &call->inputs[1], block, call->integers[FIRN_SGD_MOMENTUM_MAXIMIZE] != 0,
                        call->reals[FIRN_SGD_MOMENTUM_WEIGHT_DECAY]);
        for (size_t i = 0; i < count; i++) {
            b[i] = firn_fma(momentum, b[i], fresh * g[i]);
            float step = nesterov ? firn_fma(momentum, b[i], g[i]) : b[i];
            p[i] = firn_fma(-rate, step, p[i]);
        }
        firn_block_narrow(&call->outputs[0], block, p, count);
        firn_block_narrow(&call->outputs[1], block, b, count);
    }
}

void firn_kernel_sgd_momentum(const firn_kernel_call *call) {
    firn_split_blocks(call, sgd_momentum_blocks);
}

/* --- counters ----------------------------------------------------------------------------------------------------- */

void firn_kernel_count(const firn_kernel_call *call) {
    set_counter(&call->outputs[0], counter(&call->inputs[0]) + (uint64_t)call->integers[FIRN_COUNT_STEP]);
}

/* The float nearest to n. Shifted into 32 bits first, with a 1 for all that is shifted out, because a processor without
 * 64-bit conversions would take a routine of the compiler's library. */
static float nearest_float(uint64_t n) {
    float scale = 1.0f;
    while (n > UINT32_MAX) {
        n = n >> 1 | (n & 1);
        scale *= 2.0f;
    }
    return (float)(uint32_t)n * scale;
}

/* Halve when overflows / steps is above the tolerance; double when more than steps_per_increase steps have passed. */
void firn_kernel_loss_scale_update(const firn_kernel_call *call) {
    const int32_t *finite = call->inputs[0].data;
    int32_t *at_floor = call->outputs[4].data;
    const uint64_t steps_per_increase = (uint64_t)call->integers[FIRN_LOSS_SCALE_STEPS_PER_INCREASE],
                   overflow = *finite == 0;
    const float minimum = call->reals[FIRN_LOSS_SCALE_MINIMUM], maximum = call->reals[FIRN_LOSS_SCALE_MAXIMUM],
                tolerance = call->reals[FIRN_LOSS_SCALE_OVERFLOW_TOLERANCE];
    float scale = firn_scalar(&call->inputs[1]);
    uint64_t steps = counter(&call->inputs[2]) + 1, overflows = counter(&call->inputs[3]) + overflow;
    if (tolerance < nearest_float(overflows) / nearest_float(steps)) {
        scale *= 0.5f;
        steps = overflows = 0;
    }
    if (steps_per_increase < steps) {
        scale *= 2.0f;
        steps = overflows = 0;
    }
    scale = scale > maximum ? maximum : scale;
    *at_floor = scale < minimum;
    scale = scale < minimum ? minimum : scale;
    firn_set_scalar(&call->outputs[0], scale);
    set_counter(&call->outputs[1], steps);
    set_counter(&call->outputs[2], overflows);
    set_counter(&call->outputs[3], counter(&call->inputs[4]) + overflow);
}
