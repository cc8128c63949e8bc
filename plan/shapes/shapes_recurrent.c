/* Rules of recurrent ops: a sequence has the extents [T,B,width], T steps over B samples; a state [B,H]. Freestanding.
 */
#include "plan/shapes/shape_rules.h"

enum { STEPS = 0, SAMPLES = 1, WIDTH = 2, SEQUENCE_RANK = 3 };
enum { LSTM_GATES = 4, GRU_GATES = 3, RNN_GATES = 1 };
enum { ACTIVATIONS = 4 }; /* numbers for each unit that the gradients of lstm and gru read */

static bool is_sequence(const firn_shape *shape, const uint32_t dims[SEQUENCE_RANK]) {
    return shape->rank == SEQUENCE_RANK && shape->dims[STEPS] == dims[STEPS] && shape->dims[SAMPLES] == dims[SAMPLES] &&
           shape->dims[WIDTH] == dims[WIDTH];
}

/* Whether an optional input is absent, or a state of `dims`: that of a sequence with as many samples and units. */
static bool is_state(const firn_op_signature *s, uint8_t input, const uint32_t dims[SEQUENCE_RANK]) {
    const firn_shape *state = &s->inputs[input];
    return !has_input(s, input) ||
           (state->rank == 2 && state->dims[0] == dims[SAMPLES] && state->dims[1] == dims[WIDTH]);
}

/* Whether an optional input is absent, or a sequence of `dims`. */
static bool is_given_sequence(const firn_op_signature *s, uint8_t input, const uint32_t dims[SEQUENCE_RANK]) {
    return !has_input(s, input) || is_sequence(&s->inputs[input], dims);
}

static void set_sequence(firn_shape *output, const uint32_t dims[SEQUENCE_RANK], uint32_t steps, uint32_t width) {
    firn_shape_set(output, SEQUENCE_RANK, (const uint32_t[]){steps, dims[SAMPLES], width});
}

static void set_state(firn_shape *output, const uint32_t dims[SEQUENCE_RANK]) {
    firn_shape_set(output, 2, &dims[SAMPLES]);
}

/* Whether a sequence and a weight belong to `gates` gates of the same units. Fills in dims: steps, samples and
 * units. */
static bool are_gates(const firn_shape *sequence, const firn_shape *weight, uint32_t gates,
                      uint32_t dims[SEQUENCE_RANK]) {
    if (sequence->rank != SEQUENCE_RANK || weight->rank != 2)
        return false;
    dims[STEPS] = sequence->dims[STEPS];
    dims[SAMPLES] = sequence->dims[SAMPLES];
    dims[WIDTH] = weight->dims[1];
    return (uint64_t)gates * dims[WIDTH] == weight->dims[0] && sequence->dims[WIDTH] == weight->dims[0];
}

/* The same for the activations that the gradient of lstm or gru reads. */
static bool are_activations(const firn_shape *activations, const firn_shape *weight, uint32_t gates,
                            uint32_t dims[SEQUENCE_RANK]) {
    if (activations->rank != SEQUENCE_RANK || weight->rank != 2)
        return false;
    dims[STEPS] = activations->dims[STEPS];
    dims[SAMPLES] = activations->dims[SAMPLES];
    dims[WIDTH] = weight->dims[1];
    return (uint64_t)gates * dims[WIDTH] == weight->dims[0] &&
           (uint64_t)ACTIVATIONS * dims[WIDTH] == activations->dims[WIDTH];
}

int firn_shape_lstm(firn_op_signature *s) {
    const firn_shape *weight = &s->inputs[FIRN_LSTM_IN_WEIGHT];
    uint32_t dims[SEQUENCE_RANK];
    if (!are_gates(&s->inputs[FIRN_LSTM_IN_GATES], weight, LSTM_GATES, dims) || !is_state(s, FIRN_LSTM_IN_H0, dims) ||
        !is_state(s, FIRN_LSTM_IN_C0, dims))
        return FIRN_ERROR_OP_SHAPE;
    const uint32_t kept = s->integers[FIRN_LSTM_KEEP] != 0 ? dims[STEPS] : 1;
    set_sequence(&s->outputs[FIRN_LSTM_OUT_Y], dims, dims[STEPS], dims[WIDTH]);
    set_state(&s->outputs[FIRN_LSTM_OUT_LAST_H], dims);
    set_state(&s->outputs[FIRN_LSTM_OUT_LAST_C], dims);
    set_sequence(&s->outputs[FIRN_LSTM_OUT_ACTIVATIONS], dims, kept, ACTIVATIONS * dims[WIDTH]);
    set_sequence(&s->outputs[FIRN_LSTM_OUT_CELLS], dims, kept, dims[WIDTH]);
    return FIRN_OK;
}

