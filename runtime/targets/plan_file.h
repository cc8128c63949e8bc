/* Finds the length of a plan in a flash region whose remaining bytes are erased. */
#ifndef FIRN_PLAN_FILE_H
#define FIRN_PLAN_FILE_H

#include <stdint.h>

#include "plan/bytes.h"

/* Returns the length stated in the header (bytes 16 to 23, little-endian: plan/FORMAT.md), or the region's if that is
 * less. The length need not be trusted: firn_open checks the header against the length it is given. */
static inline uint64_t firn_plan_file_bytes(const uint8_t *plan, uint64_t region_bytes) {
    uint64_t stated = firn_load64(plan + 16);
    return stated < region_bytes ? stated : region_bytes;
}

#endif
