/* The model mlp: its settings, and its row. */
#ifndef FIRNC_MLP_H
#define FIRNC_MLP_H

#include "compiler/models/models.h"
#include "compiler/models/parts.h"

#define FIRNC_LAYERS_MAX 64

typedef enum firnc_loss_kind {
    FIRNC_LOSS_CROSS_ENTROPY,
    FIRNC_LOSS_MEAN_SQUARED_ERROR,
    FIRNC_LOSS_L1,
    FIRNC_LOSS_HUBER,
    FIRNC_LOSS_SMOOTH_L1,
    FIRNC_LOSS_BINARY_CROSS_ENTROPY,
    FIRNC_LOSS_NLL,
    FIRNC_LOSS_KL_DIVERGENCE
} firnc_loss_kind;

/* trainer.init.model with name: mlp */
typedef struct firnc_mlp {
    firnc_model_settings common;
    uint32_t input_size, output_size, hidden_sizes[FIRNC_LAYERS_MAX], hidden_count;
    firnc_activation activation;
    float dropout_rate;
    firnc_loss_kind loss;
    int loss_scaling; /* as read: what cross_entropy.batch_size says */
    firnc_cross_entropy_options cross_entropy;
    bool sample_weights;   /* cross_entropy: each record has a weight, in stream 2 */
    float huber_threshold; /* huber, smooth_l1 */
    bool log_target;       /* kl_divergence, */
    int batch_mean;        /* which is the mean over rows: 1; over elements: 0 */
} firnc_mlp;

extern const firnc_model firnc_model_mlp;

#endif
