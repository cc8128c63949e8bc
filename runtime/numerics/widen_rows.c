/* Widens rows of a matrix for a product: plan/NUMERICS.md, "Half types". Unlike firn_widen it leaves a NaN as it is,
 * because what a product makes of it becomes canonical when it is stored. Freestanding. */
#include "runtime/numerics/half_parts.h"
#include "runtime/numerics/numerics.h"

void firn_widen_rows(float *out, size_t out_step, const void *data, uint8_t type, size_t from, size_t step, size_t rows,
                     size_t count) {
    /* The part may have been compiled with other options than this file. */
    if (FIRN_WRITTEN_OUT && firn_has_half_part(type) && firn_half_parts[type - FIRN_FLOAT16]->widen_rows != NULL) {
        firn_half_parts[type - FIRN_FLOAT16]->widen_rows(out, out_step, (const uint16_t *)data + from, step, rows,
                                                         count);
        return;
    }
    for (; rows > 0; rows--, out += out_step, from += step)
        firn_widen(out, data, type, from, count);
}
