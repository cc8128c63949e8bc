/* A verified plan read back into native structs, so that a test can change anything in it and write it again; and a
 * list of everything that can be changed, with names. Driven by the tables of the verifier and the listing of the
 * schema, so that fields which are added to the schema later are covered too. */
#ifndef FIRN_TESTS_NATIVE_PLAN_H
#define FIRN_TESTS_NATIVE_PLAN_H

#include <stdbool.h>

#include "plan/generated/writer.h"

/* Elements by which a vector can grow. */
#define NATIVE_SPARE 16u

typedef enum native_kind {
    NATIVE_UNSIGNED,
    NATIVE_SIGNED,
    NATIVE_CHOICE, /* a bool or an enumeration, with values from 0 to `most` */
    NATIVE_FLOAT,
    NATIVE_DOUBLE,
    NATIVE_TEXT /* the characters of a string */
} native_kind;

/* Names a field of the schema, or a member of a struct in a field. */
typedef struct native_class {
    char table[32], field[32], member[32]; /* member is empty for a field that is no struct */
    native_kind kind;
    uint8_t bytes, offset; /* of a scalar; its offset in the struct */
    uint64_t most;
} native_class;

/* Where something stands in a plan: its position in each vector that leads to it. */
typedef struct native_place {
    uint32_t index[4];
    uint8_t depth;
} native_place;

/* A value. */
typedef struct native_spot {
    uint8_t *at;
    uint32_t bytes;
    uint16_t class;
    native_place place;
} native_spot;

/* A vector: where its pointer and its count are. */
typedef struct native_list {
    void *pointer; /* of the member, which points to the elements */
    uint32_t *count;
    size_t element_bytes;
    uint32_t limit; /* of the schema */
    uint16_t class;
    native_place place;
} native_list;

/* A table or a struct that may be left out. */
typedef struct native_option {
    void *pointer; /* of the member that points to a table; NULL: a struct */
    bool *present; /* of a struct */
    uint16_t class;
    native_place place;
} native_option;

/* A plan in structs, with everything that can be changed in it. The spots of a list's spare elements are not found. */
typedef struct native_plan {
    firn_native_plan *plan;
    const native_class *classes;
    uint32_t class_count;
    native_spot *spots;
    native_list *lists;
    native_option *options;
    uint32_t spot_count, list_count, option_count;
    void *blocks; /* memory */
} native_plan;

/* Reads a verified plan, without spots, lists and options. */
native_plan native_plan_read(firn_fb_plan plan);
/* Finds spots, lists and options again, after changes. */
void native_plan_find(native_plan *native);
void native_plan_free(native_plan *native);
/* Memory that native_plan_free frees, zeroed. */
void *native_plan_memory(native_plan *native, size_t bytes);
/* Memory for the elements of a list that can grow. */
void *native_list_memory(native_plan *native, uint32_t capacity, size_t element_bytes);

uint64_t native_spot_value(const native_spot *spot);
void native_spot_set(const native_spot *spot, uint64_t value);

/* Inserts a copy of an element, which must not be in the list itself, at position `to`, 0 to count; false if there is
 * no room. Or removes an element. Spots that were found before are then no longer valid. */
bool native_list_insert(const native_list *list, const void *element, uint32_t to);
void native_list_remove(const native_list *list, uint32_t at);
void *native_list_at(const native_list *list, uint32_t at);

/* "Tensor.offset [12]" */
const char *native_name(const native_plan *native, uint16_t class, const native_place *place);

#endif
