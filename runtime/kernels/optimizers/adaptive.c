/* Optimizers with a separate step size for each element, and averaged SGD (plan/NUMERICS.md, "Update"; OPTIMIZERS.md
 * compares them). Freestanding. */
#include "runtime/kernels/optimizers/optimizer.h"
#include "runtime/numerics/elementary.h"
#include "schedules/coefficients.h"

/* --- rmsprop ------------------------------------------------------------------------------------------------------ */

typedef struct rmsprop {
    float alpha, epsilon, decay, momentum, rate;
} rmsprop;

/* v: mean of d^2;  a: mean of d;  size = sqrt(v - a^2) + epsilon;  b = momentum b + d / size;  p = p - rate b. A form
 * without a or without b passes NULL for it, and the compiler removes the unused code when it inlines this function. v
 * - a^2 is limited to 0 from below, because rounding can make it negative. */
static inline __attribute__((always_inline)) void rmsprop_elements(rmsprop s, const float *g, float *restrict p,
                                                                   float *restrict v, float *restrict a,
                                                                   float *restrict b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const float d = firn_fma(s.decay, p[i], g[i]);
        const float square = firn_fma(1.0f - s.alpha, d * d, s.alpha * v[i]);
        float variance = square;
        if (a != NULL) {
            const float mean = firn_fma(1.0f - s.alpha, d, s.alpha * a[i]);
            variance = firn_fma(-mean, mean, square);
            variance = variance < 0.0f ? 0.0f : variance;
            a[i] = firn_canonical(mean);
        }
        float step = d / (firn_sqrt(variance) + s.epsilon);
        if (b != NULL) {
            step = firn_fma(s.momentum, b[i], step);
            b[i] = firn_canonical(step);
        }
        p[i] = firn_canonical(firn_fma(-s.rate, step, p[i]));
        v[i] = firn_canonical(square);
    }
}

static void rmsprop_run(const void *settings, const float *g, float *const t[], size_t count) {
    rmsprop_elements(*(const rmsprop *)settings, g, t[FIRN_RMSPROP_OUT_PARAMETER], t[FIRN_RMSPROP_OUT_SQUARE_AVG], NULL,
                     NULL, count);
}

static void rmsprop_momentum_run(const void *settings, const float *g, float *const t[], size_t count) {
    rmsprop_elements(*(const rmsprop *)settings, g, t[FIRN_RMSPROP_MOMENTUM_OUT_PARAMETER],
                     t[FIRN_RMSPROP_MOMENTUM_OUT_SQUARE_AVG], NULL, t[FIRN_RMSPROP_MOMENTUM_OUT_MOMENTUM_BUFFER],
                     count);
}

static void rmsprop_centered_run(const void *settings, const float *g, float *const t[], size_t count) {
    rmsprop_elements(*(const rmsprop *)settings, g, t[FIRN_RMSPROP_CENTERED_OUT_PARAMETER],
                     t[FIRN_RMSPROP_CENTERED_OUT_SQUARE_AVG], t[FIRN_RMSPROP_CENTERED_OUT_GRAD_AVG], NULL, count);
}

static void rmsprop_centered_momentum_run(const void *settings, const float *g, float *const t[], size_t count) {
    rmsprop_elements(*(const rmsprop *)settings, g, t[FIRN_RMSPROP_CENTERED_MOMENTUM_OUT_PARAMETER],
                     t[FIRN_RMSPROP_CENTERED_MOMENTUM_OUT_SQUARE_AVG], t[FIRN_RMSPROP_CENTERED_MOMENTUM_OUT_GRAD_AVG],
                     t[FIRN_RMSPROP_CENTERED_MOMENTUM_OUT_MOMENTUM_BUFFER], count);
}

