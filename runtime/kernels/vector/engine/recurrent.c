/* Recurrent products in words; see recurrent.h. A thread packs the weight once, into its slot, for all steps. At each
 * step it multiplies the rows of its samples, one tile high at a time, by all panels. Rows are read in place if they
 * are whole instructions, and copied otherwise, with +0 behind the last term. Sums of an incomplete tile go through one
 * of the slot. */
#include "runtime/kernels/vector/engine/recurrent.h"

#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/recurrent/recurrent.h"
#include "runtime/kernels/vector/engine/engine.h"
#include "runtime/kernels/vector/engine/product.h"
#include "runtime/kernels/vector/recurrent_weight.h"
#include "runtime/kernels/vector/vector.h"

enum {
    PARTS = 2,
    GRU_GATES = 3,
    WORDS = 8 * 1024 * 1024 /* of a packed weight, at most; a larger one is not packed */
};

_Static_assert((int)FIRN_ENGINE_GAP % (2 * FIRN_VECTOR) == 0, "copied rows are whole registers");

/* The rows of the weight that one product of a step multiplies. Forward they are its columns, and the units its terms;
 * backward it is the other way round. */
typedef struct part {
    size_t first, count;
    size_t terms, columns, words; /* words: of a column, whole instructions */
    size_t at;                    /* the panels, in words of the slot */
} part;

/* A slot: the panels of each part [panel][word][FIRN_WORD_COLUMNS], a tile of sums, rows [row][left_words]. */
typedef struct layout {
    part parts[PARTS];
    size_t count;
    size_t left_words;
    size_t sums, left, end; /* in words */
} layout;

/* A gru whose factor r is before the products has those of its candidate apart, which come after the others. */
static size_t parts_of(const firn_recurrence *r) {
    _Static_assert(FIRN_GRU_RESET_AFTER == FIRN_GRU_BACKWARD_RESET_AFTER, "both ops have it at the same place");
    const bool is_gru = r->weight->dims[0] == GRU_GATES * r->units;
    return is_gru && r->call->integers[FIRN_GRU_RESET_AFTER] == 0 ? 2 : 1;
}

static layout layout_of(const firn_recurrence *r) {
    const firn_engine *engine = &firn_engine_of_set;
    const size_t rows = r->weight->dims[0];
    layout l = {.count = parts_of(r)};
    for (size_t i = 0; i < l.count; i++) {
        part *p = &l.parts[i];
        p->first = i == 0 ? 0 : rows - r->units;
        p->count = l.count == 1 ? rows : i == 0 ? rows - r->units : r->units;
        p->terms = r->backward ? p->count : r->units;
        p->columns = r->backward ? r->units : p->count;
        p->words = firn_engine_words(p->terms);
        p->at = l.sums;
        l.sums += p->words * firn_round_up(p->columns, FIRN_WORD_COLUMNS);
        l.left_words = p->words > l.left_words ? p->words : l.left_words;
    }
    l.left_words = firn_round_up(l.left_words, FIRN_VECTOR) + FIRN_ENGINE_GAP / 2;
    l.left = l.sums + engine->rows * FIRN_WORD_COLUMNS;
    l.end = l.left + engine->rows * l.left_words;
    return l;
}

static bool is_packed(const firn_recurrence *r) {
    return layout_of(r).sums <= WORDS;
}

static uint32_t *slot_of(const firn_recurrence *r, size_t task) {
    return (uint32_t *)(void *)((uint8_t *)r->call->workspace + task * r->call->slot_bytes);
}

