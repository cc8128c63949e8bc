/* A YAML file as a tree of scalars, lists and mappings, each with its place in the file. Only tree.c and tree_write.c
 * use libyaml. Aliases and merge keys (<<) are replaced by copies of what they stand for, so that nobody else has to
 * know them. The parser refuses what recipes do not use, tags, several documents and duplicate keys, and a file whose
 * copies would take too much memory. */
#ifndef FIRNC_TREE_H
#define FIRNC_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/base/text.h"

typedef enum firnc_tree_kind { FIRNC_SCALAR, FIRNC_LIST, FIRNC_MAPPING } firnc_tree_kind;

typedef struct firnc_tree {
    firnc_tree_kind kind;
    const char *file;
    uint32_t line;    /* 0: set by --set */
    const char *path; /* such as "trainer.init.seed"; "" for the root */
    const char *key;  /* in a mapping; NULL for the root and for entries of a list */
    const char *text; /* of a scalar */
    bool plain;       /* scalar without quotes; only these are read as a number, true, false or null */
    struct firnc_tree *first, *next;
} firnc_tree;

/* Reads a file whose root is a mapping. `what` is what it should be and `form` its form, both for messages, as "a
 * recipe" and "it begins with the key trainer". NULL after one message. */
firnc_tree *firnc_tree_read(const char *file, const char *what, const char *form);

/* Applies a setting "a.b.0.c=value", whose value is YAML. Missing mappings on the path are created; entries of lists
 * must exist. False after one message. */
bool firnc_tree_set(firnc_tree *root, const char *setting);

/* Writes the comment lines in `head`, then the tree as YAML (tree_write.c). False after one message. */
bool firnc_tree_write(const firnc_tree *root, const char *head, const char *file);

/* The child of a mapping with this key. NULL if there is none, if its value is null, or if the mapping is NULL. */
const firnc_tree *firnc_tree_child(const firnc_tree *mapping, const char *key);

/* True for an unquoted scalar that is null, ~ or empty. */
bool firnc_tree_is_null(const firnc_tree *node);

uint32_t firnc_tree_count(const firnc_tree *node);

/* The place of a node, for callers that keep it without the tree; a zero place for NULL. */
firnc_place firnc_tree_place(const firnc_tree *at);

/* Prints the message "firnc: FILE:LINE: PATH: ..."; always returns false. */
bool firnc_tree_fail(const firnc_tree *at, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints the same as a warning. */
void firnc_tree_warn(const firnc_tree *at, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
