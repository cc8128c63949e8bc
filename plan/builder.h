/* Writes FlatBuffers from native structs, driven by the verifier's tables and the offsets of the members. Included
 * once, by generated/writer.c. Host only: in plan/, only this file, writer.c and the files of plan/generate may
 * allocate memory.
 *
 * The bytes depend on the values alone. A table is followed by what it refers to, in the order of its fields. Within a
 * table, fields are ordered by descending alignment, then by id. Equal vtables are written once; nothing else is
 * shared. Padding is zero, and a scalar that has its default value is left out. */
#ifndef FIRN_PLAN_BUILDER_H
#define FIRN_PLAN_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plan/generated/tables.h"
#include "plan/native.h"

#define FIRN_BUILDER_FIELDS_MAX 64          /* in one table */
#define FIRN_BUILDER_BYTES_MAX  0x7fffffffu /* in one buffer */

typedef struct firn_builder {
    const firn_native_field *fields;
    const size_t *native_bytes;
    uint8_t *bytes; /* the bytes from `size` on are zero */
    uint32_t size, capacity;
    uint32_t *vtables; /* positions of the distinct vtables */
    uint32_t vtable_count;
    bool failed; /* once set, positions are meaningless and the result is NULL */
} firn_builder;

/* Extends the buffer by `lead` + `bytes` bytes so that the byte after the lead is aligned. Returns the position of the
 * lead. */
static uint32_t firn_builder_extend(firn_builder *b, uint32_t lead, uint32_t bytes, uint32_t alignment) {
    uint64_t first = ((uint64_t)b->size + lead + alignment - 1) / alignment * alignment - lead;
    uint64_t end = first + lead + bytes;
    if (b->failed || end > FIRN_BUILDER_BYTES_MAX) {
        b->failed = true;
        return 0;
    }
    if (end > b->capacity) {
        uint64_t wanted = 2 * end + 4096;
        uint8_t *grown = wanted > SIZE_MAX ? NULL : realloc(b->bytes, (size_t)wanted);
        if (grown == NULL) {
            b->failed = true;
            return 0;
        }
        memset(grown + b->capacity, 0, (size_t)(wanted - b->capacity));
        b->bytes = grown;
        b->capacity = wanted > UINT32_MAX ? UINT32_MAX : (uint32_t)wanted;
    }
    b->size = (uint32_t)end;
    return (uint32_t)first;
}

/* Writes the `bytes` low-order bytes of a value in little-endian order. */
static void firn_builder_put(firn_builder *b, uint32_t at, uint64_t value, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes && !b->failed; i++)
        b->bytes[at + i] = (uint8_t)(value >> (8 * i));
}

static void firn_builder_copy(firn_builder *b, uint32_t at, const void *bytes, size_t count) {
    if (!b->failed)
        memcpy(b->bytes + at, bytes, count);
}

/* A field of the table being written, as found in the native struct. */
typedef struct firn_builder_member {
    const firn_fb_field_rule *rule;
    const void *member; /* the value, or the pointer to it */
    const void *target; /* what an offset points to: string, elements or native struct */
    uint32_t count;     /* bytes of a string, elements of a vector */
    bool present;
    uint32_t bytes, alignment; /* within the table */
    uint32_t place;            /* offset within the table */
} firn_builder_member;

static uint64_t firn_builder_scalar_bits(const void *member, uint32_t bytes) {
    uint64_t bits = 0;
    memcpy(&bits, member, bytes); /* the host is little-endian, which firn.h requires */
    return bits;
}

static void firn_builder_read_inline(firn_builder_member *m, const firn_native_field *where, const uint8_t *native) {
    const firn_fb_inline_rule *rule = &firn_fb_inlines[m->rule->type];
    m->bytes = rule->bytes;
    m->alignment = rule->alignment;
    if (where->extra != 0)
        m->present = *(const bool *)(native + where->extra);
    else
        m->present = firn_builder_scalar_bits(m->member, rule->bytes) !=
                     (rule->bytes == 8 ? where->absent : where->absent & ((UINT64_C(1) << (8 * rule->bytes)) - 1));
}

