/* The loss of logits and its gradients, by blocks of rows (linear_cross_entropy.h). The gradient of a block's
 * logits takes their place, and the logits of the next block take the place of that. The gradient of the weight is one
 * sum over all rows: each block continues it from float32, which rounds nothing between them. Freestanding. */
#include "runtime/kernels/losses/linear_cross_entropy.h"

#include <stdbool.h>

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/losses/losses.h"
#include "runtime/kernels/row_weights.h"
#include "runtime/numerics/elementary.h"

enum {
    X = FIRN_LINEAR_CROSS_ENTROPY_IN_X,
    WEIGHT = FIRN_LINEAR_CROSS_ENTROPY_IN_WEIGHT,
    LABELS = FIRN_LINEAR_CROSS_ENTROPY_IN_LABELS,
    DLOSS = FIRN_LINEAR_CROSS_ENTROPY_IN_DLOSS,
    WEIGHTS = FIRN_LINEAR_CROSS_ENTROPY_IN_WEIGHTS,
    LOGITS = FIRN_LINEAR_CROSS_ENTROPY_OUT_LOGITS,
    VALUES = FIRN_LINEAR_CROSS_ENTROPY_OUT_VALUES
};

/* Scaling of the weighted loss: by the extent of dimension 0 of x; 0: by the sum of the weights. */
enum { BATCH_SIZE = 1 };

static size_t rows_of_block(const firn_kernel_call *call, size_t first) {
    return firn_smaller((size_t)call->integers[FIRN_LINEAR_CROSS_ENTROPY_ROWS], firn_rows(&call->inputs[X]) - first);
}

/* Returns the rows of a matrix from `first` on, as many as dims says. */
static firn_tensor rows_of(const firn_tensor *matrix, size_t first, const uint32_t *dims) {
    return (firn_tensor){.data = (uint8_t *)matrix->data + first * dims[1] * firn_type_bytes(matrix->type),
                         .elements = (size_t)dims[0] * dims[1],
                         .dims = dims,
                         .type = matrix->type,
                         .rank = 2};
}

static void set_dims(uint32_t dims[2], size_t rows, const firn_tensor *columns_of) {
    dims[0] = (uint32_t)rows;
    dims[1] = (uint32_t)firn_last_extent(columns_of);
}

_Static_assert((int)FIRN_LINEAR_LAYOUT == (int)FIRN_LINEAR_CROSS_ENTROPY_LAYOUT &&
                   (int)FIRN_LINEAR_BACKWARD_INPUT_LAYOUT == (int)FIRN_LINEAR_CROSS_ENTROPY_LAYOUT &&
                   (int)FIRN_LINEAR_BACKWARD_WEIGHT_LAYOUT == (int)FIRN_LINEAR_CROSS_ENTROPY_LAYOUT,
               "the parts find the layout among the attributes of the whole");

void firn_logit_product_of(firn_logit_product *product, uint16_t op, const firn_kernel_call *call, size_t first) {
    const size_t rows = rows_of_block(call, first);
    set_dims(product->x_dims, rows, &call->inputs[X]);
    set_dims(product->logits_dims, rows, &call->outputs[LOGITS]);
    const firn_tensor x = rows_of(&call->inputs[X], first, product->x_dims);
    const firn_tensor dx = rows_of(&call->outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_DX], first, product->x_dims);
    const firn_tensor logits = rows_of(&call->outputs[LOGITS], 0, product->logits_dims);
    uint8_t reduction = FIRN_LINEAR_CROSS_ENTROPY_REDUCTION_WEIGHT;
    firn_tensor *operands = product->operands;
    if (op == FIRN_OP_linear) {
        operands[FIRN_LINEAR_IN_X] = x;
        operands[FIRN_LINEAR_IN_WEIGHT] = call->inputs[WEIGHT];
        operands[2] = logits;
        reduction = FIRN_LINEAR_CROSS_ENTROPY_REDUCTION_LOGITS;
    } else if (op == FIRN_OP_linear_backward_input) {
        operands[FIRN_LINEAR_BACKWARD_INPUT_IN_DY] = logits;
        operands[FIRN_LINEAR_BACKWARD_INPUT_IN_WEIGHT] = call->inputs[WEIGHT];
        operands[2] = dx;
        reduction = FIRN_LINEAR_CROSS_ENTROPY_REDUCTION_INPUT;
    } else {
        operands[FIRN_LINEAR_BACKWARD_WEIGHT_IN_DY] = logits;
        operands[FIRN_LINEAR_BACKWARD_WEIGHT_IN_X] = x;
        operands[2] = call->outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_DWEIGHT];
    }
    product->call = *call;
    product->call.inputs = operands;
    product->call.input_count = 2;
    product->call.outputs = &operands[2];
    product->call.output_count = 1;
    product->call.reductions = &call->reductions[reduction];
}

