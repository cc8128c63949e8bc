/* Mixed precision for C programs: the eleven keys of the model zoo's MixedPrecision under their names, and the keys
 * that Firn adds. recipe_precision.c reads the same keys from YAML and takes defaults and checks from here. */
#ifndef FIRNC_PRECISION_H
#define FIRNC_PRECISION_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/base/text.h"
#include "compiler/graph/graph.h"

#define FIRNC_LEAST_LOSS_SCALE   6.103515625e-05f /* 2^-14; for a dynamic scale */
#define FIRNC_LEAST_STATIC_SCALE 2.93874e-39      /* just above 2^-128, whose reciprocal float32 cannot hold */
#define FIRNC_DYNAMIC            0.0f             /* value of loss_scaling_factor for "dynamic" */

/* An annotation for the layers that a name pattern matches: '*' stands for any characters, '?' for one. */
typedef struct firnc_pol_pattern {
    const char *pattern;
    firnc_pol pol;
    firnc_place place; /* for messages */
} firnc_pol_pattern;

/* A name pattern of layers that autocast leaves in float32. */
typedef struct firnc_layer_pattern {
    const char *pattern;
    firnc_place place; /* for messages */
} firnc_layer_pattern;

typedef enum firnc_scaling { FIRNC_SCALING_NONE, FIRNC_SCALING_STATIC, FIRNC_SCALING_DYNAMIC } firnc_scaling;

/* The precision settings of a job; firnc_mixed_precision_complete fills in everything but the patterns. */
typedef struct firnc_precision {
    bool mixed;               /* false: float32 throughout */
    firn_type half;           /* float16, bfloat16, cbfloat16 */
    int level;                /* global POL: 0, 1, 2; default 1 */
    bool emulate;             /* pol_lowering: emulate */
    firn_type gradient_type;  /* of weights: the half type, or float32 */
    firnc_scaling scaling;    /* of the loss */
    float initial_loss_scale; /* static: the factor */
    uint64_t steps_per_increase;
    float min_loss_scale, max_loss_scale, overflow_tolerance;
    uint8_t clipping;                  /* Clipping of plan.fbs: FIRN_FB_CLIPPING_NONE and so on */
    float clip_threshold;              /* 0 without clipping */
    const firnc_pol_pattern *patterns; /* the last one that matches an op applies */
    uint32_t pattern_count;
    const firnc_layer_pattern *float32_layers; /* layers whose ops autocast leaves in float32 */
    uint32_t float32_layer_count;
} firnc_precision;

typedef struct firnc_mixed_precision {
    bool enabled;                /* default true; false: float32 throughout, no loss scaling */
    firn_type fp16_type;         /* float16, bfloat16 (the default), cbfloat16 */
    int precision_opt_level;     /* 0, 1, 2; FIRNC_UNSET: 1 */
    float loss_scaling_factor;   /* FIRNC_DYNAMIC, or the static factor, at least 2.93874e-39; default 1: no scaling */
    float initial_loss_scale;    /* 0: 2^15, for cbfloat16 2^31. Dynamic only, as are the next three */
    uint64_t steps_per_increase; /* at least 1; default 2000 */
    float min_loss_scale;        /* at least 2^-14; 0: 2^-14 */
    float max_loss_scale;        /* at least min_loss_scale; 0: 2^15, for cbfloat16 2^31; lowers initial_loss_scale */
    float max_gradient_norm;     /* above 0; 0: no clipping. At most one of the two */
    float max_gradient_value;
    bool log_loss_scale; /* no effect: the log of a run always contains it */
    /* keys that Firn adds */
    float overflow_tolerance; /* 0 to 1; 0: every overflow halves the scale */
    bool emulate;             /* pol_lowering */
    bool float32_gradients;   /* gradient_type */
} firnc_mixed_precision;

/* A wrong key, and the reason. */
typedef struct firnc_precision_fault {
    const char *key;
    const char *reason;
} firnc_precision_fault;

firnc_mixed_precision firnc_mixed_precision_defaults(void);

/* Checks the keys and fills in a precision without patterns. If a key is wrong, returns false and sets the fault. */
bool firnc_mixed_precision_complete(const firnc_mixed_precision *keys, firnc_precision *precision,
                                    firnc_precision_fault *fault);

/* The warning about cbfloat16 without dynamic loss scaling, which the model zoo refuses; NULL if it does not apply. */
const char *firnc_mixed_precision_warning(const firnc_precision *precision);

#endif
