/* Linear layers: y = x W^T + b and its gradients. The products are in product.c; here stands which matrix is which.
 * Freestanding. */
#include "runtime/kernels/linear.h"

#include "runtime/kernels/blocks.h"

/* Layout of a weight, attribute 0. */
enum { OUT_IN = 0, IN_OUT = 1 };

/* The tensor as a matrix of rows by its last extent. */
static firn_matrix matrix(const firn_tensor *tensor) {
    return (firn_matrix){tensor->data, tensor->type, 0, firn_last_extent(tensor), 1};
}

static void add_bias(firn_tile *tile, const firn_tensor *bias) {
    float values[FIRN_TILE_COLUMNS];
    firn_widen(values, bias->data, bias->type, tile->column, tile->columns);
    for (size_t row = 0; row < tile->rows; row++)
        for (size_t column = 0; column < tile->columns; column++)
            tile->values[row][column] += values[column];
}

static void tiles(void *argument, size_t begin, size_t end) {
    const firn_linear *job = argument;
    firn_tile tile;
    for (size_t number = begin; number < end; number++) {
        firn_product_tile(&job->product, number, &tile);
        if (job->bias != NULL)
            add_bias(&tile, job->bias);
        for (size_t row = 0; row < tile.rows; row++)
            firn_narrow(job->out->data, job->out->type, (tile.row + row) * job->product.columns + tile.column,
                        tile.values[row], tile.columns);
    }
}

static firn_linear begin_linear(const firn_kernel_call *call) {
    firn_linear job = {.out = &call->outputs[0]};
    job.product.present = FIRN_TERMS_ALL;
    job.product.reduction = call->reductions[0];
    return job;
}

/* y[n,o] = sum_k x[n,k] w[o,k] + bias[o] */
firn_linear firn_linear_forward(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[0], *weight = &call->inputs[1];
    firn_matrix w = matrix(weight);
    firn_linear job = begin_linear(call);
    job.bias = call->input_count > 2 ? &call->inputs[2] : NULL;
    job.product.left = matrix(x);
    job.product.right = call->integers[FIRN_LINEAR_LAYOUT] == OUT_IN ? firn_transposed(w) : w;
    job.product.rows = firn_rows(x);
    job.product.terms = firn_last_extent(x);
    job.product.columns = weight->elements / firn_last_extent(x);
    return job;
}

/* dx[n,k] = sum_o dy[n,o] w[o,k] */
firn_linear firn_linear_backward_input(const firn_kernel_call *call) {
    const firn_tensor *dy = &call->inputs[0], *weight = &call->inputs[1];
    firn_matrix w = matrix(weight);
    firn_linear job = begin_linear(call);
    job.product.left = matrix(dy);
    job.product.right = call->integers[FIRN_LINEAR_LAYOUT] == OUT_IN ? w : firn_transposed(w);
    job.product.rows = firn_rows(dy);
    job.product.terms = firn_last_extent(dy);
    job.product.columns = weight->elements / firn_last_extent(dy);
    return job;
}

/* dw[o,k] = sum_n dy[n,o] x[n,k], or dw[k,o] with the factors exchanged */
firn_linear firn_linear_backward_weight(const firn_kernel_call *call) {
    const firn_tensor *dy = &call->inputs[0], *x = &call->inputs[1];
    const firn_tensor *rows = call->integers[FIRN_LINEAR_LAYOUT] == OUT_IN ? dy : x,
                      *columns = call->integers[FIRN_LINEAR_LAYOUT] == OUT_IN ? x : dy;
    firn_linear job = begin_linear(call);
    job.product.left = firn_transposed(matrix(rows));
    job.product.right = matrix(columns);
    job.product.rows = firn_last_extent(rows);
    job.product.terms = firn_rows(x);
    job.product.columns = firn_last_extent(columns);
    return job;
}

static void run(const firn_kernel_call *call, firn_linear job) {
    const uint64_t cost = (uint64_t)FIRN_TILE_ROWS * FIRN_TILE_COLUMNS * job.product.terms;
    firn_parallel_run(&call->parallel, firn_product_tiles(&job.product), cost, tiles, &job);
}

void firn_kernel_linear(const firn_kernel_call *call) {
    run(call, firn_linear_forward(call));
}

void firn_kernel_linear_backward_input(const firn_kernel_call *call) {
    run(call, firn_linear_backward_input(call));
}

void firn_kernel_linear_backward_weight(const firn_kernel_call *call) {
    run(call, firn_linear_backward_weight(call));
}
