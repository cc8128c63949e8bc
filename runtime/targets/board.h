/* The interface between a board (start.c and its linker script) and the program that runs on it. start.c sets up memory
 * and floating point, makes the plan's region read-only and calls main, which should not return. */
#ifndef FIRN_BOARD_H
#define FIRN_BOARD_H

#include <stdint.h>

/* The region that holds the plan, defined by the linker script: flash, or memory that takes its place. */
extern const uint8_t firn_plan_region[];
extern const uint8_t firn_plan_region_end[];

/* Called by the fault handlers with the address that was written or fetched, or 0 if the processor does not report it.
 * Must not return. start.c has a weak default that stops the processor; a product defines its own, which resets. */
void firn_board_fault(uintptr_t address) __attribute__((noreturn));

#endif
