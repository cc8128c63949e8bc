/* Repetition of a tensor along dimensions of extent 1 and over new leading ones. Freestanding. */
#include "runtime/kernels/layout/layout.h"

/* A walk over the elements of `large`; in the other tensor, which is repeated to its extents, the steps are 0 where it
 * repeats. */
static firn_walk walk_of(const firn_tensor *large, const firn_tensor *small) {
    const uint32_t lead = (uint32_t)(large->rank - small->rank);
    const firn_walk inner = firn_walk_over(small);
    firn_walk walk = firn_walk_over(large);
    for (uint32_t d = 0; d < walk.rank; d++)
        walk.from_step[d] = d < lead || small->dims[d - lead] == 1 ? 0 : inner.from_step[d - lead];
    return walk;
}

void firn_kernel_expand(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_EXPAND_IN_X];
    firn_move(call, x, walk_of(&call->outputs[FIRN_EXPAND_OUT_Y], x));
}
