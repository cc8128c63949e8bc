/* Recurrent ops in vectors; see recurrent.h. A thread packs the weight once, into its slot, for all steps; each step
 * then multiplies the rows of its samples by the panels, one register tile at a time. All left factors of flushed sums
 * are values of bfloat16 already, which is what a tile of these expects. The mode of engine/flush.h is set once for the
 * products of a step, because setting it waits for all arithmetic before. Sums in chunks have tiles of their own
 * (chunked/chunked.h), which read the same panels. */
#include "runtime/kernels/vector/recurrent.h"

#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/recurrent/recurrent.h"
#include "runtime/kernels/vector/chunked/chunked.h"
#include "runtime/kernels/vector/chunked/product.h"
#include "runtime/kernels/vector/engine/flush.h"
#include "runtime/kernels/vector/engine/tile.h"
#include "runtime/kernels/vector/pack.h"
#include "runtime/kernels/vector/product.h"
#include "runtime/kernels/vector/recurrent_weight.h"
#include "runtime/kernels/vector/tile.h"

enum {
    HEIGHT = FIRN_REGISTER_ROWS,
    WIDTH = FIRN_REGISTER_COLUMNS,
    CHUNKED_ROWS = 16,       /* of a tile of sums in chunks */
    LINE = 16,               /* floats of a cache line */
    LEFT_GAP = 16,           /* floats between widened rows, so that they do not share cache lines */
    PANELS = 4 * 1024 * 1024 /* floats of a packed weight, at most; a larger one is not packed */
};

/* A slot: panels [group][panel][term][WIDTH, or FIRN_VECTOR], then the largest magnitude of each panel (of sums in
 * chunks), then rows [row][term]. Forward, a group is a gate, whose units are the columns; backward there is one group,
 * whose terms are the rows of the weight. */
typedef struct layout {
    size_t terms, groups, group; /* terms of a panel; groups; floats of a group */
    size_t largest, rows, end;   /* offsets */
} layout;

static layout layout_of(const firn_recurrence *r) {
    layout l;
    l.terms = r->backward ? r->weight->dims[0] : r->units;
    l.groups = r->backward ? 1 : r->weight->dims[0] / r->units;
    l.group = firn_round_up(firn_round_up(r->units, FIRN_VECTOR) * l.terms, LINE);
    l.largest = l.groups * l.group;
    l.rows = l.largest + firn_round_up(l.groups * firn_ceiling(r->units, WIDTH), LINE);
    l.end = l.rows + (r->weight->type == FIRN_FLOAT32 ? 0 : r->together * (l.terms + LEFT_GAP));
    return l;
}

static bool is_packed(const firn_recurrence *r) {
    return layout_of(r).largest <= PANELS;
}

static float *slot_of(const firn_recurrence *r, size_t task) {
    return (float *)(void *)((uint8_t *)r->call->workspace + task * r->call->slot_bytes);
}

static size_t panel_vectors(size_t columns) {
    return columns > FIRN_VECTOR ? 2 : 1;
}

static uint8_t kind_of(const firn_recurrence *r) {
    return r->call->reductions[0].kind;
}

/* Where a slot has the largest magnitude of the panel that begins with a column of a group. */
static float *largest_of(const firn_recurrence *r, const layout *l, float *slot, size_t group, size_t column) {
    return slot + l->largest + group * firn_ceiling(r->units, WIDTH) + column / WIDTH;
}

