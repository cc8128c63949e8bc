/* Fills the state with the plan's initial values. Constant and random values are computed by the kernel set
 * (runtime/kernels/initialise.c); weights are copied by a part (weights.c). */
#include <string.h>

#include "runtime/float_environment.h"
#include "runtime/instance.h"
#include "runtime/parts.h"

static void fill_floats(const firn_instance *instance, const firn_fb_initialiser_record *initialiser,
                        const firn_tensor *tensor) {
    firn_kernel fill = instance->kernels->find(FIRN_KERNEL_INITIALISE, NULL).run;
    if (fill == NULL)
        firn_instance_trap(instance, FIRN_ERROR_KERNEL_MISSING);
    const int64_t integers[] = {
        [FIRN_INITIALISE_RULE] = initialiser->rule, [FIRN_INITIALISE_RNG_ID] = initialiser->rng_id};
    const float reals[] = {[FIRN_INITIALISE_A] = initialiser->a,
                           [FIRN_INITIALISE_B] = initialiser->b,
                           [FIRN_INITIALISE_LOW] = initialiser->low,
                           [FIRN_INITIALISE_HIGH] = initialiser->high};
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

static void apply(const firn_instance *instance, firn_fb_initialiser initialiser, uint32_t index) {
    firn_tensor tensor = firn_instance_tensor(instance, index);
    firn_fb_initialiser_record record;
    firn_fb_initialiser_read(initialiser, &record);
    if (firn_initial_weights != NULL && record.rule == FIRN_FB_INITIALISER_RULE_WEIGHTS)
        firn_initial_weights(instance, initialiser, &tensor);
    else if (tensor.type == FIRN_FLOAT32)
        fill_floats(instance, &record, &tensor);
    else if (tensor.type == FIRN_INT64) /* a cache of another type begins with zeros, which are there */
        fill_integers(record.integer, &tensor);
}

/* Returns true if a region of a kind is filled. */
static bool is_filled(uint8_t kind, bool with_parameters) {
    return firn_region_is_state(kind) &&
           (with_parameters || firn_region_fast_kind(kind) != FIRN_FB_REGION_KIND_PARAMETERS);
}

void firn_initialise_state(const firn_instance *instance, bool with_model) {
    const firn_header *header = &instance->header;
    const bool with_parameters = with_model && firn_instance_owner(instance) == NULL;
    uint32_t before = firn_float_begin();
    for (uint32_t i = 0; i < header->region_count; i++)
        if (is_filled(header->region_kinds[i], with_parameters))
            memset((void *)(uintptr_t)instance->blocks[i], 0, (size_t)header->region_bytes[i]);
    for (uint32_t i = 0; i < firn_fb_plan_initialisers_count(instance->plan); i++) {
        const uint8_t region = firn_fb_tensor_region(firn_fb_plan_tensors_at(instance->plan, i));
        if (is_filled(header->region_kinds[region], with_parameters))
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

int firn_eval_restart(firn *instance) {
    firn_instance *self = firn_instance_of(instance);
    if (self == NULL)
        return FIRN_ERROR_NOT_OPEN;
    if (self->header.mode != FIRN_MODE_EVAL)
        return FIRN_ERROR_WRONG_MODE;
    if (self->condition == FIRN_CONDITION_EMPTY)
        return FIRN_ERROR_NO_STATE;
    firn_initialise_state(self, false);
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
