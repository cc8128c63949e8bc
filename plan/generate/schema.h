/* The schema in the form that the generator uses. It is read once and not changed afterwards. */
#ifndef FIRN_GENERATE_SCHEMA_H
#define FIRN_GENERATE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/generate/binary.h"

#define NAME_BYTES 64
#define FIELDS_MAX 256
#define RAISES_MAX 8

struct scalar_type {
    const char *name;   /* used in the listing and in firn_fb_load_<name> */
    const char *c_type; /* used in the reader and the writer */
    unsigned bytes;     /* equal to its alignment */
};

struct enumeration {
    const char *name;
    char snake[NAME_BYTES];
    enum base_type base;
    size_t value_count;
    const char **values; /* names; values[i] has the value i */
    unsigned *since;     /* for each value, the minor version that brought it */
};

/* From minor version `since` on, a vector or string may be longer than `limit`. */
struct raise {
    unsigned long limit;
    unsigned since;
};

struct object;

struct field {
    const char *name;
    unsigned id;
    unsigned offset;        /* in bytes; only for fields of structs */
    enum base_type base;    /* a scalar, BASE_STRING, BASE_VECTOR or BASE_OBJECT */
    enum base_type element; /* only for vectors: a scalar or BASE_OBJECT */
    const struct enumeration *enumeration;
    const struct object *object;
    int64_t default_integer;
    double default_real;
    bool required, finite, ascii;
    unsigned long max;               /* maximum length of a vector or string; 0: none given */
    unsigned since;                  /* the minor version that brought the field */
    struct raise raises[RAISES_MAX]; /* the earlier limits, ascending */
    size_t raise_count;
};

struct object {
    const char *name;
    char snake[NAME_BYTES];
    bool is_struct;
    unsigned bytes, alignment; /* only for structs */
    size_t field_count;
    struct field *fields; /* ordered by id */
    unsigned number;      /* only for tables: row in firn_fb_tables */
    unsigned relaxed;     /* only for tables: the last minor version that relaxed a rule about it; 0: none */
};

extern struct enumeration *enumerations;
extern struct object *objects;
extern size_t enumeration_count, object_count;
extern const struct object *root;
extern const char *identifier;

/* Reads the schema from the input. Stops the program at anything that is not supported. */
void read_schema(void);

/* The scalar type, or NULL if the type is not a scalar. */
const struct scalar_type *scalar_of(enum base_type base);

bool is_floating(enum base_type base);

/* The type of a scalar field, or of a vector field's elements. */
enum base_type innermost(const struct field *field);

/* The depth to which tables nest from this one on. Stops the program if a table contains itself. above: number of
 * tables around this one. */
unsigned depth_of(const struct object *object, unsigned above);

/* Makes the canonical listing (listing.c). */
void make_listing(void);
extern char *listing;
extern size_t listing_bytes;

#endif
