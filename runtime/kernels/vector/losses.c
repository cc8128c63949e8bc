/* The softmax cross-entropy; see losses.h. Each row is read twice, the second time from the cache. The type of the
 * logits is a constant after inlining. */
#include "runtime/kernels/vector/losses.h"

#include "runtime/kernels/blocks.h"
#include "runtime/kernels/losses/linear_cross_entropy.h"
#include "runtime/kernels/losses/losses.h"
#include "runtime/kernels/vector/convert.h"
#include "runtime/kernels/vector/elementary.h"
#include "runtime/kernels/vector/sums.h"

enum { VECTORS = FIRN_SUM_VECTORS, GROUP = FIRN_VECTOR_GROUP * FIRN_VECTOR };
_Static_assert(VECTORS % FIRN_VECTOR_GROUP == 0, "the lanes of a sum are whole groups");

/* The rows of a call that one thread computes. */
typedef struct range {
    const firn_kernel_call *call;
    size_t begin, end;
} range;

/* --- maximum and sum ---------------------------------------------------------------------------------------------- */

/* Returns the maximum of the row that begins with element `first`, plus +0. Numbers and NaNs are tracked separately. */
static inline __attribute__((always_inline)) float row_maximum(uint8_t type, const void *x, size_t first,
                                                               size_t width) {
    const firn_lanes all = firn_first_lanes(FIRN_VECTOR);
    firn_vector largest[VECTORS];
    firn_mask nan = firn_mask_from_bits(0);
    FIRN_UNROLL
    for (size_t v = 0; v < VECTORS; v++)
        largest[v] = firn_vector_fill(-firn_from_bits(FIRN_INFINITY_BITS));
    size_t at = 0;
    for (; at + FIRN_SUM_LANES <= width; at += FIRN_SUM_LANES) {
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            const firn_vector y = firn_vector_widen(x, type, first + at + v * FIRN_VECTOR, all);
            largest[v] = firn_vector_maximum(y, largest[v]);
            nan = firn_mask_or(nan, firn_vector_is_nan(y));
        }
    }
    for (; at < width; at += FIRN_VECTOR) {
        const firn_lanes lanes = firn_first_lanes(width - at);
        const firn_vector y = firn_vector_widen(x, type, first + at, lanes);
        largest[0] = firn_vector_select(firn_mask_of(lanes), firn_vector_maximum(y, largest[0]), largest[0]);
        nan = firn_mask_or(nan, firn_vector_is_nan(y));
    }
    FIRN_UNROLL
    for (size_t v = 1; v < VECTORS; v++)
        largest[0] = firn_vector_maximum(largest[0], largest[v]);
    return firn_mask_to_bits(nan) != 0 ? firn_from_bits(FIRN_NAN_BITS) : firn_vector_largest(largest[0]) + 0.0f;
}

/* Computes exp(x - maximum) of a group of registers. */
static inline __attribute__((always_inline)) void exp_of(firn_vector *x, firn_vector maximum) {
    FIRN_EACH(i, FIRN_VECTOR_GROUP) x[i] = firn_vector_subtract(x[i], maximum);
    firn_vector_exp_group(x, FIRN_VECTOR_GROUP);
}

/* Prefetches as many elements as a sum has lanes. They need not exist. */
static inline __attribute__((always_inline)) void prefetch_lanes(uint8_t type, const void *x, size_t first) {
    const size_t bytes = type == FIRN_FLOAT32 ? sizeof(float) : sizeof(uint16_t);
    const uintptr_t begin = (uintptr_t)x + first * bytes;
    FIRN_UNROLL
    for (size_t at = 0; at < FIRN_SUM_LANES * bytes; at += 64)
        __builtin_prefetch((const void *)(begin + at), 0, 2);
}

/* Returns the total of one block of the sum of exp(x - maximum), of the elements from `first` on. Meanwhile those that
 * lie `ahead` elements further are fetched: the exponentials leave memory idle, and the next row's maximum waits for
 * it. */
