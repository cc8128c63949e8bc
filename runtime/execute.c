/* Running the ops of a phase: each op of the plan becomes one kernel call. Nothing is checked here and nothing is
 * decided here; order, shapes and attributes are the plan's and were checked when it was opened. */
#include "runtime/instance.h"

int firn_execute_check(const firn_instance *instance) {
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(instance->plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(instance->plan, p);
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++)
            if (instance->kernels->find(firn_fb_op_code(firn_fb_phase_ops_at(phase, i))) == NULL)
                return FIRN_ERROR_KERNEL_MISSING;
    }
    return FIRN_OK;
}

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

void firn_execute_phase(const firn_instance *instance, uint8_t kind, uint64_t global_step, uint32_t micro_step) {
    for (uint32_t p = 0; p < firn_fb_plan_phases_count(instance->plan); p++) {
        firn_fb_phase phase = firn_fb_plan_phases_at(instance->plan, p);
        if (firn_fb_phase_kind(phase) != kind)
            continue;
        for (uint32_t i = 0; i < firn_fb_phase_ops_count(phase); i++) {
            firn_fb_op op = firn_fb_phase_ops_at(phase, i);
            firn_kernel kernel = instance->kernels->find(firn_fb_op_code(op));
            if (kernel == NULL)
                firn_instance_trap(instance, FIRN_ERROR_KERNEL_MISSING);
            firn_kernel_call call = {0};
            fill_operands(instance, op, &call);
            fill_attributes(op, &call);
            call.seed = firn_fb_plan_seed(instance->plan);
            call.global_step = global_step;
            call.micro_step = micro_step;
            call.parallel = firn_instance_parallel(instance);
            call.workspace = instance->workspace;
            kernel(&call);
            firn_instance_alive(instance);
        }
    }
}
