/* Whether this build has what a plan needs besides its ops, whose kernels execute.c looks up: a firmware may be linked
 * with less than there is (runtime/parts.h). */
#include "plan/checks/semantics_lookup.h"
#include "runtime/instance.h"
#include "runtime/numerics/numerics.h"
#include "runtime/parts.h"

/* Layers with a half type, and those with another sum than the plain one, are computed in tiles. */
static bool tiles_are_linked(void) {
    return FIRN_VECTORS != 0 || firn_linear_in_tiles != NULL;
}

static bool type_is_linked(uint8_t type) {
    return !firn_type_is_half(type) ||
           (tiles_are_linked() && firn_half_parts != NULL && firn_half_parts[type - FIRN_FLOAT16] != NULL);
}

static bool rule_is_linked(uint8_t rule) {
    if (rule == FIRN_FB_INITIALISER_RULE_WEIGHTS)
        return firn_initial_weights != NULL;
    return rule == FIRN_FB_INITIALISER_RULE_CONSTANT || firn_initialise_rules[rule - 1] != NULL;
}

static bool initialiser_is_linked(firn_fb_initialiser initialiser) {
    return type_is_linked(firn_fb_initialiser_element(initialiser)) &&
           rule_is_linked(firn_fb_initialiser_rule(initialiser));
}

/* A program that never pushes a sample is linked without the ring, and can run no plan that has one. */
static bool sampler_is_linked(firn_fb_sampler sampler) {
    return (firn_fb_sampler_pushed(sampler) == FIRN_ABSENT || firn_ring_begin != NULL) &&
           (firn_fb_sampler_unit(sampler) == FIRN_FB_SAMPLE_UNIT_RECORD || firn_windows != NULL) &&
           (firn_fb_sampler_part(sampler) == FIRN_FB_DATA_PART_ALL || firn_data_part != firn_all_data);
}

static bool sums_are_linked(firn_fb_op op) {
    const uint8_t *reductions = firn_fb_op_reductions_data(op);
    for (uint32_t i = 0; i < firn_fb_op_reductions_count(op); i++) {
        const uint8_t kind = reductions[i * sizeof(firn_fb_reduction) + offsetof(firn_fb_reduction, kind)];
        if (kind != FIRN_FB_REDUCTION_KIND_F32 && !tiles_are_linked())
            return false;
        if (firn_reduction_is_flushed(kind) &&
            (firn_op_is_convolution(firn_fb_op_code(op)) ? firn_sums_flushed == NULL : firn_product_flushed == NULL))
            return false;
    }
    return true;
}

bool firn_instance_is_linked(const firn_instance *instance) {
    const firn_fb_plan plan = instance->plan;
    uint8_t phase;
    firn_fb_op op;
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan); i++)
        if (!type_is_linked(firn_fb_tensor_type(firn_fb_plan_tensors_at(plan, i))))
            return false;
    for (uint32_t i = 0; i < firn_fb_plan_initialisers_count(plan); i++)
        if (!initialiser_is_linked(firn_fb_plan_initialisers_at(plan, i)))
            return false;
    for (uint32_t i = 0; i < firn_fb_plan_metrics_count(plan); i++)
        if (firn_metric_parts == NULL ||
            firn_metric_parts[firn_fb_metric_kind(firn_fb_plan_metrics_at(plan, i))] == NULL)
            return false;
    for (uint32_t n = 0; firn_semantics_op(plan, n, &op, &phase); n++)
        if (!sums_are_linked(op) || (phase == FIRN_FB_PHASE_KIND_COUNT && firn_batch == NULL))
            return false;
    return sampler_is_linked(firn_fb_plan_sampler(plan));
}
