/* Reads the frozen weights of a plan (compiler/weights/frozen_weights.h). */
#include "compiler/weights/frozen_weights.h"

#include <string.h>

#include "plan/generated/reader.h"
#include "runtime/numerics/numerics.h"

/* Whether a tensor has real numbers in this shape. */
static bool is_of_shape(firn_fb_tensor tensor, const firn_shape *shape) {
    const uint8_t type = firn_fb_tensor_type(tensor);
    bool same = (type == FIRN_FLOAT32 || firn_type_is_half(type)) && firn_fb_tensor_dims_count(tensor) == shape->rank;
    for (uint8_t i = 0; same && i < shape->rank; i++)
        same = firn_fb_tensor_dims_at(tensor, i) == shape->dims[i];
    return same;
}

bool firnc_frozen_weight_read(const firnc_bytes *plan, const firn_header *header,
                              const firnc_weight_parameter *parameter, float *values) {
    const firn_fb_plan root = firn_fb_plan_root(plan->data + FIRN_PAYLOAD_OFFSET);
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(root); i++) {
        const firn_fb_tensor tensor = firn_fb_plan_tensors_at(root, i);
        if (firn_fb_tensor_role(tensor) != FIRN_FB_ROLE_FROZEN || firn_fb_tensor_base(tensor) != FIRN_ABSENT ||
            strcmp(firn_fb_tensor_name(tensor), parameter->name) != 0)
            continue;
        if (!is_of_shape(tensor, &parameter->shape))
            return false;
        const uint8_t *region =
            plan->data + header->constants_offset + firn_header_constant_offset(header, firn_fb_tensor_region(tensor));
        firn_widen(values, region + firn_fb_tensor_offset(tensor), firn_fb_tensor_type(tensor), 0,
                   (size_t)firnc_weight_elements(parameter));
        return true;
    }
    return false;
}
