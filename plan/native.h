/* Where the members of the native structs lie, as data: plan/builder.h writes a plan by it, and tests read one back.
 * Host only. */
#ifndef FIRN_PLAN_NATIVE_H
#define FIRN_PLAN_NATIVE_H

#include <stddef.h>
#include <stdint.h>

typedef struct firn_native_field {
    size_t offset;   /* of the member in its native struct */
    size_t extra;    /* of <member>_count (vectors) or <member>_present (structs) */
    uint64_t absent; /* bits of a scalar's default value, which is not written */
} firn_native_field;

extern const firn_native_field firn_native_fields[]; /* one entry for each entry of firn_fb_fields */
extern const size_t firn_native_bytes[];             /* size of the native struct of each entry of firn_fb_tables */

#endif
