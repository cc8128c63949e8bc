/* Products with float16 sums inside chunks; see native.h. A piece of work is a rectangle of the output. For each block
 * of terms, its rows of the left factor and its columns of the right one are packed; all terms of the block then meet
 * one register tile after the other. The inner loop keeps 14 x 64 sums in 28 registers of AVX-512, or 6 x 32 in 24 of
 * NEON. A block holds whole chunks where it can. The sums of a chunk go by way of memory in the L1 cache, from which
 * they are widened as part of a load, and are added in the slot, in float32. */
#include "runtime/kernels/vector/chunked/native.h"

#include <stdbool.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/chunked/cut.h"
#include "runtime/kernels/vector/chunked/half_pack.h"
#include "runtime/kernels/vector/chunked/half_vector.h"
#include "runtime/kernels/vector/convert.h"
#include "runtime/kernels/vector/heights.h"

enum {
    HEIGHT = FIRN_REGISTER_ROWS,
    VECTORS = 2,
    WIDTH = VECTORS * FIRN_HALVES,
    DEPTH = 256,             /* terms in a block, at most */
    LEFT_STEP = FIRN_VECTOR, /* between terms of a packed panel of rows */
    /* Rows and columns of a piece, at most: what the packing of a panel of columns is good for. Half of either is a
     * whole number of register tiles, and so is half of that (cut.c). */
    ROWS = 16 * HEIGHT,
    COLUMNS = 512,
    TILES = ROWS / HEIGHT * (COLUMNS / WIDTH),
    PIECES = 2, /* wanted for each thread */
    COST = 32   /* multiplications that take as long as one operation on an element (FIRN_GRAIN) */
};

/* Sums and totals lie tile by tile, because rows of a whole piece would share cache sets. */
typedef struct scratch {
    firn_half_factor left[ROWS / HEIGHT][LEFT_STEP * DEPTH];
    uint16_t right[COLUMNS / WIDTH][WIDTH * DEPTH];
    uint16_t whole[HEIGHT * WIDTH];       /* sums of a chunk that lies in a block */
    uint16_t sums[TILES][HEIGHT * WIDTH]; /* of a chunk that is longer than a block */
    float totals[TILES][HEIGHT * WIDTH];  /* of earlier chunks */
    float bias[WIDTH];
} scratch;

/* --- a register tile ---------------------------------------------------------------------------------------------- */

/* Some terms of one chunk. */
typedef struct tile {
    const firn_half_factor *left; /* [term][LEFT_STEP] */
    const uint16_t *right;        /* [term][WIDTH] */
    size_t terms;
    bool begins;    /* the chunk begins with these terms */
    uint16_t *sums; /* [row][WIDTH] */
} tile;

/* There is at least one term: a loop that could be passed by would make the compiler keep a copy of all sums. */
static inline __attribute__((always_inline)) void add_tile(const size_t rows, const tile *t) {
    if (rows > HEIGHT)
        __builtin_unreachable();
    static const uint16_t zeros[FIRN_HALVES];
    const firn_half_factor *left = t->left;
    const uint16_t *right = t->right, *const end = right + t->terms * WIDTH;
    uint16_t *const out = t->sums;
    firn_half_vector sums[HEIGHT][VECTORS];
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            sums[row][v] = firn_half_vector_load(zeros);
    }
    if (!t->begins) {
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row++) {
            FIRN_UNROLL
            for (size_t v = 0; v < VECTORS; v++)
                sums[row][v] = firn_half_vector_load(out + row * WIDTH + v * FIRN_HALVES);
        }
    }
    do {
        const firn_half_factors factors = firn_half_factors_load(left);
        firn_half_vector line[VECTORS];
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            line[v] = firn_half_vector_load(right + v * FIRN_HALVES);
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row++) {
            FIRN_UNROLL
            for (size_t v = 0; v < VECTORS; v++)
                sums[row][v] = firn_half_vector_fma(factors, row, line[v], sums[row][v]);
        }
        left += LEFT_STEP;
        right += WIDTH;
    } while (right < end);
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            firn_half_vector_store(out + row * WIDTH + v * FIRN_HALVES, sums[row][v]);
    }
}

static void add_height(const tile *t, size_t rows) {
    switch (rows) { FIRN_HEIGHT_CASES(add_tile, t) }
}

