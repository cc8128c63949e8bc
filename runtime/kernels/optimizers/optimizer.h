/* Functions that all optimizers share: access to the gradient, and the loop over a parameter. The whole update is one
 * pass over memory, so a gradient is unscaled and clipped in registers, with the factors computed by the op
 * gradient_factors (plan/NUMERICS.md, "Update"). An optimizer's kernel must read a gradient only through these
 * functions. Freestanding. */
#ifndef FIRN_KERNELS_OPTIMIZERS_OPTIMIZER_H
#define FIRN_KERNELS_OPTIMIZERS_OPTIMIZER_H

#include "runtime/kernels/blocks.h"

typedef struct firn_gradient {
    const firn_tensor *tensor;
    float unscale, clip, limit;
    bool has_factors; /* false: the gradient is used unchanged */
} firn_gradient;

/* Returns the gradient of an optimizer's call. Its factors are input number `factors`, if the call has that input. */
firn_gradient firn_gradient_of(const firn_kernel_call *call, uint8_t factors);

/* Read elements of the gradient, unscaled and clipped: `count` elements starting with `from`, or a block, whose number
 * of elements is returned. */
void firn_gradient_run(float *g, const firn_gradient *gradient, size_t from, size_t count);
size_t firn_gradient_block(float *g, const firn_gradient *gradient, size_t block);

/* Returns the weight decay of an optimizer's call: from its factors if it has them, else its attribute. */
static inline float firn_decay_of(const firn_kernel_call *call, uint8_t factors, float attribute) {
    const firn_tensor *given = firn_call_input(call, factors);
    if (given != NULL && given->elements == FIRN_FACTORS_AND_DECAY)
        return ((const float *)given->data)[FIRN_FACTOR_DECAY];
    return attribute;
}

/* Returns the gradient, negated if maximize is set, plus decay * parameter. */
static inline float firn_direction(float g, float parameter, bool maximize, float decay) {
    return firn_fma(decay, parameter, maximize ? -g : g);
}

/* Returns the number of this step, t = 1, 2, ..., given the counter of previous steps. */
static inline uint64_t firn_step_of(const firn_tensor *counter) {
    const uint64_t *steps = counter->data;
    return *steps + 1;
}

/* Returns the address of a block of a float32 tensor: a parameter or optimizer state, which is an output of the
 * call. */
static inline float *firn_block_of(const firn_tensor *tensor, size_t block) {
    return (float *)tensor->data + block * FIRN_BLOCK;
}

enum { FIRN_UPDATE_TENSORS = 4 }; /* a parameter and at most three tensors of state */

/* Updates `count` elements by an optimizer's formula. g: the gradient, unscaled and clipped. tensors: the outputs of
 * the call that have the parameter's extents, at the first of these elements, indexed by the positions of those
 * outputs. */
typedef void (*firn_update_run)(const void *settings, const float *g, float *const tensors[], size_t count);

/* Runs `run` over every block, for optimizers whose elements are independent. `tensors` is the number of leading
 * outputs of the call that have the parameter's extents, at most FIRN_UPDATE_TENSORS. */
void firn_update(const firn_kernel_call *call, uint8_t factors, uint8_t tensors, firn_update_run run,
                 const void *settings);

#endif
