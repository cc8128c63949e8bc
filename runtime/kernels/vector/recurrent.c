/* Recurrent ops in vectors; see recurrent.h. A thread packs the weight once, into its slot, for all steps; each step
 * then multiplies the rows of its samples by the panels, one register tile at a time. All left factors of flushed sums
 * are values of bfloat16 already, which is what a tile of these expects. The mode of engine/flush.h is set once for the
 * products of a step, because setting it waits for all arithmetic before. */
#include "runtime/kernels/vector/recurrent.h"

#include <string.h>

#include "runtime/kernels/recurrent/recurrent.h"
#include "runtime/kernels/vector/engine/flush.h"
#include "runtime/kernels/vector/engine/tile.h"
#include "runtime/kernels/vector/pack.h"
#include "runtime/kernels/vector/product.h"
#include "runtime/kernels/vector/tile.h"

enum {
    HEIGHT = FIRN_REGISTER_ROWS,
    WIDTH = FIRN_REGISTER_COLUMNS,
    LINE = 16,                /* floats of a cache line */
    LEFT_GAP = 16,            /* floats between widened rows, so that they do not share cache lines */
    PANELS = 4 * 1024 * 1024, /* floats of a packed weight, at most; a larger one is not packed */
    ROWS_TOGETHER = 126       /* rows of a gradient that are computed at a time: whole tiles */
};

/* A slot: panels [group][panel][term][WIDTH, or FIRN_VECTOR], then rows [row][term]. Forward, a group is a gate, whose
 * units are the columns; backward there is one group, whose terms are the rows of the weight. */
typedef struct layout {
    size_t terms, groups, group; /* terms of a panel; groups; floats of a group */
    size_t rows, end;            /* offsets */
} layout;

static size_t round_up(size_t x, size_t unit) {
    return (x + unit - 1) / unit * unit;
}

static layout layout_of(const firn_recurrence *r) {
    layout l;
    l.terms = r->backward ? r->weight->dims[0] : r->units;
    l.groups = r->backward ? 1 : r->weight->dims[0] / r->units;
    l.group = round_up(round_up(r->units, FIRN_VECTOR) * l.terms, LINE);
    l.rows = l.groups * l.group;
    l.end = l.rows + (r->weight->type == FIRN_FLOAT32 ? 0 : r->together * (l.terms + LEFT_GAP));
    return l;
}

static bool is_packed(const firn_recurrence *r) {
    return layout_of(r).rows <= PANELS;
}

static float *slot_of(const firn_recurrence *r, size_t task) {
    return (float *)(void *)((uint8_t *)r->call->workspace + task * r->call->slot_bytes);
}

static size_t panel_vectors(size_t columns) {
    return columns > FIRN_VECTOR ? 2 : 1;
}

static void prepare(const firn_recurrence *r, size_t task) {
    const layout l = layout_of(r);
    const firn_matrix weight = {r->weight->data, r->weight->type, 0, r->units, 1};
    const firn_matrix right = r->backward ? weight : firn_transposed(weight);
    if (l.end * sizeof(float) > r->call->slot_bytes)
        __builtin_trap();
    for (size_t group = 0; group < l.groups; group++)
        for (size_t column = 0; column < r->units; column += WIDTH) {
            const size_t columns = firn_smaller(WIDTH, r->units - column);
            firn_vector_pack(slot_of(r, task) + group * l.group + column * l.terms, panel_vectors(columns), &right, 0,
                             l.terms, group * r->units + column, columns);
        }
}

/* Multiplies a tile within the mode of flush.h. A part of a register of columns waits in a whole one. */
static void multiply_flushed(uint8_t kind, const firn_register_tile *tile) {
    _Alignas(64) float sums[HEIGHT][WIDTH];
    if (tile->columns % FIRN_VECTOR == 0) {
        firn_engine_tile_add(kind, tile);
        return;
    }
    firn_register_tile whole = *tile;
    whole.sums = sums[0];
    whole.sums_step = WIDTH;
    firn_engine_tile_add(kind, &whole);
    for (size_t row = 0; row < tile->rows; row++)
        memcpy(tile->sums + row * tile->sums_step, sums[row], tile->columns * sizeof(float));
}

