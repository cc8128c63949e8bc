/* The gradient of a convolution's weight in flushed sums; see conv_weight_flushed.h. The terms of a sum are the places
 * of dy, of all samples one behind the other, whatever windows there have in the image. Some of them are copied at a
 * time, together with the lines of x that their windows lie on, between zeros. All elements of the windows read these
 * copies: the place of a term in that of x is the same for each element, plus a distance. As in conv_weight.c the rows
 * of a tile are outputs and its columns are channels of x, or the other way round where there are few channels, and
 * rows are then channels of several elements that lie side by side. With one channel in each group, rows are elements
 * side by side. Blocks of terms that an element of the weight has none of are left out of its sum. */
#include "runtime/kernels/vector/images/conv_weight_flushed.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/kernels/images/images.h"
#include "runtime/kernels/vector/engine/flush.h"
#include "runtime/kernels/vector/images/padded.h"
#include "runtime/kernels/vector/images/placed.h"
#include "runtime/kernels/vector/pack.h"
#include "runtime/kernels/vector/pieces.h"

enum {
    HEIGHT = FIRN_REGISTER_ROWS,
    WIDTH = FIRN_REGISTER_COLUMNS,
    PIECES = 4,       /* for each thread, so that none waits long for the last one */
    DEPTH = 256,      /* terms that are copied at a time, at most */
    TOGETHER = 32,    /* elements of a line of the window, at most */
    NEAR = 48 * 1024, /* floats of a copy of x, and sums of a piece, that caches keep; more if the least is more */
    LINE = 64 / sizeof(float),
    WORD = 64 /* bits */
};

_Static_assert((int)DEPTH % (int)FIRN_ENGINE_BLOCK == 0, "only the last terms end within a block");
_Static_assert((int)DEPTH / 2 % (int)WORD == 0, "a bit for each pair");

typedef struct sums {
    const firn_tensor *dy, *out;
    firn_padded x;
    firn_window window[FIRN_AXES];
    uint8_t kind;                   /* of the reduction */
    unsigned shift;                 /* log2 of the terms of a block */
    size_t groups, inputs, outputs; /* channels of a group */
    bool by_channel, turned;        /* turned: the rows are channels of x; so if by_channel */
    size_t panels;                  /* of the copy of x */
    size_t together;                /* elements side by side whose rows are equally far apart */
    size_t depth;                   /* terms of the copies */
    uint64_t lines;                 /* of a panel of x, of the copy */
    size_t unit, units;             /* outputs of a strip or a panel, and strips or panels of a group */
    size_t some_units, some_lines;  /* of a piece: units, and lines of the window */
    struct {
        uint64_t columns, places, x, dy, sums, end; /* in floats */
    } at;
} sums;

typedef struct piece {
    const sums *g;
    float *slot;
    size_t channel, channels; /* of x */
    size_t output, outputs;   /* of dy; numbered in the image */
    size_t first, lines;      /* lines of the window */
} piece;

/* --- the slot ----------------------------------------------------------------------------------------------------- */

static uint64_t round_up(uint64_t floats) {
    return (floats + LINE - 1) / LINE * LINE;
}

/* Lines of x under `lines` lines of the window and `count` lines of dy of one sample. */
static uint64_t lines_under(const sums *g, uint64_t lines, uint64_t count) {
    const firn_window *rows = &g->window[FIRN_ROWS];
    return (count - 1) * rows->stride + (lines - 1) * rows->dilation + 1;
}

/* Lines of x under so many terms, at most. */
static uint64_t most_lines(const sums *g, size_t depth) {
    const size_t width = firn_image_width(g->dy), height = firn_image_height(g->dy);
    const uint64_t lines = firn_smaller((depth - 1) / width + 2, depth), samples = (lines - 1) / height + 2;
    return lines * g->window[FIRN_ROWS].stride + samples * lines_under(g, g->some_lines, 1);
}

/* Rows of a tile, or of several, for one element of the window. */
static size_t rows_of_element(const sums *g) {
    return g->by_channel ? 1 : g->inputs;
}

