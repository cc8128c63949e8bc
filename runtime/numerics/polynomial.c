/* Horner's rule as a loop, for builds for size: plan/NUMERICS.md, "Elementary functions". The coefficients are in
 * elementary.h; none may be written here. Freestanding. */
#include "runtime/numerics/elementary.h"

float firn_polynomial(const float *coefficients, uint32_t count, float x) {
    float value = coefficients[0];
    for (uint32_t i = 1; i < count; i++)
        value = firn_fma(value, x, coefficients[i]);
    return value;
}