/* --- the loss of a block ------------------------------------------------------------------------------------------ */

/* What all blocks have in common. */
typedef struct run {
    const firn_kernel_call *call;
    const firn_logit_kernels *kernels;
    firn_row_weights weights;
    firn_tensor divisor; /* weighted: what the loss is divided by */
    firn_sum loss;
} run;

/* The operands of the losses of a block. */
typedef struct block {
    size_t first;
    uint32_t dims[2], count[1], one[1];
    firn_tensor logits, labels, weights, maxima, sums, losses;
    firn_tensor unused[2]; /* the loss of the block by itself, and its divisor */
    float numbers[2];
} block;

static firn_tensor vector(const firn_tensor *from, size_t first, const uint32_t *count) {
    return (firn_tensor){
        .data = (uint8_t *)from->data + first * 4, .elements = count[0], .dims = count, .type = from->type, .rank = 1};
}

static void place_block(block *b, const firn_kernel_call *call, size_t first) {
    const firn_tensor *values = &call->outputs[VALUES], *weights = firn_call_input(call, WEIGHTS);
    const size_t all = firn_last_extent(values);
    b->first = first;
    set_dims(b->dims, rows_of_block(call, first), &call->outputs[LOGITS]);
    b->count[0] = b->dims[0];
    b->one[0] = 1;
    b->logits = rows_of(&call->outputs[LOGITS], 0, b->dims);
    b->labels = vector(&call->inputs[LABELS], first, b->count);
    b->weights = weights != NULL ? vector(weights, first, b->count) : (firn_tensor){.data = NULL};
    b->maxima = vector(values, 0, b->count);
    b->sums = vector(values, all, b->count);
    b->losses = vector(values, 2 * all, b->count);
    for (size_t i = 0; i < 2; i++)
        b->unused[i] =
            (firn_tensor){.data = &b->numbers[i], .elements = 1, .dims = b->one, .type = FIRN_FLOAT32, .rank = 1};
}

static void call_part(const run *r, firn_kernel part, const firn_tensor *inputs, uint8_t input_count,
                      const firn_tensor *outputs) {
    firn_kernel_call call = *r->call;
    call.inputs = inputs;
    call.input_count = input_count;
    call.outputs = outputs;
    call.integers = &r->call->integers[FIRN_LINEAR_CROSS_ENTROPY_IGNORE_INDEX];
    part(&call);
}

_Static_assert((int)FIRN_LINEAR_CROSS_ENTROPY_SCALING == (int)FIRN_LINEAR_CROSS_ENTROPY_IGNORE_INDEX + 1 &&
                   FIRN_CROSS_ENTROPY_WEIGHTED_IGNORE_INDEX == 0 && FIRN_CROSS_ENTROPY_WEIGHTED_SCALING == 1 &&
                   FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_IGNORE_INDEX == 0 &&
                   FIRN_CROSS_ENTROPY_WEIGHTED_BACKWARD_SCALING == 1 &&
                   (int)FIRN_CROSS_ENTROPY_WEIGHTED_LABEL_SMOOTHING == (int)FIRN_LINEAR_CROSS_ENTROPY_LABEL_SMOOTHING &&
                   (int)FIRN_CROSS_ENTROPY_WEIGHTED_FACTOR == (int)FIRN_LINEAR_CROSS_ENTROPY_FACTOR &&
                   FIRN_CROSS_ENTROPY_IN_LOGITS == 0 && FIRN_CROSS_ENTROPY_IN_LABELS == 1,
               "the parts find their attributes among those of the whole");

/* loss = mean over rows of log(sum_v e^(l_v - max)) - (l_label - max) */
static void add_plain(run *r, const block *b) {
    const firn_tensor inputs[] = {b->logits, b->labels}, outputs[] = {b->unused[0], b->maxima, b->sums};
    const int32_t *labels = b->labels.data;
    const float *maxima = b->maxima.data, *sums = b->sums.data;
    call_part(r, r->kernels->cross_entropy, inputs, 2, outputs);
    for (size_t row = 0; row < b->count[0]; row++) {
        const float label = firn_row_load(&b->logits, row, (size_t)labels[row]);
        firn_sum_add(&r->loss, firn_log(sums[row]) - (label - maxima[row]));
    }
}

