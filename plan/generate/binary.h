/* Reads flatc's binary schema, which is itself a FlatBuffer (reflection.fbs of FlatBuffers 2.0). Every read is checked
 * against the length of the input. */
#ifndef FIRN_GENERATE_BINARY_H
#define FIRN_GENERATE_BINARY_H

#include <stddef.h>
#include <stdint.h>

/* The values of reflection.BaseType. */
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

/* Slots of the fields in the tables of reflection.fbs. */
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

/* Reads the file into memory. Stops the program if it is not a binary schema. */
void read_input(const char *name);

/* The position that the offset at a position points to. */
size_t follow(size_t at);

/* Access to the field of a table at a slot: a scalar of `bytes` bytes, a table, the length and an element of a vector
 * of tables, and a string. */
uint64_t scalar(size_t table, size_t number, size_t bytes, uint64_t absent);
size_t child(size_t table, size_t number);
size_t vector_count(size_t table, size_t number);
size_t vector_table(size_t table, size_t number, size_t index);
const char *string(size_t table, size_t number);

#endif
