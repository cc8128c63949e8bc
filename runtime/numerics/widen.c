/* Converts runs of elements of any real type to float32 and back: plan/NUMERICS.md, "Half types". A kernel set may
 * replace this file by one that gives the same bits. Freestanding. */
#include "runtime/numerics/half_parts.h"
#include "runtime/numerics/half_scalar.h"

/* Most numbers are no NaN, so they are only copied; `watch` says whether they must be looked at one by one. */
static void copy_floats(float *restrict out, const float *restrict in, size_t count) {
    firn_nan_watch watch = 0;
    size_t i = 0;
    for (; FIRN_WRITTEN_OUT && i + 4 <= count; i += 4) {
        const float a = in[i], b = in[i + 1], c = in[i + 2], d = in[i + 3];
        watch = firn_watch_four(watch, a, b, c, d);
        out[i] = a, out[i + 1] = b, out[i + 2] = c, out[i + 3] = d;
    }
    for (; i < count; i++) {
        watch = firn_watch(watch, in[i]);
        out[i] = in[i];
    }
    if (firn_may_have_nan(watch))
        firn_canonical_many(out, count);
}

void firn_widen(float *out, const void *data, uint8_t type, size_t from, size_t count) {
    if (firn_has_half_part(type))
        firn_half_parts[type - FIRN_FLOAT16]->widen(out, (const uint16_t *)data + from, count);
    else
        copy_floats(out, (const float *)data + from, count);
}

void firn_narrow(void *data, uint8_t type, size_t from, const float *in, size_t count) {
    if (firn_has_half_part(type))
        firn_half_parts[type - FIRN_FLOAT16]->narrow((uint16_t *)data + from, in, count);
    else
        copy_floats((float *)data + from, in, count);
}
