/* See support_recurrent.h. */
#include "tests/unit/support_recurrent.h"

#include <stdbool.h>

#include "compiler/base/text.h"

static firnc_value parameter(firnc_graph *graph, const char *layer, const char *name, uint8_t rank,
                             const uint32_t *dims, bool decay) {
    const float bound = 3.0f / (float)(dims[rank - 1] + 4); /* so that products stay moderate */
    const firnc_init init = {.rule = FIRNC_INIT_UNIFORM, .a = -bound, .b = bound};
    return firnc_parameter(graph, firnc_format("%s.%s", layer, name), rank, dims, init, decay);
}

static firnc_value dense(firnc_graph *graph, const char *layer, firnc_value x, uint32_t in, uint32_t out) {
    firnc_layer_begin(graph, layer);
    const firnc_value weight = parameter(graph, layer, "weight", 2, (uint32_t[]){out, in}, true);
    const firnc_value bias = parameter(graph, layer, "bias", 1, (uint32_t[]){out}, false);
    x = firnc_linear(graph, x, weight, bias, FIRNC_OUT_IN);
    firnc_layer_end(graph);
    return x;
}

/* The weight of the recurrent products of a layer with some gates. */
static firnc_value recurrent(firnc_graph *graph, const char *layer, uint32_t gates, uint32_t units) {
    return parameter(graph, layer, "recurrent", 2, (uint32_t[]){gates * units, units}, true);
}

void recurrent_build(firnc_graph *graph, const recurrent_sizes *sizes, firnc_input_options features,
                     firnc_input_options target) {
    const uint32_t units = sizes->units;
    const firnc_recurrent_options onwards = {0}, reverse = {.reverse = true};
    const firnc_recurrent_options after = {.reverse = true, .reset_after = true},
                                  relu = {.reverse = true, .relu = true};
    firnc_value h, c, bias;
    firnc_value x = firnc_input(graph, "features", FIRN_FLOAT32, 3,
                                (uint32_t[]){sizes->steps, sizes->samples, sizes->width}, features);
    firnc_value wanted = firnc_input(graph, "target", FIRN_FLOAT32, 3,
                                     (uint32_t[]){sizes->steps, sizes->samples, sizes->outputs}, target);
    x = dense(graph, "lstm", x, sizes->width, 4 * units);
    x = firnc_lstm(graph, x, recurrent(graph, "lstm", 4, units), FIRNC_NONE, FIRNC_NONE, onwards, &h, &c);
    x = dense(graph, "gru", x, units, 3 * units);
    bias = parameter(graph, "gru", "recurrent_bias", 1, (uint32_t[]){3 * units}, false);
    x = firnc_gru(graph, x, recurrent(graph, "gru", 3, units), bias, h, after, &h);
    x = dense(graph, "gru_before", x, units, 3 * units);
    x = firnc_gru(graph, x, recurrent(graph, "gru_before", 3, units), FIRNC_NONE, h, onwards, &h);
    x = dense(graph, "gru_begin", x, units, 3 * units);
    bias = parameter(graph, "gru_begin", "recurrent_bias", 1, (uint32_t[]){3 * units}, false);
    x = firnc_gru(graph, x, recurrent(graph, "gru_begin", 3, units), bias, FIRNC_NONE, reverse, NULL);
    x = dense(graph, "lstm_back", x, units, 4 * units);
    x = firnc_lstm(graph, x, recurrent(graph, "lstm_back", 4, units), h, c, reverse, NULL, &c);
    x = dense(graph, "rnn", x, units, units);
    x = firnc_rnn(graph, x, recurrent(graph, "rnn", 1, units), c, onwards, &h);
    x = dense(graph, "rnn_back", x, units, units);
    firnc_rnn(graph, x, recurrent(graph, "rnn_back", 1, units), h, relu, &h);
    x = dense(graph, "rnn_end", x, units, units);
    x = firnc_rnn(graph, x, recurrent(graph, "rnn_end", 1, units), h, relu, NULL);
    x = dense(graph, "output", x, units, sizes->outputs);
    firnc_loss(graph, firnc_mean_squared_error(graph, x, wanted));
}
