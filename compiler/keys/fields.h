/* Tables of keys: which keys a mapping of a recipe may have, where each value is stored and which values are allowed.
 * One reader checks every mapping, so that unknown keys, wrong types and numbers out of range are reported in one
 * way. */
#ifndef FIRNC_FIELDS_H
#define FIRNC_FIELDS_H

#include <stddef.h>

#include "compiler/keys/idle.h"
#include "compiler/keys/tree.h"

typedef enum firnc_field_kind {
    FIRNC_FIELD_FLAG,      /* bool */
    FIRNC_FIELD_WHOLE,     /* uint32_t; `high` 0 means UINT32_MAX */
    FIRNC_FIELD_LONG,      /* uint64_t; `high` 0 means UINT64_MAX */
    FIRNC_FIELD_SINGLE,    /* float */
    FIRNC_FIELD_DOUBLE,    /* double */
    FIRNC_FIELD_CHOICE,    /* int: the value of the matching entry in `choices` */
    FIRNC_FIELD_FIXED,     /* not stored: only the word in `only` is accepted */
    FIRNC_FIELD_NESTED,    /* a mapping, which the caller reads by another table */
    FIRNC_FIELD_ENTRIES,   /* a list; `only` is an example if it has a fixed length, else NULL */
    FIRNC_FIELD_OTHER,     /* any value, which the caller reads */
    FIRNC_FIELD_IGNORED,   /* any value: it has no effect; `only` says why and what to do, `usual` what is so anyway */
    FIRNC_FIELD_ELSEWHERE, /* a key that belongs below another key, which `only` names */
    FIRNC_FIELD_REFUSED    /* a key of the model zoo that Firn refuses; `only` is the advice that the message gives */
} firnc_field_kind;

typedef struct firnc_choice {
    const char *word; /* NULL ends the list */
    int value;
} firnc_choice;

typedef struct firnc_field {
    const char *key;
    firnc_field_kind kind;
    size_t offset;    /* of the value in the caller's structure */
    double low, high; /* range of a number; high 0: no upper bound (no range ends at 0) */
    bool above_low;   /* low is excluded */
    bool below_high;  /* high is excluded */
    const firnc_choice *choices;
    const char *only; /* of a number: the remedy for a value out of range; NULL: the message gives the range */
    bool required;
    const char *usual; /* an ignored key with this value loses nothing and is not warned of; NULL: none */
} firnc_field;

/* Reads a mapping into a structure that holds the defaults; a key with the value null keeps its default. The structure
 * may be NULL if the table stores no field. False after one message. */
bool firnc_fields_read(const firnc_tree *mapping, const firnc_field *fields, uint32_t count, void *structure);

/* Read one value that is not stored in a structure: a number in the range of a field, a flag, or a word of a list.
 * False after one message. firnc_field_number and firnc_field_single refuse a number that float32 would change by more
 * than rounding does: a schedule computes in binary64, but its values are float32. */
bool firnc_field_number(const firnc_tree *node, const firnc_field *field, double *value);
bool firnc_field_whole(const firnc_tree *node, const firnc_field *field, uint64_t *value);
bool firnc_field_single(const firnc_tree *node, const firnc_field *field, float *value);
bool firnc_field_flag(const firnc_tree *node, bool *value);
bool firnc_field_choice(const firnc_tree *node, const firnc_choice *choices, int *value);

/* A number with at most 6 significant digits, or with as many more, up to 17, as it needs to read back unchanged. */
const char *firnc_number_text(double value);
/* Likewise for a single: the digits that the recipe has, not those of the nearest float32. */
const char *firnc_single_text(float value);

/* "word, word, word" */
const char *firnc_choices_text(const firnc_choice *choices);

/* Reads a mapping with exactly one entry, such as {AdamW: {...}}: looks its key up among the classes, ignoring case,
 * with or without `suffix` at its end ("" for none). `what` names the classes in messages: "optimizer". Returns the
 * entry, or NULL after one message. */
const firnc_tree *firnc_class_read(const firnc_tree *node, const firnc_choice *classes, const char *suffix,
                                   const char *what, int *class);

/* The same lookup for a word; `node` gives the place for the message. False after one message. */
bool firnc_class_find(const firnc_tree *node, const char *word, const firnc_choice *classes, const char *suffix,
                      int *class);

#endif
