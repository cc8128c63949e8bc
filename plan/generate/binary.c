/* Access to the bytes of the binary schema: tables, vectors and strings by their positions. schema.c interprets
 * them. */
#include "plan/generate/binary.h"

#include <stdio.h>

#include "plan/generate/program.h"

static const uint8_t *input;
static size_t input_bytes;

/* Loads a little-endian integer of 1, 2, 4 or 8 bytes. */
static uint64_t load(size_t at, size_t bytes) {
    if (bytes > input_bytes || at > input_bytes - bytes)
        refuse("binary schema", "it is damaged; make it again with flatc");
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)input[at + i] << (8 * i);
    return value;
}

size_t follow(size_t at) {
    return at + (size_t)load(at, 4);
}

/* The position of a table's field; 0 if the field is absent. */
static size_t slot(size_t table, size_t number) {
    size_t vtable = (size_t)((int64_t)table - (int32_t)(uint32_t)load(table, 4));
    if (load(vtable, 2) <= number)
        return 0;
    size_t offset = (size_t)load(vtable + number, 2);
    return offset == 0 ? 0 : table + offset;
}

uint64_t scalar(size_t table, size_t number, size_t bytes, uint64_t absent) {
    size_t at = slot(table, number);
    return at == 0 ? absent : load(at, bytes);
}

size_t child(size_t table, size_t number) {
    size_t at = slot(table, number);
    return at == 0 ? 0 : follow(at);
}

size_t vector_count(size_t table, size_t number) {
    size_t at = child(table, number);
    return at == 0 ? 0 : (size_t)load(at, 4);
}

size_t vector_table(size_t table, size_t number, size_t index) {
    return follow(child(table, number) + 4 + 4 * index);
}

const char *string(size_t table, size_t number) {
    size_t at = child(table, number);
    if (at == 0)
        return "";
    size_t bytes = (size_t)load(at, 4);
    if (load(at + 4 + bytes, 1) != 0)
        refuse("binary schema", "it is damaged; make it again with flatc");
    return (const char *)input + at + 4;
}

void read_input(const char *name) {
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
