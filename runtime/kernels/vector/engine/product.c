/* Products in words; see product.h. The output is divided into pieces. For each block of terms, a piece packs its
 * columns of the right factor as panels, which stay in the L2 cache, and goes through its rows, one tile high at a
 * time: these are read in place if their terms lie side by side and fill whole instructions, and packed otherwise.
 * Unfinished sums wait in the slot. While a tile is multiplied, the engine stores the sums of the tile before and
 * fetches the rows that come next. The sizes were found by measurement with AMX, L2 caches of 2 MiB and an L3 cache
 * that gives a core nine bytes in each cycle: packing a factor again, and reading sums again, take the time of memory.
 */
#include "runtime/kernels/vector/engine/product.h"

#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/reduce/matmul.h"
#include "runtime/kernels/vector/convert.h"
#include "runtime/kernels/vector/engine/division.h"
#include "runtime/kernels/vector/engine/engine.h"
#include "runtime/kernels/vector/pieces.h"

enum {
    /* Terms in a block, at most. Between blocks all sums are loaded and stored again, so rows that are read in place
     * have large blocks. Packed rows have smaller ones: a row of tiles is multiplied by each panel, so with 32 rows it
     * must stay in an L1 cache of 48 KiB beside the sums. */
    DEPTH = 1024,
    PACKED_DEPTH = 608,
    COLUMNS = 768,       /* of a piece, at most */
    PANELS = 600 * 1024, /* terms of the panels of a block, at most: 1.2 MB of the L2 cache */
    SUMS_ROWS = 1024,    /* of a piece, at most, if sums wait: each piece packs all of its columns */
    GROUP = 4, /* rows of tiles that are packed at once if their terms lie apart: memory is read by longer runs */
    LINE = FIRN_CACHE_LINE / sizeof(uint16_t) /* terms */
};

_Static_assert((int)DEPTH % (int)FIRN_ENGINE_TERMS == 0 && (int)PACKED_DEPTH % (int)FIRN_ENGINE_TERMS == 0,
               "a block of terms is whole instructions");
_Static_assert((int)COLUMNS % (int)FIRN_WORD_COLUMNS == 0, "the bias of a piece has room: pieces have whole panels");
_Static_assert((int)FIRN_ENGINE_TERMS % (2 * FIRN_VECTOR) == 0, "packed words fill whole registers");

/* The division of a product, and the offsets of the parts of a slot in bytes. It does not affect the result. */
typedef struct cut {
    const firn_linear *linear;
    size_t depth;
    size_t rows, columns; /* of a piece; the last may have fewer */
    size_t row_pieces, column_pieces;
    bool waits;
    bool continues;         /* sums continue from what the output, float32, has */
    size_t left, sums, end; /* the panels come first */
} cut;

typedef struct piece {
    const cut *cut;
    uint8_t *slot;
    size_t row, rows, column, columns;
    size_t term, terms, words; /* of the current block */
    size_t tiles;              /* that have been multiplied */
    firn_engine_beside beside;
    const float *bias; /* of the piece's columns; NULL: none */
} piece;

/* --- factors ------------------------------------------------------------------------------------------------------ */

static size_t index_of(const firn_matrix *matrix, size_t row, size_t column) {
    return matrix->first + row * matrix->row_step + column * matrix->column_step;
}

static uint32_t *panel(const piece *p, size_t column) {
    return (uint32_t *)(void *)p->slot + column * p->words;
}

static void pack_right(const piece *p) {
    const firn_matrix *right = &p->cut->linear->product.right;
    const bool is_rounded = right->type >= FIRN_ROUNDED_TO;
    const size_t first = index_of(right, p->term, p->column);
    const firn_words_of from = {.first = is_rounded ? NULL : (const uint16_t *)right->data + first,
                                .floats = is_rounded ? (const float *)right->data + first : NULL,
                                .term_step = right->row_step,
                                .lane_step = right->column_step,
                                .terms = p->terms,
                                .lanes = p->columns};
    firn_words_pack_panel(panel(p, 0), &from, p->words);
}

static const uint16_t *left_at(const piece *p, size_t row) {
    const firn_matrix *left = &p->cut->linear->product.left;
    return (const uint16_t *)left->data + index_of(left, p->row + row, p->term);
}

