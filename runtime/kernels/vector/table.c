/* The sets with kernels of this folder: the portable ones, compiled for such a CPU, and in the place of some of them
 * others that give the same bits. */
#include "runtime/kernels/vector/attention/attention.h"
#include "runtime/kernels/vector/chunked/product.h"
#include "runtime/kernels/vector/elementwise.h"
#include "runtime/kernels/vector/losses.h"

firn_kernel firn_kernel_find_vector(uint16_t code);

firn_kernel firn_kernel_find_vector(uint16_t code) {
    switch (code) {
    case FIRN_OP_linear:
        return firn_chunked_linear;
    case FIRN_OP_linear_backward_input:
        return firn_chunked_linear_backward_input;
    case FIRN_OP_linear_backward_weight:
        return firn_chunked_linear_backward_weight;
    case FIRN_OP_attention:
        return firn_vector_attention;
    case FIRN_OP_attention_backward:
        return firn_vector_attention_backward;
    case FIRN_OP_gelu:
        return firn_vector_gelu;
    case FIRN_OP_gelu_backward:
        return firn_vector_gelu_backward;
    case FIRN_OP_tanh:
        return firn_vector_tanh;
    case FIRN_OP_cross_entropy:
        return firn_vector_cross_entropy;
    case FIRN_OP_cross_entropy_backward:
        return firn_vector_cross_entropy_backward;
    default:
        return firn_kernel_find(code);
    }
}
