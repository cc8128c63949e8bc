/* Gradients of recurrent ops: the backward op walks the steps in the other direction and gives the gradients of gates
 * and initial states; the recurrent weight's is one product of all steps, in an op of its own. */
#include "compiler/passes/gradients/gradients.h"

/* Returns the gradient of an output of the current node, or FIRNC_NONE. */
static firnc_value gradient_of(const firnc_differentiation *d, uint8_t output) {
    return d->gradients[d->node->outputs[output]];
}

/* Returns the type of an input's gradient; of an input that the node does not have, that of its gates. */
static uint8_t type_of(const firnc_differentiation *d, uint8_t operand) {
    const firnc_value input = firnc_input_of(d, operand);
    return firnc_type_of_gradient(d, input == FIRNC_NONE ? d->node->inputs[FIRN_LSTM_IN_GATES] : input);
}

_Static_assert((int)FIRN_LSTM_IN_GATES == (int)FIRN_GRU_IN_GATES && (int)FIRN_LSTM_IN_GATES == (int)FIRN_RNN_IN_GATES &&
                   (int)FIRN_LSTM_IN_WEIGHT == (int)FIRN_GRU_IN_WEIGHT &&
                   (int)FIRN_LSTM_IN_WEIGHT == (int)FIRN_RNN_IN_WEIGHT && (int)FIRN_LSTM_OUT_Y == (int)FIRN_GRU_OUT_Y &&
                   (int)FIRN_LSTM_OUT_Y == (int)FIRN_RNN_OUT_Y,
               "all recurrent ops have gates, weight and y at one place");

/* Adds the backward op, without the inputs at the end that are FIRNC_NONE. Returns its outputs, which stay readable. */
static const firnc_value *backward(firnc_differentiation *d, uint16_t code, const firnc_value *inputs,
                                   uint8_t input_count, const int64_t *integers, const uint8_t *types) {
    while (inputs[input_count - 1] == FIRNC_NONE)
        input_count--;
    firnc_emit(d, code, inputs, input_count, integers, NULL, types);
    const firnc_node *made = &d->graph->nodes[d->graph->node_count - 1];
    firnc_value *outputs = firnc_allocate(made->output_count * sizeof *outputs);
    for (uint8_t i = 0; i < made->output_count; i++)
        outputs[i] = made->outputs[i];
    return outputs;
}

static void contribute_if_wanted(firnc_differentiation *d, uint8_t operand, firnc_value gradient) {
    if (firnc_wanted(d, operand))
        firnc_contribute(d, operand, gradient);
}

/* The gradient of the weight. activations: those of a gru whose reset gate is before the products, or FIRNC_NONE. */
static void contribute_weight(firnc_differentiation *d, firnc_value dproducts, firnc_value h0, firnc_value activations,
                              int64_t reverse) {
    if (!firnc_wanted(d, FIRN_LSTM_IN_WEIGHT))
        return;
    const firnc_value inputs[] = {[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_DPRODUCTS] = dproducts,
                                  [FIRN_RECURRENT_BACKWARD_WEIGHT_IN_Y] = d->node->outputs[FIRN_LSTM_OUT_Y],
                                  [FIRN_RECURRENT_BACKWARD_WEIGHT_IN_H0] = h0,
                                  [FIRN_RECURRENT_BACKWARD_WEIGHT_IN_ACTIVATIONS] = activations};
    const uint8_t type = type_of(d, FIRN_LSTM_IN_WEIGHT);
    const firnc_value *made = backward(d, FIRN_OP_recurrent_backward_weight, inputs, 4, &reverse, &type);
    firnc_contribute(d, FIRN_LSTM_IN_WEIGHT, made[FIRN_RECURRENT_BACKWARD_WEIGHT_OUT_DWEIGHT]);
}

bool firnc_gradient_lstm(firnc_differentiation *d, firnc_value dy) {
    const firnc_node *node = d->node;
    const int64_t reverse = node->integers[FIRN_LSTM_REVERSE];
    const uint8_t gates = firnc_shape_of(d, node->inputs[FIRN_LSTM_IN_GATES])->type;
    const firnc_value dlast_h = gradient_of(d, FIRN_LSTM_OUT_LAST_H), dlast_c = gradient_of(d, FIRN_LSTM_OUT_LAST_C);
    const firnc_value inputs[] = {
        [FIRN_LSTM_BACKWARD_IN_WEIGHT] = node->inputs[FIRN_LSTM_IN_WEIGHT],
        [FIRN_LSTM_BACKWARD_IN_ACTIVATIONS] = node->outputs[FIRN_LSTM_OUT_ACTIVATIONS],
        [FIRN_LSTM_BACKWARD_IN_CELLS] = node->outputs[FIRN_LSTM_OUT_CELLS],
        [FIRN_LSTM_BACKWARD_IN_DY] = dy,
        [FIRN_LSTM_BACKWARD_IN_DLAST_H] = dlast_h,
        [FIRN_LSTM_BACKWARD_IN_DLAST_C] = dlast_c,
        [FIRN_LSTM_BACKWARD_IN_C0] = firnc_input_of(d, FIRN_LSTM_IN_C0),
    };
    const uint8_t types[] = {[FIRN_LSTM_BACKWARD_OUT_DGATES] = gates,
                             [FIRN_LSTM_BACKWARD_OUT_DH0] = type_of(d, FIRN_LSTM_IN_H0),
                             [FIRN_LSTM_BACKWARD_OUT_DC0] = type_of(d, FIRN_LSTM_IN_C0),
                             [FIRN_LSTM_BACKWARD_OUT_CARRIED] = FIRN_FLOAT32};
    const firnc_value *made =
        backward(d, FIRN_OP_lstm_backward, inputs, sizeof inputs / sizeof inputs[0], &reverse, types);
    const firnc_value dgates = made[FIRN_LSTM_BACKWARD_OUT_DGATES];
    contribute_weight(d, dgates, firnc_input_of(d, FIRN_LSTM_IN_H0), FIRNC_NONE, reverse);
    contribute_if_wanted(d, FIRN_LSTM_IN_GATES, dgates);
    contribute_if_wanted(d, FIRN_LSTM_IN_H0, made[FIRN_LSTM_BACKWARD_OUT_DH0]);
    contribute_if_wanted(d, FIRN_LSTM_IN_C0, made[FIRN_LSTM_BACKWARD_OUT_DC0]);
    return true;
}

