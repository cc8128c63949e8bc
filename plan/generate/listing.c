/* The canonical listing of the schema, whose SHA-256 is the schema hash: plan/FORMAT.md, "The listing". */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan/generate/program.h"
#include "plan/generate/schema.h"

/* The text is kept in memory, because it is hashed before it is written. */
char *listing;
size_t listing_bytes;
static size_t listing_capacity;

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

/* The schema's name for the type of a field, or for the type of a vector's elements. */
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

/* What has always been there has no mark. */
static void list_since(unsigned since) {
    if (since != 0)
        list(" since %u", since);
}

static void list_value(const struct enumeration *enumeration, size_t value) {
    list("    %zu %s", value, enumeration->values[value]);
    list_since(enumeration->since[value]);
    list("\n");
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
    list_since(field->since);
    for (size_t i = 0; i < field->raise_count; i++)
        list(" raised %lu %u", field->raises[i].limit, field->raises[i].since);
    list("\n");
}

static void list_table(const struct object *table) {
    list("table %s", table->name);
    if (table->relaxed != 0)
        list(" relaxed %u", table->relaxed);
    list("\n");
}

void make_listing(void) {
    list("firn schema listing 1\nidentifier %s\nroot %s\n", identifier, root->name);
    for (size_t i = 0; i < enumeration_count; i++) {
        list("enum %s %s\n", enumerations[i].name, scalar_of(enumerations[i].base)->name);
        for (size_t j = 0; j < enumerations[i].value_count; j++)
            list_value(&enumerations[i], j);
    }
    for (size_t i = 0; i < object_count; i++) {
        if (objects[i].is_struct)
            list("struct %s bytes %u alignment %u\n", objects[i].name, objects[i].bytes, objects[i].alignment);
        else
            list_table(&objects[i]);
        for (size_t j = 0; j < objects[i].field_count; j++)
            list_field(&objects[i], &objects[i].fields[j]);
    }
}
