/* Parts that several models share (compiler/models/parts.h). */
#include "compiler/models/parts.h"

#include <string.h>

#include "compiler/base/text.h"
#include "runtime/numerics/numerics.h"

const firnc_choice firnc_activation_words[] = {
    {"gelu", FIRNC_GELU}, {"gelu_new", FIRNC_GELU_NEW}, {"relu", FIRNC_RELU}, {"sigmoid", FIRNC_SIGMOID},
    {"silu", FIRNC_SILU}, {"softplus", FIRNC_SOFTPLUS}, {"tanh", FIRNC_TANH}, {NULL, 0}};
const firnc_choice firnc_loss_scaling_words[] = {{"num_tokens", 0}, {"batch_size", 1}, {NULL, 0}};

firnc_value firnc_activate(firnc_graph *graph, firnc_activation kind, firnc_value x) {
    switch (kind) {
    case FIRNC_RELU:
        return firnc_relu(graph, x);
    case FIRNC_GELU:
        return firnc_gelu(graph, x, FIRNC_GELU_ERF);
    case FIRNC_GELU_NEW:
        return firnc_gelu(graph, x, FIRNC_GELU_TANH);
    case FIRNC_TANH:
        return firnc_tanh(graph, x);
    case FIRNC_SIGMOID:
        return firnc_sigmoid(graph, x);
    case FIRNC_SILU:
        return firnc_silu(graph, x);
    case FIRNC_SOFTPLUS:
        return firnc_softplus(graph, x);
    }
    return FIRNC_NONE;
}

firnc_layer_parameters firnc_uniform_parameters(firnc_graph *graph, const char *layer, uint8_t rank,
                                                const uint32_t *dims, uint64_t terms) {
    const float bound = 1 / firn_sqrt((float)terms);
    const firnc_init init = {.rule = FIRNC_INIT_UNIFORM, .a = -bound, .b = bound};
    const firnc_value weight = firnc_parameter(graph, firnc_format("%s.weight", layer), rank, dims, init, true);
    return (firnc_layer_parameters){weight,
                                    firnc_parameter(graph, firnc_format("%s.bias", layer), 1, dims, init, false)};
}

firnc_value firnc_dense(firnc_graph *graph, const char *layer, firnc_value x, uint32_t in, uint32_t out) {
    const firnc_layer_parameters p = firnc_uniform_parameters(graph, layer, 2, (uint32_t[]){out, in}, in);
    firnc_layer_begin(graph, layer);
    firnc_value y = firnc_linear(graph, x, p.weight, p.bias, FIRNC_OUT_IN);
    firnc_layer_end(graph);
    return y;
}

firnc_value firnc_batch_norm_of(firnc_graph *graph, const char *layer, firnc_value x, uint32_t width, float epsilon,
                                float momentum) {
    const firnc_init one = {.rule = FIRNC_INIT_CONSTANT, .a = 1}, zero = {.rule = FIRNC_INIT_CONSTANT};
    firnc_value gain = firnc_parameter(graph, firnc_format("%s.weight", layer), 1, &width, one, false);
    firnc_value bias = firnc_parameter(graph, firnc_format("%s.bias", layer), 1, &width, zero, false);
    firnc_value mean = firnc_buffer(graph, firnc_format("%s.running_mean", layer), 1, &width, 0);
    firnc_value variance = firnc_buffer(graph, firnc_format("%s.running_var", layer), 1, &width, 1);
    firnc_layer_begin(graph, layer);
    x = firnc_batch_norm(graph, x, gain, bias, mean, variance, epsilon, momentum);
    firnc_layer_end(graph);
    return x;
}

