/* The loop that all optimizers share, and SGD and AdamW. An optimizer updates parameters in one pass over memory.
 * Parameters and optimizer state are float32 and are updated in place; gradients may have any real type. Freestanding.
 *
 * To add an optimizer, add a row to plan/ops.def whose inputs begin with parameter and gradient and end with the
 * optional factors, and two functions: one that applies the formula to a run of elements, and the kernel, which passes
 * it to the loop over blocks. */
#include "runtime/kernels/optimizers/optimizer.h"

/* --- the gradient ------------------------------------------------------------------------------------------------- */

#define AS_ADAMW(OP)                                                                                                   \
    (FIRN_##OP##_IN_PARAMETER == FIRN_ADAMW_IN_PARAMETER && FIRN_##OP##_IN_GRADIENT == FIRN_ADAMW_IN_GRADIENT &&       \
     FIRN_##OP##_OUT_PARAMETER == FIRN_ADAMW_OUT_PARAMETER)
_Static_assert(AS_ADAMW(SGD) && AS_ADAMW(SGD_MOMENTUM) && AS_ADAMW(ADAM) && AS_ADAMW(ADAM_AMSGRAD) && AS_ADAMW(RADAM) &&
                   AS_ADAMW(NADAM) && AS_ADAMW(ADAMAX) && AS_ADAMW(LAMB) && AS_ADAMW(LION) && AS_ADAMW(RMSPROP) &&
                   AS_ADAMW(RMSPROP_MOMENTUM) && AS_ADAMW(RMSPROP_CENTERED) && AS_ADAMW(RMSPROP_CENTERED_MOMENTUM) &&
                   AS_ADAMW(RPROP) && AS_ADAMW(ADAGRAD) && AS_ADAMW(ADADELTA) && AS_ADAMW(ASGD) &&
                   AS_ADAMW(ADAFACTOR) && AS_ADAMW(ADAFACTOR_FACTORED) &&
                   FIRN_MUON_DIRECTION_IN_GRADIENT == FIRN_ADAMW_IN_GRADIENT,
               "every optimizer has its parameter and its gradient where AdamW has them");

firn_gradient firn_gradient_of(const firn_kernel_call *call, uint8_t factors) {
    firn_gradient gradient = {&call->inputs[FIRN_ADAMW_IN_GRADIENT], 1.0f, 1.0f, firn_from_bits(FIRN_INFINITY_BITS),
                              false};
    const firn_tensor *tensor = firn_call_input(call, factors);
    if (tensor != NULL) {
        const float *given = tensor->data;
        gradient.unscale = given[FIRN_FACTOR_UNSCALE];
        gradient.clip = given[FIRN_FACTOR_CLIP];
        gradient.limit = given[FIRN_FACTOR_LIMIT];
        gradient.has_factors = true;
    }
    return gradient;
}

void firn_gradient_run(float *g, const firn_gradient *gradient, size_t from, size_t count) {
    const float unscale = gradient->unscale, clip = gradient->clip, limit = gradient->limit;
    firn_widen_rows(g, 0, gradient->tensor->data, gradient->tensor->type, from, 0, 1, count);
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

/* --- the walk ----------------------------------------------------------------------------------------------------- */

typedef struct walk {
    const firn_kernel_call *call;
    firn_gradient gradient;
    uint8_t tensors;
    firn_update_run run;
    const void *settings;
} walk;

/* Returns whether the gradient is used as it lies in memory. */
static bool is_plain(const firn_gradient *gradient) {
    return !gradient->has_factors && !firn_has_half_part(gradient->tensor->type);
}

static void walk_run(const walk *w, size_t block, const float *g, size_t count) {
    float *tensors[FIRN_UPDATE_TENSORS];
    for (uint8_t i = 0; i < w->tensors; i++)
        tensors[i] = firn_block_of(&w->call->outputs[i], block);
    w->run(w->settings, g, tensors, count);
}

/* A plain gradient needs no copy, so all blocks of a thread are one run. */
static void walk_blocks(void *argument, size_t begin, size_t end) {
    const walk *w = argument;
    const size_t elements = w->gradient.tensor->elements;
    float g[FIRN_BLOCK];
    if (is_plain(&w->gradient)) {
        const size_t from = begin * FIRN_BLOCK;
        const size_t left = elements - from, most = (end - begin) * FIRN_BLOCK;
        walk_run(w, begin, firn_block_of(w->gradient.tensor, begin), left < most ? left : most);
        return;
    }
    for (size_t block = begin; block < end; block++)
        walk_run(w, block, g, firn_gradient_block(g, &w->gradient, block));
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

/* m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;  u = m / (sqrt(v) + epsilon) correction; p = p - rate (u
 * + decay p). A NaN in m or v also makes p NaN, so only p is tested for NaN. */
static void adamw_elements(adamw a, const float *restrict g, float *restrict p, float *restrict m, float *restrict v,
                           size_t count) {
    firn_nan_watch watch = 0;
    for (size_t i = 0; i < count; i++) {
        float mean = firn_fma(1.0f - a.beta1, g[i], a.beta1 * m[i]);
        float square = firn_fma(1.0f - a.beta2, g[i] * g[i], a.beta2 * v[i]);
        float u = mean / (firn_sqrt(square) + a.epsilon) * a.correction;
        float next = firn_fma(-a.rate, firn_fma(a.decay, p[i], u), p[i]);
        watch = firn_watch(watch, next);
        p[i] = next;
        m[i] = mean;
        v[i] = square;
    }
    if (firn_may_have_nan(watch)) {
        firn_canonical_many(p, count);
        firn_canonical_many(m, count);
        firn_canonical_many(v, count);
    }
}

static void adamw_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    adamw_elements(*(const adamw *)settings, g, tensors[FIRN_ADAMW_OUT_PARAMETER], tensors[FIRN_ADAMW_OUT_EXP_AVG],
                   tensors[FIRN_ADAMW_OUT_EXP_AVG_SQ], count);
}

/* correction is sqrt(1 - beta2^t) / (1 - beta1^t), or 1 */
void firn_kernel_adamw(const firn_kernel_call *call) {
    const float beta1_power = firn_scalar(&call->inputs[FIRN_ADAMW_IN_BETA1_POWER]);
    const float beta2_power = firn_scalar(&call->inputs[FIRN_ADAMW_IN_BETA2_POWER]);
    adamw a = {.beta1 = call->reals[FIRN_ADAMW_BETA1],
               .beta2 = call->reals[FIRN_ADAMW_BETA2],
               .epsilon = call->reals[FIRN_ADAMW_EPSILON],
               .decay = firn_decay_of(call, FIRN_ADAMW_IN_FACTORS, call->reals[FIRN_ADAMW_WEIGHT_DECAY]),
               .rate = firn_scalar(&call->inputs[FIRN_ADAMW_IN_LEARNING_RATE]),
               .correction = 1.0f};
    if (call->integers[FIRN_ADAMW_CORRECT_BIAS] != 0)
        a.correction = firn_sqrt(1.0f - beta2_power) / (1.0f - beta1_power);
    firn_update(call, FIRN_ADAMW_IN_FACTORS, 3, adamw_run, &a);
}

/* --- sgd ---------------------------------------------------------------------------------------------------------- */

typedef struct sgd {
    float decay, momentum, fresh, rate;
    bool maximize, nesterov;
} sgd;

/* p - rate (g + decay p) */
static inline float sgd_next(const sgd *s, float g, float p) {
    return firn_fma(-s->rate, firn_fma(s->decay, p, g), p);
}

static inline firn_nan_watch sgd_four(const sgd *s, const float *restrict g, float *restrict p, firn_nan_watch watch) {
    const float a = sgd_next(s, g[0], p[0]), b = sgd_next(s, g[1], p[1]), c = sgd_next(s, g[2], p[2]),
                d = sgd_next(s, g[3], p[3]);
    p[0] = a, p[1] = b, p[2] = c, p[3] = d;
    return firn_watch_four(watch, a, b, c, d);
}

/* Eight elements. Arm cores load and store them with one instruction each, which compilers do not find. */
static inline firn_nan_watch sgd_eight(const sgd *s, const float *restrict g, float *restrict p, firn_nan_watch watch) {
#if FIRN_ARM_SCALAR_FMA
    __asm__("vldmia %[g], {s0-s7}\n\tvldmia %[p], {s8-s15}\n\t"
            "vfma.f32 s0, s8, %[decay]\n\tvfma.f32 s1, s9, %[decay]\n\t"
            "vfma.f32 s2, s10, %[decay]\n\tvfma.f32 s3, s11, %[decay]\n\t"
            "vfma.f32 s4, s12, %[decay]\n\tvfma.f32 s5, s13, %[decay]\n\t"
            "vfma.f32 s6, s14, %[decay]\n\tvfma.f32 s7, s15, %[decay]\n\t"
            "vfma.f32 s8, s0, %[rate]\n\tvfma.f32 s9, s1, %[rate]\n\t"
            "vfma.f32 s10, s2, %[rate]\n\tvfma.f32 s11, s3, %[rate]\n\t"
            "vfma.f32 s12, s4, %[rate]\n\tvfma.f32 s13, s5, %[rate]\n\t"
            "vfma.f32 s14, s6, %[rate]\n\tvfma.f32 s15, s7, %[rate]\n\t"
            "vfma.f32 %[watch], s8, s9\n\tvfma.f32 %[watch], s10, s11\n\t"
            "vfma.f32 %[watch], s12, s13\n\tvfma.f32 %[watch], s14, s15\n\t"
            "vstmia %[p], {s8-s15}"
            : [watch] "+t"(watch)
            : [g] "r"(g), [p] "r"(p), [decay] "t"(s->decay), [rate] "t"(-s->rate)
            : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15",
              "memory");
    return watch;
#else
    return sgd_four(s, g + 4, p + 4, sgd_four(s, g, p, watch));
#endif
}

static void sgd_elements(sgd s, const float *restrict g, float *restrict p, size_t count) {
    const float sign = s.maximize ? -1.0f : 1.0f;
    firn_nan_watch watch = 0;
    size_t i = 0;
    for (; FIRN_WRITTEN_OUT && !s.maximize && i + 8 <= count; i += 8)
        watch = sgd_eight(&s, g + i, p + i, watch);
    for (; i < count; i++) {
        p[i] = sgd_next(&s, sign * g[i], p[i]);
        watch = firn_watch(watch, p[i]);
    }
    if (firn_may_have_nan(watch))
        firn_canonical_many(p, count);
}

static void sgd_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    sgd_elements(*(const sgd *)settings, g, tensors[FIRN_SGD_OUT_PARAMETER], count);
}

void firn_kernel_sgd(const firn_kernel_call *call) {
    const sgd s = {.decay = firn_decay_of(call, FIRN_SGD_IN_FACTORS, call->reals[FIRN_SGD_WEIGHT_DECAY]),
                   .rate = firn_scalar(&call->inputs[FIRN_SGD_IN_LEARNING_RATE]),
                   .maximize = call->integers[FIRN_SGD_MAXIMIZE] != 0};
    firn_update(call, FIRN_SGD_IN_FACTORS, 1, sgd_run, &s);
}

/* g = g + decay p;  b = momentum b + (1 - dampening) g;  p = p - rate (nesterov ? g + momentum b : b) */
static void sgd_momentum_elements(sgd s, const float *restrict g, float *restrict p, float *restrict b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        float d = firn_direction(g[i], p[i], s.maximize, s.decay);
        float buffer = firn_fma(s.momentum, b[i], s.fresh * d);
        float step = s.nesterov ? firn_fma(s.momentum, buffer, d) : buffer;
        p[i] = firn_canonical(firn_fma(-s.rate, step, p[i]));
        b[i] = firn_canonical(buffer);
    }
}

static void sgd_momentum_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    sgd_momentum_elements(*(const sgd *)settings, g, tensors[FIRN_SGD_MOMENTUM_OUT_PARAMETER],
                          tensors[FIRN_SGD_MOMENTUM_OUT_MOMENTUM_BUFFER], count);
}

void firn_kernel_sgd_momentum(const firn_kernel_call *call) {
    const sgd s = {.decay =
                       firn_decay_of(call, FIRN_SGD_MOMENTUM_IN_FACTORS, call->reals[FIRN_SGD_MOMENTUM_WEIGHT_DECAY]),
                   .momentum = call->reals[FIRN_SGD_MOMENTUM_MOMENTUM],
                   .fresh = 1.0f - call->reals[FIRN_SGD_MOMENTUM_DAMPENING],
                   .rate = firn_scalar(&call->inputs[FIRN_SGD_MOMENTUM_IN_LEARNING_RATE]),
                   .maximize = call->integers[FIRN_SGD_MOMENTUM_MAXIMIZE] != 0,
                   .nesterov = call->integers[FIRN_SGD_MOMENTUM_NESTEROV] != 0};
    firn_update(call, FIRN_SGD_MOMENTUM_IN_FACTORS, 2, sgd_momentum_run, &s);
}
