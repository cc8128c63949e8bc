/* The versions in which ops, operands and attributes came, for the compiler.
 * Written by plan/generate from plan/ops.def; change that file instead. */
/* clang-format off */
#include "plan/needs.h"

enum { ROW, INPUT, OUTPUT, INTEGER, REAL };

static const struct {
    uint16_t code; /* 0: the end of the list */
    uint8_t kind, position;
    uint32_t since;
} versions[] = {
    {.code = 148, .kind = ROW, .position = 0, .since = 1}, /* linear_backward_weight_rows  */
    {.code = 8, .kind = INPUT, .position = 1, .since = 3}, /* leading_rows length */
    {.code = 200, .kind = ROW, .position = 0, .since = 1}, /* reshape  */
    {.code = 201, .kind = ROW, .position = 0, .since = 1}, /* transpose  */
    {.code = 202, .kind = ROW, .position = 0, .since = 1}, /* slice  */
    {.code = 203, .kind = ROW, .position = 0, .since = 1}, /* slice_backward  */
    {.code = 204, .kind = ROW, .position = 0, .since = 1}, /* pad  */
    {.code = 205, .kind = ROW, .position = 0, .since = 1}, /* expand  */
    {.code = 207, .kind = ROW, .position = 0, .since = 1}, /* gather  */
    {.code = 208, .kind = ROW, .position = 0, .since = 1}, /* gather_backward  */
    {.code = 209, .kind = ROW, .position = 0, .since = 1}, /* gather_elements  */
    {.code = 210, .kind = ROW, .position = 0, .since = 1}, /* gather_elements_backward  */
    {.code = 211, .kind = ROW, .position = 0, .since = 1}, /* scatter_nd  */
    {.code = 212, .kind = ROW, .position = 0, .since = 1}, /* scatter_nd_backward  */
    {.code = 213, .kind = ROW, .position = 0, .since = 1}, /* scatter_nd_backward_updates  */
    {.code = 214, .kind = ROW, .position = 0, .since = 1}, /* cumulative_sum  */
    {.code = 215, .kind = ROW, .position = 0, .since = 1}, /* concat_int32  */
    {.code = 150, .kind = ROW, .position = 0, .since = 1}, /* rms_norm  */
    {.code = 151, .kind = ROW, .position = 0, .since = 1}, /* rms_norm_backward  */
    {.code = 152, .kind = ROW, .position = 0, .since = 1}, /* rms_norm_backward_gain  */
    {.code = 246, .kind = ROW, .position = 0, .since = 1}, /* batch_norm  */
    {.code = 247, .kind = ROW, .position = 0, .since = 1}, /* batch_norm_backward  */
    {.code = 248, .kind = ROW, .position = 0, .since = 1}, /* batch_norm_fixed  */
    {.code = 249, .kind = ROW, .position = 0, .since = 1}, /* batch_norm_fixed_backward  */
    {.code = 250, .kind = ROW, .position = 0, .since = 1}, /* running_statistics  */
    {.code = 251, .kind = ROW, .position = 0, .since = 1}, /* store_statistics  */
    {.code = 149, .kind = ROW, .position = 0, .since = 1}, /* softmax  */
    {.code = 225, .kind = ROW, .position = 0, .since = 1}, /* softmax_backward  */
    {.code = 220, .kind = ROW, .position = 0, .since = 1}, /* reduce_sum  */
    {.code = 221, .kind = ROW, .position = 0, .since = 1}, /* reduce_sum_backward  */
    {.code = 222, .kind = ROW, .position = 0, .since = 1}, /* reduce_max  */
    {.code = 223, .kind = ROW, .position = 0, .since = 1}, /* reduce_max_backward  */
    {.code = 224, .kind = ROW, .position = 0, .since = 1}, /* arg_max  */
    {.code = 270, .kind = ROW, .position = 0, .since = 2}, /* top_k  */
    {.code = 226, .kind = ROW, .position = 0, .since = 1}, /* matmul  */
    {.code = 168, .kind = ROW, .position = 0, .since = 1}, /* broadcast_add  */
    {.code = 169, .kind = ROW, .position = 0, .since = 1}, /* broadcast_multiply  */
    {.code = 170, .kind = ROW, .position = 0, .since = 1}, /* subtract  */
    {.code = 171, .kind = ROW, .position = 0, .since = 1}, /* divide  */
    {.code = 172, .kind = ROW, .position = 0, .since = 1}, /* minimum  */
    {.code = 173, .kind = ROW, .position = 0, .since = 1}, /* maximum  */
    {.code = 174, .kind = ROW, .position = 0, .since = 1}, /* select  */
    {.code = 175, .kind = ROW, .position = 0, .since = 1}, /* less  */
    {.code = 176, .kind = ROW, .position = 0, .since = 1}, /* less_or_equal  */
    {.code = 177, .kind = ROW, .position = 0, .since = 1}, /* equal  */
    {.code = 178, .kind = ROW, .position = 0, .since = 1}, /* larger_share  */
    {.code = 179, .kind = ROW, .position = 0, .since = 1}, /* sum_to  */
    {.code = 180, .kind = ROW, .position = 0, .since = 1}, /* exp  */
    {.code = 181, .kind = ROW, .position = 0, .since = 1}, /* log  */
    {.code = 182, .kind = ROW, .position = 0, .since = 1}, /* sqrt  */
    {.code = 183, .kind = ROW, .position = 0, .since = 1}, /* reciprocal  */
    {.code = 184, .kind = ROW, .position = 0, .since = 1}, /* erf  */
    {.code = 185, .kind = ROW, .position = 0, .since = 1}, /* erf_backward  */
    {.code = 186, .kind = ROW, .position = 0, .since = 1}, /* abs  */
    {.code = 187, .kind = ROW, .position = 0, .since = 1}, /* clip  */
    {.code = 188, .kind = ROW, .position = 0, .since = 1}, /* clip_backward  */
    {.code = 189, .kind = ROW, .position = 0, .since = 1}, /* affine  */
    {.code = 190, .kind = ROW, .position = 0, .since = 1}, /* leaky_relu  */
    {.code = 191, .kind = ROW, .position = 0, .since = 1}, /* leaky_relu_backward  */
    {.code = 192, .kind = ROW, .position = 0, .since = 1}, /* elu  */
    {.code = 193, .kind = ROW, .position = 0, .since = 1}, /* elu_backward  */
    {.code = 194, .kind = ROW, .position = 0, .since = 1}, /* power  */
    {.code = 195, .kind = ROW, .position = 0, .since = 1}, /* power_backward  */
    {.code = 196, .kind = ROW, .position = 0, .since = 1}, /* to_int32  */
    {.code = 197, .kind = ROW, .position = 0, .since = 1}, /* to_float32  */
    {.code = 198, .kind = ROW, .position = 0, .since = 1}, /* sign  */
    {.code = 199, .kind = ROW, .position = 0, .since = 1}, /* floor  */
    {.code = 263, .kind = ROW, .position = 0, .since = 2}, /* sin  */
    {.code = 264, .kind = ROW, .position = 0, .since = 2}, /* cos  */
    {.code = 265, .kind = ROW, .position = 0, .since = 2}, /* atan  */
    {.code = 266, .kind = ROW, .position = 0, .since = 2}, /* log_one_plus  */
    {.code = 267, .kind = ROW, .position = 0, .since = 2}, /* round  */
    {.code = 268, .kind = ROW, .position = 0, .since = 2}, /* fake_quantize  */
    {.code = 269, .kind = ROW, .position = 0, .since = 2}, /* fake_quantize_backward  */
    {.code = 271, .kind = ROW, .position = 0, .since = 2}, /* random_uniform  */
    {.code = 272, .kind = ROW, .position = 0, .since = 2}, /* random_normal  */
    {.code = 160, .kind = ROW, .position = 0, .since = 1}, /* conv  */
    {.code = 161, .kind = ROW, .position = 0, .since = 1}, /* conv_backward_input  */
    {.code = 162, .kind = ROW, .position = 0, .since = 1}, /* conv_backward_weight  */
    {.code = 163, .kind = ROW, .position = 0, .since = 1}, /* max_pool  */
    {.code = 164, .kind = ROW, .position = 0, .since = 1}, /* max_pool_backward  */
    {.code = 165, .kind = ROW, .position = 0, .since = 1}, /* average_pool  */
    {.code = 166, .kind = ROW, .position = 0, .since = 1}, /* average_pool_backward  */
    {.code = 21, .kind = INPUT, .position = 1, .since = 1}, /* attention slopes */
    {.code = 22, .kind = INPUT, .position = 4, .since = 1}, /* attention_backward slopes */
    {.code = 227, .kind = ROW, .position = 0, .since = 1}, /* cross_attention  */
    {.code = 228, .kind = ROW, .position = 0, .since = 1}, /* cross_attention_backward  */
    {.code = 276, .kind = ROW, .position = 0, .since = 3}, /* cached_attention  */
    {.code = 277, .kind = ROW, .position = 0, .since = 3}, /* advance  */
    {.code = 144, .kind = INPUT, .position = 1, .since = 3}, /* rotary_embedding length */
    {.code = 236, .kind = ROW, .position = 0, .since = 1}, /* lstm  */
    {.code = 237, .kind = ROW, .position = 0, .since = 1}, /* lstm_backward  */
    {.code = 238, .kind = ROW, .position = 0, .since = 1}, /* gru  */
    {.code = 239, .kind = ROW, .position = 0, .since = 1}, /* gru_backward  */
    {.code = 240, .kind = ROW, .position = 0, .since = 1}, /* rnn  */
    {.code = 241, .kind = ROW, .position = 0, .since = 1}, /* rnn_backward  */
    {.code = 242, .kind = ROW, .position = 0, .since = 1}, /* recurrent_backward_weight  */
    {.code = 138, .kind = INPUT, .position = 3, .since = 2}, /* cross_entropy_weighted batch_divisor */
    {.code = 252, .kind = ROW, .position = 0, .since = 1}, /* linear_cross_entropy  */
    {.code = 252, .kind = INPUT, .position = 5, .since = 2}, /* linear_cross_entropy batch_divisor */
    {.code = 253, .kind = ROW, .position = 0, .since = 2}, /* batch_rows  */
    {.code = 254, .kind = ROW, .position = 0, .since = 2}, /* batch_weights  */
    {.code = 275, .kind = ROW, .position = 0, .since = 3}, /* sample_loss  */
    {.code = 278, .kind = ROW, .position = 0, .since = 3}, /* accumulate_tree  */
    {.code = 260, .kind = ROW, .position = 0, .since = 2}, /* largest_magnitude  */
    {.code = 261, .kind = ROW, .position = 0, .since = 2}, /* gradient_magnitude  */
    {.code = 262, .kind = ROW, .position = 0, .since = 2}, /* sum_of_scaled_squares  */
    {.code = 32, .kind = INPUT, .position = 1, .since = 2}, /* gradient_norm magnitude */
    {.code = 32, .kind = INPUT, .position = 2, .since = 2}, /* gradient_norm scale */
    {.code = 32, .kind = OUTPUT, .position = 2, .since = 2}, /* gradient_norm root */
    {.code = 44, .kind = INPUT, .position = 2, .since = 2}, /* gradient_factors root */
    {.code = 44, .kind = INPUT, .position = 3, .since = 2}, /* gradient_factors magnitude */
    {.code = 273, .kind = ROW, .position = 0, .since = 2}, /* scaled_unit_norm  */
    {.code = 42, .kind = INPUT, .position = 4, .since = 3}, /* metric_accuracy counted */
    {.code = 141, .kind = INPUT, .position = 5, .since = 3}, /* metric_weighted_accuracy counted */
    {.code = 142, .kind = INPUT, .position = 5, .since = 3}, /* metric_confusion counted */
    {.code = 143, .kind = INPUT, .position = 4, .since = 3}, /* metric_auc counted */
    {.code = 274, .kind = ROW, .position = 0, .since = 3}, /* metric_row_mean  */
    {.code = 0}, /* the end */
};

uint32_t firn_op_since(const firn_op_info *info, uint32_t inputs, uint32_t outputs, uint32_t integers,
                       uint32_t reals) {
    const uint32_t counts[] = {
        [ROW] = 1, [INPUT] = inputs, [OUTPUT] = outputs, [INTEGER] = integers, [REAL] = reals};
    uint32_t newest = 0;
    for (uint32_t i = 0; versions[i].code != 0; i++) {
        if (versions[i].code == info->code && versions[i].position < counts[versions[i].kind] &&
            versions[i].since > newest)
            newest = versions[i].since;
    }
    return newest;
}