#define AS_RMSPROP(OP)                                                                                                 \
    (FIRN_##OP##_ALPHA == FIRN_RMSPROP_ALPHA && FIRN_##OP##_EPSILON == FIRN_RMSPROP_EPSILON &&                         \
     FIRN_##OP##_WEIGHT_DECAY == FIRN_RMSPROP_WEIGHT_DECAY)
_Static_assert(AS_RMSPROP(RMSPROP_MOMENTUM) && AS_RMSPROP(RMSPROP_CENTERED) && AS_RMSPROP(RMSPROP_CENTERED_MOMENTUM),
               "rmsprop_of serves all four");

/* factors: the position of the factors among the op's inputs. */
static rmsprop rmsprop_of(const firn_kernel_call *call, uint8_t factors) {
    return (rmsprop){.alpha = call->reals[FIRN_RMSPROP_ALPHA],
                     .epsilon = call->reals[FIRN_RMSPROP_EPSILON],
                     .decay = firn_decay_of(call, factors, call->reals[FIRN_RMSPROP_WEIGHT_DECAY]),
                     .rate = firn_scalar(&call->inputs[FIRN_RMSPROP_IN_LEARNING_RATE])};
}

void firn_kernel_rmsprop(const firn_kernel_call *call) {
    const rmsprop s = rmsprop_of(call, FIRN_RMSPROP_IN_FACTORS);
    firn_update(call, FIRN_RMSPROP_IN_FACTORS, 2, rmsprop_run, &s);
}

void firn_kernel_rmsprop_momentum(const firn_kernel_call *call) {
    rmsprop s = rmsprop_of(call, FIRN_RMSPROP_MOMENTUM_IN_FACTORS);
    s.momentum = call->reals[FIRN_RMSPROP_MOMENTUM_MOMENTUM];
    firn_update(call, FIRN_RMSPROP_MOMENTUM_IN_FACTORS, 3, rmsprop_momentum_run, &s);
}

void firn_kernel_rmsprop_centered(const firn_kernel_call *call) {
    const rmsprop s = rmsprop_of(call, FIRN_RMSPROP_CENTERED_IN_FACTORS);
    firn_update(call, FIRN_RMSPROP_CENTERED_IN_FACTORS, 3, rmsprop_centered_run, &s);
}

void firn_kernel_rmsprop_centered_momentum(const firn_kernel_call *call) {
    rmsprop s = rmsprop_of(call, FIRN_RMSPROP_CENTERED_MOMENTUM_IN_FACTORS);
    s.momentum = call->reals[FIRN_RMSPROP_CENTERED_MOMENTUM_MOMENTUM];
    firn_update(call, FIRN_RMSPROP_CENTERED_MOMENTUM_IN_FACTORS, 4, rmsprop_centered_momentum_run, &s);
}

/* --- rprop -------------------------------------------------------------------------------------------------------- */

typedef struct rprop {
    float minus, plus, smallest, largest, rate;
    bool first;
} rprop;

/* The step size grows while the gradient keeps its sign and shrinks when the sign changes; in that case the parameter
 * does not move. */
static void rprop_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const rprop s = *(const rprop *)settings;
    float *restrict p = tensors[FIRN_RPROP_OUT_PARAMETER], *restrict before = tensors[FIRN_RPROP_OUT_PREV],
                    *restrict size = tensors[FIRN_RPROP_OUT_STEP_SIZE];
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
                     .rate = firn_scalar(&call->inputs[FIRN_RPROP_IN_LEARNING_RATE]),
                     .first = firn_step_of(&call->inputs[FIRN_RPROP_IN_STEPS]) == 1};
    firn_update(call, FIRN_RPROP_IN_FACTORS, 3, rprop_run, &s);
}

/* --- adagrad ------------------------------------------------------------------------------------------------------ */

typedef struct adagrad {
    float epsilon, decay, rate;
    bool maximize;
} adagrad;

/* s = s + d^2;  p = p - rate d / (sqrt(s) + epsilon) */
static void adagrad_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const adagrad a = *(const adagrad *)settings;
    float *restrict p = tensors[FIRN_ADAGRAD_OUT_PARAMETER], *restrict s = tensors[FIRN_ADAGRAD_OUT_SUM];
    for (size_t i = 0; i < count; i++) {
        float d = firn_direction(g[i], p[i], a.maximize, a.decay), sum = firn_fma(d, d, s[i]);
        p[i] = firn_canonical(firn_fma(-a.rate, d / (firn_sqrt(sum) + a.epsilon), p[i]));
        s[i] = firn_canonical(sum);
    }
}

