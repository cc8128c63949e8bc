/* A multi-layer perceptron: dense layers with one activation between them, then softmax cross-entropy or mean squared
 * error. Parameters are those of a PyTorch ModuleList `layers` of Linear, with PyTorch's initial values. */
#include "compiler/build.h"
#include "compiler/ir.h"
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

static firnc_value activation(firnc_graph *graph, firnc_activation kind, firnc_value x) {
    switch (kind) {
    case FIRNC_RELU:
        return firnc_relu(graph, x);
    case FIRNC_GELU:
        return firnc_gelu(graph, x, FIRNC_GELU_ERF);
    case FIRNC_GELU_NEW:
        return firnc_gelu(graph, x, FIRNC_GELU_TANH);
    case FIRNC_TANH:
        return firnc_tanh(graph, x);
    }
    return FIRNC_NONE;
}

void firnc_build_mlp(firnc_graph *graph, const firnc_recipe *recipe) {
    const firnc_mlp *settings = &recipe->mlp;
    uint32_t samples = recipe->data.micro_batch_size;
    firnc_value x = firnc_input(graph, "features", FIRN_FLOAT32, 2, (uint32_t[]){samples, settings->input_size});

    uint32_t in = settings->input_size;
    for (uint32_t i = 0; i < settings->hidden_count; i++) {
        x = dense(graph, i, x, in, settings->hidden_sizes[i]);
        firnc_layer_begin(graph, firnc_format("activations.%u", (unsigned)i));
        x = activation(graph, settings->activation, x);
        x = firnc_dropout(graph, x, settings->dropout_rate);
        firnc_layer_end(graph);
        in = settings->hidden_sizes[i];
    }
    x = dense(graph, settings->hidden_count, x, in, settings->output_size);

    firnc_layer_begin(graph, "loss");
    if (settings->mean_squared_error) {
        firnc_value target =
            firnc_input(graph, "targets", FIRN_FLOAT32, 2, (uint32_t[]){samples, settings->output_size});
        firnc_loss(graph, firnc_mean_squared_error(graph, x, target));
    } else {
        firnc_value labels = firnc_input(graph, "labels", FIRN_INT32, 1, &samples);
        firnc_loss(graph, firnc_cross_entropy(graph, x, labels));
        firnc_classification(graph, x, labels);
    }
    firnc_layer_end(graph);
}
