/* Writes reader.h: read access to a payload that firn_fb_verify has accepted. */
#include <stdio.h>
#include <string.h>

#include "plan/generate/output.h"

static void put_enumerations(void) {
    for (size_t i = 0; i < enumeration_count; i++) {
        put("\nenum {\n");
        for (size_t j = 0; j < enumerations[i].value_count; j++) {
            put("    FIRN_FB_");
            put_upper(enumerations[i].snake);
            put("_");
            put_upper(enumerations[i].values[j]);
            put(" = %zu%s\n", j, j + 1 < enumerations[i].value_count ? "," : "");
        }
        put("};\n");
    }
}

static void put_structs(void) {
    for (size_t i = 0; i < object_count; i++) {
        if (!objects[i].is_struct)
            continue;
        put("\ntypedef struct firn_fb_%s {\n", objects[i].snake);
        for (size_t j = 0; j < objects[i].field_count; j++)
            put("    %s %s;\n", c_type_of(&objects[i].fields[j]), objects[i].fields[j].name);
        put("} firn_fb_%s;\n", objects[i].snake);
        put("_Static_assert(sizeof(firn_fb_%s) == %u, \"no padding\");\n", objects[i].snake, objects[i].bytes);
    }
}

static void put_table_types(void) {
    put("\n");
    for (size_t i = 0; i < object_count; i++)
        if (!objects[i].is_struct)
            put("typedef struct firn_fb_%s { const uint8_t *at; } firn_fb_%s;\n", objects[i].snake, objects[i].snake);
}

/* The rows of the tables in firn_fb_tables. */
static void put_table_numbers(void) {
    put("\nenum {\n");
    for (size_t i = 0; i < object_count; i++) {
        if (objects[i].is_struct)
            continue;
        put("    FIRN_FB_TABLE_");
        put_upper(objects[i].snake);
        put(" = %u,\n", objects[i].number);
    }
    put("};\n");
}

static void put_default(const struct field *field) {
    if (field->base == BASE_BOOL)
        put("%s", field->default_integer != 0 ? "true" : "false");
    else if (is_floating(field->base))
        put(field->base == BASE_FLOAT ? "%af" : "%a", field->default_real);
    else if (field->base == BASE_INT64 || field->base == BASE_INT32)
        put("%lld", (long long)field->default_integer);
    else
        put("%lluu", (unsigned long long)field->default_integer);
}

/* Writes the head of an accessor, "static inline TYPE firn_fb_TABLE_FIELD_SUFFIX(firn_fb_TABLE table". An accessor
 * whose body is a single return is written in one line. */
static void put_head(const char *type, const struct object *object, const struct field *field, const char *suffix) {
    bool pointer = type[strlen(type) - 1] == '*';
    put("static inline %s%sfirn_fb_%s_%s%s(firn_fb_%s table", type, pointer ? "" : " ", object->snake, field->name,
        suffix, object->snake);
}

static unsigned slot_of(const struct field *field) {
    return 4 + 2 * field->id;
}

/* The slots of the fields by which the root names a tensor, or none: they are read in a loop. */
static void put_root_slots(void) {
    put("enum {\n");
    for (size_t i = 0; i < root->field_count; i++) {
        const struct field *field = &root->fields[i];
        if (field->base != BASE_UINT32 || field->default_integer != UINT32_MAX)
            continue;
        put("    FIRN_FB_SLOT_");
        put_upper(root->snake);
        put("_");
        put_upper(field->name);
        put(" = %u,\n", slot_of(field));
    }
    put("};\n");
}

static const char *load_of(const struct field *field) {
    enum base_type base = field->enumeration != NULL ? field->enumeration->base : innermost(field);
    return base == BASE_BOOL ? "uint8" : scalar_of(base)->name;
}

static void put_scalar_access(const struct object *object, const struct field *field) {
    put_head(c_type_of(field), object, field, "");
    put(") { return firn_fb_scalar_%s(table.at, %u, ", load_of(field), slot_of(field));
    put_default(field);
    put(")%s; }\n", field->base == BASE_BOOL ? " != 0" : "");
}

static void put_count_access(const struct object *object, const struct field *field, const char *suffix) {
    put_head("uint32_t", object, field, suffix);
    put(") { return firn_fb_count(table.at, %u); }\n", slot_of(field));
}

static void put_string_access(const struct object *object, const struct field *field) {
    put_head("const char *", object, field, "");
    put(") { return firn_fb_text(table.at, %u); }\n", slot_of(field));
    put_count_access(object, field, "_length");
}

static void put_present_access(const struct object *object, const struct field *field) {
    put_head("bool", object, field, "_present");
    put(") { return firn_fb_slot(table.at, %u) != NULL; }\n", slot_of(field));
}

static void put_struct_access(const struct object *object, const struct field *field) {
    char type[NAME_BYTES + 16];
    snprintf(type, sizeof type, "firn_fb_%s", field->object->snake);
    put_present_access(object, field);
    put_head(type, object, field, "");
    put(") {\n    %s value = {0};\n    const uint8_t *at = firn_fb_slot(table.at, %u);\n", type, slot_of(field));
    put("    if (at != NULL)\n        memcpy(&value, __builtin_assume_aligned(at, %u), sizeof value);\n    return "
        "value;\n}\n",
        field->object->alignment);
}

static void put_table_access(const struct object *object, const struct field *field) {
    char type[NAME_BYTES + 16];
    snprintf(type, sizeof type, "firn_fb_%s", field->object->snake);
    put_present_access(object, field);
    put_head(type, object, field, "");
    put(") { return (%s){firn_fb_follow(firn_fb_slot(table.at, %u))}; }\n", type, slot_of(field));
}

