/* The check of a sealed build, in the place of the semantic rules (plan/checks/semantics.c): the signature vouches for
 * them, because firnc has checked a plan before it signs. What remains keeps a plan inside the memory that this device
 * has given it: every tensor lies in its region, and every index in its list. Nothing may be checked here that the full
 * check does not check, too. Freestanding. */
#include "plan/checks/semantics.h"

#include <stddef.h>
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
        firn_fb_initialiser_read_at(plan->initialisers, i, &initialiser);
        firn_semantics_tensor(plan, i, &tensor);
        uint64_t bytes = firn_semantics_bytes(&tensor);
        if (initialiser.element != FIRN_FLOAT32)
            bytes /= 2;
        good = initialiser.rule != FIRN_FB_INITIALISER_RULE_WEIGHTS ||
               firn_semantics_is_placed(initialiser.weights, bytes, constants_bytes);
    }
    return good;
}

/* A field of the tables in a vector of the plan that is an index, and the count of the list that it is in. Offsets are
 * those of members in records. */
typedef struct index_rule {
    uint16_t vector, count, table, field, list;
} index_rule;

static const index_rule index_rules[] = {
    {offsetof(firn_fb_plan_record, inputs), offsetof(firn_fb_plan_record, inputs_count), FIRN_FB_TABLE_INPUT,
     offsetof(firn_fb_input_record, tensor), offsetof(firn_fb_plan_record, tensors_count)},
    {offsetof(firn_fb_plan_record, outputs), offsetof(firn_fb_plan_record, outputs_count), FIRN_FB_TABLE_OUTPUT,
     offsetof(firn_fb_output_record, tensor), offsetof(firn_fb_plan_record, tensors_count)},
    {offsetof(firn_fb_plan_record, schedules), offsetof(firn_fb_plan_record, schedules_count), FIRN_FB_TABLE_SCHEDULE,
     offsetof(firn_fb_schedule_record, tensor), offsetof(firn_fb_plan_record, tensors_count)},
    {offsetof(firn_fb_plan_record, schedules), offsetof(firn_fb_plan_record, schedules_count), FIRN_FB_TABLE_SCHEDULE,
     offsetof(firn_fb_schedule_record, root), offsetof(firn_fb_plan_record, schedule_nodes_count)},
    {offsetof(firn_fb_plan_record, metrics), offsetof(firn_fb_plan_record, metrics_count), FIRN_FB_TABLE_METRIC,
     offsetof(firn_fb_metric_record, sum), offsetof(firn_fb_plan_record, tensors_count)},
    {offsetof(firn_fb_plan_record, metrics), offsetof(firn_fb_plan_record, metrics_count), FIRN_FB_TABLE_METRIC,
     offsetof(firn_fb_metric_record, count), offsetof(firn_fb_plan_record, tensors_count)},
};

/* Only where samples are pushed. */
static const index_rule ring_rule = {offsetof(firn_fb_plan_record, inputs), offsetof(firn_fb_plan_record, inputs_count),
                                     FIRN_FB_TABLE_INPUT, offsetof(firn_fb_input_record, ring),
                                     offsetof(firn_fb_plan_record, tensors_count)};

/* Any of the tables in the rules. */
typedef union any_record {
    firn_fb_input_record input;
    firn_fb_output_record output;
    firn_fb_schedule_record schedule;
    firn_fb_metric_record metric;
} any_record;

static uint32_t number_in(const void *record, uint32_t offset) {
    uint32_t number;
    memcpy(&number, (const uint8_t *)record + offset, sizeof number);
    return number;
}

static bool keeps_to(const firn_fb_plan_record *plan, const index_rule *rule) {
    const uint8_t *vector;
    memcpy(&vector, (const uint8_t *)plan + rule->vector, sizeof vector);
    bool inside = true;
    for (uint32_t i = 0; i < number_in(plan, rule->count); i++) {
        any_record record;
        firn_fb_read_at(vector, i, rule->table, &record);
        inside &= number_in(&record, rule->field) < number_in(plan, rule->list);
    }
    return inside;
}

/* The tensors that the runtime fills and reads around the ops. One that a plan may lack is looked up by a function that
 * knows of that. */
static bool are_fields(const firn_fb_plan_record *plan) {
    firn_fb_sampler_record sampler;
    firn_fb_sampler_read(firn_fb_plan_sampler(plan->table), &sampler);
    bool inside = sampler.cursor < plan->tensors_count && sampler.samples != 0 &&
                  (sampler.pushed == FIRN_ABSENT || keeps_to(plan, &ring_rule)) &&
                  (sampler.counted < plan->tensors_count || sampler.epoch_end != FIRN_FB_EPOCH_END_SHORT);
    for (uint32_t i = 0; i < sizeof index_rules / sizeof index_rules[0]; i++)
        inside &= keeps_to(plan, &index_rules[i]);
    return inside;
}

uint64_t firn_semantics_scratch_bytes(const firn_counts *counts) {
    (void)counts;
    return 0; /* nothing here looks at ops or tensors together */
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
