/* The convolution by a matrix engine, and the gradient of its input; see conv.h. The rows of a tile are outputs whose
 * windows have the same elements, in any line and sample, so all of them have the same blocks of terms; the left factor
 * is gathered, one tile high at a time, with zeros for what is absent of these blocks. The columns are the channels of
 * the output's group, of which a piece packs panels of weights. For each block of terms a piece packs its panels, which
 * stay in the L2 cache, and goes through its rows; unfinished sums wait in the slot. The sizes are estimates. */
#include "runtime/kernels/vector/engine/conv.h"

#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/convert.h"
#include "runtime/kernels/vector/engine/division.h"
#include "runtime/kernels/vector/engine/engine.h"
#include "runtime/kernels/vector/engine/product.h"
#include "runtime/kernels/vector/engine/windows.h"
#include "runtime/kernels/vector/images/conv.h"
#include "runtime/kernels/vector/images/pointwise.h"
#include "runtime/kernels/vector/pieces.h"

enum {
    DEPTH = 512,    /* terms in a block: a row of tiles fills 32 KiB of the L1 cache, and each panel is read for it */
    COLUMNS = 512,  /* of a piece, at most: the panels of a block fill 512 KiB of the L2 cache */
    SUMS = 1 << 18, /* floats that wait, at most: 1 MB of the L2 cache */
};

_Static_assert((int)DEPTH % (int)FIRN_ENGINE_TERMS == 0, "a block of terms is whole instructions");

typedef struct conv {
    firn_engine_windows windows;
    const firn_tensor *weight, *bias; /* bias: NULL, or one value for each channel of the output */
    size_t lanes;                     /* channels of a group of the output */
    size_t terms, depth;              /* of a window; of a block of them */
    bool waits;                       /* there are several blocks */
    firn_engine_division division;
    struct {
        size_t left, sums, waiting, lines, columns, copies, runs, end; /* in bytes; the panels come first */
    } at;
} conv;

typedef struct piece {
    const conv *c;
    uint8_t *slot;
    size_t group, row, rows, column, columns; /* rows are numbered kind by kind */
    size_t term, terms, words;                /* of the current block */
} piece;

/* --- the slot ----------------------------------------------------------------------------------------------------- */

static size_t elements_of(const conv *c) {
    return (size_t)c->windows.window[FIRN_ROWS].elements * c->windows.window[FIRN_COLUMNS].elements;
}

static size_t left_step(const conv *c) {
    return c->depth + FIRN_ENGINE_GAP;
}

static uint32_t *panel(const piece *p, size_t column) {
    return (uint32_t *)(void *)p->slot + column * p->words;
}

static uint16_t *left_of(const piece *p) {
    return (uint16_t *)(void *)(p->slot + p->c->at.left);
}

static float *floats_at(const piece *p, size_t at) {
    return (float *)(void *)(p->slot + at);
}

/* Moves the end of the slot behind so many bytes and returns where these begin. */
static size_t take(conv *c, size_t bytes) {
    const size_t at = c->at.end;
    c->at.end += firn_round_up(bytes, FIRN_CACHE_LINE);
    return at;
}

static void lay_out(conv *c) {
    const size_t rows = firn_engine_of_set.rows, row_bytes = c->division.columns * sizeof(float);
    const firn_tensor *out = c->windows.out;
    (void)take(c, c->division.columns * c->depth * sizeof(uint16_t));
    c->at.left = take(c, FIRN_ENGINE_ROWS_MAX * left_step(c) * sizeof(uint16_t));
    c->at.sums = take(c, FIRN_ENGINE_ROWS_MAX * row_bytes);
    c->at.waiting = take(c, c->waits ? firn_round_up(c->division.rows, rows) * row_bytes : 0);
    c->at.lines = take(c, firn_image_height(out) * sizeof(firn_engine_alike));
    c->at.columns = take(c, firn_image_width(out) * sizeof(firn_engine_alike));
    c->at.copies = take(c, elements_of(c) * sizeof(firn_engine_window_copy));
    c->at.runs = take(c, elements_of(c) * sizeof(firn_engine_window_run));
}

/* --- factors ------------------------------------------------------------------------------------------------------ */

/* The weight is [O,rows,columns,C/groups], so the terms of an output lie side by side. */
static void pack_outputs(const piece *p, size_t column, size_t lanes) {
    const conv *c = p->c;
    const size_t lane = p->group * c->lanes + p->column + column;
    const firn_words_of from = {.first = (const uint16_t *)c->weight->data + lane * c->terms + p->term,
                                .term_step = 1,
                                .lane_step = c->terms,
                                .terms = p->terms,
                                .lanes = lanes};
    firn_words_pack_panel(panel(p, column), &from, p->words);
}

