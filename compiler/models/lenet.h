/* The model lenet: its settings, and its row for the table of models. */
#ifndef FIRNC_LENET_H
#define FIRNC_LENET_H

#include "compiler/models/models.h"
#include "compiler/models/parts.h"

/* trainer.init.model with name: lenet */
typedef struct firnc_lenet {
    firnc_model_settings common;
    uint32_t height, width, channels;     /* of an image */
    uint32_t filters[2], hidden_sizes[2]; /* outputs of the convolutions and of the dense layers before the last */
    uint32_t output_size;
    firnc_activation activation;
    int average;      /* 1: pools give the mean, 0: the maximum */
    int loss_scaling; /* as read from the recipe; sets cross_entropy.batch_size */
    firnc_cross_entropy_options cross_entropy;
    bool sample_weights; /* stream 2 has a weight for each record */
} firnc_lenet;

extern const firnc_model firnc_model_lenet;

#endif
