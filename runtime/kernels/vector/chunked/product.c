/* Products with chunked sums; see product.h. A piece of work is a rectangle of the output. For each block of terms, its
 * rows of the left factor are packed and widened, then the right factor, panel by panel; unfinished sums stay in the
 * slot. There is no blocking for the L2 cache: a term of a tile takes forty cycles, much longer than loading its
 * factors. */
#include "runtime/kernels/vector/chunked/product.h"

#include <string.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/chunked/chunked.h"
#include "runtime/kernels/vector/chunked/cut.h"
#include "runtime/kernels/vector/pack.h"

enum {
    WIDTH = 2 * FIRN_VECTOR,
    HEIGHT = FIRN_VECTOR, /* rows of a packed panel */
    ROWS = 64,            /* of a piece, at most */
    COLUMNS = 256,
    DEPTH = 256, /* terms in a block */
    PIECES = 8,  /* wanted for each thread */
    COST = 4     /* multiplications that take as long as one operation on an element (FIRN_GRAIN) */
};

typedef struct scratch {
    float left[ROWS / HEIGHT][HEIGHT * DEPTH];
    float right[WIDTH * DEPTH];
    float sums[ROWS * COLUMNS], totals[ROWS * COLUMNS];
} scratch;

/* --- a piece ------------------------------------------------------------------------------------------------------ */

static void add_block(const firn_product *product, const firn_rectangle *r, size_t term, size_t terms, scratch *s) {
    const firn_matrix left = firn_transposed(product->left);
    float left_largest[ROWS / HEIGHT];
    firn_chunked_tile t = {.accumulator = product->reduction.accumulator,
                           .chunk = product->reduction.chunk,
                           .left_row_step = 1,
                           .left_term_step = HEIGHT,
                           .right = s->right,
                           .right_step = WIDTH,
                           .terms = terms,
                           .first_term = term,
                           .ends = term + terms == product->terms,
                           .present = FIRN_TERMS_ALL, /* a linear layer has no mask */
                           .step = COLUMNS};
    for (size_t row = 0; row < r->rows; row += HEIGHT) {
        const size_t rows = firn_smaller(HEIGHT, r->rows - row);
        firn_vector_pack(s->left[row / HEIGHT], 1, &left, term, terms, r->row + row, rows);
        left_largest[row / HEIGHT] = firn_chunked_largest(t.accumulator, s->left[row / HEIGHT], terms, HEIGHT, rows);
    }
    for (size_t column = 0; column < r->columns; column += WIDTH) {
        t.columns = firn_smaller(WIDTH, r->columns - column);
        firn_vector_pack(s->right, WIDTH / FIRN_VECTOR, &product->right, term, terms, r->column + column, t.columns);
        t.right_largest = firn_chunked_largest(t.accumulator, s->right, terms, WIDTH, t.columns);
        for (size_t row = 0; row < r->rows; row += HEIGHT) {
            t.rows = firn_smaller(HEIGHT, r->rows - row);
            t.left = s->left[row / HEIGHT];
            t.left_largest = left_largest[row / HEIGHT];
            t.sums = s->sums + row * COLUMNS + column;
            t.totals = s->totals + row * COLUMNS + column;
            firn_chunked_tile_add(&t);
        }
    }
}

static void multiply_piece(void *argument, size_t piece, void *slot) {
    const firn_chunked_cut *cut = argument;
    const firn_product *product = &cut->linear->product;
    scratch *s = slot;
    const firn_rectangle r = firn_chunked_cut_piece(cut, piece);
    for (size_t row = 0; row < r.rows; row++)
        memset(s->sums + row * COLUMNS, 0, r.columns * sizeof(float));
    firn_chunked_begin(cut, &r, s->totals, COLUMNS, r.columns);
    for (size_t term = 0; term < product->terms; term += DEPTH)
        add_block(product, &r, term, firn_smaller(DEPTH, product->terms - term), s);
    firn_chunked_store(cut->linear, &r, s->totals, COLUMNS);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

uint64_t firn_chunked_scratch(uint16_t op, const firn_kernel_call *call) {
    (void)op;
    (void)call;
    return sizeof(scratch);
}

static const firn_chunked_way way = {sizeof(scratch), ROWS, COLUMNS, HEIGHT, WIDTH, PIECES, COST};

static void multiply(uint16_t op, const firn_kernel_call *call) {
    firn_chunked_run(op, call, &way, multiply_piece);
}

void firn_chunked_linear(const firn_kernel_call *call) {
    multiply(FIRN_OP_linear, call);
}

void firn_chunked_linear_backward_input(const firn_kernel_call *call) {
    multiply(FIRN_OP_linear_backward_input, call);
}

void firn_chunked_linear_backward_weight(const firn_kernel_call *call) {
    multiply(FIRN_OP_linear_backward_weight, call);
}

void firn_chunked_linear_backward_weight_rows(const firn_kernel_call *call) {
    multiply(FIRN_OP_linear_backward_weight_rows, call);
}

void firn_chunked_add_weight(const firn_kernel_call *call) {
    multiply(FIRN_KERNEL_ADD_WEIGHT, call);
}

void firn_chunked_matmul(const firn_kernel_call *call) {
    firn_chunked_run_matmul(call, &way, multiply_piece);
}
