/* Products of batches: y[..., m, n] = sum over k of a[..., m, k] b[..., k, n]. This file determines which operand is
 * which factor; the products are in product.c. Freestanding. */
#include "runtime/kernels/reduce/matmul.h"

#include "runtime/kernels/blocks.h"

/* Describes the matrices of a tensor, `last` elements in a row, transposed if `turned`. */
static firn_matrix matrix_of(const firn_tensor *tensor, bool turned) {
    const size_t last = firn_last_extent(tensor);
    return (firn_matrix){tensor->data, tensor->type, 0, turned ? 1 : last, turned ? last : 1};
}

static size_t elements_of(const firn_tensor *tensor) {
    return (size_t)tensor->dims[tensor->rank - 2] * tensor->dims[tensor->rank - 1];
}

void firn_matmul_of(firn_matmul *matmul, const firn_kernel_call *call) {
    const firn_tensor *a = &call->inputs[FIRN_MATMUL_IN_A], *b = &call->inputs[FIRN_MATMUL_IN_B];
    const bool turned_a = call->integers[FIRN_MATMUL_TRANSPOSE_A] != 0;
    matmul->out = &call->outputs[FIRN_MATMUL_OUT_Y];
    matmul->product = (firn_product){.left = matrix_of(a, turned_a),
                                     .right = matrix_of(b, call->integers[FIRN_MATMUL_TRANSPOSE_B] != 0),
                                     .rows = matmul->out->dims[matmul->out->rank - 2],
                                     .columns = firn_last_extent(matmul->out),
                                     .terms = a->dims[a->rank - (turned_a ? 2 : 1)],
                                     .present = FIRN_TERMS_ALL,
                                     .reduction = call->reductions[FIRN_MATMUL_REDUCTION_PRODUCTS]};
    matmul->left_elements = elements_of(a);
    matmul->right_elements = elements_of(b);
    matmul->out_elements = elements_of(matmul->out);
    matmul->batches = matmul->out->elements / matmul->out_elements;
}

void firn_matmul_batch(const firn_matmul *matmul, size_t batch, firn_linear *linear, firn_tensor *out) {
    *out = *matmul->out;
    out->data = (uint8_t *)out->data + batch * matmul->out_elements * firn_type_bytes(out->type);
    linear->product = matmul->product;
    linear->product.left.first = batch * matmul->left_elements;
    linear->product.right.first = batch * matmul->right_elements;
    linear->bias = NULL;
    linear->out = out;
}

/* --- the portable kernel ------------------------------------------------------------------------------------------ */

/* A task is one tile of one batch. */
static void batch_tiles(void *argument, size_t begin, size_t end) {
    const firn_matmul *matmul = argument;
    const size_t tiles = firn_product_tiles(&matmul->product), columns = matmul->product.columns;
    firn_linear linear;
    firn_tensor out;
    firn_tile tile;
    for (size_t task = begin; task < end; task++) {
        firn_matmul_batch(matmul, task / tiles, &linear, &out);
        firn_product_tile(&linear.product, task % tiles, &tile);
        size_t at = tile.row * columns + tile.column;
        for (size_t row = 0; row < tile.rows; row++, at += columns)
            firn_narrow(out.data, out.type, at, tile.values[row], tile.columns);
    }
}

/* A task is at most four rows of one batch, computed where the output lies. */
static void batch_rows(void *argument, size_t begin, size_t end) {
    const firn_matmul *matmul = argument;
    const size_t fours = firn_ceiling(matmul->product.rows, 4), columns = matmul->product.columns;
    firn_linear linear;
    firn_tensor out;
    for (size_t task = begin; task < end; task++) {
        const size_t four = task % fours;
        firn_matmul_batch(matmul, task / fours, &linear, &out);
        if (firn_may_have_nan(firn_product_rows(&linear.product, four, out.data)))
            firn_canonical_many((float *)out.data + 4 * four * columns,
                                firn_smaller(4, linear.product.rows - 4 * four) * columns);
    }
}

void firn_kernel_matmul(const firn_kernel_call *call) {
    firn_matmul matmul;
    firn_matmul_of(&matmul, call);
    const firn_product *product = &matmul.product;
    if (firn_product_is_direct(product) && matmul.out->type == FIRN_FLOAT32) {
        firn_parallel_run(&call->parallel, matmul.batches * firn_ceiling(product->rows, 4),
                          4 * (uint64_t)product->columns * product->terms, batch_rows, &matmul);
        return;
    }
    firn_parallel_run(&call->parallel, matmul.batches * firn_product_tiles(product),
                      (uint64_t)FIRN_TILE_ROWS * FIRN_TILE_COLUMNS * product->terms, batch_tiles, &matmul);
}
