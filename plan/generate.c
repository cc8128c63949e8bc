/* generate SCHEMA.bfbs DIRECTORY: reads flatc's binary schema and writes plan/generated: what firn_fb_verify needs
 * (tables.c, tables.h), read access (reader.h), the writer's side (writer.c, writer.h), and the canonical listing of
 * the schema (schema.txt), whose SHA-256 is the schema hash. A program of the build host: it may allocate, and stops at
 * the first thing that it does not understand. It never guesses: a schema feature that is not handled here is an error.
 *
 * The binary schema is itself a FlatBuffer (reflection.fbs of FlatBuffers 2.0). Made with
 *     flatc -b --schema --bfbs-builtins --bfbs-comments -o DIRECTORY plan.fbs */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/signature.h"

#define NAMESPACE       "firn."
#define NAME_BYTES      64
#define DEPTH_MAX       8
#define FIELDS_MAX      256
#define LIMIT_MAX       65536 /* of any one vector or string */
#define ENUM_VALUES_MAX 256

static const char *input_name;

static void refuse(const char *place, const char *mend) {
    fprintf(stderr, "%s: %s: %s\n", input_name, place, mend);
    exit(1);
}

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count == 0 ? 1 : count, size);
    if (memory == NULL)
        refuse("memory", "there is not enough");
    return memory;
}

/* --- reading the binary schema ---------------------------------------------------------------------------------------
 */

/* reflection.BaseType */
enum base_type {
    BASE_NONE,
    BASE_UNION_TYPE,
    BASE_BOOL,
    BASE_INT8,
    BASE_UINT8,
    BASE_INT16,
    BASE_UINT16,
    BASE_INT32,
    BASE_UINT32,
    BASE_INT64,
    BASE_UINT64,
    BASE_FLOAT,
    BASE_DOUBLE,
    BASE_STRING,
    BASE_VECTOR,
    BASE_OBJECT,
    BASE_COUNT
};

/* Slots of the tables of reflection.fbs. */
enum { SCHEMA_OBJECTS = 4, SCHEMA_ENUMS = 6, SCHEMA_IDENTIFIER = 8, SCHEMA_ROOT = 12 };
enum { TYPE_BASE = 4, TYPE_ELEMENT = 6, TYPE_INDEX = 8 };
enum { ATTRIBUTE_KEY = 4, ATTRIBUTE_VALUE = 6 };
enum { ENUM_NAME = 4, ENUM_VALUES = 6, ENUM_IS_UNION = 8, ENUM_UNDERLYING = 10, ENUM_ATTRIBUTES = 12 };
enum { VALUE_NAME = 4, VALUE_VALUE = 6 };
enum {
    OBJECT_NAME = 4,
    OBJECT_FIELDS = 6,
    OBJECT_IS_STRUCT = 8,
    OBJECT_ALIGNMENT = 10,
    OBJECT_BYTES = 12,
    OBJECT_ATTRIBUTES = 14
};
enum {
    FIELD_NAME = 4,
    FIELD_TYPE = 6,
    FIELD_ID = 8,
    FIELD_OFFSET = 10,
    FIELD_DEFAULT_INTEGER = 12,
    FIELD_DEFAULT_REAL = 14,
    FIELD_DEPRECATED = 16,
    FIELD_REQUIRED = 18,
    FIELD_KEY = 20,
    FIELD_ATTRIBUTES = 22,
    FIELD_OPTIONAL = 26
};

static const uint8_t *input;
static size_t input_bytes;

/* Little-endian integer of 1, 2, 4 or 8 bytes. */
static uint64_t load(size_t at, size_t bytes) {
    if (bytes > input_bytes || at > input_bytes - bytes)
        refuse("binary schema", "it is damaged; make it again with flatc");
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)input[at + i] << (8 * i);
    return value;
}

static size_t follow(size_t at) {
    return at + (size_t)load(at, 4);
}

/* Where a field of a table lies; 0 when it is absent. */
static size_t slot(size_t table, size_t number) {
    size_t vtable = (size_t)((int64_t)table - (int32_t)(uint32_t)load(table, 4));
    if (load(vtable, 2) <= number)
        return 0;
    size_t offset = (size_t)load(vtable + number, 2);
    return offset == 0 ? 0 : table + offset;
}

static uint64_t scalar(size_t table, size_t number, size_t bytes, uint64_t absent) {
    size_t at = slot(table, number);
    return at == 0 ? absent : load(at, bytes);
}

