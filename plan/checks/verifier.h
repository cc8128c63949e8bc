/* The FlatBuffers rules: whether a payload may be read at all. FORMAT.md gives the rules; generated/tables.c holds what
 * the schema says, as data. What the values mean is not this file's business (plan/checks/semantics.h). Freestanding.
 */
#ifndef FIRN_PLAN_VERIFIER_H
#define FIRN_PLAN_VERIFIER_H

#include <stdint.h>

/* Checks every byte that plan/generated/reader.h can reach. The buffer is aligned to FIRN_PAYLOAD_ALIGNMENT; bytes is
 * the signed length of the FlatBuffers part. Takes time in proportion to bytes, whatever they hold: nothing may be
 * shared, so nothing is visited twice. Returns FIRN_OK or one of FIRN_ERROR_SCHEMA_*; only after FIRN_OK may the reader
 * be used. */
int firn_fb_verify(const uint8_t *buffer, uint64_t bytes) __attribute__((warn_unused_result));

/* --- what generated/tables.c is made of -----------------------------------------------------------------------------
 */

enum {
    FIRN_FB_KIND_INLINE = 0,        /* a scalar or a struct; type: a row of firn_fb_inlines */
    FIRN_FB_KIND_STRING = 1,        /* type: 0 */
    FIRN_FB_KIND_TABLE = 2,         /* type: a row of firn_fb_tables */
    FIRN_FB_KIND_INLINE_VECTOR = 3, /* as INLINE */
    FIRN_FB_KIND_TABLE_VECTOR = 4   /* as TABLE */
};

enum { FIRN_FB_FLAG_REQUIRED = 1, FIRN_FB_FLAG_ASCII = 2 };

/* One field of a table; its id is its place behind firn_fb_table_rule.first_field. */
typedef struct firn_fb_field_rule {
    uint8_t kind;  /* FIRN_FB_KIND_* */
    uint8_t flags; /* FIRN_FB_FLAG_* */
    uint8_t type;
    uint32_t limit; /* most elements of a vector, most bytes of a string; 0 for the other kinds */
} firn_fb_field_rule;

typedef struct firn_fb_table_rule {
    uint16_t first_field, field_count; /* rows of firn_fb_fields */
} firn_fb_table_rule;

/* A scalar or a struct, as it lies in a table or a vector. */
typedef struct firn_fb_inline_rule {
    uint8_t bytes, alignment;
    uint8_t first_check, check_count; /* rows of firn_fb_checks */
} firn_fb_inline_rule;

enum {
    FIRN_FB_CHECK_BYTE = 0,  /* a bool or an enumeration of one byte: at most `most` */
    FIRN_FB_CHECK_SHORT = 1, /* an enumeration of two bytes: at most `most` */
    FIRN_FB_CHECK_FLOAT = 2, /* a float that is neither NaN nor infinite */
    FIRN_FB_CHECK_DOUBLE = 3 /* likewise a double */
};

typedef struct firn_fb_check {
    uint8_t offset; /* from the start of the scalar or struct */
    uint8_t kind;   /* FIRN_FB_CHECK_* */
    uint16_t most;
} firn_fb_check;

#endif