static inline __attribute__((always_inline)) float block_sum(uint8_t type, const void *x, size_t first, size_t count,
                                                             size_t ahead, firn_vector maximum) {
    const firn_lanes all = firn_first_lanes(FIRN_VECTOR);
    firn_vector lanes[VECTORS], e[FIRN_VECTOR_GROUP];
    FIRN_UNROLL
    for (size_t v = 0; v < VECTORS; v++)
        lanes[v] = firn_vector_zero();
    size_t at = 0;
    for (; at + FIRN_SUM_LANES <= count; at += FIRN_SUM_LANES) {
        prefetch_lanes(type, x, first + at + ahead);
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v += FIRN_VECTOR_GROUP) {
            FIRN_EACH(i, FIRN_VECTOR_GROUP) e[i] = firn_vector_widen(x, type, first + at + (v + i) * FIRN_VECTOR, all);
            exp_of(e, maximum);
            FIRN_EACH(i, FIRN_VECTOR_GROUP) lanes[v + i] = firn_vector_add(lanes[v + i], e[i]);
        }
    }
    if (at < count) {
        FIRN_UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            const size_t i = at + v * FIRN_VECTOR;
            const firn_lanes some = firn_first_lanes(i < count ? count - i : 0);
            const firn_vector y = firn_vector_widen(x, type, first + (i < count ? i : 0), some);
            const firn_vector next = firn_vector_add(lanes[v], firn_vector_exp(firn_vector_subtract(y, maximum)));
            lanes[v] = firn_vector_select(firn_mask_of(some), next, lanes[v]);
        }
    }
    return firn_fold_lanes(lanes);
}

/* Rows of one register at most are computed several at a time, because an exponential waits for itself longer than it
 * takes. */
static inline bool is_narrow(size_t width) {
    return width <= FIRN_VECTOR;
}

/* Computes the statistics of FIRN_VECTOR_GROUP narrow rows. */
static inline __attribute__((always_inline)) void sum_narrow_rows(uint8_t type, const void *x, size_t first,
                                                                  size_t width, float *maxima, float *sums) {
    const firn_lanes some = firn_first_lanes(width);
    firn_vector e[FIRN_VECTOR_GROUP];
    FIRN_EACH(i, FIRN_VECTOR_GROUP) {
        maxima[i] = row_maximum(type, x, first + i * width, width);
        e[i] = firn_vector_subtract(firn_vector_widen(x, type, first + i * width, some), firn_vector_fill(maxima[i]));
    }
    firn_vector_exp_group(e, FIRN_VECTOR_GROUP);
    FIRN_EACH(i, FIRN_VECTOR_GROUP) {
        firn_vector lanes[VECTORS];
        FIRN_UNROLL
        for (size_t v = 1; v < VECTORS; v++)
            lanes[v] = firn_vector_zero();
        lanes[0] = firn_vector_keep(firn_mask_of(some), e[i]);
        sums[i] = firn_canonical(firn_fold_lanes(lanes));
    }
}

static inline __attribute__((always_inline)) void sum_rows(uint8_t type, const void *arguments) {
    const range *r = arguments;
    const firn_tensor *logits = &r->call->inputs[FIRN_CROSS_ENTROPY_IN_LOGITS];
    const size_t width = firn_last_extent(logits);
    float *maxima = r->call->outputs[FIRN_CROSS_ENTROPY_OUT_ROW_MAX].data,
          *sums = r->call->outputs[FIRN_CROSS_ENTROPY_OUT_ROW_SUM].data;
    size_t row = r->begin;
    for (; is_narrow(width) && row + FIRN_VECTOR_GROUP <= r->end; row += FIRN_VECTOR_GROUP)
        sum_narrow_rows(type, logits->data, row * width, width, maxima + row, sums + row);
    for (; row < r->end; row++) {
        const size_t first = row * width;
        float total = 0.0f;
        maxima[row] = row_maximum(type, logits->data, first, width);
        for (size_t at = 0; at < width; at += FIRN_SUM_BLOCK)
            total += block_sum(type, logits->data, first + at, firn_smaller(FIRN_SUM_BLOCK, width - at), width,
                               firn_vector_fill(maxima[row]));
        sums[row] = firn_canonical(total);
    }
}

static void cross_entropy_rows(void *argument, size_t begin, size_t end) {
    const range r = {argument, begin, end};
    firn_for_type(r.call->inputs[FIRN_CROSS_ENTROPY_IN_LOGITS].type, sum_rows, &r);
}

