/* Reads operands that are repeated to the extents of a result: broadcast.h. Freestanding. */
#include "runtime/kernels/elements/broadcast.h"

static void append(firn_broadcast *operand, size_t extent, size_t step) {
    const uint32_t last = operand->rank - 1;
    if (operand->rank > 0 && step == operand->steps[last] * operand->extents[last]) {
        operand->extents[last] *= extent;
        return;
    }
    operand->extents[operand->rank] = extent;
    operand->steps[operand->rank] = step;
    operand->rank++;
}

void firn_broadcast_begin(firn_broadcast *operand, const firn_tensor *tensor, const firn_tensor *result) {
    size_t step = 1;
    operand->tensor = tensor;
    operand->rank = 0;
    for (uint32_t i = 1; i <= result->rank; i++) {
        const size_t extent = result->dims[result->rank - i];
        const size_t own = i <= tensor->rank ? tensor->dims[tensor->rank - i] : 1;
        if (extent > 1)
            append(operand, extent, own > 1 ? step : 0);
        step *= own;
    }
    if (operand->rank == 0)
        append(operand, 1, 0);
}

/* Writes `count` elements of the operand that are a step, 0 or 1, apart. */
static void read_run(float *out, const firn_tensor *tensor, size_t from, size_t step, size_t count) {
    if (step != 0) {
        firn_widen_rows(out, 0, tensor->data, tensor->type, from, 0, 1, count);
        return;
    }
    float x;
    firn_widen_rows(&x, 0, tensor->data, tensor->type, from, 0, 1, 1);
    for (size_t i = 0; i < count; i++)
        out[i] = x;
}

const float *firn_broadcast_floats(const firn_broadcast *operand, float *buffer, size_t block, size_t count) {
    size_t index[FIRN_RANK_MAX] = {0}, at = block * FIRN_BLOCK, from = 0;
    if (operand->rank == 1 && operand->steps[0] != 0)
        return firn_block_floats(buffer, operand->tensor, block, &count);
    for (uint32_t d = 0; d < operand->rank; d++) {
        index[d] = at % operand->extents[d];
        at /= operand->extents[d];
        from += index[d] * operand->steps[d];
    }
    for (float *out = buffer; count > 0;) {
        const size_t run = firn_smaller(count, operand->extents[0] - index[0]);
        read_run(out, operand->tensor, from, operand->steps[0], run);
        out += run;
        count -= run;
        index[0] += run;
        from += run * operand->steps[0];
        for (uint32_t d = 0; d + 1 < operand->rank && index[d] == operand->extents[d]; d++) {
            from = from + operand->steps[d + 1] - operand->extents[d] * operand->steps[d];
            index[d] = 0;
            index[d + 1]++;
        }
    }
    return buffer;
}

firn_broadcast_pair firn_broadcast_pair_of(const firn_kernel_call *call, uint8_t a, uint8_t b,
                                           const firn_tensor *result) {
    firn_broadcast_pair pair = {.call = call};
    firn_broadcast_begin(&pair.a, &call->inputs[a], result);
    firn_broadcast_begin(&pair.b, &call->inputs[b], result);
    return pair;
}
