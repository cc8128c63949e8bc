/* Whether this build has what a plan needs besides its ops, whose kernels execute.c looks up: a firmware may be linked
 * with less than there is (runtime/parts.h). */
#include "runtime/instance.h"
#include "runtime/parts.h"

static bool initialisers_are_linked(firn_fb_plan plan) {
    for (uint32_t i = 0; i < firn_fb_plan_initialisers_count(plan); i++) {
        const uint8_t rule = firn_fb_initialiser_rule(firn_fb_plan_initialisers_at(plan, i));
        if (rule >= FIRN_FB_INITIALISER_RULE_NORMAL && rule <= FIRN_FB_INITIALISER_RULE_UNIFORM &&
            firn_initialise_rules[rule - FIRN_FB_INITIALISER_RULE_NORMAL] == NULL)
            return false;
    }
    return true;
}

static bool metrics_are_linked(firn_fb_plan plan) {
    for (uint32_t i = 0; i < firn_fb_plan_metrics_count(plan); i++)
        if (firn_metric_parts[firn_fb_metric_kind(firn_fb_plan_metrics_at(plan, i))] == NULL)
            return false;
    return true;
}

static bool type_is_linked(uint8_t type) {
    return !firn_type_is_half(type) || firn_half_parts[type - FIRN_FLOAT16] != NULL;
}

static bool types_are_linked(firn_fb_plan plan) {
    bool linked = true;
    for (uint32_t i = 0; i < firn_fb_plan_tensors_count(plan); i++)
        linked = linked && type_is_linked(firn_fb_tensor_type(firn_fb_plan_tensors_at(plan, i)));
    for (uint32_t i = 0; i < firn_fb_plan_initialisers_count(plan); i++)
        linked = linked && type_is_linked(firn_fb_initialiser_element(firn_fb_plan_initialisers_at(plan, i)));
    return linked;
}

bool firn_instance_is_linked(const firn_instance *instance) {
    return initialisers_are_linked(instance->plan) && metrics_are_linked(instance->plan) &&
           types_are_linked(instance->plan);
}
