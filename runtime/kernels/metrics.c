/* Running totals of an evaluation. Freestanding. */
#include "runtime/kernels/blocks.h"

static void add_to_count(const firn_tensor *from, const firn_tensor *to, uint64_t step) {
    const uint64_t *before = from->data;
    uint64_t *after = to->data;
    *after = *before + step;
}

/* sum is a float32 total and what its roundings lost so far (TwoSum, Knuth). A total that is not finite has lost
 * nothing that could be given back. */
void firn_kernel_metric_mean(const firn_kernel_call *call) {
    const float value = *(const float *)call->inputs[0].data;
    const float *before = call->inputs[1].data;
    float *after = call->outputs[0].data;
    float total = before[0] + value;
    float value_part = total - before[0];
    float sum_part = total - value_part;
    float lost = before[1] + ((before[0] - sum_part) + (value - value_part));
    after[0] = firn_canonical(total);
    after[1] = total - total == 0.0f ? firn_canonical(lost) : 0.0f;
    add_to_count(&call->inputs[2], &call->outputs[1], 1);
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
    add_to_count(&call->inputs[2], &call->outputs[0], correct);
    add_to_count(&call->inputs[3], &call->outputs[1], firn_rows(logits));
}
