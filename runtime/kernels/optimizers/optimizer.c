/* The optimizers: from a gradient to the next parameter, in one pass over memory. Parameters and optimizer state are
 * float32 and are changed where they lie; gradients may be of any real type. Freestanding.
 *
 * An optimizer is a row of plan/ops.def whose inputs begin with parameter and gradient and end with the optional
 * factors, and here two functions: one that advances a run of elements by its formula, and one that walks over blocks.
 */
#include "runtime/kernels/optimizers/optimizer.h"

/* --- the gradient ------------------------------------------------------------------------------------------------- */

firn_gradient firn_gradient_of(const firn_kernel_call *call, uint8_t factors) {
    firn_gradient gradient = {&call->inputs[1], 1.0f, 1.0f, firn_from_bits(0x7f800000u), false};
    if (call->input_count > factors) {
        const float *given = call->inputs[factors].data;
        gradient.unscale = given[FIRN_FACTOR_UNSCALE];
        gradient.clip = given[FIRN_FACTOR_CLIP];
        gradient.limit = given[FIRN_FACTOR_LIMIT];
        gradient.has_factors = true;
    }
    return gradient;
}

void firn_gradient_run(float *g, const firn_gradient *gradient, size_t from, size_t count) {
    const float unscale = gradient->unscale, clip = gradient->clip, limit = gradient->limit;
    firn_widen(g, gradient->tensor->data, gradient->tensor->type, from, count);
    if (!gradient->has_factors)
        return;
    for (size_t i = 0; i < count; i++) {
        float x = g[i] * unscale * clip;
        float below = x > limit ? limit : x;
        g[i] = below < -limit ? -limit : below;
    }
}

size_t firn_gradient_block(float *g, const firn_gradient *gradient, size_t block) {
    size_t count = firn_block_elements(gradient->tensor->elements, block);
    firn_gradient_run(g, gradient, block * FIRN_BLOCK, count);
    return count;
}

const float *firn_gradient_view(float *g, const firn_gradient *gradient, size_t block) {
    if (!gradient->has_factors && gradient->tensor->type == FIRN_FLOAT32)
        return firn_block_of(gradient->tensor, block);
    firn_gradient_block(g, gradient, block);
    return g;
}

/* --- the walk ----------------------------------------------------------------------------------------------------- */

typedef struct walk {
    const firn_kernel_call *call;
    firn_gradient gradient;
    uint8_t tensors;
    firn_update_run run;
    const void *settings;
} walk;

static void walk_blocks(void *argument, size_t begin, size_t end) {
    const walk *w = argument;
    float g[FIRN_BLOCK], *tensors[FIRN_OUTPUTS_MAX];
    for (size_t block = begin; block < end; block++) {
        for (uint8_t i = 0; i < w->tensors; i++)
            tensors[i] = firn_block_of(&w->call->outputs[i], block);
        w->run(w->settings, firn_gradient_view(g, &w->gradient, block), tensors,
               firn_block_elements(w->gradient.tensor->elements, block));
    }
}

void firn_update(const firn_kernel_call *call, uint8_t factors, uint8_t tensors, firn_update_run run,
                 const void *settings) {
    walk w = {call, firn_gradient_of(call, factors), tensors, run, settings};
    firn_run_blocks(call, walk_blocks, &w);
}

/* --- adamw -------------------------------------------------------------------------------------------------------- */

typedef struct adamw {
    float beta1, beta2, epsilon, decay, rate, correction;
} adamw;

/* correction is sqrt(1 - beta2^t) / (1 - beta1^t), or 1 */
static adamw adamw_of(const firn_kernel_call *call) {
    const float beta1_power = firn_scalar(&call->inputs[5]), beta2_power = firn_scalar(&call->inputs[6]);
    adamw a = {.beta1 = call->reals[FIRN_ADAMW_BETA1],
               .beta2 = call->reals[FIRN_ADAMW_BETA2],
               .epsilon = call->reals[FIRN_ADAMW_EPSILON],
               .decay = firn_decay_of(call, 7, call->reals[FIRN_ADAMW_WEIGHT_DECAY]),
               .rate = firn_scalar(&call->inputs[4]),
               .correction = 1.0f};
    if (call->integers[FIRN_ADAMW_CORRECT_BIAS] != 0)
        a.correction = firn_sqrt(1.0f - beta2_power) / (1.0f - beta1_power);
    return a;
}

/* m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;  u = m / (sqrt(v) + epsilon) correction;
 * p = p - rate (u + decay p). NaNs are not canonical yet; true when there are any. One in m or v is one in p, too. */
