/* The long short-term memory and its gradient: plan/NUMERICS.md, "Recurrent ops". Freestanding. */
#include "runtime/kernels/recurrent/recurrent.h"
#include "runtime/numerics/elementary.h"

enum { INPUT, FORGET, CELL, OUTPUT, GATES }; /* the order of the gates, and their number */

/* Returns the activations of a row: those of each gate, H numbers, one gate after the other. */
static float *activations_at(const firn_recurrence *r, const firn_tensor *activations, size_t step, size_t sample) {
    return (float *)activations->data + firn_row_at(r, step, sample, GATES * r->units);
}

static float *cells_at(const firn_recurrence *r, const firn_tensor *cells, size_t step, size_t sample) {
    return (float *)cells->data + firn_row_at(r, step, sample, r->units);
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

/* Makes the sums of a row its activations. */
static void activate(float *sums, const firn_tensor *gates, size_t first, size_t units) {
    firn_add_widened(sums, gates, first, GATES * units);
    firn_sigmoid_many(sums + INPUT * units, 2 * units);
    firn_tanh_many(sums + CELL * units, units);
    firn_sigmoid_many(sums + OUTPUT * units, units);
}

_Static_assert((int)FORGET == (int)INPUT + 1, "one call computes both gates");

/* Computes cells and outputs of a row from its activations; before: its cells at the step before, which may lie where
 * the new ones do. y: from element `first` on. */
static void update(const float *activations, const float *before, float *cells, const firn_tensor *y, size_t first,
                   size_t units) {
    float h[FIRN_BLOCK];
    const float *input = activations + INPUT * units, *forget = activations + FORGET * units;
    const float *candidate = activations + CELL * units, *output = activations + OUTPUT * units;
    for (size_t at = 0; at < units; at += FIRN_BLOCK) {
        const size_t count = firn_smaller(FIRN_BLOCK, units - at);
        for (size_t i = 0; i < count; i++)
            h[i] = firn_canonical(firn_fma(forget[at + i], before[at + i], input[at + i] * candidate[at + i]));
        for (size_t i = 0; i < count; i++) {
            cells[at + i] = h[i];
            h[i] = output[at + i] * firn_tanh_inline(h[i]);
        }
        firn_narrow(y->data, y->type, first + at, h, count);
    }
}

static void forward_task(const firn_recurrence *r, size_t task) {
    const firn_kernel_call *call = r->call;
    const firn_task_samples samples = firn_recurrence_begin(r, task);
    const firn_tensor *gates = &call->inputs[FIRN_LSTM_IN_GATES], *y = &call->outputs[FIRN_LSTM_OUT_Y];
    const firn_tensor *activations = &call->outputs[FIRN_LSTM_OUT_ACTIVATIONS];
    const firn_tensor *cells = &call->outputs[FIRN_LSTM_OUT_CELLS];
    const firn_tensor *h0 = firn_call_input(call, FIRN_LSTM_IN_H0), *c0 = firn_call_input(call, FIRN_LSTM_IN_C0);
    const bool keep = call->integers[FIRN_LSTM_KEEP] != 0;
    const size_t units = r->units, width = GATES * units;
    const float *before = NULL;
    size_t at = 0;
    for (size_t number = 0; number < r->steps; number++) {
        at = firn_step_at(r, number);
        const size_t kept = keep ? at : 0;
        const firn_step_state state = firn_state_before(r, number, y, h0, samples.first);
        float *sums = activations_at(r, activations, kept, samples.first);
        float *now = cells_at(r, cells, kept, samples.first);
        if (number == 0) {
            firn_state_begin(now, r, c0, &samples);
            before = now;
        }
        firn_step_multiply(r, &samples,
                           &(firn_step_product){.left = {state.data, state.type, state.first, units, 1},
                                                .count = width,
                                                .rows = samples.rows,
                                                .out = sums,
                                                .step = width});
        for (size_t row = 0; row < samples.rows; row++) {
            activate(sums + row * width, gates, firn_row_at(r, at, samples.first + row, width), units);
            update(sums + row * width, before + row * units, now + row * units, y,
                   firn_row_at(r, at, samples.first + row, units), units);
        }
        before = now;
    }
    const firn_tensor *last_h = &call->outputs[FIRN_LSTM_OUT_LAST_H], *last_c = &call->outputs[FIRN_LSTM_OUT_LAST_C];
    firn_copy(last_h, samples.first * units, y, firn_row_at(r, at, samples.first, units), samples.rows * units);
    firn_narrow(last_c->data, last_c->type, samples.first * units, before, samples.rows * units);
}

static void forward(void *argument, size_t begin, size_t end) {
    for (size_t task = begin; task < end; task++)
        forward_task(argument, task);
}

void firn_lstm(const firn_kernel_call *call, const firn_step_vectors *vectors) {
    firn_recurrence r;
    firn_recurrence_of(&r, FIRN_OP_lstm, call);
    r.vectors = vectors;
    firn_recurrence_run(&r, forward);
}

void firn_kernel_lstm(const firn_kernel_call *call) {
    firn_lstm(call, NULL);
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

/* Operands of the gradient of one row. dh and dc are carried from the step behind; afterwards dc is that for the step
 * before. */
typedef struct row_gradient {
    const float *activations, *cells;
    float *dh, *dc;
    const firn_tensor *dy, *dgates; /* dy may be NULL */
    size_t at;                      /* number of the row in the sequence */
} row_gradient;

/* The activations may lie where the gradients are written, so a block is read before it is written. */
static void differentiate(const row_gradient *g, const firn_step_state *before, size_t units) {
    float gradients[GATES][FIRN_BLOCK], previous[FIRN_BLOCK];
    const float *input = g->activations + INPUT * units, *forget = g->activations + FORGET * units;
    const float *candidate = g->activations + CELL * units, *output = g->activations + OUTPUT * units;
    for (size_t at = 0; at < units; at += FIRN_BLOCK) {
        const size_t count = firn_smaller(FIRN_BLOCK, units - at);
        float *dh = g->dh + at, *dc = g->dc + at;
        if (g->dy != NULL)
            firn_add_widened(dh, g->dy, g->at * units + at, count);
        firn_state_widen(previous, before, at, count);
        for (size_t i = 0; i < count; i++) {
            const float o = output[at + i], c = firn_tanh_inline(g->cells[at + i]);
            gradients[OUTPUT][i] = dh[i] * c * firn_fma(-o, o, o);
            dc[i] = firn_fma(dh[i] * o, firn_fma(-c, c, 1.0f), dc[i]);
        }
        for (size_t i = 0; i < count; i++) {
            const float in = input[at + i], f = forget[at + i], c = candidate[at + i], d = dc[i];
            gradients[INPUT][i] = d * c * firn_fma(-in, in, in);
            gradients[FORGET][i] = d * previous[i] * firn_fma(-f, f, f);
            gradients[CELL][i] = d * in * firn_fma(-c, c, 1.0f);
            dc[i] = d * f;
        }
        for (size_t gate = 0; gate < GATES; gate++)
            firn_narrow(g->dgates->data, g->dgates->type, (g->at * GATES + gate) * units + at, gradients[gate], count);
    }
}

/* Returns the cells of the first sample at the step before: kept ones, or c0. */
static firn_step_state cells_before(const firn_recurrence *r, size_t number, size_t sample) {
    return firn_state_before(r, number, &r->call->inputs[FIRN_LSTM_BACKWARD_IN_CELLS],
                             firn_call_input(r->call, FIRN_LSTM_BACKWARD_IN_C0), sample);
}

static void backward_task(const firn_recurrence *r, size_t task) {
    const firn_kernel_call *call = r->call;
    const firn_task_samples samples = firn_recurrence_begin(r, task);
    const firn_tensor *activations = &call->inputs[FIRN_LSTM_BACKWARD_IN_ACTIVATIONS];
    const firn_tensor *cells = &call->inputs[FIRN_LSTM_BACKWARD_IN_CELLS];
    const firn_tensor *dgates = &call->outputs[FIRN_LSTM_BACKWARD_OUT_DGATES];
    const size_t units = r->units, width = GATES * units;
    float *carried = call->outputs[FIRN_LSTM_BACKWARD_OUT_CARRIED].data;
    float *dh = carried + samples.first * units, *dc = dh + r->samples * units;
    firn_state_begin(dh, r, firn_call_input(call, FIRN_LSTM_BACKWARD_IN_DLAST_H), &samples);
    firn_state_begin(dc, r, firn_call_input(call, FIRN_LSTM_BACKWARD_IN_DLAST_C), &samples);
    for (size_t number = r->steps; number-- > 0;) {
        const size_t at = firn_step_at(r, number);
        firn_step_state before = cells_before(r, number, samples.first);
        for (size_t row = 0; row < samples.rows; row++, before.first += units) {
            const size_t sample = samples.first + row;
            const row_gradient g = {.activations = activations_at(r, activations, at, sample),
                                    .cells = cells_at(r, cells, at, sample),
                                    .dh = dh + row * units,
                                    .dc = dc + row * units,
                                    .dy = firn_call_input(call, FIRN_LSTM_BACKWARD_IN_DY),
                                    .dgates = dgates,
                                    .at = firn_row_at(r, at, sample, 1)};
            differentiate(&g, &before, units);
        }
        firn_step_multiply(r, &samples,
                           &(firn_step_product){
                               .left = {dgates->data, dgates->type, firn_row_at(r, at, samples.first, width), width, 1},
                               .count = width,
                               .rows = samples.rows,
                               .out = dh,
                               .step = units});
    }
    const firn_tensor *dh0 = &call->outputs[FIRN_LSTM_BACKWARD_OUT_DH0],
                      *dc0 = &call->outputs[FIRN_LSTM_BACKWARD_OUT_DC0];
    firn_narrow(dh0->data, dh0->type, samples.first * units, dh, samples.rows * units);
    firn_narrow(dc0->data, dc0->type, samples.first * units, dc, samples.rows * units);
}

static void backward(void *argument, size_t begin, size_t end) {
    for (size_t task = begin; task < end; task++)
        backward_task(argument, task);
}

void firn_lstm_backward(const firn_kernel_call *call, const firn_step_vectors *vectors) {
    firn_recurrence r;
    firn_recurrence_of(&r, FIRN_OP_lstm_backward, call);
    r.vectors = vectors;
    firn_recurrence_run(&r, backward);
}

void firn_kernel_lstm_backward(const firn_kernel_call *call) {
    firn_lstm_backward(call, NULL);
}
