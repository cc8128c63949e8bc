/* The AVX-512 set: the portable kernels, compiled for such a CPU, and in the place of some of them others that give the
 * same bits. */
#include "runtime/kernels/x86/attention.h"
#include "runtime/kernels/x86/product.h"

firn_kernel firn_kernel_find_avx512(uint16_t code);

static void linear(const firn_kernel_call *call) {
    const firn_linear job = firn_linear_forward(call);
    if (firn_avx512_can_multiply(&job.product))
        firn_avx512_multiply(&job, &call->parallel);
    else
        firn_kernel_linear(call);
}

static void linear_backward_input(const firn_kernel_call *call) {
    const firn_linear job = firn_linear_backward_input(call);
    if (firn_avx512_can_multiply(&job.product))
        firn_avx512_multiply(&job, &call->parallel);
    else
        firn_kernel_linear_backward_input(call);
}

static void linear_backward_weight(const firn_kernel_call *call) {
    const firn_linear job = firn_linear_backward_weight(call);
    if (firn_avx512_can_multiply(&job.product))
        firn_avx512_multiply(&job, &call->parallel);
    else
        firn_kernel_linear_backward_weight(call);
}

firn_kernel firn_kernel_find_avx512(uint16_t code) {
    switch (code) {
    case FIRN_OP_linear:
        return linear;
    case FIRN_OP_linear_backward_input:
        return linear_backward_input;
    case FIRN_OP_linear_backward_weight:
        return linear_backward_weight;
    case FIRN_OP_attention:
        return firn_vector_attention;
    case FIRN_OP_attention_backward:
        return firn_vector_attention_backward;
    default:
        return firn_kernel_find(code);
    }
}
