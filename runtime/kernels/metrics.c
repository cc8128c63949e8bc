/* Running totals of an evaluation. Freestanding. */
#include "runtime/kernels/blocks.h"

static void add_to_count(const firn_tensor *tensor, uint64_t step) {
    int64_t *count = tensor->data;
    *count = (int64_t)((uint64_t)*count + step);
}

/* sum is a float32 total and what its roundings lost so far (TwoSum, Knuth). A total that is not finite has lost
 * nothing that could be given back. */
void firn_kernel_metric_mean(const firn_kernel_call *call) {
    const float *value = call->inputs[0].data;
    float *sum = call->outputs[0].data;
    float total = sum[0] + *value;
    float value_part = total - sum[0];
    float sum_part = total - value_part;
    float lost = (sum[0] - sum_part) + (*value - value_part);
    sum[0] = firn_canonical(total);
    sum[1] = total - total == 0.0f ? firn_canonical(sum[1] + lost) : 0.0f;
    add_to_count(&call->outputs[1], 1);
}

/* Whether the label is where the first maximum of the row stands. A comparison with NaN is false, so a row that holds
 * one is never right. */
static bool is_right(const firn_tensor *logits, size_t row, size_t label) {
    const size_t width = firn_last_extent(logits);
    const float best = firn_load(logits->data, logits->type, row * width + label);
    bool right = true;
    float x[FIRN_BLOCK];
    for (size_t at = 0; at < width; at += FIRN_BLOCK) {
        size_t count = firn_smaller(FIRN_BLOCK, width - at);
        firn_widen(x, logits->data, logits->type, row * width + at, count);
        for (size_t i = 0; i < count; i++)
            right = right && (at + i < label ? x[i] < best : x[i] <= best);
    }
    return right;
}

void firn_kernel_metric_accuracy(const firn_kernel_call *call) {
    const firn_tensor *logits = &call->inputs[0];
    const int32_t *labels = call->inputs[1].data;
    uint64_t correct = 0;
    for (size_t row = 0; row < firn_rows(logits); row++)
        correct += is_right(logits, row, (size_t)labels[row]);
    add_to_count(&call->outputs[0], correct);
    add_to_count(&call->outputs[1], firn_rows(logits));
}
