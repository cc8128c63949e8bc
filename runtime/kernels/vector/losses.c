/* The softmax cross-entropy of float32 logits; see losses.h. Each row is read twice, the second time from the cache. */
#include "runtime/kernels/vector/losses.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/losses/linear_cross_entropy.h"
#include "runtime/kernels/losses/losses.h"
#include "runtime/kernels/vector/elementary.h"
#include "runtime/kernels/vector/sums.h"

enum { VECTORS = FIRN_SUM_VECTORS };

/* Returns the maximum of the row, plus +0. Numbers and NaNs are tracked separately. */
static float row_maximum(const float *x, size_t width) {
    firn_vector largest[VECTORS];
    firn_mask nan = firn_mask_from_bits(0);
    FIRN_UNROLL
    for (size_t v = 0; v < VECTORS; v++)
        largest[v] = firn_vector_fill(-firn_from_bits(FIRN_INFINITY_BITS));
    size_t at = 0;
    for (; at + FIRN_SUM_LANES <= width; at += FIRN_SUM_LANES) {
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            const firn_vector y = firn_vector_load(x + at + v * FIRN_VECTOR);
            largest[v] = firn_vector_maximum(y, largest[v]);
            nan = firn_mask_or(nan, firn_vector_is_nan(y));
        }
    }
    if (at < width) {
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            const size_t i = at + v * FIRN_VECTOR;
            const firn_lanes lanes = firn_first_lanes(i < width ? width - i : 0);
            const firn_vector y = firn_vector_load_some(lanes, x + i);
            largest[v] = firn_vector_select(firn_mask_of(lanes), firn_vector_maximum(y, largest[v]), largest[v]);
            nan = firn_mask_or(nan, firn_vector_is_nan(y));
        }
    }
    FIRN_UNROLL
    for (size_t v = 1; v < VECTORS; v++)
        largest[0] = firn_vector_maximum(largest[0], largest[v]);
    return firn_mask_to_bits(nan) != 0 ? firn_from_bits(FIRN_NAN_BITS) : firn_vector_largest(largest[0]) + 0.0f;
}

/* exp(x - maximum) */
static inline __attribute__((always_inline)) firn_vector exp_of(firn_vector x, firn_vector maximum) {
    return firn_vector_exp(firn_vector_subtract(x, maximum));
}

/* Returns the total of one block of the sum of exp(x - maximum). */
static float block_sum(const float *x, size_t count, firn_vector maximum) {
    firn_vector lanes[VECTORS];
    FIRN_UNROLL
    for (size_t v = 0; v < VECTORS; v++)
        lanes[v] = firn_vector_zero();
    size_t at = 0;
    for (; at + FIRN_SUM_LANES <= count; at += FIRN_SUM_LANES) {
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            lanes[v] = firn_vector_add(lanes[v], exp_of(firn_vector_load(x + at + v * FIRN_VECTOR), maximum));
    }
    if (at < count) {
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            const size_t i = at + v * FIRN_VECTOR;
            const firn_lanes some = firn_first_lanes(i < count ? count - i : 0);
            const firn_vector e = exp_of(firn_vector_load_some(some, x + i), maximum);
            lanes[v] = firn_vector_select(firn_mask_of(some), firn_vector_add(lanes[v], e), lanes[v]);
        }
    }
    return firn_fold_lanes(lanes);
}

static void cross_entropy_rows(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const float *logits = call->inputs[FIRN_CROSS_ENTROPY_IN_LOGITS].data;
    const size_t width = firn_last_extent(&call->inputs[FIRN_CROSS_ENTROPY_IN_LOGITS]);
    float *maxima = call->outputs[FIRN_CROSS_ENTROPY_OUT_ROW_MAX].data,
          *sums = call->outputs[FIRN_CROSS_ENTROPY_OUT_ROW_SUM].data;
    for (size_t row = begin; row < end; row++) {
        const float *x = logits + row * width;
        float total = 0.0f;
        maxima[row] = row_maximum(x, width);
        for (size_t at = 0; at < width; at += FIRN_SUM_BLOCK)
            total += block_sum(x + at, firn_smaller(FIRN_SUM_BLOCK, width - at), firn_vector_fill(maxima[row]));
        sums[row] = firn_canonical(total);
    }
}

void firn_vector_cross_entropy(const firn_kernel_call *call) {
    const firn_tensor *logits = &call->inputs[FIRN_CROSS_ENTROPY_IN_LOGITS];
    if (logits->type != FIRN_FLOAT32) {
        firn_kernel_cross_entropy(call);
        return;
    }
    firn_split(call, firn_rows(logits), firn_last_extent(logits), cross_entropy_rows);
    firn_cross_entropy_mean(call);
}

