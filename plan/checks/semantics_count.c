/* Counts what a plan has. The full and the sealed check share this file. */
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
