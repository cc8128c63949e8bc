/* The gradient of a recurrent weight: the sum over all steps but the first and samples, ascending in memory, of the
 * gradient of a product times the state that the step read; then the same over the first step, where there is an
 * initial state. Freestanding. */
#include <string.h>

#include "runtime/kernels/recurrent/recurrent.h"

enum { STEPS = 0, SAMPLES = 1 };

/* With activations (a gru with reset_after 0) the last of three gates has products of r h: the last of four parts. */
enum { PART = 3, ACTIVATIONS = 4 };

/* Some rows of the gradient. later: all steps but the first; begin: the first. Either may have no terms. */
typedef struct rows_gradient {
    firn_product later, begin;
    const firn_tensor *out;
    size_t first; /* element of `out` */
} rows_gradient;

static void compute_tiles(void *argument, size_t begin, size_t end) {
    const rows_gradient *g = argument;
    const size_t columns = g->later.columns;
    firn_tile tile, other;
    for (size_t number = begin; number < end; number++) {
        const bool both = g->later.terms > 0 && g->begin.terms > 0;
        firn_product_tile(g->later.terms > 0 ? &g->later : &g->begin, number, &tile);
        if (both)
            firn_product_tile(&g->begin, number, &other);
        size_t at = g->first + tile.row * columns + tile.column;
        for (size_t row = 0; row < tile.rows; row++, at += columns) {
            for (size_t column = 0; column < tile.columns && both; column++)
                tile.values[row][column] += other.values[row][column];
            firn_narrow(g->out->data, g->out->type, at, tile.values[row], tile.columns);
        }
    }
}

static void write_zeros(const firn_tensor *out) {
    static const float zeros[FIRN_BLOCK];
    for (size_t block = 0; block < firn_blocks(out->elements); block++)
        firn_block_narrow(out, block, zeros, firn_block_elements(out->elements, block));
}

/* Computes `rows` rows from `row` on. right: what the later steps and the first one multiply; of a step in which
 * nothing is read the data are NULL. */
static void compute(const firn_kernel_call *call, size_t row, size_t rows, firn_matrix later, firn_matrix begin) {
    const firn_tensor *dproducts = &call->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_DPRODUCTS];
    const bool reverse = call->integers[FIRN_RECURRENT_BACKWARD_WEIGHT_REVERSE] != 0;
    const size_t steps = dproducts->dims[STEPS], samples = dproducts->dims[SAMPLES];
    const size_t width = firn_last_extent(dproducts), slab = samples * width;
    rows_gradient g = {.out = &call->outputs[FIRN_RECURRENT_BACKWARD_WEIGHT_OUT_DWEIGHT]};
    const size_t units = firn_last_extent(g.out);
    g.first = row * units;
    g.later = (firn_product){.left = {dproducts->data, dproducts->type, (reverse ? 0 : slab) + row, 1, width},
                             .right = later,
                             .rows = rows,
                             .columns = units,
                             .terms = (steps - 1) * samples,
                             .present = FIRN_TERMS_ALL,
                             .reduction = call->reductions[FIRN_RECURRENT_BACKWARD_WEIGHT_REDUCTION_PRODUCTS]};
    g.begin = g.later;
    g.begin.left.first = (reverse ? (steps - 1) * slab : 0) + row;
    g.begin.right = begin;
    g.begin.terms = begin.data == NULL ? 0 : samples;
    const uint64_t cost = (uint64_t)FIRN_TILE_ROWS * FIRN_TILE_COLUMNS * (g.later.terms + g.begin.terms);
    firn_parallel_run(&call->parallel, firn_product_tiles(&g.later), cost, compute_tiles, &g);
}

void firn_kernel_recurrent_backward_weight(const firn_kernel_call *call) {
    const firn_tensor *y = &call->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_Y];
    const firn_tensor *h0 = firn_call_input(call, FIRN_RECURRENT_BACKWARD_WEIGHT_IN_H0);
    const firn_tensor *activations = firn_call_input(call, FIRN_RECURRENT_BACKWARD_WEIGHT_IN_ACTIVATIONS);
    const firn_tensor *out = &call->outputs[FIRN_RECURRENT_BACKWARD_WEIGHT_OUT_DWEIGHT];
    const bool reverse = call->integers[FIRN_RECURRENT_BACKWARD_WEIGHT_REVERSE] != 0;
    const size_t units = firn_last_extent(y), steps = y->dims[STEPS], slab = y->dims[SAMPLES] * units;
    if (steps == 1 && h0 == NULL) {
        write_zeros(out);
        return;
    }
    const firn_matrix later = {y->data, y->type, reverse ? slab : 0, units, 1};
    const firn_matrix begin = {h0 == NULL ? NULL : h0->data, y->type, 0, units, 1};
    compute(call, 0, activations == NULL ? out->dims[0] : 2 * units, later, begin);
    if (activations == NULL)
        return;
    const size_t part = PART * units, width = ACTIVATIONS * units, whole = ACTIVATIONS * slab;
    const firn_matrix later_parts = {activations->data, FIRN_FLOAT32, (reverse ? 0 : whole) + part, width, 1};
    const firn_matrix begin_parts = {h0 == NULL ? NULL : activations->data, FIRN_FLOAT32,
                                     (reverse ? (steps - 1) * whole : 0) + part, width, 1};
    compute(call, 2 * units, units, later_parts, begin_parts);
}
