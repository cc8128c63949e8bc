/* The rules of metrics, which a firmware may leave out (plan/parts.h); nothing else may be defined here. */
#include "plan/parts.h"

int (*const firn_semantics_metric)(const firn_fb_plan_record *plan, uint32_t i) = firn_semantics_check_metric;
