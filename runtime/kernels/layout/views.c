/* Other extents, another order, parts and repetitions of a tensor, and their gradients. Freestanding. */
#include "runtime/kernels/layout/layout.h"

/* --- reshape, transpose ------------------------------------------------------------------------------------------- */

void firn_kernel_reshape(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_RESHAPE_IN_X];
    firn_move(call, x, firn_walk_over(x));
}

void firn_kernel_transpose(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_TRANSPOSE_IN_X];
    const firn_walk straight = firn_walk_over(x);
    firn_walk walk = firn_walk_over(&call->outputs[FIRN_TRANSPOSE_OUT_Y]);
    for (uint32_t d = 0; d < walk.rank; d++)
        walk.from_step[d] = straight.from_step[call->integers[FIRN_TRANSPOSE_ORDER] >> 4 * d & 15];
    firn_move(call, x, walk);
}

/* --- concat ------------------------------------------------------------------------------------------------------- */

/* At each position before the axis, the output holds a run of every input, one behind the other. */
static void join_positions(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *y = &call->outputs[FIRN_CONCAT_INT32_OUT_Y];
    const size_t positions = firn_extents(y, 0, (size_t)call->integers[FIRN_CONCAT_INT32_AXIS]);
    size_t to = y->elements / positions * begin;
    for (size_t position = begin; position < end; position++)
        for (uint8_t i = 0; i < call->input_count; i++) {
            const size_t run = call->inputs[i].elements / positions;
            firn_copy_bits(y, to, &call->inputs[i], position * run, run);
            to += run;
        }
}

void firn_kernel_concat_int32(const firn_kernel_call *call) {
    const firn_tensor *y = &call->outputs[FIRN_CONCAT_INT32_OUT_Y];
    const size_t positions = firn_extents(y, 0, (size_t)call->integers[FIRN_CONCAT_INT32_AXIS]);
    firn_split(call, positions, 2 * (y->elements / positions), join_positions);
}

/* --- slice, pad --------------------------------------------------------------------------------------------------- */

void firn_kernel_slice(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_SLICE_IN_X];
    const int64_t axis = call->integers[FIRN_SLICE_AXIS];
    const firn_walk whole = firn_walk_over(x);
    firn_walk walk = firn_walk_over(&call->outputs[FIRN_SLICE_OUT_Y]);
    memcpy(walk.from_step, whole.from_step, sizeof walk.from_step);
    walk.from_first = (size_t)call->integers[FIRN_SLICE_FIRST] * (size_t)whole.from_step[axis];
    walk.from_step[axis] *= (ptrdiff_t)call->integers[FIRN_SLICE_STEP];
    firn_move(call, x, walk);
}

static void clear_blocks(void *argument, size_t begin, size_t end) {
    const firn_tensor *x = argument;
    for (size_t block = begin; block < end; block++)
        firn_clear_bits(x, block * FIRN_BLOCK, firn_block_elements(x->elements, block));
}

void firn_kernel_slice_backward(const firn_kernel_call *call) {
    const firn_tensor *dy = &call->inputs[FIRN_SLICE_BACKWARD_IN_DY];
    const firn_tensor *dx = &call->outputs[FIRN_SLICE_BACKWARD_OUT_DX];
    const int64_t axis = call->integers[FIRN_SLICE_BACKWARD_AXIS];
    const firn_walk whole = firn_walk_over(dx);
    firn_walk walk = firn_walk_over(dy);
    memcpy(walk.to_step, whole.to_step, sizeof walk.to_step);
    walk.to_first = (size_t)call->integers[FIRN_SLICE_BACKWARD_FIRST] * (size_t)whole.to_step[axis];
    walk.to_step[axis] *= (ptrdiff_t)call->integers[FIRN_SLICE_BACKWARD_STEP];
    firn_run_blocks(call, clear_blocks, (void *)dx);
    firn_move(call, dy, walk);
}

static void fill_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *y = &call->outputs[FIRN_PAD_OUT_Y];
    float x[FIRN_BLOCK];
    for (size_t i = 0; i < FIRN_BLOCK; i++)
        x[i] = call->reals[FIRN_PAD_VALUE];
    for (size_t block = begin; block < end; block++)
        firn_block_narrow(y, block, x, firn_block_elements(y->elements, block));
}

void firn_kernel_pad(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_PAD_IN_X];
    const int64_t axis = call->integers[FIRN_PAD_AXIS];
    const firn_walk whole = firn_walk_over(&call->outputs[FIRN_PAD_OUT_Y]);
    firn_walk walk = firn_walk_over(x);
    memcpy(walk.to_step, whole.to_step, sizeof walk.to_step);
    walk.to_first = (size_t)call->integers[FIRN_PAD_BEFORE] * (size_t)whole.to_step[axis];
    firn_split_blocks(call, fill_blocks);
    firn_move(call, x, walk);
}
