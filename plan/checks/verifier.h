/* The FlatBuffers rules, which decide whether a payload can be read safely. FORMAT.md gives the rules;
 * generated/tables.c holds the schema as data. The meaning of the values is checked elsewhere
 * (plan/checks/semantics.h). Freestanding. */
#ifndef FIRN_PLAN_VERIFIER_H
#define FIRN_PLAN_VERIFIER_H

#include <stdint.h>

/* Checks every byte that plan/generated/reader.h can reach. The buffer is aligned to FIRN_PAYLOAD_ALIGNMENT; `bytes` is
 * the signed length of the FlatBuffers part. The time is proportional to `bytes` whatever the contents, because nothing
 * may be shared and so nothing is visited twice. Returns FIRN_OK or one of FIRN_ERROR_SCHEMA_*; the reader may be used
 * only after FIRN_OK. */
int firn_fb_verify(const uint8_t *buffer, uint64_t bytes) __attribute__((warn_unused_result));

/* --- what generated/tables.c is made of --------------------------------------------------------------------------- */

enum {
    FIRN_FB_KIND_INLINE = 0,        /* a scalar or a struct; type: a row of firn_fb_inlines */
    FIRN_FB_KIND_STRING = 1,        /* type: 0 */
    FIRN_FB_KIND_TABLE = 2,         /* type: a row of firn_fb_tables */
    FIRN_FB_KIND_INLINE_VECTOR = 3, /* as INLINE */
    FIRN_FB_KIND_TABLE_VECTOR = 4   /* as TABLE */
};

enum { FIRN_FB_FLAG_REQUIRED = 1, FIRN_FB_FLAG_ASCII = 2 };

/* One field of a table, in two bytes. Its id is its index relative to firn_fb_table_rule.first_field. */
typedef struct __attribute__((packed, aligned(2))) firn_fb_field_rule {
    unsigned kind : 3;  /* FIRN_FB_KIND_* */
    unsigned flags : 2; /* FIRN_FB_FLAG_* */
    unsigned type : 5;  /* as FIRN_FB_KIND_* says */
    unsigned value : 6; /* vectors and strings: the row of firn_fb_limits with the most elements or bytes, less 1;
                         * scalars: the row of firn_fb_absents with the bits of the default */
} firn_fb_field_rule;

typedef struct firn_fb_table_rule {
    uint16_t first_field, field_count; /* rows of firn_fb_fields */
} firn_fb_table_rule;

/* A scalar or a struct, as stored in a table or a vector. */
typedef struct firn_fb_inline_rule {
    uint8_t bytes, alignment;
    uint8_t first_check, check_count; /* rows of firn_fb_checks */
} firn_fb_inline_rule;

enum {
    FIRN_FB_CHECK_BYTE = 0,  /* a bool or an enumeration of one byte: no larger than `most` */
    FIRN_FB_CHECK_SHORT = 1, /* an enumeration of two bytes: no larger than `most` */
    FIRN_FB_CHECK_FLOAT = 2, /* a float that is neither NaN nor infinite */
    FIRN_FB_CHECK_DOUBLE = 3 /* a double that is neither NaN nor infinite */
};

typedef struct firn_fb_check {
    uint8_t offset; /* from the start of the scalar or struct */
    uint8_t kind;   /* FIRN_FB_CHECK_* */
    uint16_t most;
} firn_fb_check;

#endif
