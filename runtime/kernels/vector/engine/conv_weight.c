/* The gradient of a convolution's weight by a matrix engine; see conv.h. For each group it is one product: its rows are
 * outputs, its columns are the elements (r, s, channel) of an output's weight, its terms are all windows. A piece turns
 * dy into rows once for each block of terms. It packs x for one panel of columns at a time, with zeros outside of the
 * image. Columns of one panel may lack different blocks of terms, as (r, s) decides: a block that only some of them
 * have is added to copies of the sums. The sizes are estimates. */
#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/images/images.h"
#include "runtime/kernels/vector/engine/conv.h"
#include "runtime/kernels/vector/engine/division.h"
#include "runtime/kernels/vector/engine/engine.h"
#include "runtime/kernels/vector/engine/product.h"
#include "runtime/kernels/vector/images/conv.h"
#include "runtime/kernels/vector/images/pointwise.h"
#include "runtime/kernels/vector/pieces.h"
#include "runtime/kernels/vector/vector.h"

enum {
    DEPTH = 512,   /* terms in a block: a panel fills 32 KiB */
    ROWS = 512,    /* of a piece, at most: those of dy fill 512 KiB of the L2 cache */
    COLUMNS = 640, /* of a piece, at most: 3 by 3 elements of 64 channels fit */
    WIDTH = FIRN_WORD_COLUMNS
};

_Static_assert((int)DEPTH % (int)FIRN_ENGINE_TERMS == 0, "a block of terms is whole instructions");
_Static_assert((int)WIDTH == 32, "a bit for each column of a panel");

typedef struct gradient {
    const firn_tensor *x, *dy, *out;
    firn_window window[FIRN_AXES];
    size_t groups, inputs, outputs; /* inputs, outputs: channels of a group */
    size_t columns;                 /* elements of the weight of an output */
    size_t terms;                   /* windows */
    firn_engine_division division;
    struct {
        size_t left, panel, sums, some, end; /* in bytes of a slot */
    } at;
} gradient;

typedef struct piece {
    const gradient *g;
    uint8_t *slot;
    size_t group, row, rows, column, columns;
    size_t term, terms, words; /* of the current block */
} piece;

/* Some columns of the current block of terms. Bit c of present[b] is set if column c has a term in block b of the
 * flushed sum. */
typedef struct panel {
    size_t column, lanes;
    uint32_t present[DEPTH / 2];
} panel;

/* --- the slot ----------------------------------------------------------------------------------------------------- */

/* Moves the end of the slot behind so many bytes and returns where these begin. */
static size_t take(gradient *g, size_t bytes) {
    const size_t at = g->at.end;
    g->at.end += firn_round_up(bytes, FIRN_CACHE_LINE);
    return at;
}

static size_t sums_bytes(const gradient *g) {
    return firn_round_up(g->division.rows, FIRN_ENGINE_ROWS_MAX) * g->division.columns * sizeof(float);
}

static void lay_out(gradient *g) {
    const size_t rows = firn_round_up(g->division.rows, FIRN_ENGINE_ROWS_MAX);
    g->at.left = take(g, rows * (DEPTH + FIRN_ENGINE_GAP) * sizeof(uint16_t));
    g->at.panel = take(g, (size_t)DEPTH / 2 * WIDTH * sizeof(uint32_t));
    g->at.sums = take(g, sums_bytes(g));
    g->at.some = take(g, (size_t)FIRN_ENGINE_ROWS_MAX * WIDTH * sizeof(float));
}

static uint32_t *words_at(const piece *p, size_t at) {
    return (uint32_t *)(void *)(p->slot + at);
}

static uint16_t *halves_at(const piece *p, size_t at) {
    return (uint16_t *)(void *)(p->slot + at);
}

static float *floats_at(const piece *p, size_t at) {
    return (float *)(void *)(p->slot + at);
}

/* --- factors ------------------------------------------------------------------------------------------------------ */

static void pack_left(const piece *p) {
    const gradient *g = p->g;
    const size_t channels = firn_image_channels(g->dy);
    const firn_words_of from = {.first =
                                    (const uint16_t *)g->dy->data + p->term * channels + p->group * g->outputs + p->row,
                                .term_step = channels,
                                .lane_step = 1,
                                .terms = p->terms,
                                .lanes = p->rows};
    firn_words_pack_rows(words_at(p, g->at.left), (DEPTH + FIRN_ENGINE_GAP) / 2, &from, p->words);
}

