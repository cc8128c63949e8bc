/* Accessors of an instance for the files of the core: whether it holds a plan, where a tensor of the plan lies in
 * memory, what its port offers. They make no checks or decisions about the run, and run no op. */
#define FIRN_FB_INLINE /* plan/access.h */
#include "runtime/instance.h"

#include <string.h>

const firn_instance *firn_instance_view(const firn *instance) {
    const firn_instance *self = (const firn_instance *)(const void *)instance;
    return self != NULL && firn_trail_is_complete(&self->trail) ? self : NULL;
}

firn_instance *firn_instance_of(firn *instance) {
    return (firn_instance *)(uintptr_t)firn_instance_view(instance);
}

void firn_instance_changed(firn_instance *instance) {
    instance->changes++;
    instance->outside_changes++;
}

int firn_instance_condition(const firn_instance *instance) {
    /* An owner that is no longer open is a mistake of the caller, and no state. */
    for (const firn_instance *at = instance; at != NULL; at = at->owner) {
        if (!firn_trail_is_complete(&at->trail) || at->condition == FIRN_CONDITION_EMPTY)
            return FIRN_ERROR_NO_STATE;
        if (at->condition == FIRN_CONDITION_POISONED)
            return FIRN_ERROR_POISONED;
    }
    return FIRN_OK;
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
    return firn_has_threads && parallel->run != NULL && parallel->threads > 1 ? parallel->threads : 1;
}

uint64_t firn_instance_elements(firn_fb_tensor tensor) {
    uint64_t elements = 1;
    for (uint32_t i = 0; i < firn_fb_tensor_dims_count(tensor); i++)
        elements *= firn_fb_tensor_dims_at(tensor, i);
    return elements;
}

/* The tensors of a plan, found by one look at its table. */
typedef struct tensor_list {
    const uint8_t *offsets;
} tensor_list;

static tensor_list tensors_of(const firn_instance *instance) {
    return (tensor_list){firn_fb_plan_tensors_data(instance->plan)};
}

static firn_fb_tensor tensor_at(tensor_list tensors, uint32_t index) {
    return (firn_fb_tensor){firn_fb_follow(tensors.offsets + sizeof(uint32_t) * index)};
}

static inline void *data_of(const firn_instance *instance, tensor_list tensors, firn_fb_tensor description) {
    const uint8_t *data = instance->blocks[firn_fb_tensor_region(description)];
    const uint32_t base = firn_fb_tensor_base(description);
    if (base != FIRN_ABSENT)
        data += (size_t)firn_fb_tensor_offset(tensor_at(tensors, base));
    return (void *)(uintptr_t)(data + (size_t)firn_fb_tensor_offset(description));
}

bool firn_extents_are_apart(const firn_extent *a, const firn_extent *b) {
    return a->begin < b->begin ? a->end <= b->begin : b->end <= a->begin;
}

void *firn_instance_data(const firn_instance *instance, uint32_t index) {
    const tensor_list tensors = tensors_of(instance);
    return data_of(instance, tensors, tensor_at(tensors, index));
}

/* Returns a tensor that an op has. */
static inline firn_tensor tensor_of(const firn_instance *instance, tensor_list tensors, firn_fb_tensor description) {
    const uint8_t *dims = firn_fb_tensor_dims_data(description);
    const uint32_t rank = firn_fb_load_uint32(dims - sizeof(uint32_t)); /* a vector's count stands in front of it */
    firn_tensor tensor = {.data = data_of(instance, tensors, description),
                          .elements = 1,
                          .dims = (const uint32_t *)(const void *)dims,
                          .type = firn_fb_tensor_type(description),
                          .rank = (uint8_t)rank};
    for (uint32_t i = 0; i < rank; i++)
        tensor.elements *= tensor.dims[i];
    return tensor;
}

void firn_instance_tensors(const firn_instance *instance, const uint8_t *indices, uint32_t count, firn_tensor *to) {
    const tensor_list tensors = tensors_of(instance);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t index = firn_fb_load_uint32(indices + sizeof index * i);
        if (index == FIRN_ABSENT)
            to[i] = (firn_tensor){0};
        else
            to[i] = tensor_of(instance, tensors, tensor_at(tensors, index));
    }
}

firn_tensor firn_instance_tensor(const firn_instance *instance, uint32_t index) {
    firn_tensor tensor;
    firn_instance_tensors(instance, (const uint8_t *)&index, 1, &tensor);
    return tensor;
}

int64_t firn_instance_int64(const firn_instance *instance, uint32_t index) {
    int64_t value;
    memcpy(&value, firn_instance_data(instance, index), sizeof value);
    return value;
}
