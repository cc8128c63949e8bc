/* Whether this build has what a plan needs besides its ops, whose kernels execute.c looks up: a firmware may be linked
 * with less than there is (runtime/parts.h). */
#include "plan/checks/semantics_lookup.h"
#include "runtime/instance.h"
#include "runtime/numerics/numerics.h"
#include "runtime/parts.h"

static bool type_is_linked(uint8_t type) {
    return !firn_type_is_half(type) || firn_half_parts[type - FIRN_FLOAT16] != NULL;
}

static bool initialiser_is_linked(firn_fb_initialiser initialiser) {
    const uint8_t rule = firn_fb_initialiser_rule(initialiser);
    return type_is_linked(firn_fb_initialiser_element(initialiser)) &&
           (rule == FIRN_FB_INITIALISER_RULE_CONSTANT || rule == FIRN_FB_INITIALISER_RULE_WEIGHTS ||
            firn_initialise_rules[rule - FIRN_FB_INITIALISER_RULE_NORMAL] != NULL);
}

/* Whether every sum of an op is the plain one. */
static bool is_plain(firn_fb_op op) {
    bool plain = true;
    for (uint32_t i = 0; i < firn_fb_op_reductions_count(op); i++)
        plain &= firn_fb_op_reductions_at(op, i).kind == FIRN_FB_REDUCTION_KIND_F32;
    return plain;
}

/* Whether the plan has no half type and no other sum than the plain one, so that no layer is computed in tiles. */
static bool needs_no_tiles(firn_fb_plan plan) {
    bool none = true;
    uint8_t phase;
    firn_fb_op op;
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan); i++)
        none &= !firn_type_is_half(firn_fb_tensor_type(firn_fb_plan_tensors_at(plan, i)));
    for (uint32_t n = 0; firn_semantics_op(plan, n, &op, &phase); n++)
        none &= is_plain(op);
    return none;
}

bool firn_instance_is_linked(const firn_instance *instance) {
    const firn_fb_plan plan = instance->plan;
    bool linked = FIRN_VECTORS != 0 || firn_linear_in_tiles != NULL || needs_no_tiles(plan);
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan); i++)
        linked &= type_is_linked(firn_fb_tensor_type(firn_fb_plan_tensors_at(plan, i)));
    for (uint32_t i = 0; i < firn_fb_plan_initialisers_count(plan); i++)
        linked &= initialiser_is_linked(firn_fb_plan_initialisers_at(plan, i));
    for (uint32_t i = 0; i < firn_fb_plan_metrics_count(plan); i++)
        linked &= firn_metric_parts[firn_fb_metric_kind(firn_fb_plan_metrics_at(plan, i))] != NULL;
    return linked;
}
