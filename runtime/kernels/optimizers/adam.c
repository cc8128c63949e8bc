/* The Adam family: running means of the gradient and of its square or magnitude, corrected for their start at zero
 * (plan/NUMERICS.md, "Update"; OPTIMIZERS.md compares them). Freestanding. */
#include "runtime/kernels/optimizers/optimizer.h"
#include "schedules/coefficients.h"

typedef struct adam {
    float beta1, beta2, epsilon, decay, rate, correction;
} adam;

/* The other ops of the family have these attributes at the same positions as Adam. */
#define AS_ADAM(OP)                                                                                                    \
    (FIRN_##OP##_BETA1 == FIRN_ADAM_BETA1 && FIRN_##OP##_BETA2 == FIRN_ADAM_BETA2 &&                                   \
     FIRN_##OP##_EPSILON == FIRN_ADAM_EPSILON && FIRN_##OP##_WEIGHT_DECAY == FIRN_ADAM_WEIGHT_DECAY)
_Static_assert(AS_ADAM(ADAM_AMSGRAD) && AS_ADAM(RADAM) && AS_ADAM(NADAM) && AS_ADAM(ADAMAX), "adam_of serves them all");

/* factors: the position of the factors among the op's inputs. */
static adam adam_of(const firn_kernel_call *call, uint8_t factors) {
    return (adam){.beta1 = call->reals[FIRN_ADAM_BETA1],
                  .beta2 = call->reals[FIRN_ADAM_BETA2],
                  .epsilon = call->reals[FIRN_ADAM_EPSILON],
                  .decay = firn_decay_of(call, factors, call->reals[FIRN_ADAM_WEIGHT_DECAY]),
                  .rate = firn_scalar(&call->inputs[FIRN_ADAM_IN_LEARNING_RATE]),
                  .correction = 1.0f};
}

/* beta old + (1 - beta) x */
static float mean(float beta, float old, float x) {
    return firn_fma(1.0f - beta, x, beta * old);
}

/* --- adam --------------------------------------------------------------------------------------------------------- */

/* d = g + decay p;  m, v: means of d, d^2;  p = p - rate m / (sqrt(v) + epsilon) correction */
static void adam_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const adam a = *(const adam *)settings;
    float *restrict p = tensors[FIRN_ADAM_OUT_PARAMETER], *restrict m = tensors[FIRN_ADAM_OUT_EXP_AVG],
                    *restrict v = tensors[FIRN_ADAM_OUT_EXP_AVG_SQ];
    for (size_t i = 0; i < count; i++) {
        float d = firn_fma(a.decay, p[i], g[i]);
        float first = mean(a.beta1, m[i], d), second = mean(a.beta2, v[i], d * d);
        float u = first / (firn_sqrt(second) + a.epsilon) * a.correction;
        p[i] = firn_canonical(firn_fma(-a.rate, u, p[i]));
        m[i] = firn_canonical(first);
        v[i] = firn_canonical(second);
    }
}

void firn_kernel_adam(const firn_kernel_call *call) {
    adam a = adam_of(call, FIRN_ADAM_IN_FACTORS);
    a.correction = firn_adam_correction(a.beta1, a.beta2, firn_step_of(&call->inputs[FIRN_ADAM_IN_STEPS]));
    firn_update(call, FIRN_ADAM_IN_FACTORS, 3, adam_run, &a);
}

typedef struct amsgrad {
    adam adam;
    float coupled, decoupled; /* the weight decay in one of the two, 0 in the other */
} amsgrad;

/* As adam or adamw, with the largest v so far in place of v. */
static void amsgrad_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const amsgrad s = *(const amsgrad *)settings;
    float *restrict p = tensors[FIRN_ADAM_AMSGRAD_OUT_PARAMETER], *restrict m = tensors[FIRN_ADAM_AMSGRAD_OUT_EXP_AVG],
                    *restrict v = tensors[FIRN_ADAM_AMSGRAD_OUT_EXP_AVG_SQ],
                    *restrict most = tensors[FIRN_ADAM_AMSGRAD_OUT_MAX_EXP_AVG_SQ];
    for (size_t i = 0; i < count; i++) {
        float d = firn_fma(s.coupled, p[i], g[i]);
        float first = mean(s.adam.beta1, m[i], d), second = mean(s.adam.beta2, v[i], d * d);
        float largest = firn_maximum(most[i], second);
        float u = first / (firn_sqrt(largest) + s.adam.epsilon) * s.adam.correction;
        p[i] = firn_canonical(firn_fma(-s.adam.rate, firn_fma(s.decoupled, p[i], u), p[i]));
        m[i] = firn_canonical(first);
        v[i] = firn_canonical(second);
        most[i] = firn_canonical(largest);
    }
}

