/* Looks up tensors, ops and inputs of a plan for the checks (plan/checks/semantics_lookup.h). Nothing may be checked
 * here, and no check may be called. */
#include "plan/checks/semantics_lookup.h"

firn_shape firn_semantics_shape(firn_fb_tensor tensor) {
    firn_shape shape = {.type = firn_fb_tensor_type(tensor)};
    uint32_t rank = firn_fb_tensor_dims_count(tensor);
    for (uint32_t i = 0; i < rank && i < FIRN_RANK_MAX; i++)
        shape.dims[i] = firn_fb_tensor_dims_at(tensor, i);
    shape.rank = rank <= FIRN_RANK_MAX ? (uint8_t)rank : 0;
    return shape;
}

uint64_t firn_semantics_bytes(firn_fb_tensor tensor) {
    firn_shape shape = firn_semantics_shape(tensor);
    uint64_t bytes = 0;
    return firn_shape_bytes(&shape, &bytes) ? bytes : 0;
}

bool firn_semantics_is_placed(uint64_t offset, uint64_t bytes, uint64_t room) {
    return offset % FIRN_TENSOR_ALIGNMENT == 0 && offset <= room && bytes <= room - offset;
}

static const uint8_t memories[] = {[FIRN_FB_ROLE_PARAMETER] = FIRN_MEMORY_STATE,
                                   [FIRN_FB_ROLE_BUFFER] = FIRN_MEMORY_STATE,
                                   [FIRN_FB_ROLE_OPTIMIZER_STATE] = FIRN_MEMORY_STATE,
                                   [FIRN_FB_ROLE_COUNTER] = FIRN_MEMORY_STATE,
                                   [FIRN_FB_ROLE_INPUT] = FIRN_MEMORY_ARENA,
                                   [FIRN_FB_ROLE_ACTIVATION] = FIRN_MEMORY_ARENA,
                                   [FIRN_FB_ROLE_GRADIENT] = FIRN_MEMORY_ARENA,
                                   [FIRN_FB_ROLE_RESULT] = FIRN_MEMORY_ARENA,
                                   [FIRN_FB_ROLE_SCRATCH] = FIRN_MEMORY_ARENA,
                                   [FIRN_FB_ROLE_CONSTANT] = FIRN_MEMORY_CONSTANT,
                                   [FIRN_FB_ROLE_FROZEN] = FIRN_MEMORY_CONSTANT,
                                   [FIRN_FB_ROLE_RING] = FIRN_MEMORY_RING,
                                   [FIRN_FB_ROLE_CACHE] = FIRN_MEMORY_STATE};

firn_memory firn_semantics_memory(firn_fb_tensor tensor) {
    return (firn_memory)memories[firn_fb_tensor_role(tensor)];
}

bool firn_semantics_is_persistent(firn_fb_tensor tensor) {
    return firn_fb_tensor_first(tensor) == 0 && firn_fb_tensor_last(tensor) == FIRN_FOR_EVER;
}

bool firn_semantics_is_of_model(firn_fb_tensor tensor) {
    return firn_fb_tensor_role(tensor) <= FIRN_FB_ROLE_BUFFER;
}

uint32_t firn_semantics_base(firn_fb_plan plan, uint32_t tensor) {
    if (tensor == FIRN_ABSENT)
        return tensor;
    uint32_t base = firn_fb_tensor_base(firn_fb_plan_tensors_at(plan, tensor));
    return base == FIRN_ABSENT ? tensor : base;
}

bool firn_semantics_op(firn_fb_plan plan, uint32_t n, firn_fb_op *op, uint8_t *phase) {
    for (uint32_t i = 0; i < firn_fb_plan_phases_count(plan); i++) {
        firn_fb_phase at = firn_fb_plan_phases_at(plan, i);
        uint32_t count = firn_fb_phase_ops_count(at);
        if (n < count) {
            *op = firn_fb_phase_ops_at(at, n);
            *phase = firn_fb_phase_kind(at);
            return true;
        }
        n -= count;
    }
    return false;
}

bool firn_semantics_reads(firn_fb_plan plan, firn_fb_op op, uint32_t tensor) {
    for (uint32_t i = 0; i < firn_fb_op_inputs_count(op); i++) {
        if (firn_semantics_base(plan, firn_fb_op_inputs_at(op, i)) == tensor)
            return true;
    }
    return false;
}

bool firn_semantics_writes(firn_fb_plan plan, firn_fb_op op, uint32_t tensor) {
    for (uint32_t i = 0; i < firn_fb_op_outputs_count(op); i++) {
        if (firn_semantics_base(plan, firn_fb_op_outputs_at(op, i)) == tensor)
            return true;
    }
    return false;
}

/* The first op that writes a tensor or, if wanted, reads it. */
static uint32_t first_use(firn_fb_plan plan, uint32_t tensor, bool reading) {
    uint32_t n = 0;
    uint8_t phase;
    firn_fb_op op;
    while (firn_semantics_op(plan, n, &op, &phase) && !firn_semantics_writes(plan, op, tensor) &&
           !(reading && firn_semantics_reads(plan, op, tensor)))
        n++;
    return n;
}

uint32_t firn_semantics_first_touch(firn_fb_plan plan, uint32_t tensor) {
    return first_use(plan, tensor, true);
}

uint32_t firn_semantics_first_writer(firn_fb_plan plan, uint32_t tensor) {
    return first_use(plan, tensor, false);
}

uint32_t firn_semantics_input_of(firn_fb_plan plan, uint32_t tensor) {
    uint32_t i = 0;
    while (i < firn_fb_plan_inputs_count(plan) && firn_fb_input_tensor(firn_fb_plan_inputs_at(plan, i)) != tensor)
        i++;
    return i;
}

uint32_t firn_semantics_schedule_of(firn_fb_plan plan, uint32_t tensor) {
    uint32_t i = 0;
    while (i < firn_fb_plan_schedules_count(plan) &&
           firn_fb_schedule_tensor(firn_fb_plan_schedules_at(plan, i)) != tensor)
        i++;
    return i;
}

bool firn_semantics_is_filled(firn_fb_plan plan, uint32_t tensor) {
    return firn_semantics_input_of(plan, tensor) < firn_fb_plan_inputs_count(plan) ||
           firn_semantics_schedule_of(plan, tensor) < firn_fb_plan_schedules_count(plan);
}
