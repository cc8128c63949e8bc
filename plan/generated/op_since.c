/* The versions in which ops, operands and attributes came, for the compiler.
 * Written by plan/generate from plan/ops.def; change that file instead. */
/* clang-format off */
#include "plan/op_since.h"

enum { ROW, INPUT, OUTPUT, INTEGER, REAL };

static const struct {
    uint16_t code; /* 0: the end of the list */
    uint8_t kind, position;
    uint32_t since;
} versions[] = {
    {.code = 148, .kind = ROW, .position = 0, .since = 1}, /* linear_backward_weight_rows  */
    {.code = 150, .kind = ROW, .position = 0, .since = 1}, /* rms_norm  */
    {.code = 151, .kind = ROW, .position = 0, .since = 1}, /* rms_norm_backward  */
    {.code = 152, .kind = ROW, .position = 0, .since = 1}, /* rms_norm_backward_gain  */
    {.code = 149, .kind = ROW, .position = 0, .since = 1}, /* softmax  */
    {.code = 225, .kind = ROW, .position = 0, .since = 1}, /* softmax_backward  */
    {.code = 220, .kind = ROW, .position = 0, .since = 1}, /* reduce_sum  */
    {.code = 221, .kind = ROW, .position = 0, .since = 1}, /* reduce_sum_backward  */
    {.code = 222, .kind = ROW, .position = 0, .since = 1}, /* reduce_max  */
    {.code = 223, .kind = ROW, .position = 0, .since = 1}, /* reduce_max_backward  */
    {.code = 224, .kind = ROW, .position = 0, .since = 1}, /* arg_max  */
    {.code = 226, .kind = ROW, .position = 0, .since = 1}, /* matmul  */
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
