/* The version marks of the schema: which minor version brought a field, the value of an enumeration, or a higher limit.
 * Marks may only describe additions that leave older plans as they were, and these functions stop the program at any
 * other. */
#ifndef FIRN_GENERATE_MARKS_H
#define FIRN_GENERATE_MARKS_H

#include "plan/generate/schema.h"

/* The number in (since: N). */
unsigned read_since(const char *owner, const char *text);

/* Reads (since: "NAME N, NAME N") of an enumeration whose values are known. */
void mark_values(struct enumeration *enumeration, const char *text);

/* Reads (raised: "LIMIT N, LIMIT N") of a field whose other attributes are known. */
void mark_limits(struct field *field, const char *text);

/* Checks the marks of the fields of a table, which are ordered by id, and that a struct has none. */
void check_fields(const struct object *object);

#endif
