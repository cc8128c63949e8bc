/* The rules of metrics, which a firmware may leave out (plan/parts.h); nothing else may be defined here. */
#include "plan/parts.h"

int (*const firn_semantics_metric)(firn_fb_plan plan, firn_fb_metric metric) = firn_semantics_check_metric;
