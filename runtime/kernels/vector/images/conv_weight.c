/* The gradient of a convolution's weight in vectors; see conv.h. An element (o, r, s, c) of it is a sum over samples,
 * and over the lines and columns of dy whose windows have their element (r, s) in the image; for one (r, s) these are a
 * rectangle, whose lines are the runs of a tile. The rows of a tile are outputs and its columns are channels of x, or
 * the other way round where there are few channels. If each group has one of both, the columns are groups, and the rows
 * are rows of the window. */
#include <string.h>

#include "runtime/kernels/images/images.h"
#include "runtime/kernels/vector/images/conv.h"
#include "runtime/kernels/vector/images/conv_weight_flushed.h"
#include "runtime/kernels/vector/images/pointwise.h"
#include "runtime/kernels/vector/pack.h"
#include "runtime/kernels/vector/pieces.h"
#include "runtime/kernels/vector/product.h"
#include "runtime/kernels/vector/tile.h"

enum {
    HEIGHT = FIRN_REGISTER_ROWS,
    WIDTH = FIRN_REGISTER_COLUMNS,
    TILES = 4, /* tiles of rows that a piece has at most */
    LINE = 64 / sizeof(float)
};

/* One of the two images: x or dy. */
typedef struct factor {
    const firn_tensor *image;
    size_t channels; /* of a group */
    bool copied;     /* the channels of a piece are widened into the slot, sample by sample */
    size_t row;      /* floats from one place of the image to the next, there or in the tensor */
    size_t at;       /* of the copy, in floats of a slot */
} factor;

typedef struct sums {
    factor x, dy;
    const firn_tensor *out;
    firn_window window[FIRN_AXES];
    size_t groups, samples;
    bool by_channel, turned; /* turned: the rows are channels of x */
    size_t rows, columns;    /* of the product of a group; by_channel: rows of the window, and channels */
    size_t blocks;           /* of rows: by_channel, of columns */
    size_t sums_at, end;     /* in floats of a slot */
} sums;

typedef struct piece {
    const sums *g;
    float *slot;
    size_t group, r, s;
    size_t row, rows;       /* of the product of a group */
    size_t column, columns; /* likewise; not by_channel: all */
} piece;

/* --- the slot ----------------------------------------------------------------------------------------------------- */

static size_t round_up(size_t floats) {
    return (floats + LINE - 1) / LINE * LINE;
}

static size_t places_of(const firn_tensor *image) {
    return firn_image_height(image) * firn_image_width(image);
}

/* channels: those of a piece. places: of the copy. Rows of a copy are padded, because the right factor of a tile is
 * read in whole registers. */
static size_t set_factor(factor *f, bool is_right, size_t channels, size_t places, size_t at) {
    f->copied = f->image->type != FIRN_FLOAT32 || (is_right && f->channels % FIRN_VECTOR != 0);
    f->row = f->copied ? round_up(channels) : firn_image_channels(f->image);
    f->at = at;
    return at + (f->copied ? round_up(places * f->row) : 0);
}

static size_t kernel_columns(const sums *g) {
    return g->window[FIRN_COLUMNS].elements;
}

