/* Activations made of the sigmoid: sigmoid, silu, softplus. Freestanding. */
#include "runtime/kernels/blocks.h"
#include "runtime/numerics/elementary.h"

/* --- sigmoid ------------------------------------------------------------------------------------------------------ */

static void sigmoid_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    float x[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count = firn_block_widen(x, &call->inputs[0], block);
        for (size_t i = 0; i < count; i++)
            x[i] = firn_sigmoid_inline(x[i]);
        firn_block_narrow(&call->outputs[0], block, x, count);
    }
}

void firn_kernel_sigmoid(const firn_kernel_call *call) {
    firn_split_blocks(call, sigmoid_blocks);
}

/* dx = dy (y - y^2) */
static void sigmoid_backward_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    float dy[FIRN_BLOCK], y[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count = firn_block_widen(dy, &call->inputs[0], block);
        firn_block_widen(y, &call->inputs[1], block);
        for (size_t i = 0; i < count; i++)
            dy[i] = dy[i] * firn_fma(-y[i], y[i], y[i]);
        firn_block_narrow(&call->outputs[0], block, dy, count);
    }
}

void firn_kernel_sigmoid_backward(const firn_kernel_call *call) {
    firn_split_blocks(call, sigmoid_backward_blocks);
}

/* --- silu --------------------------------------------------------------------------------------------------------- */

static void silu_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    float x[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count = firn_block_widen(x, &call->inputs[0], block);
        for (size_t i = 0; i < count; i++)
            x[i] = firn_silu_inline(x[i]);
        firn_block_narrow(&call->outputs[0], block, x, count);
    }
}

void firn_kernel_silu(const firn_kernel_call *call) {
    firn_split_blocks(call, silu_blocks);
}

static void silu_backward_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    float dy[FIRN_BLOCK], x[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count = firn_block_widen(dy, &call->inputs[0], block);
        firn_block_widen(x, &call->inputs[1], block);
        for (size_t i = 0; i < count; i++)
            dy[i] = dy[i] * firn_silu_slope_inline(x[i]);
        firn_block_narrow(&call->outputs[0], block, dy, count);
    }
}

void firn_kernel_silu_backward(const firn_kernel_call *call) {
    firn_split_blocks(call, silu_backward_blocks);
}

/* --- softplus ----------------------------------------------------------------------------------------------------- */

static void softplus_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    float x[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count = firn_block_widen(x, &call->inputs[0], block);
        for (size_t i = 0; i < count; i++)
            x[i] = firn_softplus_inline(x[i]);
        firn_block_narrow(&call->outputs[0], block, x, count);
    }
}

void firn_kernel_softplus(const firn_kernel_call *call) {
    firn_split_blocks(call, softplus_blocks);
}

/* dx = dy sigmoid(x) */
static void softplus_backward_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    float dy[FIRN_BLOCK], x[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count = firn_block_widen(dy, &call->inputs[0], block);
        firn_block_widen(x, &call->inputs[1], block);
        for (size_t i = 0; i < count; i++)
            dy[i] = dy[i] * firn_sigmoid_inline(x[i]);
        firn_block_narrow(&call->outputs[0], block, dy, count);
    }
}

void firn_kernel_softplus_backward(const firn_kernel_call *call) {
    firn_split_blocks(call, softplus_backward_blocks);
}
