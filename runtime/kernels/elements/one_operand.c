/* Elementwise ops of one operand and their gradients. Each formula for one element is written once, and the macros
 * below generate the loops: the compiler vectorises a formula only if it is inside its loop, and the body of a task
 * must be a separate function. Freestanding. */
#include "runtime/kernels/elements/functions.h"

#include "runtime/kernels/blocks.h"

/* Defines the kernel firn_kernel_name, where the formula computes y from x and from the real attributes p and q, of
 * which an op may have fewer. */
#define OF_ONE(name, OP, count_of_reals, formula)                                                                      \
    static void name##_blocks(void *argument, size_t begin, size_t end) {                                              \
        const firn_kernel_call *call = argument;                                                                       \
        const float p = (count_of_reals) > 0 ? call->reals[0] : 0.0f,                                                  \
                    q = (count_of_reals) > 1 ? call->reals[1] : 0.0f;                                                  \
        float values[FIRN_BLOCK];                                                                                      \
        (void)p, (void)q;                                                                                              \
        for (size_t block = begin; block < end; block++) {                                                             \
            size_t count;                                                                                              \
            const float *in = firn_block_floats(values, &call->inputs[FIRN_##OP##_IN_X], block, &count);               \
            for (size_t i = 0; i < count; i++) {                                                                       \
                const float x = in[i];                                                                                 \
                values[i] = (formula);                                                                                 \
            }                                                                                                          \
            firn_block_narrow(&call->outputs[FIRN_##OP##_OUT_Y], block, values, count);                                \
        }                                                                                                              \
    }                                                                                                                  \
    void firn_kernel_##name(const firn_kernel_call *call) {                                                            \
        firn_split_blocks(call, name##_blocks);                                                                        \
    }

/* Defines the kernel firn_kernel_name_backward, where the formula computes dx from dy, x, p and q. */
#define BACKWARD(name, OP, count_of_reals, formula)                                                                    \
    static void name##_backward_blocks(void *argument, size_t begin, size_t end) {                                     \
        const firn_kernel_call *call = argument;                                                                       \
        const float p = (count_of_reals) > 0 ? call->reals[0] : 0.0f,                                                  \
                    q = (count_of_reals) > 1 ? call->reals[1] : 0.0f;                                                  \
        float gradients[FIRN_BLOCK], values[FIRN_BLOCK];                                                               \
        (void)p, (void)q;                                                                                              \
        for (size_t block = begin; block < end; block++) {                                                             \
            size_t count;                                                                                              \
            const float *dys = firn_block_floats(gradients, &call->inputs[FIRN_##OP##_BACKWARD_IN_DY], block, &count); \
            const float *xs = firn_block_floats(values, &call->inputs[FIRN_##OP##_BACKWARD_IN_X], block, &count);      \
            for (size_t i = 0; i < count; i++) {                                                                       \
                const float dy = dys[i], x = xs[i];                                                                    \
                gradients[i] = (formula);                                                                              \
            }                                                                                                          \
            firn_block_narrow(&call->outputs[FIRN_##OP##_BACKWARD_OUT_DX], block, gradients, count);                   \
        }                                                                                                              \
    }                                                                                                                  \
    void firn_kernel_##name##_backward(const firn_kernel_call *call) {                                                 \
        firn_split_blocks(call, name##_backward_blocks);                                                               \
    }

OF_ONE(exp, EXP, 0, firn_exp_inline(x))
OF_ONE(log, LOG, 0, firn_log_inline(x))
OF_ONE(sqrt, SQRT, 0, firn_sqrt(x))
OF_ONE(reciprocal, RECIPROCAL, 0, 1.0f / x)
OF_ONE(erf, ERF, 0, firn_erf_inline(x))
BACKWARD(erf, ERF, 0, dy *firn_erf_slope(x))
OF_ONE(abs, ABS, 0, firn_absolute(x))
OF_ONE(sign, SIGN, 0, firn_sign(x))
OF_ONE(floor, FLOOR, 0, firn_floor(x))
OF_ONE(sin, SIN, 0, firn_sin_inline(x))
OF_ONE(cos, COS, 0, firn_cos_inline(x))
OF_ONE(atan, ATAN, 0, firn_atan_inline(x))
OF_ONE(log_one_plus, LOG_ONE_PLUS, 0, firn_log_one_plus_inline(x))
OF_ONE(round, ROUND, 0, firn_round_to_even(x))

enum { LOW = FIRN_CLIP_LOW, HIGH = FIRN_CLIP_HIGH, SCALE = FIRN_AFFINE_SCALE, SHIFT = FIRN_AFFINE_SHIFT };
_Static_assert(LOW == 0 && HIGH == 1 && SCALE == 0 && SHIFT == 1, "p and q");
OF_ONE(clip, CLIP, 2, firn_limit(x, p, q))
BACKWARD(clip, CLIP, 2, x > p && x < q ? dy : 0.0f)
OF_ONE(affine, AFFINE, 2, firn_fma(x, p, q))
OF_ONE(leaky_relu, LEAKY_RELU, 1, x > 0.0f ? x : x * p)
BACKWARD(leaky_relu, LEAKY_RELU, 1, x > 0.0f ? dy : dy * p)
OF_ONE(elu, ELU, 1, x > 0.0f ? x : p * firn_exp_less_one(x))
BACKWARD(elu, ELU, 1, x > 0.0f ? dy : dy * (p * firn_exp_inline(x)))

/* --- integers ----------------------------------------------------------------------------------------------------- */

static void to_int32_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    int32_t *out = call->outputs[FIRN_TO_INT32_OUT_Y].data;
    float values[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count;
        const float *in = firn_block_floats(values, &call->inputs[FIRN_TO_INT32_IN_X], block, &count);
        for (size_t i = 0; i < count; i++)
            out[block * FIRN_BLOCK + i] = firn_truncated(in[i]);
    }
}

void firn_kernel_to_int32(const firn_kernel_call *call) {
    firn_split_blocks(call, to_int32_blocks);
}

static void to_float32_blocks(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *x = &call->inputs[FIRN_TO_FLOAT32_IN_X], *y = &call->outputs[FIRN_TO_FLOAT32_OUT_Y];
    const int32_t *in = x->data;
    float *out = y->data;
    const size_t last = firn_smaller(end * FIRN_BLOCK, x->elements);
    for (size_t i = begin * FIRN_BLOCK; i < last; i++)
        out[i] = (float)in[i];
}

void firn_kernel_to_float32(const firn_kernel_call *call) {
    firn_split_blocks(call, to_float32_blocks);
}