/* Sums of a piece for each unit and each line of the window. */
static uint64_t sums_of_line(const sums *g) {
    const uint64_t columns = g->window[FIRN_COLUMNS].elements;
    return columns * WIDTH * (g->turned ? rows_of_element(g) : g->panels * HEIGHT);
}

/* Floats of a copy of dy for each term and unit. */
static size_t dy_step(const sums *g) {
    return g->turned ? WIDTH : FIRN_VECTOR;
}

static void lay_out(sums *g) {
    const uint64_t line = (uint64_t)g->panels * g->x.width * g->x.row;
    g->some_lines = 1 + firn_smaller(g->window[FIRN_ROWS].elements - 1, (size_t)(NEAR / sums_of_line(g)));
    g->some_units = 1 + firn_smaller(g->units - 1, (size_t)(NEAR / (g->some_lines * sums_of_line(g))));
    for (g->depth = DEPTH; g->depth > FIRN_ENGINE_BLOCK && most_lines(g, g->depth) * line > NEAR;)
        g->depth /= 2;
    g->lines = most_lines(g, g->depth);
    g->at.columns = 0;
    g->at.places = round_up((uint64_t)g->window[FIRN_COLUMNS].elements * sizeof(firn_span) / sizeof(float));
    g->at.x = g->at.places + round_up(g->depth * sizeof(firn_term_place) / sizeof(float));
    g->at.dy = g->at.x + round_up(g->lines * line);
    g->at.sums = g->at.dy + g->some_units * g->depth * dy_step(g);
    g->at.end = g->at.sums + g->some_units * g->some_lines * sums_of_line(g);
}

/* Lines and columns that lie only in the padding are copied, too, and a place of a term has 32 bits. Where these are
 * too few, the portable kernel takes the op. The slot is measured in 64 bits also where a size has 32. */
static bool fits(const sums *g) {
    return g->at.end <= UINT32_MAX;
}

_Static_assert(sizeof(firn_span) % sizeof(float) == 0 && sizeof(firn_term_place) % sizeof(float) == 0,
               "these lie in an array of floats");

static void describe(sums *g, const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_CONV_BACKWARD_WEIGHT_IN_X];
    *g = (sums){.dy = &call->inputs[FIRN_CONV_BACKWARD_WEIGHT_IN_DY],
                .out = &call->outputs[FIRN_CONV_BACKWARD_WEIGHT_OUT_DWEIGHT],
                .kind = call->reductions[FIRN_CONV_BACKWARD_WEIGHT_REDUCTION_PRODUCTS].kind,
                .groups = (size_t)call->integers[FIRN_CONV_BACKWARD_WEIGHT_GROUPS]};
    for (int axis = FIRN_ROWS; axis <= FIRN_COLUMNS; axis++)
        g->window[axis] = firn_window_along(&call->integers[FIRN_CONV_BACKWARD_WEIGHT_STRIDE], axis,
                                            g->out->dims[(int)FIRN_WEIGHT_ROWS + axis]);
    const firn_window *columns = &g->window[FIRN_COLUMNS];
    g->shift = g->kind == FIRN_REDUCTION_EVEN_ODD_BLOCKS ? 5 : 1;
    g->inputs = firn_image_channels(x) / g->groups;
    g->outputs = firn_image_channels(g->dy) / g->groups;
    g->by_channel = g->inputs == 1 && g->outputs == 1;
    g->turned = g->by_channel || (g->inputs < FIRN_VECTOR && g->inputs < g->outputs);
    g->panels = g->turned ? 1 : firn_ceiling(g->inputs, WIDTH);
    g->x = (firn_padded){
        x, (firn_image_width(g->dy) - 1) * columns->stride + (size_t)(columns->elements - 1) * columns->dilation + 1,
        columns->before, g->turned && !g->by_channel ? g->inputs : WIDTH};
    g->together = g->by_channel || (g->turned && columns->dilation == 1) ? TOGETHER : 1;
    g->unit = g->turned ? WIDTH : HEIGHT;
    g->units = firn_ceiling(g->outputs, g->unit);
    lay_out(g);
}

