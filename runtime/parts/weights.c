/* Initial values that a plan has as constants: a run that begins with weights which were trained before. A firmware
 * whose plans have none is linked without this file. */
#include <string.h>

#include "runtime/instance.h"
#include "runtime/numerics/numerics.h"
#include "runtime/parts.h"

/* The constants may be of a type narrower than float32. */
void firn_copy_weights(const firn_instance *instance, firn_fb_initialiser initialiser, const firn_tensor *tensor) {
    const uint8_t *weights =
        instance->file + instance->header.constants_offset + (size_t)firn_fb_initialiser_weights(initialiser);
    const uint8_t type = firn_fb_initialiser_element(initialiser);
    float *out = tensor->data;
    if (type == FIRN_FLOAT32) {
        memcpy(out, weights, tensor->elements * sizeof *out);
        return;
    }
    for (size_t i = 0; i < tensor->elements; i++)
        out[i] = firn_load(weights, type, i);
}
