/* Numbers rounded to an integer type of few bits, and the gradient, which passes where the type does not limit the
 * number. Freestanding. */
#include "runtime/kernels/elements/broadcast.h"
#include "runtime/kernels/elements/functions.h"

/* x / scale as a whole number of the type, before it is limited. */
static inline float quantized(float x, float scale, float zero_point) {
    return firn_round_to_even(x / scale) + zero_point;
}

static void fake_quantize_blocks(void *argument, size_t begin, size_t end) {
    const firn_broadcast_pair *o = argument;
    const float low = o->call->reals[FIRN_FAKE_QUANTIZE_LOW], high = o->call->reals[FIRN_FAKE_QUANTIZE_HIGH];
    float values[FIRN_BLOCK], scales[FIRN_BLOCK], zeros[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count;
        const float *xs = firn_block_floats(values, &o->call->inputs[FIRN_FAKE_QUANTIZE_IN_X], block, &count);
        const float *ss = firn_broadcast_floats(&o->a, scales, block, count);
        const float *zs = firn_broadcast_floats(&o->b, zeros, block, count);
        for (size_t i = 0; i < count; i++)
            values[i] = (firn_limit(quantized(xs[i], ss[i], zs[i]), low, high) - zs[i]) * ss[i];
        firn_block_narrow(&o->call->outputs[FIRN_FAKE_QUANTIZE_OUT_Y], block, values, count);
    }
}

void firn_kernel_fake_quantize(const firn_kernel_call *call) {
    firn_broadcast_pair o = firn_broadcast_pair_of(call, FIRN_FAKE_QUANTIZE_IN_SCALE, FIRN_FAKE_QUANTIZE_IN_ZERO_POINT,
                                                   &call->outputs[FIRN_FAKE_QUANTIZE_OUT_Y]);
    firn_run_blocks(call, fake_quantize_blocks, &o);
}

static void fake_quantize_backward_blocks(void *argument, size_t begin, size_t end) {
    const firn_broadcast_pair *o = argument;
    const float low = o->call->reals[FIRN_FAKE_QUANTIZE_BACKWARD_LOW],
                high = o->call->reals[FIRN_FAKE_QUANTIZE_BACKWARD_HIGH];
    float gradients[FIRN_BLOCK], values[FIRN_BLOCK], scales[FIRN_BLOCK], zeros[FIRN_BLOCK];
    for (size_t block = begin; block < end; block++) {
        size_t count;
        const float *dys =
            firn_block_floats(gradients, &o->call->inputs[FIRN_FAKE_QUANTIZE_BACKWARD_IN_DY], block, &count);
        const float *xs = firn_block_floats(values, &o->call->inputs[FIRN_FAKE_QUANTIZE_BACKWARD_IN_X], block, &count);
        const float *ss = firn_broadcast_floats(&o->a, scales, block, count);
        const float *zs = firn_broadcast_floats(&o->b, zeros, block, count);
        for (size_t i = 0; i < count; i++) {
            const float q = quantized(xs[i], ss[i], zs[i]);
            gradients[i] = q >= low && q <= high ? dys[i] : 0.0f;
        }
        firn_block_narrow(&o->call->outputs[FIRN_FAKE_QUANTIZE_BACKWARD_OUT_DX], block, gradients, count);
    }
}

void firn_kernel_fake_quantize_backward(const firn_kernel_call *call) {
    firn_broadcast_pair o =
        firn_broadcast_pair_of(call, FIRN_FAKE_QUANTIZE_BACKWARD_IN_SCALE, FIRN_FAKE_QUANTIZE_BACKWARD_IN_ZERO_POINT,
                               &call->outputs[FIRN_FAKE_QUANTIZE_BACKWARD_OUT_DX]);
    firn_run_blocks(call, fake_quantize_backward_blocks, &o);
}
