/* Elementary functions by name: plan/NUMERICS.md, "Elementary functions". Freestanding; the sequences are in
 * elementary.h and nowhere else. */
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