/* Multiplies all rows by one panel. kind: of the reduction. */
static void multiply_panel(uint8_t kind, firn_register_tile tile, size_t rows) {
    const size_t height = firn_ceiling(rows, firn_ceiling(rows, HEIGHT));
    for (size_t row = 0; row < rows; row += height) {
        tile.rows = firn_smaller(height, rows - row);
        if (kind == FIRN_REDUCTION_F32)
            firn_register_tile_multiply(&tile);
        else
            multiply_flushed(kind, &tile);
        tile.left += height * tile.left_row_step;
        tile.sums += height * tile.sums_step;
    }
}

static void multiply(const firn_recurrence *r, const firn_step_product *p, size_t task) {
    const layout l = layout_of(r);
    float *slot = slot_of(r, task), *rows = slot + l.rows;
    const size_t terms = r->backward ? p->count : r->units;
    firn_register_tile tile = {.runs = 1,
                               .left = (const float *)p->left.data + p->left.first,
                               .left_row_step = p->left.row_step,
                               .left_term_step = 1,
                               .terms = terms,
                               .begins = true,
                               .sums_step = p->step};
    if (p->left.type != FIRN_FLOAT32) {
        tile.left = rows;
        tile.left_row_step = terms + LEFT_GAP;
        firn_vector_widen_rows(rows, tile.left_row_step, &p->left, 0, p->rows, 0, terms);
    }
    const uint8_t kind = r->call->reductions[0].kind;
    const unsigned mode = kind == FIRN_REDUCTION_F32 ? 0 : firn_flush_begin();
    const size_t first = r->backward ? 0 : p->first / r->units, groups = r->backward ? 1 : p->count / r->units;
    for (size_t group = 0; group < groups; group++)
        for (size_t column = 0; column < r->units; column += WIDTH) {
            tile.columns = firn_smaller(WIDTH, r->units - column);
            tile.right_step = panel_vectors(tile.columns) * FIRN_VECTOR;
            tile.right = slot + (first + group) * l.group + column * l.terms;
            if (r->backward)
                tile.right += p->first * tile.right_step;
            tile.sums = p->out + group * r->units + column;
            multiply_panel(kind, tile, p->rows);
        }
    if (kind != FIRN_REDUCTION_F32)
        firn_flush_end(mode);
}

uint64_t firn_vector_recurrent_scratch(uint16_t op, const firn_kernel_call *call) {
    firn_recurrence r;
    firn_recurrence_of(&r, op, call);
    return is_packed(&r) ? layout_of(&r).end * sizeof(float) : 0;
}

static const firn_step_vectors *vectors_for(uint16_t op, const firn_kernel_call *call) {
    static const firn_step_vectors vectors = {prepare, multiply};
    firn_recurrence r;
    firn_recurrence_of(&r, op, call);
    return is_packed(&r) ? &vectors : NULL;
}

void firn_vector_lstm(const firn_kernel_call *call) {
    firn_lstm(call, vectors_for(FIRN_OP_lstm, call));
}

void firn_vector_lstm_backward(const firn_kernel_call *call) {
    firn_lstm_backward(call, vectors_for(FIRN_OP_lstm_backward, call));
}

void firn_vector_gru(const firn_kernel_call *call) {
    firn_gru(call, vectors_for(FIRN_OP_gru, call));
}

void firn_vector_gru_backward(const firn_kernel_call *call) {
    firn_gru_backward(call, vectors_for(FIRN_OP_gru_backward, call));
}

void firn_vector_rnn(const firn_kernel_call *call) {
    firn_rnn(call, vectors_for(FIRN_OP_rnn, call));
}

void firn_vector_rnn_backward(const firn_kernel_call *call) {
    firn_rnn_backward(call, vectors_for(FIRN_OP_rnn_backward, call));
}

/* --- the gradient of the weight ----------------------------------------------------------------------------------- */

