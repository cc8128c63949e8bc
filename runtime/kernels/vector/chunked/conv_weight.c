/* The gradient of a convolution's weight with chunked sums; see conv.h. An element (o, r, s, c) of it is a sum over
 * samples, and over the lines and columns of dy whose windows have their element (r, s) in the image; for one (r, s)
 * these are a rectangle, whose lines are the runs. The rows of the product are outputs and its columns are channels of
 * x, or the other way round where there are few channels. */
#include "runtime/kernels/images/images.h"
#include "runtime/kernels/vector/chunked/conv.h"
#include "runtime/kernels/vector/chunked/product.h"
#include "runtime/kernels/vector/chunked/sums.h"
#include "runtime/kernels/vector/images/pointwise.h"
#include "runtime/kernels/vector/pieces.h"

enum { ROWS = FIRN_CHUNKED_ROWS, COLUMNS = FIRN_CHUNKED_COLUMNS };

typedef struct gradient {
    const firn_tensor *x, *dy, *out;
    const firn_reduction *reduction;
    firn_window window[FIRN_AXES];
    size_t groups, inputs, outputs; /* inputs and outputs of a group */
    bool turned;                    /* the rows are channels of x */
    size_t rows, columns;           /* of the product of a group */
    size_t height;                  /* rows of a piece */
} gradient;

typedef struct piece {
    const gradient *g;
    firn_chunked_sums *sums;
    size_t group, r, s, row, column;
} piece;

/* --- a rectangle -------------------------------------------------------------------------------------------------- */

/* The places of an image from number `place` on, `apart` places apart, whose channels of a group from number `first` on
 * are the lanes of a product. */
static firn_matrix places_from(const firn_tensor *image, size_t place, size_t apart, size_t first) {
    const size_t channels = firn_image_channels(image);
    return (firn_matrix){image->data, image->type, place * channels + first, apart * channels, 1};
}

/* Adds the terms [j.begin, j.end) of a line of dy, whose other factors are in a line of x. */
static void add_line(const piece *p, size_t sample, size_t line, size_t line_of_x, firn_span j) {
    const gradient *g = p->g;
    const firn_window *window = &g->window[FIRN_COLUMNS];
    const size_t number = firn_image_number(g->dy, sample, line, j.begin);
    const size_t at = firn_image_number(g->x, sample, line_of_x, firn_window_at(window, j.begin, p->s));
    const size_t output = p->group * g->outputs + (g->turned ? p->column : p->row);
    const size_t input = p->group * g->inputs + (g->turned ? p->row : p->column);
    const firn_matrix of_dy = places_from(g->dy, number, 1, output);
    const firn_matrix of_x = places_from(g->x, at, window->stride, input);
    const firn_chunked_terms run = {.number = number,
                                    .terms = j.end - j.begin,
                                    .left = firn_transposed(g->turned ? of_x : of_dy),
                                    .right = g->turned ? of_dy : of_x};
    firn_chunked_sums_add(p->sums, &run);
}

/* Adds the terms of all samples. */
static void add_samples(const piece *p) {
    const gradient *g = p->g;
    const firn_window *window = g->window;
    const firn_span lines =
        firn_window_positions(&window[FIRN_ROWS], p->r, firn_image_height(g->x), firn_image_height(g->dy));
    const firn_span columns =
        firn_window_positions(&window[FIRN_COLUMNS], p->s, firn_image_width(g->x), firn_image_width(g->dy));
    for (size_t sample = 0; sample < g->x->dims[0] && columns.begin < columns.end; sample++)
        for (size_t line = lines.begin; line < lines.end; line++)
            add_line(p, sample, line, firn_window_at(&window[FIRN_ROWS], line, p->r), columns);
}

/* Stores a row of totals: channels of x, which lie side by side, or outputs. */
static void store_row(const piece *p, size_t row, const float *totals) {
    const gradient *g = p->g;
    const size_t across = g->window[FIRN_COLUMNS].elements, kernel = g->window[FIRN_ROWS].elements * across;
    const size_t output = p->group * g->outputs + (g->turned ? p->column : p->row + row);
    const size_t input = g->turned ? p->row + row : p->column;
    const size_t at = (output * kernel + p->r * across + p->s) * g->inputs + input;
    if (!g->turned)
        firn_narrow(g->out->data, g->out->type, at, totals, p->sums->columns);
    for (size_t i = 0; i < p->sums->columns && g->turned; i++)
        firn_store(g->out->data, g->out->type, at + i * kernel * g->inputs, totals[i]);
}

