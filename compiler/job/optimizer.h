/* The optimizer of a job: its class and settings. compiler/OPTIMIZERS.md defines what each class computes and which
 * settings it uses. */
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

/* The settings of all classes together; those that a class does not use are never read. */
typedef struct firnc_optimizer_settings {
    firnc_optimizer kind;
    float beta1, beta2, epsilon, weight_decay, momentum, dampening;
    float alpha, rho, lr_decay, initial_accumulator_value, lambd, t0, momentum_decay; /* RMSprop, ... NAdam */
    float eta_minus, eta_plus, smallest_step, largest_step;                           /* Rprop */
    float epsilon2, clip_threshold, decay_rate;                                       /* Adafactor */
    uint32_t ns_steps;                                                                /* Muon */
    bool correct_bias, nesterov, maximize, amsgrad, centered, adam, scale_parameter;
} firnc_optimizer_settings;

/* The default settings of a class, equal to those of cstorch; for an unknown number, settings that firnc_job_check
 * refuses. */
firnc_optimizer_settings firnc_optimizer_defaults(firnc_optimizer kind);

/* The default learning rate of a class; negative: there is none, and the user must give one, or no such class. */
double firnc_optimizer_learning_rate(firnc_optimizer kind);

/* The name of a class, such as "AdamW"; NULL for an unknown number. */
const char *firnc_optimizer_word(firnc_optimizer kind);

#endif
