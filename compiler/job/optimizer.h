/* The optimizer of a job: its class and settings. compiler/OPTIMIZERS.md says what each class computes and which of the
 * settings it has. */
#ifndef FIRNC_OPTIMIZER_H
#define FIRNC_OPTIMIZER_H

#include <stdbool.h>
#include <stdint.h>

typedef enum firnc_optimizer {
    FIRNC_SGD,
    FIRNC_ADAM,
    FIRNC_ADAMW,
    FIRNC_ADAFACTOR,
    FIRNC_LAMB,
    FIRNC_LION,
    FIRNC_RMSPROP,
    FIRNC_RADAM,
    FIRNC_NADAM,
    FIRNC_ADAMAX,
    FIRNC_RPROP,
    FIRNC_ADAGRAD,
    FIRNC_ADADELTA,
    FIRNC_ASGD,
    FIRNC_MUON
} firnc_optimizer;

/* The settings of every class; those that a class does not have are not read. */
typedef struct firnc_optimizer_settings {
    firnc_optimizer kind;
    float beta1, beta2, epsilon, weight_decay, momentum, dampening;
    float alpha, rho, lr_decay, initial_accumulator_value, lambd, t0, momentum_decay; /* RMSprop, ... NAdam */
    float eta_minus, eta_plus, smallest_step, largest_step;                           /* Rprop */
    float epsilon2, clip_threshold, decay_rate;                                       /* Adafactor */
    uint32_t ns_steps;                                                                /* Muon */
    bool correct_bias, nesterov, maximize, amsgrad, centered, adam, scale_parameter;
} firnc_optimizer_settings;

/* The settings of a class as cstorch has them by default. */
firnc_optimizer_settings firnc_optimizer_defaults(firnc_optimizer kind);

/* The learning rate that a class has by default, or a negative number: it must be given. */
double firnc_optimizer_learning_rate(firnc_optimizer kind);

/* The name of a class, such as "AdamW"; NULL for a number that is none. */
const char *firnc_optimizer_word(uint8_t optimizer);

#endif
