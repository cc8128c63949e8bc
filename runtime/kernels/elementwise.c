/* Ops that compute each element independently, and the sum that is the gradient of a broadcast. Freestanding. */
#include "runtime/kernels/blocks.h"

/* --- cast --------------------------------------------------------------------------------------------------------- */

static void cast_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    float x[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count;
        const float *in = firn_block_floats(x, &call->inputs[FIRN_CAST_IN_X], block, &count);
        firn_block_narrow(&call->outputs[FIRN_CAST_OUT_Y], block, in, count);
    }
}

void firn_kernel_cast(const firn_kernel_call *call) {
    firn_split_blocks(call, cast_blocks);
}

/* --- add, multiply and sum_leading -------------------------------------------------------------------------------- */

/* Widens the part of b that is added to elements [from, from + count) of the sum; b is repeated to the sum's length. */
static void widen_repeated(float *out, const firn_tensor *b, size_t from, size_t count) {
    size_t at = from % b->elements;
    while (count > 0) {
        size_t run = firn_smaller(count, b->elements - at);
        firn_widen(out, b->data, b->type, at, run);
        out += run;
        count -= run;
        at = 0;
    }
}

static void add_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    float a[FIRN_BLOCK], b[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count = firn_block_widen(a, &call->inputs[FIRN_ADD_IN_A], block);
        widen_repeated(b, &call->inputs[FIRN_ADD_IN_B], block * FIRN_BLOCK, count);
        for (size_t i = 0; i < count; i++)
            a[i] += b[i];
        firn_block_narrow(&call->outputs[FIRN_ADD_OUT_Y], block, a, count);
    }
}

void firn_kernel_add(const firn_kernel_call *call) {
    firn_split_blocks(call, add_blocks);
}

static void multiply_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    float a[FIRN_BLOCK], b[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count = firn_block_widen(a, &call->inputs[FIRN_MULTIPLY_IN_A], block);
        widen_repeated(b, &call->inputs[FIRN_MULTIPLY_IN_B], block * FIRN_BLOCK, count);
        for (size_t i = 0; i < count; i++)
            a[i] *= b[i];
        firn_block_narrow(&call->outputs[FIRN_MULTIPLY_OUT_Y], block, a, count);
    }
}

void firn_kernel_multiply(const firn_kernel_call *call) {
    firn_split_blocks(call, multiply_blocks);
}

static void sum_leading_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *x = &call->inputs[FIRN_SUM_LEADING_IN_X];
    const size_t columns = call->outputs[FIRN_SUM_LEADING_OUT_Y].elements, rows = x->elements / columns;
    float row_values[FIRN_BLOCK], sums[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count = firn_block_elements(columns, block);
        for (size_t i = 0; i < count; i++)
            sums[i] = 0.0f;
        for (size_t row = 0; row < rows; row++) {
            firn_widen_rows(row_values, 0, x->data, x->type, row * columns + block * FIRN_BLOCK, 0, 1, count);
            for (size_t i = 0; i < count; i++)
                sums[i] += row_values[i];
        }
        firn_block_narrow(&call->outputs[FIRN_SUM_LEADING_OUT_Y], block, sums, count);
    }
}

void firn_kernel_sum_leading(const firn_kernel_call *call) {
    const size_t columns = call->outputs[FIRN_SUM_LEADING_OUT_Y].elements,
                 rows = call->inputs[FIRN_SUM_LEADING_IN_X].elements / columns;
    firn_split(call, firn_blocks(columns), 2 * rows * FIRN_BLOCK, sum_leading_blocks);
}

/* --- dropout ------------------------------------------------------------------------------------------------------ */

static void dropout_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_rng rng = {call->seed, (uint32_t)call->integers[FIRN_DROPOUT_RNG_ID], call->moment->global_step,
                          call->moment->micro_step};
    float x[FIRN_BLOCK], factors[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count = firn_block_widen(x, &call->inputs[FIRN_DROPOUT_IN_X], block);
        firn_block_dropout_factors(&rng, (uint64_t)block * FIRN_BLOCK, call->reals[FIRN_DROPOUT_RATE], factors, count);
        for (size_t i = 0; i < count; i++)
            x[i] = firn_dropped(x[i], factors[i]);
        firn_block_narrow(&call->outputs[FIRN_DROPOUT_OUT_Y], block, x, count);
    }
}

void firn_kernel_dropout(const firn_kernel_call *call) {
    firn_split_blocks(call, dropout_blocks);
}