static void describe(sums *g, const firn_kernel_call *call) {
    *g = (sums){.x.image = &call->inputs[FIRN_CONV_BACKWARD_WEIGHT_IN_X],
                .dy.image = &call->inputs[FIRN_CONV_BACKWARD_WEIGHT_IN_DY],
                .out = &call->outputs[FIRN_CONV_BACKWARD_WEIGHT_OUT_DWEIGHT]};
    for (int axis = FIRN_ROWS; axis <= FIRN_COLUMNS; axis++)
        g->window[axis] = firn_window_along(&call->integers[FIRN_CONV_BACKWARD_WEIGHT_STRIDE], axis,
                                            g->out->dims[(int)FIRN_WEIGHT_ROWS + axis]);
    g->groups = (size_t)call->integers[FIRN_CONV_BACKWARD_WEIGHT_GROUPS];
    g->samples = g->x.image->dims[0];
    g->x.channels = firn_image_channels(g->x.image) / g->groups;
    g->dy.channels = firn_image_channels(g->dy.image) / g->groups;
    g->by_channel = g->x.channels == 1 && g->dy.channels == 1;
    g->turned = g->x.channels < FIRN_VECTOR && g->x.channels < g->dy.channels;
    g->rows = g->by_channel ? g->window[FIRN_ROWS].elements : g->turned ? g->x.channels : g->dy.channels;
    g->columns = g->by_channel ? g->groups : g->turned ? g->dy.channels : g->x.channels;
    g->blocks = g->by_channel ? firn_ceiling(g->columns, WIDTH) : firn_ceiling(g->rows, (size_t)TILES * HEIGHT);
    const size_t x_channels = g->by_channel ? WIDTH : g->x.channels,
                 dy_channels = g->by_channel ? WIDTH : g->dy.channels;
    const size_t x_end = set_factor(&g->x, !g->by_channel && !g->turned, x_channels, places_of(g->x.image), 0);
    g->sums_at = set_factor(&g->dy, !g->by_channel && g->turned, dy_channels, places_of(g->dy.image), x_end);
    g->end = g->sums_at + firn_smaller(round_up(g->rows + HEIGHT), (size_t)TILES * HEIGHT) *
                              firn_ceiling(g->by_channel ? WIDTH : g->columns, WIDTH) * WIDTH;
}

/* `count` channels of a sample as floats, `row` apart from place to place. */
static const float *sample_of(const piece *p, const factor *f, size_t sample, size_t channel, size_t count) {
    const size_t places = places_of(f->image), channels = firn_image_channels(f->image);
    const size_t first = sample * places * channels + channel;
    float *copy = p->slot + f->at;
    if (!f->copied)
        return (const float *)f->image->data + first;
    const firn_matrix rows = {f->image->data, f->image->type, first, channels, 1};
    firn_vector_widen_rows(copy, f->row, &rows, 0, places, 0, count);
    return copy;
}

/* --- a rectangle of terms ----------------------------------------------------------------------------------------- */

/* The lines or columns of dy whose windows have an element in the image. */
static firn_span windows_with(const sums *g, int axis, size_t element) {
    return firn_window_positions(&g->window[axis], element, g->x.image->dims[FIRN_IMAGE_HEIGHT + axis],
                                 g->dy.image->dims[FIRN_IMAGE_HEIGHT + axis]);
}

/* An image as the factor of a rectangle of terms: its place at the first of them, and the steps to the next ones. */
typedef struct terms {
    const float *at;
    size_t line_step, step;
} terms;

static terms terms_of_dy(const sums *g, const float *sample, size_t line, size_t column) {
    const size_t width = firn_image_width(g->dy.image), row = g->dy.row;
    return (terms){sample + (line * width + column) * row, width * row, row};
}

static terms terms_of_x(const sums *g, const float *sample, size_t line, size_t column, size_t r, size_t s) {
    const firn_window *rows = &g->window[FIRN_ROWS], *columns = &g->window[FIRN_COLUMNS];
    const size_t width = firn_image_width(g->x.image), row = g->x.row;
    const size_t place = firn_window_at(rows, line, r) * width + firn_window_at(columns, column, s);
    return (terms){sample + place * row, rows->stride * width * row, columns->stride * row};
}

static void set_terms(firn_register_tile *tile, const terms *left, const terms *right, size_t lines, size_t columns) {
    tile->left = left->at;
    tile->left_run_step = (ptrdiff_t)left->line_step;
    tile->left_term_step = (ptrdiff_t)left->step;
    tile->right = right->at;
    tile->right_run_step = right->line_step;
    tile->right_step = right->step;
    tile->runs = lines;
    tile->terms = columns;
}

/* --- rows of outputs and columns of channels ---------------------------------------------------------------------- */

/* The sums of a tile in the slot: tiles one behind the other. */
static float *place_sums(const piece *p, size_t row, size_t column) {
    const size_t tiles = firn_ceiling(p->columns, WIDTH);
    return p->slot + p->g->sums_at + (row / HEIGHT * tiles + column / WIDTH) * HEIGHT * WIDTH;
}