static bool adamw_run(adamw a, const float *restrict g, float *restrict p, float *restrict m, float *restrict v,
                      size_t count) {
    uint32_t nan = 0;
    for (size_t i = 0; i < count; i++) {
        float mean = firn_fma(1.0f - a.beta1, g[i], a.beta1 * m[i]);
        float square = firn_fma(1.0f - a.beta2, g[i] * g[i], a.beta2 * v[i]);
        float u = mean / (firn_sqrt(square) + a.epsilon) * a.correction;
        float next = firn_fma(-a.rate, firn_fma(a.decay, p[i], u), p[i]);
        nan |= next != next;
        p[i] = next;
        m[i] = mean;
        v[i] = square;
    }
    return nan != 0;
}

static void make_canonical(float *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        x[i] = firn_canonical(x[i]);
}

static void adamw_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_gradient gradient = firn_gradient_of(call, 7);
    const adamw a = adamw_of(call);
    float g[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        const size_t count = firn_block_elements(gradient.tensor->elements, block);
        float *p = firn_block_of(&call->outputs[0], block), *m = firn_block_of(&call->outputs[1], block),
              *v = firn_block_of(&call->outputs[2], block);
        if (adamw_run(a, firn_gradient_view(g, &gradient, block), p, m, v, count)) {
            make_canonical(p, count);
            make_canonical(m, count);
            make_canonical(v, count);
        }
    }
}

void firn_kernel_adamw(const firn_kernel_call *call) {
    firn_split_blocks(call, adamw_blocks);
}

/* --- sgd ---------------------------------------------------------------------------------------------------------- */

/* The direction that SGD follows: the gradient, with its sign turned to maximize, plus decay * parameter. */
static float direction(float g, float p, bool maximize, float decay) {
    return firn_fma(decay, p, maximize ? -g : g);
}

/* p = p - rate (g + decay p) */
static void sgd_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_gradient gradient = firn_gradient_of(call, 3);
    const bool maximize = call->integers[FIRN_SGD_MAXIMIZE] != 0;
    const float decay = firn_decay_of(call, 3, call->reals[FIRN_SGD_WEIGHT_DECAY]);
    const float rate = firn_scalar(&call->inputs[2]);
    float widened[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        const size_t count = firn_block_elements(gradient.tensor->elements, block);
        const float *restrict g = firn_gradient_view(widened, &gradient, block);
        float *restrict p = firn_block_of(&call->outputs[0], block);
        for (size_t i = 0; i < count; i++)
            p[i] = firn_canonical(firn_fma(-rate, direction(g[i], p[i], maximize, decay), p[i]));
    }
}

void firn_kernel_sgd(const firn_kernel_call *call) {
    firn_split_blocks(call, sgd_blocks);
}

typedef struct sgd_momentum {
    float decay, momentum, fresh, rate;
    bool maximize, nesterov;
} sgd_momentum;

/* g = g + decay p;  b = momentum b + (1 - dampening) g;  p = p - rate (nesterov ? g + momentum b : b) */
static void sgd_momentum_run(sgd_momentum s, const float *restrict g, float *restrict p, float *restrict b,
                             size_t count) {
    for (size_t i = 0; i < count; i++) {
        float d = direction(g[i], p[i], s.maximize, s.decay);
        float buffer = firn_fma(s.momentum, b[i], s.fresh * d);
        float step = s.nesterov ? firn_fma(s.momentum, buffer, d) : buffer;
        p[i] = firn_canonical(firn_fma(-s.rate, step, p[i]));
        b[i] = firn_canonical(buffer);
    }
}

static void sgd_momentum_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_gradient gradient = firn_gradient_of(call, 4);
    const sgd_momentum s = {.decay = firn_decay_of(call, 4, call->reals[FIRN_SGD_MOMENTUM_WEIGHT_DECAY]),
                            .momentum = call->reals[FIRN_SGD_MOMENTUM_MOMENTUM],
                            .fresh = 1.0f - call->reals[FIRN_SGD_MOMENTUM_DAMPENING],
                            .rate = firn_scalar(&call->inputs[2]),
                            .maximize = call->integers[FIRN_SGD_MOMENTUM_MAXIMIZE] != 0,
                            .nesterov = call->integers[FIRN_SGD_MOMENTUM_NESTEROV] != 0};
    float g[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        sgd_momentum_run(s, firn_gradient_view(g, &gradient, block), firn_block_of(&call->outputs[0], block),
                         firn_block_of(&call->outputs[1], block),
                         firn_block_elements(gradient.tensor->elements, block));
    }
}

void firn_kernel_sgd_momentum(const firn_kernel_call *call) {
    firn_split_blocks(call, sgd_momentum_blocks);
}
