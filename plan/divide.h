/* Division of 64-bit integers. A core without an instruction for it would be linked with a function of the C compiler
 * that is larger than all that divides here. Freestanding. */
#ifndef FIRN_PLAN_DIVIDE_H
#define FIRN_PLAN_DIVIDE_H

#include <stdint.h>

/* value / by, and the remainder, which may be NULL; by is not 0. Fast if both are below 2^32. */
uint64_t firn_divide(uint64_t value, uint64_t by, uint64_t *remainder) __attribute__((noinline));

#endif
