/* Linear layers: y = x W^T + b and its gradients. This file determines which operand is which factor; the products are
 * in product.c. Freestanding. */
#include "runtime/kernels/linear.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/parts.h"

enum { OUT_IN = 0, IN_OUT = 1 }; /* layout of a weight */

/* Describes a tensor as a matrix whose columns are its last extent. */
static firn_matrix matrix(const firn_tensor *tensor) {
    return (firn_matrix){tensor->data, tensor->type, 0, firn_last_extent(tensor), 1};
}

/* The same, transposed if `turned`. */
static firn_matrix matrix_turned(const firn_tensor *tensor, bool turned) {
    const size_t extent = firn_last_extent(tensor);
    return (firn_matrix){tensor->data, tensor->type, 0, turned ? 1 : extent, turned ? extent : 1};
}

/* Fills in what the three products have in common. */
static void begin_linear(firn_linear *job, const firn_kernel_call *call, const firn_tensor *out) {
    job->product.present = FIRN_TERMS_ALL;
    job->product.diagonal = 0;
    job->product.reduction = call->reductions[FIRN_LINEAR_REDUCTION_PRODUCTS];
    job->bias = NULL;
    job->out = out;
}

/* y[n,o] = sum_k x[n,k] w[o,k] + bias[o] */
static void forward(firn_linear *job, const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_LINEAR_IN_X], *weight = &call->inputs[FIRN_LINEAR_IN_WEIGHT];
    begin_linear(job, call, &call->outputs[FIRN_LINEAR_OUT_Y]);
    job->product.left = matrix(x);
    job->product.right = matrix_turned(weight, call->integers[FIRN_LINEAR_LAYOUT] == OUT_IN);
    job->product.rows = firn_rows(x);
    job->product.terms = firn_last_extent(x);
    job->product.columns = weight->elements / firn_last_extent(x);
    job->bias = firn_call_input(call, FIRN_LINEAR_IN_BIAS);
}

/* dx[n,k] = sum_o dy[n,o] w[o,k] */
static void backward_input(firn_linear *job, const firn_kernel_call *call) {
    const firn_tensor *dy = &call->inputs[FIRN_LINEAR_BACKWARD_INPUT_IN_DY],
                      *weight = &call->inputs[FIRN_LINEAR_BACKWARD_INPUT_IN_WEIGHT];
    begin_linear(job, call, &call->outputs[FIRN_LINEAR_BACKWARD_INPUT_OUT_DX]);
    job->product.left = matrix(dy);
    job->product.right = matrix_turned(weight, call->integers[FIRN_LINEAR_BACKWARD_INPUT_LAYOUT] == IN_OUT);
    job->product.rows = firn_rows(dy);
    job->product.terms = firn_last_extent(dy);
    job->product.columns = weight->elements / firn_last_extent(dy);
}

/* dw[o,k] = sum_n dy[n,o] x[n,k], or dw[k,o] with the factors exchanged: of it `rows` rows from `first` on, and all if
 * `rows` is 0. */
static void backward_weight(firn_linear *job, const firn_kernel_call *call, size_t first, size_t rows_wanted) {
    const firn_tensor *dy = &call->inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_DY],
                      *x = &call->inputs[FIRN_LINEAR_BACKWARD_WEIGHT_IN_X];
    const bool out_in = call->integers[FIRN_LINEAR_BACKWARD_WEIGHT_LAYOUT] == OUT_IN;
    const firn_tensor *rows = out_in ? dy : x, *columns = out_in ? x : dy;
    begin_linear(job, call, &call->outputs[FIRN_LINEAR_BACKWARD_WEIGHT_OUT_DWEIGHT]);
    job->product.left = matrix_turned(rows, true);
    job->product.left.first = first;
    job->product.right = matrix(columns);
    job->product.rows = rows_wanted != 0 ? rows_wanted : firn_last_extent(rows);
    job->product.terms = firn_rows(x);
    job->product.columns = firn_last_extent(columns);
}

_Static_assert((int)FIRN_LINEAR_BACKWARD_WEIGHT_IN_DY == (int)FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_IN_DY &&
                   (int)FIRN_LINEAR_BACKWARD_WEIGHT_IN_X == (int)FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_IN_X &&
                   (int)FIRN_LINEAR_BACKWARD_WEIGHT_LAYOUT == (int)FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_LAYOUT,
               "the op for some rows has the operands of the op for all");

static void backward_weight_rows(firn_linear *job, const firn_kernel_call *call) {
    backward_weight(job, call, (size_t)call->integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_FIRST],
                    (size_t)call->integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_ROWS]);
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
        backward_weight(job, call, 0, 0);
        break;
    case FIRN_OP_linear_backward_weight_rows:
        backward_weight_rows(job, call);
        break;
    default:
        __builtin_trap();
    }
}

/* Adds the bias to at most four rows and makes what is NaN canonical. */
static void finish_rows(float *rows, size_t count, size_t columns, const firn_tensor *bias, firn_nan_watch watch) {
    if (bias != NULL) {
        const float *values = bias->data;
        watch = 0;
        for (size_t row = 0; row < count; row++)
            for (size_t column = 0; column < columns; column++) {
                const float sum = rows[row * columns + column] + values[column];
                watch = firn_watch(watch, sum);
                rows[row * columns + column] = sum;
            }
    }
    if (firn_may_have_nan(watch))
        firn_canonical_many(rows, count * columns);
}

static void direct_rows(void *argument, size_t begin, size_t end) {
    const firn_linear *job = argument;
    const firn_product *product = &job->product;
    float *out = job->out->data;
    for (size_t four = begin; four < end; four++)
        finish_rows(out + 4 * four * product->columns, firn_smaller(4, product->rows - 4 * four), product->columns,
                    job->bias, firn_product_rows(product, four, out));
}

/* Returns true if sums can be computed where the output lies. */
static bool is_direct(const firn_linear *job) {
    return firn_product_is_direct(&job->product) && job->out->type == FIRN_FLOAT32 &&
           (job->bias == NULL || job->bias->type == FIRN_FLOAT32);
}

static void run(const firn_kernel_call *call, firn_linear *job) {
    if (is_direct(job)) {
        firn_parallel_run(&call->parallel, firn_ceiling(job->product.rows, 4),
                          4 * (uint64_t)job->product.columns * job->product.terms, direct_rows, job);
        return;
    }
    const uint64_t cost = (uint64_t)FIRN_TILE_ROWS * FIRN_TILE_COLUMNS * job->product.terms;
    firn_parallel_run(&call->parallel, firn_product_tiles(&job->product), cost, firn_linear_tile_part, job);
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
    backward_weight(&job, call, 0, 0);
    run(call, &job);
}

void firn_kernel_linear_backward_weight_rows(const firn_kernel_call *call) {
    firn_linear job;
    backward_weight_rows(&job, call);
    run(call, &job);
}
