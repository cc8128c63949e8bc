/* See support_workspace.h. */
#include "tests/unit/support_workspace.h"

#include <stdlib.h>
#include <string.h>

void support_give_workspace(firn_kernel_scratch scratch, uint16_t op, firn_kernel_call *call) {
    static void *block;
    static size_t there;
    const size_t threads = call->parallel.threads > 1 ? call->parallel.threads : 1;
    call->slot_bytes = scratch != NULL ? (size_t)(scratch(op, call) + 63) / 64 * 64 : 0;
    const size_t bytes = call->slot_bytes * threads;
    if (bytes != there) {
        free(block);
        block = bytes > 0 ? aligned_alloc(64, bytes) : NULL;
        if (bytes > 0 && block == NULL)
            abort();
        if (bytes > 0)
            memset(block, 0xa5, bytes);
        there = bytes;
    }
    call->workspace = block;
}

firn_kernel support_kernel(const firn_kernel_set *set, uint16_t op, firn_kernel_call *call) {
    const firn_kernel_choice choice = set->find(op, call->reductions);
    support_give_workspace(choice.scratch, op, call);
    return choice.run;
}
