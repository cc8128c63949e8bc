/* Sums of gradients over micro-batches; counters and loss scale after the update. All tensors are float32 except
 * gradients, which may have any real type. Freestanding. */
#include "runtime/kernels/blocks.h"

static uint64_t counter(const firn_tensor *tensor) {
    const uint64_t *value = tensor->data;
    return *value;
}

static void set_counter(const firn_tensor *tensor, uint64_t x) {
    uint64_t *value = tensor->data;
    *value = x;
}

/* --- micro-batches and loss scale --------------------------------------------------------------------------------- */

static void accumulate_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    float total[FIRN_BLOCK], gradient[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count = firn_block_widen(gradient, &call->inputs[FIRN_ACCUMULATE_IN_G], block);
        if (call->moment->micro_step > 0) {
            firn_block_widen(total, &call->inputs[FIRN_ACCUMULATE_IN_TOTAL], block);
            for (size_t i = 0; i < count; i++)
                gradient[i] = total[i] + gradient[i];
        }
        firn_block_narrow(&call->outputs[FIRN_ACCUMULATE_OUT_TOTAL], block, gradient, count);
    }
}

/* total = gradient in the first micro-batch, total + gradient in the others */
void firn_kernel_accumulate(const firn_kernel_call *call) {
    firn_split_blocks(call, accumulate_blocks);
}

/* Where the nodes of a level wait: below the top in `lower`, one level behind the other, and at the top in `total`. */
static float *level_of_tree(const firn_kernel_call *call, uint32_t level, uint32_t top) {
    const firn_tensor *total = &call->outputs[FIRN_ACCUMULATE_TREE_OUT_TOTAL];
    float *below = level < top ? call->outputs[FIRN_ACCUMULATE_TREE_OUT_LOWER].data : NULL;
    return below != NULL ? below + level * total->elements : total->data;
}

static void add_left(float *node, const float *left, size_t count) {
    for (size_t i = 0; i < count; i++)
        node[i] = left[i] + node[i];
}

/* A bit that is set in the number of the micro-step stands for a node that waits on this level for its right sibling.
 * The gradient of the micro-step is that of the lowest level; so it is carried upwards as a one is in a binary counter,
 * and behind the last micro-step over the levels on which none waits, too. */
static void accumulate_tree_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const uint32_t last = (uint32_t)call->integers[FIRN_ACCUMULATE_TREE_MICRO_BATCHES] - 1,
                   micro_step = call->moment->micro_step;
    uint32_t top = 0, level;
    float node[FIRN_BLOCK];
    while (last >> top > 1)
        top++;
    for (size_t block = begin; block < end; block++) {
        const size_t count = firn_block_widen(node, &call->inputs[FIRN_ACCUMULATE_TREE_IN_G], block);
        const size_t at = block * FIRN_BLOCK;
        for (level = 0; level < top && (micro_step == last || (micro_step >> level & 1) != 0); level++)
            if ((micro_step >> level & 1) != 0)
                add_left(node, level_of_tree(call, level, top) + at, count);
        if (level == top && (micro_step >> top & 1) != 0)
            add_left(node, level_of_tree(call, top, top) + at, count);
        firn_narrow(level_of_tree(call, level, top), FIRN_FLOAT32, at, node, count);
    }
}

void firn_kernel_accumulate_tree(const firn_kernel_call *call) {
    firn_split_blocks(call, accumulate_tree_blocks);
}

void firn_kernel_advance_power(const firn_kernel_call *call) {
    const float power = firn_scalar(&call->inputs[FIRN_ADVANCE_POWER_IN_POWER]);
    firn_set_scalar(&call->outputs[FIRN_ADVANCE_POWER_OUT_POWER], power * call->reals[FIRN_ADVANCE_POWER_FACTOR]);
}

/* --- counters ----------------------------------------------------------------------------------------------------- */

/* length = length + count, limited to [0, limit] */
void firn_kernel_advance(const firn_kernel_call *call) {
    const int64_t limit = call->integers[FIRN_ADVANCE_LIMIT];
    const int32_t count = *(const int32_t *)call->inputs[FIRN_ADVANCE_IN_COUNT].data;
    const int64_t length = (int64_t)firn_position(&call->inputs[FIRN_ADVANCE_IN_LENGTH]) + count;
    set_counter(&call->outputs[FIRN_ADVANCE_OUT_LENGTH], length < 0 ? 0 : (uint64_t)(length < limit ? length : limit));
}

void firn_kernel_count(const firn_kernel_call *call) {
    const uint64_t before = counter(&call->inputs[FIRN_COUNT_IN_COUNTER]);
    set_counter(&call->outputs[FIRN_COUNT_OUT_COUNTER], before + (uint64_t)call->integers[FIRN_COUNT_STEP]);
}

/* Returns the float nearest to n. n is first shifted into 32 bits, with the lowest bit set if a bit was lost, because
 * on processors without 64-bit conversions the direct conversion would link a routine of the compiler's library. */
static float nearest_float(uint64_t n) {
    float scale = 1.0f;
    while (n > UINT32_MAX) {
        n = n >> 1 | (n & 1);
        scale *= 2.0f;
    }
    return (float)(uint32_t)n * scale;
}

/* Halves the scale if overflows / steps exceeds the tolerance; doubles it after more than steps_per_increase steps. */
void firn_kernel_loss_scale_update(const firn_kernel_call *call) {
    const int32_t *finite = call->inputs[FIRN_LOSS_SCALE_UPDATE_IN_FINITE].data;
    int32_t *at_floor = call->outputs[FIRN_LOSS_SCALE_UPDATE_OUT_AT_FLOOR].data;
    const uint64_t steps_per_increase = (uint64_t)call->integers[FIRN_LOSS_SCALE_UPDATE_STEPS_PER_INCREASE],
                   overflow = *finite == 0;
    const float minimum = call->reals[FIRN_LOSS_SCALE_UPDATE_MINIMUM],
                maximum = call->reals[FIRN_LOSS_SCALE_UPDATE_MAXIMUM],
                tolerance = call->reals[FIRN_LOSS_SCALE_UPDATE_OVERFLOW_TOLERANCE];
    float scale = firn_scalar(&call->inputs[FIRN_LOSS_SCALE_UPDATE_IN_SCALE]);
    uint64_t steps = counter(&call->inputs[FIRN_LOSS_SCALE_UPDATE_IN_STEPS]) + 1;
    uint64_t overflows = counter(&call->inputs[FIRN_LOSS_SCALE_UPDATE_IN_OVERFLOWS]) + overflow;
    if (tolerance < nearest_float(overflows) / nearest_float(steps)) {
        scale *= 0.5f;
        steps = overflows = 0;
    }
    if (steps_per_increase < steps) {
        scale *= 2.0f;
        steps = overflows = 0;
    }
    scale = scale > maximum ? maximum : scale;
    *at_floor = scale < minimum;
    scale = scale < minimum ? minimum : scale;
    firn_set_scalar(&call->outputs[FIRN_LOSS_SCALE_UPDATE_OUT_SCALE], scale);
    set_counter(&call->outputs[FIRN_LOSS_SCALE_UPDATE_OUT_STEPS], steps);
    set_counter(&call->outputs[FIRN_LOSS_SCALE_UPDATE_OUT_OVERFLOWS], overflows);
    const uint64_t skipped = counter(&call->inputs[FIRN_LOSS_SCALE_UPDATE_IN_SKIPPED]) + overflow;
    set_counter(&call->outputs[FIRN_LOSS_SCALE_UPDATE_OUT_SKIPPED], skipped);
}