void firn_kernel_adam_amsgrad(const firn_kernel_call *call) {
    const bool decoupled = call->integers[FIRN_ADAM_AMSGRAD_DECOUPLED] != 0;
    amsgrad s = {.adam = adam_of(call, FIRN_ADAM_AMSGRAD_IN_FACTORS)};
    if (call->integers[FIRN_ADAM_AMSGRAD_CORRECT_BIAS] != 0)
        s.adam.correction =
            firn_adam_correction(s.adam.beta1, s.adam.beta2, firn_step_of(&call->inputs[FIRN_ADAM_AMSGRAD_IN_STEPS]));
    s.coupled = decoupled ? 0.0f : s.adam.decay;
    s.decoupled = decoupled ? s.adam.decay : 0.0f;
    firn_update(call, FIRN_ADAM_AMSGRAD_IN_FACTORS, 4, amsgrad_run, &s);
}

/* --- radam -------------------------------------------------------------------------------------------------------- */

typedef struct radam {
    adam adam;
    firn_radam_coefficients at;
} radam;

/* As adam, but v determines the step size only when the rectification is positive; until then the step uses m alone. */
static void radam_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const radam s = *(const radam *)settings;
    float *restrict p = tensors[FIRN_RADAM_OUT_PARAMETER], *restrict m = tensors[FIRN_RADAM_OUT_EXP_AVG],
                    *restrict v = tensors[FIRN_RADAM_OUT_EXP_AVG_SQ];
    for (size_t i = 0; i < count; i++) {
        float d = firn_fma(s.adam.decay, p[i], g[i]);
        float first = mean(s.adam.beta1, m[i], d), second = mean(s.adam.beta2, v[i], d * d);
        float plain = first * s.at.mean;
        float rectified = plain * (s.at.rectification / (firn_sqrt(second) + s.adam.epsilon));
        p[i] = firn_canonical(firn_fma(-s.adam.rate, s.at.rectification > 0.0f ? rectified : plain, p[i]));
        m[i] = firn_canonical(first);
        v[i] = firn_canonical(second);
    }
}

void firn_kernel_radam(const firn_kernel_call *call) {
    radam s = {.adam = adam_of(call, FIRN_RADAM_IN_FACTORS)};
    s.at = firn_radam_coefficients_at(s.adam.beta1, s.adam.beta2, firn_step_of(&call->inputs[FIRN_RADAM_IN_STEPS]));
    firn_update(call, FIRN_RADAM_IN_FACTORS, 3, radam_run, &s);
}

/* --- nadam -------------------------------------------------------------------------------------------------------- */

typedef struct nadam {
    adam adam;
    firn_nadam_coefficients at;
} nadam;

/* As adam, with the momentum of the next step in place of that of this step. */
static void nadam_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const nadam s = *(const nadam *)settings;
    float *restrict p = tensors[FIRN_NADAM_OUT_PARAMETER], *restrict m = tensors[FIRN_NADAM_OUT_EXP_AVG],
                    *restrict v = tensors[FIRN_NADAM_OUT_EXP_AVG_SQ];
    for (size_t i = 0; i < count; i++) {
        float d = firn_fma(s.adam.decay, p[i], g[i]);
        float first = mean(s.adam.beta1, m[i], d), second = mean(s.adam.beta2, v[i], d * d);
        float u = firn_fma(s.at.mean, first, s.at.gradient * d);
        float size = firn_sqrt(second) / s.at.deviation + s.adam.epsilon;
        p[i] = firn_canonical(firn_fma(-s.adam.rate, u / size, p[i]));
        m[i] = firn_canonical(first);
        v[i] = firn_canonical(second);
    }
}

