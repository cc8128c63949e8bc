/* Trees of schedules, which a firmware with constants only leaves out (schedules/parts.h); nothing else may be defined
 * here. Freestanding. */
#include "schedules/parts.h"

const firn_schedule_tree_part firn_schedule_trees = {firn_schedule_rounded, firn_schedule_is_in_tree};