static void put_vector_access(const struct object *object, const struct field *field) {
    char type[NAME_BYTES + 16];
    unsigned step = 4;
    put_count_access(object, field, "_count");
    if (field->object == NULL) {
        snprintf(type, sizeof type, "%s", c_type_of(field));
        step = scalar_of(field->element)->bytes;
    } else {
        snprintf(type, sizeof type, "firn_fb_%s", field->object->snake);
        step = field->object->is_struct ? field->object->bytes : 4;
    }
    put_head("const uint8_t *", object, field, "_data");
    put(") { return firn_fb_elements(table.at, %u); }\n", slot_of(field));
    put_head(type, object, field, "_at");
    char place[64];
    snprintf(place, sizeof place, "firn_fb_element(table.at, %u, %u, index)", slot_of(field), step);
    if (field->object == NULL && field->element == BASE_UINT32)
        put(", uint32_t index) { return firn_fb_index_at(table.at, %u, index); }\n", slot_of(field));
    else if (field->object == NULL)
        put(", uint32_t index) { return firn_fb_load_%s(%s)%s; }\n", load_of(field), place,
            field->element == BASE_BOOL ? " != 0" : "");
    else if (field->object->is_struct)
        put(", uint32_t index) {\n    %s value;\n    memcpy(&value, __builtin_assume_aligned(%s, %u), sizeof value);\n"
            "    return value;\n}\n",
            type, place, field->object->alignment);
    else
        put(", uint32_t index) { return (%s){firn_fb_table_at(table.at, %u, index)}; }\n", type, slot_of(field));
}

static void put_access(const struct object *object, const struct field *field) {
    if (field->base == BASE_STRING)
        put_string_access(object, field);
    else if (field->base == BASE_VECTOR)
        put_vector_access(object, field);
    else if (field->base != BASE_OBJECT)
        put_scalar_access(object, field);
    else if (field->object->is_struct)
        put_struct_access(object, field);
    else
        put_table_access(object, field);
}

/* The members are named as those of the native structs (writer.c). An integer of less than 32 bits has 32. A record has
 * no member for a table that its table leads to. */
static void put_record_member(const struct field *field) {
    const struct object *object = field->object;
    if (field->base == BASE_STRING)
        put("    const char *%s;\n    uint32_t %s_length;\n", field->name, field->name);
    else if (field->base == BASE_VECTOR && object != NULL && object->is_struct)
        put("    const firn_fb_%s *%s;\n    uint32_t %s_count;\n", object->snake, field->name, field->name);
    else if (field->base == BASE_VECTOR)
        put("    const %s *%s;\n    uint32_t %s_count;\n", object != NULL ? "uint8_t" : c_type_of(field), field->name,
            field->name);
    else if (field->base != BASE_OBJECT)
        put("    %s %s;\n", scalar_of(field->base)->bytes < 4 ? "uint32_t" : c_type_of(field), field->name);
    else if (object->is_struct)
        put("    firn_fb_%s %s;\n", object->snake, field->name);
}

static void put_record(const struct object *object) {
    put("\ntypedef struct firn_fb_%s_record {\n    firn_fb_%s table;\n", object->snake, object->snake);
    for (size_t i = 0; i < object->field_count; i++)
        put_record_member(&object->fields[i]);
    put("} firn_fb_%s_record;\n", object->snake);
    put("static inline void firn_fb_%s_read(firn_fb_%s table, firn_fb_%s_record *record) { firn_fb_read(table.at, %u, "
        "record); }\n",
        object->snake, object->snake, object->snake, object->number);
    put("static inline void firn_fb_%s_read_at(const uint8_t *offsets, uint32_t index, firn_fb_%s_record *record) { "
        "firn_fb_read_at(offsets, index, %u, record); }\n",
        object->snake, object->snake, object->number);
}

void write_reader(void) {
    begin_file(
        "reader.h",
        "Read access to the FlatBuffers part of a plan, in place, after firn_fb_verify and never before: there are\n"
        " * no checks here. An absent scalar reads as its default, an absent string as \"\", an absent vector as one "
        "of no\n"
        " * elements, an absent struct as zeros; an absent table must not be asked for. An index must be below its "
        "count.\n"
        " * A record has all fields of a table; its members for vectors of tables are the first of their offsets.\n"
        " * Freestanding.");
    put("#ifndef FIRN_PLAN_GENERATED_READER_H\n#define FIRN_PLAN_GENERATED_READER_H\n\n");
    put("#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\n");
    put("#include \"plan/access.h\"\n\n");
    put("/* The schema hash: SHA-256 of plan/generated/schema.txt. */\nextern const uint8_t firn_schema_hash[32];\n");
    put_enumerations();
    put_structs();
    put_table_types();
    put_table_numbers();
    for (size_t i = 0; i < object_count; i++) {
        if (objects[i].is_struct)
            continue;
        put("\n/* --- %s */\n", objects[i].name);
        if (&objects[i] == root)
            put_root_slots();
        for (size_t j = 0; j < objects[i].field_count; j++)
            put_access(&objects[i], &objects[i].fields[j]);
        put_record(&objects[i]);
    }
    put("\nstatic inline firn_fb_%s firn_fb_%s_root(const uint8_t *buffer) {\n", root->snake, root->snake);
    put("    return (firn_fb_%s){firn_fb_follow(buffer)};\n}\n\n#endif\n", root->snake);
    end_file();
}
