/* The walk over trees of schedules, which a firmware with constants only leaves out (schedules/parts.h); nothing else
 * may be defined here. Freestanding. */
#include "schedules/parts.h"

float (*const firn_schedule_walk)(const firn_schedule_list *list, uint32_t root, uint64_t step) = firn_schedule_rounded;
