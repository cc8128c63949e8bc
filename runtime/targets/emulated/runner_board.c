/* What the emulated runner has of its board: main, the plan's region, the blocks, the public key, faults and the stack.
 * The other functions of system.h are in semihosting.c. */
#include "runtime/targets/board.h"
#include "runtime/targets/emulated/system.h"

/* Defined by the linker script and by the build. */
extern uint8_t firn_blocks[], firn_blocks_end[];
extern const uint8_t firn_public_key[64];

int main(void);

const uint8_t *firn_system_plan(uint64_t *bytes) {
    *bytes = (uint64_t)((uintptr_t)firn_plan_region_end - (uintptr_t)firn_plan_region);
    return firn_plan_region;
}

const uint8_t *firn_system_public_key(void) {
    return firn_public_key;
}

void *firn_system_blocks(uint64_t *bytes) {
    *bytes = (uint64_t)((uintptr_t)firn_blocks_end - (uintptr_t)firn_blocks);
    return firn_blocks;
}

void firn_board_fault(uintptr_t address) {
    firn_runner_fault(address);
}

int main(void) {
    firn_system_exit(firn_runner());
}

/* --- the stack --- */

/* The linker scripts reserve 32 KiB for the stack; the callers of the runner have used little of it. */
enum { PAINTED_BYTES = 24 * 1024, PAINT = 0xa5, OWN_FRAME = 128 };

/* A leaf without a frame, so its stack pointer is its caller's. */
__attribute__((noinline)) uintptr_t firn_system_stack_pointer(void) {
    uintptr_t pointer;
#if defined(__arm__)
    __asm__ volatile("mov %0, sp" : "=r"(pointer));
#else
    __asm__ volatile("mv %0, sp" : "=r"(pointer));
#endif
    return pointer;
}

__attribute__((noinline)) void firn_system_paint_stack(uintptr_t top) {
    volatile uint8_t *bytes = (volatile uint8_t *)(top - PAINTED_BYTES);
    for (size_t i = 0; i < PAINTED_BYTES - OWN_FRAME; i++)
        bytes[i] = PAINT;
}

uint32_t firn_system_painted_stack_used(uintptr_t top) {
    const volatile uint8_t *bytes = (const volatile uint8_t *)(top - PAINTED_BYTES);
    uint32_t free = 0;
    while (free < PAINTED_BYTES - OWN_FRAME && bytes[free] == PAINT)
        free++;
    return PAINTED_BYTES - free;
}
