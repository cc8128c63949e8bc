/* How long the plan is that lies in a region of flash, whose end is erased bytes. */
#ifndef FIRN_PLAN_FILE_H
#define FIRN_PLAN_FILE_H

#include <stdint.h>

#include "plan/container.h"

/* The length that the header states, or what is available when that is less: firn_open then finds the fault. */
static inline uint64_t firn_plan_file_bytes(const uint8_t *plan, uint64_t available) {
    uint64_t stated = 0;
    for (uint32_t i = 0; i < 8 && available >= FIRN_HEADER_BYTES; i++)
        stated |= (uint64_t)plan[FIRN_HEADER_TOTAL_AT + i] << (8 * i);
    return stated < available ? stated : available;
}

#endif
