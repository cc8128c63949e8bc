/* The convolution with chunked sums, and the gradient of its input; see conv.h. The rows of a rectangle are outputs
 * whose windows have the same elements, in any line and sample, so that the absent terms are the same for all of them;
 * its columns are channels of the output's group. The terms that lie side by side in the other image are a run. */
#include "runtime/kernels/vector/chunked/conv.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/chunked/product.h"
#include "runtime/kernels/vector/chunked/sums.h"
#include "runtime/kernels/vector/engine/windows.h"
#include "runtime/kernels/vector/images/pointwise.h"
#include "runtime/kernels/vector/pieces.h"

enum {
    ROWS = FIRN_CHUNKED_ROWS,
    COLUMNS = FIRN_CHUNKED_COLUMNS,
    PIECES = 8, /* wanted for each thread */
    CACHE_LINE = 64
};

typedef struct conv {
    firn_engine_windows windows;
    const firn_tensor *weight, *bias; /* bias: NULL, or one value for each channel of the output */
    const firn_reduction *reduction;
    size_t lanes, elements;                /* channels of a group of the output; elements of a window */
    size_t rows, row_pieces, panel_pieces; /* rows of a piece; pieces of the rows and of the channels of a group */
    struct {
        size_t lines, columns, copies, runs, end; /* of a slot, in bytes; the sums come first */
    } at;
} conv;

typedef struct piece {
    const conv *c;
    uint8_t *slot;
    size_t group, column, columns;
} piece;

static size_t take(conv *c, size_t bytes) {
    const size_t at = c->at.end;
    c->at.end += firn_round_up(bytes, CACHE_LINE);
    return at;
}

static void lay_out(conv *c) {
    (void)take(c, sizeof(firn_chunked_sums));
    c->at.lines = take(c, firn_image_height(c->windows.out) * sizeof(firn_engine_alike));
    c->at.columns = take(c, firn_image_width(c->windows.out) * sizeof(firn_engine_alike));
    c->at.copies = take(c, c->elements * sizeof(firn_engine_window_copy));
    c->at.runs = take(c, c->elements * sizeof(firn_engine_window_run));
}

/* --- a rectangle -------------------------------------------------------------------------------------------------- */

/* Where the weight has the terms of a run, of which backward only those of one element of the window lie equally far
 * apart. The weight is [O,rows,columns,C/groups]. */
static firn_matrix weight_from(const piece *p, size_t term) {
    const conv *c = p->c;
    const size_t terms = c->windows.terms;
    firn_matrix right = {.data = c->weight->data, .type = c->weight->type, .row_step = 1, .column_step = 1};
    if (c->windows.forward) {
        right.column_step = c->elements * terms;
        right.first = (p->group * c->lanes + p->column) * right.column_step + term;
    } else {
        right.row_step = c->elements * c->lanes;
        right.first = (p->group * terms + term % terms) * right.row_step + term / terms * c->lanes + p->column;
    }
    return right;
}

static void add_copy(const piece *p, const firn_engine_window_copy *copy, const size_t *places) {
    const conv *c = p->c;
    const size_t terms = c->windows.terms;
    firn_chunked_terms run = {.left = {.data = c->windows.from->data,
                                       .type = c->windows.from->type,
                                       .first = p->group * terms + copy->from,
                                       .column_step = 1},
                              .places = places};
    for (size_t done = 0; done < copy->count; done += run.terms) {
        run.number = copy->to + done;
        run.terms = copy->count - done;
        if (!c->windows.forward)
            run.terms = firn_smaller(run.terms, terms - run.number % terms);
        run.right = weight_from(p, run.number);
        firn_chunked_sums_add((firn_chunked_sums *)(void *)p->slot, &run);
        run.left.first += run.terms;
    }
}

