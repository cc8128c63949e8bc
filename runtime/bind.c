/* Looks up, once when a plan is opened, the fields and tensors that a step uses besides its ops. This file only copies
 * fields and turns tensor indices into pointers; it makes no checks, because the check of the plan has already
 * established which fields may be absent. */
#define FIRN_FB_INLINE /* plan/access.h */
#include "runtime/instance.h"

#include <stddef.h>
#include <string.h>

/* Returns the tensor that a field names, or NULL if the plan has no such tensor. */
static void *named(const firn_instance *instance, uint32_t index) {
    return index < firn_fb_plan_tensors_count(instance->plan) ? firn_instance_data(instance, index) : NULL;
}

static void bind_sampler(firn_instance *instance, firn_fb_sampler sampler) {
    firn_bindings *bound = &instance->bound;
    bound->records = firn_fb_sampler_unit(sampler) == FIRN_FB_SAMPLE_UNIT_RECORD;
    bound->epoch_end = firn_fb_sampler_epoch_end(sampler);
    bound->samples = firn_fb_sampler_samples(sampler);
    bound->cursor = named(instance, firn_fb_sampler_cursor(sampler));
    bound->pushed = named(instance, firn_fb_sampler_pushed(sampler));
}

static void bind_input(const firn_instance *instance, uint32_t i, firn_bound_input *bound) {
    const firn_fb_input input = firn_fb_plan_inputs_at(instance->plan, i);
    const firn_tensor tensor = firn_instance_tensor(instance, firn_fb_input_tensor(input));
    bound->data = tensor.data;
    bound->elements = tensor.elements / tensor.dims[0];
    bound->record = instance->bound.records ? bound->elements : 1;
    bound->advance = firn_fb_input_advance(input);
    bound->limit = firn_fb_input_limit(input);
    bound->scale = firn_fb_input_scale(input);
    bound->shift = firn_fb_input_shift(input);
    bound->stream = firn_fb_input_stream(input);
    bound->element = firn_fb_input_element(input);
}

const firn_bound_input *firn_bound_input_at(const firn_instance *instance, uint32_t i, firn_bound_input *room) {
    if (i < FIRN_BOUND_INPUTS)
        return &instance->inputs[i];
    bind_input(instance, i, room);
    return room;
}

static void bind_phases(firn_fb_plan plan, firn_bindings *bound) {
    uint32_t first = 0;
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(plan, p);
        firn_bound_phase *to = &bound->phases[firn_fb_phase_kind(phase)];
        to->ops = firn_fb_phase_ops_data(phase);
        to->first = first;
        to->count = firn_fb_phase_ops_count(phase);
        first += to->count;
    }
}

/* Where the plan names a tensor, and where its address belongs in the bindings. */
typedef struct name {
    uint8_t slot, place;
} name;

static const name names[] = {
    {FIRN_FB_SLOT_PLAN_GLOBAL_STEP, offsetof(firn_bindings, global_step)},
    {FIRN_FB_SLOT_PLAN_OPTIMIZER_STEP, offsetof(firn_bindings, optimizer_step)},
    {FIRN_FB_SLOT_PLAN_LOSS, offsetof(firn_bindings, loss)},
    {FIRN_FB_SLOT_PLAN_LEARNING_RATE, offsetof(firn_bindings, learning_rate)},
    {FIRN_FB_SLOT_PLAN_LOSS_SCALE, offsetof(firn_bindings, loss_scale)},
    {FIRN_FB_SLOT_PLAN_GRADIENT_NORM, offsetof(firn_bindings, gradient_norm)},
    {FIRN_FB_SLOT_PLAN_FINITE, offsetof(firn_bindings, finite)},
    {FIRN_FB_SLOT_PLAN_AT_FLOOR, offsetof(firn_bindings, at_floor)},
};

_Static_assert(sizeof(firn_bindings) <= UINT8_MAX, "a place is a byte");

void firn_bind(firn_instance *instance) {
    const firn_fb_plan plan = instance->plan;
    firn_bindings *bound = &instance->bound;
    bind_sampler(instance, firn_fb_plan_sampler(plan));
    bound->inputs = firn_fb_plan_inputs_count(plan);
    for (uint32_t i = bound->inputs < FIRN_BOUND_INPUTS ? bound->inputs : FIRN_BOUND_INPUTS; i-- > 0;)
        bind_input(instance, i, &instance->inputs[i]);
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const void *data = named(instance, firn_fb_scalar_uint32(plan.at, names[i].slot, FIRN_ABSENT));
        memcpy((uint8_t *)bound + names[i].place, &data, sizeof data);
    }
    bind_phases(plan, bound);
}
