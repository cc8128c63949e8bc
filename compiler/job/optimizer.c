/* The optimizer classes (compiler/job/optimizer.h): their names and their defaults. A new class needs a row here, a
 * number in optimizer.h, its op in plan/ops.def and the op's kernel, a case of code_of in compiler/passes/update.c with
 * a row for each new attribute or state there, its settings in compiler/recipe/recipe_optimizer.c, and a row in
 * compiler/OPTIMIZERS.md. */
#include "compiler/job/optimizer.h"

#include <stddef.h>

typedef struct optimizer_class {
    const char *word;
    double learning_rate; /* negative: no default */
    firnc_optimizer_settings defaults;
} optimizer_class;

#define DEFAULT_BETAS .beta1 = 0.9F, .beta2 = 0.999F

static const optimizer_class classes[] = {
    [FIRNC_SGD] = {"SGD", -1, {0}},
    [FIRNC_ADAM] = {"Adam", 1e-3, {DEFAULT_BETAS, .epsilon = 1e-6F, .correct_bias = true}},
    [FIRNC_ADAMW] = {"AdamW", 1e-3, {DEFAULT_BETAS, .epsilon = 1e-6F, .correct_bias = true}},
    [FIRNC_ADAFACTOR] =
        {"Adafactor",
         -1,
         {.epsilon = 1e-30F, .epsilon2 = 1e-3F, .clip_threshold = 1, .decay_rate = -0.8F, .scale_parameter = true}},
    [FIRNC_LAMB] = {"Lamb", 1e-3, {DEFAULT_BETAS, .epsilon = 1e-6F}},
    [FIRNC_LION] = {"Lion", 1e-4, {.beta1 = 0.9F, .beta2 = 0.99F}},
    [FIRNC_RMSPROP] = {"RMSprop", 1e-2, {.alpha = 0.99F, .epsilon = 1e-8F}},
    [FIRNC_RADAM] = {"RAdam", 1e-3, {DEFAULT_BETAS, .epsilon = 1e-6F}},
    [FIRNC_NADAM] = {"NAdam", 2e-3, {DEFAULT_BETAS, .epsilon = 1e-8F, .momentum_decay = 4e-3F}},
    [FIRNC_ADAMAX] = {"Adamax", 1e-3, {DEFAULT_BETAS, .epsilon = 1e-6F}},
    [FIRNC_RPROP] = {"Rprop", 1e-3, {.eta_minus = 0.5F, .eta_plus = 1.2F, .smallest_step = 1e-6F, .largest_step = 50}},
    [FIRNC_ADAGRAD] = {"Adagrad", 1e-2, {.epsilon = 1e-6F}},
    [FIRNC_ADADELTA] = {"Adadelta", 1, {.rho = 0.9F, .epsilon = 1e-6F}},
    [FIRNC_ASGD] = {"ASGD", 1e-2, {.lambd = 1e-4F, .alpha = 0.75F, .t0 = 1e6F}},
    [FIRNC_MUON] = {"Muon", 2e-2, {.weight_decay = 0.01F, .momentum = 0.95F, .nesterov = true, .ns_steps = 5}},
};

#undef DEFAULT_BETAS

/* The row of a class; NULL for a number that C programs may write and that is no class. */
static const optimizer_class *find_class(firnc_optimizer kind) {
    return (uint32_t)kind < sizeof classes / sizeof classes[0] ? &classes[kind] : NULL;
}

firnc_optimizer_settings firnc_optimizer_defaults(firnc_optimizer kind) {
    const optimizer_class *found = find_class(kind);
    firnc_optimizer_settings settings = {0};
    if (found != NULL)
        settings = found->defaults;
    settings.kind = kind;
    return settings;
}

double firnc_optimizer_learning_rate(firnc_optimizer kind) {
    const optimizer_class *found = find_class(kind);
    return found != NULL ? found->learning_rate : -1;
}

const char *firnc_optimizer_word(firnc_optimizer kind) {
    const optimizer_class *found = find_class(kind);
    return found != NULL ? found->word : NULL;
}