void firn_kernel_adagrad(const firn_kernel_call *call) {
    const adagrad a = {.epsilon = call->reals[FIRN_ADAGRAD_EPSILON],
                       .decay = firn_decay_of(call, FIRN_ADAGRAD_IN_FACTORS, call->reals[FIRN_ADAGRAD_WEIGHT_DECAY]),
                       .rate = firn_adagrad_rate(firn_scalar(&call->inputs[FIRN_ADAGRAD_IN_LEARNING_RATE]),
                                                 call->reals[FIRN_ADAGRAD_LR_DECAY],
                                                 firn_step_of(&call->inputs[FIRN_ADAGRAD_IN_STEPS])),
                       .maximize = call->integers[FIRN_ADAGRAD_MAXIMIZE] != 0};
    firn_update(call, FIRN_ADAGRAD_IN_FACTORS, 2, adagrad_run, &a);
}

/* --- adadelta ----------------------------------------------------------------------------------------------------- */

typedef struct adadelta {
    float rho, epsilon, decay, rate;
    bool maximize;
} adadelta;

/* v: mean of d^2;  u = sqrt(a + epsilon) / sqrt(v + epsilon) d;  a: mean of u^2;  p = p - rate u */
static void adadelta_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const adadelta s = *(const adadelta *)settings;
    float *restrict p = tensors[FIRN_ADADELTA_OUT_PARAMETER], *restrict v = tensors[FIRN_ADADELTA_OUT_SQUARE_AVG],
                    *restrict a = tensors[FIRN_ADADELTA_OUT_ACC_DELTA];
    for (size_t i = 0; i < count; i++) {
        float d = firn_direction(g[i], p[i], s.maximize, s.decay);
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
                        .decay = firn_decay_of(call, FIRN_ADADELTA_IN_FACTORS, call->reals[FIRN_ADADELTA_WEIGHT_DECAY]),
                        .rate = firn_scalar(&call->inputs[FIRN_ADADELTA_IN_LEARNING_RATE]),
                        .maximize = call->integers[FIRN_ADADELTA_MAXIMIZE] != 0};
    firn_update(call, FIRN_ADADELTA_IN_FACTORS, 3, adadelta_run, &s);
}

/* --- asgd --------------------------------------------------------------------------------------------------------- */

typedef struct asgd {
    firn_asgd_coefficients at;
    float lambda, decay;
    bool maximize;
} asgd;

/* p = p - rate (d + lambda p);  average = average + share (p - average), and exactly p if share is 1 */
static void asgd_run(const void *settings, const float *g, float *const tensors[], size_t count) {
    const asgd s = *(const asgd *)settings;
    float *restrict p = tensors[FIRN_ASGD_OUT_PARAMETER], *restrict average = tensors[FIRN_ASGD_OUT_AX];
    for (size_t i = 0; i < count; i++) {
        float d = firn_direction(g[i], p[i], s.maximize, s.decay);
        float next = firn_fma(-s.at.rate, firn_fma(s.lambda, p[i], d), p[i]);
        float moved = firn_fma(s.at.share, next - average[i], average[i]);
        p[i] = firn_canonical(next);
        average[i] = firn_canonical(s.at.share == 1.0f ? next : moved);
    }
}

void firn_kernel_asgd(const firn_kernel_call *call) {
    const float lambda = call->reals[FIRN_ASGD_LAMBD];
    const asgd s = {.at = firn_asgd_coefficients_at(firn_scalar(&call->inputs[FIRN_ASGD_IN_LEARNING_RATE]), lambda,
                                                    call->reals[FIRN_ASGD_ALPHA], call->reals[FIRN_ASGD_T0],
                                                    firn_step_of(&call->inputs[FIRN_ASGD_IN_STEPS])),
                    .lambda = lambda,
                    .decay = firn_decay_of(call, FIRN_ASGD_IN_FACTORS, call->reals[FIRN_ASGD_WEIGHT_DECAY]),
                    .maximize = call->integers[FIRN_ASGD_MAXIMIZE] != 0};
    firn_update(call, FIRN_ASGD_IN_FACTORS, 2, asgd_run, &s);
}