/* --- a piece ------------------------------------------------------------------------------------------------------ */

/* Some terms of a piece, as many as are packed at a time. */
typedef struct block {
    const firn_chunked_cut *cut;
    const firn_rectangle *r;
    size_t term, terms;
    size_t chunk, before; /* before: terms of the first chunk that come before these */
    bool begins, ends;    /* no totals precede the first chunk, no terms follow the last */
    scratch *s;
} block;

/* Adds the sums of a finished chunk to the totals, or to +0 where there are none yet. */
static void end_chunk(const uint16_t *sums, size_t rows, float *totals, bool is_first) {
    for (size_t i = 0; i < rows * WIDTH; i += FIRN_HALVES)
        firn_half_vector_add_to(totals + i, sums + i, is_first);
}

/* The end of the last chunk of a tile. */
typedef struct finish {
    const uint16_t *sums; /* [row][WIDTH] */
    const float *totals;  /* [row][WIDTH]; NULL: +0 */
    const float *bias;    /* [WIDTH] or NULL */
    void *out;
    size_t index, out_step, rows, columns;
} finish;

/* Adds the sums to the totals, then the bias, and stores them, rounded once. */
static inline __attribute__((always_inline)) void store_lanes(const uint8_t type, const finish *f, size_t row, size_t i,
                                                              firn_lanes lanes) {
    const firn_vector sum =
        firn_vector_from_float16(firn_halves_load_some(firn_first_lanes(FIRN_VECTOR), f->sums + row * WIDTH + i));
    firn_vector x = f->totals == NULL ? firn_vector_zero() : firn_vector_load(f->totals + row * WIDTH + i);
    x = firn_vector_add(x, sum);
    if (f->bias != NULL)
        x = firn_vector_add(x, firn_vector_load(f->bias + i));
    firn_vector_narrow(f->out, type, f->index + row * f->out_step + i, lanes, firn_vector_canonical(x));
}

static inline __attribute__((always_inline)) void store_type(const uint8_t type, const void *arguments) {
    const finish f = *(const finish *)arguments; /* a copy, because the stores could change *arguments */
    for (size_t row = 0; row < f.rows; row++) {
        if (f.columns == WIDTH) {
            FIRN_UNROLL
            for (size_t i = 0; i < WIDTH; i += FIRN_VECTOR)
                store_lanes(type, &f, row, i, firn_first_lanes(FIRN_VECTOR));
            continue;
        }
        for (size_t i = 0; i < f.columns; i += FIRN_VECTOR)
            store_lanes(type, &f, row, i, firn_first_lanes(f.columns - i));
    }
}

static void finish_tile(const block *b, const tile *t, size_t row, size_t rows, size_t column, const float *totals) {
    const firn_linear *linear = b->cut->linear;
    const firn_rectangle *r = b->r;
    const size_t step = linear->product.columns;
    finish f = {.sums = t->sums,
                .totals = totals,
                .bias = linear->bias != NULL ? b->s->bias : NULL,
                .index = (r->row + row) * step + r->column + column,
                .out_step = step,
                .rows = rows,
                .columns = firn_smaller(WIDTH, r->columns - column)};
    f.out = linear->out->data; /* assigned here because clang-tidy would ask for const in an initialiser */
    firn_for_type(linear->out->type, store_type, &f);
}

static void continue_from_output(const block *b, float *totals, size_t row, size_t rows, size_t column) {
    const firn_rectangle part = {b->r->row + row, rows, b->r->column + column,
                                 firn_smaller(WIDTH, b->r->columns - column)};
    firn_chunked_begin(b->cut, &part, totals, WIDTH, WIDTH);
}

