/* The functions of plan/access.h that read one field of a table: included by plan/access.c, which defines them for all
 * files, and by plan/access.h for those in which they are inlined. Freestanding. */
#ifndef FIRN_PLAN_ACCESS_FIELDS_H
#define FIRN_PLAN_ACCESS_FIELDS_H

#include "plan/access.h"

FIRN_FB_FIELD const uint8_t *firn_fb_slot(const uint8_t *table, uint32_t slot) {
    const uint8_t *vtable = table - firn_fb_load_int32(table);
    if (firn_fb_load_uint16(vtable) <= slot)
        return NULL;
    uint16_t offset = firn_fb_load_uint16(vtable + slot);
    return offset == 0 ? NULL : table + offset;
}

FIRN_FB_FIELD uint8_t firn_fb_scalar_uint8(const uint8_t *table, uint32_t slot, uint8_t absent) {
    const uint8_t *at = firn_fb_slot(table, slot);
    return at == NULL ? absent : firn_fb_load_uint8(at);
}

FIRN_FB_FIELD uint16_t firn_fb_scalar_uint16(const uint8_t *table, uint32_t slot, uint16_t absent) {
    const uint8_t *at = firn_fb_slot(table, slot);
    return at == NULL ? absent : firn_fb_load_uint16(at);
}

FIRN_FB_FIELD uint32_t firn_fb_scalar_uint32(const uint8_t *table, uint32_t slot, uint32_t absent) {
    const uint8_t *at = firn_fb_slot(table, slot);
    return at == NULL ? absent : firn_fb_load_uint32(at);
}

FIRN_FB_FIELD uint64_t firn_fb_scalar_uint64(const uint8_t *table, uint32_t slot, uint64_t absent) {
    const uint8_t *at = firn_fb_slot(table, slot);
    return at == NULL ? absent : firn_fb_load_uint64(at);
}

FIRN_FB_FIELD int64_t firn_fb_scalar_int64(const uint8_t *table, uint32_t slot, int64_t absent) {
    const uint8_t *at = firn_fb_slot(table, slot);
    return at == NULL ? absent : firn_fb_load_int64(at);
}

FIRN_FB_FIELD float firn_fb_scalar_float(const uint8_t *table, uint32_t slot, float absent) {
    const uint8_t *at = firn_fb_slot(table, slot);
    return at == NULL ? absent : firn_fb_load_float(at);
}

FIRN_FB_FIELD uint32_t firn_fb_count(const uint8_t *table, uint32_t slot) {
    const uint8_t *offset = firn_fb_slot(table, slot);
    return offset == NULL ? 0 : firn_fb_load_uint32(firn_fb_follow(offset));
}

FIRN_FB_FIELD const uint8_t *firn_fb_elements(const uint8_t *table, uint32_t slot) {
    const uint8_t *offset = firn_fb_slot(table, slot);
    return offset == NULL ? NULL : firn_fb_follow(offset) + 4;
}

FIRN_FB_FIELD const uint8_t *firn_fb_element(const uint8_t *table, uint32_t slot, uint32_t bytes, uint32_t index) {
    return firn_fb_elements(table, slot) + (size_t)bytes * index;
}

FIRN_FB_FIELD const uint8_t *firn_fb_table_at(const uint8_t *table, uint32_t slot, uint32_t index) {
    return firn_fb_follow(firn_fb_element(table, slot, 4, index));
}

FIRN_FB_FIELD uint32_t firn_fb_index_at(const uint8_t *table, uint32_t slot, uint32_t index) {
    return firn_fb_load_uint32(firn_fb_element(table, slot, 4, index));
}

FIRN_FB_FIELD const char *firn_fb_text(const uint8_t *table, uint32_t slot) {
    const uint8_t *text = firn_fb_elements(table, slot);
    return text == NULL ? "" : (const char *)text;
}

#endif
