/* The simple recurrent network and its gradient: plan/NUMERICS.md, "Recurrent ops". Freestanding. */
#include "runtime/kernels/recurrent/recurrent.h"
#include "runtime/numerics/elementary.h"

/* As the op relu: a NaN stays. */
static void relu_many(float *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        x[i] = x[i] <= 0.0f ? 0.0f : x[i];
}

static void forward_task(const firn_recurrence *r, size_t task) {
    const firn_kernel_call *call = r->call;
    const firn_task_samples samples = firn_recurrence_begin(r, task);
    const firn_tensor *gates = &call->inputs[FIRN_RNN_IN_GATES], *h0 = firn_call_input(call, FIRN_RNN_IN_H0);
    const firn_tensor *y = &call->outputs[FIRN_RNN_OUT_Y], *last_h = &call->outputs[FIRN_RNN_OUT_LAST_H];
    const bool relu = call->integers[FIRN_RNN_RELU] != 0;
    const size_t units = r->units, elements = samples.rows * units;
    float *sums = (float *)call->outputs[FIRN_RNN_OUT_SUMS].data + samples.first * units;
    size_t first = 0;
    for (size_t number = 0; number < r->steps; number++) {
        const firn_step_state state = firn_state_before(r, number, y, h0, samples.first);
        first = firn_row_at(r, firn_step_at(r, number), samples.first, units);
        firn_step_multiply(r, &samples,
                           &(firn_step_product){.left = {state.data, state.type, state.first, units, 1},
                                                .count = units,
                                                .rows = samples.rows,
                                                .out = sums,
                                                .step = units});
        firn_add_widened(sums, gates, first, elements);
        if (relu)
            relu_many(sums, elements);
        else
            firn_tanh_many(sums, elements);
        firn_narrow(y->data, y->type, first, sums, elements);
    }
    firn_copy(last_h, samples.first * units, y, first, elements);
}

static void forward(void *argument, size_t begin, size_t end) {
    for (size_t task = begin; task < end; task++)
        forward_task(argument, task);
}

void firn_rnn(const firn_kernel_call *call, const firn_step_vectors *vectors) {
    firn_recurrence r;
    firn_recurrence_of(&r, FIRN_OP_rnn, call);
    r.vectors = vectors;
    firn_recurrence_run(&r, forward);
}

void firn_kernel_rnn(const firn_kernel_call *call) {
    firn_rnn(call, NULL);
}

/* Turns the gradients of some elements of y into those of the gates, and writes them. */
static void differentiate(const firn_kernel_call *call, float *dh, size_t first, size_t elements) {
    const firn_tensor *y = &call->inputs[FIRN_RNN_BACKWARD_IN_Y];
    const firn_tensor *dgates = &call->outputs[FIRN_RNN_BACKWARD_OUT_DGATES];
    const bool relu = call->integers[FIRN_RNN_BACKWARD_RELU] != 0;
    float outputs[FIRN_BLOCK];
    for (size_t at = 0; at < elements; at += FIRN_BLOCK) {
        const size_t count = firn_smaller(FIRN_BLOCK, elements - at);
        float *d = dh + at;
        firn_widen(outputs, y->data, y->type, first + at, count);
        for (size_t i = 0; i < count && relu; i++)
            d[i] = outputs[i] <= 0.0f ? 0.0f : d[i];
        for (size_t i = 0; i < count && !relu; i++)
            d[i] *= firn_fma(-outputs[i], outputs[i], 1.0f);
        firn_narrow(dgates->data, dgates->type, first + at, d, count);
    }
}

static void backward_task(const firn_recurrence *r, size_t task) {
    const firn_kernel_call *call = r->call;
    const firn_task_samples samples = firn_recurrence_begin(r, task);
    const firn_tensor *dy = firn_call_input(call, FIRN_RNN_BACKWARD_IN_DY);
    const firn_tensor *dgates = &call->outputs[FIRN_RNN_BACKWARD_OUT_DGATES];
    const firn_tensor *dh0 = &call->outputs[FIRN_RNN_BACKWARD_OUT_DH0];
    const size_t units = r->units, elements = samples.rows * units;
    float *dh = (float *)call->outputs[FIRN_RNN_BACKWARD_OUT_CARRIED].data + samples.first * units;
    firn_state_begin(dh, r, firn_call_input(call, FIRN_RNN_BACKWARD_IN_DLAST_H), &samples);
    for (size_t number = r->steps; number-- > 0;) {
        const size_t first = firn_row_at(r, firn_step_at(r, number), samples.first, units);
        if (dy != NULL)
            firn_add_widened(dh, dy, first, elements);
        differentiate(call, dh, first, elements);
        firn_step_multiply(r, &samples,
                           &(firn_step_product){.left = {dgates->data, dgates->type, first, units, 1},
                                                .count = units,
                                                .rows = samples.rows,
                                                .out = dh,
                                                .step = units});
    }
    firn_narrow(dh0->data, dh0->type, samples.first * units, dh, elements);
}

static void backward(void *argument, size_t begin, size_t end) {
    for (size_t task = begin; task < end; task++)
        backward_task(argument, task);
}

void firn_rnn_backward(const firn_kernel_call *call, const firn_step_vectors *vectors) {
    firn_recurrence r;
    firn_recurrence_of(&r, FIRN_OP_rnn_backward, call);
    r.vectors = vectors;
    firn_recurrence_run(&r, backward);
}

void firn_kernel_rnn_backward(const firn_kernel_call *call) {
    firn_rnn_backward(call, NULL);
}
