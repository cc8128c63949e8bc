/* Finds fields of verified tables (plan/access.h). Not inline: a device has one copy of each function, not one for each
 * file that reads a plan. */
#include "plan/access.h"

const uint8_t *firn_fb_slot(const uint8_t *table, uint32_t slot) {
    const uint8_t *vtable = table - firn_fb_load_int32(table);
    if (firn_fb_load_uint16(vtable) <= slot)
        return NULL;
    uint16_t offset = firn_fb_load_uint16(vtable + slot);
    return offset == 0 ? NULL : table + offset;
}

uint8_t firn_fb_scalar_uint8(const uint8_t *table, uint32_t slot, uint8_t absent) {
    const uint8_t *at = firn_fb_slot(table, slot);
    return at == NULL ? absent : firn_fb_load_uint8(at);
}

uint16_t firn_fb_scalar_uint16(const uint8_t *table, uint32_t slot, uint16_t absent) {
    const uint8_t *at = firn_fb_slot(table, slot);
    return at == NULL ? absent : firn_fb_load_uint16(at);
}

uint32_t firn_fb_scalar_uint32(const uint8_t *table, uint32_t slot, uint32_t absent) {
    const uint8_t *at = firn_fb_slot(table, slot);
    return at == NULL ? absent : firn_fb_load_uint32(at);
}

uint64_t firn_fb_scalar_uint64(const uint8_t *table, uint32_t slot, uint64_t absent) {
    const uint8_t *at = firn_fb_slot(table, slot);
    return at == NULL ? absent : firn_fb_load_uint64(at);
}

int64_t firn_fb_scalar_int64(const uint8_t *table, uint32_t slot, int64_t absent) {
    const uint8_t *at = firn_fb_slot(table, slot);
    return at == NULL ? absent : firn_fb_load_int64(at);
}

float firn_fb_scalar_float(const uint8_t *table, uint32_t slot, float absent) {
    const uint8_t *at = firn_fb_slot(table, slot);
    return at == NULL ? absent : firn_fb_load_float(at);
}

uint32_t firn_fb_count(const uint8_t *table, uint32_t slot) {
    const uint8_t *offset = firn_fb_slot(table, slot);
    return offset == NULL ? 0 : firn_fb_load_uint32(firn_fb_follow(offset));
}

const uint8_t *firn_fb_elements(const uint8_t *table, uint32_t slot) {
    const uint8_t *offset = firn_fb_slot(table, slot);
    return offset == NULL ? NULL : firn_fb_follow(offset) + 4;
}

const char *firn_fb_text(const uint8_t *table, uint32_t slot) {
    const uint8_t *text = firn_fb_elements(table, slot);
    return text == NULL ? "" : (const char *)text;
}
