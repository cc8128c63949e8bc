/* Writes version.h, the minor version of the format, and since.h and since.c, what came with which minor version. */
#include "plan/generate/op_rows.h"
#include "plan/generate/output.h"

static unsigned higher(unsigned a, unsigned b) {
    return a > b ? a : b;
}

/* Values and limits are ascending, so the last is the highest. */
static unsigned highest_of_schema(void) {
    unsigned highest = 0;
    for (size_t i = 0; i < enumeration_count; i++)
        highest = higher(highest, enumerations[i].since[enumerations[i].value_count - 1]);
    for (size_t i = 0; i < object_count; i++) {
        highest = higher(highest, objects[i].relaxed);
        for (size_t j = 0; j < objects[i].field_count; j++) {
            const struct field *field = &objects[i].fields[j];
            highest = higher(highest, field->since);
            if (field->raise_count != 0)
                highest = higher(highest, field->raises[field->raise_count - 1].since);
        }
    }
    return highest;
}

void write_version(const struct op_row *rows, size_t count) {
    begin_file_from("version.h",
                    "The minor version of the format: the highest that a mark in the schema or in the table of ops "
                    "names. Freestanding.",
                    "plan/plan.fbs and plan/ops.def");
    put("#ifndef FIRN_PLAN_GENERATED_VERSION_H\n#define FIRN_PLAN_GENERATED_VERSION_H\n\n");
    put("#define FIRN_FORMAT_MINOR %uu\n\n#endif\n", higher(highest_of_schema(), newest_of_ops(rows, count)));
    end_file();
}

/* --- what came with which ----------------------------------------------------------------------------------------- */

/* The marks of an enumeration that lies at `offset` in each element of a field. Only the first value of each version is
 * written: the values behind it are higher, and came with it or later. */
static void put_value_marks(size_t row, unsigned offset, const struct enumeration *enumeration) {
    for (size_t i = 1; enumeration != NULL && i < enumeration->value_count; i++)
        if (enumeration->since[i] != enumeration->since[i - 1])
            put("    {FIRN_SINCE_VALUE, %zu, %u, %u, %u, %zu}, /* %s of %s */\n", row, enumeration->since[i], offset,
                scalar_of(enumeration->base)->bytes, i - 1, enumeration->values[i], enumeration->name);
}

/* A member with a mark was reserved before, so any value but 0 needs its version. */
static void put_member_marks(size_t row, const struct object *object, const struct field *member) {
    if (member->since != 0)
        put("    {FIRN_SINCE_VALUE, %zu, %u, %u, %u, 0}, /* %s.%s */\n", row, member->since, member->offset,
            scalar_of(member->base)->bytes, object->name, member->name);
    put_value_marks(row, member->offset, member->enumeration);
}

static void put_marks(size_t row, const struct object *object, const struct field *field) {
    if (field->since != 0)
        put("    {FIRN_SINCE_FIELD, %zu, %u, 0, 0, 0}, /* %s.%s */\n", row, field->since, object->name, field->name);
    for (size_t i = 0; i < field->raise_count; i++)
        put("    {FIRN_SINCE_LIMIT, %zu, %u, 0, 0, %lu}, /* %s.%s */\n", row, field->raises[i].since,
            field->raises[i].limit, object->name, field->name);
    put_value_marks(row, 0, field->enumeration);
    if (field->object == NULL || !field->object->is_struct)
        return;
    for (size_t i = 0; i < field->object->field_count; i++)
        put_member_marks(row, field->object, &field->object->fields[i]);
}

void write_since(void) {
    size_t row = 0;
    begin_file("since.c", "What came with which minor version of the format, as data for plan/needs.c. Host only.");
    put("#include \"plan/generated/since.h\"\n\nconst firn_since_mark firn_since_marks[] = {\n");
    for (size_t i = 0; i < object_count; i++)
        for (size_t j = 0; j < objects[i].field_count && !objects[i].is_struct; j++)
            put_marks(row++, &objects[i], &objects[i].fields[j]);
    put("    {0, 0, 0, 0, 0, 0}, /* the end */\n};\n");
    end_file();

    begin_file("since.h", "What came with which minor version of the format, as data for plan/needs.c. Host only.");
    put("#ifndef FIRN_PLAN_GENERATED_SINCE_H\n#define FIRN_PLAN_GENERATED_SINCE_H\n\n#include \"plan/needs.h\"\n\n");
    put("extern const firn_since_mark firn_since_marks[];\n\n#endif\n");
    end_file();
}
