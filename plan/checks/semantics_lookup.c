/* Looks up tensors, ops and inputs of a plan for the checks (plan/checks/semantics_lookup.h). Nothing may be checked
 * here, and no check may be called. */
#include "plan/checks/semantics_lookup.h"

/* The table at an index of a vector of tables. */
static const uint8_t *table_at(const uint8_t *offsets, uint32_t index) {
    return firn_fb_follow(offsets + sizeof(uint32_t) * (size_t)index);
}

void firn_semantics_tensor(const firn_fb_plan_record *plan, uint32_t index, firn_fb_tensor_record *tensor) {
    firn_fb_tensor_read_at(plan->tensors, index, tensor);
}

void firn_semantics_shape(const firn_fb_tensor_record *tensor, firn_shape *shape) {
    const uint32_t rank = tensor->dims_count <= FIRN_RANK_MAX ? tensor->dims_count : 0;
    memset(shape, 0, sizeof *shape);
    shape->type = (uint8_t)tensor->type;
    shape->rank = (uint8_t)rank;
    memcpy(shape->dims, tensor->dims, rank * sizeof shape->dims[0]);
}

uint64_t firn_semantics_bytes(const firn_fb_tensor_record *tensor) {
    firn_shape shape;
    uint64_t bytes;
    firn_semantics_shape(tensor, &shape);
    return firn_shape_bytes(&shape, &bytes) ? bytes : 0;
}

bool firn_semantics_is_placed(uint64_t offset, uint64_t bytes, uint64_t room) {
    return offset % FIRN_TENSOR_ALIGNMENT == 0 && offset <= room && bytes <= room - offset;
}

const uint8_t firn_semantics_regions[] = {[FIRN_FB_ROLE_PARAMETER] = FIRN_IN_PARAMETERS,
                                          [FIRN_FB_ROLE_BUFFER] = FIRN_IN_PARAMETERS,
                                          [FIRN_FB_ROLE_OPTIMIZER_STATE] = FIRN_IN_OPTIMIZER,
                                          [FIRN_FB_ROLE_COUNTER] = FIRN_IN_OPTIMIZER | FIRN_IN_SESSION,
                                          [FIRN_FB_ROLE_INPUT] = FIRN_IN_ARENA,
                                          [FIRN_FB_ROLE_ACTIVATION] = FIRN_IN_ARENA,
                                          [FIRN_FB_ROLE_GRADIENT] = FIRN_IN_ARENA,
                                          [FIRN_FB_ROLE_RESULT] = FIRN_IN_ARENA,
                                          [FIRN_FB_ROLE_SCRATCH] = FIRN_IN_ARENA,
                                          [FIRN_FB_ROLE_CONSTANT] = FIRN_IN_CONSTANT,
                                          [FIRN_FB_ROLE_FROZEN] = FIRN_IN_CONSTANT,
                                          [FIRN_FB_ROLE_RING] = FIRN_IN_RING,
                                          [FIRN_FB_ROLE_CACHE] = FIRN_IN_SESSION};

uint32_t firn_semantics_base(const firn_fb_plan_record *plan, uint32_t tensor) {
    if (tensor == FIRN_ABSENT)
        return tensor;
    const uint32_t base = firn_fb_tensor_base((firn_fb_tensor){table_at(plan->tensors, tensor)});
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

bool firn_semantics_read_op(const firn_fb_plan_record *plan, uint32_t n, firn_fb_op_record *op, uint8_t *phase) {
    firn_fb_op table;
    if (!firn_semantics_op(plan->table, n, &table, phase))
        return false;
    firn_fb_op_read(table, op);
    return true;
}

/* Whether a tensor is in a list of operands, itself or through a view. */
static bool is_among(const firn_fb_plan_record *plan, const uint32_t *operands, uint32_t count, uint32_t tensor) {
    for (uint32_t i = 0; i < count; i++) {
        if (firn_semantics_base(plan, operands[i]) == tensor)
            return true;
    }
    return false;
}

bool firn_semantics_reads(const firn_fb_plan_record *plan, const firn_fb_op_record *op, uint32_t tensor) {
    return is_among(plan, op->inputs, op->inputs_count, tensor);
}

bool firn_semantics_writes(const firn_fb_plan_record *plan, const firn_fb_op_record *op, uint32_t tensor) {
    return is_among(plan, op->outputs, op->outputs_count, tensor);
}

uint32_t firn_semantics_first_use(const firn_fb_plan_record *plan, uint32_t tensor, bool reading) {
    uint32_t n = 0;
    uint8_t phase;
    firn_fb_op_record op;
    while (firn_semantics_read_op(plan, n, &op, &phase) && !firn_semantics_writes(plan, &op, tensor) &&
           !(reading && firn_semantics_reads(plan, &op, tensor)))
        n++;
    return n;
}

uint32_t firn_semantics_input_of(const firn_fb_plan_record *plan, uint32_t tensor) {
    uint32_t i = 0;
    while (i < plan->inputs_count && firn_fb_input_tensor((firn_fb_input){table_at(plan->inputs, i)}) != tensor)
        i++;
    return i;
}

uint32_t firn_semantics_schedule_of(const firn_fb_plan_record *plan, uint32_t tensor) {
    uint32_t i = 0;
    while (i < plan->schedules_count &&
           firn_fb_schedule_tensor((firn_fb_schedule){table_at(plan->schedules, i)}) != tensor)
        i++;
    return i;
}

bool firn_semantics_is_filled(const firn_fb_plan_record *plan, uint32_t tensor) {
    return firn_fb_sampler_counted(firn_fb_plan_sampler(plan->table)) == tensor ||
           firn_semantics_input_of(plan, tensor) < plan->inputs_count ||
           firn_semantics_schedule_of(plan, tensor) < plan->schedules_count;
}
