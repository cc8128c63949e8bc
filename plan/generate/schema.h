/* The schema as the generator sees it: read once, then only looked at. */
#ifndef FIRN_GENERATE_SCHEMA_H
#define FIRN_GENERATE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/generate/binary.h"

#define NAME_BYTES 64
#define FIELDS_MAX 256

struct scalar_type {
    const char *name;   /* in the listing, and the end of firn_fb_load_<name> */
    const char *c_type; /* in the reader and the writer */
    unsigned bytes;     /* also its alignment */
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

extern struct enumeration *enumerations;
extern struct object *objects;
extern size_t enumeration_count, object_count;
extern const struct object *root;
extern const char *identifier;

/* Reads all of it from the input; stops at the first thing that is not allowed. */
void read_schema(void);

/* NULL for what is no scalar. */
const struct scalar_type *scalar_of(enum base_type base);

bool is_floating(enum base_type base);

/* The type of a scalar, or of a vector's elements. */
enum base_type innermost(const struct field *field);

/* How deep tables nest from this one on; stops where they contain themselves. above: tables around it. */
unsigned depth_of(const struct object *object, unsigned above);

/* The canonical listing (listing.c). */
void make_listing(void);
extern char *listing;
extern size_t listing_bytes;

#endif