/* --- some terms --------------------------------------------------------------------------------------------------- */

/* Terms of one line of dy: `count` from term `at` of the copies on, of which the first lies in that column. */
typedef struct part {
    size_t at, count;
    size_t line, column; /* line: in its sample */
    size_t copy;         /* the line of the copy of x that is the first one under this line */
} part;

typedef struct some_terms {
    size_t first, count;
    size_t parts;
    part part[DEPTH];
} some_terms;

/* Begins the next terms, and finds the lines that they lie on. False behind the last one. */
static bool next_terms(const sums *g, some_terms *terms) {
    const size_t width = firn_image_width(g->dy), height = firn_image_height(g->dy);
    const size_t all = g->dy->dims[0] * height * width;
    terms->first += terms->count;
    terms->count = firn_smaller(g->depth, all - terms->first);
    terms->parts = 0;
    if (terms->count == 0)
        return false;
    size_t line = terms->first / width % height, column = terms->first % width, copy = 0;
    for (size_t at = 0, count; at < terms->count; at += count) {
        count = firn_smaller(width - column, terms->count - at);
        terms->part[terms->parts++] = (part){at, count, line, column, copy};
        copy += g->window[FIRN_ROWS].stride;
        column = 0;
        if (++line == height) {
            line = 0;
            copy += (size_t)lines_under(g, g->some_lines, 1);
        }
    }
    return true;
}

/* Whether a line of the window lies on this line behind the first one under a sample's terms. */
static bool is_read(const piece *p, size_t line) {
    const firn_window *rows = &p->g->window[FIRN_ROWS];
    for (size_t r = 0; r < p->lines && r * rows->dilation <= line; r++)
        if ((line - r * rows->dilation) % rows->stride == 0)
            return true;
    return false;
}

/* Copies the lines of x under `count` lines of dy of a sample. */
static void copy_x(const piece *p, const part *first, size_t count, size_t sample) {
    const sums *g = p->g;
    const firn_window *rows = &g->window[FIRN_ROWS];
    const size_t height = firn_image_height(g->x.image), line = g->x.width * g->x.row;
    const size_t top = firn_window_at(rows, first->line, p->first); /* beyond any line if it is above the image */
    for (size_t i = 0; i < lines_under(g, p->lines, count); i++) {
        if (!is_read(p, i))
            continue;
        for (size_t panel = 0; panel < g->panels; panel++) {
            float *copy = p->slot + g->at.x + (panel * g->lines + first->copy + i) * line;
            if (top + i < height)
                firn_padded_line(&g->x, copy, sample * height + top + i, p->channel + panel * WIDTH,
                                 firn_smaller(p->channels - panel * WIDTH, g->x.row));
            else
                firn_padded_zeros(&g->x, copy);
        }
    }
}

static void copy_dy(const piece *p, const some_terms *terms) {
    const sums *g = p->g;
    const size_t channels = firn_image_channels(g->dy);
    const firn_matrix from = {g->dy->data, g->dy->type, p->output, channels, 1};
    float *copy = p->slot + g->at.dy;
    if (!g->turned) {
        firn_vector_pack_strips(copy, &from, terms->first, terms->count, 0, HEIGHT, p->outputs);
        return;
    }
    for (size_t lane = 0; lane < p->outputs; lane += WIDTH, copy += terms->count * WIDTH)
        firn_vector_pack(copy, 2, &from, terms->first, terms->count, lane, firn_smaller(WIDTH, p->outputs - lane));
}

static firn_term_place *places_of(const piece *p) {
    return (firn_term_place *)(void *)(p->slot + p->g->at.places);
}

static void place_terms(const piece *p, const some_terms *terms) {
    const sums *g = p->g;
    const uint32_t step = (uint32_t)(g->window[FIRN_COLUMNS].stride * g->x.row);
    firn_term_place *place = places_of(p);
    uint32_t dy = 0;
    for (const part *own = terms->part; own < terms->part + terms->parts; own++) {
        uint32_t x = (uint32_t)(own->copy * g->x.width * g->x.row) + (uint32_t)own->column * step;
        for (size_t i = 0; i < own->count; i++, x += step, dy += (uint32_t)dy_step(g))
            *place++ = g->turned ? (firn_term_place){x, dy} : (firn_term_place){dy, x};
    }
}

