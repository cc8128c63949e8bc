/* The FlatBuffers rules, driven by generated/tables.c. All bytes are under an attacker's control until the last check
 * has passed: values are loaded byte by byte, every bound is checked by subtraction, recursion is not allowed, and the
 * work is bounded by the length. Numbers in comments are those of the rules in FORMAT.md. */
#include "plan/checks/verifier.h"

#include <stdbool.h>

#include "plan/bytes.h"
#include "plan/container.h"
#include "plan/errors.h"
#include "plan/generated/tables.h"

#define BUFFER_BYTES_MAX 0x7fffffffu

/* A table whose fields are being checked. */
typedef struct frame {
    uint32_t table;   /* offset of the table in the buffer */
    uint32_t element; /* offset of the next element of the current vector of tables */
    uint32_t waiting; /* number of elements of this vector that have not been visited */
    uint8_t type;     /* row of firn_fb_tables */
    uint8_t child;    /* row of firn_fb_tables of the vector's elements */
    uint16_t field;   /* the next field to check */
} frame;

typedef struct verifier {
    const uint8_t *buffer;
    uint32_t bytes;
    uint32_t budget; /* bytes of tables, vectors and strings that may still be visited */
    uint32_t depth;
    frame stack[FIRN_FB_DEPTH];
} verifier;

/* Rule 3: whether `count` bytes at `at` are within the buffer. */
static bool fits(const verifier *v, uint32_t at, uint32_t count) {
    return count <= v->bytes && at <= v->bytes - count;
}

/* Rule 15: subtracts visited bytes from the budget. Nothing in a plan is shared, so a valid plan never exceeds it. */
static int spend(verifier *v, uint32_t count) {
    if (count > v->budget)
        return FIRN_ERROR_SCHEMA_BUDGET;
    v->budget -= count;
    return FIRN_OK;
}

/* Rule 4: follows the offset at `at`, which is within the buffer. */
static int follow(const verifier *v, uint32_t at, uint32_t *target) {
    uint32_t offset = firn_load32(v->buffer + at);
    if (((at | offset) & 3) != 0)
        return FIRN_ERROR_SCHEMA_ALIGNMENT;
    if (offset < 4 || offset > v->bytes - at || !fits(v, at + offset, 4))
        return FIRN_ERROR_SCHEMA_BOUNDS;
    *target = at + offset;
    return FIRN_OK;
}

/* Rules 5, 6, 7: follows an offset to a table and pushes the table on the stack. */
static int enter(verifier *v, uint32_t at, uint8_t type) {
    uint32_t table = 0;
    int status = follow(v, at, &table);
    if (status != FIRN_OK)
        return status;
    uint32_t vtable = table - firn_load32(v->buffer + table);
    if ((vtable & 1) != 0)
        return FIRN_ERROR_SCHEMA_ALIGNMENT;
    if (!fits(v, vtable, 4))
        return FIRN_ERROR_SCHEMA_BOUNDS;
    uint32_t vtable_bytes = firn_load16(v->buffer + vtable), table_bytes = firn_load16(v->buffer + vtable + 2);
    if (!fits(v, vtable, vtable_bytes) || !fits(v, table, table_bytes))
        return FIRN_ERROR_SCHEMA_BOUNDS;
    if ((vtable_bytes & 1) != 0 || vtable_bytes < 4 || table_bytes < 4 ||
        vtable_bytes > 4 + 2 * (uint32_t)firn_fb_tables[type].field_count)
        return FIRN_ERROR_SCHEMA_VTABLE;
    if (v->depth == FIRN_FB_DEPTH)
        return FIRN_ERROR_SCHEMA_BUDGET;
    v->stack[v->depth++] = (frame){.table = table, .type = type};
    return spend(v, table_bytes);
}

/* Rule 10: checks the values of a scalar or struct that is within the buffer. */
static int check_values(const uint8_t *at, const firn_fb_inline_rule *rule) {
    for (uint32_t i = 0; i < rule->check_count; i++) {
        const firn_fb_check *check = &firn_fb_checks[rule->first_check + i];
        const uint8_t *value = at + check->offset;
        bool good = false;
        if (check->kind == FIRN_FB_CHECK_BYTE)
            good = value[0] <= check->most;
        else if (check->kind == FIRN_FB_CHECK_SHORT)
            good = firn_load16(value) <= check->most;
        else if (check->kind == FIRN_FB_CHECK_FLOAT)
            good = (firn_load16(value + 2) & 0x7f80) != 0x7f80;
        else
            good = (firn_load16(value + 6) & 0x7ff0) != 0x7ff0;
        if (!good)
            return FIRN_ERROR_SCHEMA_VALUE;
    }
    return FIRN_OK;
}

/* Rule 12: checks the bytes of a string, which are within the buffer together with the byte after them. */
static int check_string(const uint8_t *text, uint32_t count, bool ascii) {
    uint8_t least = ascii ? 0x20 : 0x01, most = ascii ? 0x7e : 0xff;
    for (uint32_t i = 0; i < count; i++)
        if (text[i] < least || text[i] > most)
            return FIRN_ERROR_SCHEMA_STRING;
    return text[count] == 0 ? FIRN_OK : FIRN_ERROR_SCHEMA_STRING;
}

