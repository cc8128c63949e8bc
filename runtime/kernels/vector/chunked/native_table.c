/* The AVX-512-FP16 set: the AVX-512 one, but for linear layers whose chunks are summed in float16. */
#include "runtime/kernels/vector/chunked/native.h"

firn_kernel firn_kernel_find_avx512(uint16_t code);
firn_kernel firn_kernel_find_avx512fp16(uint16_t code);

static void run(uint16_t code, const firn_kernel_call *call, firn_kernel native) {
    const firn_reduction *reduction = &call->reductions[0];
    if (reduction->kind == FIRN_REDUCTION_CHUNKED && reduction->accumulator == FIRN_FLOAT16)
        native(call);
    else
        firn_kernel_find_avx512(code)(call);
}

static void linear(const firn_kernel_call *call) {
    run(FIRN_OP_linear, call, firn_native_linear);
}

static void linear_backward_input(const firn_kernel_call *call) {
    run(FIRN_OP_linear_backward_input, call, firn_native_linear_backward_input);
}

static void linear_backward_weight(const firn_kernel_call *call) {
    run(FIRN_OP_linear_backward_weight, call, firn_native_linear_backward_weight);
}

firn_kernel firn_kernel_find_avx512fp16(uint16_t code) {
    switch (code) {
    case FIRN_OP_linear:
        return linear;
    case FIRN_OP_linear_backward_input:
        return linear_backward_input;
    case FIRN_OP_linear_backward_weight:
        return linear_backward_weight;
    default:
        return firn_kernel_find_avx512(code);
    }
}
