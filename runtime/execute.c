/* Runs the ops of a phase: each op of the plan becomes one kernel call. This file takes order, shapes and attributes
 * from the plan as they were checked when it was opened; it makes no decisions. When a plan is opened, it checks that
 * this build has a kernel for every op, and finds the scratch that the largest op needs. A missing kernel is checked
 * again before each op runs, and then traps. */
#include "runtime/instance.h"

static void fill_operands(const firn_instance *instance, firn_fb_op op, firn_kernel_call *call) {
    call->input_count = (uint8_t)firn_fb_op_inputs_count(op);
    call->output_count = (uint8_t)firn_fb_op_outputs_count(op);
    for (uint32_t i = 0; i < call->input_count; i++)
        call->inputs[i] = firn_instance_tensor(instance, firn_fb_op_inputs_at(op, i));
    for (uint32_t i = 0; i < call->output_count; i++)
        call->outputs[i] = firn_instance_tensor(instance, firn_fb_op_outputs_at(op, i));
}

static void fill_attributes(firn_fb_op op, firn_kernel_call *call) {
    for (uint32_t i = 0; i < firn_fb_op_integers_count(op); i++)
        call->integers[i] = firn_fb_op_integers_at(op, i);
    for (uint32_t i = 0; i < firn_fb_op_reals_count(op); i++)
        call->reals[i] = firn_fb_op_reals_at(op, i);
    for (uint32_t i = 0; i < firn_fb_op_reductions_count(op); i++) {
        firn_fb_reduction reduction = firn_fb_op_reductions_at(op, i);
        call->reductions[i].kind = reduction.kind;
        call->reductions[i].accumulator = reduction.accumulator;
        call->reductions[i].output = reduction.output;
        call->reductions[i].chunk = reduction.chunk;
    }
}

/* Fills in the call of an op and finds its kernel. */
static firn_kernel_choice prepare(const firn_instance *instance, firn_fb_op op, firn_kernel_call *call) {
    *call = (firn_kernel_call){.seed = firn_fb_plan_seed(instance->plan), .moment = &instance->moment};
    fill_operands(instance, op, call);
    fill_attributes(op, call);
    call->parallel = instance->parallel;
    call->workspace = instance->workspace;
    call->slot_bytes = instance->slot_bytes;
    return instance->kernels->find(firn_fb_op_code(op), firn_fb_op_reductions_count(op) > 0 ? call->reductions : NULL);
}

int firn_execute_check(const firn_instance *instance, size_t *slot_bytes) {
    uint64_t most = 0;
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(instance->plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(instance->plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++) {
            firn_fb_op op = firn_fb_phase_ops_at(phase, i);
            firn_kernel_call call;
            const firn_kernel_choice choice = prepare(instance, op, &call);
            if (choice.run == NULL)
                return FIRN_ERROR_KERNEL_MISSING;
            const uint64_t bytes = choice.scratch != NULL ? choice.scratch(firn_fb_op_code(op), &call) : 0;
            most = bytes > most ? bytes : most;
        }
    }
    const uint64_t largest = SIZE_MAX / firn_instance_threads(instance) / FIRN_BLOCK_ALIGNMENT * FIRN_BLOCK_ALIGNMENT;
    if (most > largest)
        return FIRN_ERROR_WORKSPACE_TOO_SMALL;
    *slot_bytes = (size_t)((most + FIRN_BLOCK_ALIGNMENT - 1) / FIRN_BLOCK_ALIGNMENT * FIRN_BLOCK_ALIGNMENT);
    return FIRN_OK;
}

void firn_execute_prepare(const firn_instance *instance, firn_prepared_op *prepared) {
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(instance->plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(instance->plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++, prepared++)
            prepared->kernel = prepare(instance, firn_fb_phase_ops_at(phase, i), &prepared->call).run;
    }
}

static void run(const firn_instance *instance, const firn_prepared_op *op) {
    if (op->kernel == NULL)
        firn_instance_trap(instance, FIRN_ERROR_KERNEL_MISSING);
    op->kernel(&op->call);
    firn_instance_alive(instance);
}

/* Decodes an op from the plan and runs it, without a prepared copy. */
static void run_decoded(const firn_instance *instance, firn_fb_op op) {
    firn_prepared_op ready;
    ready.kernel = prepare(instance, op, &ready.call).run;
    run(instance, &ready);
}

void firn_execute_phase(const firn_instance *instance, uint8_t kind) {
    const firn_bound_phase phase = instance->bound.phases[kind];
    if (instance->prepared != NULL) {
        for (uint32_t i = 0; i < phase.count; i++)
            run(instance, &instance->prepared[phase.first + i]);
        return;
    }
    for (uint32_t i = 0; i < phase.count; i++)
        run_decoded(instance, firn_fb_phase_ops_at(firn_fb_plan_phases_at(instance->plan, phase.position), i));
}
