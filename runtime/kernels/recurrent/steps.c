/* Steps and products of recurrent ops (recurrent.h). The reduction of the op's products decides how a sum is computed,
 * as in a linear layer. Freestanding. */
#include <string.h>

#include "runtime/kernels/quads.h"
#include "runtime/kernels/recurrent/recurrent.h"
#include "runtime/numerics/elementary.h"

enum { STEPS = 0, SAMPLES = 1 };

/* Four rows of a product are computed together, so a task has a multiple of four samples. */
enum { ROWS_TOGETHER = 4 };

/* The cost of a sample through all steps. */
static uint64_t cost_of_sample(const firn_recurrence *r) {
    return (uint64_t)r->steps * r->weight->elements;
}

/* The operands of an op that decide how a call runs: a sequence [T,B,...], the weight, and the attribute. */
static void describe(firn_recurrence *r, const firn_kernel_call *call, size_t sequence, size_t weight, size_t reverse,
                     bool backward) {
    r->call = call;
    r->vectors = NULL;
    r->weight = &call->inputs[weight];
    r->steps = call->inputs[sequence].dims[STEPS];
    r->samples = call->inputs[sequence].dims[SAMPLES];
    r->units = firn_last_extent(r->weight);
    r->reverse = call->integers[reverse] != 0;
    r->backward = backward;
    const size_t share =
        firn_ceiling(r->samples, firn_parallel_threads(&call->parallel, r->samples * cost_of_sample(r)));
    r->together = firn_ceiling(share, ROWS_TOGETHER) * ROWS_TOGETHER;
}

void firn_recurrence_of(firn_recurrence *r, uint16_t op, const firn_kernel_call *call) {
    switch (op) {
    case FIRN_OP_lstm:
        describe(r, call, FIRN_LSTM_IN_GATES, FIRN_LSTM_IN_WEIGHT, FIRN_LSTM_REVERSE, false);
        break;
    case FIRN_OP_lstm_backward:
        describe(r, call, FIRN_LSTM_BACKWARD_IN_ACTIVATIONS, FIRN_LSTM_BACKWARD_IN_WEIGHT, FIRN_LSTM_BACKWARD_REVERSE,
                 true);
        break;
    case FIRN_OP_gru:
        describe(r, call, FIRN_GRU_IN_GATES, FIRN_GRU_IN_WEIGHT, FIRN_GRU_REVERSE, false);
        break;
    case FIRN_OP_gru_backward:
        describe(r, call, FIRN_GRU_BACKWARD_IN_ACTIVATIONS, FIRN_GRU_BACKWARD_IN_WEIGHT, FIRN_GRU_BACKWARD_REVERSE,
                 true);
        break;
    case FIRN_OP_rnn:
        describe(r, call, FIRN_RNN_IN_GATES, FIRN_RNN_IN_WEIGHT, FIRN_RNN_REVERSE, false);
        break;
    case FIRN_OP_rnn_backward:
        describe(r, call, FIRN_RNN_BACKWARD_IN_Y, FIRN_RNN_BACKWARD_IN_WEIGHT, FIRN_RNN_BACKWARD_REVERSE, true);
        break;
    default:
        __builtin_trap();
    }
}

void firn_recurrence_run(const firn_recurrence *r, firn_task_body body) {
    firn_parallel_run(&r->call->parallel, firn_ceiling(r->samples, r->together), r->together * cost_of_sample(r), body,
                      (void *)r);
}

firn_task_samples firn_recurrence_begin(const firn_recurrence *r, size_t task) {
    const size_t first = task * r->together;
    if (FIRN_VECTORS != 0 && r->vectors != NULL)
        r->vectors->prepare(r, task);
    return (firn_task_samples){task, first, firn_smaller(r->together, r->samples - first)};
}

firn_step_state firn_state_before(const firn_recurrence *r, size_t number, const firn_tensor *y,
                                  const firn_tensor *initial, size_t sample) {
    if (number > 0)
        return (firn_step_state){y->data, y->type, firn_row_at(r, firn_step_at(r, number - 1), sample, r->units)};
    if (initial == NULL)
        return (firn_step_state){NULL, FIRN_FLOAT32, 0};
    return (firn_step_state){initial->data, initial->type, sample * r->units};
}

