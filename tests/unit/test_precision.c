/* Tests MixedPrecision as a C program sets it: defaults, every check, and that completing the keys gives the same
 * result as a recipe with the same keys (recipes are tested in tests/unit/test_recipe.c). */
#include <math.h>
#include <string.h>

#include "compiler/job/precision.h"
#include "plan/generated/reader.h"
#include "tests/unit/support_test.h"

static firnc_precision completed(firnc_mixed_precision keys) {
    firnc_precision precision;
    firnc_precision_fault fault;
    assert_true(firnc_mixed_precision_complete(&keys, &precision, &fault));
    return precision;
}

static void assert_refused(firnc_mixed_precision keys, const char *key) {
    firnc_precision precision;
    firnc_precision_fault fault = {0};
    assert_false(firnc_mixed_precision_complete(&keys, &precision, &fault));
    assert_string_equal(fault.key, key);
    assert_true(strlen(fault.reason) > 0);
}

TEST(has_the_defaults_of_the_reference) {
    const firnc_precision p = completed(firnc_mixed_precision_defaults());
    assert_true(p.mixed);
    assert_int_equal(p.half, FIRN_BFLOAT16);
    assert_int_equal(p.level, 1);
    assert_int_equal(p.scaling, FIRNC_SCALING_NONE);
    assert_int_equal(p.clipping, FIRN_FB_CLIPPING_NONE);
    assert_int_equal(p.steps_per_increase, 2000);
    assert_true(p.min_loss_scale == 0x1p-14f && p.max_loss_scale == 0x1p15f && p.overflow_tolerance == 0);
    assert_int_equal(p.gradient_type, FIRN_BFLOAT16);
    assert_false(p.emulate);
}

TEST(scales_by_type_when_dynamic) {
    firnc_mixed_precision keys = firnc_mixed_precision_defaults();
    keys.loss_scaling_factor = FIRNC_DYNAMIC;
    keys.fp16_type = FIRN_FLOAT16;
    assert_true(completed(keys).initial_loss_scale == 0x1p15f);
    keys.fp16_type = FIRN_CBFLOAT16;
    assert_true(completed(keys).initial_loss_scale == 0x1p31f);
    assert_true(completed(keys).max_loss_scale == 0x1p31f);
    keys.max_loss_scale = 64; /* lowers the default initial scale; the two have independent defaults */
    assert_true(completed(keys).initial_loss_scale == 64);
    assert_null(firnc_mixed_precision_warning(&(firnc_precision){.mixed = true, .half = FIRN_FLOAT16}));
    keys.loss_scaling_factor = 1;
    const firnc_precision still = completed(keys);
    assert_non_null(firnc_mixed_precision_warning(&still));
}

TEST(float32_has_no_scaling) {
    firnc_mixed_precision keys = firnc_mixed_precision_defaults();
    keys.enabled = false;
    keys.loss_scaling_factor = FIRNC_DYNAMIC;
    keys.max_gradient_norm = 2;
    const firnc_precision p = completed(keys);
    assert_int_equal(p.scaling, FIRNC_SCALING_NONE);
    assert_int_equal(p.clipping, FIRN_FB_CLIPPING_NORM);
    assert_int_equal(p.gradient_type, FIRN_FLOAT32);
    assert_null(firnc_mixed_precision_warning(&p));
}

TEST(every_key_is_checked) {
    const firnc_mixed_precision usual = firnc_mixed_precision_defaults();
    firnc_mixed_precision keys;
#define REFUSE(name, value)                                                                                            \
    keys = usual;                                                                                                      \
    keys.loss_scaling_factor = FIRNC_DYNAMIC;                                                                          \
    keys.name = value;                                                                                                 \
    assert_refused(keys, #name)
    REFUSE(fp16_type, FIRN_FLOAT32);
    REFUSE(precision_opt_level, 3);
    REFUSE(precision_opt_level, -2);
    REFUSE(loss_scaling_factor, -1.0f);
    REFUSE(loss_scaling_factor, 0x1p-128f);
    REFUSE(loss_scaling_factor, NAN);
    REFUSE(loss_scaling_factor, INFINITY);
    REFUSE(initial_loss_scale, -1.0f);
    REFUSE(initial_loss_scale, 0x1p-15f);
    REFUSE(steps_per_increase, 0);
    REFUSE(min_loss_scale, 0x1p-15f);
    REFUSE(min_loss_scale, 0x1p16f);
    REFUSE(max_loss_scale, 0x1p-15f);
    REFUSE(overflow_tolerance, -0.1f);
    REFUSE(overflow_tolerance, 1.1f);
    REFUSE(overflow_tolerance, NAN);
    REFUSE(max_gradient_norm, -1.0f);
    REFUSE(max_gradient_value, NAN);
#undef REFUSE
    keys = usual;
    keys.loss_scaling_factor =
        (float)FIRNC_LEAST_STATIC_SCALE; /* the smallest float whose reciprocal is finite, or just above it */
    assert_true(isfinite(1 / keys.loss_scaling_factor));
    assert_true(firnc_mixed_precision_complete(&keys, &(firnc_precision){0}, &(firnc_precision_fault){0}));
    keys = usual;
    keys.max_gradient_norm = keys.max_gradient_value = 1;
    assert_refused(keys, "max_gradient_value");
}