static void add_weighted(run *r, const block *b) {
    const firn_tensor inputs[] = {b->logits, b->labels, b->weights};
    const firn_tensor outputs[] = {b->unused[0], b->maxima, b->sums, b->losses, b->unused[1]};
    const float *losses = b->losses.data;
    call_part(r, firn_kernel_cross_entropy_weighted, inputs, 3, outputs);
    for (size_t row = 0; row < b->count[0]; row++) {
        const float weight = firn_row_weight(&r->weights, b->first + row);
        firn_sum_add(&r->loss, weight == 0.0f ? 0.0f : weight * losses[row]);
    }
}

static void plain_gradient(const run *r, const block *b) {
    const firn_tensor inputs[] = {r->call->inputs[DLOSS], b->logits, b->labels, b->maxima, b->sums};
    firn_kernel_call call = *r->call;
    call.inputs = inputs;
    call.outputs = &b->logits;
    r->kernels->gradient(&call, &r->call->inputs[X]);
}

static void weighted_gradient(const run *r, const block *b) {
    const firn_tensor inputs[] = {
        r->call->inputs[DLOSS], b->logits, b->labels, b->maxima, b->sums, r->divisor, b->weights};
    call_part(r, firn_kernel_cross_entropy_weighted_backward, inputs, 7, &b->logits);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static void run_product(const run *r, firn_kernel kernel, uint16_t op, size_t first) {
    firn_logit_product product;
    firn_logit_product_of(&product, op, r->call, first);
    kernel(&product.call);
}

/* Returns what the weighted loss is divided by. */
static float divisor_of(const run *r) {
    const firn_tensor *x = &r->call->inputs[X],
                      *given = firn_call_input(r->call, FIRN_LINEAR_CROSS_ENTROPY_IN_BATCH_DIVISOR);
    firn_sum total;
    if (given != NULL)
        return firn_scalar(given);
    if (r->call->integers[FIRN_LINEAR_CROSS_ENTROPY_SCALING] == BATCH_SIZE)
        return (float)x->dims[0];
    firn_sum_begin(&total);
    for (size_t row = 0; row < firn_rows(x); row++)
        firn_sum_add(&total, firn_row_weight(&r->weights, row));
    return firn_sum_end(&total);
}

static void add_block(run *r, size_t first, bool weighted) {
    const firn_logit_kernels *kernels = r->kernels;
    block b;
    run_product(r, kernels->linear, FIRN_OP_linear, first);
    place_block(&b, r->call, first);
    if (weighted) {
        add_weighted(r, &b);
        weighted_gradient(r, &b);
    } else {
        add_plain(r, &b);
        plain_gradient(r, &b);
    }
    run_product(r, kernels->backward_input, FIRN_OP_linear_backward_input, first);
    if (first == 0)
        run_product(r, kernels->backward_weight, FIRN_OP_linear_backward_weight, first);
    else
        run_product(r, kernels->add_weight, FIRN_KERNEL_ADD_WEIGHT, first);
}

void firn_linear_cross_entropy(const firn_kernel_call *call, const firn_logit_kernels *kernels) {
    const size_t rows = firn_rows(&call->inputs[X]);
    const bool weighted = call->integers[FIRN_LINEAR_CROSS_ENTROPY_WEIGHTED] != 0;
    run r = {.call = call,
             .kernels = kernels,
             .weights =
                 firn_row_weights_of(call, LABELS, WEIGHTS, call->integers[FIRN_LINEAR_CROSS_ENTROPY_IGNORE_INDEX])};
    float divisor = weighted ? firn_canonical(divisor_of(&r)) : (float)rows;
    r.divisor = (firn_tensor){.data = &divisor, .elements = 1, .type = FIRN_FLOAT32, .rank = 1};
    firn_sum_begin(&r.loss);
    for (size_t first = 0; first < rows; first += rows_of_block(call, first))
        add_block(&r, first, weighted);
    float loss = firn_sum_end(&r.loss);
    if (weighted)
        loss *= divisor == 0.0f ? 0.0f : call->reals[FIRN_LINEAR_CROSS_ENTROPY_FACTOR] / divisor;
    else
        loss /= divisor;
    firn_set_scalar(&call->outputs[FIRN_LINEAR_CROSS_ENTROPY_OUT_LOSS], loss);
}

void firn_kernel_linear_cross_entropy(const firn_kernel_call *call) {
    static const firn_logit_kernels kernels = {
        firn_kernel_linear,     firn_kernel_linear_backward_input, firn_kernel_linear_backward_weight,
        firn_kernel_add_weight, firn_kernel_cross_entropy,         firn_cross_entropy_gradient};
    firn_linear_cross_entropy(call, &kernels);
}
