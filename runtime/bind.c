/* Looks up, once when a plan is opened, the fields and tensors that a step uses besides its ops. This file only copies
 * fields and turns tensor indices into pointers; it makes no checks, because the check of the plan has already
 * established which fields may be absent. */
#include "runtime/instance.h"

/* Returns the tensor that a field names, or NULL if the plan has no such tensor. */
static void *named(const firn_instance *instance, uint32_t index) {
    return index < firn_fb_plan_tensors_count(instance->plan) ? firn_instance_data(instance, index) : NULL;
}

static firn_bound_sampler bind_sampler(firn_fb_sampler sampler) {
    return (firn_bound_sampler){.kind = firn_fb_sampler_kind(sampler),
                                .records = firn_fb_sampler_unit(sampler) == FIRN_FB_SAMPLE_UNIT_RECORD,
                                .part = firn_fb_sampler_part(sampler),
                                .stops = firn_fb_sampler_epoch_end(sampler) == FIRN_FB_EPOCH_END_STOP,
                                .window = firn_fb_sampler_window(sampler),
                                .stride = firn_fb_sampler_stride(sampler),
                                .samples = firn_fb_sampler_samples(sampler),
                                .held_out_per_mille = firn_fb_sampler_held_out_per_mille(sampler),
                                .seed = firn_fb_sampler_seed(sampler)};
}

static void bind_inputs(const firn_instance *instance, firn_bindings *bound) {
    bound->input_count = firn_fb_plan_inputs_count(instance->plan);
    for (uint32_t i = 0; i < bound->input_count; i++) {
        firn_fb_input input = firn_fb_plan_inputs_at(instance->plan, i);
        firn_tensor tensor = firn_instance_tensor(instance, firn_fb_input_tensor(input));
        bound->inputs[i] = (firn_bound_input){.data = tensor.data,
                                              .elements = tensor.elements / tensor.dims[0],
                                              .advance = firn_fb_input_advance(input),
                                              .limit = firn_fb_input_limit(input),
                                              .scale = firn_fb_input_scale(input),
                                              .shift = firn_fb_input_shift(input),
                                              .stream = firn_fb_input_stream(input),
                                              .element = firn_fb_input_element(input)};
    }
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

static const float *first_learning_rate(const firn_instance *instance) {
    if (firn_fb_plan_groups_count(instance->plan) == 0)
        return NULL;
    uint32_t schedule = firn_fb_parameter_group_schedule(firn_fb_plan_groups_at(instance->plan, 0));
    return firn_instance_data(instance, firn_fb_schedule_tensor(firn_fb_plan_schedules_at(instance->plan, schedule)));
}

/* Without loss scaling these tensors are absent and never read; a static scale of 1 has no tensor either. */
static void bind_scaling(const firn_instance *instance, firn_bindings *bound) {
    if (!firn_fb_plan_loss_scaler_present(instance->plan))
        return;
    firn_fb_loss_scaler scaler = firn_fb_plan_loss_scaler(instance->plan);
    if (firn_fb_loss_scaler_kind(scaler) != FIRN_FB_LOSS_SCALING_NONE)
        bound->loss_scale = named(instance, firn_fb_loss_scaler_scale(scaler));
    if (firn_fb_loss_scaler_kind(scaler) == FIRN_FB_LOSS_SCALING_DYNAMIC) {
        bound->finite = named(instance, firn_fb_plan_finite(instance->plan));
        bound->at_floor = named(instance, firn_fb_loss_scaler_at_floor(scaler));
    }
}

firn_bindings firn_bind(const firn_instance *instance) {
    firn_fb_plan plan = instance->plan;
    firn_bindings bound = {.sampler = bind_sampler(firn_fb_plan_sampler(plan)),
                           .steps = firn_fb_plan_steps(plan),
                           .micro_batches = firn_fb_plan_micro_batches(plan),
                           .check_loss = firn_fb_plan_check_loss(plan),
                           .cursor = named(instance, firn_fb_sampler_cursor(firn_fb_plan_sampler(plan))),
                           .global_step = named(instance, firn_fb_plan_global_step(plan)),
                           .optimizer_step = named(instance, firn_fb_plan_optimizer_step(plan)),
                           .loss = named(instance, firn_fb_output_tensor(firn_fb_plan_outputs_at(plan, 0))),
                           .learning_rate = first_learning_rate(instance),
                           .gradient_norm = named(instance, firn_fb_plan_gradient_norm(plan))};
    bind_scaling(instance, &bound);
    bind_inputs(instance, &bound);
    bind_phases(plan, &bound);
    return bound;
}