/* An output of the group at an element of the window, which is a term. */
typedef struct term_place {
    size_t element, output;
} term_place;

/* Returns where the weight has a term for a lane, and moves to the next one. NULL behind the last term. */
static const uint16_t *take_term(const piece *p, term_place *at, size_t lane) {
    const conv *c = p->c;
    if (at->element == elements_of(c))
        return NULL;
    const size_t row = (p->group * c->windows.terms + at->output) * elements_of(c) + at->element;
    if (++at->output == c->windows.terms) {
        at->output = 0;
        at->element++;
    }
    return (const uint16_t *)c->weight->data + row * c->lanes + lane;
}

/* Blocks but the last end with a whole word. */
static void pack_inputs(const piece *p, size_t column, size_t lanes) {
    const size_t terms = p->c->windows.terms;
    term_place at = {p->term / terms, p->term % terms};
    uint32_t *out = panel(p, column);
    for (size_t word = 0; word < p->words; word++, out += FIRN_WORD_COLUMNS) {
        const uint16_t *first = take_term(p, &at, p->column + column);
        firn_words_pack_line(out, first, take_term(p, &at, p->column + column), lanes);
    }
}

static void pack_right(const piece *p) {
    for (size_t column = 0; column < p->columns; column += FIRN_WORD_COLUMNS) {
        const size_t lanes = firn_smaller(FIRN_WORD_COLUMNS, p->columns - column);
        if (p->c->windows.forward)
            pack_outputs(p, column, lanes);
        else
            pack_inputs(p, column, lanes);
    }
}

/* --- tiles -------------------------------------------------------------------------------------------------------- */

/* Finished sums of windows, whose channels begin at these elements of the output. */
typedef struct finished {
    const piece *p;
    const float *sums;
    size_t rows, outputs[FIRN_ENGINE_ROWS_MAX];
} finished;

/* Adds the bias to finished sums and stores them, rounded once. */
static inline __attribute__((always_inline)) void store_as(uint8_t type, const void *arguments) {
    const finished *f = arguments;
    const conv *c = f->p->c;
    void *const data = c->windows.out->data;
    const size_t columns = f->p->columns;
    float biases[COLUMNS];
    if (c->bias != NULL)
        firn_widen(biases, c->bias->data, c->bias->type, f->p->group * c->lanes + f->p->column, columns);
    for (size_t row = 0; row < f->rows; row++)
        for (size_t column = 0; column < columns; column += FIRN_VECTOR) {
            const firn_lanes lanes = firn_first_lanes(columns - column);
            firn_vector sum = firn_vector_load(f->sums + row * c->division.columns + column);
            if (c->bias != NULL)
                sum = firn_vector_add(sum, firn_vector_load_some(lanes, biases + column));
            firn_vector_narrow(data, type, f->outputs[row] + column, lanes, firn_vector_canonical(sum));
        }
}

static void store_rows(const piece *p, const firn_engine_window_kind *kind, firn_engine_window_place place, size_t rows,
                       const float *sums) {
    const conv *c = p->c;
    const size_t channels = firn_image_channels(c->windows.out), lane = p->group * c->lanes + p->column;
    finished f = {.p = p, .sums = sums, .rows = rows};
    const size_t beside = firn_engine_windows_apart(&c->windows, FIRN_COLUMNS) * channels;
    for (size_t row = 0, count; row < rows; row += count) {
        const size_t first = firn_engine_window_output(kind, place) * channels + lane;
        count = firn_engine_window_line(kind, &place, rows - row);
        for (size_t i = 0; i < count; i++)
            f.outputs[row + i] = first + i * beside;
    }
    firn_for_type(c->windows.out->type, store_as, &f);
}

/* Multiplies a row of tiles by all panels. A kind without a term in the first block begins with zeros. */
static void multiply_rows(const piece *p, const firn_engine_window_kind *kind, size_t rows, float *sums) {
    const size_t step = p->c->division.columns;
    if (kind->run_count == 0 && p->term == 0)
        memset(sums, 0, rows * step * sizeof *sums);
    for (size_t column = 0; column < p->columns; column += FIRN_WORD_COLUMNS)
        for (size_t run = 0; run < kind->run_count; run++) {
            const size_t first = kind->runs[run].first;
            const firn_engine_tile tile = {.left = left_of(p) + first,
                                           .left_step = left_step(p->c),
                                           .right = panel(p, column) + first / 2 * FIRN_WORD_COLUMNS,
                                           .rows = rows,
                                           .words = kind->runs[run].count / 2,
                                           .begins = p->term == 0 && run == 0,
                                           .sums = sums + column,
                                           .sums_step = step};
            firn_engine_of_set.multiply(&tile);
        }
}

