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

/* The same with rows and columns exchanged, if so asked. */
static firn_matrix matrix_turned(const firn_tensor *tensor, bool turned) {
    const size_t extent = firn_last_extent(tensor);
    return (firn_matrix){tensor->data, tensor->type, 0, turned ? 1 : extent, turned ? extent : 1};
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

/* What the three have in common. */
static void begin_linear(firn_linear *job, const firn_kernel_call *call) {
    job->product.present = FIRN_TERMS_ALL;
    job->product.diagonal = 0;
    job->product.reduction = call->reductions[0];
    job->bias = NULL;
    job->out = &call->outputs[0];
}

/* y[n,o] = sum_k x[n,k] w[o,k] + bias[o] */
static void forward(firn_linear *job, const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[0], *weight = &call->inputs[1];
    begin_linear(job, call);
    job->product.left = matrix(x);
    job->product.right = matrix_turned(weight, call->integers[FIRN_LINEAR_LAYOUT] == OUT_IN);
    job->product.rows = firn_rows(x);
    job->product.terms = firn_last_extent(x);
    job->product.columns = weight->elements / firn_last_extent(x);
    job->bias = call->input_count > 2 ? &call->inputs[2] : NULL;
}

/* dx[n,k] = sum_o dy[n,o] w[o,k] */
static void backward_input(firn_linear *job, const firn_kernel_call *call) {
    const firn_tensor *dy = &call->inputs[0], *weight = &call->inputs[1];
    begin_linear(job, call);
    job->product.left = matrix(dy);
    job->product.right = matrix_turned(weight, call->integers[FIRN_LINEAR_LAYOUT] == IN_OUT);
    job->product.rows = firn_rows(dy);
    job->product.terms = firn_last_extent(dy);
    job->product.columns = weight->elements / firn_last_extent(dy);
}

/* dw[o,k] = sum_n dy[n,o] x[n,k], or dw[k,o] with the factors exchanged */
static void backward_weight(firn_linear *job, const firn_kernel_call *call) {
    const firn_tensor *dy = &call->inputs[0], *x = &call->inputs[1];
    const firn_tensor *rows = call->integers[FIRN_LINEAR_LAYOUT] == OUT_IN ? dy : x,
                      *columns = call->integers[FIRN_LINEAR_LAYOUT] == OUT_IN ? x : dy;
    begin_linear(job, call);
    job->product.left = matrix_turned(rows, true);
    job->product.right = matrix(columns);
    job->product.rows = firn_last_extent(rows);
    job->product.terms = firn_rows(x);
    job->product.columns = firn_last_extent(columns);
}

void firn_linear_of(firn_linear *job, uint16_t op, const firn_kernel_call *call) {
    switch (op) {
    case FIRN_OP_linear:
        forward(job, call);
        break;
    case FIRN_OP_linear_backward_input:
        backward_input(job, call);
        break;
    case FIRN_OP_linear_backward_weight:
        backward_weight(job, call);
        break;
    default:
        __builtin_trap();
    }
}

static void run(const firn_kernel_call *call, firn_linear *job) {
    const uint64_t cost = (uint64_t)FIRN_TILE_ROWS * FIRN_TILE_COLUMNS * job->product.terms;
    firn_parallel_run(&call->parallel, firn_product_tiles(&job->product), cost, tiles, job);
}

void firn_kernel_linear(const firn_kernel_call *call) {
    firn_linear job;
    forward(&job, call);
    run(call, &job);
}

void firn_kernel_linear_backward_input(const firn_kernel_call *call) {
    firn_linear job;
    backward_input(&job, call);
    run(call, &job);
}

void firn_kernel_linear_backward_weight(const firn_kernel_call *call) {
    firn_linear job;
    backward_weight(&job, call);
    run(call, &job);
}
