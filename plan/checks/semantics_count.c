/* Counts what a plan has, and the scratch of its check. The full and the sealed check share this file. */
#include "plan/checks/semantics.h"
#include "plan/checks/semantics_lookup.h"

firn_counts firn_semantics_count(firn_fb_plan plan) {
    firn_counts counts = {.tensors = firn_fb_plan_tensors_count(plan),
                          .state_tensors = firn_fb_plan_state_tensors(plan)};
    uint8_t phase;
    firn_fb_op table;
    for (; firn_semantics_op(plan, counts.ops, &table, &phase); counts.ops++) {
        firn_fb_op_record op;
        firn_fb_op_read(table, &op);
        const uint32_t operands = op.inputs_count + op.outputs_count;
        counts.operands += operands;
        counts.widest = operands > counts.widest ? operands : counts.widest;
        counts.integers += op.integers_count;
        counts.reals += op.reals_count;
        counts.reductions += op.reductions_count;
    }
    return counts;
}

uint64_t firn_semantics_scratch_bytes(const firn_counts *counts) {
    uint64_t flow = sizeof(uint32_t) * (uint64_t)(counts->tensors - counts->state_tensors);
    uint64_t ops = sizeof(firn_shape) * (uint64_t)counts->widest;
    return flow > ops ? flow : ops;
}