void firnc_name_scores(firnc_graph *graph, firnc_value scores, firnc_targets targets, const firnc_job *job) {
    firnc_name_value(graph, targets == FIRNC_TARGETS_NUMBERS ? "prediction" : "logits", scores);
    if (job->output_count == 0 || targets == FIRNC_TARGETS_NUMBERS)
        return;
    /* The fuse pass removes what no output asks for. */
    const bool classes = targets == FIRNC_TARGETS_CLASSES;
    firnc_layer_begin(graph, "probabilities");
    firnc_name_value(graph, "probabilities", classes ? firnc_softmax(graph, scores) : firnc_sigmoid(graph, scores));
    firnc_layer_end(graph);
    if (!classes)
        return;
    firnc_layer_begin(graph, "log_probabilities");
    firnc_name_value(graph, "log_probabilities", firnc_log_softmax(graph, scores));
    firnc_layer_end(graph);
}

void firnc_classify(firnc_graph *graph, firnc_value logits, firnc_value labels, firnc_value weights_or_none,
                    firnc_cross_entropy_options options) {
    bool plain =
        weights_or_none == FIRNC_NONE && !options.ignores && options.label_smoothing == 0 && !options.batch_size;
    if (plain)
        firnc_loss(graph, firnc_cross_entropy(graph, logits, labels));
    else
        firnc_loss(graph, firnc_cross_entropy_weighted(graph, logits, labels, weights_or_none, options));
    firnc_classification(graph, logits, labels);
    firnc_row_weights(graph, weights_or_none, options.ignores ? (int64_t)options.ignore_index : FIRNC_UNSET);
}

/* --- rows that are ignored ---------------------------------------------------------------------------------------- */

/* What to do about an ignore_index that is neither a class nor -100. */
#define IGNORED_ADVICE                                                                                                 \
    "data with such a label is refused when it is read: give the rows to be ignored a class of their own, counted "    \
    "among the model's classes, and write that class here, or give them the label -100, and write -100 here"

bool firnc_ignores_no_class(const firnc_tree *keys) {
    const firnc_tree *ignored = firnc_tree_child(keys, "ignore_index");
    return ignored != NULL && ignored->kind == FIRNC_SCALAR && strcmp(ignored->text, "-100") == 0;
}

uint32_t firnc_label_limit(firnc_cross_entropy_options options, uint32_t classes) {
    return classes + (options.ignores && options.ignore_index == classes);
}

firnc_cross_entropy_options firnc_options_of_text(firnc_cross_entropy_options options, uint32_t classes) {
    options.ignores = options.ignores && options.ignore_index < classes;
    return options;
}

/* Reads ignore_index, a class or -100. */
static bool read_ignored(const firnc_tree *keys, uint32_t classes, firnc_cross_entropy_options *options) {
    static const firnc_field class = {.kind = FIRNC_FIELD_WHOLE, .high = FIRNC_MODEL_SIZE_MAX, .only = IGNORED_ADVICE};
    const firnc_tree *ignored = firnc_tree_child(keys, "ignore_index");
    uint64_t label = classes;
    options->ignores = ignored != NULL && !firnc_tree_is_null(ignored);
    if (!options->ignores)
        return true;
    if (!firnc_ignores_no_class(keys)) {
        if (!firnc_field_whole(ignored, &class, &label))
            return false;
        if (label >= classes)
            return firnc_tree_fail(ignored, "%u is not below the %u classes; " IGNORED_ADVICE, (unsigned)label,
                                   (unsigned)classes);
    }
    options->ignore_index = (uint32_t)label;
    return true;
}

bool firnc_complete_cross_entropy(const firnc_tree *keys, int loss_scaling, uint32_t classes,
                                  firnc_cross_entropy_options *options) {
    const firnc_tree *weight = firnc_tree_child(keys, "loss_weight");
    options->batch_size = loss_scaling == 1;
    if (!read_ignored(keys, classes, options))
        return false;
    if (weight != NULL && !options->batch_size && options->loss_weight != 1)
        return firnc_tree_fail(weight, "has a meaning with loss_scaling: batch_size only; write 1.0 or remove it");
    return true;
}
