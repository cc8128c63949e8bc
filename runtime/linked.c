/* Whether this build has what a plan needs besides its ops, whose kernels execute.c looks up: a firmware may be linked
 * with less than there is (runtime/parts.h). */
#include "runtime/instance.h"
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

bool firn_instance_is_linked(const firn_instance *instance) {
    const firn_fb_plan plan = instance->plan;
    bool linked = true;
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan); i++)
        linked &= type_is_linked(firn_fb_tensor_type(firn_fb_plan_tensors_at(plan, i)));
    for (uint32_t i = 0; i < firn_fb_plan_initialisers_count(plan); i++)
        linked &= initialiser_is_linked(firn_fb_plan_initialisers_at(plan, i));
    for (uint32_t i = 0; i < firn_fb_plan_metrics_count(plan); i++)
        linked &= firn_metric_parts[firn_fb_metric_kind(firn_fb_plan_metrics_at(plan, i))] != NULL;
    return linked;
}
