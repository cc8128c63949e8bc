/* Optimizers that give every element a step of its own size, and the one that averages (plan/NUMERICS.md, "Update";
 * OPTIMIZERS.md compares them). Freestanding. */
#include "runtime/kernels/optimizers/optimizer.h"
#include "runtime/numerics/elementary.h"
#include "schedules/coefficients.h"

/* The gradient, with its sign turned to maximize, plus decay * parameter. */
static float direction(float g, float p, bool maximize, float decay) {
    return firn_fma(decay, p, maximize ? -g : g);
}

/* --- rmsprop ------------------------------------------------------------------------------------------------------ */

typedef struct rmsprop {
    float alpha, epsilon, decay, momentum, rate;
} rmsprop;

/* v, the mean of d^2, and the size that it gives the step. */
static float rmsprop_square(rmsprop s, float v, float d) {
    return firn_fma(1.0f - s.alpha, d * d, s.alpha * v);
}

static float rmsprop_size(rmsprop s, float v) {
    return firn_sqrt(v) + s.epsilon;
}

/* The same of v less the square of a, the mean of d. Rounding can bring that below 0, which it cannot be. */
static float rmsprop_mean(rmsprop s, float a, float d) {
    return firn_fma(1.0f - s.alpha, d, s.alpha * a);
}

static float rmsprop_centered_size(rmsprop s, float v, float a) {
    float variance = firn_fma(-a, a, v);
    return rmsprop_size(s, variance < 0.0f ? 0.0f : variance);
}

static void rmsprop_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const rmsprop s = *(const rmsprop *)settings;
    float *restrict p = tensors[0], *restrict v = tensors[1];
    for (size_t i = 0; i < count; i++) {
        float d = firn_fma(s.decay, p[i], g[i]), square = rmsprop_square(s, v[i], d);
        p[i] = firn_canonical(firn_fma(-s.rate, d / rmsprop_size(s, square), p[i]));
        v[i] = firn_canonical(square);
    }
}

static void rmsprop_momentum_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const rmsprop s = *(const rmsprop *)settings;
    float *restrict p = tensors[0], *restrict v = tensors[1], *restrict b = tensors[2];
    for (size_t i = 0; i < count; i++) {
        float d = firn_fma(s.decay, p[i], g[i]), square = rmsprop_square(s, v[i], d);
        float buffer = firn_fma(s.momentum, b[i], d / rmsprop_size(s, square));
        p[i] = firn_canonical(firn_fma(-s.rate, buffer, p[i]));
        v[i] = firn_canonical(square);
        b[i] = firn_canonical(buffer);
    }
}

static void rmsprop_centered_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const rmsprop s = *(const rmsprop *)settings;
    float *restrict p = tensors[0], *restrict v = tensors[1], *restrict a = tensors[2];
    for (size_t i = 0; i < count; i++) {
        float d = firn_fma(s.decay, p[i], g[i]), square = rmsprop_square(s, v[i], d), mean = rmsprop_mean(s, a[i], d);
        p[i] = firn_canonical(firn_fma(-s.rate, d / rmsprop_centered_size(s, square, mean), p[i]));
        v[i] = firn_canonical(square);
        a[i] = firn_canonical(mean);
    }
}

static void rmsprop_centered_momentum_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const rmsprop s = *(const rmsprop *)settings;
    float *restrict p = tensors[0], *restrict v = tensors[1], *restrict a = tensors[2], *restrict b = tensors[3];
    for (size_t i = 0; i < count; i++) {
        float d = firn_fma(s.decay, p[i], g[i]), square = rmsprop_square(s, v[i], d), mean = rmsprop_mean(s, a[i], d);
        float buffer = firn_fma(s.momentum, b[i], d / rmsprop_centered_size(s, square, mean));
        p[i] = firn_canonical(firn_fma(-s.rate, buffer, p[i]));
        v[i] = firn_canonical(square);
        a[i] = firn_canonical(mean);
        b[i] = firn_canonical(buffer);
    }
}

