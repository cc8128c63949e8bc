/* Which rows of a batch take part in a loss or a metric, and with what weight. Freestanding. */
#ifndef FIRN_KERNELS_ROW_WEIGHTS_H
#define FIRN_KERNELS_ROW_WEIGHTS_H

#include "runtime/kernels/blocks.h"

typedef struct firn_row_weights {
    const int32_t *labels;
    const float *weights; /* NULL: each row counts once */
    int64_t ignored;      /* label of the rows that do not count; -1: none */
} firn_row_weights;

/* From the operands of a call: the labels, and the weights where the call has that many operands. */
static inline firn_row_weights firn_row_weights_of(const firn_kernel_call *call, uint8_t labels, uint8_t weights,
                                                   int64_t ignored) {
    return (firn_row_weights){call->inputs[labels].data,
                              call->input_count > weights ? call->inputs[weights].data : NULL, ignored};
}

/* 0 for a row that is absent. */
static inline float firn_row_weight(const firn_row_weights *rows, size_t row) {
    if (rows->labels[row] == rows->ignored)
        return 0.0f;
    return rows->weights == NULL ? 1.0f : rows->weights[row];
}

#endif
