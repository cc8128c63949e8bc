/* The model mlp: its settings, and its row for the table of models. */
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
    int loss_scaling; /* as read from the recipe; sets cross_entropy.batch_size */
    firnc_cross_entropy_options cross_entropy;
    bool sample_weights;   /* cross_entropy: stream 2 has a weight for each record */
    float huber_threshold; /* huber, smooth_l1 */
    bool log_target;       /* kl_divergence: targets are logarithms */
    int batch_mean;        /* kl_divergence: 1: mean over rows, 0: over elements */
} firnc_mlp;

extern const firnc_model firnc_model_mlp;

#endif
