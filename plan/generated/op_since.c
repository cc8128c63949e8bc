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
    {.code = 200, .kind = ROW, .position = 0, .since = 1}, /* reshape  */
    {.code = 201, .kind = ROW, .position = 0, .since = 1}, /* transpose  */
    {.code = 202, .kind = ROW, .position = 0, .since = 1}, /* slice  */
    {.code = 203, .kind = ROW, .position = 0, .since = 1}, /* slice_backward  */
    {.code = 204, .kind = ROW, .position = 0, .since = 1}, /* pad  */
    {.code = 205, .kind = ROW, .position = 0, .since = 1}, /* expand  */
    {.code = 206, .kind = ROW, .position = 0, .since = 1}, /* expand_backward  */
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
    {.code = 149, .kind = ROW, .position = 0, .since = 1}, /* softmax  */
    {.code = 160, .kind = ROW, .position = 0, .since = 1}, /* conv  */
    {.code = 161, .kind = ROW, .position = 0, .since = 1}, /* conv_backward_input  */
    {.code = 162, .kind = ROW, .position = 0, .since = 1}, /* conv_backward_weight  */
    {.code = 163, .kind = ROW, .position = 0, .since = 1}, /* max_pool  */
    {.code = 164, .kind = ROW, .position = 0, .since = 1}, /* max_pool_backward  */
    {.code = 165, .kind = ROW, .position = 0, .since = 1}, /* average_pool  */
    {.code = 166, .kind = ROW, .position = 0, .since = 1}, /* average_pool_backward  */
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
