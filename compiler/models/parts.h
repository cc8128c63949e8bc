/* What several models share: activations, losses of classes, and the keys of both. */
#ifndef FIRNC_PARTS_H
#define FIRNC_PARTS_H

#include "compiler/graph/graph.h"
#include "compiler/keys/fields.h"

/* Sizes are far above what a model has and far below what overflows a product of two. */
#define FIRNC_MODEL_SIZE_MAX (1 << 24)

typedef enum firnc_activation {
    FIRNC_RELU,
    FIRNC_GELU,
    FIRNC_GELU_NEW,
    FIRNC_TANH,
    FIRNC_SIGMOID,
    FIRNC_SILU,
    FIRNC_SOFTPLUS
} firnc_activation;

/* The words of a recipe for them, and for loss_scaling: 0 num_tokens, 1 batch_size. */
extern const firnc_choice firnc_activation_words[];
extern const firnc_choice firnc_loss_scaling_words[];

/* The activation that a recipe names. */
firnc_value firnc_activate(firnc_graph *graph, firnc_activation kind, firnc_value x);

/* The loss of classes, with what metrics read. */
void firnc_classify(firnc_graph *graph, firnc_value logits, firnc_value labels, firnc_value weights_or_none,
                    firnc_cross_entropy_options options);

/* Checks and completes options whose loss_weight, label_smoothing and ignore_index have been read. */
bool firnc_complete_cross_entropy(const firnc_tree *keys, int loss_scaling, uint32_t classes,
                                  firnc_cross_entropy_options *options);

#endif
