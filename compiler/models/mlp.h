/* The model mlp: its settings, and its row for the table of models. */
#ifndef FIRNC_MLP_H
#define FIRNC_MLP_H

#include "compiler/models/losses.h"
#include "compiler/models/models.h"

#define FIRNC_LAYERS_MAX 64

/* trainer.init.model with name: mlp */
typedef struct firnc_mlp {
    firnc_model_settings common;
    uint32_t input_size, output_size, hidden_sizes[FIRNC_LAYERS_MAX], hidden_count;
    firnc_activation activation;
    float dropout_rate;
    firnc_losses losses;
} firnc_mlp;

extern const firnc_model firnc_model_mlp;

#endif
