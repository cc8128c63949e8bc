/* See support_spots.h. The plans must be verified ones, since nothing is checked here. Tables nest at most three levels
 * deep. */
#include "tests/unit/support_spots.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "plan/generated/tables.h"

static uint64_t load(const uint8_t *at, uint32_t bytes) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static void store(uint8_t *at, uint64_t value, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t load32(const uint8_t *at) {
    return (uint32_t)load(at, 4);
}

uint64_t spots_load(const uint8_t *plan, const spot *spot) {
    return load(plan + spot->at, spot->bytes);
}

void spots_store(uint8_t *plan, const spot *spot, uint64_t value) {
    store(plan + spot->at, value, spot->bytes);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static const firn_fb_field_rule *rule_of(uint8_t table, uint32_t field) {
    return &firn_fb_fields[firn_fb_tables[table].first_field + field];
}

/* Returns the position of a field's entry in the vtable, or 0 if the vtable is too short. */
static uint32_t slot_of(const uint8_t *plan, uint32_t table, uint32_t field) {
    uint32_t vtable = table - load32(plan + table), slot = 4 + 2 * field;
    return slot < load(plan + vtable, 2) ? vtable + slot : 0;
}

/* Returns the position of a field, or 0 if the field is absent. */
static uint32_t field_at(const uint8_t *plan, uint32_t table, uint32_t field) {
    uint32_t slot = slot_of(plan, table, field);
    uint32_t place = slot == 0 ? 0 : (uint32_t)load(plan + slot, 2);
    return place == 0 ? 0 : table + place;
}

static uint32_t follow(const uint8_t *plan, uint32_t at) {
    return at + load32(plan + at);
}

/* Scalars are aligned to their size; no struct of the schema is. */
static bool is_scalar(const firn_fb_inline_rule *rule) {
    return rule->bytes == rule->alignment;
}

/* --- writing a plan again ----------------------------------------------------------------------------------------- */

enum { INPUT = 1, SAMPLER = 7, TENSOR = 9 };

/* The schema's defaults that are not 0. */
static const struct {
    uint8_t table, first, last; /* field ids */
    uint32_t value;
} defaults[] = {
    {FIRN_FB_ROOT, 2, 3, 1},            /* check_loss, micro_batches */
    {FIRN_FB_ROOT, 16, 23, UINT32_MAX}, /* from loss to gradient_norm */
    {INPUT, 6, 6, 0x3f800000},          /* scale */
    {INPUT, 9, 9, UINT32_MAX},          /* ring */
    {SAMPLER, 10, 11, UINT32_MAX},      /* pushed, counted */
    {TENSOR, 8, 8, UINT32_MAX},         /* base */
};

static uint64_t default_of(uint8_t table, uint32_t field) {
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++)
        if (defaults[i].table == table && defaults[i].first <= field && field <= defaults[i].last)
            return defaults[i].value;
    return 0;
}

typedef struct copying {
    const uint8_t *from;
    uint8_t *to;
    uint32_t end;
} copying;

static void align(copying *c, uint32_t alignment) {
    c->end = (c->end + alignment - 1) / alignment * alignment;
}

/* Makes the offset at `slot` refer to the current write position. */
static void lead_here(copying *c, uint32_t slot) {
    store(c->to + slot, c->end - slot, 4);
}

static void copy_table(copying *c, uint32_t from, uint8_t type, uint32_t slot);

/* Copies the string or vector that the offset at `from` refers to. */
static void copy_sequence(copying *c, uint32_t from, const firn_fb_field_rule *rule, uint32_t slot) {
    uint32_t source = follow(c->from, from), count = load32(c->from + source);
    uint32_t bytes = 4, alignment = 4;
    if (rule->kind == FIRN_FB_KIND_STRING)
        bytes = 1;
    if (rule->kind == FIRN_FB_KIND_INLINE_VECTOR) {
        bytes = firn_fb_inlines[rule->type].bytes;
        alignment = firn_fb_inlines[rule->type].alignment > 4 ? 8 : 4;
    }
    align(c, 4);
    if ((c->end + 4) % alignment != 0)
        c->end += 4;
    lead_here(c, slot);
    uint32_t first = c->end + 4;
    memcpy(c->to + c->end, c->from + source, 4 + count * bytes);
    c->end = first + count * bytes + (rule->kind == FIRN_FB_KIND_STRING ? 1 : 0); /* the terminating zero is there
                                                                                   * already */
    for (uint32_t i = 0; rule->kind == FIRN_FB_KIND_TABLE_VECTOR && i < count; i++)
        copy_table(c, follow(c->from, source + 4 + 4 * i), rule->type, first + 4 * i);
}

static void copy_table(copying *c, uint32_t from, uint8_t type, uint32_t slot) {
    uint32_t fields = firn_fb_tables[type].field_count;
    align(c, 8);
    uint32_t vtable = c->end;
    c->end += 4 + 2 * fields;
    align(c, 8);
    lead_here(c, slot);
    uint32_t table = c->end;
    c->end += 4;
    for (uint32_t i = 0; i < fields; i++) {
        const firn_fb_field_rule *rule = rule_of(type, i);
        const firn_fb_inline_rule *inlined = &firn_fb_inlines[rule->type];
        bool is_inline = rule->kind == FIRN_FB_KIND_INLINE;
        uint32_t source = field_at(c->from, from, i), bytes = is_inline ? inlined->bytes : 4;
        if (source == 0 && !(is_inline && is_scalar(inlined)))
            continue;
        align(c, is_inline ? inlined->alignment : 4);
        store(c->to + vtable + 4 + 2 * i, c->end - table, 2);
        if (source == 0)
            store(c->to + c->end, default_of(type, i), bytes);
        else if (is_inline)
            memcpy(c->to + c->end, c->from + source, bytes);
        c->end += bytes;
    }
    store(c->to + vtable, 4 + 2 * fields, 2);
    store(c->to + vtable + 2, c->end - table, 2);
    store(c->to + table, table - vtable, 4);
    for (uint32_t i = 0; i < fields; i++) {
        const firn_fb_field_rule *rule = rule_of(type, i);
        uint32_t source = field_at(c->from, from, i), target = field_at(c->to, table, i);
        if (rule->kind == FIRN_FB_KIND_INLINE || source == 0)
            continue;
        if (rule->kind == FIRN_FB_KIND_TABLE)
            copy_table(c, follow(c->from, source), rule->type, target);
        else
            copy_sequence(c, source, rule, target);
    }
}

uint8_t *spots_expand(const uint8_t *plan, uint32_t bytes, uint32_t *expanded_bytes) {
    /* The copy needs at most 16 bytes for each byte of the original. */
    copying c = {.from = plan, .to = calloc(16, bytes), .end = 8};
    if (c.to == NULL)
        abort();
    memcpy(c.to + 4, plan + 4, 4);
    copy_table(&c, follow(plan, 0), FIRN_FB_ROOT, 0);
    align(&c, 8);
    *expanded_bytes = c.end;
    return c.to;
}

/* --- finding the values ------------------------------------------------------------------------------------------- */

/* Sizes of the members of each struct of the schema, looked up by size and alignment: Reduction,
 * ScheduleInstruction, ScheduleNode. ScheduleNumber has one member and is treated as a scalar. */
static const struct {
    uint8_t size, alignment, members[12];
} structs[] = {{16, 4, {1, 1, 1, 1, 4, 4, 4}}, {16, 8, {2, 2, 4, 8}}, {72, 8, {2, 2, 2, 2, 8, 8, 8, 8, 8, 8, 8, 8}}};

typedef struct finding {
    const uint8_t *plan;
    spot *spots;
    uint32_t count, capacity;
    uint8_t table;
    uint16_t field;
} finding;

static void found(finding *f, uint32_t at, uint32_t bytes, bool only_absent) {
    if (f->count < f->capacity)
        f->spots[f->count] = (spot){.at = at,
                                    .bytes = (uint8_t)bytes,
                                    .table = f->table,
                                    .field = f->field,
                                    .only_absent = only_absent ? 1 : 0};
    f->count++;
}

static void find_inline(finding *f, uint32_t at, const firn_fb_inline_rule *rule) {
    if (is_scalar(rule)) {
        found(f, at, rule->bytes, false);
        return;
    }
    for (size_t i = 0; i < sizeof structs / sizeof structs[0]; i++) {
        if (structs[i].size != rule->bytes || structs[i].alignment != rule->alignment)
            continue;
        uint32_t end = at + rule->bytes;
        for (uint32_t j = 0; at < end; j++) {
            found(f, at, structs[i].members[j], false);
            at += structs[i].members[j];
        }
        return;
    }
    abort(); /* fails so that a struct missing above does not go untested */
}

static void find_table(finding *f, uint32_t table, uint8_t type);

static void find_field(finding *f, uint32_t at, const firn_fb_field_rule *rule) {
    if (rule->kind == FIRN_FB_KIND_INLINE) {
        find_inline(f, at, &firn_fb_inlines[rule->type]);
        return;
    }
    uint32_t target = follow(f->plan, at), count = load32(f->plan + target);
    if (rule->kind == FIRN_FB_KIND_TABLE) {
        find_table(f, target, rule->type);
        return;
    }
    found(f, target, 4, false);
    for (uint32_t i = 0; rule->kind == FIRN_FB_KIND_INLINE_VECTOR && i < count; i++)
        find_inline(f, target + 4 + i * firn_fb_inlines[rule->type].bytes, &firn_fb_inlines[rule->type]);
    for (uint32_t i = 0; rule->kind == FIRN_FB_KIND_TABLE_VECTOR && i < count; i++)
        find_table(f, follow(f->plan, target + 4 + 4 * i), rule->type);
}

static void find_table(finding *f, uint32_t table, uint8_t type) {
    for (uint32_t i = 0; i < firn_fb_tables[type].field_count; i++) {
        uint32_t at = field_at(f->plan, table, i);
        f->table = type;
        f->field = (uint16_t)i;
        if (at == 0)
            continue;
        if (rule_of(type, i)->kind != FIRN_FB_KIND_INLINE)
            found(f, slot_of(f->plan, table, i), 2, true);
        find_field(f, at, rule_of(type, i));
    }
}

uint32_t spots_find(const uint8_t *plan, spot *spots, uint32_t capacity) {
    finding f = {.plan = plan, .spots = spots, .capacity = capacity};
    find_table(&f, follow(plan, 0), FIRN_FB_ROOT);
    return f.count;
}

/* --- variants to try ---------------------------------------------------------------------------------------------- */

uint32_t spots_variant(const spot *spot, uint64_t value, uint32_t variant, uint64_t *changed) {
    const uint64_t sign = UINT64_C(1) << (8 * spot->bytes - 1), most = sign - 1 + sign;
    /* The largest and smallest floats, in case the value is a float; 1 is the smallest positive one. */
    const uint64_t large = spot->bytes == 8 ? UINT64_C(0x7fefffffffffffff) : UINT64_C(0x7f7fffff);
    const uint64_t variants[] = {
        0,         1,         most, most - 1, sign,         sign - 1,     value + 1, value - 1,  value ^ 2, value + 16,
        value / 2, 2 * value, 5,    large,    large | sign, value ^ sign, 97,        UINT32_MAX, 0x3f800000};
    const uint32_t count = spot->only_absent ? 1 : (uint32_t)(sizeof variants / sizeof variants[0]);
    if (variant < count)
        *changed = variants[variant] & most;
    return count;
}
