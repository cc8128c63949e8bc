/* Joins tensors along one dimension. Freestanding. */
#include "runtime/kernels/blocks.h"

/* Positions in the dimensions before the axis. At each of them the output holds a run of every input, one behind the
 * other. */
static size_t positions_of(const firn_kernel_call *call) {
    const firn_tensor *y = &call->outputs[FIRN_CONCAT_OUT_Y];
    size_t positions = 1;
    for (int64_t d = 0; d < call->integers[FIRN_CONCAT_AXIS]; d++)
        positions *= y->dims[d];
    return positions;
}

static void concat_positions(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *y = &call->outputs[FIRN_CONCAT_OUT_Y];
    const size_t positions = positions_of(call);
    size_t to = y->elements / positions * begin;
    for (size_t position = begin; position < end; position++)
        for (uint8_t i = 0; i < call->input_count; i++) {
            const firn_tensor *x = &call->inputs[i];
            const size_t run = x->elements / positions;
            firn_copy(y, to, x, position * run, run);
            to += run;
        }
}

void firn_kernel_concat(const firn_kernel_call *call) {
    const size_t positions = positions_of(call);
    firn_split(call, positions, 2 * (call->outputs[FIRN_CONCAT_OUT_Y].elements / positions), concat_positions);
}
