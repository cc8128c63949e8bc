/* See support_native_plan.h. */
#include "tests/unit/support_native_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/access.h"
#include "plan/generated/tables.h"
#include "plan/native.h"
#include "tests/unit/support_test.h"

/* --- the listing of the schema ------------------------------------------------------------------------------------ */

enum { CLASSES_MAX = 512, FIELDS_MAX = 256, TYPES_MAX = 64, MEMBERS_MAX = 128 };

/* A named type: a scalar, an enumeration, or a struct with its members. */
typedef struct type {
    char name[32];
    native_kind kind;
    uint8_t bytes;
    uint64_t most;
    uint16_t first_member, member_count; /* of a struct; 0 members: a scalar */
} type;

typedef struct member {
    char name[32], type[32];
    uint8_t offset;
} member;

typedef struct listing {
    type types[TYPES_MAX];
    member members[MEMBERS_MAX];
    char table[FIELDS_MAX][32], field[FIELDS_MAX][32], field_type[FIELDS_MAX][32]; /* rows of firn_fb_fields */
    uint32_t type_count, member_count, field_count;
    native_class classes[CLASSES_MAX];
    uint32_t class_count;
    uint16_t first_class[FIELDS_MAX]; /* of each field */
} listing;

static listing schema;

static void add_scalar(const char *name, native_kind kind, uint8_t bytes, uint64_t most) {
    type *added = &schema.types[schema.type_count++];
    assert_true(schema.type_count < TYPES_MAX);
    *added = (type){.kind = kind, .bytes = bytes, .most = most};
    snprintf(added->name, sizeof added->name, "%s", name);
}

static const type *find_type(const char *name) {
    for (uint32_t i = 0; i < schema.type_count; i++)
        if (strcmp(schema.types[i].name, name) == 0)
            return &schema.types[i];
    return NULL;
}

static void add_scalars(void) {
    static const struct {
        const char *name;
        native_kind kind;
        uint8_t bytes;
    } scalars[] = {{"int8", NATIVE_SIGNED, 1},     {"int16", NATIVE_SIGNED, 2},    {"int32", NATIVE_SIGNED, 4},
                   {"int64", NATIVE_SIGNED, 8},    {"uint8", NATIVE_UNSIGNED, 1},  {"uint16", NATIVE_UNSIGNED, 2},
                   {"uint32", NATIVE_UNSIGNED, 4}, {"uint64", NATIVE_UNSIGNED, 8}, {"float", NATIVE_FLOAT, 4},
                   {"double", NATIVE_DOUBLE, 8},   {"string", NATIVE_TEXT, 1}};
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++)
        add_scalar(scalars[i].name, scalars[i].kind, scalars[i].bytes, UINT64_MAX >> (64 - 8 * scalars[i].bytes));
    add_scalar("bool", NATIVE_CHOICE, 1, 1);
}

/* Reads a line of plan/generated/schema.txt, which plan/FORMAT.md describes. */
static void read_line(const char *line) {
    static char owner[32];
    static bool in_struct, in_enum;
    char name[32], word[48];
    unsigned number;
    if (line[0] != ' ') {
        in_struct = sscanf(line, "struct %31s", owner) == 1;
        in_enum = sscanf(line, "enum %31s %47s", owner, word) == 2;
        if (in_enum)
            add_scalar(owner, NATIVE_CHOICE, find_type(word)->bytes, 0);
        else if (in_struct) {
            add_scalar(owner, NATIVE_UNSIGNED, 0, 0);
            schema.types[schema.type_count - 1].first_member = (uint16_t)schema.member_count;
        } else
            (void)sscanf(line, "table %31s", owner);
        return;
    }
    assert_true(sscanf(line, " %u %31s %47s", &number, name, word) >= 2);
    if (in_enum) {
        schema.types[schema.type_count - 1].most = number;
    } else if (in_struct) {
        member *added = &schema.members[schema.member_count++];
        assert_true(schema.member_count < MEMBERS_MAX);
        schema.types[schema.type_count - 1].member_count++;
        added->offset = (uint8_t)number;
        snprintf(added->name, sizeof added->name, "%s", name);
        snprintf(added->type, sizeof added->type, "%.31s", word);
    } else {
        uint32_t at = schema.field_count++;
        assert_true(schema.field_count < FIELDS_MAX);
        snprintf(schema.table[at], sizeof schema.table[at], "%s", owner);
        snprintf(schema.field[at], sizeof schema.field[at], "%s", name);
        size_t length = strlen(word), bracket = word[0] == '[' ? 1 : 0;
        snprintf(schema.field_type[at], sizeof schema.field_type[at], "%.*s", (int)(length - 2 * bracket),
                 word + bracket);
    }
}