static void copy_terms(const piece *p, const some_terms *terms) {
    const sums *g = p->g;
    const size_t height = firn_image_height(g->dy);
    size_t sample = terms->first / firn_image_width(g->dy) / height;
    for (size_t i = 0, count; i < terms->parts; i += count, sample++) {
        count = firn_smaller(terms->parts - i, height - terms->part[i].line);
        copy_x(p, &terms->part[i], count, sample);
    }
    copy_dy(p, terms);
    place_terms(p, terms);
}

/* --- blocks that have a term -------------------------------------------------------------------------------------- */

/* A bit for each block. */
typedef struct blocks {
    uint64_t words[DEPTH / 2 / WORD];
} blocks;

static void set_blocks(blocks *set, size_t begin, size_t end) {
    for (size_t word = begin / WORD; word * WORD < end; word++) {
        const size_t first = begin > word * WORD ? begin - word * WORD : 0;
        const size_t last = firn_smaller(WORD, end - word * WORD) - 1;
        set->words[word] |= UINT64_MAX << first & UINT64_MAX >> (WORD - 1 - last);
    }
}

static bool has_block(const blocks *set, size_t block) {
    return (set->words[block / WORD] >> block % WORD & 1u) != 0;
}

/* The number of blocks from this one on that the set has, if it has this one, or has not; up to `most`. */
static size_t alike(const blocks *set, size_t block, size_t most) {
    const uint64_t flip = has_block(set, block) ? UINT64_MAX : 0;
    size_t at = block;
    while (at < block + most) {
        const uint64_t others = (set->words[at / WORD] ^ flip) >> at % WORD;
        if (others != 0)
            return firn_smaller(at + (size_t)__builtin_ctzll(others) - block, most);
        at = (at / WORD + 1) * WORD;
    }
    return most;
}

