/* How long the plan is that lies in a region of flash, whose end is erased bytes. */
#ifndef FIRN_PLAN_FILE_H
#define FIRN_PLAN_FILE_H

#include <stdint.h>

#include "plan/bytes.h"

/* The length that the header states (bytes 16 to 23, little-endian: plan/FORMAT.md), or the region's when that is less.
 * Nothing is trusted by this: firn_open checks the header against the length that it is given. */
static inline uint64_t firn_plan_file_bytes(const uint8_t *plan, uint64_t region_bytes) {
    uint64_t stated = firn_load64(plan + 16);
    return stated < region_bytes ? stated : region_bytes;
}

#endif
