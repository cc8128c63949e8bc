/* Fills the state with the plan's initial values. Constant and random values are computed by the kernel set
 * (runtime/kernels/initialise.c); weights and counters are copied here. */
#include <string.h>

#include "runtime/float_environment.h"
#include "runtime/instance.h"

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

/* Fills a counter tensor. The check at load has established that the value is a whole number. */
static void fill_integers(int64_t value, const firn_tensor *tensor) {
    uint8_t *out = tensor->data;
    for (size_t i = 0; i < tensor->elements; i++)
        memcpy(out + i * sizeof value, &value, sizeof value);
}

static void apply(const firn_instance *instance, firn_fb_initialiser initialiser) {
    firn_tensor tensor = firn_instance_tensor(instance, firn_fb_initialiser_tensor(initialiser));
    if (firn_fb_initialiser_rule(initialiser) == FIRN_FB_INITIALISER_RULE_WEIGHTS) {
        const uint8_t *weights = instance->file + instance->header.constants_offset;
        memcpy(tensor.data, weights + (size_t)firn_fb_initialiser_weights(initialiser),
               tensor.elements * firn_type_bytes(tensor.type));
    } else if (tensor.type == FIRN_FLOAT32) {
        fill_floats(instance, initialiser, &tensor);
    } else {
        fill_integers((int64_t)firn_fb_initialiser_a(initialiser), &tensor);
    }
}

static bool is_parameter(const firn_instance *instance, firn_fb_initialiser initialiser) {
    firn_fb_tensor tensor = firn_fb_plan_tensors_at(instance->plan, firn_fb_initialiser_tensor(initialiser));
    return firn_fb_tensor_role(tensor) == FIRN_FB_ROLE_PARAMETER;
}

void firn_initialise_state(const firn_instance *instance, bool with_parameters) {
    uint32_t before = firn_float_begin();
    memset(instance->state, 0, (size_t)instance->header.state_bytes);
    for (uint32_t i = 0; i < firn_fb_plan_initialisers_count(instance->plan); i++) {
        firn_fb_initialiser initialiser = firn_fb_plan_initialisers_at(instance->plan, i);
        if (with_parameters || !is_parameter(instance, initialiser))
            apply(instance, initialiser);
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
    self->sequence = 0;
    self->condition = FIRN_CONDITION_READY;
    return FIRN_OK;
}