static void firn_builder_read_offset(firn_builder_member *m, const firn_native_field *where, const uint8_t *native) {
    m->bytes = m->alignment = 4;
    memcpy(&m->target, m->member, sizeof m->target);
    if (m->target == NULL)
        return;
    if (m->rule->kind == FIRN_FB_KIND_STRING) {
        size_t length = strlen(m->target);
        m->count = length > UINT32_MAX ? UINT32_MAX : (uint32_t)length;
    } else if (m->rule->kind == FIRN_FB_KIND_TABLE) {
        m->count = 1;
    } else {
        memcpy(&m->count, native + where->extra, sizeof m->count);
    }
    m->present = m->count != 0;
}

static void firn_builder_read_member(firn_builder *b, firn_builder_member *m, uint32_t row, const uint8_t *native) {
    const firn_native_field *where = &b->fields[row];
    memset(m, 0, sizeof *m);
    m->rule = &firn_fb_fields[row];
    m->member = native + where->offset;
    if (m->rule->kind == FIRN_FB_KIND_INLINE)
        firn_builder_read_inline(m, where, native);
    else
        firn_builder_read_offset(m, where, native);
    if (!m->present && (m->rule->flags & FIRN_FB_FLAG_REQUIRED) != 0)
        b->failed = true;
    if (m->count != 0 && m->count - 1 > firn_fb_limits[m->rule->value])
        b->failed = true;
}

/* Assigns an offset to each field that is present. Returns the size of the table. */
static uint32_t firn_builder_place(firn_builder_member *members, uint32_t count) {
    uint32_t end = 4;
    for (uint32_t alignment = 8; alignment != 0; alignment /= 2)
        for (uint32_t i = 0; i < count; i++)
            if (members[i].present && members[i].alignment == alignment) {
                members[i].place = end;
                end += members[i].bytes;
            }
    return end;
}

/* Returns the position of a vtable for these fields; writes it if there is none yet. */
static uint32_t firn_builder_vtable(firn_builder *b, const firn_builder_member *members, uint32_t count,
                                    uint32_t table_bytes) {
    uint8_t vtable[4 + 2 * FIRN_BUILDER_FIELDS_MAX] = {0};
    uint32_t bytes = 4;
    if (b->failed)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        if (members[i].present) {
            bytes = 6 + 2 * i;
            vtable[4 + 2 * i] = (uint8_t)members[i].place;
            vtable[5 + 2 * i] = (uint8_t)(members[i].place >> 8);
        }
    vtable[0] = (uint8_t)bytes;
    vtable[1] = (uint8_t)(bytes >> 8);
    vtable[2] = (uint8_t)table_bytes;
    vtable[3] = (uint8_t)(table_bytes >> 8);
    for (uint32_t i = 0; i < b->vtable_count; i++)
        if (memcmp(b->bytes + b->vtables[i], vtable, 2) == 0 && memcmp(b->bytes + b->vtables[i], vtable, bytes) == 0)
            return b->vtables[i];
    uint32_t at = firn_builder_extend(b, 0, bytes, 2);
    uint32_t *grown = realloc(b->vtables, (b->vtable_count + 1) * sizeof *grown);
    if (grown == NULL) {
        b->failed = true;
        return 0;
    }
    b->vtables = grown;
    b->vtables[b->vtable_count++] = at;
    firn_builder_copy(b, at, vtable, bytes);
    return at;
}

static uint32_t firn_builder_table(firn_builder *b, uint8_t type, const void *native);

static uint32_t firn_builder_string(firn_builder *b, const firn_builder_member *m) {
    uint32_t at = firn_builder_extend(b, 4, m->count + 1, 4);
    firn_builder_put(b, at, m->count, 4);
    firn_builder_copy(b, at + 4, m->target, m->count);
    return at;
}

