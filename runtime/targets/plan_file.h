/* How long the plan is that lies in a region of flash, whose end is erased bytes. */
#ifndef FIRN_PLAN_FILE_H
#define FIRN_PLAN_FILE_H

#include <stdint.h>

/* The length that the header states (bytes 16 to 23, little-endian: plan/FORMAT.md), or the region's when that is less.
 * Nothing is trusted by this: firn_open checks the header against the length that it is given. */
static inline uint64_t firn_plan_file_bytes(const uint8_t *plan, uint64_t region_bytes) {
    uint64_t stated = 0;
    for (uint32_t i = 0; i < 8; i++)
        stated |= (uint64_t)plan[16 + i] << (8 * i);
    return stated < region_bytes ? stated : region_bytes;
}

#endif