int firn_shape_lstm_backward(firn_op_signature *s) {
    const firn_shape *weight = &s->inputs[FIRN_LSTM_BACKWARD_IN_WEIGHT];
    uint32_t dims[SEQUENCE_RANK];
    if (!are_activations(&s->inputs[FIRN_LSTM_BACKWARD_IN_ACTIVATIONS], weight, LSTM_GATES, dims) ||
        !is_sequence(&s->inputs[FIRN_LSTM_BACKWARD_IN_CELLS], dims) ||
        !is_given_sequence(s, FIRN_LSTM_BACKWARD_IN_DY, dims) || !is_state(s, FIRN_LSTM_BACKWARD_IN_DLAST_H, dims) ||
        !is_state(s, FIRN_LSTM_BACKWARD_IN_DLAST_C, dims) || !is_state(s, FIRN_LSTM_BACKWARD_IN_C0, dims))
        return FIRN_ERROR_OP_SHAPE;
    set_sequence(&s->outputs[FIRN_LSTM_BACKWARD_OUT_DGATES], dims, dims[STEPS], weight->dims[0]);
    set_state(&s->outputs[FIRN_LSTM_BACKWARD_OUT_DH0], dims);
    set_state(&s->outputs[FIRN_LSTM_BACKWARD_OUT_DC0], dims);
    set_sequence(&s->outputs[FIRN_LSTM_BACKWARD_OUT_CARRIED], dims, 2, dims[WIDTH]);
    return FIRN_OK;
}

int firn_shape_gru(firn_op_signature *s) {
    const firn_shape *weight = &s->inputs[FIRN_GRU_IN_WEIGHT], *bias = &s->inputs[FIRN_GRU_IN_BIAS];
    uint32_t dims[SEQUENCE_RANK];
    if (!are_gates(&s->inputs[FIRN_GRU_IN_GATES], weight, GRU_GATES, dims) || !is_state(s, FIRN_GRU_IN_H0, dims) ||
        (has_input(s, FIRN_GRU_IN_BIAS) && !is_vector(bias, bias->type, weight->dims[0])) ||
        (uint64_t)ACTIVATIONS * dims[WIDTH] > UINT32_MAX)
        return FIRN_ERROR_OP_SHAPE;
    const uint32_t kept = s->integers[FIRN_GRU_KEEP] != 0 ? dims[STEPS] : 1;
    set_sequence(&s->outputs[FIRN_GRU_OUT_Y], dims, dims[STEPS], dims[WIDTH]);
    set_state(&s->outputs[FIRN_GRU_OUT_LAST_H], dims);
    set_sequence(&s->outputs[FIRN_GRU_OUT_ACTIVATIONS], dims, kept, ACTIVATIONS * dims[WIDTH]);
    return FIRN_OK;
}

int firn_shape_gru_backward(firn_op_signature *s) {
    const firn_shape *weight = &s->inputs[FIRN_GRU_BACKWARD_IN_WEIGHT];
    uint32_t dims[SEQUENCE_RANK];
    if (!are_activations(&s->inputs[FIRN_GRU_BACKWARD_IN_ACTIVATIONS], weight, GRU_GATES, dims) ||
        !is_sequence(&s->inputs[FIRN_GRU_BACKWARD_IN_Y], dims) ||
        !is_given_sequence(s, FIRN_GRU_BACKWARD_IN_DY, dims) || !is_state(s, FIRN_GRU_BACKWARD_IN_DLAST_H, dims) ||
        !is_state(s, FIRN_GRU_BACKWARD_IN_H0, dims))
        return FIRN_ERROR_OP_SHAPE;
    set_sequence(&s->outputs[FIRN_GRU_BACKWARD_OUT_DGATES], dims, dims[STEPS], weight->dims[0]);
    set_sequence(&s->outputs[FIRN_GRU_BACKWARD_OUT_DPRODUCTS], dims, dims[STEPS], weight->dims[0]);
    set_state(&s->outputs[FIRN_GRU_BACKWARD_OUT_DH0], dims);
    set_sequence(&s->outputs[FIRN_GRU_BACKWARD_OUT_CARRIED], dims, 2, dims[WIDTH]);
    return FIRN_OK;
}

