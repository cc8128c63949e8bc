/* Converts runs of elements of any real type to float32 and back: plan/NUMERICS.md, "Half types". A kernel set may
 * replace this file by one that gives the same bits. Freestanding. */
#include "plan/ops.h"
#include "runtime/numerics/half_parts.h"
#include "runtime/numerics/numerics.h"

void firn_widen(float *out, const void *data, uint8_t type, size_t from, size_t count) {
    const uint16_t *halves = data;
    const float *floats = data;
    if (firn_type_is_half(type)) {
        firn_half_parts[type - FIRN_FLOAT16]->widen(out, halves + from, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = firn_canonical(floats[from + i]);
}

void firn_narrow(void *data, uint8_t type, size_t from, const float *in, size_t count) {
    uint16_t *halves = data;
    float *floats = data;
    if (firn_type_is_half(type)) {
        firn_half_parts[type - FIRN_FLOAT16]->narrow(halves + from, in, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        floats[from + i] = firn_canonical(in[i]);
}
