/* What the recurrent ops share: the order of the steps, the division among threads, and the products of a step. The
 * samples of a batch are independent, so a thread takes some of them through all steps. Freestanding. */
#ifndef FIRN_KERNELS_RECURRENT_H
#define FIRN_KERNELS_RECURRENT_H

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/product.h"

/* One call. A task has `together` samples. */
typedef struct firn_recurrence {
    const firn_kernel_call *call;
    const firn_tensor *weight; /* [gates * units,units] */
    size_t steps, samples, units, gates, together;
    bool reverse;
} firn_recurrence;

/* The samples of a task; a row is a sample counted from `first`. */
typedef struct firn_samples {
    size_t first, rows;
} firn_samples;

static inline firn_samples firn_samples_of(const firn_recurrence *r, size_t begin, size_t end) {
    const size_t first = begin * r->together;
    return (firn_samples){first, firn_smaller(end * r->together, r->samples) - first};
}

/* Runs body over tasks of some samples each, with the recurrence as its argument. sequence: an operand [T,B,...]. */
void firn_recurrence_run(firn_recurrence *r, const firn_kernel_call *call, const firn_tensor *sequence,
                         const firn_tensor *weight, bool reverse, firn_task_body body);

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
typedef struct firn_state {
    const void *data;
    uint8_t type;
    size_t first;
} firn_state;
firn_state firn_state_before(const firn_recurrence *r, size_t number, const firn_tensor *y, const firn_tensor *initial,
                             size_t sample);

/* Widens a part of a row of a state, or gives zeros. */
void firn_state_widen(float *out, const firn_state *state, size_t from, size_t count);

/* Widens an operand [B,H] to floats, those of some samples, or gives zeros where the op does not have it. */
void firn_state_begin(float *out, const firn_recurrence *r, const firn_tensor *given, const firn_samples *samples);

/* The products of a step with a part of the weight: `count` rows of it from row `first` on. Results lie `step` floats
 * apart. */
typedef struct firn_step_product {
    firn_matrix left;
    size_t first, count, rows;
    float *out;
    size_t step;
} firn_step_product;

/* out[row][j] = the sum over k of left[row][k] weight[first + j][k]. Without a left factor the sums are +0. */
void firn_step_forward(const firn_recurrence *r, const firn_step_product *p);

/* out[row][k] = the sum over j of left[row][j] weight[first + j][k]. */
void firn_step_backward(const firn_recurrence *r, const firn_step_product *p);

/* out[i] += x[i], of which x is widened from element `from` on. */
void firn_add_widened(float *out, const firn_tensor *x, size_t from, size_t count);

/* Replaces `count` numbers by their sigmoid or tanh. */
void firn_sigmoid_many(float *x, size_t count);
void firn_tanh_many(float *x, size_t count);

#endif
