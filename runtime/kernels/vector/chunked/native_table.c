/* The sets avx512fp16 and neonfp16: avx512 and neon with other kernels for linear layers, matmul and attention with
 * float16 sums inside chunks. */
#include "runtime/kernels/vector/attention/attention.h"
#include "runtime/kernels/vector/chunked/native.h"
#include "runtime/kernels/vector/rows.h"

enum { CHUNKED = FIRN_REDUCTION_CHUNKED };

static const firn_kernel_row rows[] = {
    {FIRN_OP_matmul, CHUNKED, FIRN_FLOAT16, {firn_native_matmul, firn_native_scratch}},
    {FIRN_OP_linear, CHUNKED, FIRN_FLOAT16, {firn_native_linear, firn_native_scratch}},
    {FIRN_OP_linear_backward_input, CHUNKED, FIRN_FLOAT16, {firn_native_linear_backward_input, firn_native_scratch}},
    {FIRN_OP_linear_backward_weight, CHUNKED, FIRN_FLOAT16, {firn_native_linear_backward_weight, firn_native_scratch}},
    {FIRN_OP_linear_backward_weight_rows,
     CHUNKED,
     FIRN_FLOAT16,
     {firn_native_linear_backward_weight_rows, firn_native_scratch}},
    {FIRN_KERNEL_ADD_WEIGHT, CHUNKED, FIRN_FLOAT16, {firn_native_add_weight, firn_native_scratch}},
};

/* The names of the set and of the one that it completes are given by the compiler's options. */
firn_kernel_choice firn_kernel_find_vector(uint16_t op, const firn_reduction *reduction);
firn_kernel_choice firn_kernel_find_native(uint16_t op, const firn_reduction *reduction);

/* Attention, if all of its sums are so; else empty. */
static firn_kernel_choice find_attention(uint16_t op, const firn_reduction *reductions) {
    const firn_kernel_choice none = {.run = NULL};
    const firn_op_info *info = reductions != NULL ? firn_op_find(op) : NULL;
    for (uint8_t i = 0; info != NULL && i < info->reductions; i++)
        if (reductions[i].kind != CHUNKED || reductions[i].accumulator != FIRN_FLOAT16)
            return none;
    switch (op) {
    case FIRN_OP_attention:
        return (firn_kernel_choice){firn_vector_attention, firn_vector_attention_scratch};
    case FIRN_OP_attention_backward:
        return (firn_kernel_choice){firn_vector_attention_backward, firn_vector_attention_backward_scratch};
    case FIRN_OP_cross_attention:
        return (firn_kernel_choice){firn_vector_cross_attention, firn_vector_cross_attention_scratch};
    case FIRN_OP_cross_attention_backward:
        return (firn_kernel_choice){firn_vector_cross_attention_backward, firn_vector_cross_attention_backward_scratch};
    default:
        return none;
    }
}

firn_kernel_choice firn_kernel_find_native(uint16_t op, const firn_reduction *reduction) {
    static const firn_kernel_rows table = {rows, sizeof rows / sizeof rows[0], firn_kernel_find_vector};
    const firn_kernel_choice attention = find_attention(op, reduction);
    return attention.run != NULL ? attention : firn_rows_find(&table, op, reduction);
}