/* Computes the windows [begin, end) of a kind. waiting: their sums, if those wait. An engine may store more rows than a
 * tile has, so these sums are moved then. */
static void compute_kind(const piece *p, firn_engine_window_kind *kind, size_t begin, size_t end, float *waiting) {
    const conv *c = p->c;
    const size_t height = firn_engine_of_set.rows, block = 2 * firn_engine_of_set.words, step = c->division.columns;
    firn_engine_window_place place = firn_engine_window_number(kind, begin);
    firn_engine_window_kind_set(kind, block);
    firn_engine_window_zeros(kind, block, left_of(p), left_step(c), firn_smaller(height, end - begin));
    for (size_t rows; begin < end; begin += rows, waiting += rows * step) {
        const firn_engine_window_place first = place;
        rows = firn_smaller(height, end - begin);
        const bool moves = c->waits && rows % firn_engine_of_set.height != 0;
        float *sums = c->waits && !moves ? waiting : floats_at(p, c->at.sums);
        firn_engine_window_gather(kind, &place, p->group, left_of(p), left_step(c), rows);
        if (moves && p->term != 0)
            memcpy(sums, waiting, rows * step * sizeof *sums);
        multiply_rows(p, kind, rows, sums);
        if (p->term + p->terms == c->terms)
            store_rows(p, kind, first, rows, sums);
        else if (moves)
            memcpy(waiting, sums, rows * step * sizeof *sums);
    }
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

/* Goes through the kinds that have rows of the piece. */
static void compute_rows(const piece *p, size_t line_count, size_t column_count) {
    const conv *c = p->c;
    const firn_engine_alike *lines = (const firn_engine_alike *)(const void *)(p->slot + c->at.lines);
    const firn_engine_alike *columns = (const firn_engine_alike *)(const void *)(p->slot + c->at.columns);
    firn_engine_window_kind kind = {
        .windows = &c->windows,
        .first = p->term,
        .count = p->terms,
        .copies = (firn_engine_window_copy *)(void *)(p->slot + c->at.copies),
        .runs = (firn_engine_window_run *)(void *)(p->slot + c->at.runs),
    };
    size_t row = p->row, skipped = 0;
    for (size_t i = 0; i < line_count; i++)
        for (size_t j = 0; j < column_count && row < p->row + p->rows; j++) {
            const size_t count = c->windows.out->dims[0] * lines[i].count * columns[j].count;
            const size_t end = firn_smaller(skipped + count, p->row + p->rows);
            kind.lines = lines[i];
            kind.columns = columns[j];
            if (row < end) {
                float *waiting = floats_at(p, c->at.waiting) + (row - p->row) * c->division.columns;
                compute_kind(p, &kind, row - skipped, end - skipped, waiting);
                row = end;
            }
            skipped += count;
        }
}

/* Piece: a group, some of its channels, and some rows. */
static void compute_piece(void *argument, size_t number, void *slot) {
    const conv *c = argument;
    const firn_engine_division *d = &c->division;
    const firn_tensor *out = c->windows.out;
    const size_t all_rows = out->elements / firn_image_channels(out);
    piece p = {.c = c,
               .slot = slot,
               .group = number / d->row_pieces / d->column_pieces,
               .row = number % d->row_pieces * d->rows,
               .column = number / d->row_pieces % d->column_pieces * d->columns};
    p.rows = firn_smaller(d->rows, all_rows - p.row);
    p.columns = firn_smaller(d->columns, c->lanes - p.column);
    const size_t lines =
        firn_engine_windows_find(&c->windows, FIRN_ROWS, (firn_engine_alike *)(void *)(p.slot + c->at.lines));
    const size_t columns =
        firn_engine_windows_find(&c->windows, FIRN_COLUMNS, (firn_engine_alike *)(void *)(p.slot + c->at.columns));
    firn_engine_of_set.begin();
    for (p.term = 0; p.term < c->terms; p.term += p.terms) {
        p.terms = firn_smaller(c->depth, c->terms - p.term);
        p.words = firn_engine_words(p.terms);
        pack_right(&p);
        compute_rows(&p, lines, columns);
    }
    firn_engine_of_set.end();
}

/* --- the ops ------------------------------------------------------------------------------------------------------ */

static uint64_t cost_of(const conv *c) {
    return (uint64_t)c->windows.out->elements * c->terms / firn_engine_of_set.cost;
}

static void describe(conv *c, uint16_t op, const firn_kernel_call *call) {
    const bool forward = op == FIRN_OP_conv;
    *c = (conv){.windows = {.out = &call->outputs[0], .forward = forward}};
    firn_engine_windows *w = &c->windows;
    w->from = &call->inputs[forward ? (size_t)FIRN_CONV_IN_X : (size_t)FIRN_CONV_BACKWARD_INPUT_IN_DY];
    c->weight = &call->inputs[forward ? (size_t)FIRN_CONV_IN_WEIGHT : (size_t)FIRN_CONV_BACKWARD_INPUT_IN_WEIGHT];
    c->bias = forward ? firn_call_input(call, FIRN_CONV_IN_BIAS) : NULL;
    for (int axis = FIRN_ROWS; axis <= FIRN_COLUMNS; axis++)
        w->window[axis] =
            firn_window_along(&call->integers[FIRN_CONV_STRIDE], axis, c->weight->dims[(int)FIRN_WEIGHT_ROWS + axis]);
    const size_t groups = (size_t)call->integers[FIRN_CONV_GROUPS], channels = firn_image_channels(w->out);
    w->groups = groups;
    w->terms = firn_image_channels(w->from) / groups;
    c->lanes = channels / groups;
    c->terms = elements_of(c) * w->terms;
    c->depth = firn_round_up(firn_ceiling(c->terms, firn_ceiling(c->terms, DEPTH)), FIRN_ENGINE_TERMS);
    c->waits = c->terms > c->depth;
    const size_t rows = w->out->elements / channels;
    const size_t columns = firn_smaller(COLUMNS, firn_round_up(c->lanes, FIRN_WORD_COLUMNS));
    const firn_engine_whole whole = {.products = groups,
                                     .rows = rows,
                                     .columns = c->lanes,
                                     .most_rows = c->waits ? SUMS / columns : rows,
                                     .most_columns = COLUMNS,
                                     .row_packing = firn_engine_of_set.copying,
                                     .column_packing = firn_engine_of_set.packing};
    c->division = firn_engine_divide(&whole, firn_parallel_threads(&call->parallel, cost_of(c)));
    lay_out(c);
}

static bool is_emulated(const firn_kernel_call *call) {
    _Static_assert((int)FIRN_CONV_IN_WEIGHT == (int)FIRN_CONV_BACKWARD_INPUT_IN_WEIGHT &&
                       (int)FIRN_CONV_GROUPS == (int)FIRN_CONV_BACKWARD_INPUT_GROUPS,
                   "both ops have them in the same places");
    return firn_engine_conv_is_emulated(&call->inputs[FIRN_CONV_IN_WEIGHT], call->integers[FIRN_CONV_GROUPS]);
}

/* Windows of one element are rows of a linear layer, which gathers less quickly what does not fill whole blocks. */
static bool is_linear(firn_pointwise *layer, uint16_t op, const firn_kernel_call *call) {
    const firn_tensor *from =
        &call->inputs[op == FIRN_OP_conv ? (size_t)FIRN_CONV_IN_X : (size_t)FIRN_CONV_BACKWARD_INPUT_IN_DY];
    return firn_image_channels(from) % FIRN_ENGINE_TERMS == 0 && firn_pointwise_of(layer, op, call);
}

uint64_t firn_engine_conv_scratch(uint16_t op, const firn_kernel_call *call) {
    firn_pointwise layer;
    conv c;
    if (is_linear(&layer, op, call))
        return firn_engine_linear_scratch(layer.op, &layer.call);
    if (is_emulated(call))
        return firn_vector_conv_scratch(op, call);
    describe(&c, op, call);
    return c.at.end;
}

static void run(uint16_t op, const firn_kernel_call *call) {
    conv c;
    describe(&c, op, call);
    const size_t pieces = c.windows.groups * c.division.row_pieces * c.division.column_pieces;
    firn_pieces_run(call, c.at.end, pieces, cost_of(&c), compute_piece, &c);
}

void firn_engine_conv(const firn_kernel_call *call) {
    firn_pointwise layer;
    if (is_linear(&layer, FIRN_OP_conv, call))
        firn_engine_linear(&layer.call);
    else if (is_emulated(call))
        firn_vector_conv(call);
    else
        run(FIRN_OP_conv, call);
}

void firn_engine_conv_backward_input(const firn_kernel_call *call) {
    firn_pointwise layer;
    if (is_linear(&layer, FIRN_OP_conv_backward_input, call))
        firn_engine_linear_backward_input(&layer.call);
    else if (is_emulated(call))
        firn_vector_conv_backward_input(call);
    else
        run(FIRN_OP_conv_backward_input, call);
}
