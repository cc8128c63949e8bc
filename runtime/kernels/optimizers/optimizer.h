/* What all optimizers share: the gradient as they see it, and the walk over a parameter. One pass over memory does the
 * whole update, so a gradient is unscaled and clipped in registers, by the factors that the op gradient_factors made
 * (plan/NUMERICS.md, "Update"). An optimizer's kernel may read a gradient through the functions here only.
 * Freestanding. */
#ifndef FIRN_KERNELS_OPTIMIZERS_OPTIMIZER_H
#define FIRN_KERNELS_OPTIMIZERS_OPTIMIZER_H

#include "runtime/kernels/blocks.h"

typedef struct firn_gradient {
    const firn_tensor *tensor;
    float unscale, clip, limit;
    bool has_factors; /* else it is to be taken as it is */
} firn_gradient;

/* The gradient of an optimizer's call, with the factors that are its input number `factors`, if it has that many. */
firn_gradient firn_gradient_of(const firn_kernel_call *call, uint8_t factors);

/* Elements of it, unscaled and clipped: count from `from` on, and a block, whose number is returned. */
void firn_gradient_run(float *g, const firn_gradient *gradient, size_t from, size_t count);
size_t firn_gradient_block(float *g, const firn_gradient *gradient, size_t block);

/* A block of it to be read only: where it lies if nothing is to be done to it, else in g, which has room for one. */
const float *firn_gradient_view(float *g, const firn_gradient *gradient, size_t block);

/* The weight decay of an optimizer's call: the one that its factors bring, else its attribute. */
static inline float firn_decay_of(const firn_kernel_call *call, uint8_t factors, float attribute) {
    const firn_tensor *given = &call->inputs[factors];
    if (call->input_count > factors && given->elements == FIRN_FACTORS_AND_DECAY)
        return ((const float *)given->data)[FIRN_FACTOR_DECAY];
    return attribute;
}

/* The gradient, with its sign turned to maximize, plus decay * parameter. */
static inline float firn_direction(float g, float parameter, bool maximize, float decay) {
    return firn_fma(decay, parameter, maximize ? -g : g);
}

/* The number of this step, t = 1, 2, ..., from the counter of the steps before it. */
static inline uint64_t firn_step_of(const firn_tensor *counter) {
    const uint64_t *steps = counter->data;
    return *steps + 1;
}

/* A block of a float32 tensor where it lies: a parameter or a tensor of the optimizer, as an output of the call. */
static inline float *firn_block_of(const firn_tensor *tensor, size_t block) {
    return (float *)tensor->data + block * FIRN_BLOCK;
}

/* Advances count elements by an optimizer's formula. g is the gradient as the optimizer sees it, tensors are the
 * outputs of the call that have the extents of the parameter, at these elements, by the positions of those outputs. */
typedef void (*firn_update_run)(const void *settings, const float *g, float *const tensors[], size_t count);

/* The walk of an optimizer whose elements need nothing of each other: run over every block. `tensors` says how many of
 * the call's first outputs have its extents. */
void firn_update(const firn_kernel_call *call, uint8_t factors, uint8_t tensors, firn_update_run run,
                 const void *settings);

#endif
