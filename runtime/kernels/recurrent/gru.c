/* The gated recurrent unit and its gradient: plan/NUMERICS.md, "Recurrent ops". Freestanding. */
#include <string.h>

#include "runtime/kernels/recurrent/recurrent.h"
#include "runtime/numerics/elementary.h"

enum { RESET, UPDATE, CANDIDATE, GATES }; /* the order of the gates, and their number */

/* The fourth of the activations: with reset_after the products of the candidate and their bias, else r h as the
 * products read it. */
enum { PART = GATES, ACTIVATIONS };

static float *activations_at(const firn_recurrence *r, const firn_tensor *activations, size_t step, size_t sample) {
    return (float *)activations->data + firn_row_at(r, step, sample, ACTIVATIONS * r->units);
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

/* A row of a step. */
typedef struct row {
    float *activations;
    const firn_tensor *gates, *bias, *y; /* bias may be NULL */
    firn_step_state before;
    size_t at; /* number of the row in the sequence */
} row;

/* Adds the bias to the sums of some gates. */
static void add_bias(const row *row, size_t first, size_t count) {
    if (row->bias != NULL)
        firn_add_widened(row->activations + first, row->bias, first, count);
}

/* Makes the sums of reset and update their activations. */
static void activate(const row *row, size_t units) {
    add_bias(row, 0, 2 * units);
    firn_add_widened(row->activations, row->gates, row->at * GATES * units, 2 * units);
    firn_sigmoid_many(row->activations, 2 * units);
}

_Static_assert((int)RESET == 0 && (int)UPDATE == 1, "one call computes both gates");

/* Makes the sums of the candidate its activation, with the factor r behind the product. */
static void reset_after(const row *row, size_t units) {
    float *reset = row->activations + RESET * units, *candidate = row->activations + CANDIDATE * units;
    float *part = row->activations + PART * units, gates[FIRN_BLOCK];
    add_bias(row, CANDIDATE * units, units);
    for (size_t at = 0; at < units; at += FIRN_BLOCK) {
        const size_t count = firn_smaller(FIRN_BLOCK, units - at);
        firn_widen(gates, row->gates->data, row->gates->type, (row->at * GATES + CANDIDATE) * units + at, count);
        for (size_t i = 0; i < count; i++) {
            const float p = firn_canonical(candidate[at + i]);
            part[at + i] = p;
            gates[i] = firn_tanh_inline(firn_fma(reset[at + i], p, gates[i]));
        }
        memcpy(candidate + at, gates, count * sizeof gates[0]);
    }
}

/* Computes what the products of the candidate read where the factor r is before them. */
static void reset_state(const row *row, size_t units, uint8_t type) {
    const float *reset = row->activations + RESET * units;
    float *part = row->activations + PART * units;
    firn_state_widen(part, &row->before, 0, units);
    if (row->before.data == NULL)
        return;
    for (size_t i = 0; i < units; i++)
        part[i] = firn_canonical(part[i] * reset[i]);
    firn_block_round(type, part, units);
}

/* Makes the sums of the candidate its activation where the factor r was before them. */
static void activate_candidate(const row *row, size_t units) {
    float *candidate = row->activations + CANDIDATE * units;
    add_bias(row, CANDIDATE * units, units);
    firn_add_widened(candidate, row->gates, (row->at * GATES + CANDIDATE) * units, units);
    firn_tanh_many(candidate, units);
}

static void update(const row *row, size_t units) {
    float h[FIRN_BLOCK];
    const float *factors = row->activations + UPDATE * units, *candidate = row->activations + CANDIDATE * units;
    for (size_t at = 0; at < units; at += FIRN_BLOCK) {
        const size_t count = firn_smaller(FIRN_BLOCK, units - at);
        firn_state_widen(h, &row->before, at, count);
        for (size_t i = 0; i < count; i++)
            h[i] = firn_fma(factors[at + i], h[i] - candidate[at + i], candidate[at + i]);
        firn_narrow(row->y->data, row->y->type, row->at * units + at, h, count);
    }
}

static void forward_task(const firn_recurrence *r, size_t task) {
    const firn_kernel_call *call = r->call;
    const firn_task_samples samples = firn_recurrence_begin(r, task);
    const firn_tensor *y = &call->outputs[FIRN_GRU_OUT_Y], *last_h = &call->outputs[FIRN_GRU_OUT_LAST_H];
    const firn_tensor *activations = &call->outputs[FIRN_GRU_OUT_ACTIVATIONS];
    const firn_tensor *h0 = firn_call_input(call, FIRN_GRU_IN_H0);
    const bool keep = call->integers[FIRN_GRU_KEEP] != 0, after = call->integers[FIRN_GRU_RESET_AFTER] != 0;
    const size_t units = r->units, width = ACTIVATIONS * units;
    row row = {.gates = &call->inputs[FIRN_GRU_IN_GATES], .bias = firn_call_input(call, FIRN_GRU_IN_BIAS), .y = y};
    size_t at = 0;
    for (size_t number = 0; number < r->steps; number++) {
        at = firn_step_at(r, number);
        float *sums = activations_at(r, activations, keep ? at : 0, samples.first);
        const firn_step_state state = firn_state_before(r, number, y, h0, samples.first);
        firn_step_product product = {.left = {state.data, state.type, state.first, units, 1},
                                     .count = (after ? 3 : 2) * units,
                                     .rows = samples.rows,
                                     .out = sums,
                                     .step = width};
        firn_step_multiply(r, &samples, &product);
        for (size_t i = 0; i < samples.rows; i++) {
            row.activations = sums + i * width;
            row.before = state;
            row.before.first += i * units;
            row.at = firn_row_at(r, at, samples.first + i, 1);
            activate(&row, units);
            if (after)
                reset_after(&row, units);
            else
                reset_state(&row, units, y->type);
        }
        if (!after) {
            product.left = (firn_matrix){state.data == NULL ? NULL : sums, FIRN_FLOAT32, PART * units, width, 1};
            product.first = CANDIDATE * units;
            product.count = units;
            product.out = sums + CANDIDATE * units;
            firn_step_multiply(r, &samples, &product);
        }
        for (size_t i = 0; i < samples.rows; i++) {
            row.activations = sums + i * width;
            row.before = state;
            row.before.first += i * units;
            row.at = firn_row_at(r, at, samples.first + i, 1);
            if (!after)
                activate_candidate(&row, units);
            update(&row, units);
        }
    }
    firn_copy(last_h, samples.first * units, y, firn_row_at(r, at, samples.first, units), samples.rows * units);
}

static void forward(void *argument, size_t begin, size_t end) {
    for (size_t task = begin; task < end; task++)
        forward_task(argument, task);
}

void firn_gru(const firn_kernel_call *call, const firn_step_vectors *vectors) {
    firn_recurrence r;
    firn_recurrence_of(&r, FIRN_OP_gru, call);
    r.vectors = vectors;
    firn_recurrence_run(&r, forward);
}

void firn_kernel_gru(const firn_kernel_call *call) {
    firn_gru(call, NULL);
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

/* A row of a step. dh is the gradient of its h, without dy; products is room for those of the step. */
typedef struct row_gradient {
    const float *activations;
    float *dh, *products;
    const firn_tensor *dy, *dgates, *dproducts; /* dy may be NULL */
    firn_step_state before;
    size_t at; /* number of the row in the sequence */
} row_gradient;

/* Writes the gradient of a gate, and of its product. */
static void write(const row_gradient *g, size_t gate, size_t at, size_t units, const float *dgate,
                  const float *dproduct, size_t count) {
    const size_t first = (g->at * GATES + gate) * units + at;
    firn_narrow(g->dgates->data, g->dgates->type, first, dgate, count);
    firn_narrow(g->dproducts->data, g->dproducts->type, first, dproduct, count);
}

/* Everything but the gradient of h. after: the factor r is behind the products; else the gradient of r is still to
 * come. */
static void differentiate(const row_gradient *g, size_t units, bool after) {
    float gradients[GATES][FIRN_BLOCK], products[FIRN_BLOCK], previous[FIRN_BLOCK];
    const float *reset = g->activations + RESET * units, *factors = g->activations + UPDATE * units;
    const float *candidate = g->activations + CANDIDATE * units, *part = g->activations + PART * units;
    for (size_t at = 0; at < units; at += FIRN_BLOCK) {
        const size_t count = firn_smaller(FIRN_BLOCK, units - at);
        float *dh = g->dh + at;
        if (g->dy != NULL)
            firn_add_widened(dh, g->dy, g->at * units + at, count);
        firn_state_widen(previous, &g->before, at, count);
        for (size_t i = 0; i < count; i++) {
            const float z = factors[at + i], n = candidate[at + i];
            const float d = dh[i] * (1.0f - z) * firn_fma(-n, n, 1.0f);
            gradients[UPDATE][i] = dh[i] * (previous[i] - n) * firn_fma(-z, z, z);
            gradients[CANDIDATE][i] = products[i] = d;
        }
        if (after)
            for (size_t i = 0; i < count; i++) {
                const float rate = reset[at + i], d = gradients[CANDIDATE][i];
                gradients[RESET][i] = d * part[at + i] * firn_fma(-rate, rate, rate);
                products[i] = d * rate;
            }
        write(g, UPDATE, at, units, gradients[UPDATE], gradients[UPDATE], count);
        write(g, CANDIDATE, at, units, gradients[CANDIDATE], products, count);
        if (after)
            write(g, RESET, at, units, gradients[RESET], gradients[RESET], count);
    }
}

/* The gradient of r where the factor r is before the products, of which g->products is the gradient of r h. dh becomes
 * that of h, without the products of r and z. */
static void differentiate_reset(const row_gradient *g, size_t units) {
    float gradients[FIRN_BLOCK], previous[FIRN_BLOCK];
    const float *reset = g->activations + RESET * units, *factors = g->activations + UPDATE * units;
    for (size_t at = 0; at < units; at += FIRN_BLOCK) {
        const size_t count = firn_smaller(FIRN_BLOCK, units - at);
        float *dh = g->dh + at;
        const float *products = g->products + at;
        firn_state_widen(previous, &g->before, at, count);
        for (size_t i = 0; i < count; i++) {
            const float rate = reset[at + i];
            gradients[i] = products[i] * previous[i] * firn_fma(-rate, rate, rate);
            dh[i] = firn_fma(products[i], rate, dh[i] * factors[at + i]);
        }
        write(g, RESET, at, units, gradients, gradients, count);
    }
}

/* Computes the gradient of h of the step before. */
static void carry(const row_gradient *g, size_t units, bool after) {
    const float *factors = g->activations + UPDATE * units;
    float *dh = g->dh, *products = g->products;
    for (size_t i = 0; i < units && after; i++)
        dh[i] = firn_fma(dh[i], factors[i], products[i]);
    for (size_t i = 0; i < units && !after; i++)
        dh[i] += products[i];
}

/* Sets a row of samples at a step. */
static void set_row(row_gradient *g, const firn_recurrence *r, const firn_task_samples *samples, size_t number,
                    size_t row) {
    const firn_kernel_call *call = r->call;
    const size_t at = firn_step_at(r, number), sample = samples->first + row;
    float *carried = call->outputs[FIRN_GRU_BACKWARD_OUT_CARRIED].data;
    *g = (row_gradient){.activations = activations_at(r, &call->inputs[FIRN_GRU_BACKWARD_IN_ACTIVATIONS], at, sample),
                        .dh = carried + sample * r->units,
                        .products = carried + (r->samples + sample) * r->units,
                        .dy = firn_call_input(call, FIRN_GRU_BACKWARD_IN_DY),
                        .dgates = &call->outputs[FIRN_GRU_BACKWARD_OUT_DGATES],
                        .dproducts = &call->outputs[FIRN_GRU_BACKWARD_OUT_DPRODUCTS],
                        .before = firn_state_before(r, number, &call->inputs[FIRN_GRU_BACKWARD_IN_Y],
                                                    firn_call_input(call, FIRN_GRU_BACKWARD_IN_H0), sample),
                        .at = firn_row_at(r, at, sample, 1)};
}

static void backward_task(const firn_recurrence *r, size_t task) {
    const firn_kernel_call *call = r->call;
    const firn_task_samples samples = firn_recurrence_begin(r, task);
    const firn_tensor *dproducts = &call->outputs[FIRN_GRU_BACKWARD_OUT_DPRODUCTS];
    const bool after = call->integers[FIRN_GRU_BACKWARD_RESET_AFTER] != 0;
    const size_t units = r->units, width = GATES * units;
    row_gradient g;
    set_row(&g, r, &samples, 0, 0);
    float *dh = g.dh, *products = g.products;
    firn_state_begin(dh, r, firn_call_input(call, FIRN_GRU_BACKWARD_IN_DLAST_H), &samples);
    for (size_t number = r->steps; number-- > 0;) {
        const size_t first = firn_row_at(r, firn_step_at(r, number), samples.first, width);
        firn_step_product product = {.left = {dproducts->data, dproducts->type, first, width, 1},
                                     .count = width,
                                     .rows = samples.rows,
                                     .out = products,
                                     .step = units};
        for (size_t row = 0; row < samples.rows; row++) {
            set_row(&g, r, &samples, number, row);
            differentiate(&g, units, after);
        }
        if (!after) {
            product.first = CANDIDATE * units;
            product.count = units;
            product.left.first = first + CANDIDATE * units;
            firn_step_multiply(r, &samples, &product);
            for (size_t row = 0; row < samples.rows; row++) {
                set_row(&g, r, &samples, number, row);
                differentiate_reset(&g, units);
            }
            product.first = 0;
            product.count = 2 * units;
            product.left.first = first;
        }
        firn_step_multiply(r, &samples, &product);
        for (size_t row = 0; row < samples.rows; row++) {
            set_row(&g, r, &samples, number, row);
            carry(&g, units, after);
        }
    }
    const firn_tensor *dh0 = &call->outputs[FIRN_GRU_BACKWARD_OUT_DH0];
    firn_narrow(dh0->data, dh0->type, samples.first * units, dh, samples.rows * units);
}

static void backward(void *argument, size_t begin, size_t end) {
    for (size_t task = begin; task < end; task++)
        backward_task(argument, task);
}

void firn_gru_backward(const firn_kernel_call *call, const firn_step_vectors *vectors) {
    firn_recurrence r;
    firn_recurrence_of(&r, FIRN_OP_gru_backward, call);
    r.vectors = vectors;
    firn_recurrence_run(&r, backward);
}

void firn_kernel_gru_backward(const firn_kernel_call *call) {
    firn_gru_backward(call, NULL);
}