/* The cost of a row: that of its elements, and as much as some more. */
static uint64_t cost_of_row(const firn_tensor *logits) {
    return (uint64_t)firn_last_extent(logits) + 64;
}

void firn_vector_cross_entropy(const firn_kernel_call *call) {
    const firn_tensor *logits = &call->inputs[FIRN_CROSS_ENTROPY_IN_LOGITS];
    firn_split(call, firn_rows(logits), cost_of_row(logits), cross_entropy_rows);
    firn_cross_entropy_mean(call);
}

/* --- gradient ----------------------------------------------------------------------------------------------------- */

/* The statistics of a row, in every lane. */
typedef struct statistics {
    firn_vector maximum, sum, factor;
} statistics;

/* dx = exp(x - maximum) / sum * factor, of the elements from `first` on that the lanes select. */
static inline __attribute__((always_inline)) void store_shares(uint8_t type, const void *x, void *dx, size_t first,
                                                               const firn_lanes *lanes, const statistics *s) {
    firn_vector e[FIRN_VECTOR_GROUP];
    FIRN_EACH(i, FIRN_VECTOR_GROUP) e[i] = firn_vector_widen(x, type, first + i * FIRN_VECTOR, lanes[i]);
    exp_of(e, s->maximum);
    FIRN_EACH(i, FIRN_VECTOR_GROUP) e[i] = firn_vector_divide(e[i], s->sum);
    FIRN_EACH(i, FIRN_VECTOR_GROUP) e[i] = firn_vector_canonical(firn_vector_multiply(e[i], s->factor));
    FIRN_EACH(i, FIRN_VECTOR_GROUP) firn_vector_narrow(dx, type, first + i * FIRN_VECTOR, lanes[i], e[i]);
}

/* Fetches what a group some kilobytes further reads and writes, which need not exist: a CPU fetches less far ahead by
 * itself. */
static inline __attribute__((always_inline)) void prefetch_group(uint8_t type, const void *x, const void *dx,
                                                                 size_t first) {
    enum { AHEAD = 2048 };
    const size_t bytes = type == FIRN_FLOAT32 ? sizeof(float) : sizeof(uint16_t), from = (first + AHEAD) * bytes;
    FIRN_UNROLL
    for (size_t at = 0; at < GROUP * bytes; at += 64) {
        __builtin_prefetch((const void *)((uintptr_t)x + from + at), 0, 2);
        __builtin_prefetch((const void *)((uintptr_t)dx + from + at), 1, 2);
    }
}

/* Does the same as store_shares for a whole group of bfloat16, in pairs of lanes. */
static inline __attribute__((always_inline)) void store_pairs_of_shares(const uint16_t *x, uint16_t *dx,
                                                                        const statistics *s) {
    firn_vector e[FIRN_VECTOR_GROUP];
    FIRN_EACH(i, FIRN_VECTOR_GROUP / 2) firn_pairs_widen(x + 2 * i * FIRN_VECTOR, e + 2 * i);
    exp_of(e, s->maximum);
    FIRN_EACH(i, FIRN_VECTOR_GROUP) e[i] = firn_vector_divide(e[i], s->sum);
    FIRN_EACH(i, FIRN_VECTOR_GROUP) e[i] = firn_vector_canonical(firn_vector_multiply(e[i], s->factor));
    FIRN_EACH(i, FIRN_VECTOR_GROUP / 2) firn_pairs_narrow(dx + 2 * i * FIRN_VECTOR, e + 2 * i);
}

/* Stores dx of FIRN_VECTOR_GROUP narrow rows, each with statistics of its own. One is subtracted from the share of a
 * row's label before it is multiplied. */