/* Rules 11, 12: follows the offset at `at` to a string or a vector. The tables of a vector of tables are visited
 * later. */
static int check_sequence(verifier *v, uint32_t at, const firn_fb_field_rule *rule) {
    uint32_t target = 0;
    int status = follow(v, at, &target);
    if (status != FIRN_OK)
        return status;
    const firn_fb_inline_rule *element = &firn_fb_inlines[rule->type];
    bool inlined = rule->kind == FIRN_FB_KIND_INLINE_VECTOR, text = rule->kind == FIRN_FB_KIND_STRING;
    uint32_t element_bytes = text ? 1 : inlined ? element->bytes : 4;
    uint32_t count = firn_load32(v->buffer + target), first = target + 4;
    if (count == 0 || count - 1 > firn_fb_limits[rule->value])
        return FIRN_ERROR_SCHEMA_LIMIT;
    if (count > (v->bytes - first) / element_bytes || (text && count == v->bytes - first))
        return FIRN_ERROR_SCHEMA_BOUNDS;
    status = spend(v, count * element_bytes);
    if (status != FIRN_OK)
        return status;
    if (text)
        return check_string(v->buffer + first, count, (rule->flags & FIRN_FB_FLAG_ASCII) != 0);
    if (!inlined) {
        frame *top = &v->stack[v->depth - 1];
        top->element = first;
        top->waiting = count;
        top->child = rule->type;
        return FIRN_OK;
    }
    if ((first & (element->alignment - 1u)) != 0)
        return FIRN_ERROR_SCHEMA_ALIGNMENT;
    for (uint32_t i = 0; i < count && status == FIRN_OK; i++)
        status = check_values(v->buffer + (first + i * element_bytes), element);
    return status;
}

/* Rules 8, 9: finds the next field of the table on top of the stack and checks it. */
static int check_field(verifier *v) {
    frame *top = &v->stack[v->depth - 1];
    const firn_fb_field_rule *rule = &firn_fb_fields[firn_fb_tables[top->type].first_field + top->field];
    const uint8_t *vtable = v->buffer + (top->table - firn_load32(v->buffer + top->table));
    uint32_t slot = 4 + 2 * (uint32_t)top->field++;
    uint32_t place = slot < firn_load16(vtable) ? firn_load16(vtable + slot) : 0;
    if (place == 0)
        return (rule->flags & FIRN_FB_FLAG_REQUIRED) != 0 ? FIRN_ERROR_SCHEMA_REQUIRED : FIRN_OK;

    bool inlined = rule->kind == FIRN_FB_KIND_INLINE;
    const firn_fb_inline_rule *scalar = &firn_fb_inlines[rule->type];
    uint32_t bytes = inlined ? scalar->bytes : 4, alignment = inlined ? scalar->alignment : 4;
    uint32_t table_bytes = firn_load16(vtable + 2), at = top->table + place;
    if (place < 4 || bytes > table_bytes || place > table_bytes - bytes)
        return FIRN_ERROR_SCHEMA_VTABLE;
    if ((at & (alignment - 1)) != 0)
        return FIRN_ERROR_SCHEMA_ALIGNMENT;
    if (inlined)
        return check_values(v->buffer + at, scalar);
    if (rule->kind == FIRN_FB_KIND_TABLE)
        return enter(v, at, rule->type);
    return check_sequence(v, at, rule);
}

static int check_tables(verifier *v) {
    int status = enter(v, 0, FIRN_FB_ROOT);
    while (status == FIRN_OK && v->depth != 0) {
        frame *top = &v->stack[v->depth - 1];
        if (top->waiting != 0) { /* rule 13 */
            top->waiting--;
            top->element += 4;
            status = enter(v, top->element - 4, top->child);
        } else if (top->field == firn_fb_tables[top->type].field_count) {
            v->depth--;
        } else {
            status = check_field(v);
        }
    }
    return status;
}

int firn_fb_verify(const uint8_t *buffer, uint64_t bytes) {
    if (((uintptr_t)buffer & (FIRN_PAYLOAD_ALIGNMENT - 1)) != 0) /* rule 1 */
        return FIRN_ERROR_SCHEMA_ALIGNMENT;
    if (bytes < 8 || bytes > BUFFER_BYTES_MAX)
        return FIRN_ERROR_SCHEMA_BOUNDS;
    if (firn_load32(buffer + 4) != FIRN_FB_IDENTIFIER) /* rule 2 */
        return FIRN_ERROR_SCHEMA_IDENTIFIER;
    if (firn_load32(buffer) < 8) /* rule 4: the root table follows the identifier */
        return FIRN_ERROR_SCHEMA_BOUNDS;
    verifier v = {.buffer = buffer, .bytes = (uint32_t)bytes, .budget = (uint32_t)bytes};
    return check_tables(&v);
}
