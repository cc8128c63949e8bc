/* libfirnc: a network of two layers, written down in C, whose second layer keeps float32 sums. */
#include <stdio.h>

#include "compiler/graph/graph.h"

static const firnc_init small = {FIRNC_INIT_NORMAL, 0, 0.05f}, zero = {FIRNC_INIT_CONSTANT, 0, 0};

static firnc_value layer(firnc_graph *graph, firnc_value x, const char *weight, const char *bias, uint32_t in,
                         uint32_t out) {
    firnc_value w = firnc_parameter(graph, weight, 2, (uint32_t[]){out, in}, small, true);
    firnc_value b = firnc_parameter(graph, bias, 1, &out, zero, false);
    return firnc_linear(graph, x, w, b, FIRNC_OUT_IN);
}

static firnc_graph *network(uint32_t samples) {
    const firnc_pol float32_sums = {.level = 0, .bwd_level = FIRNC_UNSET, .enable_fwd = true, .enable_bwd = true};
    firnc_graph *graph = firnc_graph_create("two_layers");
    firnc_value x = firnc_input(graph, "features", FIRN_FLOAT32, 2, (uint32_t[]){samples, 784});
    firnc_value labels = firnc_input(graph, "labels", FIRN_INT32, 1, &samples);
    firnc_value hidden = firnc_relu(graph, layer(graph, x, "fc1.weight", "fc1.bias", 784, 64));
    firnc_pol_begin(graph, float32_sums);
    firnc_value logits = layer(graph, hidden, "fc2.weight", "fc2.bias", 64, 10);
    firnc_pol_end(graph);
    firnc_loss(graph, firnc_cross_entropy(graph, logits, labels));
    firnc_classification(graph, logits, labels);
    return graph;
}

int main(void) {
    return network(32) == NULL || puts("a network of two layers") < 0;
}