static inline __attribute__((always_inline)) void store_narrow_rows(uint8_t type, const void *x, void *dx, size_t first,
                                                                    size_t width, const int32_t *labels,
                                                                    const float *maxima, const float *sums,
                                                                    float factor) {
    const firn_lanes some = firn_first_lanes(width);
    const firn_vector one = firn_vector_fill(1.0f), factors = firn_vector_fill(factor);
    firn_vector e[FIRN_VECTOR_GROUP];
    FIRN_EACH(i, FIRN_VECTOR_GROUP)
    e[i] = firn_vector_subtract(firn_vector_widen(x, type, first + i * width, some), firn_vector_fill(maxima[i]));
    firn_vector_exp_group(e, FIRN_VECTOR_GROUP);
    FIRN_EACH(i, FIRN_VECTOR_GROUP) e[i] = firn_vector_divide(e[i], firn_vector_fill(sums[i]));
    FIRN_EACH(i, FIRN_VECTOR_GROUP)
    e[i] = firn_vector_select(firn_mask_from_bits(1u << labels[i]), firn_vector_subtract(e[i], one), e[i]);
    FIRN_EACH(i, FIRN_VECTOR_GROUP) e[i] = firn_vector_canonical(firn_vector_multiply(e[i], factors));
    FIRN_EACH(i, FIRN_VECTOR_GROUP) firn_vector_narrow(dx, type, first + i * width, some, e[i]);
}

typedef struct gradient {
    const firn_kernel_call *call;
    float factor;
} gradient;

typedef struct gradient_range {
    const gradient *gradient;
    size_t begin, end;
} gradient_range;

static inline __attribute__((always_inline)) void gradient_rows(uint8_t type, const void *arguments) {
    const gradient_range *r = arguments;
    const firn_kernel_call *call = r->gradient->call;
    const int32_t *labels = call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_LABELS].data;
    const float *maxima = call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_ROW_MAX].data;
    const float *sums = call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_ROW_SUM].data;
    const firn_tensor *logits = &call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_LOGITS];
    void *dx = call->outputs[FIRN_CROSS_ENTROPY_BACKWARD_OUT_DLOGITS].data;
    const size_t width = firn_last_extent(logits);
    const float factor = r->gradient->factor;
    firn_lanes all[FIRN_VECTOR_GROUP], rest[FIRN_VECTOR_GROUP];
    FIRN_EACH(i, FIRN_VECTOR_GROUP) all[i] = firn_first_lanes(FIRN_VECTOR);
    size_t row = r->begin;
    for (; is_narrow(width) && row + FIRN_VECTOR_GROUP <= r->end; row += FIRN_VECTOR_GROUP)
        store_narrow_rows(type, logits->data, dx, row * width, width, labels + row, maxima + row, sums + row, factor);
    for (; row < r->end; row++) {
        const size_t first = row * width, label = first + (size_t)labels[row];
        /* before dx may take its place */
        const float p = firn_exp_inline(firn_load(logits->data, type, label) - maxima[row]) / sums[row];
        const statistics s = {firn_vector_fill(maxima[row]), firn_vector_fill(sums[row]), firn_vector_fill(factor)};
        size_t i = 0;
        for (; i + GROUP <= width; i += GROUP) {
            prefetch_group(type, logits->data, dx, first + i);
            if (type == FIRN_BFLOAT16)
                store_pairs_of_shares((const uint16_t *)logits->data + first + i, (uint16_t *)dx + first + i, &s);
            else
                store_shares(type, logits->data, dx, first + i, all, &s);
        }
        for (size_t v = 0; v < FIRN_VECTOR_GROUP; v++)
            rest[v] = firn_first_lanes(width - firn_smaller(i + v * FIRN_VECTOR, width));
        store_shares(type, logits->data, dx, first + i, rest, &s);
        firn_store(dx, type, label, (p - 1.0f) * factor);
    }
}

static void cross_entropy_backward_rows(void *argument, size_t begin, size_t end) {
    const gradient_range r = {argument, begin, end};
    firn_for_type(r.gradient->call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_LOGITS].type, gradient_rows, &r);
}

/* firn_cross_entropy_gradient */
static void cross_entropy_gradient(const firn_kernel_call *call, const firn_tensor *batch) {
    const firn_tensor *logits = &call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_LOGITS];
    const float dloss = firn_scalar(&call->inputs[FIRN_CROSS_ENTROPY_BACKWARD_IN_DLOSS]);
    gradient g = {call, dloss / (float)firn_rows(batch)};
    firn_parallel_run(&call->parallel, firn_rows(logits), cost_of_row(logits), cross_entropy_backward_rows, &g);
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
