/* The check of a sealed build, in the place of the semantic rules (plan/checks/semantics.c): the signature vouches for
 * them, because firnc has checked a plan before it signs. What remains keeps a plan inside the memory that this device
 * has given it: every tensor lies in its region, and every index in its list. Nothing may be checked here that the full
 * check does not check, too. Freestanding. */
#include "plan/checks/semantics.h"

#include <string.h>

#include "plan/checks/semantics_lookup.h"
#include "plan/errors.h"
#include "schedules/schedule.h"

/* Whether a tensor lies in its region, or a view in a tensor that is not one. */
static bool is_inside(const firn_fb_plan_record *plan, uint32_t index, const firn_header *header) {
    firn_fb_tensor_record tensor, whole;
    firn_semantics_tensor(plan, index, &tensor);
    const uint64_t bytes = firn_semantics_bytes(&tensor);
    if (bytes == 0 || tensor.region >= header->region_count)
        return false;
    if (tensor.base == FIRN_ABSENT)
        return firn_semantics_is_placed(tensor.offset, bytes, header->region_bytes[tensor.region]);
    if (tensor.base >= plan->tensors_count)
        return false;
    firn_semantics_tensor(plan, tensor.base, &whole);
    return whole.base == FIRN_ABSENT && whole.region == tensor.region &&
           firn_semantics_is_placed(tensor.offset, bytes, firn_semantics_bytes(&whole));
}

static bool are_tensors(const firn_fb_plan_record *plan, const uint32_t *operands, uint32_t count) {
    bool good = true;
    for (uint32_t i = 0; i < count; i++)
        good &= operands[i] < plan->tensors_count;
    return good;
}

/* An input may be absent. */
static bool are_operands(const firn_fb_plan_record *plan, const firn_fb_op_record *op) {
    bool good = are_tensors(plan, op->outputs, op->outputs_count);
    for (uint32_t i = 0; i < op->inputs_count; i++)
        good &= op->inputs[i] == FIRN_ABSENT || op->inputs[i] < plan->tensors_count;
    return good;
}

static bool are_initialisers(const firn_fb_plan_record *plan, uint64_t constants_bytes) {
    firn_fb_initialiser_record initialiser;
    firn_fb_tensor_record tensor;
    bool good = plan->initialisers_count <= plan->tensors_count;
    for (uint32_t i = 0; good && i < plan->initialisers_count; i++) {
        firn_fb_initialiser_read(firn_fb_plan_initialisers_at(plan->table, i), &initialiser);
        firn_semantics_tensor(plan, i, &tensor);
        uint64_t bytes = firn_semantics_bytes(&tensor);
        if (initialiser.element != FIRN_FLOAT32)
            bytes /= 2;
        good = initialiser.rule != FIRN_FB_INITIALISER_RULE_WEIGHTS ||
               firn_semantics_is_placed(initialiser.weights, bytes, constants_bytes);
    }
    return good;
}

/* The tensors that the runtime fills and reads around the ops. One that a plan may lack is looked up by a function that
 * knows of that. */
static bool are_fields(const firn_fb_plan_record *plan) {
    const uint32_t tensors = plan->tensors_count;
    firn_fb_sampler_record sampler;
    firn_fb_sampler_read(firn_fb_plan_sampler(plan->table), &sampler);
    bool inside = sampler.cursor < tensors && sampler.samples != 0;
    for (uint32_t i = 0; i < plan->inputs_count; i++) {
        const firn_fb_input input = firn_fb_plan_inputs_at(plan->table, i);
        inside &= firn_fb_input_tensor(input) < tensors &&
                  (sampler.pushed == FIRN_ABSENT || firn_fb_input_ring(input) < tensors);
    }
    for (uint32_t i = 0; i < plan->outputs_count; i++)
        inside &= firn_fb_output_tensor(firn_fb_plan_outputs_at(plan->table, i)) < tensors;
    for (uint32_t i = 0; i < plan->schedules_count; i++) {
        const firn_fb_schedule schedule = firn_fb_plan_schedules_at(plan->table, i);
        inside &=
            firn_fb_schedule_tensor(schedule) < tensors && firn_fb_schedule_root(schedule) < plan->schedule_nodes_count;
    }
    for (uint32_t i = 0; i < plan->metrics_count; i++) {
        const firn_fb_metric metric = firn_fb_plan_metrics_at(plan->table, i);
        inside &= firn_fb_metric_sum(metric) < tensors && firn_fb_metric_count(metric) < tensors;
    }
    return inside;
}

int firn_semantics_check(firn_fb_plan table, const firn_header *header, void *scratch, uint64_t scratch_bytes) {
    (void)scratch;
    (void)scratch_bytes;
    firn_fb_plan_record plan;
    firn_fb_plan_read(table, &plan);
    if (plan.numerics_version != FIRN_NUMERICS_VERSION)
        return FIRN_ERROR_NUMERICS_VERSION;
    const firn_counts counts = firn_semantics_count(table);
    if (memcmp(&counts, &header->counts, sizeof counts) != 0)
        return FIRN_ERROR_HEADER_MISMATCH;
    for (uint32_t i = 0; i < plan.tensors_count; i++) {
        if (!is_inside(&plan, i, header))
            return FIRN_ERROR_TENSOR;
    }
    uint8_t phase;
    firn_fb_op_record op;
    for (uint32_t n = 0; firn_semantics_read_op(&plan, n, &op, &phase); n++) {
        if (!are_operands(&plan, &op))
            return FIRN_ERROR_OP_OPERANDS;
    }
    for (uint32_t i = 0; i < plan.schedule_nodes_count; i++) {
        if (!firn_schedule_is_linked(plan.schedule_nodes[i].kind))
            return FIRN_ERROR_KERNEL_MISSING;
    }
    if (!are_fields(&plan))
        return FIRN_ERROR_FIELD;
    return are_initialisers(&plan, header->constants_bytes) ? FIRN_OK : FIRN_ERROR_INITIALISER;
}
