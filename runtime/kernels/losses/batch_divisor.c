/* The divisor of a mean over the rows that count: the number of these rows, or the sum of their weights, over all
 * micro-batches of a step. The ops run in the phase `count`; each micro-batch continues the sum of the one before.
 * Freestanding. */
#include "runtime/kernels/row_weights.h"

void firn_kernel_batch_rows(const firn_kernel_call *call) {
    const firn_tensor *labels = &call->inputs[FIRN_BATCH_ROWS_IN_LABELS];
    const uint64_t *before = call->inputs[FIRN_BATCH_ROWS_IN_ROWS].data;
    uint64_t *after = call->outputs[FIRN_BATCH_ROWS_OUT_ROWS].data;
    const firn_row_weights weights = {labels->data, NULL, call->integers[FIRN_BATCH_ROWS_IGNORE_INDEX]};
    uint64_t rows = call->moment->micro_step == 0 ? 0 : *before;
    for (size_t row = 0; row < labels->elements; row++)
        rows += firn_row_weight(&weights, row) != 0.0f;
    *after = rows;
    firn_set_scalar(&call->outputs[FIRN_BATCH_ROWS_OUT_DIVISOR], (float)rows);
}

void firn_kernel_batch_weights(const firn_kernel_call *call) {
    const float zeros[2] = {0.0f, 0.0f}, *before = call->inputs[FIRN_BATCH_WEIGHTS_IN_SUM].data;
    float *after = call->outputs[FIRN_BATCH_WEIGHTS_OUT_SUM].data;
    const firn_row_weights weights =
        firn_row_weights_of(call, FIRN_BATCH_WEIGHTS_IN_LABELS, FIRN_BATCH_WEIGHTS_IN_WEIGHTS,
                            call->integers[FIRN_BATCH_WEIGHTS_IGNORE_INDEX]);
    firn_sum sum;
    firn_sum_begin(&sum);
    for (size_t row = 0; row < call->inputs[FIRN_BATCH_WEIGHTS_IN_LABELS].elements; row++)
        firn_sum_add(&sum, firn_row_weight(&weights, row));
    firn_carried_sum_add(call->moment->micro_step == 0 ? zeros : before, after, firn_sum_end(&sum));
    /* An infinite divisor would make every loss and gradient 0. Its difference from itself makes it NaN, and adds 0 to
     * a finite one. */
    const float divisor = after[0] + after[1];
    firn_set_scalar(&call->outputs[FIRN_BATCH_WEIGHTS_OUT_DIVISOR], divisor + (divisor - divisor));
}
