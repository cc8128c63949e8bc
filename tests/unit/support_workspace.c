/* See support_workspace.h. */
#include "tests/unit/support_workspace.h"
#include "tests/unit/support_test.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, IN_SLOT = 0xa5, IN_GUARD = 0x5a };

/* The block, and the slots of the last call: the first `used` bytes of each are the kernel's, the rest is its guard. */
static uint8_t *block;
static size_t block_bytes, slots, slot_bytes, used;

static void provide_block(size_t bytes) {
    if (bytes == block_bytes)
        return;
    free(block);
    block = bytes > 0 ? aligned_alloc(64, bytes) : NULL;
    if (bytes > 0 && block == NULL)
        abort();
    if (bytes > 0)
        memset(block, IN_SLOT, bytes);
    block_bytes = bytes;
}

void support_give_workspace(firn_kernel_scratch scratch, uint16_t op, test_call *call) {
    support_check_workspace();
    const firn_kernel_call view = test_call_view(call);
    used = scratch != NULL ? (size_t)scratch(op, &view) : 0;
    if (used % sizeof(float) != 0)
        fail_msg("a kernel of op %u asks for %zu bytes, which are no whole floats", (unsigned)op, used);
    slots = call->parallel.threads > 1 ? call->parallel.threads : 1;
    slot_bytes = used > 0 ? (used + 63) / 64 * 64 + GUARD : 0;
    provide_block(slots * slot_bytes);
    for (size_t i = 0; i < slots && used > 0; i++)
        memset(block + i * slot_bytes + used, IN_GUARD, slot_bytes - used);
    call->workspace = block;
    call->slot_bytes = slot_bytes;
}

void support_check_workspace(void) {
    for (size_t slot = 0; slot < slots; slot++)
        for (size_t i = used; i < slot_bytes; i++)
            if (block[slot * slot_bytes + i] != IN_GUARD)
                fail_msg("a kernel wrote to byte %zu of slot %zu of %zu, but asked for %zu bytes", i, slot, slots,
                         used);
}

firn_kernel support_kernel(const firn_kernel_set *set, uint16_t op, test_call *call) {
    const firn_kernel_choice choice = set->find(op, call->reductions);
    call->kernels = set;
    support_give_workspace(choice.scratch, op, call);
    return choice.run;
}