/* Adds the bias to the totals and stores them, rounded once. */
static void store_rows(const piece *p, const firn_engine_window_kind *kind, firn_engine_window_place place) {
    const conv *c = p->c;
    const firn_tensor *out = c->windows.out;
    firn_chunked_sums *sums = (firn_chunked_sums *)(void *)p->slot;
    const size_t channels = firn_image_channels(out), lane = p->group * c->lanes + p->column;
    float bias[COLUMNS];
    if (c->bias != NULL)
        firn_widen(bias, c->bias->data, c->bias->type, lane, p->columns);
    for (size_t row = 0; row < sums->rows; row++) {
        float *totals = sums->totals + row * COLUMNS;
        for (size_t i = 0; c->bias != NULL && i < p->columns; i++)
            totals[i] += bias[i];
        firn_narrow(out->data, out->type, firn_engine_window_output(kind, place) * channels + lane, totals, p->columns);
        (void)firn_engine_window_line(kind, &place, 1);
    }
}

/* How many elements a window lies behind the first one of its kind in sample 0. */
static size_t place_of_window(const conv *c, firn_engine_window_place place) {
    const firn_engine_windows *w = &c->windows;
    const size_t width = firn_image_width(w->from), height = firn_image_height(w->from);
    const size_t below = w->forward ? w->window[FIRN_ROWS].stride : 1;
    const size_t beside = w->forward ? w->window[FIRN_COLUMNS].stride : 1;
    return ((place.sample * height + place.line * below) * width + place.column * beside) *
           firn_image_channels(w->from);
}