/* Some steps as the rows of a linear layer. */
typedef struct layer {
    firn_kernel_call call;
    firn_tensor inputs[2], out;
    uint32_t dy[2], x[2], some[2];
    int64_t integers[3];
} layer;

static size_t element_bytes(uint8_t type) {
    return type == FIRN_FLOAT32 ? sizeof(float) : sizeof(uint16_t);
}

/* The rows of `steps` steps from a step on. A state of one step alone has two dimensions. */
static firn_tensor rows_of(const firn_tensor *sequence, size_t step, size_t steps, uint32_t dims[2]) {
    const uint32_t samples = sequence->dims[sequence->rank - 2], width = sequence->dims[sequence->rank - 1];
    dims[0] = (uint32_t)steps * samples;
    dims[1] = width;
    return (firn_tensor){.data = (uint8_t *)sequence->data + step * samples * width * element_bytes(sequence->type),
                         .elements = (size_t)dims[0] * width,
                         .dims = dims,
                         .type = sequence->type,
                         .rank = 2};
}

static void begin_layer(layer *l, const firn_kernel_call *call) {
    l->call = *call;
    l->integers[FIRN_LINEAR_BACKWARD_WEIGHT_LAYOUT] = 0;
    l->call.inputs = l->inputs;
    l->call.input_count = 2;
    l->call.integers = l->integers;
}

/* All steps but the first. */
static void set_later(layer *l, const firn_kernel_call *call) {
    const bool reverse = call->integers[FIRN_RECURRENT_BACKWARD_WEIGHT_REVERSE] != 0;
    const firn_tensor *y = &call->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_Y];
    begin_layer(l, call);
    l->inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_DY] =
        rows_of(&call->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_DPRODUCTS], reverse ? 0 : 1, y->dims[0] - 1, l->dy);
    l->inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_X] = rows_of(y, reverse ? 1 : 0, y->dims[0] - 1, l->x);
}

/* The first step, which reads h0. */
static void set_first(layer *l, const firn_kernel_call *call) {
    const bool reverse = call->integers[FIRN_RECURRENT_BACKWARD_WEIGHT_REVERSE] != 0;
    const firn_tensor *dproducts = &call->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_DPRODUCTS];
    begin_layer(l, call);
    l->inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_DY] = rows_of(dproducts, reverse ? dproducts->dims[0] - 1 : 0, 1, l->dy);
    l->inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_X] =
        rows_of(&call->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_H0], 0, 1, l->x);
}

static bool has_h0(const firn_kernel_call *call) {
    return firn_call_input(call, FIRN_RECURRENT_BACKWARD_WEIGHT_IN_H0) != NULL;
}

static bool has_later(const firn_kernel_call *call) {
    return call->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_Y].dims[0] > 1;
}

/* Whether the layer gives the sum of the later steps, to which that of the first can be added where it lies. */
static bool is_layer(const firn_kernel_call *call) {
    return has_later(call) && firn_call_input(call, FIRN_RECURRENT_BACKWARD_WEIGHT_IN_ACTIVATIONS) == NULL &&
           (!has_h0(call) || call->outputs[FIRN_RECURRENT_BACKWARD_WEIGHT_OUT_DWEIGHT].type == FIRN_FLOAT32);
}

/* Whether both sums are computed for some rows at a time, one beside the other: flushed sums, of which the portable
 * kernel would take longer for the first step than this one for all others. */
static bool is_in_rows(const firn_kernel_call *call) {
    return call->reductions[FIRN_RECURRENT_BACKWARD_WEIGHT_REDUCTION_PRODUCTS].kind != FIRN_REDUCTION_F32 &&
           firn_call_input(call, FIRN_RECURRENT_BACKWARD_WEIGHT_IN_ACTIVATIONS) == NULL && has_h0(call);
}

/* Makes the layer give some rows of the gradient in float32. */
static void set_rows(layer *l, size_t first, size_t rows, float *out) {
    l->some[0] = (uint32_t)rows;
    l->some[1] = l->x[1];
    l->out = (firn_tensor){.data = out, .elements = rows * l->x[1], .dims = l->some, .type = FIRN_FLOAT32, .rank = 2};
    l->call.outputs = &l->out;
    l->integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_FIRST] = (int64_t)first;
    l->integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_ROWS] = (int64_t)rows;
}

