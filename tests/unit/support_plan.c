/* See support_plan.h. */
#include "tests/unit/support_plan.h"

#include <stdlib.h>

#include "tests/unit/support_test.h"

support_plan *support_plan_empty(void) {
    support_plan *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->plan = (firn_native_plan){.numerics_version = FIRN_NUMERICS_VERSION,
                                 .check_loss = true,
                                 .micro_batches = 1,
                                 .seed = 1,
                                 .steps = 10,
                                 .tensors = s->tensors,
                                 .phases = s->phases,
                                 .inputs = s->inputs,
                                 .outputs = s->outputs,
                                 .sampler = &s->sampler,
                                 .schedule_nodes = s->nodes,
                                 .schedules = s->schedules,
                                 .initialisers = s->initialisers,
                                 .metrics = s->metrics,
                                 .loss = FIRN_ABSENT,
                                 .learning_rate = FIRN_ABSENT,
                                 .loss_scale = FIRN_ABSENT,
                                 .global_step = FIRN_ABSENT,
                                 .optimizer_step = FIRN_ABSENT,
                                 .finite = FIRN_ABSENT,
                                 .at_floor = FIRN_ABSENT,
                                 .gradient_norm = FIRN_ABSENT,
                                 .origin = s->origin,
                                 .tokenizer = s->origin};
    s->sampler.pushed = FIRN_ABSENT;
    s->sampler.counted = FIRN_ABSENT;
    return s;
}

void *support_plan_memory(support_plan *s, size_t bytes) {
    void *memory = s->pool + s->pool_used;
    s->pool_used += (bytes + 7) / 8 * 8;
    assert_true(s->pool_used <= sizeof s->pool);
    return memory;
}

firn_counts support_plan_counts(const support_plan *s) {
    firn_counts counts = {.tensors = s->plan.tensors_count, .state_tensors = s->plan.state_tensors};
    for (uint32_t p = 0; p < s->plan.phases_count; p++) {
        for (uint32_t i = 0; i < s->phases[p].ops_count; i++) {
            const firn_native_op *op = &s->phases[p].ops[i];
            const uint32_t operands = op->inputs_count + op->outputs_count;
            counts.ops++;
            counts.operands += operands;
            counts.integers += op->integers_count;
            counts.reals += op->reals_count;
            counts.reductions += op->reductions_count;
            if (operands > counts.widest)
                counts.widest = operands;
        }
    }
    return counts;
}

uint8_t *support_plan_write(const support_plan *s, size_t *bytes) {
    return firn_native_write(&s->plan, bytes);
}
