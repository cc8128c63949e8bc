/* What the recurrent ops share: the order of the steps, the division among threads, and the products of a step. The
 * samples of a batch are independent, so a thread takes some of them through all steps. Freestanding. */
#ifndef FIRN_KERNELS_RECURRENT_H
#define FIRN_KERNELS_RECURRENT_H

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/product.h"

typedef struct firn_recurrence firn_recurrence;
typedef struct firn_step_product firn_step_product;

/* The products of a kernel set with vectors, which have the same bits. A task, whose number is that of its slot in the
 * workspace, prepares the slot before its first product. */
typedef struct firn_step_vectors {
    void (*prepare)(const firn_recurrence *r, size_t task);
    void (*multiply)(const firn_recurrence *r, const firn_step_product *p, size_t task);
} firn_step_vectors;

/* One call. A task has `together` samples. */
struct firn_recurrence {
    const firn_kernel_call *call;
    const firn_step_vectors *vectors; /* NULL: the products of product.h */
    const firn_tensor *weight;        /* [gates * units,units] */
    size_t steps, samples, units, together;
    bool reverse, backward;
};

/* The samples of a task; a row is a sample counted from `first`. */
typedef struct firn_task_samples {
    size_t task, first, rows;
} firn_task_samples;

/* Begins a task. */
firn_task_samples firn_recurrence_begin(const firn_recurrence *r, size_t task);

/* Describes a call of an op. */
void firn_recurrence_of(firn_recurrence *r, uint16_t op, const firn_kernel_call *call);

/* Runs body over tasks of some samples each, with the recurrence as its argument. */
void firn_recurrence_run(const firn_recurrence *r, firn_task_body body);

/* Returns where the step with this number, in the order of computation, lies. */
static inline size_t firn_step_at(const firn_recurrence *r, size_t number) {
    return r->reverse ? r->steps - 1 - number : number;
}

/* Returns the first element of a row of a sequence [T,B,width]. */
static inline size_t firn_row_at(const firn_recurrence *r, size_t step, size_t sample, size_t width) {
    return (step * r->samples + sample) * width;
}

/* Returns the state that a step reads: the row of y at the step before, or of `initial` for the first step. NULL data:
 * zeros. element: the first one of the first sample. */
typedef struct firn_step_state {
    const void *data;
    uint8_t type;
    size_t first;
} firn_step_state;
firn_step_state firn_state_before(const firn_recurrence *r, size_t number, const firn_tensor *y,
                                  const firn_tensor *initial, size_t sample);

/* Widens a part of a row of a state, or gives zeros. */
void firn_state_widen(float *out, const firn_step_state *state, size_t from, size_t count);

/* Widens an operand [B,H] to floats, those of some samples, or gives zeros where the op does not have it. */
void firn_state_begin(float *out, const firn_recurrence *r, const firn_tensor *given, const firn_task_samples *samples);

/* The products of a step with a part of the weight: `count` rows of it from row `first` on, both multiples of the
 * units. Results lie `step` floats apart. */
struct firn_step_product {
    firn_matrix left;
    size_t first, count, rows;
    float *out;
    size_t step;
};

/* Computes them: out[row][j] = the sum over k of left[row][k] weight[first + j][k]; without a left factor +0. Backward:
 * out[row][k] = the sum over j of left[row][j] weight[first + j][k]. samples: those of the task. */
void firn_step_multiply(const firn_recurrence *r, const firn_task_samples *samples, const firn_step_product *p);

/* out[i] += x[i], of which x is widened from element `from` on. */
void firn_add_widened(float *out, const firn_tensor *x, size_t from, size_t count);

/* Replaces `count` numbers by their sigmoid or tanh. */
void firn_sigmoid_many(float *x, size_t count);
void firn_tanh_many(float *x, size_t count);

/* The kernels, with the products of a kernel set or NULL. */
void firn_lstm(const firn_kernel_call *call, const firn_step_vectors *vectors);
void firn_lstm_backward(const firn_kernel_call *call, const firn_step_vectors *vectors);
void firn_gru(const firn_kernel_call *call, const firn_step_vectors *vectors);
void firn_gru_backward(const firn_kernel_call *call, const firn_step_vectors *vectors);
void firn_rnn(const firn_kernel_call *call, const firn_step_vectors *vectors);
void firn_rnn_backward(const firn_kernel_call *call, const firn_step_vectors *vectors);

/* Adds the first step's part of a recurrent weight's gradient to that of the other steps, which the output, float32,
 * has. For a kernel set with vectors, where no row has products of activations. */
void firn_recurrent_weight_add_first(const firn_kernel_call *call);

#endif
