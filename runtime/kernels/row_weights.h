/* The rows of a batch that count in a loss or a metric, their weights, and totals over batches. Freestanding. */
#ifndef FIRN_KERNELS_ROW_WEIGHTS_H
#define FIRN_KERNELS_ROW_WEIGHTS_H

#include "runtime/kernels/blocks.h"

typedef struct firn_row_weights {
    const int32_t *labels;
    const float *weights; /* NULL: each counted row has weight 1 */
    int64_t ignored;      /* rows with this label do not count; -1: all rows count */
} firn_row_weights;

/* Reads labels and weights from the operands of a call; `weights` is a position that the call may not have. */
static inline firn_row_weights firn_row_weights_of(const firn_kernel_call *call, uint8_t labels, uint8_t weights,
                                                   int64_t ignored) {
    const firn_tensor *given = firn_call_input(call, weights);
    return (firn_row_weights){call->inputs[labels].data, given != NULL ? given->data : NULL, ignored};
}

/* Returns the weight of a row, 0 if it does not count. */
static inline float firn_row_weight(const firn_row_weights *rows, size_t row) {
    if (rows->labels[row] == rows->ignored)
        return 0.0f;
    return rows->weights == NULL ? 1.0f : rows->weights[row];
}

/* Adds a value to the total before[0], and what its rounding lost to the carry before[1] (TwoSum, Knuth). If the total
 * is not finite, the carry is set to 0. `after` may be `before`. */
static inline void firn_carried_sum_add(const float before[2], float after[2], float value) {
    float total = before[0] + value;
    float value_part = total - before[0];
    float sum_part = total - value_part;
    float lost = before[1] + ((before[0] - sum_part) + (value - value_part));
    after[0] = firn_canonical(total);
    after[1] = total - total == 0.0f ? firn_canonical(lost) : 0.0f;
}

#endif
