/* Tests every op, forward and gradient, against values that PyTorch computed in float64, and the half types bit by bit
 * against an independent model of NUMERICS.md. */
#define _POSIX_C_SOURCE 200809L /* setenv */

#include <stdlib.h>

#include "tests/unit/golden.h"
#include "tests/unit/support_kernels.h"
#include "tests/unit/support_test.h"

TEST(agrees_with_pytorch) {
    int cases = 0;
    assert_int_equal(golden_run("tests/golden/ops_torch.golden", &cases), 0);
    assert_int_equal(cases, 1156);
}

TEST(equals_the_model) {
    int cases = 0;
    assert_int_equal(golden_run("tests/golden/ops_half.golden", &cases), 0);
    assert_int_equal(cases, 4609);
}

/* The inputs of the bfloat16 cases are exact in float32; without the intermediate roundings the results must differ. */
TEST(bfloat16_is_not_float32) {
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
        "bfloat16_rms_norm_affine_bfloat16_2x65",
        "bfloat16_rms_norm_dx_affine_bfloat16_2x65",
        "bfloat16_rotary_float32_1",
        "bfloat16_rotary_dx_float32_1",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!golden_differs_in_float32("tests/golden/ops_half.golden", cases[i]))
            fail_msg("%s is the same in float32, or is nothing like it", cases[i]);
    }
}

/* The same with every kernel set that this CPU can run. Runs last, because it changes the environment. */
TEST(every_kernel_set_agrees) {
    static const char *const names[] = {"plain", "fma", "avx2", "avx512", "neon"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int cases = 0;
        if (support_set(names[i]) == NULL)
            continue;
        assert_int_equal(setenv("FIRN_KERNELS", names[i], 1), 0);
        const int wrong =
            golden_run("tests/golden/ops_torch.golden", &cases) + golden_run("tests/golden/ops_half.golden", &cases);
        assert_int_equal(unsetenv("FIRN_KERNELS"), 0);
        if (wrong != 0)
            fail_msg("%s: %d of %d cases", names[i], wrong, cases);
    }
}
