/* What several files of the semantic rules ask of a tensor or a number (plan/checks/semantics_lookup.h). */
#include "plan/checks/semantics_lookup.h"

/* Whether a tensor has one dimension of this extent, this type, and lies in this memory. In the arena it must also be
 * persistent, because the runtime reads it between phases, and must not be scratch. */
bool firn_semantics_is_vector(firn_fb_plan plan, uint32_t index, firn_memory memory, uint8_t type, uint32_t extent) {
    if (index >= firn_fb_plan_tensors_count(plan))
        return false;
    firn_fb_tensor tensor = firn_fb_plan_tensors_at(plan, index);
    return firn_semantics_memory(tensor) == memory && firn_fb_tensor_base(tensor) == FIRN_ABSENT &&
           firn_fb_tensor_role(tensor) != FIRN_FB_ROLE_SCRATCH && firn_fb_tensor_type(tensor) == type &&
           firn_fb_tensor_dims_count(tensor) == 1 && firn_fb_tensor_dims_at(tensor, 0) == extent &&
           firn_semantics_is_persistent(tensor);
}

bool firn_semantics_is_counter(firn_fb_plan plan, uint32_t index) {
    return firn_semantics_is_vector(plan, index, FIRN_MEMORY_STATE, FIRN_INT64, 1) &&
           firn_fb_tensor_role(firn_fb_plan_tensors_at(plan, index)) == FIRN_FB_ROLE_COUNTER;
}

/* Whether one op alone writes a tensor, has this code, and has it as this output in a phase of this kind. */
bool firn_semantics_has_one_writer(firn_fb_plan plan, uint32_t tensor, uint16_t code, uint32_t output, uint8_t phase,
                                   firn_fb_op *writer) {
    uint32_t writers = 0;
    uint8_t kind;
    firn_fb_op op;
    for (uint32_t n = 0; firn_semantics_op(plan, n, &op, &kind); n++) {
        if (!firn_semantics_writes(plan, op, tensor))
            continue;
        if (kind != phase || firn_fb_op_code(op) != code || firn_fb_op_outputs_at(op, output) != tensor)
            return false;
        *writer = op;
        writers++;
    }
    return writers == 1;
}

/* Whether a value is +0 bit by bit, which is the only encoding of an unused field. */
bool firn_semantics_is_unused(float x) {
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits == 0;
}

bool firn_semantics_is_positive(float x) {
    return x > 0.0f && x - x == 0.0f;
}
