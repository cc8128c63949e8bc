/* See plan/access.h. The functions are not inline, because a check of a plan calls them from hundreds of places. */
#include "plan/access_fields.h"

#include "plan/generated/tables.h"

/* --- records, as generated/reader.h declares them and generated/tables.c describes their members --- */

/* How a record has a vector or a string; all zero if it is absent. What pads the struct is no part of the record. */
typedef struct sequence {
    const uint8_t *first;
    uint32_t count;
} sequence;
enum { SEQUENCE_BYTES = offsetof(sequence, count) + sizeof(uint32_t) };

/* How the compiler aligns the largest scalar in a struct; on i386 that is less than its size. */
typedef struct after_byte {
    uint8_t byte;
    uint64_t number;
} after_byte;
enum { ALIGNMENT_MAX = offsetof(after_byte, number) };
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "scalars are copied as they lie in the file");

static sequence sequence_at(const uint8_t *offset) {
    if (offset == NULL)
        return (sequence){0};
    const uint8_t *count = firn_fb_follow(offset);
    return (sequence){count + 4, firn_fb_load_uint32(count)};
}

void firn_fb_read(const uint8_t *table, uint32_t type, void *record) {
    const firn_fb_table_rule *fields = &firn_fb_tables[type];
    uint8_t *to = record;
    memcpy(to, &table, sizeof table);
    uint32_t place = sizeof table;
    for (uint32_t i = 0; i < fields->field_count; i++) {
        const firn_fb_field_rule *rule = &firn_fb_fields[fields->first_field + i];
        const uint8_t *at = firn_fb_slot(table, 4 + 2 * i);
        uint32_t bytes = SEQUENCE_BYTES, alignment = _Alignof(sequence);
        sequence list;
        const void *value = &list;
        if (rule->kind == FIRN_FB_KIND_INLINE) {
            bytes = firn_fb_inlines[rule->type].bytes;
            alignment = firn_fb_inlines[rule->type].alignment;
            value = at != NULL ? (const void *)at : &firn_fb_absents[rule->value];
        } else if (rule->kind != FIRN_FB_KIND_TABLE) {
            list = sequence_at(at);
        } else {
            continue;
        }
        if (alignment < sizeof(uint32_t)) /* has 32 bits in the record */
            alignment = sizeof(uint32_t);
        if (ALIGNMENT_MAX < sizeof(uint64_t) && alignment > ALIGNMENT_MAX)
            alignment = ALIGNMENT_MAX;
        place = (place + alignment - 1) & ~(alignment - 1);
        memset(to + place, 0, sizeof(uint32_t));
        memcpy(to + place, value, bytes);
        place += bytes;
    }
}

void firn_fb_read_at(const uint8_t *offsets, uint32_t index, uint32_t type, void *record) {
    firn_fb_read(firn_fb_follow(offsets + sizeof(uint32_t) * (size_t)index), type, record);
}
