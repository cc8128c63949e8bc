/* See support_workspace.h. */
#include "tests/unit/support_workspace.h"

#include <stdlib.h>
#include <string.h>

void *support_workspace(const firn_kernel_set *set, uint32_t threads) {
    static void *block;
    static size_t there;
    const size_t bytes = (size_t)set->workspace_bytes * threads;
    if (bytes > there) {
        free(block);
        block = aligned_alloc(64, bytes);
        if (block == NULL)
            abort();
        memset(block, 0xa5, bytes);
        there = bytes;
    }
    return bytes > 0 ? block : NULL;
}
