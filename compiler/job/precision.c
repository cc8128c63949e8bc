/* Defaults and checks of MixedPrecision (compiler/job/precision.h). This file must not depend on YAML. */
#include "compiler/job/precision.h"

#include <math.h>

#include "compiler/base/text.h"
#include "plan/generated/reader.h"

firnc_mixed_precision firnc_mixed_precision_defaults(void) {
    return (firnc_mixed_precision){.enabled = true,
                                   .fp16_type = FIRN_BFLOAT16,
                                   .precision_opt_level = FIRNC_UNSET,
                                   .loss_scaling_factor = 1,
                                   .steps_per_increase = 2000};
}

static bool fail(firnc_precision_fault *fault, const char *key, const char *reason) {
    *fault = (firnc_precision_fault){.key = key, .reason = reason};
    return false;
}

/* --- checks of single keys ---------------------------------------------------------------------------------------- */

/* 0 means that the key is absent; for loss_scaling_factor it is FIRNC_DYNAMIC. */
static bool is_positive_or_out(float x) {
    return x == 0 || (x > 0 && isfinite(x));
}

static bool is_scale_or_out(float x) {
    return x == 0 || (x >= FIRNC_LEAST_LOSS_SCALE && isfinite(x));
}

/* Gradients are multiplied by the factor's reciprocal, which must be finite. */
static bool is_factor_or_dynamic(float x) {
    return x == FIRNC_DYNAMIC || (x >= (float)FIRNC_LEAST_STATIC_SCALE && isfinite(x));
}

static bool check_keys(const firnc_mixed_precision *keys, firnc_precision_fault *fault) {
    if (!firn_type_is_half((uint8_t)keys->fp16_type))
        return fail(fault, "fp16_type", "is no half type; choose float16, bfloat16 or cbfloat16");
    if (keys->precision_opt_level < FIRNC_UNSET || keys->precision_opt_level > 2)
        return fail(fault, "precision_opt_level", "is none of 0, 1, 2");
    if (!is_factor_or_dynamic(keys->loss_scaling_factor))
        return fail(fault, "loss_scaling_factor", "is neither a number of at least 2.93874e-39 nor dynamic");
    if (!is_positive_or_out(keys->initial_loss_scale))
        return fail(fault, "initial_loss_scale", "is not a finite number above 0");
    if (keys->steps_per_increase == 0)
        return fail(fault, "steps_per_increase", "is 0; the scale grows after at least 1 step");
    if (!is_scale_or_out(keys->min_loss_scale))
        return fail(fault, "min_loss_scale", "is not a finite number of at least 2^-14");
    if (!is_scale_or_out(keys->max_loss_scale))
        return fail(fault, "max_loss_scale", "is not a finite number of at least 2^-14");
    if (!(keys->overflow_tolerance >= 0 && keys->overflow_tolerance <= 1))
        return fail(fault, "overflow_tolerance", "is not a share from 0 to 1");
    if (!is_positive_or_out(keys->max_gradient_norm))
        return fail(fault, "max_gradient_norm", "is not a finite number above 0");
    if (!is_positive_or_out(keys->max_gradient_value))
        return fail(fault, "max_gradient_value", "is not a finite number above 0");
    if (keys->max_gradient_norm != 0 && keys->max_gradient_value != 0)
        return fail(fault, "max_gradient_value",
                    "max_gradient_norm and max_gradient_value exclude each other; remove one of them");
    return true;
}

/* --- what they mean together -------------------------------------------------------------------------------------- */

static bool complete_scaling(const firnc_mixed_precision *keys, firnc_precision *precision,
                             firnc_precision_fault *fault) {
    const float usual = precision->half == FIRN_CBFLOAT16 ? 0x1p31F : 0x1p15F;
    precision->steps_per_increase = keys->steps_per_increase;
    precision->overflow_tolerance = keys->overflow_tolerance;
    precision->min_loss_scale = keys->min_loss_scale != 0 ? keys->min_loss_scale : FIRNC_LEAST_LOSS_SCALE;
    precision->max_loss_scale = keys->max_loss_scale != 0 ? keys->max_loss_scale : usual;
    if (!(precision->min_loss_scale <= precision->max_loss_scale))
        return fail(fault, keys->min_loss_scale != 0 ? "min_loss_scale" : "max_loss_scale",
                    firnc_format("min_loss_scale %.9g is above max_loss_scale %.9g; change one of them",
                                 (double)precision->min_loss_scale, (double)precision->max_loss_scale));
    if (keys->loss_scaling_factor != FIRNC_DYNAMIC) {
        precision->scaling = keys->loss_scaling_factor == 1 ? FIRNC_SCALING_NONE : FIRNC_SCALING_STATIC;
        precision->initial_loss_scale = keys->loss_scaling_factor;
        return true;
    }
    precision->scaling = FIRNC_SCALING_DYNAMIC;
    const float initial = keys->initial_loss_scale != 0 ? keys->initial_loss_scale : usual;
    if (initial < precision->min_loss_scale) /* the reference does not raise it either */
        return fail(fault, keys->initial_loss_scale != 0 ? "initial_loss_scale" : "min_loss_scale",
                    firnc_format("initial_loss_scale %.9g is below min_loss_scale %.9g; change one of them",
                                 (double)initial, (double)precision->min_loss_scale));
    precision->initial_loss_scale = initial < precision->max_loss_scale ? initial : precision->max_loss_scale;
    return true;
}

static void complete_clipping(const firnc_mixed_precision *keys, firnc_precision *precision) {
    precision->clipping = keys->max_gradient_norm != 0    ? FIRN_FB_CLIPPING_NORM
                          : keys->max_gradient_value != 0 ? FIRN_FB_CLIPPING_VALUE
                                                          : FIRN_FB_CLIPPING_NONE;
    precision->clip_threshold = keys->max_gradient_norm != 0 ? keys->max_gradient_norm : keys->max_gradient_value;
}

bool firnc_mixed_precision_complete(const firnc_mixed_precision *keys, firnc_precision *precision,
                                    firnc_precision_fault *fault) {
    *precision = (firnc_precision){.mixed = keys->enabled,
                                   .half = keys->fp16_type,
                                   .level = keys->precision_opt_level == FIRNC_UNSET ? 1 : keys->precision_opt_level,
                                   .emulate = keys->emulate};
    precision->gradient_type = keys->enabled && !keys->float32_gradients ? keys->fp16_type : FIRN_FLOAT32;
    if (!check_keys(keys, fault) || !complete_scaling(keys, precision, fault))
        return false;
    complete_clipping(keys, precision);
    if (!precision->mixed) {
        precision->scaling = FIRNC_SCALING_NONE; /* float32 has enough range without scaling */
        precision->initial_loss_scale = 1;
    }
    return true;
}

const char *firnc_mixed_precision_warning(const firnc_precision *precision) {
    if (!precision->mixed || precision->half != FIRN_CBFLOAT16 || precision->scaling == FIRNC_SCALING_DYNAMIC)
        return NULL;
    return "cbfloat16 without dynamic loss scaling may lose small gradients; the model zoo refuses it; "
           "loss_scaling_factor: dynamic is safer";
}