/* An element (r, s) of the windows, and the columns that are some of its channels. */
typedef struct element {
    size_t r, s, channel, lane, lanes;
    uint32_t columns;
    firn_span inside; /* the columns of dy whose windows have it in the image */
} element;

/* Terms [at, at + count) of the lanes [lane, lane + lanes) of a panel, whose terms are packed in ascending order: the
 * first term of a word clears the second one. */
typedef struct panel_part {
    uint32_t *words;
    size_t lane, lanes, at, count;
} panel_part;

static uint32_t *word_of(const panel_part *to, size_t term) {
    return to->words + term / 2 * WIDTH + to->lane;
}

static void clear_terms(const panel_part *to) {
    for (size_t term = firn_round_up(to->at, 2); term < to->at + to->count; term += 2)
        memset(word_of(to, term), 0, to->lanes * sizeof *to->words);
}

/* Some lanes of a term in the lower halves of words. */
static inline __attribute__((always_inline)) firn_words load_term(const uint16_t *from, firn_lanes some, bool whole) {
    firn_vector_halves halves;
    if (!whole)
        return firn_words_from_halves(firn_halves_load_some(some, from));
    memcpy(&halves, from, sizeof halves);
    return firn_words_from_halves(halves);
}

static inline __attribute__((always_inline)) void store_word(uint32_t *to, firn_words word, firn_lanes some,
                                                             bool whole) {
    const firn_vector bits = firn_vector_from_bits(word);
    if (whole)
        memcpy(to, &bits, sizeof bits);
    else
        firn_vector_store_some((float *)(void *)to, some, bits);
}

/* Packs a register of lanes, or some of it. The terms lie `step` apart. */
static inline __attribute__((always_inline)) void pack_lanes(const panel_part *to, const uint16_t *from, size_t step,
                                                             firn_lanes some, bool whole) {
    size_t term = to->at, end = to->at + to->count;
    if (term % 2 != 0) {
        const float *word = (const float *)(const void *)word_of(to, term);
        const firn_vector before = whole ? firn_vector_load(word) : firn_vector_load_some(some, word);
        const firn_words second = firn_words_left(load_term(from, some, whole), 16);
        store_word(word_of(to, term++), firn_words_or(firn_vector_bits(before), second), some, whole);
        from += step;
    }
    for (; term + 2 <= end; term += 2, from += 2 * step) {
        const firn_words second = firn_words_left(load_term(from + step, some, whole), 16);
        store_word(word_of(to, term), firn_words_or(load_term(from, some, whole), second), some, whole);
    }
    if (term < end)
        store_word(word_of(to, term), load_term(from, some, whole), some, whole);
}

static void pack_terms(const panel_part *to, const uint16_t *from, size_t step) {
    panel_part part = *to;
    for (size_t lane = 0; lane < to->lanes; lane += FIRN_VECTOR) {
        part.lane = to->lane + lane;
        part.lanes = firn_smaller(FIRN_VECTOR, to->lanes - lane);
        if (part.lanes == FIRN_VECTOR)
            pack_lanes(&part, from + lane, step, firn_first_lanes(FIRN_VECTOR), true);
        else
            pack_lanes(&part, from + lane, step, firn_first_lanes(part.lanes), false);
    }
}

static void mark(panel *own, size_t begin, size_t end, uint32_t columns) {
    const size_t block = 2 * firn_engine_of_set.words;
    for (size_t i = begin / block; i * block < end; i++)
        own->present[i] |= columns;
}

/* Packs the windows [j, end) of a line; `at` is the first one's term of the block. */
static void pack_line(const piece *p, panel *own, const element *e, size_t at, size_t line, firn_span j) {
    const gradient *g = p->g;
    const size_t height = firn_image_height(g->dy), channels = firn_image_channels(g->x);
    const size_t h = firn_window_at(&g->window[FIRN_ROWS], line % height, e->r);
    panel_part to = {.words = words_at(p, g->at.panel), .lane = e->lane, .lanes = e->lanes, .at = at};
    firn_span in = {j.begin > e->inside.begin ? j.begin : e->inside.begin, firn_smaller(j.end, e->inside.end)};
    if (h >= firn_image_height(g->x) || in.begin >= in.end)
        in = (firn_span){j.end, j.end};
    to.count = in.begin - j.begin;
    clear_terms(&to);
    to.at += to.count;
    to.count = in.end - in.begin;
    if (to.count != 0) {
        const size_t w = firn_window_at(&g->window[FIRN_COLUMNS], in.begin, e->s);
        const size_t from = firn_image_number(g->x, line / height, h, w) * channels + p->group * g->inputs + e->channel;
        pack_terms(&to, (const uint16_t *)g->x->data + from, g->window[FIRN_COLUMNS].stride * channels);
        mark(own, to.at, to.at + to.count, e->columns);
    }
    to.at += to.count;
    to.count = j.end - in.end;
    clear_terms(&to);
}