void firn_state_widen(float *out, const firn_step_state *state, size_t from, size_t count) {
    if (state->data == NULL)
        memset(out, 0, count * sizeof *out);
    else
        firn_widen(out, state->data, state->type, state->first + from, count);
}

void firn_state_begin(float *out, const firn_recurrence *r, const firn_tensor *given,
                      const firn_task_samples *samples) {
    const size_t count = samples->rows * r->units;
    if (given == NULL)
        memset(out, 0, count * sizeof *out);
    else
        firn_widen(out, given->data, given->type, samples->first * r->units, count);
}

/* --- products ----------------------------------------------------------------------------------------------------- */

static void in_rows(const firn_product *product, float *out, size_t step) {
    const firn_matrix *left = &product->left, *right = &product->right;
    for (size_t row = 0; row < product->rows; row += 4) {
        const firn_quads quads = {
            {(const float *)left->data + left->first + row * left->row_step, left->row_step, left->column_step},
            {(const float *)right->data + right->first, right->column_step, right->row_step},
            product->terms};
        (void)firn_quads_add(&quads, firn_smaller(4, product->rows - row), product->columns, out + row * step, step,
                             true);
    }
}

static __attribute__((noinline)) void in_tiles(const firn_product *product, float *out, size_t step) {
    firn_tile tile;
    for (size_t number = 0; number < firn_product_tiles(product); number++) {
        firn_product_tile(product, number, &tile);
        for (size_t row = 0; row < tile.rows; row++)
            memcpy(out + (tile.row + row) * step + tile.column, tile.values[row], tile.columns * sizeof *out);
    }
}

_Static_assert(FIRN_LSTM_REDUCTION_PRODUCTS == 0 && FIRN_LSTM_BACKWARD_REDUCTION_PRODUCTS == 0 &&
                   FIRN_GRU_REDUCTION_PRODUCTS == 0 && FIRN_GRU_BACKWARD_REDUCTION_PRODUCTS == 0 &&
                   FIRN_RNN_REDUCTION_PRODUCTS == 0 && FIRN_RNN_BACKWARD_REDUCTION_PRODUCTS == 0,
               "recurrent ops have one reduction");

void firn_step_multiply(const firn_recurrence *r, const firn_task_samples *samples, const firn_step_product *p) {
    if (p->left.data == NULL) {
        for (size_t row = 0; row < p->rows; row++)
            memset(p->out + row * p->step, 0, p->count * sizeof *p->out);
        return;
    }
    if (FIRN_VECTORS != 0 && r->vectors != NULL) {
        r->vectors->multiply(r, p, samples->task);
        return;
    }
    const firn_matrix weight = {r->weight->data, r->weight->type, p->first * r->units, r->units, 1};
    const firn_product product = {.left = p->left,
                                  .right = r->backward ? weight : firn_transposed(weight),
                                  .rows = p->rows,
                                  .columns = r->backward ? r->units : p->count,
                                  .terms = r->backward ? p->count : r->units,
                                  .present = FIRN_TERMS_ALL,
                                  .reduction = r->call->reductions[0]};
    if (firn_product_is_direct(&product))
        in_rows(&product, p->out, p->step);
    else
        in_tiles(&product, p->out, p->step);
}

/* --- short arrays ------------------------------------------------------------------------------------------------- */

void firn_add_widened(float *out, const firn_tensor *x, size_t from, size_t count) {
    float values[FIRN_BLOCK];
    for (size_t at = 0; at < count; at += FIRN_BLOCK) {
        const size_t run = firn_smaller(FIRN_BLOCK, count - at);
        firn_widen(values, x->data, x->type, from + at, run);
        for (size_t i = 0; i < run; i++)
            out[at + i] += values[i];
    }
}

void firn_sigmoid_many(float *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        x[i] = firn_sigmoid_inline(x[i]);
}

void firn_tanh_many(float *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        x[i] = firn_tanh_inline(x[i]);
}
