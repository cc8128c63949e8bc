/* Products in words; see product.h. The output is divided into pieces. For each block of terms, a piece packs its
 * columns of the right factor as panels, which stay in the L2 cache, and goes through its rows, one tile high at a
 * time: these are read in place if their terms lie side by side and fill whole instructions, and packed otherwise.
 * Unfinished sums wait in the slot. The sizes were found by measurement with AMX, L2 caches of 2 MiB and an L3 cache
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
    DEPTH = 640,      /* terms in a block: a row of tiles fills 40 KiB of the L1 cache, and each panel is read for it */
    WHOLE = 768,      /* terms that make one block: no sums wait */
    COLUMNS = 768,    /* of a piece, at most: the panels of a block fill 960 KiB of the L2 cache, or a little more */
    SUMS_ROWS = 1024, /* of a piece, at most, if sums wait: each piece packs all of its columns */
    GROUP = 4,      /* rows of tiles that are packed at once if their terms lie apart: memory is read by longer runs */
    GAP = 32,       /* terms between the packed rows, so that rows do not share cache sets */
    SHARING = 2048, /* rows that lie a multiple of so many terms apart share a few cache sets */
    CACHE_LINE = 64
};

_Static_assert((int)DEPTH % (int)FIRN_ENGINE_TERMS == 0, "a block of terms is whole instructions");
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

/* Whether rows can be read where they are. */
static bool is_in_place(const piece *p, size_t rows) {
    const firn_matrix *left = &p->cut->linear->product.left;
    return left->column_step == 1 && left->row_step % SHARING != 0 && p->terms == 2 * p->words &&
           rows % firn_engine_of_set.height == 0;
}