static void pack_element(const piece *p, panel *own, const element *e) {
    const size_t width = firn_image_width(p->g->dy);
    for (size_t at = 0, count; at < p->terms; at += count) {
        const size_t j = (p->term + at) % width;
        count = firn_smaller(width - j, p->terms - at);
        pack_line(p, own, e, at, (p->term + at) / width, (firn_span){j, j + count});
    }
    const panel_part behind = {words_at(p, p->g->at.panel), e->lane, e->lanes, p->terms, 2 * p->words - p->terms};
    clear_terms(&behind);
}

/* Columns of the panel behind the last one keep what they have, because nobody reads their sums. */
static void pack_panel(const piece *p, panel *own) {
    const gradient *g = p->g;
    const size_t column_elements = g->window[FIRN_COLUMNS].elements;
    memset(own->present, 0, sizeof own->present);
    for (size_t lane = 0, lanes; lane < own->lanes; lane += lanes) {
        const size_t column = p->column + own->column + lane, number = column / g->inputs;
        element e = {
            .r = number / column_elements, .s = number % column_elements, .channel = column % g->inputs, .lane = lane};
        lanes = firn_smaller(g->inputs - e.channel, own->lanes - lane);
        e.lanes = lanes;
        e.columns = UINT32_MAX >> (WIDTH - lanes) << lane;
        e.inside =
            firn_window_positions(&g->window[FIRN_COLUMNS], e.s, firn_image_width(g->x), firn_image_width(g->dy));
        pack_element(p, own, &e);
    }
}

/* --- products ----------------------------------------------------------------------------------------------------- */

/* Adds terms to the columns whose bits are set. */
static void multiply_some(const piece *p, const firn_engine_tile *tile, uint32_t columns) {
    float *some = floats_at(p, p->g->at.some);
    firn_engine_tile copy = *tile;
    copy.sums = some;
    copy.sums_step = WIDTH;
    for (size_t row = 0; row < tile->rows; row++)
        memcpy(some + row * WIDTH, tile->sums + row * tile->sums_step, WIDTH * sizeof *some);
    firn_engine_of_set.multiply(&copy);
    for (size_t row = 0; row < tile->rows; row++)
        for (size_t column = 0; column < WIDTH; column++)
            if ((columns >> column & 1u) != 0)
                tile->sums[row * tile->sums_step + column] = some[row * WIDTH + column];
}

/* Adds the blocks of terms that the same columns have. */
static void multiply_panel(const piece *p, const panel *own) {
    const gradient *g = p->g;
    const size_t block_words = firn_engine_of_set.words, blocks = p->words / block_words;
    const uint32_t all = UINT32_MAX >> (WIDTH - own->lanes);
    for (size_t row = 0; row < p->rows; row += firn_engine_of_set.rows)
        for (size_t begin = 0, end; begin < blocks; begin = end) {
            const uint32_t columns = own->present[begin];
            for (end = begin + 1; end < blocks && own->present[end] == columns;)
                end++;
            const firn_engine_tile tile = {.left = halves_at(p, g->at.left) + row * (DEPTH + FIRN_ENGINE_GAP) +
                                                   begin * block_words * 2,
                                           .left_step = DEPTH + FIRN_ENGINE_GAP,
                                           .right = words_at(p, g->at.panel) + begin * block_words * WIDTH,
                                           .rows = firn_smaller(firn_engine_of_set.rows, p->rows - row),
                                           .words = (end - begin) * block_words,
                                           .sums = floats_at(p, g->at.sums) + row * g->division.columns + own->column,
                                           .sums_step = g->division.columns};
            if (columns == all)
                firn_engine_of_set.multiply(&tile);
            else if (columns != 0)
                multiply_some(p, &tile, columns);
        }
}

static void store_sums(const piece *p) {
    const gradient *g = p->g;
    for (size_t row = 0; row < p->rows; row++)
        firn_narrow(g->out->data, g->out->type, (p->group * g->outputs + p->row + row) * g->columns + p->column,
                    floats_at(p, g->at.sums) + row * g->division.columns, p->columns);
}