static native_class *add_class(uint32_t row, const char *of_member, const type *scalar, uint8_t offset) {
    native_class *added = &schema.classes[schema.class_count++];
    assert_true(schema.class_count < CLASSES_MAX);
    memcpy(added->table, schema.table[row], sizeof added->table);
    memcpy(added->field, schema.field[row], sizeof added->field);
    snprintf(added->member, sizeof added->member, "%s", of_member);
    if (scalar != NULL) {
        added->kind = scalar->kind;
        added->bytes = scalar->bytes;
        added->most = scalar->most;
    }
    added->offset = offset;
    return added;
}

/* The first class of a field stands for its vector or table; those of its scalars follow. */
static void add_classes(uint32_t row) {
    schema.first_class[row] = (uint16_t)schema.class_count;
    const type *of = find_type(schema.field_type[row]);
    add_class(row, "", of, 0);
    for (uint16_t i = 0; of != NULL && i < of->member_count; i++) {
        const member *m = &schema.members[of->first_member + i];
        add_class(row, m->name, find_type(m->type), m->offset);
    }
}

static void read_schema(void) {
    char line[256];
    if (schema.class_count != 0)
        return;
    FILE *file = fopen("plan/generated/schema.txt", "r");
    assert_non_null(file);
    add_scalars();
    for (int i = 0; fgets(line, sizeof line, file) != NULL; i++)
        if (i >= 3) /* the lines before it name the listing, the identifier and the root */
            read_line(line);
    fclose(file);
    for (uint32_t row = 0; row < schema.field_count; row++)
        add_classes(row);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

typedef struct block {
    struct block *next;
    size_t used;
    _Alignas(16) uint8_t bytes[1 << 16];
} block;

void *native_plan_memory(native_plan *native, size_t bytes) {
    block *last = native->blocks;
    size_t wanted = (bytes + 15) / 16 * 16;
    if (last == NULL || wanted > sizeof last->bytes - last->used) {
        size_t room = wanted > sizeof last->bytes ? wanted : sizeof last->bytes;
        block *added = calloc(1, offsetof(block, bytes) + room);
        assert_non_null(added);
        added->next = last;
        native->blocks = last = added;
    }
    last->used += wanted;
    return last->bytes + (last->used - wanted);
}

void native_plan_free(native_plan *native) {
    for (block *at = native->blocks, *next; at != NULL; at = next) {
        next = at->next;
        free(at);
    }
    free(native->spots);
    free(native->lists);
    free(native->options);
    *native = (native_plan){0};
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static void read_table(native_plan *native, const uint8_t *table, uint32_t type, uint8_t *to);

enum { BEFORE_LIST = 16 }; /* bytes before the elements of a list, of which the first four hold its capacity */

void *native_list_memory(native_plan *native, uint32_t capacity, size_t element_bytes) {
    uint8_t *memory = native_plan_memory(native, BEFORE_LIST + capacity * element_bytes);
    memcpy(memory, &capacity, sizeof capacity);
    return memory + BEFORE_LIST;
}

/* Follows the offset at the position of the field; NULL: the field is absent. */
static void *read_sequence(native_plan *native, const uint8_t *at, const firn_fb_field_rule *rule, uint32_t *count) {
    const uint8_t *sequence = firn_fb_follow(at);
    *count = firn_fb_load_uint32(sequence);
    if (rule->kind == FIRN_FB_KIND_STRING) {
        char *text = native_plan_memory(native, *count + 1);
        memcpy(text, sequence + 4, *count);
        return text;
    }
    size_t bytes =
        rule->kind == FIRN_FB_KIND_TABLE_VECTOR ? firn_native_bytes[rule->type] : firn_fb_inlines[rule->type].bytes;
    uint8_t *elements = native_list_memory(native, *count + NATIVE_SPARE, bytes);
    if (rule->kind == FIRN_FB_KIND_INLINE_VECTOR)
        memcpy(elements, sequence + 4, *count * bytes);
    for (uint32_t i = 0; rule->kind == FIRN_FB_KIND_TABLE_VECTOR && i < *count; i++)
        read_table(native, firn_fb_follow(sequence + 4 + 4 * i), rule->type, elements + i * bytes);
    return elements;
}

static void read_field(native_plan *native, const uint8_t *at, uint32_t row, uint8_t *to) {
    const firn_fb_field_rule *rule = &firn_fb_fields[row];
    const firn_native_field *where = &firn_native_fields[row];
    uint32_t count = 0;
    void *target = NULL;
    if (rule->kind == FIRN_FB_KIND_INLINE) {
        memcpy(to + where->offset, at != NULL ? at : (const uint8_t *)&where->absent,
               firn_fb_inlines[rule->type].bytes);
        if (where->extra != 0)
            *(bool *)(void *)(to + where->extra) = at != NULL;
        return;
    }
    if (at != NULL && rule->kind == FIRN_FB_KIND_TABLE) {
        target = native_plan_memory(native, firn_native_bytes[rule->type]);
        read_table(native, firn_fb_follow(at), rule->type, target);
    } else if (at != NULL) {
        target = read_sequence(native, at, rule, &count);
    }
    memcpy(to + where->offset, &target, sizeof target);
    if (where->extra != 0)
        memcpy(to + where->extra, &count, sizeof count);
}

static void read_table(native_plan *native, const uint8_t *table, uint32_t type, uint8_t *to) {
    for (uint32_t i = 0; i < firn_fb_tables[type].field_count; i++)
        read_field(native, firn_fb_slot(table, 4 + 2 * i), firn_fb_tables[type].first_field + i, to);
}

native_plan native_plan_read(firn_fb_plan plan) {
    read_schema();
    native_plan native = {.classes = schema.classes, .class_count = schema.class_count};
    native.plan = native_plan_memory(&native, sizeof *native.plan);
    read_table(&native, plan.at, FIRN_FB_ROOT, (uint8_t *)native.plan);
    return native;
}

/* --- finding what can be changed ---------------------------------------------------------------------------------- */

/* Makes room for one more element behind `count`, which is doubled at each power of two. */
static void *with_room(void *elements, uint32_t count, size_t bytes) {
    if ((count & (count - 1)) != 0 || (count != 0 && count < 256))
        return elements;
    void *grown = realloc(elements, (count < 256 ? 256 : 2 * (size_t)count) * bytes);
    assert_non_null(grown);
    return grown;
}

static void add_spot(native_plan *native, uint8_t *at, uint32_t bytes, uint32_t class, const native_place *place) {
    native->spots = with_room(native->spots, native->spot_count, sizeof *native->spots);
    native->spots[native->spot_count++] =
        (native_spot){.at = at, .bytes = bytes, .class = (uint16_t) class, .place = *place};
}

/* Adds a scalar, or each member of a struct. `first` is the class of the field. */
static void add_inline(native_plan *native, uint8_t *at, uint32_t first, const native_place *place) {
    uint32_t last = first + 1;
    while (last < native->class_count && native->classes[last].member[0] != '\0')
        last++;
    if (last == first + 1)
        add_spot(native, at, native->classes[first].bytes, first, place);
    for (uint32_t class = first + 1; class < last; class ++)
        add_spot(native, at + native->classes[class].offset, native->classes[class].bytes, class, place);
}

static void find_in_table(native_plan *native, uint8_t *table, uint32_t type, const native_place *place);

static void find_in_list(native_plan *native, uint8_t *table, uint32_t row, const native_place *place) {
    const firn_fb_field_rule *rule = &firn_fb_fields[row];
    bool tables = rule->kind == FIRN_FB_KIND_TABLE_VECTOR;
    native_list list = {.pointer = table + firn_native_fields[row].offset,
                        .count = (uint32_t *)(void *)(table + firn_native_fields[row].extra),
                        .element_bytes = tables ? firn_native_bytes[rule->type] : firn_fb_inlines[rule->type].bytes,
                        .limit = firn_fb_limits[rule->value] + 1u,
                        .class = schema.first_class[row],
                        .place = *place};
    native->lists = with_room(native->lists, native->list_count, sizeof *native->lists);
    native->lists[native->list_count++] = list;
    for (uint32_t i = 0; i < *list.count; i++) {
        native_place inside = *place;
        inside.index[inside.depth++] = i;
        if (tables)
            find_in_table(native, native_list_at(&list, i), rule->type, &inside);
        else
            add_inline(native, native_list_at(&list, i), list.class, &inside);
    }
}

static void add_option(native_plan *native, void *pointer, bool *present, uint32_t row, const native_place *place) {
    native->options = with_room(native->options, native->option_count, sizeof *native->options);
    native->options[native->option_count++] =
        (native_option){.pointer = pointer, .present = present, .class = schema.first_class[row], .place = *place};
}

static void find_in_field(native_plan *native, uint8_t *table, uint32_t row, const native_place *place) {
    const firn_native_field *where = &firn_native_fields[row];
    bool *present = where->extra != 0 ? (bool *)(void *)(table + where->extra) : NULL;
    void *target = NULL;
    switch (firn_fb_fields[row].kind) {
    case FIRN_FB_KIND_INLINE:
        if (present != NULL)
            add_option(native, NULL, present, row, place);
        if (present == NULL || *present)
            add_inline(native, table + where->offset, schema.first_class[row], place);
        return;
    case FIRN_FB_KIND_STRING:
        memcpy(&target, table + where->offset, sizeof target);
        if (target != NULL)
            add_spot(native, target, (uint32_t)strlen(target), schema.first_class[row], place);
        return;
    case FIRN_FB_KIND_TABLE:
        memcpy(&target, table + where->offset, sizeof target);
        if (target != NULL)
            add_option(native, table + where->offset, NULL, row, place);
        if (target != NULL)
            find_in_table(native, target, firn_fb_fields[row].type, place);
        return;
    default:
        find_in_list(native, table, row, place);
    }
}

static void find_in_table(native_plan *native, uint8_t *table, uint32_t type, const native_place *place) {
    for (uint32_t i = 0; i < firn_fb_tables[type].field_count; i++)
        find_in_field(native, table, firn_fb_tables[type].first_field + i, place);
}

void native_plan_find(native_plan *native) {
    const native_place nowhere = {0};
    native->spot_count = native->list_count = native->option_count = 0;
    find_in_table(native, (uint8_t *)native->plan, FIRN_FB_ROOT, &nowhere);
}

/* --- changing ----------------------------------------------------------------------------------------------------- */

uint64_t native_spot_value(const native_spot *spot) {
    uint64_t value = 0;
    memcpy(&value, spot->at, spot->bytes < 8 ? spot->bytes : 8);
    return value;
}

void native_spot_set(const native_spot *spot, uint64_t value) {
    memcpy(spot->at, &value, spot->bytes < 8 ? spot->bytes : 8);
}

static uint8_t *elements_of(const native_list *list) {
    uint8_t *elements;
    memcpy(&elements, list->pointer, sizeof elements);
    return elements;
}

void *native_list_at(const native_list *list, uint32_t at) {
    return elements_of(list) + at * list->element_bytes;
}

bool native_list_insert(const native_list *list, const void *element, uint32_t to) {
    uint32_t capacity = 0;
    if (elements_of(list) != NULL)
        memcpy(&capacity, elements_of(list) - BEFORE_LIST, sizeof capacity);
    if (*list->count >= capacity || *list->count >= list->limit)
        return false;
    memmove(native_list_at(list, to + 1), native_list_at(list, to), (*list->count - to) * list->element_bytes);
    memcpy(native_list_at(list, to), element, list->element_bytes);
    ++*list->count;
    return true;
}

void native_list_remove(const native_list *list, uint32_t at) {
    --*list->count;
    memmove(native_list_at(list, at), native_list_at(list, at + 1), (*list->count - at) * list->element_bytes);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

const char *native_name(const native_plan *native, uint16_t class, const native_place *place) {
    static char text[160];
    const native_class *named = &native->classes[class];
    int length = snprintf(text, sizeof text, "%s.%s%s%s", named->table, named->field, named->member[0] != 0 ? "." : "",
                          named->member);
    for (uint8_t i = 0; i < place->depth; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, "%s%u", i == 0 ? " [" : ",",
                           (unsigned)place->index[i]);
    if (place->depth > 0)
        snprintf(text + length, sizeof text - (size_t)length, "]");
    return text;
}
