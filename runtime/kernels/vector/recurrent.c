/* Recurrent ops in vectors; see recurrent.h. A thread packs the weight once, into its slot, for all steps; each step
 * then multiplies the rows of its samples by the panels, one register tile at a time. All left factors of flushed sums
 * are values of bfloat16 already, which is what a tile of these expects. */
#include "runtime/kernels/vector/recurrent.h"

#include "runtime/kernels/recurrent/recurrent.h"
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

/* Multiplies all rows by one panel. kind: of the reduction. */
static void multiply_panel(uint8_t kind, firn_register_tile tile, size_t rows) {
    const size_t height = firn_ceiling(rows, firn_ceiling(rows, HEIGHT));
    for (size_t row = 0; row < rows; row += height) {
        tile.rows = firn_smaller(height, rows - row);
        if (kind == FIRN_REDUCTION_F32)
            firn_register_tile_multiply(&tile);
        else
            firn_engine_tile_multiply(kind, &tile);
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
    const size_t first = r->backward ? 0 : p->first / r->units, groups = r->backward ? 1 : p->count / r->units;
    for (size_t group = 0; group < groups; group++)
        for (size_t column = 0; column < r->units; column += WIDTH) {
            tile.columns = firn_smaller(WIDTH, r->units - column);
            tile.right_step = panel_vectors(tile.columns) * FIRN_VECTOR;
            tile.right = slot + (first + group) * l.group + column * l.terms;
            if (r->backward)
                tile.right += p->first * tile.right_step;
            tile.sums = p->out + group * r->units + column;
            multiply_panel(r->call->reductions[0].kind, tile, p->rows);
        }
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

/* The steps but the first as the rows of a linear layer. */
typedef struct layer {
    firn_kernel_call call;
    firn_tensor inputs[2];
    uint32_t dy[2], x[2];
    int64_t layout;
} layer;

static size_t element_bytes(uint8_t type) {
    return type == FIRN_FLOAT32 ? sizeof(float) : sizeof(uint16_t);
}

static firn_tensor rows_of(const firn_tensor *sequence, bool without_first_step, uint32_t dims[2]) {
    const uint32_t samples = sequence->dims[1], width = sequence->dims[2];
    const size_t skipped = without_first_step ? (size_t)samples * width : 0;
    dims[0] = (sequence->dims[0] - 1) * samples;
    dims[1] = width;
    return (firn_tensor){.data = (uint8_t *)sequence->data + skipped * element_bytes(sequence->type),
                         .elements = (size_t)dims[0] * width,
                         .dims = dims,
                         .type = sequence->type,
                         .rank = 2};
}

static void set_layer(layer *l, const firn_kernel_call *call) {
    const bool reverse = call->integers[FIRN_RECURRENT_BACKWARD_WEIGHT_REVERSE] != 0;
    l->call = *call;
    l->layout = 0;
    l->inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_DY] =
        rows_of(&call->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_DPRODUCTS], !reverse, l->dy);
    l->inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_X] =
        rows_of(&call->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_Y], reverse, l->x);
    l->call.inputs = l->inputs;
    l->call.input_count = 2;
    l->call.integers = &l->layout;
}

/* Whether the layer gives the sum of the later steps, to which that of the first can be added where it lies. */
static bool is_layer(const firn_kernel_call *call) {
    return call->inputs[FIRN_RECURRENT_BACKWARD_WEIGHT_IN_Y].dims[0] > 1 &&
           firn_call_input(call, FIRN_RECURRENT_BACKWARD_WEIGHT_IN_ACTIVATIONS) == NULL &&
           (firn_call_input(call, FIRN_RECURRENT_BACKWARD_WEIGHT_IN_H0) == NULL ||
            call->outputs[FIRN_RECURRENT_BACKWARD_WEIGHT_OUT_DWEIGHT].type == FIRN_FLOAT32);
}

uint64_t firn_vector_recurrent_weight_scratch(uint16_t op, const firn_kernel_call *call) {
    layer l;
    (void)op;
    if (!is_layer(call))
        return 0;
    set_layer(&l, call);
    return firn_vector_linear_scratch(FIRN_OP_linear_backward_weight, &l.call);
}

void firn_vector_recurrent_backward_weight(const firn_kernel_call *call) {
    layer l;
    if (!is_layer(call)) {
        firn_kernel_recurrent_backward_weight(call);
        return;
    }
    set_layer(&l, call);
    firn_vector_linear_backward_weight(&l.call);
    firn_recurrent_weight_add_first(call);
}