/* One of the four, which changes so many tensors beside the parameter. */
static void rmsprop_with(const firn_kernel_call *call, uint8_t tensors, firn_update_run run) {
    const uint8_t rate = (uint8_t)(2 + tensors), factors = (uint8_t)(rate + 1);
    const rmsprop s = {.alpha = call->reals[FIRN_RMSPROP_ALPHA],
                       .epsilon = call->reals[FIRN_RMSPROP_EPSILON],
                       .decay = firn_decay_of(call, factors, call->reals[FIRN_RMSPROP_WEIGHT_DECAY]),
                       .momentum = call->reals[FIRN_RMSPROP_MOMENTUM_MOMENTUM],
                       .rate = firn_scalar(&call->inputs[rate])};
    firn_update(call, factors, (uint8_t)(1 + tensors), run, &s);
}

void firn_kernel_rmsprop(const firn_kernel_call *call) {
    rmsprop_with(call, 1, rmsprop_run);
}

void firn_kernel_rmsprop_momentum(const firn_kernel_call *call) {
    rmsprop_with(call, 2, rmsprop_momentum_run);
}

void firn_kernel_rmsprop_centered(const firn_kernel_call *call) {
    rmsprop_with(call, 2, rmsprop_centered_run);
}

void firn_kernel_rmsprop_centered_momentum(const firn_kernel_call *call) {
    rmsprop_with(call, 3, rmsprop_centered_momentum_run);
}

/* --- rprop -------------------------------------------------------------------------------------------------------- */

typedef struct rprop {
    float minus, plus, smallest, largest, rate;
    bool first;
} rprop;

/* The step grows while the gradient keeps its sign and shrinks when it turns, and then nothing is done. */
static void rprop_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const rprop s = *(const rprop *)settings;
    float *restrict p = tensors[0], *restrict before = tensors[1], *restrict size = tensors[2];
    for (size_t i = 0; i < count; i++) {
        float product = g[i] * before[i];
        float grown = product > 0.0f ? s.plus : 1.0f;
        float old = s.first ? s.rate : size[i];
        float step = firn_limit(old * (product < 0.0f ? s.minus : grown), s.smallest, s.largest);
        float d = product < 0.0f ? 0.0f : g[i];
        float positive = d > 0.0f ? step : d;
        p[i] = firn_canonical(p[i] - (d < 0.0f ? -step : positive));
        before[i] = firn_canonical(d);
        size[i] = firn_canonical(step);
    }
}

void firn_kernel_rprop(const firn_kernel_call *call) {
    const rprop s = {.minus = call->reals[FIRN_RPROP_ETA_MINUS],
                     .plus = call->reals[FIRN_RPROP_ETA_PLUS],
                     .smallest = call->reals[FIRN_RPROP_SMALLEST],
                     .largest = call->reals[FIRN_RPROP_LARGEST],
                     .rate = firn_scalar(&call->inputs[4]),
                     .first = firn_step_of(&call->inputs[5]) == 1};
    firn_update(call, 6, 3, rprop_run, &s);
}

/* --- adagrad ------------------------------------------------------------------------------------------------------ */

typedef struct adagrad {
    float epsilon, decay, rate;
    bool maximize;
} adagrad;

/* s = s + d^2;  p = p - rate d / (sqrt(s) + epsilon) */
static void adagrad_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const adagrad a = *(const adagrad *)settings;
    float *restrict p = tensors[0], *restrict s = tensors[1];
    for (size_t i = 0; i < count; i++) {
        float d = direction(g[i], p[i], a.maximize, a.decay), sum = firn_fma(d, d, s[i]);
        p[i] = firn_canonical(firn_fma(-a.rate, d / (firn_sqrt(sum) + a.epsilon), p[i]));
        s[i] = firn_canonical(sum);
    }
}