/* Whether whole rows of tiles can be read where they are. */
static bool lies_in_rows(const firn_matrix *left) {
    return left->column_step == 1 && left->row_step % FIRN_ENGINE_SHARING != 0 && left->row_step % LINE == 0;
}

static bool is_in_place(const piece *p, size_t rows) {
    return lies_in_rows(&p->cut->linear->product.left) && p->terms == 2 * p->words &&
           rows % firn_engine_of_set.height == 0;
}

static size_t packed_step(const cut *cut) {
    return cut->depth + FIRN_ENGINE_GAP;
}

static uint16_t *packed_left(const piece *p) {
    return (uint16_t *)(void *)(p->slot + p->cut->left);
}

static void pack_left(const piece *p, size_t row, size_t rows) {
    const firn_matrix *left = &p->cut->linear->product.left;
    const firn_words_of from = {.first = left_at(p, row),
                                .term_step = left->column_step,
                                .lane_step = left->row_step,
                                .terms = p->terms,
                                .lanes = rows};
    firn_words_pack_rows((uint32_t *)(void *)packed_left(p), packed_step(p->cut) / 2, &from, p->words);
}

/* --- a piece ------------------------------------------------------------------------------------------------------ */

/* Sums that wait for the next block of terms have a place for each tile; others are stored beside the next tile, so
 * there are two places. */
static float *sums_of(const piece *p, size_t row, size_t column) {
    const size_t rows = firn_engine_of_set.rows, wide = p->cut->columns / FIRN_WORD_COLUMNS;
    const size_t tile = p->cut->waits ? row / rows * wide + column / FIRN_WORD_COLUMNS : p->tiles % 2;
    return (float *)(void *)(p->slot + p->cut->sums) + tile * rows * FIRN_WORD_COLUMNS;
}

/* Reads what the sums of a tile continue from. Columns behind the last one are not stored. */
static void load_sums(const piece *p, float *sums, size_t row, size_t rows, size_t column) {
    const firn_linear *linear = p->cut->linear;
    const size_t columns = firn_smaller(FIRN_WORD_COLUMNS, p->columns - column);
    const float *out = (const float *)linear->out->data + (p->row + row) * linear->product.columns + p->column + column;
    memset(sums, 0, rows * FIRN_WORD_COLUMNS * sizeof(float));
    for (size_t i = 0; i < rows; i++)
        memcpy(sums + i * FIRN_WORD_COLUMNS, out + i * linear->product.columns, columns * sizeof(float));
}

static firn_engine_finished finished_tile(const piece *p, const float *sums, size_t row, size_t rows, size_t column) {
    const firn_linear *linear = p->cut->linear;
    return (firn_engine_finished){.sums = sums,
                                  .bias = p->bias != NULL ? p->bias + column : NULL,
                                  .out = linear->out->data,
                                  .first = (p->row + row) * linear->product.columns + p->column + column,
                                  .step = linear->product.columns,
                                  .rows = rows,
                                  .columns = firn_smaller(FIRN_WORD_COLUMNS, p->columns - column),
                                  .type = linear->out->type};
}

/* Multiplies one row of tiles by all panels. */
static void multiply_rows(piece *p, size_t row, size_t rows, const uint16_t *left, size_t left_step) {
    const cut *cut = p->cut;
    const bool is_first = p->term == 0, is_last = p->term + p->terms == cut->linear->product.terms;
    firn_engine_tile tile = {.left = left,
                             .left_step = left_step,
                             .rows = rows,
                             .words = p->words,
                             .begins = is_first && !cut->continues,
                             .sums_step = FIRN_WORD_COLUMNS,
                             .beside = &p->beside};
    for (size_t column = 0; column < p->columns; column += FIRN_WORD_COLUMNS, p->tiles++) {
        tile.right = panel(p, column);
        tile.sums = sums_of(p, row, column);
        if (is_first && cut->continues)
            load_sums(p, tile.sums, row, rows, column);
        firn_engine_of_set.multiply(&tile);
        if (is_last)
            p->beside.finished = finished_tile(p, tile.sums, row, rows, column);
    }
}

