/* Fills the state with the plan's initial values. Constant and random values are computed by the kernel set
 * (runtime/kernels/initialise.c); weights and integers are copied here. */
#include <string.h>

#include "runtime/float_environment.h"
#include "runtime/instance.h"
#include "runtime/numerics/numerics.h"

static void fill_floats(const firn_instance *instance, firn_fb_initialiser initialiser, const firn_tensor *tensor) {
    firn_kernel fill = instance->kernels->find(FIRN_KERNEL_INITIALISE, NULL).run;
    if (fill == NULL)
        firn_instance_trap(instance, FIRN_ERROR_KERNEL_MISSING);
    const int64_t integers[] = {[FIRN_INITIALISE_RULE] = firn_fb_initialiser_rule(initialiser),
                                [FIRN_INITIALISE_RNG_ID] = firn_fb_initialiser_rng_id(initialiser)};
    const float reals[] = {[FIRN_INITIALISE_A] = firn_fb_initialiser_a(initialiser),
                           [FIRN_INITIALISE_B] = firn_fb_initialiser_b(initialiser)};
    const firn_kernel_call call = {.outputs = tensor,
                                   .integers = integers,
                                   .reals = reals,
                                   .output_count = 1,
                                   .seed = firn_fb_plan_seed(instance->plan),
                                   .parallel = instance->parallel};
    fill(&call);
}

/* Fills a tensor of integers. */
static void fill_integers(int64_t value, const firn_tensor *tensor) {
    uint8_t *out = tensor->data;
    for (size_t i = 0; i < tensor->elements; i++)
        memcpy(out + i * sizeof value, &value, sizeof value);
}

/* Copies weights from the constants segment, whose type may be narrower than float32. */
static void copy_weights(const firn_instance *instance, firn_fb_initialiser initialiser, const firn_tensor *tensor) {
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

static void apply(const firn_instance *instance, firn_fb_initialiser initialiser, uint32_t index) {
    firn_tensor tensor = firn_instance_tensor(instance, index);
    if (firn_fb_initialiser_rule(initialiser) == FIRN_FB_INITIALISER_RULE_WEIGHTS)
        copy_weights(instance, initialiser, &tensor);
    else if (tensor.type == FIRN_FLOAT32)
        fill_floats(instance, initialiser, &tensor);
    else if (tensor.type == FIRN_INT64) /* a cache of another type begins with zeros, which are there */
        fill_integers(firn_fb_initialiser_integer(initialiser), &tensor);
}

/* Returns true if the values of a region are the plan's to give. */
static bool is_filled_here(const firn_instance *instance, uint32_t region, bool with_model) {
    uint8_t kind = instance->header.region_kinds[region];
    return firn_region_is_state(kind) && firn_instance_needs_block(&instance->header, instance->owner, region) &&
           (with_model || firn_region_fast_kind(kind) != FIRN_FB_REGION_KIND_PARAMETERS);
}

void firn_initialise_state(const firn_instance *instance, bool with_model) {
    uint32_t before = firn_float_begin();
    for (uint32_t i = 0; i < instance->header.region_count; i++)
        if (is_filled_here(instance, i, with_model))
            memset((void *)(uintptr_t)instance->blocks[i], 0, (size_t)instance->header.region_bytes[i]);
    for (uint32_t i = 0; i < firn_fb_plan_initialisers_count(instance->plan); i++) {
        uint8_t region = firn_fb_tensor_region(firn_fb_plan_tensors_at(instance->plan, i));
        if (is_filled_here(instance, region, with_model))
            apply(instance, firn_fb_plan_initialisers_at(instance->plan, i), i);
        firn_instance_alive(instance);
    }
    firn_float_end(before);
}

int firn_initialise(firn *instance) {
    firn_instance *self = firn_instance_of(instance);
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    self->condition = FIRN_CONDITION_EMPTY;
    firn_initialise_state(self, true);
    firn_instance_changed(self);
    self->condition = FIRN_CONDITION_READY;
    return FIRN_OK;
}

int firn_parameters_changed(firn *instance) {
    firn_instance *self = firn_instance_of(instance);
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (self->owner != NULL)
        return FIRN_ERROR_SHARED;
    firn_instance_changed(self);
    return FIRN_OK;
}
