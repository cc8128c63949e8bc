/* Which minor version of the format a plan needs: the highest that brought anything the plan uses. The compiler writes
 * the number into the header; a device only compares it with its own. Host only. */
#ifndef FIRN_PLAN_NEEDS_H
#define FIRN_PLAN_NEEDS_H

#include <stdint.h>

#include "plan/checks/verifier.h"
#include "plan/ops.h"

/* The highest since of all that the FlatBuffers part of a plan uses, after firn_fb_verify. */
uint32_t firn_needs_minor(const uint8_t *flatbuffers);

/* The highest version among the row of an op and its first so many operands and attributes, as a plan gives them
 * (plan/generated/op_since.c). */
uint32_t firn_op_since(const firn_op_info *info, uint32_t inputs, uint32_t outputs, uint32_t integers, uint32_t reals);

/* The position of ignore_index among the integers of an op that chooses among classes by labels, or FIRN_NONE_OF_THEM.
 * Of such an op the label may be the number of classes where ignore_index is that number. */
uint8_t firn_op_ignore_index(uint16_t code);

/* --- what it is made of ------------------------------------------------------------------------------------------- */

enum {
    FIRN_SINCE_FIELD, /* a table with room for the field needs the version */
    FIRN_SINCE_LIMIT, /* a vector with more than `above` elements needs it, or a string with more bytes */
    FIRN_SINCE_VALUE  /* an enumeration, or a member of a struct, with a value higher than `above` needs it */
};

/* One row of generated/since.c. */
typedef struct firn_since_mark {
    uint8_t kind;          /* FIRN_SINCE_* */
    uint16_t field;        /* row of the table of fields */
    uint16_t since;        /* the minor version; 0 ends the table */
    uint8_t offset, bytes; /* VALUE: where the enumeration lies in the scalar, struct or element, and its size */
    uint32_t above;
} firn_since_mark;

/* The tables that describe a schema, and its marks. */
typedef struct firn_marked_schema {
    const firn_fb_table_rule *tables;
    const firn_fb_field_rule *fields;
    const firn_fb_inline_rule *inlines;
    const firn_since_mark *marks;
    uint8_t root; /* row of tables */
} firn_marked_schema;

/* The highest since of the fields, values and lengths in a buffer that the schema accepts. Tables nest at most
 * FIRN_NEEDS_DEPTH deep. */
enum { FIRN_NEEDS_DEPTH = 8 };
uint32_t firn_schema_needs(const uint8_t *flatbuffers, const firn_marked_schema *schema);

#endif
