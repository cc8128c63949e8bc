/* Looks up, once when a plan is opened, the fields and tensors that a step uses besides its ops. This file only copies
 * fields and turns tensor indices into pointers; it makes no checks, because the check of the plan has already
 * established which fields may be absent. */
#define FIRN_FB_INLINE /* plan/access.h */
#include "runtime/instance.h"

/* Returns the tensor that a field names, or NULL if the plan has no such tensor. */
static void *named(const firn_instance *instance, uint32_t index) {
    return index < firn_fb_plan_tensors_count(instance->plan) ? firn_instance_data(instance, index) : NULL;
}

static void bind_sampler(firn_fb_sampler sampler, firn_bound_sampler *bound) {
    bound->kind = firn_fb_sampler_kind(sampler);
    bound->records = firn_fb_sampler_unit(sampler) == FIRN_FB_SAMPLE_UNIT_RECORD;
    bound->part = firn_fb_sampler_part(sampler);
    bound->stops = firn_fb_sampler_epoch_end(sampler) == FIRN_FB_EPOCH_END_STOP;
    bound->window = firn_fb_sampler_window(sampler);
    bound->stride = firn_fb_sampler_stride(sampler);
    bound->samples = firn_fb_sampler_samples(sampler);
    bound->held_out_per_mille = firn_fb_sampler_held_out_per_mille(sampler);
    bound->seed = firn_fb_sampler_seed(sampler);
}

firn_bound_input firn_bind_input(const firn_instance *instance, uint32_t i) {
    firn_fb_input input = firn_fb_plan_inputs_at(instance->plan, i);
    firn_tensor tensor = firn_instance_tensor(instance, firn_fb_input_tensor(input));
    return (firn_bound_input){.data = tensor.data,
                              .elements = tensor.elements / tensor.dims[0],
                              .advance = firn_fb_input_advance(input),
                              .limit = firn_fb_input_limit(input),
                              .scale = firn_fb_input_scale(input),
                              .shift = firn_fb_input_shift(input),
                              .stream = firn_fb_input_stream(input),
                              .element = firn_fb_input_element(input)};
}

static void bind_phases(firn_fb_plan plan, firn_bindings *bound) {
    uint32_t first = 0;
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(plan, p);
        uint32_t count = firn_fb_phase_ops_count(phase);
        bound->phases[firn_fb_phase_kind(phase)] = (firn_bound_phase){.position = p, .first = first, .count = count};
        first += count;
    }
}

void firn_bind(firn_instance *instance) {
    const firn_fb_plan plan = instance->plan;
    firn_bindings *bound = &instance->bound;
    bind_sampler(firn_fb_plan_sampler(plan), &bound->sampler);
    bound->steps = firn_fb_plan_steps(plan);
    bound->micro_batches = firn_fb_plan_micro_batches(plan);
    bound->check_loss = firn_fb_plan_check_loss(plan);
    bound->cursor = named(instance, firn_fb_sampler_cursor(firn_fb_plan_sampler(plan)));
    bound->pushed = named(instance, firn_fb_sampler_pushed(firn_fb_plan_sampler(plan)));
    bound->global_step = named(instance, firn_fb_plan_global_step(plan));
    bound->optimizer_step = named(instance, firn_fb_plan_optimizer_step(plan));
    bound->loss = named(instance, firn_fb_plan_loss(plan));
    bound->learning_rate = named(instance, firn_fb_plan_learning_rate(plan));
    bound->loss_scale = named(instance, firn_fb_plan_loss_scale(plan));
    bound->gradient_norm = named(instance, firn_fb_plan_gradient_norm(plan));
    bound->finite = named(instance, firn_fb_plan_finite(plan));
    bound->at_floor = named(instance, firn_fb_plan_at_floor(plan));
    bind_phases(plan, bound);
}