static size_t child(size_t table, size_t number) {
    size_t at = slot(table, number);
    return at == 0 ? 0 : follow(at);
}

static size_t vector_count(size_t table, size_t number) {
    size_t at = child(table, number);
    return at == 0 ? 0 : (size_t)load(at, 4);
}

static size_t vector_table(size_t table, size_t number, size_t index) {
    return follow(child(table, number) + 4 + 4 * index);
}

static const char *string(size_t table, size_t number) {
    size_t at = child(table, number);
    if (at == 0)
        return "";
    size_t bytes = (size_t)load(at, 4);
    if (load(at + 4 + bytes, 1) != 0)
        refuse("binary schema", "it is damaged; make it again with flatc");
    return (const char *)input + at + 4;
}

static void read_input(const char *name) {
    FILE *file = fopen(name, "rb");
    if (file == NULL)
        refuse("open", "cannot read it");
    size_t capacity = 1 << 20;
    uint8_t *bytes = allocate(capacity, 1);
    input_bytes = fread(bytes, 1, capacity, file);
    if (ferror(file) != 0 || input_bytes == capacity)
        refuse("read", "not a binary schema, or more than a megabyte");
    fclose(file);
    input = bytes;
    if (load(4, 4) != 0x53424642u) /* "BFBS" */
        refuse("identifier", "not a binary schema; make it with flatc -b --schema");
}

/* --- the schema as the generator sees it -----------------------------------------------------------------------------
 */

struct scalar_type {
    const char *name;   /* in the listing, and the end of firn_fb_load_<name> */
    const char *c_type; /* in the reader and the writer */
    unsigned bytes;     /* also its alignment */
};

static const struct scalar_type scalar_types[BASE_COUNT] = {
    [BASE_BOOL] = {"bool", "bool", 1},         [BASE_INT8] = {"int8", "int8_t", 1},
    [BASE_UINT8] = {"uint8", "uint8_t", 1},    [BASE_INT16] = {"int16", "int16_t", 2},
    [BASE_UINT16] = {"uint16", "uint16_t", 2}, [BASE_INT32] = {"int32", "int32_t", 4},
    [BASE_UINT32] = {"uint32", "uint32_t", 4}, [BASE_INT64] = {"int64", "int64_t", 8},
    [BASE_UINT64] = {"uint64", "uint64_t", 8}, [BASE_FLOAT] = {"float", "float", 4},
    [BASE_DOUBLE] = {"double", "double", 8},
};

struct enumeration {
    const char *name;
    char snake[NAME_BYTES];
    enum base_type base;
    size_t value_count;
    const char **values; /* value i is i */
};

struct object;

struct field {
    const char *name;
    unsigned id;
    unsigned offset;        /* in a struct */
    enum base_type base;    /* a scalar, BASE_STRING, BASE_VECTOR or BASE_OBJECT */
    enum base_type element; /* of a vector: a scalar or BASE_OBJECT */
    const struct enumeration *enumeration;
    const struct object *object;
    int64_t default_integer;
    double default_real;
    bool required, finite, ascii;
    unsigned long max; /* 0: none given */
};

struct object {
    const char *name;
    char snake[NAME_BYTES];
    bool is_struct;
    unsigned bytes, alignment; /* of a struct */
    size_t field_count;
    struct field *fields; /* by id */
    unsigned number;      /* of a table: its row in firn_fb_tables */
};

static struct enumeration *enumerations;
static struct object *objects;
static size_t enumeration_count, object_count;
static const struct object *root;
static const char *identifier;

static bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

/* ParameterGroup -> parameter_group */
static void make_snake(char snake[NAME_BYTES], const char *name) {
    size_t length = 0;
    for (size_t i = 0; name[i] != 0; i++) {
        if (length + 3 > NAME_BYTES)
            refuse(name, "the name is too long");
        if (is_upper(name[i]) && i > 0)
            snake[length++] = '_';
        snake[length++] = is_upper(name[i]) ? (char)(name[i] - 'A' + 'a') : name[i];
    }
    snake[length] = 0;
}

static const char *local_name(const char *name) {
    if (strncmp(name, NAMESPACE, strlen(NAMESPACE)) != 0)
        refuse(name, "everything must be in namespace firn");
    return name + strlen(NAMESPACE);
}

static const struct scalar_type *scalar_of(enum base_type base) {
    return base < BASE_COUNT && scalar_types[base].name != NULL ? &scalar_types[base] : NULL;
}

