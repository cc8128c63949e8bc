/* Products with float16 sums inside chunks; see native.h. A piece of work is a rectangle of the output. For each block
 * of terms, its rows of the left factor are packed, then the right factor, one panel of 64 columns at a time. The inner
 * loop keeps 14 x 64 sums in 28 registers. The sums of chunks are added in the slot, in float32. */
#include "runtime/kernels/vector/chunked/native.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/chunked/cut.h"
#include "runtime/kernels/vector/chunked/half_vector.h"
#include "runtime/kernels/vector/heights.h"
#include "runtime/kernels/vector/pack.h"

enum {
    HEIGHT = FIRN_REGISTER_ROWS, /* 28 sums, and two registers for the right factor */
    VECTORS = 2,
    WIDTH = VECTORS * FIRN_HALVES,
    DEPTH = 256,             /* terms in a block */
    LEFT_STEP = FIRN_VECTOR, /* between terms of a packed panel of rows */
    ROWS = 8 * HEIGHT,       /* rows of a piece, at most */
    COLUMNS = 4 * WIDTH,
    PIECES = 4, /* wanted for each thread */
    COST = 32   /* multiplications that take as long as one operation on an element (FIRN_GRAIN) */
};

typedef struct scratch {
    uint32_t left[ROWS / HEIGHT][LEFT_STEP * DEPTH]; /* each factor is stored twice, see half_vector.h */
    uint16_t right[WIDTH * DEPTH];
    float widened[FIRN_VECTOR * DEPTH];
    uint16_t sums[ROWS * COLUMNS]; /* of the current chunk */
    float totals[ROWS * COLUMNS];  /* of earlier chunks */
} scratch;

/* --- a register tile ---------------------------------------------------------------------------------------------- */

/* Some terms of one chunk. */
typedef struct tile {
    const uint32_t *left;  /* [term][LEFT_STEP] */
    const uint16_t *right; /* [term][WIDTH] */
    size_t terms;
    bool ends; /* the chunk ends with these terms */
    uint16_t *sums;
    float *totals; /* [row][COLUMNS], like the sums */
} tile;

static inline __attribute__((always_inline)) void add_tile(const size_t rows, const tile *t) {
    if (rows > HEIGHT)
        __builtin_unreachable();
    firn_half_vector sums[HEIGHT][VECTORS];
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            sums[row][v] = firn_half_vector_load(t->sums + row * COLUMNS + v * FIRN_HALVES);
    }
    const uint32_t *left = t->left;
    const uint16_t *right = t->right;
    for (size_t term = 0; term < t->terms; term++, left += LEFT_STEP, right += WIDTH) {
        firn_half_vector line[VECTORS];
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            line[v] = firn_half_vector_load(right + v * FIRN_HALVES);
        FIRN_UNROLL
        for (size_t row = 0; row < rows; row++) {
            FIRN_UNROLL
            for (size_t v = 0; v < VECTORS; v++)
                sums[row][v] = firn_half_vector_fma(left[row], line[v], sums[row][v]);
        }
    }
    FIRN_UNROLL
    for (size_t row = 0; row < rows; row++) {
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            const size_t at = row * COLUMNS + v * FIRN_HALVES;
            if (t->ends)
                firn_half_vector_add_to(t->totals + at, sums[row][v]);
            firn_half_vector_store(t->sums + at, sums[row][v]);
        }
    }
    if (t->ends)
        for (size_t row = 0; row < rows; row++)
            memset(t->sums + row * COLUMNS, 0, WIDTH * sizeof(uint16_t));
}

static void add_height(const tile *t, size_t rows) {
    switch (rows) { FIRN_HEIGHT_CASES(add_tile, t) }
}

/* --- a piece ------------------------------------------------------------------------------------------------------ */

/* Packs panels by way of float32, which represents every float16. */
static void pack_rows(const firn_product *product, const firn_rectangle *r, size_t term, size_t terms, scratch *s) {
    const firn_matrix left = firn_transposed(product->left);
    for (size_t row = 0, panel = 0; row < r->rows; row += HEIGHT, panel++) {
        firn_vector_pack(s->widened, 1, &left, term, terms, r->row + row, firn_smaller(HEIGHT, r->rows - row));
        for (size_t i = 0; i < terms; i++) {
            const firn_vector x = firn_vector_load(s->widened + i * FIRN_VECTOR);
            const firn_words halves = firn_words_from_halves(firn_vector_to_float16(x));
            const firn_words twice = halves | halves << 16;
            _mm512_storeu_si512(s->left[panel] + i * LEFT_STEP, (__m512i)twice);
        }
    }
}

/* Lanes beyond the last column keep their old contents; their results are not stored. */
static void pack_columns(const firn_product *product, size_t term, size_t terms, size_t column, size_t columns,
                         scratch *s) {
    for (size_t lane = 0; lane < columns; lane += FIRN_VECTOR) {
        firn_vector_pack(s->widened, 1, &product->right, term, terms, column + lane,
                         firn_smaller(FIRN_VECTOR, columns - lane));
        for (size_t i = 0; i < terms; i++)
            firn_halves_store_some(s->right + i * WIDTH + lane, firn_first_lanes(FIRN_VECTOR),
                                   firn_vector_to_float16(firn_vector_load(s->widened + i * FIRN_VECTOR)));
    }
}

/* Adds a block of terms to a tile, chunk by chunk. */
static void add_chunks(const firn_product *product, size_t term, size_t terms, tile t, size_t rows) {
    const size_t chunk = product->reduction.chunk;
    for (size_t end = term + terms; term < end; term += t.terms) {
        const size_t chunk_left = chunk - term % chunk;
        t.terms = firn_smaller(chunk_left, end - term);
        t.ends = t.terms == chunk_left || term + t.terms == product->terms;
        add_height(&t, rows);
        t.left += t.terms * LEFT_STEP;
        t.right += t.terms * WIDTH;
    }
}

static void add_block(const firn_product *product, const firn_rectangle *r, size_t term, size_t terms, scratch *s) {
    pack_rows(product, r, term, terms, s);
    for (size_t column = 0; column < r->columns; column += WIDTH) {
        pack_columns(product, term, terms, r->column + column, firn_smaller(WIDTH, r->columns - column), s);
        for (size_t row = 0; row < r->rows; row += HEIGHT) {
            const size_t at = row * COLUMNS + column;
            const tile t = {
                .left = s->left[row / HEIGHT], .right = s->right, .sums = s->sums + at, .totals = s->totals + at};
            add_chunks(product, term, terms, t, firn_smaller(HEIGHT, r->rows - row));
        }
    }
}

static void multiply_piece(void *argument, size_t piece, void *slot) {
    const firn_chunked_cut *cut = argument;
    const firn_product *product = &cut->linear->product;
    scratch *s = slot;
    const firn_rectangle r = firn_chunked_cut_piece(cut, piece);
    memset(s->sums, 0, r.rows * COLUMNS * sizeof(uint16_t));
    firn_chunked_begin(cut, &r, s->totals, COLUMNS);
    for (size_t term = 0; term < product->terms; term += DEPTH)
        add_block(product, &r, term, firn_smaller(DEPTH, product->terms - term), s);
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