static void add_sample(const piece *p, size_t sample, firn_span lines, firn_span columns) {
    const sums *g = p->g;
    const bool empty = lines.begin >= lines.end || columns.begin >= columns.end;
    terms dy = {0}, x = {0};
    if (!empty) {
        const size_t inputs = g->x.channels, outputs = g->dy.channels;
        dy = terms_of_dy(g, sample_of(p, &g->dy, sample, p->group * outputs, outputs), lines.begin, columns.begin);
        x = terms_of_x(g, sample_of(p, &g->x, sample, p->group * inputs, inputs), lines.begin, columns.begin, p->r,
                       p->s);
    }
    for (size_t row = 0; row < p->rows; row += HEIGHT)
        for (size_t column = 0; column < p->columns; column += WIDTH) {
            firn_register_tile tile = {.left_row_step = 1,
                                       .rows = firn_smaller(HEIGHT, p->rows - row),
                                       .columns = firn_smaller(WIDTH, p->columns - column),
                                       .begins = sample == 0,
                                       .sums = place_sums(p, row, column),
                                       .sums_step = WIDTH};
            if (!empty) {
                set_terms(&tile, g->turned ? &x : &dy, g->turned ? &dy : &x, lines.end - lines.begin,
                          columns.end - columns.begin);
                tile.left += p->row + row;
                tile.right += column;
            }
            firn_register_tile_multiply(&tile);
        }
}

/* Where the weight has element (r, s) of an output and a channel, both numbered in their group. */
static size_t weight_at(const piece *p, size_t output, size_t channel) {
    const sums *g = p->g;
    const size_t row = (p->group * g->dy.channels + output) * g->window[FIRN_ROWS].elements + p->r;
    return (row * kernel_columns(g) + p->s) * g->x.channels + channel;
}

static void write_sums(const piece *p) {
    const sums *g = p->g;
    for (size_t row = 0; row < p->rows; row++)
        for (size_t column = 0; column < p->columns; column += WIDTH) {
            const size_t count = firn_smaller(WIDTH, p->columns - column);
            const float *values = place_sums(p, row, column) + row % HEIGHT * WIDTH;
            if (!g->turned)
                firn_narrow(g->out->data, g->out->type, weight_at(p, p->row + row, column), values, count);
            for (size_t i = 0; g->turned && i < count; i++)
                firn_store(g->out->data, g->out->type, weight_at(p, column + i, p->row + row), values[i]);
        }
}

/* Piece: element (r, s) of the weight, a group, and a block of its rows. */
static void compute_product(void *argument, size_t number, void *slot) {
    const sums *g = argument;
    const size_t kernel = g->window[FIRN_ROWS].elements * kernel_columns(g), element = number % kernel;
    const size_t height = firn_ceiling(firn_ceiling(g->rows, g->blocks), HEIGHT) * HEIGHT;
    piece p = {.g = g,
               .slot = slot,
               .group = number / kernel / g->blocks,
               .r = element / kernel_columns(g),
               .s = element % kernel_columns(g),
               .row = number / kernel % g->blocks * height,
               .columns = g->columns};
    if (p.row >= g->rows)
        return;
    p.rows = firn_smaller(height, g->rows - p.row);
    const firn_span lines = windows_with(g, FIRN_ROWS, p.r), columns = windows_with(g, FIRN_COLUMNS, p.s);
    for (size_t sample = 0; sample < g->samples; sample++)
        add_sample(&p, sample, lines, columns);
    write_sums(&p);
}

/* --- one channel in each group ------------------------------------------------------------------------------------ */

/* Adds lines of dy to rows of the weight that all have terms of them. */
static void add_lines(const piece *p, const float *dy, const float *x, firn_span lines, firn_span columns, size_t row,
                      size_t rows) {
    const sums *g = p->g;
    const terms left = terms_of_x(g, x, lines.begin, columns.begin, p->row + row, p->s);
    const terms right = terms_of_dy(g, dy, lines.begin, columns.begin);
    firn_register_tile tile = {.left_row_step = g->window[FIRN_ROWS].dilation * firn_image_width(g->x.image) * g->x.row,
                               .rows = rows,
                               .columns = p->columns,
                               .sums = p->slot + g->sums_at + row * WIDTH,
                               .sums_step = WIDTH};
    set_terms(&tile, &left, &right, lines.end - lines.begin, columns.end - columns.begin);
    firn_register_tile_multiply_columns(&tile);
}