/* Computes the windows [begin, end) of a kind. */
static void compute_kind(const piece *p, const firn_engine_window_kind *kind, size_t begin, size_t end) {
    firn_chunked_sums *sums = (firn_chunked_sums *)(void *)p->slot;
    firn_engine_window_place place = firn_engine_window_number(kind, begin);
    size_t places[ROWS];
    for (size_t rows; begin < end; begin += rows) {
        const firn_engine_window_place first = place;
        rows = firn_smaller(ROWS, end - begin);
        for (size_t row = 0; row < rows; row++) {
            places[row] = place_of_window(p->c, place);
            (void)firn_engine_window_line(kind, &place, 1);
        }
        firn_chunked_sums_begin(sums, p->c->reduction, rows, p->columns);
        for (size_t i = 0; i < kind->copy_count; i++)
            add_copy(p, &kind->copies[i], places);
        firn_chunked_sums_end(sums);
        store_rows(p, kind, first);
    }
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

/* Computes the rows [begin, end), which are numbered kind by kind. */
static void compute_rows(const piece *p, size_t begin, size_t end) {
    const conv *c = p->c;
    const firn_engine_windows *w = &c->windows;
    firn_engine_alike *lines = (firn_engine_alike *)(void *)(p->slot + c->at.lines);
    firn_engine_alike *columns = (firn_engine_alike *)(void *)(p->slot + c->at.columns);
    const size_t line_count = firn_engine_windows_find(w, FIRN_ROWS, lines);
    const size_t column_count = firn_engine_windows_find(w, FIRN_COLUMNS, columns);
    firn_engine_window_kind kind = {
        .windows = w,
        .count = c->elements * w->terms,
        .copies = (firn_engine_window_copy *)(void *)(p->slot + c->at.copies),
        .runs = (firn_engine_window_run *)(void *)(p->slot + c->at.runs),
    };
    for (size_t i = 0, first = 0; i < line_count; i++)
        for (size_t j = 0; j < column_count; j++) {
            const size_t count = w->out->dims[0] * lines[i].count * columns[j].count;
            const size_t from = begin > first ? begin : first, behind = firn_smaller(end, first + count);
            kind.lines = lines[i];
            kind.columns = columns[j];
            if (from < behind) {
                firn_engine_window_kind_set(&kind, 1);
                compute_kind(p, &kind, from - first, behind - first);
            }
            first += count;
        }
}

static void compute_piece(void *argument, size_t number, void *slot) {
    const conv *c = argument;
    const size_t all = firn_rows(c->windows.out), row = number % c->row_pieces * c->rows;
    const size_t panel = number / c->row_pieces % c->panel_pieces;
    piece p = {.c = c, .slot = slot, .group = number / c->row_pieces / c->panel_pieces, .column = panel * COLUMNS};
    p.columns = firn_smaller(COLUMNS, c->lanes - p.column);
    compute_rows(&p, row, firn_smaller(row + c->rows, all));
}

/* --- the ops ------------------------------------------------------------------------------------------------------ */

static uint64_t cost_of(const conv *c) {
    return (uint64_t)c->windows.out->elements * c->elements * c->windows.terms / FIRN_CHUNKED_COST;
}

static void describe(conv *c, uint16_t op, const firn_kernel_call *call) {
    const bool forward = op == FIRN_OP_conv;
    *c = (conv){.windows = {.out = &call->outputs[0], .forward = forward}};
    firn_engine_windows *w = &c->windows;
    w->from = &call->inputs[forward ? (size_t)FIRN_CONV_IN_X : (size_t)FIRN_CONV_BACKWARD_INPUT_IN_DY];
    c->weight = &call->inputs[forward ? (size_t)FIRN_CONV_IN_WEIGHT : (size_t)FIRN_CONV_BACKWARD_INPUT_IN_WEIGHT];
    c->bias = forward ? firn_call_input(call, FIRN_CONV_IN_BIAS) : NULL;
    c->reduction = &call->reductions[FIRN_CONV_REDUCTION_PRODUCTS];
    for (int axis = FIRN_ROWS; axis <= FIRN_COLUMNS; axis++)
        w->window[axis] =
            firn_window_along(&call->integers[FIRN_CONV_STRIDE], axis, c->weight->dims[(int)FIRN_WEIGHT_ROWS + axis]);
    w->groups = (size_t)call->integers[FIRN_CONV_GROUPS];
    w->terms = firn_image_channels(w->from) / w->groups;
    c->lanes = firn_image_channels(w->out) / w->groups;
    c->elements = (size_t)w->window[FIRN_ROWS].elements * w->window[FIRN_COLUMNS].elements;
    c->panel_pieces = firn_ceiling(c->lanes, COLUMNS);
    const size_t rows = firn_rows(w->out), threads = firn_parallel_threads(&call->parallel, cost_of(c));
    const size_t wanted = threads > 1 ? firn_ceiling(threads * PIECES, w->groups * c->panel_pieces) : 1;
    c->rows = firn_round_up(firn_ceiling(rows, wanted), FIRN_CHUNKED_HEIGHT);
    c->row_pieces = firn_ceiling(rows, c->rows);
    lay_out(c);
}

static bool is_by_channel(const conv *c) {
    return c->windows.terms == 1 && c->lanes == 1;
}

uint64_t firn_chunked_conv_scratch(uint16_t op, const firn_kernel_call *call) {
    firn_pointwise layer;
    conv c;
    if (firn_pointwise_of(&layer, op, call))
        return firn_chunked_scratch(layer.op, &layer.call);
    describe(&c, op, call);
    return is_by_channel(&c) ? 0 : c.at.end;
}

static void run(const firn_kernel_call *call, conv *c) {
    firn_pieces_run(call, c->at.end, c->windows.groups * c->row_pieces * c->panel_pieces, cost_of(c), compute_piece, c);
}

void firn_chunked_conv(const firn_kernel_call *call) {
    firn_pointwise layer;
    conv c;
    if (firn_pointwise_of(&layer, FIRN_OP_conv, call)) {
        firn_chunked_linear(&layer.call);
        return;
    }
    describe(&c, FIRN_OP_conv, call);
    if (is_by_channel(&c))
        firn_kernel_conv(call);
    else
        run(call, &c);
}

void firn_chunked_conv_backward_input(const firn_kernel_call *call) {
    firn_pointwise layer;
    conv c;
    if (firn_pointwise_of(&layer, FIRN_OP_conv_backward_input, call)) {
        firn_chunked_linear_backward_input(&layer.call);
        return;
    }
    describe(&c, FIRN_OP_conv_backward_input, call);
    if (is_by_channel(&c))
        firn_kernel_conv_backward_input(call);
    else
        run(call, &c);
}
