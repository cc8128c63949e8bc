/* Random numbers for each element of a tensor. Freestanding. */
#include "runtime/kernels/blocks.h"

enum { RNG_ID = FIRN_RANDOM_UNIFORM_RNG_ID, Y = FIRN_RANDOM_UNIFORM_OUT_Y };
_Static_assert((int)FIRN_RANDOM_NORMAL_RNG_ID == (int)RNG_ID && (int)FIRN_RANDOM_NORMAL_OUT_Y == (int)Y,
               "both ops have the same operands");

static firn_rng rng_of(const firn_kernel_call *call) {
    return (firn_rng){call->seed, (uint32_t)call->integers[RNG_ID], call->moment->global_step,
                      call->moment->micro_step};
}

static void uniform_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_rng rng = rng_of(call);
    const firn_tensor *y = &call->outputs[Y];
    for (size_t block = begin; block < end; block++)
        firn_random_uniform_many((float *)y->data + block * FIRN_BLOCK, &rng, (uint64_t)block * FIRN_BLOCK,
                                 firn_block_elements(y->elements, block));
}

static void normal_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_rng rng = rng_of(call);
    const firn_tensor *y = &call->outputs[Y];
    for (size_t block = begin; block < end; block++)
        firn_random_normal_many((float *)y->data + block * FIRN_BLOCK, &rng, (uint64_t)block * FIRN_BLOCK,
                                firn_block_elements(y->elements, block));
}

void firn_kernel_random_uniform(const firn_kernel_call *call) {
    firn_split_blocks(call, uniform_blocks);
}

void firn_kernel_random_normal(const firn_kernel_call *call) {
    firn_split_blocks(call, normal_blocks);
}
