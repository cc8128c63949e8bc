/* Read access to the bytes of a verified FlatBuffers part, for generated/reader.h. There are no checks here:
 * firn_fb_verify has made them all, including alignment. Freestanding. */
#ifndef FIRN_PLAN_ACCESS_H
#define FIRN_PLAN_ACCESS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A function that only reads, so that the compiler need not call it twice. */
#define FIRN_FB_READS __attribute__((pure))

static inline uint8_t firn_fb_load_uint8(const uint8_t *at) {
    return *at;
}

static inline uint16_t firn_fb_load_uint16(const uint8_t *at) {
    uint16_t value;
    memcpy(&value, __builtin_assume_aligned(at, 2), sizeof value);
    return value;
}

static inline uint32_t firn_fb_load_uint32(const uint8_t *at) {
    uint32_t value;
    memcpy(&value, __builtin_assume_aligned(at, 4), sizeof value);
    return value;
}

static inline uint64_t firn_fb_load_uint64(const uint8_t *at) {
    uint64_t value;
    memcpy(&value, __builtin_assume_aligned(at, 8), sizeof value);
    return value;
}

static inline int8_t firn_fb_load_int8(const uint8_t *at) {
    return (int8_t)firn_fb_load_uint8(at);
}

static inline int16_t firn_fb_load_int16(const uint8_t *at) {
    return (int16_t)firn_fb_load_uint16(at);
}

static inline int32_t firn_fb_load_int32(const uint8_t *at) {
    return (int32_t)firn_fb_load_uint32(at);
}

static inline int64_t firn_fb_load_int64(const uint8_t *at) {
    return (int64_t)firn_fb_load_uint64(at);
}

static inline float firn_fb_load_float(const uint8_t *at) {
    float value;
    memcpy(&value, __builtin_assume_aligned(at, 4), sizeof value);
    return value;
}

static inline double firn_fb_load_double(const uint8_t *at) {
    double value;
    memcpy(&value, __builtin_assume_aligned(at, 8), sizeof value);
    return value;
}

/* The functions that follow are inlined in a file in which a step spends its time, unless it is optimised for size: the
 * file defines FIRN_FB_INLINE in front of its first #include. */
#if defined(FIRN_FB_INLINE) && !defined(__OPTIMIZE_SIZE__)
#    define FIRN_FB_FIELD static inline
#else
#    define FIRN_FB_FIELD
#endif

/* The address of a table's field, or NULL if the field is absent. slot is 4 + 2 * id. */
FIRN_FB_FIELD FIRN_FB_READS const uint8_t *firn_fb_slot(const uint8_t *table, uint32_t slot);

/* A scalar field of a table, or `absent` if the field is absent. There is one for each scalar type that tables use. */
FIRN_FB_FIELD FIRN_FB_READS uint8_t firn_fb_scalar_uint8(const uint8_t *table, uint32_t slot, uint8_t absent);
FIRN_FB_FIELD FIRN_FB_READS uint16_t firn_fb_scalar_uint16(const uint8_t *table, uint32_t slot, uint16_t absent);
FIRN_FB_FIELD FIRN_FB_READS uint32_t firn_fb_scalar_uint32(const uint8_t *table, uint32_t slot, uint32_t absent);
FIRN_FB_FIELD FIRN_FB_READS uint64_t firn_fb_scalar_uint64(const uint8_t *table, uint32_t slot, uint64_t absent);
FIRN_FB_FIELD FIRN_FB_READS int64_t firn_fb_scalar_int64(const uint8_t *table, uint32_t slot, int64_t absent);
FIRN_FB_FIELD FIRN_FB_READS float firn_fb_scalar_float(const uint8_t *table, uint32_t slot, float absent);

/* The string, vector or table that an offset points to. */
static inline const uint8_t *firn_fb_follow(const uint8_t *offset) {
    return offset + firn_fb_load_uint32(offset);
}

/* The number of elements of a vector or of bytes of a string; 0 if the field is absent. */
FIRN_FB_FIELD FIRN_FB_READS uint32_t firn_fb_count(const uint8_t *table, uint32_t slot);

/* The first element of a vector or the first byte of a string; NULL if the field is absent. */
FIRN_FB_FIELD FIRN_FB_READS const uint8_t *firn_fb_elements(const uint8_t *table, uint32_t slot);

/* The element at `index` of a vector that is present; `bytes` is the size of an element. */
FIRN_FB_FIELD FIRN_FB_READS const uint8_t *firn_fb_element(const uint8_t *table, uint32_t slot, uint32_t bytes,
                                                           uint32_t index);

/* The same for a vector of tables, and for one of numbers of 32 bits, which most of the vectors of an op are. */
FIRN_FB_FIELD FIRN_FB_READS const uint8_t *firn_fb_table_at(const uint8_t *table, uint32_t slot, uint32_t index);
FIRN_FB_FIELD FIRN_FB_READS uint32_t firn_fb_index_at(const uint8_t *table, uint32_t slot, uint32_t index);

/* The bytes of a string; "" if the field is absent. */
FIRN_FB_FIELD FIRN_FB_READS const char *firn_fb_text(const uint8_t *table, uint32_t slot);

/* Reads all fields of a table, of a row of firn_fb_tables, into its record of generated/reader.h. */
void firn_fb_read(const uint8_t *table, uint32_t type, void *record);

/* The same for the table at an index of a vector of tables, given the first of its offsets. */
void firn_fb_read_at(const uint8_t *offsets, uint32_t index, uint32_t type, void *record);

#if defined(FIRN_FB_INLINE) && !defined(__OPTIMIZE_SIZE__)
#    include "plan/access_fields.h"
#endif

#endif
