/* Reads and checks the version marks of the schema. */
#include "plan/generate/marks.h"

#include <stdlib.h>
#include <string.h>

#include "plan/generate/program.h"

#define MINOR_MAX 65535

/* One entry of a list of marks: "WORD SINCE". */
struct mark {
    char word[NAME_BYTES];
    unsigned since;
};

/* Reads a number from 1 to `most` and moves past it. Returns 0 if there is none. */
static unsigned long take_number(const char **text, unsigned long most) {
    unsigned long number = 0;
    const char *at = *text;
    for (; *at >= '0' && *at <= '9' && number <= most; at++)
        number = 10 * number + (unsigned long)(*at - '0');
    *text = at;
    return number <= most ? number : 0;
}

/* Reads the entry at *text and moves to the next one. */
static struct mark take_mark(const char *owner, const char **text) {
    struct mark mark = {{0}, 0};
    size_t length = strcspn(*text, " ,");
    if (length >= NAME_BYTES)
        refuse(owner, "a name in its marks is too long");
    memcpy(mark.word, *text, length);
    *text += length;
    if (**text == ' ') {
        ++*text;
        mark.since = (unsigned)take_number(text, MINOR_MAX);
    }
    if (mark.since == 0 || length == 0)
        refuse(owner, "each of its marks is a word, a space and a minor version from 1 to 65535");
    if (strncmp(*text, ", ", 2) == 0 && (*text)[2] != 0)
        *text += 2;
    else if (**text != 0)
        refuse(owner, "its marks are separated by a comma and a space");
    return mark;
}

unsigned read_since(const char *owner, const char *text) {
    unsigned since = (unsigned)take_number(&text, MINOR_MAX);
    if (since == 0 || *text != 0)
        refuse(owner, "since and relaxed are a minor version from 1 to 65535; leave them out for 0");
    return since;
}

void mark_values(struct enumeration *enumeration, const char *text) {
    while (*text != 0) {
        struct mark mark = take_mark(enumeration->name, &text);
        size_t value = 0;
        while (value < enumeration->value_count && strcmp(enumeration->values[value], mark.word) != 0)
            value++;
        if (value == enumeration->value_count)
            refuse(enumeration->name, "since names a value that it does not have");
        if (enumeration->since[value] != 0)
            refuse(enumeration->name, "since names a value twice");
        enumeration->since[value] = mark.since;
    }
    if (enumeration->since[0] != 0)
        refuse(enumeration->name, "value 0 has no since: it is the default of fields, and came with the enumeration");
    for (size_t i = 1; i < enumeration->value_count; i++)
        if (enumeration->since[i] < enumeration->since[i - 1])
            refuse(enumeration->name, "values with since come last, in ascending order of it");
}

void mark_limits(struct field *field, const char *text) {
    while (*text != 0) {
        struct mark mark = take_mark(field->name, &text);
        const char *word = mark.word;
        struct raise raise = {take_number(&word, field->max), mark.since};
        const struct raise *last = field->raise_count == 0 ? NULL : &field->raises[field->raise_count - 1];
        if (raise.limit == 0 || raise.limit >= field->max || *word != 0)
            refuse(field->name,
                   "raised gives the earlier limit, which is below max, and the minor version that raised it");
        if (raise.since <= field->since || (last != NULL && (raise.since <= last->since || raise.limit <= last->limit)))
            refuse(field->name,
                   "each limit in raised is higher and later than the one before, and later than the field");
        if (field->raise_count == RAISES_MAX)
            refuse(field->name, "its limit was raised too often");
        field->raises[field->raise_count++] = raise;
    }
}

void check_fields(const struct object *object) {
    unsigned before = 0;
    for (size_t i = 0; i < object->field_count; i++) {
        const struct field *field = &object->fields[i];
        if (object->is_struct) /* any member may be one that was reserved before */
            continue;
        if (field->since < before)
            refuse(field->name, "fields with since come last in their table, in ascending order of it");
        if (field->since != 0 && field->required)
            refuse(field->name, "a field with since cannot be required: older plans do not have it");
        before = field->since;
    }
}
