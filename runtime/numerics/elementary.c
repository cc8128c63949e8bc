/* The elementary functions as ordinary functions: plan/NUMERICS.md, "Elementary functions". Freestanding. The sequences
 * of operations are in elementary.h; none may be written here. */
#include "runtime/numerics/elementary.h"

float firn_exp(float x) {
    return firn_exp_inline(x);
}

float firn_log(float x) {
    return firn_log_inline(x);
}

float firn_tanh(float x) {
    return firn_tanh_inline(x);
}

float firn_erf(float x) {
    return firn_erf_inline(x);
}

float firn_sin_turns(float turns) {
    return firn_sin_quarters(turns, 0);
}

float firn_cos_turns(float turns) {
    return firn_sin_quarters(turns, 1);
}

float firn_gelu(float x) {
    return firn_gelu_inline(x);
}

float firn_gelu_slope(float x) {
    return firn_gelu_slope_inline(x);
}

float firn_gelu_tanh(float x) {
    return firn_gelu_tanh_inline(x);
}

float firn_gelu_tanh_slope(float x) {
    return firn_gelu_tanh_slope_inline(x);
}

float firn_sin(float x) {
    return firn_sin_inline(x);
}

float firn_cos(float x) {
    return firn_cos_inline(x);
}

float firn_atan(float x) {
    return firn_atan_inline(x);
}

float firn_rsqrt(float x) {
    return firn_rsqrt_inline(x);
}

float firn_sigmoid(float x) {
    return firn_sigmoid_inline(x);
}

float firn_silu(float x) {
    return firn_silu_inline(x);
}

float firn_silu_slope(float x) {
    return firn_silu_slope_inline(x);
}

float firn_softplus(float x) {
    return firn_softplus_inline(x);
}

float firn_log_one_plus(float x) {
    return firn_log_one_plus_inline(x);
}