bool firnc_gradient_gru(firnc_differentiation *d, firnc_value dy) {
    const firnc_node *node = d->node;
    const int64_t integers[] = {[FIRN_GRU_BACKWARD_RESET_AFTER] = node->integers[FIRN_GRU_RESET_AFTER],
                                [FIRN_GRU_BACKWARD_REVERSE] = node->integers[FIRN_GRU_REVERSE]};
    const uint8_t gates = firnc_shape_of(d, node->inputs[FIRN_GRU_IN_GATES])->type;
    const firnc_value activations = node->outputs[FIRN_GRU_OUT_ACTIVATIONS], h0 = firnc_input_of(d, FIRN_GRU_IN_H0);
    const firnc_value inputs[] = {
        [FIRN_GRU_BACKWARD_IN_WEIGHT] = node->inputs[FIRN_GRU_IN_WEIGHT],
        [FIRN_GRU_BACKWARD_IN_ACTIVATIONS] = activations,
        [FIRN_GRU_BACKWARD_IN_Y] = node->outputs[FIRN_GRU_OUT_Y],
        [FIRN_GRU_BACKWARD_IN_DY] = dy,
        [FIRN_GRU_BACKWARD_IN_DLAST_H] = gradient_of(d, FIRN_GRU_OUT_LAST_H),
        [FIRN_GRU_BACKWARD_IN_H0] = h0,
    };
    const uint8_t types[] = {[FIRN_GRU_BACKWARD_OUT_DGATES] = gates,
                             [FIRN_GRU_BACKWARD_OUT_DPRODUCTS] = gates,
                             [FIRN_GRU_BACKWARD_OUT_DH0] = type_of(d, FIRN_GRU_IN_H0),
                             [FIRN_GRU_BACKWARD_OUT_CARRIED] = FIRN_FLOAT32};
    const firnc_value *made =
        backward(d, FIRN_OP_gru_backward, inputs, sizeof inputs / sizeof inputs[0], integers, types);
    const firnc_value dproducts = made[FIRN_GRU_BACKWARD_OUT_DPRODUCTS];
    contribute_weight(d, dproducts, h0, integers[FIRN_GRU_BACKWARD_RESET_AFTER] != 0 ? FIRNC_NONE : activations,
                      integers[FIRN_GRU_BACKWARD_REVERSE]);
    if (firnc_wanted(d, FIRN_GRU_IN_BIAS))
        firnc_contribute_bias(d, FIRN_GRU_IN_BIAS, dproducts);
    contribute_if_wanted(d, FIRN_GRU_IN_GATES, made[FIRN_GRU_BACKWARD_OUT_DGATES]);
    contribute_if_wanted(d, FIRN_GRU_IN_H0, made[FIRN_GRU_BACKWARD_OUT_DH0]);
    return true;
}

bool firnc_gradient_rnn(firnc_differentiation *d, firnc_value dy) {
    const firnc_node *node = d->node;
    const int64_t integers[] = {[FIRN_RNN_BACKWARD_RELU] = node->integers[FIRN_RNN_RELU],
                                [FIRN_RNN_BACKWARD_REVERSE] = node->integers[FIRN_RNN_REVERSE]};
    const uint8_t gates = firnc_shape_of(d, node->inputs[FIRN_RNN_IN_GATES])->type;
    const firnc_value inputs[] = {
        [FIRN_RNN_BACKWARD_IN_WEIGHT] = node->inputs[FIRN_RNN_IN_WEIGHT],
        [FIRN_RNN_BACKWARD_IN_Y] = node->outputs[FIRN_RNN_OUT_Y],
        [FIRN_RNN_BACKWARD_IN_DY] = dy,
        [FIRN_RNN_BACKWARD_IN_DLAST_H] = gradient_of(d, FIRN_RNN_OUT_LAST_H),
    };
    const uint8_t types[] = {[FIRN_RNN_BACKWARD_OUT_DGATES] = gates,
                             [FIRN_RNN_BACKWARD_OUT_DH0] = type_of(d, FIRN_RNN_IN_H0),
                             [FIRN_RNN_BACKWARD_OUT_CARRIED] = FIRN_FLOAT32};
    const firnc_value *made =
        backward(d, FIRN_OP_rnn_backward, inputs, sizeof inputs / sizeof inputs[0], integers, types);
    const firnc_value dgates = made[FIRN_RNN_BACKWARD_OUT_DGATES];
    contribute_weight(d, dgates, firnc_input_of(d, FIRN_RNN_IN_H0), FIRNC_NONE, integers[FIRN_RNN_BACKWARD_REVERSE]);
    contribute_if_wanted(d, FIRN_RNN_IN_GATES, dgates);
    contribute_if_wanted(d, FIRN_RNN_IN_H0, made[FIRN_RNN_BACKWARD_OUT_DH0]);
    return true;
}