/* Adds the terms, chunk by chunk, to a register tile, whose totals then stay in the L1 cache. */
static void add_chunks(const block *b, size_t row, size_t rows, size_t column) {
    /* If one block has all terms, tiles need no place of their own, and their totals stay in the L1 cache. */
    const size_t number = b->term == 0 && b->ends ? 0 : row / HEIGHT * (COLUMNS / WIDTH) + column / WIDTH;
    float *totals = b->s->totals[number];
    tile t = {.left = b->s->left[row / HEIGHT], .right = b->s->right[column / WIDTH]};
    size_t before = b->before;
    if (b->cut->continues && b->term == 0)
        continue_from_output(b, totals, row, rows, column);
    for (size_t done = 0; done < b->terms; done += t.terms, before = 0) {
        t.terms = firn_smaller(b->chunk - before, b->terms - done);
        t.begins = before == 0;
        const bool is_last = b->ends && done + t.terms == b->terms;
        const bool ends = before + t.terms == b->chunk || is_last;
        const bool is_first = b->begins && done < b->chunk - b->before;
        t.sums = t.begins && ends ? b->s->whole : b->s->sums[number];
        add_height(&t, rows);
        if (is_last)
            finish_tile(b, &t, row, rows, column, is_first ? NULL : totals);
        else if (ends)
            end_chunk(t.sums, rows, totals, is_first);
        t.left += t.terms * LEFT_STEP;
        t.right += t.terms * WIDTH;
    }
}

static void pack_rows(const block *b) {
    const firn_matrix left = firn_transposed(b->cut->linear->product.left);
    firn_half_pack_rows(b->s->left[0], HEIGHT, sizeof b->s->left[0] / sizeof b->s->left[0][0], &left, b->term, b->terms,
                        b->r->row, b->r->rows);
}

/* Registers beyond the last column keep their old contents; their results are not stored. */
static void pack_columns(const block *b) {
    firn_half_pack_columns(b->s->right[0], WIDTH, sizeof b->s->right[0] / sizeof b->s->right[0][0],
                           &b->cut->linear->product.right, b->term, b->terms, b->r->column, b->r->columns);
}

static void add_block(const block *b) {
    const firn_tensor *bias = b->cut->linear->bias;
    pack_rows(b);
    pack_columns(b);
    for (size_t column = 0; column < b->r->columns; column += WIDTH) {
        if (b->ends && bias != NULL)
            firn_widen(b->s->bias, bias->data, bias->type, b->r->column + column,
                       firn_smaller(WIDTH, b->r->columns - column));
        for (size_t row = 0; row < b->r->rows; row += HEIGHT)
            add_chunks(b, row, firn_smaller(HEIGHT, b->r->rows - row), column);
    }
}

static void multiply_piece(void *argument, size_t piece, void *slot) {
    const firn_chunked_cut *cut = argument;
    const firn_product *product = &cut->linear->product;
    const size_t chunk = product->reduction.chunk, depth = chunk < DEPTH ? DEPTH - DEPTH % chunk : DEPTH;
    const firn_rectangle r = firn_chunked_cut_piece(cut, piece);
    block b = {.cut = cut, .r = &r, .chunk = chunk};
    b.s = slot; /* assigned here because clang-tidy would ask for const in an initialiser */
    for (; b.term < product->terms; b.term += b.terms) {
        b.terms = firn_smaller(depth, product->terms - b.term);
        b.before = b.term % chunk;
        b.begins = !cut->continues && b.term < chunk;
        b.ends = b.term + b.terms == product->terms;
        add_block(&b);
    }
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

uint64_t firn_native_scratch(uint16_t op, const firn_kernel_call *call) {
    (void)op;
    (void)call;
    return sizeof(scratch);
}

static const firn_chunked_way way = {sizeof(scratch), ROWS, COLUMNS, HEIGHT, WIDTH, PIECES, COST};

static void multiply(uint16_t op, const firn_kernel_call *call) {
    firn_chunked_run(op, call, &way, multiply_piece);
}

void firn_native_linear(const firn_kernel_call *call) {
    multiply(FIRN_OP_linear, call);
}

void firn_native_linear_backward_input(const firn_kernel_call *call) {
    multiply(FIRN_OP_linear_backward_input, call);
}

void firn_native_linear_backward_weight(const firn_kernel_call *call) {
    multiply(FIRN_OP_linear_backward_weight, call);
}

void firn_native_linear_backward_weight_rows(const firn_kernel_call *call) {
    multiply(FIRN_OP_linear_backward_weight_rows, call);
}

void firn_native_add_weight(const firn_kernel_call *call) {
    multiply(FIRN_KERNEL_ADD_WEIGHT, call);
}

void firn_native_matmul(const firn_kernel_call *call) {
    firn_chunked_run_matmul(call, &way, multiply_piece);
}