void firn_kernel_adagrad(const firn_kernel_call *call) {
    const adagrad a = {.epsilon = call->reals[FIRN_ADAGRAD_EPSILON],
                       .decay = firn_decay_of(call, 5, call->reals[FIRN_ADAGRAD_WEIGHT_DECAY]),
                       .rate = firn_adagrad_rate(firn_scalar(&call->inputs[3]), call->reals[FIRN_ADAGRAD_LR_DECAY],
                                                 firn_step_of(&call->inputs[4])),
                       .maximize = call->integers[FIRN_ADAGRAD_MAXIMIZE] != 0};
    firn_update(call, 5, 2, adagrad_run, &a);
}

/* --- adadelta ----------------------------------------------------------------------------------------------------- */

typedef struct adadelta {
    float rho, epsilon, decay, rate;
    bool maximize;
} adadelta;

/* v: mean of d^2;  u = sqrt(a + epsilon) / sqrt(v + epsilon) d;  a: mean of u^2;  p = p - rate u */
static void adadelta_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const adadelta s = *(const adadelta *)settings;
    float *restrict p = tensors[0], *restrict v = tensors[1], *restrict a = tensors[2];
    for (size_t i = 0; i < count; i++) {
        float d = direction(g[i], p[i], s.maximize, s.decay);
        float square = firn_fma(1.0f - s.rho, d * d, s.rho * v[i]);
        float u = firn_sqrt(a[i] + s.epsilon) / firn_sqrt(square + s.epsilon) * d;
        p[i] = firn_canonical(firn_fma(-s.rate, u, p[i]));
        v[i] = firn_canonical(square);
        a[i] = firn_canonical(firn_fma(1.0f - s.rho, u * u, s.rho * a[i]));
    }
}

void firn_kernel_adadelta(const firn_kernel_call *call) {
    const adadelta s = {.rho = call->reals[FIRN_ADADELTA_RHO],
                        .epsilon = call->reals[FIRN_ADADELTA_EPSILON],
                        .decay = firn_decay_of(call, 5, call->reals[FIRN_ADADELTA_WEIGHT_DECAY]),
                        .rate = firn_scalar(&call->inputs[4]),
                        .maximize = call->integers[FIRN_ADADELTA_MAXIMIZE] != 0};
    firn_update(call, 5, 3, adadelta_run, &s);
}

/* --- asgd --------------------------------------------------------------------------------------------------------- */

typedef struct asgd {
    firn_asgd_coefficients at;
    float lambda, decay;
    bool maximize;
} asgd;

/* p = p - rate (d + lambda p);  the average follows p by its share of the way, and is p where that is 1 */
static void asgd_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const asgd s = *(const asgd *)settings;
    float *restrict p = tensors[0], *restrict average = tensors[1];
    for (size_t i = 0; i < count; i++) {
        float d = direction(g[i], p[i], s.maximize, s.decay);
        float next = firn_fma(-s.at.rate, firn_fma(s.lambda, p[i], d), p[i]);
        float moved = firn_fma(s.at.share, next - average[i], average[i]);
        p[i] = firn_canonical(next);
        average[i] = firn_canonical(s.at.share == 1.0f ? next : moved);
    }
}

void firn_kernel_asgd(const firn_kernel_call *call) {
    const float lambda = call->reals[FIRN_ASGD_LAMBD];
    const asgd s = {.at = firn_asgd_coefficients_at(firn_scalar(&call->inputs[3]), lambda, call->reals[FIRN_ASGD_ALPHA],
                                                    call->reals[FIRN_ASGD_T0], firn_step_of(&call->inputs[4])),
                    .lambda = lambda,
                    .decay = firn_decay_of(call, 5, call->reals[FIRN_ASGD_WEIGHT_DECAY]),
                    .maximize = call->integers[FIRN_ASGD_MAXIMIZE] != 0};
    firn_update(call, 5, 2, asgd_run, &s);
}
