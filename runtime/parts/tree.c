/* When the loss of a step is there, for plans that may add their micro-batches as a tree. Reached only through
 * firn_loss_follows: a firmware without such plans leaves it out. */
#include "runtime/parts.h"

bool firn_loss_follows_in_tree(firn_fb_plan plan, uint32_t micro) {
    return firn_fb_plan_micro_batch_order(plan) == FIRN_FB_MICRO_BATCH_ORDER_TREE &&
           micro + 1 < firn_fb_plan_micro_batches(plan);
}