/* exp(x - maximum) / sum * factor */
static firn_vector share(firn_vector x, firn_vector maximum, firn_vector sum, float factor) {
    const firn_vector part = firn_vector_divide(exp_of(x, maximum), sum);
    return firn_vector_canonical(firn_vector_multiply(part, firn_vector_fill(factor)));
}

typedef struct gradient {
    const firn_kernel_call *call;
    float factor;
} gradient;

static void cross_entropy_backward_rows(void *argument, size_t begin, size_t end) {
    const gradient *g = argument;
    const firn_kernel_call *call = g->call;
    const int32_t *labels = call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_LABELS].data;
    const float *maxima = call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_ROW_MAX].data;
    const float *sums = call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_ROW_SUM].data;
    const firn_tensor *logits = &call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_LOGITS];
    const firn_tensor *dlogits = &call->outputs[FIRN_CROSS_ENTROPY_BACKWARD_OUT_DLOGITS];
    const size_t width = firn_last_extent(logits);
    const float factor = g->factor;
    for (size_t row = begin; row < end; row++) {
        const float *x = (const float *)logits->data + row * width;
        float *dx = (float *)dlogits->data + row * width;
        /* before dx may take its place */
        const float p = firn_exp_inline(x[labels[row]] - maxima[row]) / sums[row];
        const firn_vector maximum = firn_vector_fill(maxima[row]), sum = firn_vector_fill(sums[row]);
        size_t i = 0;
        for (; i + FIRN_VECTOR <= width; i += FIRN_VECTOR)
            firn_vector_store(dx + i, share(firn_vector_load(x + i), maximum, sum, factor));
        const firn_lanes rest = firn_first_lanes(width - i);
        firn_vector_store_some(dx + i, rest, share(firn_vector_load_some(rest, x + i), maximum, sum, factor));
        dx[labels[row]] = firn_canonical((p - 1.0f) * factor);
    }
}

/* firn_cross_entropy_gradient */
static void cross_entropy_gradient(const firn_kernel_call *call, const firn_tensor *batch) {
    const firn_tensor *logits = &call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_LOGITS];
    if (logits->type != FIRN_FLOAT32) {
        firn_cross_entropy_gradient(call, batch);
        return;
    }
    const float dloss = firn_scalar(&call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_DLOSS]);
    gradient g = {call, dloss / (float)firn_rows(batch)};
    firn_parallel_run(&call->parallel, firn_rows(logits), firn_last_extent(logits), cross_entropy_backward_rows, &g);
}

void firn_vector_cross_entropy_backward(const firn_kernel_call *call) {
    cross_entropy_gradient(call, &call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_LOGITS]);
}

/* --- the loss of logits by blocks of rows ------------------------------------------------------------------------- */

/* Returns the kernel of the set for a product of a block. */
static firn_kernel_choice kernel_of(uint16_t op, const firn_kernel_call *call) {
    firn_logit_product product;
    firn_logit_product_of(&product, op, call, 0);
    return call->kernels->find(op, product.call.reductions);
}

void firn_vector_linear_cross_entropy(const firn_kernel_call *call) {
    const firn_kernel add_weight = kernel_of(FIRN_KERNEL_ADD_WEIGHT, call).run;
    const firn_logit_kernels kernels = {kernel_of(FIRN_OP_linear, call).run,
                                        kernel_of(FIRN_OP_linear_backward_input, call).run,
                                        kernel_of(FIRN_OP_linear_backward_weight, call).run,
                                        add_weight != NULL ? add_weight : firn_kernel_add_weight,
                                        firn_vector_cross_entropy,
                                        cross_entropy_gradient};
    firn_linear_cross_entropy(call, &kernels);
}

/* The scratch of the products of the block that begins with a row. */
static uint64_t scratch_of_block(const firn_kernel_call *call, size_t first) {
    static const uint16_t ops[] = {FIRN_OP_linear, FIRN_OP_linear_backward_input, FIRN_OP_linear_backward_weight,
                                   FIRN_KERNEL_ADD_WEIGHT};
    uint64_t most = 0;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        firn_logit_product product;
        firn_logit_product_of(&product, ops[i], call, first);
        const firn_kernel_scratch scratch = kernel_of(ops[i], call).scratch;
        const uint64_t bytes = scratch != NULL ? scratch(ops[i], &product.call) : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Blocks have two sizes: the last one may have fewer rows. */
uint64_t firn_vector_linear_cross_entropy_scratch(uint16_t op, const firn_kernel_call *call) {
    (void)op;
    const size_t all = firn_rows(&call->inputs[FIRN_LINEAR_CROSS_ENTROPY_IN_X]);
    const size_t rows = (size_t)call->integers[FIRN_LINEAR_CROSS_ENTROPY_ROWS];
    const uint64_t first = scratch_of_block(call, 0), last = scratch_of_block(call, (all - 1) / rows * rows);
    return first > last ? first : last;
}
