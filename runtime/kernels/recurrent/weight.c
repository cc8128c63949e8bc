/* The gradient of a recurrent weight: the sum over all steps but the first and samples, ascending in memory, of the
 * gradient of a product times the state that the step read; then the same over the first step, where there is an
 * initial state. Freestanding. */
#include <string.h>

#include "runtime/kernels/recurrent/recurrent.h"

enum { STEPS = 0, SAMPLES = 1 };

/* With activations (a gru with reset_after 0) the last of three gates has products of r h: the last of four parts. */
enum { PART = 3, ACTIVATIONS = 4 };

/* Some rows of the gradient. later: all steps but the first; first: the first. Either may have no terms. */
typedef struct rows_gradient {
    firn_product later, first;
    const firn_tensor *out;
    size_t element; /* where the rows begin in `out` */
    bool adds;      /* `out`, which is float32, has the sum of the later steps */
} rows_gradient;

/* Computes the sum of the later steps, or reads it. */
static void begin_tile(const rows_gradient *g, size_t number, size_t at, firn_tile *tile) {
    if (!g->adds) {
        firn_product_tile(&g->later, number, tile);
        return;
    }
    const float *out = g->out->data;
    for (size_t row = 0; row < tile->rows; row++)
        memcpy(tile->values[row], out + at + row * g->later.columns, tile->columns * sizeof *out);
}

static void compute_tiles(void *argument, size_t begin, size_t end) {
    const rows_gradient *g = argument;
    const size_t columns = g->later.columns;
    const bool both = (g->adds || g->later.terms > 0) && g->first.terms > 0;
    firn_tile tile, other;
    for (size_t number = begin; number < end; number++) {
        if (g->first.terms > 0)
            firn_product_tile(&g->first, number, &other);
        else
            firn_product_tile(&g->later, number, &other);
        size_t at = g->element + other.row * columns + other.column;
        if (both) {
            tile.rows = other.rows;
            tile.columns = other.columns;
            begin_tile(g, number, at, &tile);
        }
        for (size_t row = 0; row < other.rows; row++, at += columns) {
            for (size_t column = 0; column < other.columns && both; column++)
                other.values[row][column] = tile.values[row][column] + other.values[row][column];
            firn_narrow(g->out->data, g->out->type, at, other.values[row], other.columns);
        }
    }
}

static void write_zeros(const firn_tensor *out) {
    static const float zeros[FIRN_BLOCK];
    for (size_t block = 0; block < firn_blocks(out->elements); block++)
        firn_block_narrow(out, block, zeros, firn_block_elements(out->elements, block));
}

/* What a part of the rows multiplies at the later steps and at the first; the data are NULL where nothing is read. */
typedef struct states {
    firn_matrix later, first;
} states;

static void compute(const firn_kernel_call *call, size_t row, size_t rows, const states *states, bool adds) {
    const firn_tensor *dproducts = &call->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_DPRODUCTS];
    const bool reverse = call->integers[FIRN_RECURRENT_BACKWARD_WEIGHT_REVERSE] != 0;
    const size_t steps = dproducts->dims[STEPS], samples = dproducts->dims[SAMPLES];
    const size_t width = firn_last_extent(dproducts), slab = samples * width;
    rows_gradient g = {.out = &call->outputs[FIRN_RECURRENT_BACKWARD_WEIGHT_OUT_DWEIGHT], .adds = adds};
    const size_t units = firn_last_extent(g.out);
    g.element = row * units;
    g.later = (firn_product){.left = {dproducts->data, dproducts->type, (reverse ? 0 : slab) + row, 1, width},
                             .right = states->later,
                             .rows = rows,
                             .columns = units,
                             .terms = (steps - 1) * samples,
                             .present = FIRN_TERMS_ALL,
                             .reduction = call->reductions[FIRN_RECURRENT_BACKWARD_WEIGHT_REDUCTION_PRODUCTS]};
    g.first = g.later;
    g.first.left.first = (reverse ? (steps - 1) * slab : 0) + row;
    g.first.right = states->first;
    g.first.terms = states->first.data == NULL ? 0 : samples;
    const uint64_t cost = (uint64_t)FIRN_TILE_ROWS * FIRN_TILE_COLUMNS * (g.later.terms + g.first.terms);
    firn_parallel_run(&call->parallel, firn_product_tiles(&g.later), cost, compute_tiles, &g);
}

/* The rows whose products are those of h. */
static states states_of(const firn_kernel_call *call) {
    const firn_tensor *y = &call->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_Y];
    const firn_tensor *h0 = firn_call_input(call, FIRN_RECURRENT_BACKWARD_WEIGHT_IN_H0);
    const size_t units = firn_last_extent(y);
    const bool reverse = call->integers[FIRN_RECURRENT_BACKWARD_WEIGHT_REVERSE] != 0;
    return (states){{y->data, y->type, reverse ? y->dims[SAMPLES] * units : 0, units, 1},
                    {h0 == NULL ? NULL : h0->data, y->type, 0, units, 1}};
}

/* Those of n in a gru with reset_after 0: r h is a part of the activations of the step itself. */
static states parts_of(const firn_kernel_call *call, const firn_tensor *activations) {
    const size_t width = firn_last_extent(activations), part = PART * (width / ACTIVATIONS);
    const size_t slab = activations->dims[SAMPLES] * width, last = (activations->dims[STEPS] - 1) * slab;
    const bool reverse = call->integers[FIRN_RECURRENT_BACKWARD_WEIGHT_REVERSE] != 0;
    const bool has_first = firn_call_input(call, FIRN_RECURRENT_BACKWARD_WEIGHT_IN_H0) != NULL;
    return (states){{activations->data, FIRN_FLOAT32, (reverse ? 0 : slab) + part, width, 1},
                    {has_first ? activations->data : NULL, FIRN_FLOAT32, (reverse ? last : 0) + part, width, 1}};
}

void firn_kernel_recurrent_backward_weight(const firn_kernel_call *call) {
    const firn_tensor *y = &call->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_Y];
    const firn_tensor *activations = firn_call_input(call, FIRN_RECURRENT_BACKWARD_WEIGHT_IN_ACTIVATIONS);
    const firn_tensor *out = &call->outputs[FIRN_RECURRENT_BACKWARD_WEIGHT_OUT_DWEIGHT];
    const states of_h = states_of(call);
    const size_t units = firn_last_extent(y);
    if (y->dims[STEPS] == 1 && of_h.first.data == NULL) {
        write_zeros(out);
        return;
    }
    compute(call, 0, activations == NULL ? out->dims[0] : 2 * units, &of_h, false);
    if (activations == NULL)
        return;
    const states of_parts = parts_of(call, activations);
    compute(call, 2 * units, units, &of_parts, false);
}

void firn_recurrent_weight_add_first(const firn_kernel_call *call) {
    const states of_h = states_of(call);
    if (of_h.first.data != NULL)
        compute(call, 0, call->outputs[FIRN_RECURRENT_BACKWARD_WEIGHT_OUT_DWEIGHT].dims[0], &of_h, true);
}
