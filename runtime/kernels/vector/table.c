/* The table of the kernels in this folder. They replace portable kernels compiled for the same CPU and give the same
 * bits. */
#include "runtime/kernels/vector/attention/attention.h"
#include "runtime/kernels/vector/chunked/conv.h"
#include "runtime/kernels/vector/chunked/product.h"
#include "runtime/kernels/vector/elementwise.h"
#include "runtime/kernels/vector/images/conv.h"
#include "runtime/kernels/vector/images/pool.h"
#include "runtime/kernels/vector/losses.h"
#include "runtime/kernels/vector/norms/norms.h"
#include "runtime/kernels/vector/product.h"
#include "runtime/kernels/vector/recurrent.h"
#include "runtime/kernels/vector/rows.h"
#include "runtime/kernels/vector/samples/samples.h"
#include "runtime/kernels/vector/token/attention.h"

enum { ANY = FIRN_ANY, F32 = FIRN_REDUCTION_F32, CHUNKED = FIRN_REDUCTION_CHUNKED, FLUSHED = FIRN_FLUSHED };

static const firn_kernel_row rows[] = {
    {FIRN_OP_linear, F32, ANY, {firn_vector_linear, firn_vector_linear_scratch}},
    {FIRN_OP_linear_backward_input, F32, ANY, {firn_vector_linear_backward_input, firn_vector_linear_scratch}},
    {FIRN_OP_linear_backward_weight, F32, ANY, {firn_vector_linear_backward_weight, firn_vector_linear_scratch}},
    {FIRN_OP_linear_backward_weight_rows,
     F32,
     ANY,
     {firn_vector_linear_backward_weight_rows, firn_vector_linear_scratch}},
    {FIRN_KERNEL_ADD_WEIGHT, F32, ANY, {firn_vector_add_weight, firn_vector_linear_scratch}},
    {FIRN_KERNEL_ADD_WEIGHT, CHUNKED, ANY, {firn_chunked_add_weight, firn_chunked_scratch}},
    {FIRN_KERNEL_ADD_WEIGHT, FLUSHED, ANY, {firn_vector_add_weight, firn_vector_linear_scratch}},
    {FIRN_OP_linear, CHUNKED, ANY, {firn_chunked_linear, firn_chunked_scratch}},
    {FIRN_OP_linear_backward_input, CHUNKED, ANY, {firn_chunked_linear_backward_input, firn_chunked_scratch}},
    {FIRN_OP_linear_backward_weight, CHUNKED, ANY, {firn_chunked_linear_backward_weight, firn_chunked_scratch}},
    {FIRN_OP_linear_backward_weight_rows,
     CHUNKED,
     ANY,
     {firn_chunked_linear_backward_weight_rows, firn_chunked_scratch}},
    {FIRN_OP_conv, F32, ANY, {firn_vector_conv, firn_vector_conv_scratch}},
    {FIRN_OP_conv_backward_input, F32, ANY, {firn_vector_conv_backward_input, firn_vector_conv_scratch}},
    {FIRN_OP_conv_backward_weight,
     F32,
     ANY,
     {firn_vector_conv_backward_weight, firn_vector_conv_backward_weight_scratch}},
    {FIRN_OP_conv, FLUSHED, ANY, {firn_vector_conv, firn_vector_conv_scratch}},
    {FIRN_OP_conv_backward_input, FLUSHED, ANY, {firn_vector_conv_backward_input, firn_vector_conv_scratch}},
    {FIRN_OP_conv_backward_weight,
     FLUSHED,
     ANY,
     {firn_vector_conv_backward_weight, firn_vector_conv_backward_weight_scratch}},
    {FIRN_OP_conv, CHUNKED, ANY, {firn_chunked_conv, firn_chunked_conv_scratch}},
    {FIRN_OP_conv_backward_input, CHUNKED, ANY, {firn_chunked_conv_backward_input, firn_chunked_conv_scratch}},
    {FIRN_OP_conv_backward_weight, CHUNKED, ANY, {firn_chunked_conv_backward_weight, firn_chunked_conv_weight_scratch}},
    {FIRN_OP_max_pool_backward, ANY, ANY, {firn_vector_max_pool_backward, firn_vector_max_pool_backward_scratch}},
    {FIRN_OP_matmul, F32, ANY, {firn_vector_matmul, firn_vector_matmul_scratch}},
    {FIRN_OP_matmul, CHUNKED, ANY, {firn_chunked_matmul, firn_chunked_scratch}},
    {FIRN_OP_linear, FLUSHED, ANY, {firn_vector_linear, firn_vector_linear_scratch}},
    {FIRN_OP_linear_backward_input, FLUSHED, ANY, {firn_vector_linear_backward_input, firn_vector_linear_scratch}},
    {FIRN_OP_linear_backward_weight, FLUSHED, ANY, {firn_vector_linear_backward_weight, firn_vector_linear_scratch}},
    {FIRN_OP_linear_backward_weight_rows,
     FLUSHED,
     ANY,
     {firn_vector_linear_backward_weight_rows, firn_vector_linear_scratch}},
    {FIRN_OP_matmul, FLUSHED, ANY, {firn_vector_matmul, firn_vector_matmul_scratch}},
    {FIRN_OP_attention, ANY, ANY, {firn_vector_attention, firn_vector_attention_scratch}},
    {FIRN_OP_attention_backward, ANY, ANY, {firn_vector_attention_backward, firn_vector_attention_backward_scratch}},
    {FIRN_OP_cross_attention, ANY, ANY, {firn_vector_cross_attention, firn_vector_cross_attention_scratch}},
    {FIRN_OP_cross_attention_backward,
     ANY,
     ANY,
     {firn_vector_cross_attention_backward, firn_vector_cross_attention_backward_scratch}},
    {FIRN_OP_cached_attention, ANY, ANY, {firn_vector_cached_attention, firn_vector_cached_attention_scratch}},
    {FIRN_OP_lstm, ANY, ANY, {firn_vector_lstm, firn_vector_recurrent_scratch}},
    {FIRN_OP_lstm_backward, ANY, ANY, {firn_vector_lstm_backward, firn_vector_recurrent_scratch}},
    {FIRN_OP_gru, ANY, ANY, {firn_vector_gru, firn_vector_recurrent_scratch}},
    {FIRN_OP_gru_backward, ANY, ANY, {firn_vector_gru_backward, firn_vector_recurrent_scratch}},
    {FIRN_OP_rnn, ANY, ANY, {firn_vector_rnn, firn_vector_recurrent_scratch}},
    {FIRN_OP_rnn_backward, ANY, ANY, {firn_vector_rnn_backward, firn_vector_recurrent_scratch}},
    {FIRN_OP_recurrent_backward_weight,
     ANY,
     ANY,
     {firn_vector_recurrent_backward_weight, firn_vector_recurrent_weight_scratch}},
    {FIRN_OP_gelu, ANY, ANY, {firn_vector_gelu, NULL}},
    {FIRN_OP_gelu_backward, ANY, ANY, {firn_vector_gelu_backward, NULL}},
    {FIRN_OP_tanh, ANY, ANY, {firn_vector_tanh, NULL}},
    {FIRN_OP_relu, ANY, ANY, {firn_vector_relu, NULL}},
    {FIRN_OP_relu_backward, ANY, ANY, {firn_vector_relu_backward, NULL}},
    {FIRN_OP_add, ANY, ANY, {firn_vector_add_elements, NULL}},
    {FIRN_OP_cast, ANY, ANY, {firn_vector_cast, NULL}},
    {FIRN_OP_layer_norm, ANY, ANY, {firn_vector_layer_norm, firn_vector_layer_norm_scratch}},
    {FIRN_OP_layer_norm_backward, ANY, ANY, {firn_vector_layer_norm_backward, firn_vector_layer_norm_scratch}},
    {FIRN_OP_layer_norm_backward_affine, ANY, ANY, {firn_vector_layer_norm_backward_affine, NULL}},
    {FIRN_OP_batch_norm, ANY, ANY, {firn_vector_batch_norm, NULL}},
    {FIRN_OP_batch_norm_backward, ANY, ANY, {firn_vector_batch_norm_backward, NULL}},
    {FIRN_OP_sum_leading, ANY, ANY, {firn_vector_sum_leading, NULL}},
    {FIRN_OP_cross_entropy, ANY, ANY, {firn_vector_cross_entropy, NULL}},
    {FIRN_OP_linear_cross_entropy,
     ANY,
     ANY,
     {firn_vector_linear_cross_entropy, firn_vector_linear_cross_entropy_scratch}},
    {FIRN_OP_cross_entropy_backward, ANY, ANY, {firn_vector_cross_entropy_backward, NULL}},
    {FIRN_KERNEL_SCALE, ANY, ANY, {firn_vector_scale_bytes, NULL}},
    {FIRN_KERNEL_PERMUTE, ANY, ANY, {firn_vector_permute_numbers, NULL}},
};

firn_kernel_choice firn_kernel_find_vector(uint16_t op, const firn_reduction *reduction);

firn_kernel_choice firn_kernel_find_vector(uint16_t op, const firn_reduction *reduction) {
    static const firn_kernel_rows table = {rows, sizeof rows / sizeof rows[0], firn_kernel_find};
    return firn_rows_find(&table, op, reduction);
}
