/* Coefficients that optimizers derive from their step number t = 1, 2, ... They are closed forms in binary64, each
 * rounded once to binary32, and so have the same bits on every machine. NUMERICS.md, "Update", defines each of them.
 * Freestanding; no libm, no fma. */
#ifndef FIRN_COEFFICIENTS_H
#define FIRN_COEFFICIENTS_H

#include <stdint.h>

/* 1 / (1 - beta^t), and sqrt(1 - beta2^t) / (1 - beta1^t) */
float firn_bias_correction(float beta, uint64_t t);
float firn_adam_correction(float beta1, float beta2, uint64_t t);

/* RAdam: the bias correction of the mean, and the rectification of the variance. The latter is 0 while the variance may
 * not be used. */
typedef struct firn_radam_coefficients {
    float mean, rectification;
} firn_radam_coefficients;
firn_radam_coefficients firn_radam_coefficients_at(float beta1, float beta2, uint64_t t);

/* NAdam. `product`, the product of the momenta of all steps so far, is optimizer state. The results are the product
 * including this step, the weights of gradient and mean, and sqrt(1 - beta2^t). */
typedef struct firn_nadam_coefficients {
    float product, gradient, mean, deviation;
} firn_nadam_coefficients;
firn_nadam_coefficients firn_nadam_coefficients_at(float beta1, float beta2, float decay, float product, uint64_t t);

/* Adafactor: the weight of the new square, t^rate, and that of the old ones, 1 - t^rate. */
typedef struct firn_adafactor_coefficients {
    float fresh, kept;
} firn_adafactor_coefficients;
firn_adafactor_coefficients firn_adafactor_coefficients_at(float rate, uint64_t t);

/* Adagrad: rate / (1 + (t - 1) decay) */
float firn_adagrad_rate(float rate, float decay, uint64_t t);

/* ASGD: rate / (1 + lambda rate (t - 1))^alpha, and the weight of the new parameter in the average. */
typedef struct firn_asgd_coefficients {
    float rate, share;
} firn_asgd_coefficients;
firn_asgd_coefficients firn_asgd_coefficients_at(float rate, float lambda, float alpha, float start, uint64_t t);

#endif
