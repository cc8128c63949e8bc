/* Products with chunked sums; see product.h. A piece of work is a rectangle of the output. */
#include "runtime/kernels/vector/chunked/product.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/vector/chunked/cut.h"
#include "runtime/kernels/vector/chunked/sums.h"

enum { PIECES = 8 /* wanted for each thread */ };

static void multiply_piece(void *argument, size_t piece, void *slot) {
    const firn_chunked_cut *cut = argument;
    const firn_product *product = &cut->linear->product;
    firn_chunked_sums *sums = slot;
    const firn_rectangle r = firn_chunked_cut_piece(cut, piece);
    firn_chunked_terms run = {.terms = product->terms, .left = product->left, .right = product->right};
    run.left.first += r.row * run.left.row_step;
    run.right.first += r.column * run.right.column_step;
    firn_chunked_sums_begin(sums, &product->reduction, r.rows, r.columns);
    firn_chunked_begin(cut, &r, sums->totals, FIRN_CHUNKED_COLUMNS, r.columns);
    firn_chunked_sums_add(sums, &run);
    firn_chunked_sums_end(sums);
    firn_chunked_store(cut->linear, &r, sums->totals, FIRN_CHUNKED_COLUMNS);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

uint64_t firn_chunked_scratch(uint16_t op, const firn_kernel_call *call) {
    (void)op;
    (void)call;
    return sizeof(firn_chunked_sums);
}

static const firn_chunked_way way = {sizeof(firn_chunked_sums), FIRN_CHUNKED_ROWS,  FIRN_CHUNKED_COLUMNS,
                                     FIRN_CHUNKED_HEIGHT,       FIRN_CHUNKED_WIDTH, PIECES,
                                     FIRN_CHUNKED_COST};

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
