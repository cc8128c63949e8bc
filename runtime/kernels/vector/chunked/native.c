/* Products with float16 sums inside chunks; see native.h. A piece of work is a rectangle of the output. For each block
 * of terms, its rows of the left factor are packed, then the right factor, one panel of columns at a time; the terms of
 * a chunk then meet all rows, so that they stay in the L1 cache. The inner loop keeps 14 x 64 sums in 28 registers of
 * AVX-512, or 6 x 32 in 24 of NEON. A block holds whole chunks where it can: then their sums never leave registers, and
 * are added in the slot, in float32. */
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
    uint16_t sums[ROWS * COLUMNS]; /* of a chunk that is longer than a block */
    float totals[ROWS * COLUMNS];  /* of earlier chunks */
} scratch;

/* --- a register tile ---------------------------------------------------------------------------------------------- */

/* Some terms of one chunk. */
typedef struct tile {
    const firn_half_factor *left; /* [term][LEFT_STEP] */
    const uint16_t *right;        /* [term][WIDTH] */
    size_t terms;
    bool begins, ends; /* the chunk begins or ends with these terms */
    uint16_t *sums;
    float *totals; /* [row][COLUMNS], like the sums */
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
            sums[row][v] = firn_half_vector_load(t->begins ? zeros : t->sums + row * COLUMNS + v * FIRN_HALVES);
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
        for (size_t v = 0; v < VECTORS; v++) {
            const size_t at = row * COLUMNS + v * FIRN_HALVES;
            if (t->ends)
                firn_half_vector_add_to(t->totals + at, sums[row][v]);
            else
                firn_half_vector_store(t->sums + at, sums[row][v]);
        }
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

/* Registers beyond the last column keep their old contents; their results are not stored. */
static void pack_columns(const firn_product *product, size_t term, size_t terms, size_t column, size_t columns,
                         scratch *s) {
    for (size_t lane = 0; lane < columns; lane += FIRN_VECTOR)
        firn_half_pack_columns(s->right + lane, WIDTH, &product->right, term, terms, column + lane,
                               firn_smaller(FIRN_VECTOR, columns - lane));
}

/* Adds terms of one chunk, from `begin` of the block to t->terms more, to a panel of columns. */
static void add_panel(const firn_rectangle *r, tile t, size_t column, size_t begin, scratch *s) {
    t.right = s->right + begin * WIDTH;
    for (size_t row = 0; row < r->rows; row += HEIGHT) {
        const size_t at = row * COLUMNS + column;
        t.left = s->left[row / HEIGHT] + begin * LEFT_STEP;
        t.sums = s->sums + at;
        t.totals = s->totals + at;
        add_height(&t, firn_smaller(HEIGHT, r->rows - row));
    }
}

static void add_block(const firn_product *product, const firn_rectangle *r, size_t term, size_t terms, scratch *s) {
    const size_t chunk = product->reduction.chunk;
    pack_rows(product, r, term, terms, s);
    for (size_t column = 0; column < r->columns; column += WIDTH) {
        pack_columns(product, term, terms, r->column + column, firn_smaller(WIDTH, r->columns - column), s);
        tile t = {.terms = 0};
        for (size_t done = 0; done < terms; done += t.terms) {
            const size_t before = (term + done) % chunk;
            t.terms = firn_smaller(chunk - before, terms - done);
            t.begins = before == 0;
            t.ends = before + t.terms == chunk || term + done + t.terms == product->terms;
            add_panel(r, t, column, done, s);
        }
    }
}

static void multiply_piece(void *argument, size_t piece, void *slot) {
    const firn_chunked_cut *cut = argument;
    const firn_product *product = &cut->linear->product;
    const size_t chunk = product->reduction.chunk, depth = chunk < DEPTH ? DEPTH - DEPTH % chunk : DEPTH;
    scratch *s = slot;
    const firn_rectangle r = firn_chunked_cut_piece(cut, piece);
    firn_chunked_begin(cut, &r, s->totals, COLUMNS, firn_ceiling(r.columns, WIDTH) * WIDTH);
    for (size_t term = 0; term < product->terms; term += depth)
        add_block(product, &r, term, firn_smaller(depth, product->terms - term), s);
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