static void prepare(const firn_recurrence *r, size_t task) {
    const layout l = layout_of(r);
    const firn_matrix weight = {r->weight->data, r->weight->type, 0, r->units, 1};
    const firn_matrix right = r->backward ? weight : firn_transposed(weight);
    float *slot = slot_of(r, task);
    if (l.end * sizeof(float) > r->call->slot_bytes)
        __builtin_trap();
    for (size_t group = 0; group < l.groups; group++)
        for (size_t column = 0; column < r->units; column += WIDTH) {
            const size_t columns = firn_smaller(WIDTH, r->units - column), vectors = panel_vectors(columns);
            float *panel = slot + group * l.group + column * l.terms;
            firn_vector_pack(panel, vectors, &right, 0, l.terms, group * r->units + column, columns);
            if (kind_of(r) == FIRN_REDUCTION_CHUNKED)
                *largest_of(r, &l, slot, group, column) = firn_chunked_largest(
                    r->call->reductions[0].accumulator, panel, l.terms, vectors * FIRN_VECTOR, vectors * FIRN_VECTOR);
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

/* Multiplies all rows by one panel, with sums in chunks. largest: magnitude of the panel. */
static void multiply_chunked(const firn_reduction *reduction, const firn_register_tile *panel, size_t rows,
                             float largest) {
    float sums[CHUNKED_ROWS * WIDTH], totals[CHUNKED_ROWS * WIDTH];
    firn_chunked_tile tile = {.accumulator = reduction->accumulator,
                              .chunk = reduction->chunk,
                              .left_row_step = panel->left_row_step,
                              .left_term_step = 1,
                              .right = panel->right,
                              .right_step = panel->right_step,
                              .columns = panel->columns,
                              .terms = panel->terms,
                              .ends = true,
                              .present = FIRN_TERMS_ALL,
                              .sums = sums,
                              .totals = totals,
                              .step = WIDTH,
                              .right_largest = largest};
    for (size_t row = 0; row < rows; row += CHUNKED_ROWS) {
        tile.rows = firn_smaller(CHUNKED_ROWS, rows - row);
        tile.left = panel->left + row * panel->left_row_step;
        memset(sums, 0, sizeof sums);
        memset(totals, 0, sizeof totals);
        firn_chunked_tile_add(&tile);
        for (size_t i = 0; i < tile.rows; i++)
            firn_narrow(panel->sums + (row + i) * panel->sums_step, FIRN_FLOAT32, 0, totals + i * WIDTH, tile.columns);
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
    const uint8_t kind = kind_of(r);
    const bool flushes = firn_reduction_is_flushed(kind);
    const unsigned mode = flushes ? firn_flush_begin() : 0;
    const size_t first = r->backward ? 0 : p->first / r->units, groups = r->backward ? 1 : p->count / r->units;
    for (size_t group = 0; group < groups; group++)
        for (size_t column = 0; column < r->units; column += WIDTH) {
            tile.columns = firn_smaller(WIDTH, r->units - column);
            tile.right_step = panel_vectors(tile.columns) * FIRN_VECTOR;
            tile.right = slot + (first + group) * l.group + column * l.terms;
            if (r->backward)
                tile.right += p->first * tile.right_step;
            tile.sums = p->out + group * r->units + column;
            if (kind == FIRN_REDUCTION_CHUNKED)
                multiply_chunked(&r->call->reductions[0], &tile, p->rows,
                                 *largest_of(r, &l, slot, first + group, column));
            else
                multiply_panel(kind, tile, p->rows);
        }
    if (flushes)
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

static const firn_weight_products *products_for(const firn_kernel_call *call) {
    static const firn_weight_products vector = {firn_vector_linear_scratch, firn_vector_linear_backward_weight,
                                                firn_vector_linear_backward_weight_rows};
    static const firn_weight_products chunked = {firn_chunked_scratch, firn_chunked_linear_backward_weight,
                                                 firn_chunked_linear_backward_weight_rows};
    return call->reductions[FIRN_RECURRENT_BACKWARD_WEIGHT_REDUCTION_PRODUCTS].kind == FIRN_REDUCTION_CHUNKED ? &chunked
                                                                                                              : &vector;
}

uint64_t firn_vector_recurrent_weight_scratch(uint16_t op, const firn_kernel_call *call) {
    (void)op;
    return firn_recurrent_weight_scratch(products_for(call), call);
}

void firn_vector_recurrent_backward_weight(const firn_kernel_call *call) {
    firn_recurrent_weight(products_for(call), call);
}