void firn_kernel_nadam(const firn_kernel_call *call) {
    nadam s = {.adam = adam_of(call, FIRN_NADAM_IN_FACTORS)};
    s.at = firn_nadam_coefficients_at(s.adam.beta1, s.adam.beta2, call->reals[FIRN_NADAM_MOMENTUM_DECAY],
                                      firn_scalar(&call->inputs[FIRN_NADAM_IN_MU_PRODUCT]),
                                      firn_step_of(&call->inputs[FIRN_NADAM_IN_STEPS]));
    firn_update(call, FIRN_NADAM_IN_FACTORS, 3, nadam_run, &s);
    firn_set_scalar(&call->outputs[FIRN_NADAM_OUT_MU_PRODUCT], s.at.product);
}

/* --- adamax ------------------------------------------------------------------------------------------------------- */

typedef struct adamax {
    adam adam;
    bool maximize;
} adamax;

/* m as in adam;  n = max(beta2 n, |d| + epsilon);  p = p - rate correction m / n */
static void adamax_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const adamax s = *(const adamax *)settings;
    const float rate = s.adam.rate * s.adam.correction;
    float *restrict p = tensors[FIRN_ADAMAX_OUT_PARAMETER], *restrict m = tensors[FIRN_ADAMAX_OUT_EXP_AVG],
                    *restrict n = tensors[FIRN_ADAMAX_OUT_EXP_INF];
    for (size_t i = 0; i < count; i++) {
        float d = firn_fma(s.adam.decay, p[i], s.maximize ? -g[i] : g[i]);
        float first = mean(s.adam.beta1, m[i], d);
        float largest = firn_maximum(s.adam.beta2 * n[i], (d < 0.0f ? -d : d) + s.adam.epsilon);
        p[i] = firn_canonical(firn_fma(-rate, first / largest, p[i]));
        m[i] = firn_canonical(first);
        n[i] = firn_canonical(largest);
    }
}

void firn_kernel_adamax(const firn_kernel_call *call) {
    adamax s = {.adam = adam_of(call, FIRN_ADAMAX_IN_FACTORS), .maximize = call->integers[FIRN_ADAMAX_MAXIMIZE] != 0};
    s.adam.correction = firn_bias_correction(s.adam.beta1, firn_step_of(&call->inputs[FIRN_ADAMAX_IN_STEPS]));
    firn_update(call, FIRN_ADAMAX_IN_FACTORS, 3, adamax_run, &s);
}

/* --- lion --------------------------------------------------------------------------------------------------------- */

typedef struct lion {
    float beta1, beta2, decay, rate;
} lion;

/* Returns the sign as -1 or 1; a zero or a NaN is returned unchanged. */
static float sign(float x) {
    float positive = x > 0.0f ? 1.0f : x;
    return x < 0.0f ? -1.0f : positive;
}

/* p = p - rate (sign(beta1 m + (1 - beta1) g) + decay p);  m = beta2 m + (1 - beta2) g */
static void lion_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const lion s = *(const lion *)settings;
    float *restrict p = tensors[FIRN_LION_OUT_PARAMETER], *restrict m = tensors[FIRN_LION_OUT_EXP_AVG];
    for (size_t i = 0; i < count; i++) {
        float u = sign(mean(s.beta1, m[i], g[i]));
        p[i] = firn_canonical(firn_fma(-s.rate, firn_fma(s.decay, p[i], u), p[i]));
        m[i] = firn_canonical(mean(s.beta2, m[i], g[i]));
    }
}

void firn_kernel_lion(const firn_kernel_call *call) {
    const lion s = {.beta1 = call->reals[FIRN_LION_BETA1],
                    .beta2 = call->reals[FIRN_LION_BETA2],
                    .decay = firn_decay_of(call, FIRN_LION_IN_FACTORS, call->reals[FIRN_LION_WEIGHT_DECAY]),
                    .rate = firn_scalar(&call->inputs[FIRN_LION_IN_LEARNING_RATE])};
    firn_update(call, FIRN_LION_IN_FACTORS, 2, lion_run, &s);
}
