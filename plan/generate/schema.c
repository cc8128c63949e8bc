/* Converts the binary schema into the tables and fields for which code is written. A feature that is not handled is an
 * error. */
#include "plan/generate/schema.h"

#include <stdlib.h>
#include <string.h>

#include "plan/generate/marks.h"
#include "plan/generate/program.h"

#define NAMESPACE       "firn."
#define DEPTH_MAX       8
#define LIMIT_MAX       65536 /* highest limit of a vector or string */
#define ENUM_VALUES_MAX 256

struct enumeration *enumerations;
struct object *objects;
size_t enumeration_count, object_count;
const struct object *root;
const char *identifier;

static const struct scalar_type scalar_types[BASE_COUNT] = {
    [BASE_BOOL] = {"bool", "bool", 1},         [BASE_INT8] = {"int8", "int8_t", 1},
    [BASE_UINT8] = {"uint8", "uint8_t", 1},    [BASE_INT16] = {"int16", "int16_t", 2},
    [BASE_UINT16] = {"uint16", "uint16_t", 2}, [BASE_INT32] = {"int32", "int32_t", 4},
    [BASE_UINT32] = {"uint32", "uint32_t", 4}, [BASE_INT64] = {"int64", "int64_t", 8},
    [BASE_UINT64] = {"uint64", "uint64_t", 8}, [BASE_FLOAT] = {"float", "float", 4},
    [BASE_DOUBLE] = {"double", "double", 8},
};

static bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

/* Converts a name: ParameterGroup becomes parameter_group. */
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

const struct scalar_type *scalar_of(enum base_type base) {
    return base < BASE_COUNT && scalar_types[base].name != NULL ? &scalar_types[base] : NULL;
}

static void read_enumeration_attributes(struct enumeration *out, size_t table) {
    for (size_t i = 0; i < vector_count(table, ENUM_ATTRIBUTES); i++) {
        size_t attribute = vector_table(table, ENUM_ATTRIBUTES, i);
        if (strcmp(string(attribute, ATTRIBUTE_KEY), "since") != 0)
            refuse(out->name, "an enumeration has no attribute but since");
        mark_values(out, string(attribute, ATTRIBUTE_VALUE));
    }
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
    if (out->value_count == 0 || out->value_count > ENUM_VALUES_MAX)
        refuse(out->name, "it has no values or too many");
    for (size_t i = 0; i < out->value_count; i++) {
        size_t value = vector_table(table, ENUM_VALUES, i);
        if (scalar(value, VALUE_VALUE, 8, 0) != i)
            refuse(out->name, "the values must be 0, 1, 2 and so on");
        out->values[i] = string(value, VALUE_NAME);
    }
    out->since = allocate(out->value_count, sizeof *out->since);
    read_enumeration_attributes(out, table);
}

static void read_field_attributes(struct field *out, size_t table) {
    const char *raised = NULL;
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
        } else if (strcmp(key, "since") == 0) {
            out->since = read_since(out->name, string(attribute, ATTRIBUTE_VALUE));
        } else if (strcmp(key, "raised") == 0) {
            raised = string(attribute, ATTRIBUTE_VALUE);
        } else if (strcmp(key, "required") != 0 && strcmp(key, "id") != 0) {
            refuse(key, "an attribute that the generator does not know");
        }
    }
    if (raised != NULL) /* the limits are compared with max and since */
        mark_limits(out, raised);
}

bool is_floating(enum base_type base) {
    return base == BASE_FLOAT || base == BASE_DOUBLE;
}

/* Whether a type is a string or a vector. */
static bool has_length(enum base_type base) {
    return base == BASE_VECTOR || base == BASE_STRING;
}

/* The type that the attribute `finite` and enumerations apply to: the scalar itself or a vector's element. */
enum base_type innermost(const struct field *field) {
    return field->base == BASE_VECTOR ? field->element : field->base;
}

/* Checks the index of an object or enumeration and returns it. */
static size_t bounded(const char *name, size_t index, size_t count) {
    if (index >= count)
        refuse(name, "its type is not in the schema; make it again with flatc");
    return index;
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
    if (scalar(table, FIELD_DEPRECATED, 1, 0) != 0)
        refuse(out->name, "fields stay: say in its comment that it has to have its default");
    read_field_attributes(out, table);

    enum base_type inner = innermost(out);
    if (scalar_of(inner) == NULL && inner != BASE_OBJECT && out->base != BASE_STRING)
        refuse(out->name, "a type that the generator does not know");
    if (in_struct && scalar_of(out->base) == NULL)
        refuse(out->name, "a struct holds scalars only");
    if (index >= 0 && inner == BASE_OBJECT)
        out->object = &objects[bounded(out->name, (size_t)index, object_count)];
    else if (index >= 0 && scalar_of(inner) != NULL)
        out->enumeration = &enumerations[bounded(out->name, (size_t)index, enumeration_count)];
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

/* Checks that a struct has no padding, so that every byte is defined and the C struct has the same layout on every
 * ABI. */
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

static void read_object_attributes(struct object *out, size_t table) {
    for (size_t i = 0; i < vector_count(table, OBJECT_ATTRIBUTES); i++) {
        size_t attribute = vector_table(table, OBJECT_ATTRIBUTES, i);
        if (out->is_struct || strcmp(string(attribute, ATTRIBUTE_KEY), "relaxed") != 0)
            refuse(out->name, "a table has no attribute but relaxed, and a struct has none (force_align neither)");
        out->relaxed = read_since(out->name, string(attribute, ATTRIBUTE_VALUE));
    }
}

static void read_object(struct object *out, size_t table) {
    out->name = local_name(string(table, OBJECT_NAME));
    make_snake(out->snake, out->name);
    out->is_struct = scalar(table, OBJECT_IS_STRUCT, 1, 0) != 0;
    out->alignment = (unsigned)scalar(table, OBJECT_ALIGNMENT, 4, 0);
    out->bytes = (unsigned)scalar(table, OBJECT_BYTES, 4, 0);
    out->field_count = vector_count(table, OBJECT_FIELDS);
    out->fields = allocate(out->field_count, sizeof *out->fields);
    read_object_attributes(out, table);
    for (size_t i = 0; i < out->field_count; i++)
        read_field(&out->fields[i], vector_table(table, OBJECT_FIELDS, i), out->is_struct);
    qsort(out->fields, out->field_count, sizeof *out->fields, compare_fields);
    for (size_t i = 0; i < out->field_count; i++)
        if (out->fields[i].id != i)
            refuse(out->name, "the ids of its fields have a gap");
    if (out->is_struct)
        check_struct(out);
    check_fields(out);
}

/* The number of tables on the longest path down from this one, including this one. */
unsigned depth_of(const struct object *object, unsigned above) {
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

/* flatc sorts objects and enumerations by name, so their order in the schema file does not matter. */
void read_schema(void) {
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