/* Lets the rows [first, end) of the left factor be fetched beside so many tiles. */
static void fetch_left(piece *p, size_t first, size_t end, size_t tiles) {
    const firn_matrix *left = &p->cut->linear->product.left;
    const bool is_along = left->column_step == 1;
    const size_t across = is_along ? left->row_step : left->column_step;
    const size_t rows = first < end ? end - first : 0;
    const size_t along = (is_along ? p->terms : rows) * sizeof(uint16_t);
    p->beside.left = (firn_engine_lines){.first = (const uint8_t *)left_at(p, first),
                                         .row_bytes = across * sizeof(uint16_t),
                                         .rows = is_along ? rows : p->terms,
                                         .lines = rows > 0 ? firn_ceiling(along, FIRN_CACHE_LINE) : 0};
    p->beside.left_lines = firn_engine_share(p->beside.left.rows * p->beside.left.lines, tiles);
}

/* The same for several rows of tiles. */
static void multiply_group(piece *p, size_t first, size_t rows, size_t next_rows) {
    const size_t height = firn_engine_of_set.rows;
    const bool in_place = is_in_place(p, rows);
    const size_t step = in_place ? p->cut->linear->product.left.row_step : packed_step(p->cut);
    const uint16_t *left = in_place ? left_at(p, first) : packed_left(p);
    if (!in_place)
        pack_left(p, first, rows);
    fetch_left(p, first + rows, first + rows + next_rows,
               firn_ceiling(rows, height) * firn_ceiling(p->columns, FIRN_WORD_COLUMNS));
    for (size_t row = 0; row < rows; row += height)
        multiply_rows(p, first + row, firn_smaller(height, rows - row), left + row * step, step);
}

