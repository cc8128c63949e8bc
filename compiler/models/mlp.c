/* A multi-layer perceptron: dense layers with one activation between them, then the loss that the recipe names.
 * Parameters are those of a PyTorch ModuleList `layers` of Linear, with PyTorch's initial values. */
#include "compiler/graph/ir.h"
#include "compiler/models/models.h"
#include "runtime/numerics/numerics.h"

static firnc_value dense(firnc_graph *graph, uint32_t index, firnc_value x, uint32_t in, uint32_t out) {
    const char *name = firnc_format("layers.%u", (unsigned)index);
    float bound = 1 / firn_sqrt((float)in);
    firnc_init init = {.rule = FIRNC_INIT_UNIFORM, .a = -bound, .b = bound};
    firnc_value weight = firnc_parameter(graph, firnc_format("%s.weight", name), 2, (uint32_t[]){out, in}, init, true);
    firnc_value bias = firnc_parameter(graph, firnc_format("%s.bias", name), 1, &out, init, false);
    firnc_layer_begin(graph, name);
    firnc_value y = firnc_linear(graph, x, weight, bias, FIRNC_OUT_IN);
    firnc_layer_end(graph);
    return y;
}

/* Losses of classes, which the labels name. */
static void classify(firnc_graph *graph, const firnc_mlp *settings, uint32_t samples, firnc_value logits) {
    firnc_value labels = firnc_input(graph, "labels", FIRN_INT32, 1, &samples);
    if (settings->loss == FIRNC_LOSS_NLL) {
        firnc_loss(graph, firnc_nll_loss(graph, firnc_log_softmax(graph, logits), labels));
        firnc_classification(graph, logits, labels);
        return;
    }
    firnc_value weights =
        settings->sample_weights ? firnc_input(graph, "weights", FIRN_FLOAT32, 1, &samples) : FIRNC_NONE;
    firnc_classify(graph, logits, labels, weights, settings->cross_entropy);
}

/* Losses of numbers, each with its target. */
static void compare(firnc_graph *graph, const firnc_mlp *settings, uint32_t samples, firnc_value x) {
    firnc_value target = firnc_input(graph, "targets", FIRN_FLOAT32, 2, (uint32_t[]){samples, settings->output_size});
    firnc_value loss;
    switch (settings->loss) {
    case FIRNC_LOSS_L1:
        loss = firnc_l1_loss(graph, x, target);
        break;
    case FIRNC_LOSS_HUBER:
        loss = firnc_huber_loss(graph, x, target, FIRNC_HUBER, settings->huber_threshold);
        break;
    case FIRNC_LOSS_SMOOTH_L1:
        loss = firnc_huber_loss(graph, x, target, FIRNC_HUBER_SMOOTH, settings->huber_threshold);
        break;
    case FIRNC_LOSS_BINARY_CROSS_ENTROPY:
        firnc_detection(graph, x, target);
        firnc_loss(graph, firnc_binary_cross_entropy(graph, x, target));
        return;
    case FIRNC_LOSS_KL_DIVERGENCE:
        firnc_loss(graph, firnc_kl_divergence(graph, firnc_log_softmax(graph, x), target, settings->log_target,
                                              settings->batch_mean));
        return;
    default:
        loss = firnc_mean_squared_error(graph, x, target);
        break;
    }
    firnc_loss(graph, loss);
    firnc_regression(graph, x, target);
}

void firnc_build_mlp(firnc_graph *graph, const firnc_recipe *recipe) {
    const firnc_mlp *settings = &recipe->mlp;
    uint32_t samples = recipe->data.micro_batch_size;
    firnc_value x = firnc_input(graph, "features", FIRN_FLOAT32, 2, (uint32_t[]){samples, settings->input_size});

    uint32_t in = settings->input_size;
    for (uint32_t i = 0; i < settings->hidden_count; i++) {
        x = dense(graph, i, x, in, settings->hidden_sizes[i]);
        firnc_layer_begin(graph, firnc_format("activations.%u", (unsigned)i));
        x = firnc_activate(graph, settings->activation, x);
        x = firnc_dropout(graph, x, settings->dropout_rate);
        firnc_layer_end(graph);
        in = settings->hidden_sizes[i];
    }
    x = dense(graph, settings->hidden_count, x, in, settings->output_size);

    firnc_layer_begin(graph, "loss");
    if (firnc_loss_has_classes(settings->loss))
        classify(graph, settings, samples, x);
    else
        compare(graph, settings, samples, x);
    firnc_layer_end(graph);
}
