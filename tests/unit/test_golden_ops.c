/* Tests every op, forward and gradient, against values that PyTorch computed in float64, and the half types bit by bit
 * against an independent model of NUMERICS.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/golden.h"

static void agrees_with_pytorch(void **state) {
    (void)state;
    int cases = 0;
    assert_int_equal(golden_run("tests/golden/ops_torch.golden", &cases), 0);
    assert_int_equal(cases, 328);
}

static void equals_the_model(void **state) {
    (void)state;
    int cases = 0;
    assert_int_equal(golden_run("tests/golden/ops_half.golden", &cases), 0);
    assert_int_equal(cases, 1382);
}

/* The inputs of the bfloat16 cases are exact in float32; without the intermediate roundings the results must differ. */
static void bfloat16_is_not_float32(void **state) {
    (void)state;
    static const char *const cases[] = {
        "bfloat16_add_broadcast",
        "bfloat16_attention_full_softmax0_f32_1",
        "bfloat16_attention_dqkv_full_softmax0_f32_1",
        "bfloat16_embedding",
        "bfloat16_layer_norm_affine_bfloat16_2x65",
        "bfloat16_layer_norm_dx_affine_bfloat16_2x65",
        "bfloat16_linear_chunk128_layout1",
        "bfloat16_linear_chunk64_layout0",
        "bfloat16_linear_f32_layout0",
        "bfloat16_linear_dw_chunk128_layout1",
        "bfloat16_linear_dw_chunk64_layout0",
        "bfloat16_linear_dw_f32_layout0",
        "bfloat16_linear_dx_chunk128_layout1",
        "bfloat16_linear_dx_chunk64_layout0",
        "bfloat16_linear_dx_f32_layout0",
        "bfloat16_rotary_float32_1",
        "bfloat16_rotary_dx_float32_1",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!golden_differs_in_float32("tests/golden/ops_half.golden", cases[i]))
            fail_msg("%s is the same in float32, or is nothing like it", cases[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_pytorch), cmocka_unit_test(equals_the_model),
                                       cmocka_unit_test(bfloat16_is_not_float32)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