static void read_enumeration(struct enumeration *out, size_t table) {
    out->name = local_name(string(table, ENUM_NAME));
    make_snake(out->snake, out->name);
    out->base = (enum base_type)scalar(child(table, ENUM_UNDERLYING), TYPE_BASE, 1, 0);
    out->value_count = vector_count(table, ENUM_VALUES);
    out->values = allocate(out->value_count, sizeof *out->values);
    if (scalar(table, ENUM_IS_UNION, 1, 0) != 0)
        refuse(out->name, "unions are not allowed");
    if (out->base != BASE_UINT8 && out->base != BASE_UINT16)
        refuse(out->name, "an enumeration is ubyte or ushort");
    if (vector_count(table, ENUM_ATTRIBUTES) != 0)
        refuse(out->name, "an enumeration has no attributes");
    if (out->value_count == 0 || out->value_count > ENUM_VALUES_MAX)
        refuse(out->name, "it has no values or too many");
    for (size_t i = 0; i < out->value_count; i++) {
        size_t value = vector_table(table, ENUM_VALUES, i);
        if (scalar(value, VALUE_VALUE, 8, 0) != i)
            refuse(out->name, "the values must be 0, 1, 2 and so on");
        out->values[i] = string(value, VALUE_NAME);
    }
}

static void read_field_attributes(struct field *out, size_t table) {
    for (size_t i = 0; i < vector_count(table, FIELD_ATTRIBUTES); i++) {
        size_t attribute = vector_table(table, FIELD_ATTRIBUTES, i);
        const char *key = string(attribute, ATTRIBUTE_KEY);
        if (strcmp(key, "max") == 0) {
            char *end = NULL;
            out->max = strtoul(string(attribute, ATTRIBUTE_VALUE), &end, 10);
            if (*end != 0 || out->max == 0 || out->max > LIMIT_MAX)
                refuse(out->name, "max must be a number from 1 to 65536");
        } else if (strcmp(key, "finite") == 0) {
            out->finite = true;
        } else if (strcmp(key, "ascii") == 0) {
            out->ascii = true;
        } else if (strcmp(key, "required") != 0 && strcmp(key, "id") != 0) {
            refuse(key, "an attribute that the generator does not know");
        }
    }
}

static bool is_floating(enum base_type base) {
    return base == BASE_FLOAT || base == BASE_DOUBLE;
}

static bool has_length(enum base_type base) {
    return base == BASE_VECTOR || base == BASE_STRING;
}

/* The type that the finite attribute and enumerations speak of: the scalar itself or a vector's element. */
static enum base_type innermost(const struct field *field) {
    return field->base == BASE_VECTOR ? field->element : field->base;
}

static void read_field(struct field *out, size_t table, bool in_struct) {
    size_t type = child(table, FIELD_TYPE);
    int32_t index = (int32_t)(uint32_t)scalar(type, TYPE_INDEX, 4, UINT32_MAX);
    uint64_t real = scalar(table, FIELD_DEFAULT_REAL, 8, 0);
    out->name = string(table, FIELD_NAME);
    out->id = (unsigned)scalar(table, FIELD_ID, 2, 0);
    out->offset = (unsigned)scalar(table, FIELD_OFFSET, 2, 0);
    out->base = (enum base_type)scalar(type, TYPE_BASE, 1, 0);
    out->element = (enum base_type)scalar(type, TYPE_ELEMENT, 1, 0);
    out->required = scalar(table, FIELD_REQUIRED, 1, 0) != 0;
    out->default_integer = (int64_t)scalar(table, FIELD_DEFAULT_INTEGER, 8, 0);
    memcpy(&out->default_real, &real, sizeof real);
    read_field_attributes(out, table);

    enum base_type inner = innermost(out);
    if (scalar_of(inner) == NULL && inner != BASE_OBJECT && out->base != BASE_STRING)
        refuse(out->name, "a type that the generator does not know");
    if (in_struct && scalar_of(out->base) == NULL)
        refuse(out->name, "a struct holds scalars only");
    if (index >= 0 && inner == BASE_OBJECT)
        out->object = &objects[index];
    else if (index >= 0 && scalar_of(inner) != NULL)
        out->enumeration = &enumerations[index];
    if (scalar(table, FIELD_DEPRECATED, 1, 0) != 0)
        refuse(out->name, "remove the field instead: plans are bound to one schema by its hash");
    if (scalar(table, FIELD_KEY, 1, 0) != 0 ||
        (scalar_of(out->base) != NULL && scalar(table, FIELD_OPTIONAL, 1, 0) != 0))
        refuse(out->name, "keys and optional scalars are not allowed");
    if (has_length(out->base) != (out->max != 0))
        refuse(out->name, "every vector and string, and nothing else, needs (max: N)");
    if (out->ascii && out->base != BASE_STRING)
        refuse(out->name, "ascii is for strings");
    if (out->finite && !is_floating(inner))
        refuse(out->name, "finite is for floats");
}

