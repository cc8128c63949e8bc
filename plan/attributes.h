/* Where each attribute of an op stands among its integers or reals: plan/ops.def names them in this order, and a test
 * holds the two against each other. The ops backward of an op have its attributes in its order, those that they need.
 */
#ifndef FIRN_PLAN_ATTRIBUTES_H
#define FIRN_PLAN_ATTRIBUTES_H

/* --- integers ----------------------------------------------------------------------------------------------------- */

enum { FIRN_LINEAR_LAYOUT = 0 };
enum { FIRN_SUM_LEADING_RANK = 0 };
enum { FIRN_EMBEDDING_ROWS = 0 };    /* backward */
enum { FIRN_LEADING_ROWS_ROWS = 0 }; /* and backward */
enum { FIRN_LAYER_NORM_AFFINE = 0 };
enum { FIRN_GELU_FORM = 0 };
enum { FIRN_DROPOUT_RNG_ID = 0 };
enum {
    FIRN_ATTENTION_HEADS = 0,
    FIRN_ATTENTION_KV_HEADS = 1,
    FIRN_ATTENTION_CAUSAL = 2,
    FIRN_ATTENTION_HALF_SOFTMAX = 3,
    FIRN_ATTENTION_RNG_ID = 4
};
enum {
    FIRN_ROTARY_ROTATION = 0,
    FIRN_ROTARY_HEADS = 1,
    FIRN_ROTARY_ROTATED = 2,
    FIRN_ROTARY_ROTARY_DIM = 3,
    FIRN_ROTARY_INTERLEAVED = 4
};
enum { FIRN_SUM_OF_SQUARES_INDEX = 0 };
enum { FIRN_GRADIENT_FACTORS_SCALED = 0, FIRN_GRADIENT_FACTORS_CLIPPING = 1 };
enum { FIRN_ADAMW_CORRECT_BIAS = 0 };
enum { FIRN_SGD_MAXIMIZE = 0 };
enum { FIRN_SGD_MOMENTUM_NESTEROV = 0, FIRN_SGD_MOMENTUM_MAXIMIZE = 1 };
enum { FIRN_AMSGRAD_DECOUPLED = 0, FIRN_AMSGRAD_CORRECT_BIAS = 1 };
enum { FIRN_UPDATE_MAXIMIZE = 0 }; /* adamax, adagrad, adadelta, asgd */
enum { FIRN_LAMB_ADAM = 0 };
enum { FIRN_ADAFACTOR_SCALE_PARAMETER = 0 };
enum { FIRN_MUON_NESTEROV = 0 };
enum { FIRN_COUNT_STEP = 0 };
enum { FIRN_LOSS_SCALE_STEPS_PER_INCREASE = 0 };
enum { FIRN_HUBER_FORM = 0 };
enum { FIRN_KL_LOG_TARGET = 0, FIRN_KL_BATCH_MEAN = 1 };
enum { FIRN_CROSS_ENTROPY_IGNORE_INDEX = 0, FIRN_CROSS_ENTROPY_SCALING = 1 };
enum { FIRN_METRIC_IGNORE_INDEX = 0 };

/* --- reals -------------------------------------------------------------------------------------------------------- */

enum { FIRN_LAYER_NORM_EPSILON = 0 };
enum { FIRN_DROPOUT_RATE = 0 };
enum { FIRN_ATTENTION_SCALE = 0, FIRN_ATTENTION_DROPOUT_RATE = 1 };
enum { FIRN_ROTARY_BASE = 0 };
enum { FIRN_LOSS_SEED_FACTOR = 0 };
enum { FIRN_GRADIENT_FACTORS_LIMIT = 0 };
enum { FIRN_ADAMW_BETA1 = 0, FIRN_ADAMW_BETA2 = 1, FIRN_ADAMW_EPSILON = 2, FIRN_ADAMW_WEIGHT_DECAY = 3 };
enum { FIRN_SGD_WEIGHT_DECAY = 0 };
enum { FIRN_SGD_MOMENTUM_MOMENTUM = 0, FIRN_SGD_MOMENTUM_DAMPENING = 1, FIRN_SGD_MOMENTUM_WEIGHT_DECAY = 2 };
/* of adam, adam_amsgrad, radam, nadam, adamax and lamb, too */
enum { FIRN_ADAM_BETA1 = 0, FIRN_ADAM_BETA2 = 1, FIRN_ADAM_EPSILON = 2, FIRN_ADAM_WEIGHT_DECAY = 3 };
enum { FIRN_NADAM_MOMENTUM_DECAY = 4 };
enum { FIRN_LION_BETA1 = 0, FIRN_LION_BETA2 = 1, FIRN_LION_WEIGHT_DECAY = 2 };
enum { FIRN_RMSPROP_ALPHA = 0, FIRN_RMSPROP_EPSILON = 1, FIRN_RMSPROP_WEIGHT_DECAY = 2, FIRN_RMSPROP_MOMENTUM = 3 };
enum { FIRN_RPROP_ETA_MINUS = 0, FIRN_RPROP_ETA_PLUS = 1, FIRN_RPROP_SMALLEST = 2, FIRN_RPROP_LARGEST = 3 };
enum { FIRN_ADAGRAD_LR_DECAY = 0, FIRN_ADAGRAD_EPSILON = 1, FIRN_ADAGRAD_WEIGHT_DECAY = 2 };
enum { FIRN_ADADELTA_RHO = 0, FIRN_ADADELTA_EPSILON = 1, FIRN_ADADELTA_WEIGHT_DECAY = 2 };
enum { FIRN_ASGD_LAMBD = 0, FIRN_ASGD_ALPHA = 1, FIRN_ASGD_T0 = 2, FIRN_ASGD_WEIGHT_DECAY = 3 };
enum {
    FIRN_ADAFACTOR_EPSILON1 = 0,
    FIRN_ADAFACTOR_EPSILON2 = 1,
    FIRN_ADAFACTOR_CLIP = 2,
    FIRN_ADAFACTOR_DECAY_RATE = 3,
    FIRN_ADAFACTOR_WEIGHT_DECAY = 4
};
enum { FIRN_MUON_MOMENTUM = 0 };
enum { FIRN_UNIT_NORM_EPSILON = 0 };
enum { FIRN_WEIGHTED_SUM_A = 0, FIRN_WEIGHTED_SUM_B = 1 };
enum { FIRN_MUON_STEP_SCALE = 0, FIRN_MUON_STEP_WEIGHT_DECAY = 1 };
enum { FIRN_MULTIPLY_FACTOR = 0 };
enum { FIRN_LOSS_SCALE_MINIMUM = 0, FIRN_LOSS_SCALE_MAXIMUM = 1, FIRN_LOSS_SCALE_OVERFLOW_TOLERANCE = 2 };
enum { FIRN_HUBER_THRESHOLD = 0 };
enum { FIRN_CROSS_ENTROPY_LABEL_SMOOTHING = 0, FIRN_CROSS_ENTROPY_FACTOR = 1 };
enum { FIRN_METRIC_FACTOR = 0 };

/* Buckets of metric_auc: one less than the 200 thresholds that the reference has. */
enum { FIRN_AUC_BUCKETS = 199 };

#endif
