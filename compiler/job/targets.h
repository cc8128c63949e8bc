/* The targets of --target: what a machine can do that decides how POL is lowered. A target never changes what a plan
 * means, only what the compiler chooses to put into it. */
#ifndef FIRNC_TARGETS_H
#define FIRNC_TARGETS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct firnc_target {
    const char *name;
    uint32_t native_halves; /* bit firn_type set: multiplies and adds that half type in one instruction */
} firnc_target;

/* NULL for an unknown name. */
const firnc_target *firnc_target_find(const char *name);

/* Entry at a position, NULL behind the last: for messages that list them. */
const firnc_target *firnc_target_at(uint32_t position);

bool firnc_target_multiplies(const firnc_target *target, uint8_t type);

#endif