static size_t packed_step(const cut *cut) {
    return cut->depth + GAP;
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

/* Sums lie by tiles, whose rows follow each other. They wait for the next block of terms, or for the end of the row of
 * tiles: a row of the output is written from beginning to end, because lines that lie a row apart take turns in a few
 * sets of the cache and come from far one by one. */
static float *sums_of(const piece *p, size_t row, size_t column) {
    const size_t rows = firn_engine_of_set.rows, wide = p->cut->columns / FIRN_WORD_COLUMNS;
    const size_t tile = (p->cut->waits ? row / rows * wide : 0) + column / FIRN_WORD_COLUMNS;
    return (float *)(void *)(p->slot + p->cut->sums) + tile * rows * FIRN_WORD_COLUMNS;
}

typedef struct storing {
    const piece *piece;
    size_t row, rows;
    const float *bias; /* of the piece's columns, or NULL */
} storing;

/* Adds the bias to finished sums and stores them, rounded once. */
static inline __attribute__((always_inline)) void store_as(uint8_t type, const void *arguments) {
    const storing s = *(const storing *)arguments;
    const piece p = *s.piece;
    const firn_linear *linear = p.cut->linear;
    const size_t tile = firn_engine_of_set.rows * FIRN_WORD_COLUMNS;
    void *const out = linear->out->data;
    for (size_t row = 0; row < s.rows; row++) {
        const size_t first = (p.row + s.row + row) * linear->product.columns + p.column;
        const float *sums = sums_of(&p, s.row, 0) + row * FIRN_WORD_COLUMNS;
        for (size_t column = 0; column < p.columns; column += FIRN_VECTOR) {
            const firn_lanes lanes = firn_first_lanes(p.columns - column);
            firn_vector sum = firn_vector_load(sums + column / FIRN_WORD_COLUMNS * tile + column % FIRN_WORD_COLUMNS);
            if (s.bias != NULL)
                sum = firn_vector_add(sum, firn_vector_load_some(lanes, s.bias + column));
            firn_vector_narrow(out, type, first + column, lanes, firn_vector_canonical(sum));
        }
    }
}

static void store_rows(const piece *p, size_t row, size_t rows) {
    const firn_linear *linear = p->cut->linear;
    float bias[COLUMNS];
    if (linear->bias != NULL)
        firn_widen(bias, linear->bias->data, linear->bias->type, p->column, p->columns);
    const storing all = {.piece = p, .row = row, .rows = rows, .bias = linear->bias != NULL ? bias : NULL};
    firn_for_type(linear->out->type, store_as, &all);
}

/* Reads what the sums continue from. Columns behind the last one are not stored. */
static void load_rows(const piece *p, size_t row, size_t rows) {
    const firn_linear *linear = p->cut->linear;
    for (size_t column = 0; column < p->columns; column += FIRN_WORD_COLUMNS) {
        const size_t columns = firn_smaller(FIRN_WORD_COLUMNS, p->columns - column);
        const float *out = (const float *)linear->out->data + (p->row + row) * linear->product.columns + p->column;
        float *sums = sums_of(p, row, column);
        memset(sums, 0, rows * FIRN_WORD_COLUMNS * sizeof(float));
        for (size_t i = 0; i < rows; i++)
            memcpy(sums + i * FIRN_WORD_COLUMNS, out + i * linear->product.columns + column, columns * sizeof(float));
    }
}

/* Multiplies one row of tiles by all panels. */
static void multiply_rows(const piece *p, size_t row, size_t rows, const uint16_t *left, size_t left_step) {
    const cut *cut = p->cut;
    firn_engine_tile tile = {.left = left,
                             .left_step = left_step,
                             .rows = rows,
                             .words = p->words,
                             .begins = p->term == 0 && !cut->continues,
                             .sums_step = FIRN_WORD_COLUMNS};
    if (cut->continues && p->term == 0)
        load_rows(p, row, rows);
    for (size_t column = 0; column < p->columns; column += FIRN_WORD_COLUMNS) {
        tile.right = panel(p, column);
        tile.sums = sums_of(p, row, column);
        firn_engine_of_set.multiply(&tile);
    }
    if (p->term + p->terms == cut->linear->product.terms)
        store_rows(p, row, rows);
}

/* The same for several rows of tiles. */
static void multiply_group(const piece *p, size_t first, size_t rows) {
    const size_t height = firn_engine_of_set.rows;
    const bool in_place = is_in_place(p, rows);
    const size_t step = in_place ? p->cut->linear->product.left.row_step : packed_step(p->cut);
    const uint16_t *left = in_place ? left_at(p, first) : packed_left(p);
    if (!in_place)
        pack_left(p, first, rows);
    for (size_t row = 0; row < rows; row += height)
        multiply_rows(p, first + row, firn_smaller(height, rows - row), left + row * step, step);
}

static void multiply_piece(void *argument, size_t number, void *slot) {
    const cut *cut = argument;
    const firn_engine *engine = &firn_engine_of_set;
    const firn_product *product = &cut->linear->product;
    piece p = {.cut = cut,
               .slot = slot,
               .row = number % cut->row_pieces * cut->rows,
               .column = number / cut->row_pieces * cut->columns};
    p.rows = firn_smaller(cut->rows, product->rows - p.row);
    p.columns = firn_smaller(cut->columns, product->columns - p.column);
    const size_t group = product->left.column_step == 1 ? engine->rows : GROUP * engine->rows;
    engine->begin();
    for (p.term = 0; p.term < product->terms; p.term += p.terms) {
        p.terms = firn_smaller(cut->depth, product->terms - p.term);
        p.words = firn_round_up(firn_ceiling(p.terms, 2), engine->words);
        pack_right(&p);
        for (size_t row = 0; row < p.rows; row += group)
            multiply_group(&p, row, firn_smaller(group, p.rows - row));
    }
    engine->end();
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* Divides the output into pieces that fit a slot and keep all threads busy. */
static cut divide(const firn_linear *linear, size_t threads) {
    const firn_product *product = &linear->product;
    const size_t blocks = product->terms <= WHOLE ? 1 : firn_ceiling(product->terms, DEPTH);
    const size_t depth = firn_ceiling(product->terms, blocks);
    cut best = {.linear = linear, .depth = firn_round_up(depth, FIRN_ENGINE_TERMS)};
    best.waits = product->terms > best.depth;
    const firn_engine *engine = &firn_engine_of_set;
    const firn_engine_whole whole = {.products = 1,
                                     .rows = product->rows,
                                     .columns = product->columns,
                                     .most_rows = best.waits ? (size_t)SUMS_ROWS : product->rows,
                                     .most_columns = COLUMNS,
                                     .row_packing = product->left.column_step == 1 ? engine->copying : engine->packing,
                                     .column_packing = engine->packing};
    const firn_engine_division division = firn_engine_divide(&whole, threads);
    best.rows = division.rows, best.columns = division.columns;
    best.row_pieces = division.row_pieces, best.column_pieces = division.column_pieces;
    const size_t rows = engine->rows, tile = rows * FIRN_WORD_COLUMNS;
    const size_t tiles = (best.waits ? firn_ceiling(best.rows, rows) : 1) * (best.columns / FIRN_WORD_COLUMNS);
    best.left = best.columns * best.depth * sizeof(uint16_t);
    best.sums = best.left + firn_round_up(GROUP * rows * packed_step(&best) * sizeof(uint16_t), CACHE_LINE);
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
