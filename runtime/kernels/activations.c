/* Activations and their gradients: relu, tanh, sigmoid, silu, softplus, gelu. Each formula for one element is written
 * once, next to the formula of its gradient, and the macros below generate the loops. They are macros because the
 * compiler vectorises a formula only if it is inside its loop, and because the body of a task must be a separate
 * function. Freestanding. */
#include "runtime/kernels/blocks.h"
#include "runtime/numerics/elementary.h"

/* Defines the task body name_blocks, where the formula computes y from x. OP is the op as spelled in
 * plan/generated/operands.h. */
#define FORWARD(name, OP, formula)                                                                                     \
    static void name##_blocks(void *argument, size_t begin, size_t end) {                                              \
        const firn_kernel_call *call = argument;                                                                       \
        float values[FIRN_BLOCK];                                                                                      \
        for (size_t block = begin; block < end; block++) {                                                             \
            size_t count;                                                                                              \
            const float *in = firn_block_floats(values, &call->inputs[FIRN_##OP##_IN_X], block, &count);               \
            for (size_t i = 0; i < count; i++) {                                                                       \
                const float x = in[i];                                                                                 \
                values[i] = (formula);                                                                                 \
            }                                                                                                          \
            firn_block_narrow(&call->outputs[FIRN_##OP##_OUT_Y], block, values, count);                                \
        }                                                                                                              \
    }

/* Defines the task body name_backward_blocks, where the formula computes dx from dy and from `saved`, the input SAVED
 * of the backward op: what the forward op read or wrote. */
#define BACKWARD(name, OP, SAVED, saved, formula)                                                                      \
    static void name##_backward_blocks(void *argument, size_t begin, size_t end) {                                     \
        const firn_kernel_call *call = argument;                                                                       \
        float gradients[FIRN_BLOCK], values[FIRN_BLOCK];                                                               \
        for (size_t block = begin; block < end; block++) {                                                             \
            size_t count;                                                                                              \
            const float *dys = firn_block_floats(gradients, &call->inputs[FIRN_##OP##_BACKWARD_IN_DY], block, &count); \
            const float *all =                                                                                         \
                firn_block_floats(values, &call->inputs[FIRN_##OP##_BACKWARD_IN_##SAVED], block, &count);              \
            for (size_t i = 0; i < count; i++) {                                                                       \
                const float dy = dys[i], saved = all[i];                                                               \
                gradients[i] = (formula);                                                                              \
            }                                                                                                          \
            firn_block_narrow(&call->outputs[FIRN_##OP##_BACKWARD_OUT_DX], block, gradients, count);                   \
        }                                                                                                              \
    }

/* Defines both task bodies and the kernels firn_kernel_name and firn_kernel_name_backward. */
#define ACTIVATION(name, OP, y_formula, SAVED, saved, dx_formula)                                                      \
    FORWARD(name, OP, y_formula)                                                                                       \
    BACKWARD(name, OP, SAVED, saved, dx_formula)                                                                       \
    void firn_kernel_##name(const firn_kernel_call *call) {                                                            \
        firn_split_blocks(call, name##_blocks);                                                                        \
    }                                                                                                                  \
    void firn_kernel_##name##_backward(const firn_kernel_call *call) {                                                 \
        firn_split_blocks(call, name##_backward_blocks);                                                               \
    }

ACTIVATION(relu, RELU, x <= 0.0f ? 0.0f : x, Y, y, y <= 0.0f ? 0.0f : dy)
ACTIVATION(tanh, TANH, firn_tanh_inline(x), Y, y, dy *firn_fma(-y, y, 1.0f))       /* dy (1 - y^2) */
ACTIVATION(sigmoid, SIGMOID, firn_sigmoid_inline(x), Y, y, dy *firn_fma(-y, y, y)) /* dy (y - y^2) */
ACTIVATION(silu, SILU, firn_silu_inline(x), X, x, dy *firn_silu_slope_inline(x))
ACTIVATION(softplus, SOFTPLUS, firn_softplus_inline(x), X, x, dy *firn_sigmoid_inline(x))

/* --- gelu, in two forms ------------------------------------------------------------------------------------------- */

enum { WITH_TANH = 1 }; /* form of gelu; 0: with erf */

FORWARD(gelu_erf, GELU, firn_gelu_inline(x))
BACKWARD(gelu_erf, GELU, X, x, dy *firn_gelu_slope_inline(x))
FORWARD(gelu_tanh, GELU, firn_gelu_tanh_inline(x))
BACKWARD(gelu_tanh, GELU, X, x, dy *firn_gelu_tanh_slope_inline(x))

void firn_kernel_gelu(const firn_kernel_call *call) {
    firn_split_blocks(call, call->integers[FIRN_GELU_FORM] == WITH_TANH ? gelu_tanh_blocks : gelu_erf_blocks);
}

void firn_kernel_gelu_backward(const firn_kernel_call *call) {
    const bool with_tanh = call->integers[FIRN_GELU_BACKWARD_FORM] == WITH_TANH;
    firn_split_blocks(call, with_tanh ? gelu_tanh_backward_blocks : gelu_erf_backward_blocks);
}