static void prepare(const firn_recurrence *r, size_t task) {
    const layout l = layout_of(r);
    if (l.end * sizeof(uint32_t) > r->call->slot_bytes)
        __builtin_trap();
    for (size_t i = 0; i < l.count; i++) {
        const part *p = &l.parts[i];
        const uint16_t *weight = (const uint16_t *)r->weight->data + p->first * r->units;
        uint32_t *panel = slot_of(r, task) + p->at;
        for (size_t column = 0; column < p->columns; column += FIRN_WORD_COLUMNS) {
            const firn_words_of from = {.first = weight + (r->backward ? column : column * r->units),
                                        .term_step = r->backward ? r->units : 1,
                                        .lane_step = r->backward ? 1 : r->units,
                                        .terms = p->terms,
                                        .lanes = firn_smaller(FIRN_WORD_COLUMNS, p->columns - column)};
            firn_words_pack_panel(panel, &from, p->words);
            panel += p->words * FIRN_WORD_COLUMNS;
        }
    }
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

/* Converts rows of float32 whose values are all values of bfloat16, which rounds nothing, and fills them up with
 * zeros. */
static void narrow_rows(uint16_t *out, size_t out_step, const firn_matrix *left, size_t row, size_t rows,
                        const part *p) {
    for (size_t i = 0; i < rows; i++, out += out_step) {
        const float *from = (const float *)left->data + left->first + (row + i) * left->row_step;
        firn_narrow(out, FIRN_BFLOAT16, 0, from, p->terms);
        memset(out + p->terms, 0, (2 * p->words - p->terms) * sizeof *out);
    }
}

/* Places rows of the left factor from `row` on. copies: room for a tile of them, left_words apart. */
static void place_left(firn_engine_tile *tile, const firn_matrix *left, size_t row, const part *p, uint32_t *copies,
                       size_t left_words) {
    const uint16_t *first = (const uint16_t *)left->data + left->first + row * left->row_step;
    if (left->type == FIRN_BFLOAT16 && left->row_step % FIRN_ENGINE_SHARING != 0 && p->terms == 2 * p->words &&
        tile->rows % firn_engine_of_set.height == 0) {
        tile->left = first;
        tile->left_step = left->row_step;
        return;
    }
    const firn_words_of from = {
        .first = first, .term_step = 1, .lane_step = left->row_step, .terms = p->terms, .lanes = tile->rows};
    tile->left = (const uint16_t *)(const void *)copies;
    tile->left_step = 2 * left_words;
    if (left->type == FIRN_BFLOAT16)
        firn_words_pack_rows(copies, left_words, &from, p->words);
    else
        narrow_rows((uint16_t *)(void *)copies, tile->left_step, left, row, tile->rows, p);
}

/* Multiplies placed rows by a panel. sums: room for a tile, which a whole tile does not need. */
static void multiply_panel(firn_engine_tile *tile, float *out, size_t out_step, size_t columns, float *sums) {
    const bool is_whole = columns == FIRN_WORD_COLUMNS && tile->rows % firn_engine_of_set.height == 0;
    tile->sums = is_whole ? out : sums;
    tile->sums_step = is_whole ? out_step : FIRN_WORD_COLUMNS;
    firn_engine_of_set.multiply(tile);
    for (size_t row = 0; row < tile->rows && !is_whole; row++)
        memcpy(out + row * out_step, sums + row * FIRN_WORD_COLUMNS, columns * sizeof *out);
}

static void multiply(const firn_recurrence *r, const firn_step_product *product, size_t task) {
    const firn_engine *engine = &firn_engine_of_set;
    const layout l = layout_of(r);
    const part *p = &l.parts[product->first == 0 ? 0 : 1];
    uint32_t *slot = slot_of(r, task);
    if (p->first != product->first || p->count != product->count)
        __builtin_trap();
    engine->begin();
    for (size_t row = 0; row < product->rows; row += engine->rows) {
        firn_engine_tile tile = {.right = slot + p->at,
                                 .rows = firn_smaller(engine->rows, product->rows - row),
                                 .words = p->words,
                                 .begins = true};
        float *out = product->out + row * product->step;
        place_left(&tile, &product->left, row, p, slot + l.left, l.left_words);
        for (size_t column = 0; column < p->columns; column += FIRN_WORD_COLUMNS) {
            multiply_panel(&tile, out + column, product->step, firn_smaller(FIRN_WORD_COLUMNS, p->columns - column),
                           (float *)(void *)(slot + l.sums));
            tile.right += p->words * FIRN_WORD_COLUMNS;
        }
    }
    engine->end();
}

/* --- the ops ------------------------------------------------------------------------------------------------------ */

uint64_t firn_engine_recurrent_scratch(uint16_t op, const firn_kernel_call *call) {
    firn_recurrence r;
    firn_recurrence_of(&r, op, call);
    return is_packed(&r) ? layout_of(&r).end * sizeof(uint32_t) : 0;
}

static const firn_step_vectors *vectors_for(uint16_t op, const firn_kernel_call *call) {
    static const firn_step_vectors vectors = {prepare, multiply};
    firn_recurrence r;
    firn_recurrence_of(&r, op, call);
    return is_packed(&r) ? &vectors : NULL;
}

void firn_engine_lstm(const firn_kernel_call *call) {
    firn_lstm(call, vectors_for(FIRN_OP_lstm, call));
}

void firn_engine_lstm_backward(const firn_kernel_call *call) {
    firn_lstm_backward(call, vectors_for(FIRN_OP_lstm_backward, call));
}

void firn_engine_gru(const firn_kernel_call *call) {
    firn_gru(call, vectors_for(FIRN_OP_gru, call));
}

void firn_engine_gru_backward(const firn_kernel_call *call) {
    firn_gru_backward(call, vectors_for(FIRN_OP_gru_backward, call));
}

void firn_engine_rnn(const firn_kernel_call *call) {
    firn_rnn(call, vectors_for(FIRN_OP_rnn, call));
}

void firn_engine_rnn_backward(const firn_kernel_call *call) {
    firn_rnn_backward(call, vectors_for(FIRN_OP_rnn_backward, call));
}

static const firn_weight_products weight_products = {firn_engine_linear_scratch, firn_engine_linear_backward_weight,
                                                     firn_engine_linear_backward_weight_rows};

uint64_t firn_engine_recurrent_weight_scratch(uint16_t op, const firn_kernel_call *call) {
    (void)op;
    return firn_recurrent_weight_scratch(&weight_products, call);
}

void firn_engine_recurrent_backward_weight(const firn_kernel_call *call) {
    firn_recurrent_weight(&weight_products, call);
}
