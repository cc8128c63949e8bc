/* Accessors of an instance for the files of the core: whether it holds a plan, where a tensor of the plan lies in
 * memory, what its port offers. They make no checks or decisions about the run, and run no op. */
#include "runtime/instance.h"

#include <string.h>

firn_instance *firn_instance_of(firn *instance) {
    firn_instance *self = (firn_instance *)(void *)instance;
    return self != NULL && self->mark == FIRN_INSTANCE_MARK ? self : NULL;
}

const firn_instance *firn_instance_view(const firn *instance) {
    const firn_instance *self = (const firn_instance *)(const void *)instance;
    return self != NULL && self->mark == FIRN_INSTANCE_MARK ? self : NULL;
}

void firn_instance_alive(const firn_instance *instance) {
    if (instance->port != NULL && instance->port->alive != NULL)
        instance->port->alive(instance->port->context);
}

void firn_instance_trap(const firn_instance *instance, int error) {
    if (instance->port != NULL && instance->port->trap != NULL)
        instance->port->trap(instance->port->context, error);
    __builtin_trap();
}

uint32_t firn_instance_threads(const firn_instance *instance) {
    const firn_parallel *parallel = &instance->parallel;
    return parallel->run != NULL && parallel->threads > 1 ? parallel->threads : 1;
}

uint64_t firn_instance_elements(firn_fb_tensor tensor) {
    uint64_t elements = 1;
    for (uint32_t i = 0; i < firn_fb_tensor_dims_count(tensor); i++)
        elements *= firn_fb_tensor_dims_at(tensor, i);
    return elements;
}

static void *data_of(const firn_instance *instance, firn_fb_tensor description) {
    firn_fb_region region = firn_fb_plan_regions_at(instance->plan, firn_fb_tensor_region(description));
    const uint8_t *block;
    switch (firn_fb_region_kind(region)) {
    case FIRN_FB_REGION_KIND_STATE:
        block = instance->state;
        break;
    case FIRN_FB_REGION_KIND_ARENA:
        block = instance->arena;
        break;
    default:
        block = instance->file + instance->header.constants_offset;
        break;
    }
    return (void *)(uintptr_t)(block + (size_t)firn_fb_tensor_offset(description));
}

void *firn_instance_data(const firn_instance *instance, uint32_t index) {
    return data_of(instance, firn_fb_plan_tensors_at(instance->plan, index));
}

firn_tensor firn_instance_tensor(const firn_instance *instance, uint32_t index) {
    firn_fb_tensor description = firn_fb_plan_tensors_at(instance->plan, index);
    firn_tensor tensor = {.data = data_of(instance, description)};
    tensor.elements = (size_t)firn_instance_elements(description);
    tensor.type = firn_fb_tensor_type(description);
    tensor.dims = (const uint32_t *)(const void *)firn_fb_tensor_dims_data(description);
    tensor.rank = (uint8_t)firn_fb_tensor_dims_count(description);
    return tensor;
}

int64_t firn_instance_int64(const firn_instance *instance, uint32_t index) {
    int64_t value;
    memcpy(&value, firn_instance_data(instance, index), sizeof value);
    return value;
}

void firn_instance_set_float(const firn_instance *instance, uint32_t index, float value) {
    memcpy(firn_instance_data(instance, index), &value, sizeof value);
}