static int compare_fields(const void *a, const void *b) {
    const struct field *left = a, *right = b;
    return left->id < right->id ? -1 : left->id > right->id;
}

/* A struct has no padding: every byte of it means something, and a C struct has the same layout on every ABI. */
static void check_struct(const struct object *object) {
    unsigned end = 0;
    for (size_t i = 0; i < object->field_count; i++) {
        if (object->fields[i].offset != end)
            refuse(object->name, "a struct must not need padding");
        end += scalar_of(object->fields[i].base)->bytes;
    }
    if (end != object->bytes || object->bytes > UINT8_MAX)
        refuse(object->name, "a struct must not need padding, and holds at most 255 bytes");
}

static void read_object(struct object *out, size_t table) {
    out->name = local_name(string(table, OBJECT_NAME));
    make_snake(out->snake, out->name);
    out->is_struct = scalar(table, OBJECT_IS_STRUCT, 1, 0) != 0;
    out->alignment = (unsigned)scalar(table, OBJECT_ALIGNMENT, 4, 0);
    out->bytes = (unsigned)scalar(table, OBJECT_BYTES, 4, 0);
    out->field_count = vector_count(table, OBJECT_FIELDS);
    out->fields = allocate(out->field_count, sizeof *out->fields);
    if (vector_count(table, OBJECT_ATTRIBUTES) != 0)
        refuse(out->name, "attributes of a table or a struct (force_align too) are not allowed");
    for (size_t i = 0; i < out->field_count; i++)
        read_field(&out->fields[i], vector_table(table, OBJECT_FIELDS, i), out->is_struct);
    qsort(out->fields, out->field_count, sizeof *out->fields, compare_fields);
    for (size_t i = 0; i < out->field_count; i++)
        if (out->fields[i].id != i)
            refuse(out->name, "the ids of its fields have a gap");
    if (out->is_struct)
        check_struct(out);
}

