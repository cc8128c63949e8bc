/* Which minor version of the format a plan needs: the highest that brought anything the plan uses. The compiler writes
 * the number into the header; a device only compares it with its own. Host only. */
#ifndef FIRN_PLAN_NEEDS_H
#define FIRN_PLAN_NEEDS_H

#include <stdint.h>

enum {
    FIRN_SINCE_FIELD, /* a plan that has the field needs the version */
    FIRN_SINCE_LIMIT, /* a vector with more than `above` elements needs it, or a string with more bytes */
    FIRN_SINCE_VALUE  /* an enumeration with a value higher than `above` needs it */
};

/* One row of generated/since.c. */
typedef struct firn_since_mark {
    uint8_t kind;          /* FIRN_SINCE_* */
    uint16_t field;        /* row of the table of fields */
    uint16_t since;        /* the minor version; 0 ends the table */
    uint8_t offset, bytes; /* VALUE: where the enumeration lies in the scalar, struct or element, and its size */
    uint32_t above;
} firn_since_mark;

#endif
