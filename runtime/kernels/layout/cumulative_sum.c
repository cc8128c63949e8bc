/* Sums along a dimension of the elements up to each of them. Freestanding. */
#include "runtime/kernels/layout/layout.h"

/* x and y are [outer,extent,inner]. A task is a block of neighbours of one position before the axis; their sums are
 * computed side by side, and an element is read before its place is written, which may be the same. */
static void sum_blocks_along(void *argument, size_t begin, size_t end) {
    const firn_kernel_call *call = argument;
    const firn_tensor *x = &call->inputs[FIRN_CUMULATIVE_SUM_IN_X], *y = &call->outputs[FIRN_CUMULATIVE_SUM_OUT_Y];
    const size_t axis = (size_t)call->integers[FIRN_CUMULATIVE_SUM_AXIS], extent = x->dims[axis];
    const size_t inner = firn_extents(x, axis + 1, x->rank), blocks = firn_blocks(inner);
    float sum[FIRN_BLOCK], term[FIRN_BLOCK];
    for (size_t task = begin; task < end; task++) {
        const size_t done = task % blocks * FIRN_BLOCK, count = firn_smaller(FIRN_BLOCK, inner - done);
        for (size_t i = 0; i < count; i++)
            sum[i] = 0.0f;
        for (size_t k = 0; k < extent; k++) {
            const size_t row = call->integers[FIRN_CUMULATIVE_SUM_REVERSE] == 1 ? extent - 1 - k : k;
            const size_t at = (task / blocks * extent + row) * inner + done;
            firn_widen(term, x->data, x->type, at, count);
            if (call->integers[FIRN_CUMULATIVE_SUM_EXCLUSIVE] == 1)
                firn_narrow(y->data, y->type, at, sum, count);
            for (size_t i = 0; i < count; i++)
                sum[i] += term[i];
            if (call->integers[FIRN_CUMULATIVE_SUM_EXCLUSIVE] == 0)
                firn_narrow(y->data, y->type, at, sum, count);
        }
    }
}

void firn_kernel_cumulative_sum(const firn_kernel_call *call) {
    const firn_tensor *x = &call->inputs[FIRN_CUMULATIVE_SUM_IN_X];
    const size_t axis = (size_t)call->integers[FIRN_CUMULATIVE_SUM_AXIS];
    const size_t inner = firn_extents(x, axis + 1, x->rank), tasks = firn_extents(x, 0, axis) * firn_blocks(inner);
    firn_split(call, tasks, (uint64_t)x->dims[axis] * 4 * firn_smaller(FIRN_BLOCK, inner), sum_blocks_along);
}
