/* Finds the length of a plan in a flash region whose remaining bytes are erased. */
#ifndef FIRN_PLAN_FILE_H
#define FIRN_PLAN_FILE_H

#include <stdint.h>

#include "plan/bytes.h"

/* Returns the length of the plan without its report, which a device does not read and need not store: the end of the
 * constants, whose offset and length are bytes 224 to 239 of the header (plan/FORMAT.md); or the length of the region
 * if that is less. The numbers need not be trusted: firn_open checks the header against the length it is given. */
static inline uint64_t firn_plan_file_bytes(const uint8_t *plan, uint64_t region_bytes) {
    uint64_t offset = firn_load64(plan + 224), constants = firn_load64(plan + 232);
    return offset <= region_bytes && constants <= region_bytes - offset ? offset + constants : region_bytes;
}

#endif
