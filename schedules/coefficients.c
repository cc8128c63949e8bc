/* The coefficients that optimizers derive from their step number (coefficients.h): plan/NUMERICS.md, "Update". Binary64
 * with + - * / and the functions of the schedules. Freestanding. */
#include "schedules/coefficients.h"

#include "schedules/schedule_elementary.h"

static double power(double base, uint64_t t) {
    return firn_schedule_power(base, (double)t);
}

float firn_bias_correction(float beta, uint64_t t) {
    return (float)(1.0 / (1.0 - power((double)beta, t)));
}

float firn_adam_correction(float beta1, float beta2, uint64_t t) {
    double deviation = firn_schedule_square_root(1.0 - power((double)beta2, t));
    return (float)(deviation / (1.0 - power((double)beta1, t)));
}

/* r is the length of a simple moving average with the same variance, and approaches `most`. For r <= 5 the variance of
 * the second moment is not defined, and the rectification stays 0. */
firn_radam_coefficients firn_radam_coefficients_at(float beta1, float beta2, uint64_t t) {
    firn_radam_coefficients c = {.mean = firn_bias_correction(beta1, t)};
    double most = 2.0 / (1.0 - (double)beta2) - 1.0, p = power((double)beta2, t);
    double r = most - 2.0 * (double)t * p / (1.0 - p);
    if (r > 5.0) {
        double quotient = (r - 4.0) * (r - 2.0) * most / ((most - 4.0) * (most - 2.0) * r);
        c.rectification = (float)firn_schedule_square_root(quotient * (1.0 - p));
    }
    return c;
}

static double nadam_momentum(double beta1, double decay, uint64_t t) {
    return beta1 * (1.0 - 0.5 * firn_schedule_power(0.96, (double)t * decay));
}

firn_nadam_coefficients firn_nadam_coefficients_at(float beta1, float beta2, float decay, float product, uint64_t t) {
    double now = nadam_momentum((double)beta1, (double)decay, t);
    double next = nadam_momentum((double)beta1, (double)decay, t + 1);
    firn_nadam_coefficients c = {.product = (float)((double)product * now)};
    c.gradient = (float)((1.0 - now) / (1.0 - (double)c.product));
    c.mean = (float)(next / (1.0 - (double)c.product * next));
    c.deviation = (float)firn_schedule_square_root(1.0 - power((double)beta2, t));
    return c;
}

firn_adafactor_coefficients firn_adafactor_coefficients_at(float rate, uint64_t t) {
    double fresh = firn_schedule_power((double)t, (double)rate);
    return (firn_adafactor_coefficients){.fresh = (float)fresh, .kept = (float)(1.0 - fresh)};
}

float firn_adagrad_rate(float rate, float decay, uint64_t t) {
    return (float)((double)rate / (1.0 + (double)(t - 1) * (double)decay));
}

firn_asgd_coefficients firn_asgd_coefficients_at(float rate, float lambda, float alpha, float start, uint64_t t) {
    double before = (double)(t - 1), since = before - (double)start;
    double growth = 1.0 + (double)lambda * (double)rate * before;
    return (firn_asgd_coefficients){.rate = (float)((double)rate / firn_schedule_power(growth, (double)alpha)),
                                    .share = (float)(1.0 / (since > 1.0 ? since : 1.0))};
}