/* Piece: a group, an element of the window, and some rows and columns. */
static void compute_piece(void *argument, size_t number, void *slot) {
    const gradient *g = argument;
    const size_t down = firn_ceiling(g->rows, g->height), across = firn_ceiling(g->columns, COLUMNS);
    const size_t element = number / down / across;
    piece p = {.g = g, .sums = slot, .row = number % down * g->height, .column = number / down % across * COLUMNS};
    p.s = element % g->window[FIRN_COLUMNS].elements;
    p.r = element / g->window[FIRN_COLUMNS].elements % g->window[FIRN_ROWS].elements;
    p.group = element / g->window[FIRN_COLUMNS].elements / g->window[FIRN_ROWS].elements;
    firn_chunked_sums_begin(p.sums, g->reduction, firn_smaller(g->height, g->rows - p.row),
                            firn_smaller(COLUMNS, g->columns - p.column));
    add_samples(&p);
    firn_chunked_sums_end(p.sums);
    for (size_t row = 0; row < p.sums->rows; row++)
        store_row(&p, row, p.sums->totals + row * COLUMNS);
}

/* --- the op ------------------------------------------------------------------------------------------------------- */

static void describe(gradient *g, const firn_kernel_call *call) {
    *g = (gradient){.x = &call->inputs[FIRN_CONV_BACKWARD_WEIGHT_IN_X],
                    .dy = &call->inputs[FIRN_CONV_BACKWARD_WEIGHT_IN_DY],
                    .out = &call->outputs[FIRN_CONV_BACKWARD_WEIGHT_OUT_DWEIGHT],
                    .reduction = &call->reductions[FIRN_CONV_BACKWARD_WEIGHT_REDUCTION_PRODUCTS]};
    for (int axis = FIRN_ROWS; axis <= FIRN_COLUMNS; axis++)
        g->window[axis] = firn_window_along(&call->integers[FIRN_CONV_BACKWARD_WEIGHT_STRIDE], axis,
                                            g->out->dims[(int)FIRN_WEIGHT_ROWS + axis]);
    g->groups = (size_t)call->integers[FIRN_CONV_BACKWARD_WEIGHT_GROUPS];
    g->inputs = g->out->dims[FIRN_WEIGHT_INPUTS];
    g->outputs = g->out->dims[FIRN_WEIGHT_OUTPUTS] / g->groups;
    g->turned = g->inputs < FIRN_VECTOR && g->inputs < g->outputs;
    g->rows = g->turned ? g->inputs : g->outputs;
    g->columns = g->turned ? g->outputs : g->inputs;
    /* Pieces of about the same height. */
    g->height = firn_round_up(firn_ceiling(g->rows, firn_ceiling(g->rows, ROWS)), FIRN_CHUNKED_HEIGHT);
}

static bool is_by_channel(const gradient *g) {
    return g->inputs == 1 && g->outputs == 1;
}

uint64_t firn_chunked_conv_weight_scratch(uint16_t op, const firn_kernel_call *call) {
    firn_pointwise layer;
    gradient g;
    if (firn_pointwise_of(&layer, op, call))
        return firn_chunked_scratch(layer.op, &layer.call);
    describe(&g, call);
    return is_by_channel(&g) ? 0 : sizeof(firn_chunked_sums);
}

void firn_chunked_conv_backward_weight(const firn_kernel_call *call) {
    firn_pointwise layer;
    gradient g;
    if (firn_pointwise_of(&layer, FIRN_OP_conv_backward_weight, call)) {
        firn_chunked_linear_backward_weight(&layer.call);
        return;
    }
    describe(&g, call);
    if (is_by_channel(&g)) {
        firn_kernel_conv_backward_weight(call);
        return;
    }
    const size_t kernel = (size_t)g.window[FIRN_ROWS].elements * g.window[FIRN_COLUMNS].elements;
    const size_t pieces = g.groups * kernel * firn_ceiling(g.rows, g.height) * firn_ceiling(g.columns, COLUMNS);
    const uint64_t cost = (uint64_t)g.out->elements * firn_rows(g.dy) / FIRN_CHUNKED_COST;
    firn_pieces_run(call, sizeof(firn_chunked_sums), pieces, cost, compute_piece, &g);
}
