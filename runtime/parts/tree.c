/* The order of the micro-batches of a step, for plans that may add them as a tree. Reached only through firn_adds_tree:
 * a firmware without such plans leaves it out. */
#include "runtime/parts.h"

bool firn_plan_adds_tree(firn_fb_plan plan) {
    return firn_fb_plan_micro_batch_order(plan) == FIRN_FB_MICRO_BATCH_ORDER_TREE;
}
