/* Linear layers: y = x W^T + b and its gradients. This file determines which operand is which factor; the products are
 * in product.c. Freestanding. */
#include "runtime/kernels/linear.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/parts.h"
#include "runtime/numerics/half_parts.h"

enum { OUT_IN = 0, IN_OUT = 1 }; /* layout of a weight */

static void add_bias(firn_tile *tile, const firn_tensor *bias) {
    float values[FIRN_TILE_COLUMNS];
    firn_widen(values, bias->data, bias->type, tile->column, tile->columns);
    for (size_t row = 0; row < tile->rows; row++)
        for (size_t column = 0; column < tile->columns; column++)
            tile->values[row][column] += values[column];
}

void firn_linear_tiles(void *argument, size_t begin, size_t end) {
    const firn_linear *job = argument;
    const size_t columns = job->product.columns;
    const uint8_t type = job->out->type;
    void *out = job->out->data;
    firn_tile tile;
    for (size_t number = begin; number < end; number++) {
        firn_product_tile(&job->product, number, &tile);
        if (job->bias != NULL)
            add_bias(&tile, job->bias);
        size_t at = tile.row * columns + tile.column;
        for (size_t row = 0; row < tile.rows; row++, at += columns)
            firn_narrow(out, type, at, tile.values[row], tile.columns);
    }
}

/* Describes a tensor as a matrix whose columns are its last extent, transposed if `turned`. */
static void set_factor(firn_matrix *factor, const firn_tensor *tensor, bool turned, size_t *rows, size_t *columns) {
    const size_t last = firn_last_extent(tensor), others = firn_rows(tensor);
    *factor = (firn_matrix){tensor->data, tensor->type, 0, turned ? 1 : last, turned ? last : 1};
    *rows = turned ? last : others;
    *columns = turned ? others : last;
}

/* Fills in a layer that is the product of two inputs, without a bias. A weight may be float32 where the other factor is
 * not: then it is rounded. */
static void multiply(firn_linear *job, const firn_kernel_call *call, size_t left, bool left_turned, size_t right,
                     bool right_turned) {
    firn_product *product = &job->product;
    set_factor(&product->left, &call->inputs[left], left_turned, &product->rows, &product->terms);
    set_factor(&product->right, &call->inputs[right], right_turned, &product->terms, &product->columns);
    if (firn_has_half_part(product->left.type) && product->right.type == FIRN_FLOAT32)
        product->right.type = FIRN_ROUNDED_TO + product->left.type;
    product->present = FIRN_TERMS_ALL;
    product->diagonal = 0;
    product->reduction = call->reductions[FIRN_LINEAR_REDUCTION_PRODUCTS];
    job->bias = NULL;
    job->out = &call->outputs[0];
}

/* y[n,o] = sum_k x[n,k] w[o,k] + bias[o] */
static void forward(firn_linear *job, const firn_kernel_call *call) {
    multiply(job, call, FIRN_LINEAR_IN_X, false, FIRN_LINEAR_IN_WEIGHT, call->integers[FIRN_LINEAR_LAYOUT] == OUT_IN);
    job->bias = firn_call_input(call, FIRN_LINEAR_IN_BIAS);
}

/* dx[n,k] = sum_o dy[n,o] w[o,k] */
static void backward_input(firn_linear *job, const firn_kernel_call *call) {
    multiply(job, call, FIRN_LINEAR_BACKWARD_INPUT_IN_DY, false, FIRN_LINEAR_BACKWARD_INPUT_IN_WEIGHT,
             call->integers[FIRN_LINEAR_BACKWARD_INPUT_LAYOUT] == IN_OUT);
}

/* dw[o,k] = sum_n dy[n,o] x[n,k], or dw[k,o] with the factors exchanged */
static void backward_weight(firn_linear *job, const firn_kernel_call *call) {
    const bool out_in = call->integers[FIRN_LINEAR_BACKWARD_WEIGHT_LAYOUT] == OUT_IN;
    const uint8_t dy = FIRN_LINEAR_BACKWARD_WEIGHT_IN_DY, x = FIRN_LINEAR_BACKWARD_WEIGHT_IN_X;
    multiply(job, call, out_in ? dy : x, true, out_in ? x : dy, false);
}

_Static_assert((int)FIRN_LINEAR_BACKWARD_WEIGHT_IN_DY == (int)FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_IN_DY &&
                   (int)FIRN_LINEAR_BACKWARD_WEIGHT_IN_X == (int)FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_IN_X &&
                   (int)FIRN_LINEAR_BACKWARD_WEIGHT_LAYOUT == (int)FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_LAYOUT,
               "the op for some rows has the operands of the op for all");
_Static_assert(FIRN_LINEAR_OUT_Y == 0 && FIRN_LINEAR_BACKWARD_INPUT_OUT_DX == 0 &&
                   FIRN_LINEAR_BACKWARD_WEIGHT_OUT_DWEIGHT == 0 && FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_OUT_DWEIGHT == 0,
               "the product is the first output");

/* The same for some of its rows. */
static void backward_weight_rows(firn_linear *job, const firn_kernel_call *call) {
    backward_weight(job, call);
    job->product.left.first = (size_t)call->integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_FIRST];
    job->product.rows = (size_t)call->integers[FIRN_LINEAR_BACKWARD_WEIGHT_ROWS_ROWS];
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
    case FIRN_KERNEL_ADD_WEIGHT:
        backward_weight(job, call);
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

/* A kernel set with vectors computes every layer in tiles. */
static firn_task_body in_tiles(void) {
    return FIRN_VECTORS != 0 ? firn_linear_tiles : firn_linear_in_tiles;
}

static void run(const firn_kernel_call *call, firn_linear *job) {
    if (in_tiles() == NULL || is_direct(job)) { /* without tiles only plans run in which every layer is direct */
        firn_parallel_run(&call->parallel, firn_ceiling(job->product.rows, 4),
                          4 * (uint64_t)job->product.columns * job->product.terms, direct_rows, job);
        return;
    }
    const uint64_t cost = (uint64_t)FIRN_TILE_ROWS * FIRN_TILE_COLUMNS * job->product.terms;
    firn_parallel_run(&call->parallel, firn_product_tiles(&job->product), cost, in_tiles(), job);
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

void firn_kernel_linear_backward_weight_rows(const firn_kernel_call *call) {
    firn_linear job;
    backward_weight_rows(&job, call);
    run(call, &job);
}

static void add_tiles(void *argument, size_t begin, size_t end) {
    const firn_linear *job = argument;
    const size_t columns = job->product.columns;
    float *out = job->out->data;
    firn_tile tile;
    for (size_t number = begin; number < end; number++) {
        firn_product_tile_from(&job->product, number, out, &tile);
        for (size_t row = 0; row < tile.rows; row++)
            firn_narrow(out, FIRN_FLOAT32, (tile.row + row) * columns + tile.column, tile.values[row], tile.columns);
    }
}

void firn_kernel_add_weight(const firn_kernel_call *call) {
    firn_linear job;
    backward_weight(&job, call);
    const uint64_t cost = (uint64_t)FIRN_TILE_ROWS * FIRN_TILE_COLUMNS * job.product.terms;
    firn_parallel_run(&call->parallel, firn_product_tiles(&job.product), cost, add_tiles, &job);
}