/* The largest scratch of a layer for `rows` rows, of which it takes some at a time; the last ones may be fewer. */
static uint64_t scratch_of_rows(layer *l, size_t rows) {
    uint64_t bytes[2] = {0};
    const size_t rest = rows % ROWS_TOGETHER;
    for (int i = 0; i < 2; i++) {
        const size_t some = i == 0 ? rest : rows - rest;
        if (some == 0)
            continue;
        set_rows(l, 0, firn_smaller(some, ROWS_TOGETHER), NULL);
        bytes[i] = firn_vector_linear_scratch(FIRN_OP_linear_backward_weight_rows, &l->call);
    }
    return bytes[0] > bytes[1] ? bytes[0] : bytes[1];
}

/* Where the sums of some rows lie in the first slot: behind what the layers use of it. The slots of other threads have
 * that part, too, and do not use it. In bytes. */
static size_t sums_at(const firn_kernel_call *call) {
    const size_t rows = call->outputs[FIRN_RECURRENT_BACKWARD_WEIGHT_OUT_DWEIGHT].dims[0];
    layer l;
    uint64_t bytes = 0;
    if (has_later(call)) {
        set_later(&l, call);
        bytes = scratch_of_rows(&l, rows);
    }
    set_first(&l, call);
    const uint64_t other = scratch_of_rows(&l, rows);
    return round_up((size_t)(bytes > other ? bytes : other), LINE * sizeof(float));
}

static size_t sums_bytes(const firn_kernel_call *call) {
    const uint32_t *dims = call->outputs[FIRN_RECURRENT_BACKWARD_WEIGHT_OUT_DWEIGHT].dims;
    return firn_smaller(ROWS_TOGETHER, dims[0]) * dims[1] * sizeof(float);
}

static void multiply_rows(layer *l, size_t first, size_t rows, float *out) {
    set_rows(l, first, rows, out);
    firn_vector_linear_backward_weight_rows(&l->call);
}

static void multiply_in_rows(const firn_kernel_call *call) {
    const firn_tensor *out = &call->outputs[FIRN_RECURRENT_BACKWARD_WEIGHT_OUT_DWEIGHT];
    const size_t all = out->dims[0], units = out->dims[1];
    float *first_sums = (float *)(void *)((uint8_t *)call->workspace + sums_at(call));
    float *sums = first_sums + sums_bytes(call) / sizeof *sums;
    layer later = {.call = *call}, first;
    set_first(&first, call);
    if (has_later(call))
        set_later(&later, call);
    for (size_t row = 0; row < all; row += ROWS_TOGETHER) {
        const size_t rows = firn_smaller(ROWS_TOGETHER, all - row);
        multiply_rows(&first, row, rows, first_sums);
        if (has_later(call))
            multiply_rows(&later, row, rows, sums);
        for (size_t i = 0; i < rows * units && has_later(call); i++)
            first_sums[i] = sums[i] + first_sums[i];
        firn_narrow(out->data, out->type, row * units, first_sums, rows * units);
    }
}

uint64_t firn_vector_recurrent_weight_scratch(uint16_t op, const firn_kernel_call *call) {
    layer l;
    (void)op;
    if (is_in_rows(call))
        return sums_at(call) + 2 * sums_bytes(call);
    if (!is_layer(call))
        return 0;
    set_later(&l, call);
    return firn_vector_linear_scratch(FIRN_OP_linear_backward_weight, &l.call);
}

void firn_vector_recurrent_backward_weight(const firn_kernel_call *call) {
    layer l;
    if (is_in_rows(call)) {
        multiply_in_rows(call);
    } else if (is_layer(call)) {
        set_later(&l, call);
        firn_vector_linear_backward_weight(&l.call);
        firn_recurrent_weight_add_first(call);
    } else {
        firn_kernel_recurrent_backward_weight(call);
    }
}