int firn_shape_rnn(firn_op_signature *s) {
    uint32_t dims[SEQUENCE_RANK];
    if (!are_gates(&s->inputs[FIRN_RNN_IN_GATES], &s->inputs[FIRN_RNN_IN_WEIGHT], RNN_GATES, dims) ||
        !is_state(s, FIRN_RNN_IN_H0, dims))
        return FIRN_ERROR_OP_SHAPE;
    set_sequence(&s->outputs[FIRN_RNN_OUT_Y], dims, dims[STEPS], dims[WIDTH]);
    set_state(&s->outputs[FIRN_RNN_OUT_LAST_H], dims);
    set_state(&s->outputs[FIRN_RNN_OUT_SUMS], dims);
    return FIRN_OK;
}

int firn_shape_rnn_backward(firn_op_signature *s) {
    uint32_t dims[SEQUENCE_RANK];
    if (!are_gates(&s->inputs[FIRN_RNN_BACKWARD_IN_Y], &s->inputs[FIRN_RNN_BACKWARD_IN_WEIGHT], RNN_GATES, dims) ||
        !is_given_sequence(s, FIRN_RNN_BACKWARD_IN_DY, dims) || !is_state(s, FIRN_RNN_BACKWARD_IN_DLAST_H, dims))
        return FIRN_ERROR_OP_SHAPE;
    set_sequence(&s->outputs[FIRN_RNN_BACKWARD_OUT_DGATES], dims, dims[STEPS], dims[WIDTH]);
    set_state(&s->outputs[FIRN_RNN_BACKWARD_OUT_DH0], dims);
    set_sequence(&s->outputs[FIRN_RNN_BACKWARD_OUT_CARRIED], dims, 1, dims[WIDTH]);
    return FIRN_OK;
}

/* The number of gates is that of the rows for each unit; with activations they are those of gru. */
int firn_shape_recurrent_backward_weight(firn_op_signature *s) {
    const firn_shape *dproducts = &s->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_DPRODUCTS];
    const firn_shape *y = &s->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_Y];
    const firn_shape *activations = &s->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_ACTIVATIONS];
    const bool of_gru = has_input(s, FIRN_RECURRENT_BACKWARD_WEIGHT_IN_ACTIVATIONS);
    if (dproducts->rank != SEQUENCE_RANK || y->rank != SEQUENCE_RANK || dproducts->dims[STEPS] != y->dims[STEPS] ||
        dproducts->dims[SAMPLES] != y->dims[SAMPLES] || dproducts->dims[WIDTH] % y->dims[WIDTH] != 0 ||
        !is_state(s, FIRN_RECURRENT_BACKWARD_WEIGHT_IN_H0, y->dims))
        return FIRN_ERROR_OP_SHAPE;
    if (of_gru &&
        ((uint64_t)GRU_GATES * y->dims[WIDTH] != dproducts->dims[WIDTH] ||
         (uint64_t)ACTIVATIONS * y->dims[WIDTH] > UINT32_MAX ||
         !is_sequence(activations, (const uint32_t[]){y->dims[STEPS], y->dims[SAMPLES], ACTIVATIONS * y->dims[WIDTH]})))
        return FIRN_ERROR_OP_SHAPE;
    firn_shape_set(&s->outputs[FIRN_RECURRENT_BACKWARD_WEIGHT_OUT_DWEIGHT], 2,
                   (const uint32_t[]){dproducts->dims[WIDTH], y->dims[WIDTH]});
    return FIRN_OK;
}
