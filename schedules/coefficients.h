/* What optimizers take from the number of their step, t = 1, 2, ...: closed forms in binary64, each rounded once to
 * binary32, so the same bits everywhere. NUMERICS.md, "Update", gives each of them. Freestanding; no libm, no fma. */
#ifndef FIRN_COEFFICIENTS_H
#define FIRN_COEFFICIENTS_H

#include <stdint.h>

/* 1 / (1 - beta^t), and sqrt(1 - beta2^t) / (1 - beta1^t) */
float firn_bias_correction(float beta, uint64_t t);
float firn_adam_correction(float beta1, float beta2, uint64_t t);

/* RAdam: the correction of the mean, and what rectifies the variance; that is 0 where it must not be used yet. */
typedef struct firn_radam_coefficients {
    float mean, rectification;
} firn_radam_coefficients;
firn_radam_coefficients firn_radam_coefficients_at(float beta1, float beta2, uint64_t t);

/* NAdam, whose product of all momenta so far is state: the product with this step's, the shares of gradient and mean,
 * and sqrt(1 - beta2^t). */
typedef struct firn_nadam_coefficients {
    float product, gradient, mean, deviation;
} firn_nadam_coefficients;
firn_nadam_coefficients firn_nadam_coefficients_at(float beta1, float beta2, float decay, float product, uint64_t t);

/* Adafactor: t^rate, the share of the new square, and what is left for the old ones. */
typedef struct firn_adafactor_coefficients {
    float fresh, kept;
} firn_adafactor_coefficients;
firn_adafactor_coefficients firn_adafactor_coefficients_at(float rate, uint64_t t);

/* Adagrad: rate / (1 + (t - 1) decay) */
float firn_adagrad_rate(float rate, float decay, uint64_t t);

/* ASGD: rate / (1 + lambda rate (t - 1))^alpha, and the share of a new parameter in the average. */
typedef struct firn_asgd_coefficients {
    float rate, share;
} firn_asgd_coefficients;
firn_asgd_coefficients firn_asgd_coefficients_at(float rate, float lambda, float alpha, float start, uint64_t t);

#endif
