/* The first pass: the architecture that the recipe names, written down with the graph builder. Each architecture is one
 * file; a new one is an entry of the table below. */
#include "compiler/models/models.h"

#include "compiler/graph/ir.h"

static const struct {
    const char *model;
    void (*build)(firnc_graph *graph, const firnc_recipe *recipe);
} architectures[] = {
    [FIRNC_GPT2] = {"gpt2", firnc_build_gpt2},
    [FIRNC_MLP] = {"mlp", firnc_build_mlp},
};

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

bool firnc_build(firnc_compilation *compilation) {
    const firnc_recipe *recipe = compilation->recipe;
    firnc_graph *graph = firnc_graph_create(architectures[recipe->architecture].model);
    graph->eval = recipe->mode == FIRNC_EVAL;
    compilation->graph = graph;
    architectures[recipe->architecture].build(graph, recipe);
    if (graph->scopes != NULL || graph->next_annotated)
        return firnc_fail(compilation, "the architecture %s leaves a scope open; this is a bug of firnc", graph->model);
    return true;
}