static uint32_t firn_builder_inline_vector(firn_builder *b, const firn_builder_member *m) {
    const firn_fb_inline_rule *rule = &firn_fb_inlines[m->rule->type];
    uint32_t at = firn_builder_extend(b, 4, m->count * rule->bytes, rule->alignment < 4 ? 4 : rule->alignment);
    firn_builder_put(b, at, m->count, 4);
    firn_builder_copy(b, at + 4, m->target, (size_t)m->count * rule->bytes);
    return at;
}

static uint32_t firn_builder_table_vector(firn_builder *b, const firn_builder_member *m) {
    uint32_t at = firn_builder_extend(b, 4, 4 * m->count, 4);
    firn_builder_put(b, at, m->count, 4);
    for (uint32_t i = 0; i < m->count && !b->failed; i++) {
        uint32_t slot = at + 4 + 4 * i;
        const uint8_t *native = (const uint8_t *)m->target + i * b->native_bytes[m->rule->type];
        uint32_t table = firn_builder_table(b, m->rule->type, native);
        firn_builder_put(b, slot, table - slot, 4);
    }
    return at;
}

static uint32_t firn_builder_child(firn_builder *b, const firn_builder_member *m) {
    switch (m->rule->kind) {
    case FIRN_FB_KIND_STRING:
        return firn_builder_string(b, m);
    case FIRN_FB_KIND_TABLE:
        return firn_builder_table(b, m->rule->type, m->target);
    case FIRN_FB_KIND_INLINE_VECTOR:
        return firn_builder_inline_vector(b, m);
    default:
        return firn_builder_table_vector(b, m);
    }
}

/* Writes a table and everything below it. Recursive; the depth is bounded by the schema (FIRN_FB_DEPTH). */
static uint32_t firn_builder_table(firn_builder *b, uint8_t type, const void *native) {
    const firn_fb_table_rule *rule = &firn_fb_tables[type];
    firn_builder_member members[FIRN_BUILDER_FIELDS_MAX];
    uint32_t widest = 4;
    for (uint32_t i = 0; i < rule->field_count; i++) {
        firn_builder_read_member(b, &members[i], rule->first_field + i, native);
        if (members[i].present && members[i].alignment > widest)
            widest = members[i].alignment;
    }
    uint32_t bytes = firn_builder_place(members, rule->field_count);
    uint32_t vtable = firn_builder_vtable(b, members, rule->field_count, bytes);
    uint32_t table = firn_builder_extend(b, 4, bytes - 4, widest);
    firn_builder_put(b, table, table - vtable, 4);
    for (uint32_t i = 0; i < rule->field_count && !b->failed; i++) {
        if (!members[i].present)
            continue;
        uint32_t at = table + members[i].place;
        if (members[i].rule->kind == FIRN_FB_KIND_INLINE)
            firn_builder_copy(b, at, members[i].member, members[i].bytes);
        else
            firn_builder_put(b, at, firn_builder_child(b, &members[i]) - at, 4);
    }
    return table;
}

/* Writes the root table. native_bytes: size of the native struct of each table, in the order of firn_fb_tables. */
static uint8_t *firn_build(const void *root, const firn_native_field *fields, const size_t *native_bytes,
                           size_t *bytes) {
    firn_builder b = {.fields = fields, .native_bytes = native_bytes};
    uint8_t *result = NULL;
    uint32_t head = firn_builder_extend(&b, 0, 8, 4);
    firn_builder_put(&b, head + 4, FIRN_FB_IDENTIFIER, 4);
    firn_builder_put(&b, head, firn_builder_table(&b, FIRN_FB_ROOT, root) - head, 4);
    if (!b.failed)
        result = aligned_alloc(64, ((size_t)b.size + 63) / 64 * 64);
    if (result != NULL) {
        memcpy(result, b.bytes, b.size);
        *bytes = b.size;
    }
    free(b.bytes);
    free(b.vtables);
    return result;
}

#endif
