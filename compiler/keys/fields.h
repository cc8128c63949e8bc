/* Tables of keys: what a mapping of a recipe may hold, where each value goes and what it may be. One reader checks
 * every mapping, so that an unknown key, a wrong type or a number out of range is found and told in one way. */
#ifndef FIRNC_FIELDS_H
#define FIRNC_FIELDS_H

#include <stddef.h>

#include "compiler/keys/tree.h"

typedef enum firnc_field_kind {
    FIRNC_FIELD_FLAG,    /* bool */
    FIRNC_FIELD_WHOLE,   /* uint32_t; `high` 0 stands for its largest value */
    FIRNC_FIELD_LONG,    /* uint64_t; likewise */
    FIRNC_FIELD_SINGLE,  /* float */
    FIRNC_FIELD_DOUBLE,  /* double */
    FIRNC_FIELD_CHOICE,  /* int: the value that belongs to one of the words of `choices` */
    FIRNC_FIELD_FIXED,   /* kept nowhere: the one word in `only` is what Firn does, any other is refused */
    FIRNC_FIELD_NESTED,  /* a mapping, read by a table of its own */
    FIRNC_FIELD_ENTRIES, /* a list */
    FIRNC_FIELD_OTHER,   /* any value: read by the caller */
    FIRNC_FIELD_IGNORED, /* any value: it cannot change a frozen run */
    FIRNC_FIELD_REFUSED  /* known to the model zoo, and refused: `only` says what to do */
} firnc_field_kind;

typedef struct firnc_choice {
    const char *word; /* NULL ends the list */
    int value;
} firnc_choice;

typedef struct firnc_field {
    const char *key;
    firnc_field_kind kind;
    size_t offset;    /* of the value in the structure that is filled */
    double low, high; /* range of a number; high 0: no upper end (no number's range ends at 0) */
    bool above_low;   /* low itself is out of range */
    bool below_high;  /* likewise high */
    const firnc_choice *choices;
    const char *only;
    bool required;
} firnc_field;

/* Fills a structure, which holds the defaults, from a mapping: null leaves a default alone. The structure may
 * be NULL when no field of the table is kept. False after one line on stderr. */
bool firnc_fields_read(const firnc_tree *mapping, const firnc_field *fields, uint32_t count, void *structure);

/* One value, for those that no structure holds: a number in the range of a field, a word of a list. */
bool firnc_field_number(const firnc_tree *node, const firnc_field *field, double *value);
bool firnc_field_whole(const firnc_tree *node, const firnc_field *field, uint64_t *value);
bool firnc_field_single(const firnc_tree *node, const firnc_field *field, float *value);
bool firnc_field_choice(const firnc_tree *node, const firnc_choice *choices, int *value);

/* A number in as few digits as read back as the same one. */
const char *firnc_number_text(double value);

/* "word, word, word" */
const char *firnc_choices_text(const firnc_choice *choices);

/* The one entry of a mapping that holds just one, as {AdamW: {...}} does: its key is looked up among the classes, case
 * aside, with or without `suffix` at its end ("" for none). NULL after one line on stderr. */
const firnc_tree *firnc_class_read(const firnc_tree *node, const firnc_choice *classes, const char *suffix, int *class);

/* The same lookup for a word that stands at `node`; false after one line on stderr. */
bool firnc_class_find(const firnc_tree *node, const char *word, const firnc_choice *classes, const char *suffix,
                      int *class);

#endif