static void multiply_piece(void *argument, size_t number, void *slot) {
    const cut *cut = argument;
    const firn_engine *engine = &firn_engine_of_set;
    const firn_linear *linear = cut->linear;
    const firn_product *product = &linear->product;
    piece p = {.cut = cut,
               .slot = slot,
               .row = number % cut->row_pieces * cut->rows,
               .column = number / cut->row_pieces * cut->columns};
    p.rows = firn_smaller(cut->rows, product->rows - p.row);
    p.columns = firn_smaller(cut->columns, product->columns - p.column);
    float bias[COLUMNS];
    if (linear->bias != NULL) {
        firn_widen(bias, linear->bias->data, linear->bias->type, p.column, p.columns);
        p.bias = bias;
    }
    const size_t group = product->left.column_step == 1 ? engine->rows : GROUP * engine->rows;
    if (cut->waits)
        p.beside.sums_lines = engine->rows * FIRN_WORD_COLUMNS * sizeof(float) / FIRN_CACHE_LINE;
    engine->begin();
    for (p.term = 0; p.term < product->terms; p.term += p.terms) {
        p.terms = firn_smaller(cut->depth, product->terms - p.term);
        p.words = firn_engine_words(p.terms);
        pack_right(&p);
        p.beside.sums = (const uint8_t *)sums_of(&p, 0, FIRN_WORD_COLUMNS);
        for (size_t row = 0; row < p.rows; row += group) {
            const size_t rows = firn_smaller(group, p.rows - row);
            multiply_group(&p, row, rows, firn_smaller(group, p.rows - row - rows));
        }
    }
    engine->end();
    firn_engine_do_beside(&p.beside);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* Divides the output into pieces that fit a slot and keep all threads busy. */
static cut divide(const firn_linear *linear, size_t threads) {
    const firn_product *product = &linear->product;
    const size_t blocks = firn_ceiling(product->terms, lies_in_rows(&product->left) ? DEPTH : PACKED_DEPTH);
    const size_t depth = firn_ceiling(product->terms, blocks);
    cut best = {.linear = linear, .depth = firn_round_up(depth, FIRN_ENGINE_TERMS)};
    best.waits = product->terms > best.depth;
    const size_t columns = firn_smaller(COLUMNS, PANELS / best.depth / FIRN_WORD_COLUMNS * FIRN_WORD_COLUMNS);
    const firn_engine *engine = &firn_engine_of_set;
    const firn_engine_whole whole = {.products = 1,
                                     .rows = product->rows,
                                     .columns = product->columns,
                                     .most_rows = best.waits ? (size_t)SUMS_ROWS : product->rows,
                                     .most_columns = columns,
                                     .row_packing = product->left.column_step == 1 ? engine->copying : engine->packing,
                                     .column_packing = engine->packing};
    const firn_engine_division division = firn_engine_divide(&whole, threads);
    best.rows = division.rows, best.columns = division.columns;
    best.row_pieces = division.row_pieces, best.column_pieces = division.column_pieces;
    const size_t rows = engine->rows, tile = rows * FIRN_WORD_COLUMNS;
    const size_t tiles = best.waits ? firn_ceiling(best.rows, rows) * (best.columns / FIRN_WORD_COLUMNS) : 2;
    best.left = best.columns * best.depth * sizeof(uint16_t);
    best.sums = best.left + firn_round_up(GROUP * rows * packed_step(&best) * sizeof(uint16_t), FIRN_CACHE_LINE);
    best.end = best.sums + tiles * tile * sizeof(float);
    return best;
}

static uint64_t cost_of(const firn_product *product, size_t batches) {
    return (uint64_t)batches * product->rows * product->columns * product->terms / firn_engine_of_set.cost;
}

/* --- linear layers ------------------------------------------------------------------------------------------------ */

static cut cut_for(const firn_linear *linear, const firn_kernel_call *call) {
    return divide(linear, firn_parallel_threads(&call->parallel, cost_of(&linear->product, 1)));
}

uint64_t firn_engine_linear_scratch(uint16_t op, const firn_kernel_call *call) {
    firn_linear linear;
    firn_linear_of(&linear, op, call);
    return cut_for(&linear, call).end;
}

static void multiply(uint16_t op, const firn_kernel_call *call) {
    firn_linear linear;
    firn_linear_of(&linear, op, call);
    cut c = cut_for(&linear, call);
    c.continues = op == FIRN_KERNEL_ADD_WEIGHT;
    firn_pieces_run(call, c.end, c.row_pieces * c.column_pieces, cost_of(&linear.product, 1), multiply_piece, &c);
}

void firn_engine_linear(const firn_kernel_call *call) {
    multiply(FIRN_OP_linear, call);
}

void firn_engine_linear_backward_input(const firn_kernel_call *call) {
    multiply(FIRN_OP_linear_backward_input, call);
}

void firn_engine_linear_backward_weight(const firn_kernel_call *call) {
    multiply(FIRN_OP_linear_backward_weight, call);
}

void firn_engine_linear_backward_weight_rows(const firn_kernel_call *call) {
    multiply(FIRN_OP_linear_backward_weight_rows, call);
}

void firn_engine_add_weight(const firn_kernel_call *call) {
    multiply(FIRN_KERNEL_ADD_WEIGHT, call);
}

/* --- products of batches ------------------------------------------------------------------------------------------ */

/* All batches have the division of the first one. A piece is a piece of one batch. */
typedef struct batches {
    const firn_matmul *matmul;
    cut cut;
    size_t pieces; /* of a batch */
} batches;

static void multiply_batch_piece(void *argument, size_t number, void *slot) {
    const batches *all = argument;
    firn_linear linear;
    firn_tensor out;
    firn_matmul_batch(all->matmul, number / all->pieces, &linear, &out);
    cut c = all->cut;
    c.linear = &linear;
    multiply_piece(&c, number % all->pieces, slot);
}

/* Divides a batch only where there are too few of them to keep all threads busy. */
static cut cut_of_batch(const firn_linear *first, const firn_kernel_call *call, size_t count) {
    const size_t threads = firn_parallel_threads(&call->parallel, cost_of(&first->product, count));
    return divide(first, count >= 4 * threads ? 1 : threads);
}

uint64_t firn_engine_matmul_scratch(uint16_t op, const firn_kernel_call *call) {
    (void)op;
    firn_matmul matmul;
    firn_linear linear;
    firn_tensor out;
    firn_matmul_of(&matmul, call);
    firn_matmul_batch(&matmul, 0, &linear, &out);
    return cut_of_batch(&linear, call, matmul.batches).end;
}

void firn_engine_matmul(const firn_kernel_call *call) {
    firn_matmul matmul;
    firn_linear linear;
    firn_tensor out;
    firn_matmul_of(&matmul, call);
    firn_matmul_batch(&matmul, 0, &linear, &out);
    batches all = {.matmul = &matmul, .cut = cut_of_batch(&linear, call, matmul.batches)};
    all.pieces = all.cut.row_pieces * all.cut.column_pieces;
    firn_pieces_run(call, all.cut.end, matmul.batches * all.pieces, cost_of(&linear.product, matmul.batches),
                    multiply_batch_piece, &all);
}