/* Piece: a group, some of its outputs, and some elements of their weights. */
static void compute_piece(void *argument, size_t number, void *slot) {
    const gradient *g = argument;
    const firn_engine_division *d = &g->division;
    piece p = {.g = g,
               .slot = slot,
               .group = number / d->row_pieces / d->column_pieces,
               .row = number % d->row_pieces * d->rows,
               .column = number / d->row_pieces % d->column_pieces * d->columns};
    p.rows = firn_smaller(d->rows, g->outputs - p.row);
    p.columns = firn_smaller(d->columns, g->columns - p.column);
    memset(words_at(&p, g->at.panel), 0, (size_t)DEPTH / 2 * WIDTH * sizeof(uint32_t));
    memset(floats_at(&p, g->at.sums), 0, sums_bytes(g));
    firn_engine_of_set.begin();
    for (; p.term < g->terms; p.term += p.terms) {
        p.terms = firn_smaller(DEPTH, g->terms - p.term);
        p.words = firn_engine_words(p.terms);
        pack_left(&p);
        for (size_t column = 0; column < p.columns; column += WIDTH) {
            panel own = {.column = column, .lanes = firn_smaller(WIDTH, p.columns - column)};
            pack_panel(&p, &own);
            multiply_panel(&p, &own);
        }
    }
    firn_engine_of_set.end();
    store_sums(&p);
}

/* --- the op ------------------------------------------------------------------------------------------------------- */

static uint64_t cost_of(const gradient *g) {
    return (uint64_t)g->dy->elements * g->columns / firn_engine_of_set.cost;
}

static void describe(gradient *g, const firn_kernel_call *call) {
    *g = (gradient){.x = &call->inputs[FIRN_CONV_BACKWARD_WEIGHT_IN_X],
                    .dy = &call->inputs[FIRN_CONV_BACKWARD_WEIGHT_IN_DY],
                    .out = &call->outputs[FIRN_CONV_BACKWARD_WEIGHT_OUT_DWEIGHT]};
    for (int axis = FIRN_ROWS; axis <= FIRN_COLUMNS; axis++)
        g->window[axis] = firn_window_along(&call->integers[FIRN_CONV_BACKWARD_WEIGHT_STRIDE], axis,
                                            g->out->dims[(int)FIRN_WEIGHT_ROWS + axis]);
    g->groups = (size_t)call->integers[FIRN_CONV_BACKWARD_WEIGHT_GROUPS];
    g->inputs = firn_image_channels(g->x) / g->groups;
    g->outputs = firn_image_channels(g->dy) / g->groups;
    g->columns = (size_t)g->window[FIRN_ROWS].elements * g->window[FIRN_COLUMNS].elements * g->inputs;
    g->terms = g->dy->elements / firn_image_channels(g->dy);
    const firn_engine_whole whole = {.products = g->groups,
                                     .rows = g->outputs,
                                     .columns = g->columns,
                                     .most_rows = ROWS,
                                     .most_columns = COLUMNS,
                                     .row_packing = firn_engine_of_set.packing,
                                     .column_packing = firn_engine_of_set.packing};
    g->division = firn_engine_divide(&whole, firn_parallel_threads(&call->parallel, cost_of(g)));
    lay_out(g);
}

static bool is_emulated(const firn_kernel_call *call) {
    return firn_engine_conv_is_emulated(&call->outputs[FIRN_CONV_BACKWARD_WEIGHT_OUT_DWEIGHT],
                                        call->integers[FIRN_CONV_BACKWARD_WEIGHT_GROUPS]);
}

uint64_t firn_engine_conv_backward_weight_scratch(uint16_t op, const firn_kernel_call *call) {
    firn_pointwise layer;
    gradient g;
    if (firn_pointwise_of(&layer, op, call))
        return firn_engine_linear_scratch(layer.op, &layer.call);
    if (is_emulated(call))
        return firn_vector_conv_backward_weight_scratch(op, call);
    describe(&g, call);
    return g.at.end;
}

void firn_engine_conv_backward_weight(const firn_kernel_call *call) {
    firn_pointwise layer;
    gradient g;
    if (firn_pointwise_of(&layer, FIRN_OP_conv_backward_weight, call)) {
        firn_engine_linear_backward_weight(&layer.call);
        return;
    }
    if (is_emulated(call)) {
        firn_vector_conv_backward_weight(call);
        return;
    }
    describe(&g, call);
    const size_t pieces = g.groups * g.division.row_pieces * g.division.column_pieces;
    firn_pieces_run(call, g.at.end, pieces, cost_of(&g), compute_piece, &g);
}
