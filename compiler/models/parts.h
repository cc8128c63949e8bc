/* Parts that several models share: activations, classification losses, and the keys of both. */
#ifndef FIRNC_PARTS_H
#define FIRNC_PARTS_H

#include "compiler/models/models.h"

/* Largest size in a model: far above real models, and small enough that the product of two cannot overflow. */
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

/* The words of a recipe for activations, and for loss_scaling: 0 num_tokens, 1 batch_size. */
extern const firnc_choice firnc_activation_words[];
extern const firnc_choice firnc_loss_scaling_words[];

/* Adds the op of an activation. */
firnc_value firnc_activate(firnc_graph *graph, firnc_activation kind, firnc_value x);

/* Weight and bias of a layer. */
typedef struct firnc_layer_parameters {
    firnc_value weight, bias;
} firnc_layer_parameters;

/* Adds layer.weight and layer.bias of a layer whose outputs, dims[0] of them, are sums of `terms` products each.
 * Initial values are uniform, up to 1/sqrt(terms), as those of PyTorch's modules. */
firnc_layer_parameters firnc_uniform_parameters(firnc_graph *graph, const char *layer, uint8_t rank,
                                                const uint32_t *dims, uint64_t terms);

/* Adds a linear layer with such parameters. */
firnc_value firnc_dense(firnc_graph *graph, const char *layer, firnc_value x, uint32_t in, uint32_t out);

/* Adds a batch norm with the parameters layer.weight and layer.bias and the buffers layer.running_mean and
 * layer.running_var. */
firnc_value firnc_batch_norm_of(firnc_graph *graph, const char *layer, firnc_value x, uint32_t width, float epsilon,
                                float momentum);

/* Names what a model says for the outputs of a job: `logits` and `probabilities` of classes and of shares,
 * `log_probabilities` of classes, and `prediction` of numbers. */
void firnc_name_scores(firnc_graph *graph, firnc_value scores, firnc_targets targets, const firnc_job *job);

/* Adds a classification loss, and names the values that metrics read. */
void firnc_classify(firnc_graph *graph, firnc_value logits, firnc_value labels, firnc_value weights_or_none,
                    firnc_cross_entropy_options options);

/* Returns true if ignore_index of a model is -100, as in PyTorch: rows to be ignored have no class. In the plan their
 * label is the number behind the last class. */
bool firnc_ignores_no_class(const firnc_tree *keys);

/* What the labels of records are below: the number of classes, or one more if they may be -100. */
uint32_t firnc_label_limit(firnc_cross_entropy_options options, uint32_t classes);

/* The options for labels that are tokens of a text, none of which is -100. */
firnc_cross_entropy_options firnc_options_of_text(firnc_cross_entropy_options options, uint32_t classes);

/* Reads ignore_index, and checks and completes options whose loss_weight and label_smoothing have been read. False
 * after one message. */
bool firnc_complete_cross_entropy(const firnc_tree *keys, int loss_scaling, uint32_t classes,
                                  firnc_cross_entropy_options *options);

#endif
