/* What several files of the semantic rules ask of a tensor or an op (plan/checks/semantics_lookup.h). */
#include "plan/checks/semantics_lookup.h"
#include "plan/divide.h"

uint8_t firn_semantics_phase_of(const firn_fb_plan_record *plan, uint32_t n) {
    uint8_t phase = FIRN_FB_PHASE_KIND_UPDATE;
    firn_fb_op op;
    (void)firn_semantics_op(plan->table, n, &op, &phase);
    return phase;
}

bool firn_semantics_fills_partial(const firn_fb_op_record *op, uint32_t tensor) {
    return firn_op_find((uint16_t)op->code)->begins == FIRN_BEGINS_partial && op->outputs[0] == tensor;
}

uint64_t firn_semantics_sample_elements(const firn_fb_tensor_record *tensor) {
    firn_shape shape;
    uint64_t elements = 0;
    firn_semantics_shape(tensor, &shape);
    return firn_shape_elements(&shape, &elements) ? firn_divide(elements, shape.dims[0], NULL) : 0;
}

bool firn_semantics_is_scalar(const firn_fb_plan_record *plan, uint32_t index, uint32_t regions, uint8_t type) {
    firn_fb_tensor_record tensor;
    if (index >= plan->tensors_count)
        return false;
    firn_semantics_tensor(plan, index, &tensor);
    return (firn_semantics_regions[tensor.role] & regions) != 0 && tensor.role != FIRN_FB_ROLE_SCRATCH &&
           tensor.base == FIRN_ABSENT && tensor.type == type && tensor.dims_count == 1 && tensor.dims[0] == 1 &&
           firn_semantics_is_persistent(&tensor);
}

bool firn_semantics_is_counter(const firn_fb_plan_record *plan, uint32_t index) {
    return firn_semantics_is_scalar(plan, index, FIRN_IN_STATE, FIRN_INT64) &&
           firn_fb_tensor_role(firn_fb_plan_tensors_at(plan->table, index)) == FIRN_FB_ROLE_COUNTER;
}

bool firn_semantics_has_one_writer(const firn_fb_plan_record *plan, uint32_t tensor, uint16_t code, uint32_t output,
                                   uint8_t phase, firn_fb_op_record *writer) {
    uint32_t writers = 0;
    uint8_t kind;
    firn_fb_op_record op;
    for (uint32_t n = 0; firn_semantics_read_op(plan, n, &op, &kind); n++) {
        if (!firn_semantics_writes(plan, &op, tensor))
            continue;
        if (kind != phase || op.code != code || op.outputs[output] != tensor)
            return false;
        *writer = op;
        writers++;
    }
    return writers == 1;
}