/* The blocks of which element (r, s) of the windows has a term. */
static blocks blocks_with(const piece *p, const some_terms *terms, size_t r, size_t s) {
    const sums *g = p->g;
    const firn_span inside = ((const firn_span *)(const void *)(p->slot + g->at.columns))[s];
    const size_t height = firn_image_height(g->x.image);
    blocks found = {{0}};
    for (const part *own = terms->part; own < terms->part + terms->parts; own++) {
        const size_t begin = own->column > inside.begin ? own->column : inside.begin;
        const size_t end = firn_smaller(own->column + own->count, inside.end);
        if (begin < end && firn_window_at(&g->window[FIRN_ROWS], own->line, r) < height)
            set_blocks(&found, (own->at + begin - own->column) >> g->shift,
                       ((own->at + end - own->column - 1) >> g->shift) + 1);
    }
    return found;
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

/* Where row `row` of an element has its sums: [panel of outputs][line, column, row][WIDTH] if turned, or
 * [line, column, panel of channels][row][WIDTH]. */
static float *sums_at(const piece *p, size_t r, size_t s, size_t panel, size_t row) {
    const sums *g = p->g;
    const size_t columns = g->window[FIRN_COLUMNS].elements, element = (r - p->first) * columns + s;
    const size_t line = g->turned ? (panel * p->lines * columns + element) * rows_of_element(g) + row
                                  : (element * g->panels + panel) * p->outputs + row;
    return p->slot + g->at.sums + line * WIDTH;
}

/* Adds to rows in tiles of nearly the same height. */
static void add_rows(const sums *g, firn_register_tile tile, size_t rows, size_t next_left,
                     const firn_term_place *places) {
    for (size_t tiles = firn_ceiling(rows, HEIGHT); tiles > 0; tiles--) {
        tile.rows = firn_ceiling(rows, tiles);
        if (g->by_channel)
            firn_placed_add_columns(g->kind, &tile, places);
        else
            firn_placed_add(g->kind, &tile, places);
        tile.left += tile.rows * next_left;
        tile.sums += tile.rows * WIDTH;
        rows -= tile.rows;
    }
}

/* Adds terms from `at` on to elements s, s + 1 and so on of line r. */
static void add_to_elements(const piece *p, const some_terms *terms, size_t r, size_t s, size_t elements, size_t at,
                            size_t count) {
    const sums *g = p->g;
    const size_t line = (r - p->first) * g->window[FIRN_ROWS].dilation, column = s * g->window[FIRN_COLUMNS].dilation;
    const float *x = p->slot + g->at.x + (line * g->x.width + column) * g->x.row, *dy = p->slot + g->at.dy;
    const firn_term_place *places = places_of(p) + at;
    firn_register_tile tile = {.left_row_step = 1, .terms = count, .sums_step = WIDTH};
    if (g->turned) {
        tile.left = x;
        tile.left_row_step = g->by_channel ? (size_t)g->window[FIRN_COLUMNS].dilation * WIDTH : 1;
        for (size_t lane = 0; lane < p->outputs; lane += WIDTH, dy += terms->count * WIDTH) {
            tile.right = dy;
            tile.columns = firn_smaller(WIDTH, p->outputs - lane);
            tile.sums = sums_at(p, r, s, lane / WIDTH, 0);
            add_rows(g, tile, elements * rows_of_element(g), tile.left_row_step, places);
        }
        return;
    }
    for (size_t panel = 0; panel < g->panels; panel++, x += g->lines * g->x.width * WIDTH) {
        tile.right = x;
        tile.columns = firn_smaller(WIDTH, p->channels - panel * WIDTH);
        for (size_t row = 0; row < p->outputs; row += HEIGHT) {
            tile.left = dy + row / HEIGHT * terms->count * FIRN_VECTOR;
            tile.rows = firn_smaller(HEIGHT, p->outputs - row);
            tile.sums = sums_at(p, r, s, panel, row);
            firn_placed_add(g->kind, &tile, places);
        }
    }
}

/* Adds to elements side by side, block by block to those that have a term of it. */
static void add_blocks(const piece *p, const some_terms *terms, size_t r, size_t s, size_t elements) {
    const sums *g = p->g;
    const size_t all = ((terms->count - 1) >> g->shift) + 1;
    blocks present[TOGETHER];
    for (size_t i = 0; i < elements; i++)
        present[i] = blocks_with(p, terms, r, s + i);
    for (size_t block = 0, count; block < all; block += count) {
        count = all - block;
        for (size_t i = 0; i < elements; i++)
            count = alike(&present[i], block, count);
        const size_t at = block << g->shift, behind = firn_smaller((block + count) << g->shift, terms->count);
        for (size_t i = 0, end; i < elements; i = end + 1) {
            for (end = i; end < elements && has_block(&present[end], block);)
                end++;
            if (end > i)
                add_to_elements(p, terms, r, s + i, end - i, at, behind - at);
        }
    }
}

static __attribute__((noinline)) void add_terms(const piece *p, const some_terms *terms) {
    const sums *g = p->g;
    const size_t columns = g->window[FIRN_COLUMNS].elements;
    for (size_t r = p->first; r < p->first + p->lines; r++)
        for (size_t s = 0; s < columns; s += g->together)
            add_blocks(p, terms, r, s, firn_smaller(g->together, columns - s));
}

static void write_sums(const piece *p) {
    const sums *g = p->g;
    const size_t columns = g->window[FIRN_COLUMNS].elements, kernel = g->window[FIRN_ROWS].elements * columns;
    for (size_t output = 0; output < p->outputs; output++)
        for (size_t r = p->first; r < p->first + p->lines; r++) {
            const size_t line = ((p->output + output) * kernel + r * columns) * g->inputs;
            if (g->turned) {
                const float *own = sums_at(p, r, 0, output / WIDTH, 0) + output % WIDTH;
                for (size_t i = 0; i < columns * g->inputs; i++)
                    firn_store(g->out->data, g->out->type, line + i, own[i * WIDTH]);
                continue;
            }
            for (size_t s = 0; s < columns; s++)
                for (size_t channel = 0; channel < g->inputs; channel += WIDTH)
                    firn_narrow(g->out->data, g->out->type, line + s * g->inputs + channel,
                                sums_at(p, r, s, channel / WIDTH, output), firn_smaller(WIDTH, g->inputs - channel));
        }
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

static size_t pieces_of(const sums *g) {
    const size_t units = firn_ceiling(g->units, g->some_units);
    return (g->by_channel ? firn_ceiling(g->groups, WIDTH) : g->groups) * units *
           firn_ceiling(g->window[FIRN_ROWS].elements, g->some_lines);
}

/* Piece: some lines of the window, and outputs of a group; by_channel: groups. */
static void begin_piece(piece *p, size_t number) {
    const sums *g = p->g;
    const size_t parts = firn_ceiling(g->window[FIRN_ROWS].elements, g->some_lines);
    const size_t blocks_of_units = firn_ceiling(g->units, g->some_units), group = number / parts / blocks_of_units;
    p->first = number % parts * g->some_lines;
    p->lines = firn_smaller(g->some_lines, g->window[FIRN_ROWS].elements - p->first);
    if (g->by_channel) {
        p->channel = p->output = group * WIDTH;
        p->channels = p->outputs = firn_smaller(WIDTH, g->groups - p->output);
        return;
    }
    const size_t output = number / parts % blocks_of_units * g->some_units * g->unit;
    p->channel = group * g->inputs;
    p->channels = g->inputs;
    p->output = group * g->outputs + output;
    p->outputs = firn_smaller(g->some_units * g->unit, g->outputs - output);
}

static void compute_piece(void *argument, size_t number, void *slot) {
    const sums *g = argument;
    piece p = {.g = g, .slot = slot};
    some_terms terms;
    begin_piece(&p, number);
    firn_span *columns = (firn_span *)(void *)(p.slot + g->at.columns);
    for (size_t s = 0; s < g->window[FIRN_COLUMNS].elements; s++)
        columns[s] =
            firn_window_positions(&g->window[FIRN_COLUMNS], s, firn_image_width(g->x.image), firn_image_width(g->dy));
    memset(p.slot + g->at.sums, 0, (size_t)(g->at.end - g->at.sums) * sizeof(float));
    terms.first = terms.count = 0;
    while (next_terms(g, &terms)) {
        copy_terms(&p, &terms);
        const unsigned mode = firn_flush_begin();
        add_terms(&p, &terms);
        firn_flush_end(mode);
    }
    for (float *sum = p.slot + g->at.sums; sum < p.slot + g->at.end; sum += FIRN_VECTOR)
        firn_vector_store(sum, firn_vector_canonical(firn_vector_load(sum)));
    write_sums(&p);
}

void firn_vector_conv_weight_flushed(const firn_kernel_call *call) {
    sums g;
    describe(&g, call);
    if (!fits(&g)) {
        firn_kernel_conv_backward_weight(call);
        return;
    }
    const uint64_t cost = (uint64_t)g.dy->elements * g.window[FIRN_ROWS].elements * g.window[FIRN_COLUMNS].elements *
                          g.inputs / FIRN_MULTIPLICATIONS;
    const size_t needed = (size_t)g.at.end * sizeof(float), threads = firn_parallel_threads(&call->parallel, cost);
    while (threads > 1 && pieces_of(&g) < threads * PIECES && g.some_units != 1)
        g.some_units = firn_ceiling(g.some_units, 2);
    while (threads > 1 && pieces_of(&g) < threads * PIECES && g.some_lines != 1)
        g.some_lines = firn_ceiling(g.some_lines, 2);
    firn_pieces_run(call, needed, pieces_of(&g), cost, compute_piece, &g);
}

uint64_t firn_vector_conv_weight_flushed_scratch(const firn_kernel_call *call) {
    sums g;
    describe(&g, call);
    return fits(&g) ? g.at.end * sizeof(float) : 0;
}