/* Adds a sample to the rows of a piece: runs of lines that are those of the same rows. */
static void add_channels(const piece *p, size_t sample, firn_span columns) {
    const sums *g = p->g;
    const float *dy = sample_of(p, &g->dy, sample, p->column, p->columns);
    const float *x = sample_of(p, &g->x, sample, p->column, p->columns);
    firn_span spans[HEIGHT];
    for (size_t row = 0; row < p->rows; row++)
        spans[row] = windows_with(g, FIRN_ROWS, p->row + row);
    for (size_t line = 0, next; line < firn_image_height(g->dy.image); line = next) {
        size_t first = SIZE_MAX, end = 0;
        next = firn_image_height(g->dy.image);
        for (size_t row = 0; row < p->rows; row++) {
            if (line < spans[row].begin)
                next = firn_smaller(next, spans[row].begin);
            if (line < spans[row].begin || line >= spans[row].end)
                continue;
            next = firn_smaller(next, spans[row].end);
            first = firn_smaller(first, row);
            end = row + 1;
        }
        if (end != 0)
            add_lines(p, dy, x, (firn_span){line, next}, columns, first, end - first);
    }
}

/* Piece: a column of the weight, a block of its rows, and a block of channels. */
static void compute_channels(void *argument, size_t number, void *slot) {
    const sums *g = argument;
    const size_t row_blocks = firn_ceiling(g->rows, HEIGHT);
    piece p = {.g = g,
               .slot = slot,
               .s = number % kernel_columns(g),
               .row = number / kernel_columns(g) % row_blocks * HEIGHT,
               .column = number / kernel_columns(g) / row_blocks * WIDTH};
    float *values = p.slot + g->sums_at;
    p.rows = firn_smaller(HEIGHT, g->rows - p.row);
    p.columns = firn_smaller(WIDTH, g->columns - p.column);
    for (size_t i = 0; i < p.rows * WIDTH; i++)
        values[i] = 0.0f;
    const firn_span columns = windows_with(g, FIRN_COLUMNS, p.s);
    for (size_t sample = 0; sample < g->samples && columns.begin < columns.end; sample++)
        add_channels(&p, sample, columns);
    for (size_t row = 0; row < p.rows; row++)
        for (size_t i = 0; i < p.columns; i++)
            firn_store(g->out->data, g->out->type, ((p.column + i) * g->rows + p.row + row) * kernel_columns(g) + p.s,
                       values[row * WIDTH + i]);
}

/* --- the op ------------------------------------------------------------------------------------------------------- */

static bool is_flushed(const firn_kernel_call *call) {
    return call->reductions[FIRN_CONV_BACKWARD_WEIGHT_REDUCTION_PRODUCTS].kind != FIRN_REDUCTION_F32;
}

void firn_vector_conv_backward_weight(const firn_kernel_call *call) {
    firn_pointwise layer;
    sums g;
    if (firn_pointwise_of(&layer, FIRN_OP_conv_backward_weight, call)) {
        firn_vector_linear_backward_weight(&layer.call);
        return;
    }
    if (is_flushed(call)) {
        firn_vector_conv_weight_flushed(call);
        return;
    }
    describe(&g, call);
    const uint64_t cost = (uint64_t)g.dy.image->elements * g.window[FIRN_ROWS].elements * kernel_columns(&g) *
                          g.x.channels / FIRN_MULTIPLICATIONS;
    const size_t pieces = g.by_channel ? kernel_columns(&g) * firn_ceiling(g.rows, HEIGHT) * g.blocks
                                       : g.window[FIRN_ROWS].elements * kernel_columns(&g) * g.blocks * g.groups;
    firn_pieces_run(call, g.end * sizeof(float), pieces, cost, g.by_channel ? compute_channels : compute_product, &g);
}

uint64_t firn_vector_conv_backward_weight_scratch(uint16_t op, const firn_kernel_call *call) {
    firn_pointwise layer;
    sums g;
    if (firn_pointwise_of(&layer, op, call))
        return firn_vector_linear_scratch(layer.op, &layer.call);
    if (is_flushed(call))
        return firn_vector_conv_weight_flushed_scratch(call);
    describe(&g, call);
    return g.end * sizeof(float);
}
