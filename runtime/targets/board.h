/* What a board gives to the program that runs on it, in start.c and in its linker script. start.c sets up memory and
 * floating point, makes the plan's region read-only and calls main, which should not return. */
#ifndef FIRN_BOARD_H
#define FIRN_BOARD_H

#include <stdint.h>

/* The region that holds the plan, from the linker script: flash, or what stands for it. */
extern const uint8_t firn_plan_region[];
extern const uint8_t firn_plan_region_end[];

/* Called by the fault handlers with the address that was written or fetched, 0 when the processor does not know it. It
 * does not return. start.c has a weak one that stops; a product's own one resets. */
void firn_board_fault(uintptr_t address) __attribute__((noreturn));

#endif
