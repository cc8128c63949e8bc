/* Products with float16 sums inside chunks; see native.h. A piece of work is a rectangle of the output. For each block
 * of terms, its rows of the left factor are packed, then the right factor, one panel of columns at a time; all terms of
 * the block then meet one register tile after the other. The inner loop keeps 14 x 64 sums in 28 registers of AVX-512,
 * or 6 x 32 in 24 of NEON. A block holds whole chunks where it can. The sums of a chunk go by way of memory in the L1
 * cache, from which they are widened as part of a load, and are added in the slot, in float32. */
#include "runtime/kernels/vector/chunked/native.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/chunked/cut.h"
#include "runtime/kernels/vector/chunked/half_pack.h"
#include "runtime/kernels/vector/chunked/half_vector.h"
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
    COLUMNS = 256,
    PIECES = 2, /* wanted for each thread */
    COST = 32   /* multiplications that take as long as one operation on an element (FIRN_GRAIN) */
};

typedef struct scratch {
    firn_half_factor left[ROWS / HEIGHT][LEFT_STEP * DEPTH];
    uint16_t right[WIDTH * DEPTH];
    uint16_t whole[HEIGHT * WIDTH]; /* sums of a chunk that lies in a block */
    uint16_t sums[ROWS * COLUMNS];  /* of a chunk that is longer than a block */
    float totals[ROWS * COLUMNS];   /* of earlier chunks */
} scratch;

/* --- a register tile ---------------------------------------------------------------------------------------------- */

/* Some terms of one chunk. */
typedef struct tile {
    const firn_half_factor *left; /* [term][LEFT_STEP] */
    const uint16_t *right;        /* [term][WIDTH] */
    size_t terms;
    bool begins;    /* the chunk begins with these terms */
    uint16_t *sums; /* [row][sums_step] */
    size_t sums_step;
} tile;

static inline __attribute__((always_inline)) void add_tile(const size_t rows, const tile *t) {
    if (rows > HEIGHT)
        __builtin_unreachable();
    static const uint16_t zeros[FIRN_HALVES];
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
                sums[row][v] = firn_half_vector_load(t->sums + row * t->sums_step + v * FIRN_HALVES);
        }
    }
    const firn_half_factor *left = t->left;
    const uint16_t *right = t->right;
    for (size_t term = 0; term < t->terms; term++, left += LEFT_STEP, right += WIDTH) {
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
    }
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            firn_half_vector_store(t->sums + row * t->sums_step + v * FIRN_HALVES, sums[row][v]);
    }
}

static void add_height(const tile *t, size_t rows) {
    switch (rows) { FIRN_HEIGHT_CASES(add_tile, t) }
}

/* --- a piece ------------------------------------------------------------------------------------------------------ */

static void pack_rows(const firn_product *product, const firn_rectangle *r, size_t term, size_t terms, scratch *s) {
    const firn_matrix left = firn_transposed(product->left);
    for (size_t row = 0; row < r->rows; row += HEIGHT)
        firn_half_pack_rows(s->left[row / HEIGHT], &left, term, terms, r->row + row,
                            firn_smaller(HEIGHT, r->rows - row));
}

/* Adds the sums of a finished chunk to the totals, or to +0 where there are none yet. */
static void end_chunk(const tile *t, size_t rows, float *totals, bool is_first) {
    for (size_t row = 0; row < rows; row++)
        for (size_t v = 0; v < VECTORS; v++) {
            float *to = totals + row * COLUMNS + v * FIRN_HALVES;
            const uint16_t *sums = t->sums + row * t->sums_step + v * FIRN_HALVES;
            if (is_first)
                firn_half_vector_add_to(to, NULL, sums);
            else
                firn_half_vector_add_to(to, to, sums);
        }
}

/* Some terms of a product, as many as are packed at a time. */
typedef struct span {
    size_t terms;
    size_t before; /* terms of the first chunk that come before these */
    size_t chunk;
    bool begins, ends; /* no totals precede, no terms follow */
} span;

/* Adds the packed terms, chunk by chunk, to a register tile, whose totals then stay in the L1 cache. */
static void add_span(const span *all, const firn_half_factor *left, size_t rows, size_t at, scratch *s) {
    tile t = {.left = left, .right = s->right};
    size_t before = all->before;
    for (size_t done = 0; done < all->terms; done += t.terms, before = 0) {
        t.terms = firn_smaller(all->chunk - before, all->terms - done);
        t.begins = before == 0;
        const bool ends = before + t.terms == all->chunk || (all->ends && done + t.terms == all->terms);
        const bool whole = t.begins && ends;
        t.sums = whole ? s->whole : s->sums + at;
        t.sums_step = whole ? WIDTH : COLUMNS;
        add_height(&t, rows);
        if (ends)
            end_chunk(&t, rows, s->totals + at, all->begins && done < all->chunk - all->before);
        t.left += t.terms * LEFT_STEP;
        t.right += t.terms * WIDTH;
    }
}

static void add_block(const firn_chunked_cut *cut, const firn_rectangle *r, size_t term, size_t terms, scratch *s) {
    const firn_product *product = &cut->linear->product;
    const size_t chunk = product->reduction.chunk;
    const span all = {terms, term % chunk, chunk, !cut->continues && term < chunk, term + terms == product->terms};
    pack_rows(product, r, term, terms, s);
    for (size_t column = 0; column < r->columns; column += WIDTH) {
        /* Registers beyond the last column keep their old contents; their results are not stored. */
        firn_half_pack_columns(s->right, WIDTH, &product->right, term, terms, r->column + column,
                               firn_smaller(WIDTH, r->columns - column));
        for (size_t row = 0; row < r->rows; row += HEIGHT)
            add_span(&all, s->left[row / HEIGHT], firn_smaller(HEIGHT, r->rows - row), row * COLUMNS + column, s);
    }
}

static void multiply_piece(void *argument, size_t piece, void *slot) {
    const firn_chunked_cut *cut = argument;
    const firn_product *product = &cut->linear->product;
    const size_t chunk = product->reduction.chunk, depth = chunk < DEPTH ? DEPTH - DEPTH % chunk : DEPTH;
    scratch *s = slot;
    const firn_rectangle r = firn_chunked_cut_piece(cut, piece);
    if (cut->continues)
        firn_chunked_begin(cut, &r, s->totals, COLUMNS, firn_ceiling(r.columns, WIDTH) * WIDTH);
    for (size_t term = 0; term < product->terms; term += depth)
        add_block(cut, &r, term, firn_smaller(depth, product->terms - term), s);
    firn_chunked_store(cut->linear, &r, s->totals, COLUMNS);
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
