/* The check of a sealed build, in the place of the semantic rules (plan/checks/semantics.c): the signature vouches for
 * them, because firnc has checked a plan before it signs. What remains keeps a plan inside the memory that this device
 * has given it: every tensor lies in its region, and every index in its list. Nothing may be checked here that the full
 * check does not check, too. Freestanding. */
#include "plan/checks/semantics.h"

#include <string.h>

#include "plan/checks/semantics_lookup.h"
#include "plan/errors.h"
#include "schedules/schedule.h"

static bool is_tensor_index(firn_fb_plan plan, uint32_t index) {
    return index < firn_fb_plan_tensors_count(plan);
}

/* Whether a tensor lies in its region, or a view in a tensor that is not one. */
static bool is_inside(firn_fb_plan plan, firn_fb_tensor tensor, const firn_header *header) {
    const uint64_t bytes = firn_semantics_bytes(tensor), offset = firn_fb_tensor_offset(tensor);
    const uint32_t base = firn_fb_tensor_base(tensor), region = firn_fb_tensor_region(tensor);
    if (bytes == 0 || region >= header->region_count)
        return false;
    if (base == FIRN_ABSENT)
        return firn_semantics_is_placed(offset, bytes, header->region_bytes[region]);
    if (!is_tensor_index(plan, base))
        return false;
    const firn_fb_tensor whole = firn_fb_plan_tensors_at(plan, base);
    return firn_fb_tensor_base(whole) == FIRN_ABSENT && firn_fb_tensor_region(whole) == region &&
           firn_semantics_is_placed(offset, bytes, firn_semantics_bytes(whole));
}

static bool are_operands(firn_fb_plan plan, firn_fb_op op) {
    for (uint32_t i = 0; i < firn_fb_op_inputs_count(op); i++) {
        const uint32_t tensor = firn_fb_op_inputs_at(op, i);
        if (tensor != FIRN_ABSENT && !is_tensor_index(plan, tensor))
            return false;
    }
    for (uint32_t i = 0; i < firn_fb_op_outputs_count(op); i++) {
        if (!is_tensor_index(plan, firn_fb_op_outputs_at(op, i)))
            return false;
    }
    return true;
}

static bool are_initialisers(firn_fb_plan plan, uint64_t constants_bytes) {
    const uint32_t count = firn_fb_plan_initialisers_count(plan);
    if (count > firn_fb_plan_tensors_count(plan))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const firn_fb_initialiser initialiser = firn_fb_plan_initialisers_at(plan, i);
        uint64_t bytes = firn_semantics_bytes(firn_fb_plan_tensors_at(plan, i));
        if (firn_fb_initialiser_element(initialiser) != FIRN_FLOAT32)
            bytes /= 2;
        if (firn_fb_initialiser_rule(initialiser) == FIRN_FB_INITIALISER_RULE_WEIGHTS &&
            !firn_semantics_is_placed(firn_fb_initialiser_weights(initialiser), bytes, constants_bytes))
            return false;
    }
    return true;
}

/* The tensors that the runtime fills and reads around the ops. One that a plan may lack is looked up by a function that
 * knows of that. */
static bool are_fields(firn_fb_plan plan) {
    const firn_fb_sampler sampler = firn_fb_plan_sampler(plan);
    bool inside = is_tensor_index(plan, firn_fb_sampler_cursor(sampler)) && firn_fb_sampler_samples(sampler) != 0;
    for (uint32_t i = 0; i < firn_fb_plan_inputs_count(plan); i++) {
        const firn_fb_input input = firn_fb_plan_inputs_at(plan, i);
        inside &= is_tensor_index(plan, firn_fb_input_tensor(input)) &&
                  (firn_fb_sampler_pushed(sampler) == FIRN_ABSENT || is_tensor_index(plan, firn_fb_input_ring(input)));
    }
    for (uint32_t i = 0; i < firn_fb_plan_outputs_count(plan); i++)
        inside &= is_tensor_index(plan, firn_fb_output_tensor(firn_fb_plan_outputs_at(plan, i)));
    for (uint32_t i = 0; i < firn_fb_plan_schedules_count(plan); i++) {
        const firn_fb_schedule schedule = firn_fb_plan_schedules_at(plan, i);
        inside &= is_tensor_index(plan, firn_fb_schedule_tensor(schedule)) &&
                  firn_fb_schedule_root(schedule) < firn_fb_plan_schedule_nodes_count(plan);
    }
    for (uint32_t i = 0; i < firn_fb_plan_metrics_count(plan); i++) {
        const firn_fb_metric metric = firn_fb_plan_metrics_at(plan, i);
        inside &=
            is_tensor_index(plan, firn_fb_metric_sum(metric)) && is_tensor_index(plan, firn_fb_metric_count(metric));
    }
    return inside;
}

int firn_semantics_check(firn_fb_plan plan, const firn_header *header, void *scratch, uint64_t scratch_bytes) {
    (void)scratch;
    (void)scratch_bytes;
    if (firn_fb_plan_numerics_version(plan) != FIRN_NUMERICS_VERSION)
        return FIRN_ERROR_NUMERICS_VERSION;
    const firn_counts counts = firn_semantics_count(plan);
    if (memcmp(&counts, &header->counts, sizeof counts) != 0)
        return FIRN_ERROR_HEADER_MISMATCH;
    for (uint32_t i = 0; i < counts.tensors; i++) {
        if (!is_inside(plan, firn_fb_plan_tensors_at(plan, i), header))
            return FIRN_ERROR_TENSOR;
    }
    uint8_t phase;
    firn_fb_op op;
    for (uint32_t n = 0; firn_semantics_op(plan, n, &op, &phase); n++) {
        if (!are_operands(plan, op))
            return FIRN_ERROR_OP_OPERANDS;
    }
    for (uint32_t i = 0; i < firn_fb_plan_schedule_nodes_count(plan); i++) {
        if (!firn_schedule_is_linked(firn_fb_plan_schedule_nodes_at(plan, i).kind))
            return FIRN_ERROR_KERNEL_MISSING;
    }
    if (!are_fields(plan))
        return FIRN_ERROR_FIELD;
    return are_initialisers(plan, header->constants_bytes) ? FIRN_OK : FIRN_ERROR_INITIALISER;
}
