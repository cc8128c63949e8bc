/* Computes the initial values of a float32 tensor. This is not an op, but part of the kernel set, so that a large model
 * is initialised within seconds. An element depends only on the plan's seed, the initialiser's rng_id and its index, so
 * threads may divide the elements in any way. Freestanding. */
#include "runtime/kernels/blocks.h"
#include "runtime/kernels/parts.h"

enum { TASK = 16 * FIRN_BLOCK }; /* elements of a task */

static void fill_tasks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *tensor = &call->outputs[FIRN_INITIALISE_OUT_TENSOR];
    const firn_rng rng = {.seed = call->seed, .rng_id = (uint32_t)call->integers[FIRN_INITIALISE_RNG_ID]};
    const float a = call->reals[FIRN_INITIALISE_A];
    const uint32_t rule = (uint32_t)call->integers[FIRN_INITIALISE_RULE];
    for (size_t task = begin; task < end; task++) {
        const size_t first = task * TASK, count = firn_smaller(TASK, tensor->elements - first);
        float *out = (float *)tensor->data + first;
        if (rule != 0) /* the rule constant is 0 */
            firn_initialise_rules[rule - 1](out, &rng, first, count, call->reals);
        else
            for (size_t i = 0; i < count; i++)
                out[i] = a;
    }
}

void firn_kernel_initialise(const firn_kernel_call *call) {
    firn_split(call, firn_ceiling(call->outputs[FIRN_INITIALISE_OUT_TENSOR].elements, TASK), UINT64_C(16) * TASK,
               fill_tasks);
}
