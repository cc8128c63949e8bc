/* Computes the initial values of a float32 tensor. This is not an op, but part of the kernel set, so that a large model
 * is initialised within seconds. An element depends only on the plan's seed, the initialiser's rng_id and its index, so
 * threads may divide the elements in any way. Freestanding. */
#include "runtime/kernels/blocks.h"
#include "runtime/kernels/parts.h"

enum { TASK = 16 * FIRN_BLOCK }; /* elements of a task */

static void fill_block(const firn_kernel_call *call, size_t block) {
    const firn_rng rng = {.seed = call->seed, .rng_id = (uint32_t)call->integers[FIRN_INITIALISE_RNG_ID]};
    const float a = call->reals[FIRN_INITIALISE_A], b = call->reals[FIRN_INITIALISE_B];
    const size_t count = firn_block_elements(call->outputs[FIRN_INITIALISE_OUT_TENSOR].elements, block);
    float *out = (float *)call->outputs[FIRN_INITIALISE_OUT_TENSOR].data + block * FIRN_BLOCK;
    const int64_t rule = call->integers[FIRN_INITIALISE_RULE];
    if (rule != 0) { /* the rule constant is 0 */
        firn_initialise_rules[rule - 1](out, &rng, (uint64_t)block * FIRN_BLOCK, count, a, b);
        return;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = a;
}

static void fill_tasks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const size_t blocks = firn_blocks(call->outputs[FIRN_INITIALISE_OUT_TENSOR].elements), each = TASK / FIRN_BLOCK;
    for (size_t block = begin * each; block < firn_smaller(end * each, blocks); block++)
        fill_block(call, block);
}

void firn_kernel_initialise(const firn_kernel_call *call) {
    firn_split(call, firn_ceiling(call->outputs[FIRN_INITIALISE_OUT_TENSOR].elements, TASK), UINT64_C(16) * TASK,
               fill_tasks);
}