/* Tables on the longest way from this one down, itself included. */
static unsigned depth_of(const struct object *object, unsigned above) {
    unsigned deepest = 0;
    if (above == DEPTH_MAX)
        refuse(object->name, "tables are nested too deep, or contain themselves");
    for (size_t i = 0; i < object->field_count; i++) {
        const struct object *inner = object->fields[i].object;
        unsigned depth = inner == NULL || inner->is_struct ? 0 : depth_of(inner, above + 1);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

/* flatc has sorted objects and enumerations by name, so the order does not depend on that of the schema file. */
static void read_schema(void) {
    size_t schema = follow(0), total_fields = 0;
    unsigned tables = 0;
    identifier = string(schema, SCHEMA_IDENTIFIER);
    if (strlen(identifier) != 4)
        refuse("file_identifier", "it must have four characters");
    enumeration_count = vector_count(schema, SCHEMA_ENUMS);
    enumerations = allocate(enumeration_count, sizeof *enumerations);
    object_count = vector_count(schema, SCHEMA_OBJECTS);
    objects = allocate(object_count, sizeof *objects);
    for (size_t i = 0; i < enumeration_count; i++)
        read_enumeration(&enumerations[i], vector_table(schema, SCHEMA_ENUMS, i));
    for (size_t i = 0; i < object_count; i++) {
        read_object(&objects[i], vector_table(schema, SCHEMA_OBJECTS, i));
        if (objects[i].is_struct)
            continue;
        objects[i].number = tables++;
        total_fields += objects[i].field_count;
    }
    const char *root_name = local_name(string(child(schema, SCHEMA_ROOT), OBJECT_NAME));
    for (size_t i = 0; i < object_count; i++)
        if (strcmp(objects[i].name, root_name) == 0)
            root = &objects[i];
    if (root == NULL || total_fields > FIELDS_MAX)
        refuse("root_type", "there is none, or the schema has more than 256 fields");
}

/* --- the canonical listing -------------------------------------------------------------------------------------------
 */

/* Text that grows: the listing is hashed before it is written. */
static char *listing;
static size_t listing_bytes, listing_capacity;

static void __attribute__((format(printf, 1, 2))) list(const char *format, ...) {
    if (listing_capacity - listing_bytes < 1024) {
        listing_capacity = 2 * listing_capacity + 4096;
        listing = realloc(listing, listing_capacity);
        if (listing == NULL)
            refuse("memory", "there is not enough");
    }
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(listing + listing_bytes, 1024, format, arguments);
    va_end(arguments);
    if (written < 0 || written >= 1024)
        refuse("listing", "a line is too long");
    listing_bytes += (size_t)written;
}

/* The type of a scalar, or of a vector's element, by its schema name. */
static const char *inner_name(const struct field *field) {
    if (field->object != NULL)
        return field->object->name;
    if (field->enumeration != NULL)
        return field->enumeration->name;
    return scalar_of(innermost(field))->name;
}

static void list_default(const struct field *field) {
    if (is_floating(field->base))
        list(" default %a", field->default_real);
    else if (scalar_of(field->base) != NULL)
        list(" default %lld", (long long)field->default_integer);
}

static void list_field(const struct object *object, const struct field *field) {
    list("    %u %s ", object->is_struct ? field->offset : field->id, field->name);
    if (field->base == BASE_STRING)
        list("string");
    else
        list(field->base == BASE_VECTOR ? "[%s]" : "%s", inner_name(field));
    if (!object->is_struct)
        list_default(field);
    if (field->required)
        list(" required");
    if (field->finite)
        list(" finite");
    if (field->ascii)
        list(" ascii");
    if (field->max != 0)
        list(" max %lu", field->max);
    list("\n");
}

static void make_listing(void) {
    list("firn schema listing 1\nidentifier %s\nroot %s\n", identifier, root->name);
    for (size_t i = 0; i < enumeration_count; i++) {
        list("enum %s %s\n", enumerations[i].name, scalar_of(enumerations[i].base)->name);
        for (size_t j = 0; j < enumerations[i].value_count; j++)
            list("    %zu %s\n", j, enumerations[i].values[j]);
    }
    for (size_t i = 0; i < object_count; i++) {
        if (objects[i].is_struct)
            list("struct %s bytes %u alignment %u\n", objects[i].name, objects[i].bytes, objects[i].alignment);
        else
            list("table %s\n", objects[i].name);
        for (size_t j = 0; j < objects[i].field_count; j++)
            list_field(&objects[i], &objects[i].fields[j]);
    }
}

/* --- writing files ---------------------------------------------------------------------------------------------------
 */

static FILE *output;
static const char *output_directory;

static void begin_file(const char *name, const char *purpose) {
    size_t bytes = strlen(output_directory) + strlen(name) + 2;
    char *path = allocate(bytes, 1);
    snprintf(path, bytes, "%s/%s", output_directory, name);
    output = fopen(path, "w");
    if (output == NULL)
        refuse(path, "cannot write it");
    free(path);
    if (purpose != NULL)
        fprintf(output,
                "/* %s\n * Written by plan/generate.c from plan/plan.fbs; change those instead. */\n/* clang-format "
                "off */\n",
                purpose);
}

static void end_file(void) {
    if (ferror(output) != 0 || fclose(output) != 0)
        refuse(output_directory, "writing failed; is the disk full?");
}

static void __attribute__((format(printf, 1, 2))) put(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(output, format, arguments);
    va_end(arguments);
}

static void put_upper(const char *name) {
    for (size_t i = 0; name[i] != 0; i++)
        fputc(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i], output);
}

static const char *c_type_of(const struct field *field) {
    if (field->enumeration != NULL)
        return scalar_of(field->enumeration->base)->c_type;
    return scalar_of(innermost(field))->c_type;
}

/* --- reader.h --------------------------------------------------------------------------------------------------------
 */

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
    for (size_t i = 0; i < object_count; i++)
        if (!objects[i].is_struct)
            put("\ntypedef struct firn_fb_%s {\n    const uint8_t *at;\n} firn_fb_%s;\n", objects[i].snake,
                objects[i].snake);
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

/* "static inline TYPE firn_fb_TABLE_FIELD_SUFFIX(firn_fb_TABLE table" and the rest of the line. */
static void put_head(const char *type, const struct object *object, const struct field *field, const char *suffix) {
    bool pointer = type[strlen(type) - 1] == '*';
    put("\nstatic inline %s%sfirn_fb_%s_%s%s(firn_fb_%s table", type, pointer ? "" : " ", object->snake, field->name,
        suffix, object->snake);
}

static unsigned slot_of(const struct field *field) {
    return 4 + 2 * field->id;
}

static const char *load_of(const struct field *field) {
    enum base_type base = field->enumeration != NULL ? field->enumeration->base : innermost(field);
    return base == BASE_BOOL ? "uint8" : scalar_of(base)->name;
}

static void put_scalar_access(const struct object *object, const struct field *field) {
    put_head(c_type_of(field), object, field, "");
    put(") {\n    const uint8_t *at = firn_fb_slot(table.at, %u);\n    return at == NULL ? ", slot_of(field));
    put_default(field);
    put(" : firn_fb_load_%s(at)%s;\n}\n", load_of(field), field->base == BASE_BOOL ? " != 0" : "");
}

static void put_count_access(const struct object *object, const struct field *field, const char *suffix) {
    put_head("uint32_t", object, field, suffix);
    put(") {\n    return firn_fb_count(table.at, %u);\n}\n", slot_of(field));
}

static void put_string_access(const struct object *object, const struct field *field) {
    put_head("const char *", object, field, "");
    put(") {\n    const uint8_t *at = firn_fb_elements(table.at, %u);\n", slot_of(field));
    put("    return at == NULL ? \"\" : (const char *)at;\n}\n");
    put_count_access(object, field, "_length");
}

static void put_present_access(const struct object *object, const struct field *field) {
    put_head("bool", object, field, "_present");
    put(") {\n    return firn_fb_slot(table.at, %u) != NULL;\n}\n", slot_of(field));
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
    put(") {\n    return (%s){firn_fb_follow(firn_fb_slot(table.at, %u))};\n}\n", type, slot_of(field));
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
    if (field->object != NULL && field->object->is_struct) {
        put_head("const uint8_t *", object, field, "_data");
        put(") {\n    return firn_fb_elements(table.at, %u);\n}\n", slot_of(field));
    }
    put_head(type, object, field, "_at");
    put(", uint32_t index) {\n    const uint8_t *at = firn_fb_elements(table.at, %u) + (size_t)%u * index;\n",
        slot_of(field), step);
    if (field->object == NULL)
        put("    return firn_fb_load_%s(at)%s;\n}\n", load_of(field), field->element == BASE_BOOL ? " != 0" : "");
    else if (field->object->is_struct)
        put("    %s value;\n    memcpy(&value, __builtin_assume_aligned(at, %u), sizeof value);\n    return "
            "value;\n}\n",
            type, field->object->alignment);
    else
        put("    return (%s){firn_fb_follow(at)};\n}\n", type);
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

static void write_reader(void) {
    begin_file(
        "reader.h",
        "Read access to the FlatBuffers part of a plan, in place, after firn_fb_verify and never before: there are\n"
        " * no checks here. An absent scalar reads as its default, an absent string as \"\", an absent vector as one "
        "of no\n"
        " * elements, an absent struct as zeros; an absent table must not be asked for. An index must be below its "
        "count.\n"
        " * Freestanding.");
    put("#ifndef FIRN_PLAN_GENERATED_READER_H\n#define FIRN_PLAN_GENERATED_READER_H\n\n");
    put("#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\n");
    put("#include \"plan/access.h\"\n\n");
    put("/* The schema hash: SHA-256 of plan/generated/schema.txt. */\nextern const uint8_t firn_schema_hash[32];\n");
    put_enumerations();
    put_structs();
    put_table_types();
    for (size_t i = 0; i < object_count; i++)
        for (size_t j = 0; j < objects[i].field_count && !objects[i].is_struct; j++)
            put_access(&objects[i], &objects[i].fields[j]);
    put("\nstatic inline firn_fb_%s firn_fb_%s_root(const uint8_t *buffer) {\n", root->snake, root->snake);
    put("    return (firn_fb_%s){firn_fb_follow(buffer)};\n}\n\n#endif\n", root->snake);
    end_file();
}

/* --- tables.h, tables.c ----------------------------------------------------------------------------------------------
 */

/* A row of firn_fb_inlines; rows that say the same are one. */
struct inline_row {
    const struct object *object;
    const struct enumeration *enumeration;
    enum base_type base;
    bool finite;
    unsigned first_check, check_count;
};

struct check_row {
    unsigned offset;
    const char *kind;
    size_t most;
};

static struct inline_row inline_rows[FIELDS_MAX];
static struct check_row check_rows[FIELDS_MAX];
static unsigned inline_row_count, check_row_count;

static void add_check(struct inline_row *row, unsigned offset, const char *kind, size_t most) {
    if (check_row_count == UINT8_MAX)
        refuse("checks", "the schema has too many");
    check_rows[check_row_count++] = (struct check_row){offset, kind, most};
    row->check_count++;
}

static void add_scalar_check(struct inline_row *row, const struct field *field, unsigned offset) {
    enum base_type base = innermost(field);
    if (field->enumeration != NULL)
        add_check(row, offset, field->enumeration->base == BASE_UINT8 ? "FIRN_FB_CHECK_BYTE" : "FIRN_FB_CHECK_SHORT",
                  field->enumeration->value_count - 1);
    else if (base == BASE_BOOL)
        add_check(row, offset, "FIRN_FB_CHECK_BYTE", 1);
    else if (field->finite)
        add_check(row, offset, base == BASE_FLOAT ? "FIRN_FB_CHECK_FLOAT" : "FIRN_FB_CHECK_DOUBLE", 0);
}

static unsigned inline_row_of(const struct field *field) {
    for (unsigned i = 0; i < inline_row_count; i++)
        if (inline_rows[i].object == field->object && inline_rows[i].enumeration == field->enumeration &&
            inline_rows[i].base == innermost(field) && inline_rows[i].finite == field->finite)
            return i;
    struct inline_row *row = &inline_rows[inline_row_count];
    *row = (struct inline_row){field->object, field->enumeration, innermost(field), field->finite, check_row_count, 0};
    if (field->object == NULL)
        add_scalar_check(row, field, 0);
    else
        for (size_t i = 0; i < field->object->field_count; i++)
            add_scalar_check(row, &field->object->fields[i], field->object->fields[i].offset);
    return inline_row_count++;
}

static void put_field_row(const struct field *field) {
    const char *kind = "INLINE";
    unsigned type = 0;
    if (field->base == BASE_STRING) {
        kind = "STRING";
    } else if (field->object != NULL && !field->object->is_struct) {
        kind = field->base == BASE_VECTOR ? "TABLE_VECTOR" : "TABLE";
        type = field->object->number;
    } else {
        kind = field->base == BASE_VECTOR ? "INLINE_VECTOR" : "INLINE";
        type = inline_row_of(field);
    }
    const char *flags = field->required && field->ascii ? "FIRN_FB_FLAG_REQUIRED | FIRN_FB_FLAG_ASCII"
                        : field->required               ? "FIRN_FB_FLAG_REQUIRED"
                        : field->ascii                  ? "FIRN_FB_FLAG_ASCII"
                                                        : "0";
    put("    /* %s */ {FIRN_FB_KIND_%s, %s, %u, %lu},\n", field->name, kind, flags, type, field->max);
}

static void put_field_rows(void) {
    put("\nconst firn_fb_field_rule firn_fb_fields[] = {\n");
    for (size_t i = 0; i < object_count; i++) {
        if (objects[i].is_struct)
            continue;
        put("    /* --- %s */\n", objects[i].name);
        for (size_t j = 0; j < objects[i].field_count; j++)
            put_field_row(&objects[i].fields[j]);
    }
    put("};\n");
}

static void put_table_rows(void) {
    size_t first = 0;
    put("\nconst firn_fb_table_rule firn_fb_tables[] = {\n");
    for (size_t i = 0; i < object_count; i++) {
        if (objects[i].is_struct)
            continue;
        put("    /* %s */ {%zu, %zu},\n", objects[i].name, first, objects[i].field_count);
        first += objects[i].field_count;
    }
    put("};\n");
}

static void put_inline_rows(void) {
    put("\nconst firn_fb_inline_rule firn_fb_inlines[] = {\n");
    for (unsigned i = 0; i < inline_row_count; i++) {
        const struct inline_row *row = &inline_rows[i];
        const char *name = row->object != NULL        ? row->object->name
                           : row->enumeration != NULL ? row->enumeration->name
                                                      : scalar_of(row->base)->name;
        unsigned bytes = row->object != NULL ? row->object->bytes : scalar_of(row->base)->bytes;
        put("    /* %s%s */ {%u, %u, %u, %u},\n", name, row->finite ? ", finite" : "", bytes,
            row->object != NULL ? row->object->alignment : bytes, row->first_check, row->check_count);
    }
    put("};\n\nconst firn_fb_check firn_fb_checks[] = {\n");
    for (unsigned i = 0; i < check_row_count; i++)
        put("    {%u, %s, %zu},\n", check_rows[i].offset, check_rows[i].kind, check_rows[i].most);
    put("};\n");
}

static void write_tables(const uint8_t hash[32]) {
    begin_file("tables.c", "What the schema says, as data for plan/verifier.c. Freestanding.");
    put("#include \"plan/generated/tables.h\"\n\n#include \"plan/generated/reader.h\"\n");
    put("\nconst uint8_t firn_schema_hash[32] = {");
    for (size_t i = 0; i < 32; i++)
        put("%s0x%02x,", i % 16 == 0 ? "\n    " : " ", hash[i]);
    put("\n};\n");
    put_field_rows();
    put_table_rows();
    put_inline_rows();
    end_file();

    begin_file("tables.h", "What the schema says, as data for plan/verifier.c. Freestanding.");
    put("#ifndef FIRN_PLAN_GENERATED_TABLES_H\n#define FIRN_PLAN_GENERATED_TABLES_H\n\n");
    put("#include \"plan/verifier.h\"\n\n");
    put("enum { FIRN_FB_ROOT = %u, FIRN_FB_DEPTH = %u, FIRN_FB_IDENTIFIER = 0x%02x%02x%02x%02x };\n\n", root->number,
        depth_of(root, 0), identifier[3], identifier[2], identifier[1], identifier[0]);
    put("extern const firn_fb_field_rule firn_fb_fields[];\nextern const firn_fb_table_rule firn_fb_tables[];\n");
    put("extern const firn_fb_inline_rule firn_fb_inlines[];\nextern const firn_fb_check "
        "firn_fb_checks[];\n\n#endif\n");
    end_file();
}

/* --- writer.h, writer.c ----------------------------------------------------------------------------------------------
 */

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

static void write_writer_header(void) {
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
    else if (is_floating(field->base)) {
        uint64_t bits;
        float single = (float)field->default_real;
        uint32_t single_bits;
        memcpy(&bits, &field->default_real, sizeof bits);
        memcpy(&single_bits, &single, sizeof single_bits);
        put("0, UINT64_C(0x%llx)},\n", (unsigned long long)(field->base == BASE_FLOAT ? single_bits : bits));
    } else
        put("0, UINT64_C(%llu)},\n",
            scalar_of(field->base) == NULL ? 0ull : (unsigned long long)field->default_integer);
}

static void write_writer(void) {
    begin_file("writer.c", "Where the members of the native structs lie, as data for plan/builder.h. Host only.");
    put("#include \"plan/generated/writer.h\"\n\n#include \"plan/builder.h\"\n");
    put("#include \"plan/generated/tables.h\"\n\nstatic const firn_native_field native_fields[] = {\n");
    for (size_t i = 0; i < object_count; i++)
        for (size_t j = 0; j < objects[i].field_count && !objects[i].is_struct; j++)
            put_native_row(&objects[i], &objects[i].fields[j]);
    put("};\n\nstatic const size_t native_bytes[] = {\n");
    for (size_t i = 0; i < object_count; i++)
        if (!objects[i].is_struct)
            put("    sizeof(firn_native_%s),\n", objects[i].snake);
    put("};\n\nuint8_t *firn_native_write(const firn_native_%s *%s, size_t *bytes) {\n", root->snake, root->snake);
    put("    return firn_build(%s, native_fields, native_bytes, bytes);\n}\n", root->snake);
    end_file();
}

int main(int argument_count, char **arguments) {
    uint8_t hash[32];
    input_name = "generate";
    if (argument_count != 3) {
        fprintf(stderr, "generate: command line: generate SCHEMA.bfbs DIRECTORY\n");
        return 2;
    }
    input_name = arguments[1];
    output_directory = arguments[2];
    read_input(arguments[1]);
    read_schema();
    make_listing();
    if (firn_sha256_of(listing, listing_bytes, hash) != FIRN_OK)
        refuse("listing", "SHA-256 failed");
    begin_file("schema.txt", NULL);
    put("%.*s", (int)listing_bytes, listing);
    end_file();
    write_reader();
    write_tables(hash);
    write_writer_header();
    write_writer();
    return 0;
}
