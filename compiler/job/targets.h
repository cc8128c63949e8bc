/* The targets of --target: the capabilities of a machine that decide how POL is lowered. A target affects only which
 * ops the compiler chooses; it never changes the meaning of a plan. */
#ifndef FIRNC_TARGETS_H
#define FIRNC_TARGETS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct firnc_target {
    const char *name;
    uint32_t native_halves; /* bit firn_type is set if one instruction multiplies and adds that half type */
} firnc_target;

/* NULL for an unknown name. */
const firnc_target *firnc_target_find(const char *name);

/* The target at a position, NULL after the last: for messages that list the targets. */
const firnc_target *firnc_target_at(uint32_t position);

bool firnc_target_multiplies(const firnc_target *target, uint8_t type);

#endif
