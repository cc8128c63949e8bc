/* Elementwise ops of two or three operands that are repeated to the extents of the result. Each formula for one element
 * is written once, and the macros below generate the loops: the compiler vectorises a formula only if it is inside its
 * loop, and the body of a task must be a separate function. Freestanding. */
#include "runtime/kernels/elements/broadcast.h"
#include "runtime/numerics/elementary.h"

/* Defines the kernel firn_kernel_name, where the formula computes y from a and b. */
#define OF_TWO(name, OP, formula)                                                                                      \
    static void name##_blocks(void *argument, size_t begin, size_t end) {                                              \
        const firn_broadcast_pair *o = argument;                                                                       \
        const firn_tensor *result = &o->call->outputs[FIRN_##OP##_OUT_Y];                                              \
        float values[FIRN_BLOCK], others[FIRN_BLOCK];                                                                  \
        for (size_t block = begin; block < end; block++) {                                                             \
            const size_t count = firn_block_elements(result->elements, block);                                         \
            const float *as = firn_broadcast_floats(&o->a, values, block, count);                                      \
            const float *bs = firn_broadcast_floats(&o->b, others, block, count);                                      \
            for (size_t i = 0; i < count; i++) {                                                                       \
                const float a = as[i], b = bs[i];                                                                      \
                values[i] = (formula);                                                                                 \
            }                                                                                                          \
            firn_block_narrow(result, block, values, count);                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    void firn_kernel_##name(const firn_kernel_call *call) {                                                            \
        firn_broadcast_pair o =                                                                                        \
            firn_broadcast_pair_of(call, FIRN_##OP##_IN_A, FIRN_##OP##_IN_B, &call->outputs[FIRN_##OP##_OUT_Y]);       \
        firn_run_blocks(call, name##_blocks, &o);                                                                      \
    }

static inline float minimum(float a, float b) {
    const float smaller = a < b ? a : b; /* b if b is NaN */
    return a == a ? smaller : a;
}

OF_TWO(broadcast_add, BROADCAST_ADD, a + b)
OF_TWO(broadcast_multiply, BROADCAST_MULTIPLY, a *b)
OF_TWO(subtract, SUBTRACT, a - b)
OF_TWO(divide, DIVIDE, a / b)
OF_TWO(minimum, MINIMUM, minimum(a, b))
OF_TWO(maximum, MAXIMUM, firn_maximum(a, b))
OF_TWO(less, LESS, a < b ? 1.0f : 0.0f)
OF_TWO(less_or_equal, LESS_OR_EQUAL, a <= b ? 1.0f : 0.0f)
OF_TWO(equal, EQUAL, a == b ? 1.0f : 0.0f)

/* --- the gradient of maximum and minimum -------------------------------------------------------------------------- */

static inline float share(float dy, float a, float b) {
    const float part = a == b ? 0.5f * dy : dy;
    return a < b ? 0.0f : part;
}

static void share_blocks(void *argument, size_t begin, size_t end) {
    const firn_broadcast_pair *o = argument;
    const firn_tensor *dy = &o->call->inputs[FIRN_LARGER_SHARE_IN_DY];
    float gradients[FIRN_BLOCK], values[FIRN_BLOCK], others[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count;
        const float *dys = firn_block_floats(gradients, dy, block, &count);
        const float *as = firn_broadcast_floats(&o->a, values, block, count);
        const float *bs = firn_broadcast_floats(&o->b, others, block, count);
        for (size_t i = 0; i < count; i++)
            gradients[i] = share(dys[i], as[i], bs[i]);
        firn_block_narrow(&o->call->outputs[FIRN_LARGER_SHARE_OUT_DA], block, gradients, count);
    }
}

void firn_kernel_larger_share(const firn_kernel_call *call) {
    const firn_tensor *dy = &call->inputs[FIRN_LARGER_SHARE_IN_DY];
    firn_broadcast_pair o = firn_broadcast_pair_of(call, FIRN_LARGER_SHARE_IN_A, FIRN_LARGER_SHARE_IN_B, dy);
    firn_run_blocks(call, share_blocks, &o);
}
