/* Writes writer.h and writer.c: the native structs and the offsets of their members. */
#include <string.h>

#include "plan/generate/output.h"

static void put_native_member(const struct field *field) {
    if (field->base == BASE_STRING)
        put("    const char *%s;\n", field->name);
    else if (field->base == BASE_OBJECT && field->object->is_struct)
        put("    bool %s_present;\n    firn_fb_%s %s;\n", field->name, field->object->snake, field->name);
    else if (field->base == BASE_OBJECT)
        put("    const firn_native_%s *%s;\n", field->object->snake, field->name);
    else if (field->base != BASE_VECTOR)
        put("    %s %s;\n", c_type_of(field), field->name);
    else if (field->object == NULL)
        put("    const %s *%s;\n    uint32_t %s_count;\n", c_type_of(field), field->name, field->name);
    else
        put("    const firn_%s_%s *%s;\n    uint32_t %s_count;\n", field->object->is_struct ? "fb" : "native",
            field->object->snake, field->name, field->name);
}

void write_writer_header(void) {
    begin_file(
        "writer.h",
        "The compiler's side of the schema: a plan as plain structs, and the function that writes one. Host only.\n"
        " * Members are values: a member is never taken for \"not given\" when the schema has a default. NULL and a "
        "count\n"
        " * of 0 leave a string, vector or table out.");
    put("#ifndef FIRN_PLAN_GENERATED_WRITER_H\n#define FIRN_PLAN_GENERATED_WRITER_H\n\n#include <stddef.h>\n\n");
    put("#include \"plan/generated/reader.h\"\n\n");
    for (size_t i = 0; i < object_count; i++)
        if (!objects[i].is_struct)
            put("typedef struct firn_native_%s firn_native_%s;\n", objects[i].snake, objects[i].snake);
    for (size_t i = 0; i < object_count; i++) {
        if (objects[i].is_struct)
            continue;
        put("\nstruct firn_native_%s {\n", objects[i].snake);
        for (size_t j = 0; j < objects[i].field_count; j++)
            put_native_member(&objects[i].fields[j]);
        put("};\n");
    }
    put("\n/* The FlatBuffers part of a plan, aligned to 64, to be freed with free(). The same values give the same "
        "bytes.\n");
    put(" * NULL when memory is short, a required field is missing, or something is longer than the schema allows. "
        "*/\n");
    put("uint8_t *firn_native_write(const firn_native_%s *%s, size_t *bytes);\n\n#endif\n", root->snake, root->snake);
    end_file();
}

static void put_native_row(const struct object *object, const struct field *field) {
    const char *extra = field->base == BASE_VECTOR                               ? "_count"
                        : field->base == BASE_OBJECT && field->object->is_struct ? "_present"
                                                                                 : NULL;
    put("    {offsetof(firn_native_%s, %s), ", object->snake, field->name);
    if (extra != NULL)
        put("offsetof(firn_native_%s, %s%s), 0},\n", object->snake, field->name, extra);
    else
        put("0, UINT64_C(0x%llx)},\n", (unsigned long long)default_bits(field));
}

void write_writer(void) {
    begin_file("writer.c", "Where the members of the native structs lie, as data for plan/builder.h. Host only.");
    put("#include \"plan/generated/writer.h\"\n\n#include \"plan/builder.h\"\n");
    put("#include \"plan/generated/tables.h\"\n\nconst firn_native_field firn_native_fields[] = {\n");
    for (size_t i = 0; i < object_count; i++)
        for (size_t j = 0; j < objects[i].field_count && !objects[i].is_struct; j++)
            put_native_row(&objects[i], &objects[i].fields[j]);
    put("};\n\nconst size_t firn_native_bytes[] = {\n");
    for (size_t i = 0; i < object_count; i++)
        if (!objects[i].is_struct)
            put("    sizeof(firn_native_%s),\n", objects[i].snake);
    put("};\n\nuint8_t *firn_native_write(const firn_native_%s *%s, size_t *bytes) {\n", root->snake, root->snake);
    put("    return firn_build(%s, firn_native_fields, firn_native_bytes, bytes);\n}\n", root->snake);
    end_file();
}
